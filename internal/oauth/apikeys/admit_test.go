package apikeys

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestAKeyMakesACallerThatIsNobodysUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	until := w.clock.Now().Add(time.Hour)
	key, secret := w.made(t, w.main, NewKey{Scopes: []string{"crm.read"}, Expires: until})
	c := w.admitted(t, w.main, secret)
	want := oauth.CallerKey{Surface: w.main.Surface, Mode: oauth.ModeAPIKey, Issuer: oauth.KeyIssuer, Subject: key.ID.String(), Client: key.ID.String()}
	if c.Key != want || !c.Token.IsZero() || c.Role != "anon" || c.Claims != nil || c.Session != nil || c.Allowed != nil || !c.Expires.Equal(until) ||
		!slices.Equal(c.Scopes, []string{"crm.read"}) {
		t.Errorf("caller %+v", c)
	}
	if again := w.admitted(t, w.main, secret); again.Key != c.Key {
		t.Errorf("the subject is not stable: %+v", again.Key)
	}
	// What one request adds to its caller, no other sees.
	_ = append(c.Scopes, "crm.write")
	if other := append(w.admitted(t, w.main, secret).Scopes, "crm.delete"); other[1] != "crm.delete" || slices.Contains(w.admitted(t, w.main, secret).Scopes, "crm.write") {
		t.Error("callers share their scopes")
	}
}

// A key is of one surface: at another one of the same project, and at another
// organization's, it is as unknown as one that was never made.
func TestAliceAndBobCannotUseEachOthersKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoints := []*tenants.Endpoint{w.main, w.sales, w.globex}
	var secrets []string
	for _, ep := range endpoints {
		_, secret := w.made(t, ep, NewKey{})
		secrets = append(secrets, secret)
	}
	var wg sync.WaitGroup
	for round := range 4 {
		for i, ep := range endpoints {
			for j, secret := range secrets {
				wg.Go(func() {
					c, err := w.service.Admit(t.Context(), ep, secret)
					if i == j && (err != nil || c.Key.Surface != ep.Surface) {
						t.Errorf("round %d: a surface's own key: %v", round, err)
					}
					if i != j && (c != nil || !fault.Is(err, fault.Unauthenticated)) {
						t.Errorf("round %d: another surface's key: %v, %v", round, c, err)
					}
				})
			}
		}
	}
	wg.Wait()
	wantDenied(t, w, w.sales, secrets[0], "key_unknown")
	wantDenied(t, w, w.globex, secrets[0], "key_unknown")
}

func TestWhatIsNoKeyIsRefusedWithoutAskingAnybody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, secret := w.made(t, w.main, NewKey{})
	for _, text := range []string{"chk_", "chk_short", secret + "A", secret[:len(secret)-1], strings.Replace(secret, "chk_", "chx_", 1), secret[:len(secret)-1] + "=", "chk_" + strings.Repeat("!", 43)} {
		wantDenied(t, w, w.main, text, "key_unknown")
	}
	closed := *w.main
	closed.Access.Modes = []surfaces.Mode{surfaces.ModeOAuth}
	wantDenied(t, w, &closed, secret, "token_kind")
	if n := w.service.standing.keys.EstimatedSize() + w.service.standing.unknown.EstimatedSize(); n != 0 {
		t.Errorf("%d were looked for", n)
	}
	wantDenied(t, w, w.main, newSecret().Reveal(), "key_unknown")
}

// Taking a key away is felt on every server at once, and by no other key.
func TestRevocationBitesAtOnceOnEveryServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.replica(t)
	key, secret := w.made(t, w.main, NewKey{})
	_, spare := w.made(t, w.main, NewKey{})
	for _, server := range []*world{w, second} {
		server.hears(t, w.main, secret)
	}
	kept := second.hears(t, w.main, spare)
	if err := w.service.Revoke(t.Context(), w.alice, w.main.Surface, key.ID); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, server := range []*world{w, second} {
		eventually(t, "the key is refused", func() bool { _, err := server.service.Admit(t.Context(), w.main, secret); return err != nil })
		wantDenied(t, server, w.main, secret, "key_revoked")
		server.admitted(t, w.main, spare)
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("it took %s", d)
	}
	if now, _ := second.service.standing.keys.GetIfPresent(madeKey{w.main.Organization, w.main.Surface, hashOf(spare)}); now != kept {
		t.Error("the other key was asked about, too")
	}
}

func TestAKeyExpiresByTheClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, secret := w.made(t, w.main, NewKey{Expires: w.clock.Now().Add(time.Minute)})
	w.admitted(t, w.main, secret)
	w.clock.Advance(time.Minute - time.Second)
	w.admitted(t, w.main, secret)
	w.clock.Advance(time.Second)
	wantDenied(t, w, w.main, secret, "key_expired")
}

func TestAKeyJustMadeIsKnownSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := newSecret().Reveal()
	wantDenied(t, w, w.main, secret, "key_unknown")
	hash := hashOf(secret)
	w.Exec(t, `insert into api_keys (organization_id, id, surface_id, name, key_hash, hint, scopes, created_by, created_at)
		values ($1, $2, $3, 'late', $4, '', '{}', gen_random_uuid(), now())`, w.main.Organization.UUID(), newKeyID().UUID(), w.main.Surface.UUID(), hash[:])
	w.clock.Advance(unknownFor)
	w.admitted(t, w.main, secret)
}

func TestADeletedSurfaceTakesItsKeysAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, secret := w.made(t, w.sales, NewKey{})
	w.hears(t, w.sales, secret)
	if err := w.tenants.DeleteSurface(t.Context(), w.alice, "acme", "sales", "sales"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the key is refused", func() bool { _, err := w.service.Admit(t.Context(), w.sales, secret); return err != nil })
	wantDenied(t, w, w.sales, secret, "key_unknown")
}

// While the database is away, keys go on that were known to stand within the
// bound; all others are told to come back, and nobody is told that a key is bad.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, secret := w.made(t, w.main, NewKey{})
	_, other := w.made(t, w.main, NewKey{})
	w.hears(t, w.main, secret)
	w.Store.Pool().Close()
	w.admitted(t, w.main, secret)
	if _, err := w.service.Admit(t.Context(), w.main, other); !fault.Is(err, fault.Unavailable) || fault.From(err).RetryAfter == 0 {
		t.Errorf("a key that nobody asked about yet: %v", err)
	}
	w.clock.Advance(30 * time.Second) // nothing counts as heard any more
	w.admitted(t, w.main, secret)
	w.clock.Advance(2 * time.Minute)
	if _, err := w.service.Admit(t.Context(), w.main, secret); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after two minutes: %v", err)
	}
}

func TestUseIsNotedOncePerMinuteAndNeverNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, secret := w.made(t, w.main, NewKey{})
	_, unused := w.made(t, w.main, NewKey{})
	known := w.hears(t, w.main, secret)
	w.service.used.Flush()
	var at *time.Time
	w.query(t, &at, "select last_used_at from api_keys where id = $1", key.ID.UUID())
	if at == nil || !at.Equal(w.clock.Now()) {
		t.Errorf("used %v", at)
	}
	for range 5 {
		w.admitted(t, w.main, secret)
	}
	if n := w.service.used.Flush(); n != 0 {
		t.Errorf("noted %d more within a minute", n)
	}
	w.query(t, &at, "select last_used_at from api_keys where key_hash = sha256($1::bytea)", []byte(unused))
	if at != nil {
		t.Error("a key that nobody used was")
	}
	// A notice sent after the use is heard; the use itself never was.
	w.Exec(t, "select pg_notify('chumbo_directory', 'key:00000000-0000-7000-8000-000000000000')")
	w.admitted(t, w.main, secret)
	if now, _ := w.service.standing.keys.GetIfPresent(madeKey{w.main.Organization, w.main.Surface, hashOf(secret)}); now != known {
		t.Error("a use made the key be asked about again")
	}
}

func TestAnEndedRequestIsNoRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, secret := w.made(t, w.main, NewKey{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ask := range []func() (*oauth.Caller, error){
		func() (*oauth.Caller, error) { return w.service.Admit(ctx, w.main, secret) },
		func() (*oauth.Caller, error) { return w.service.AdmitChecked(ctx, w.main, "partner-acme", visitor) },
	} {
		if c, err := ask(); err == nil && c == nil || fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%v, %v", c, err)
		}
	}
}
