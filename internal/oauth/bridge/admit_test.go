package bridge

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// wantDenied wants a challenge of that code at ep.
func wantDenied(t testing.TB, w *world, ep *tenants.Endpoint, token, code string) {
	t.Helper()
	admit := w.service.Admit
	if strings.HasPrefix(token, personalPrefix) {
		admit = w.service.AdmitPersonal
	}
	c, err := admit(t.Context(), ep, token)
	var challenge *oauth.Challenge
	if !errors.As(err, &challenge) || challenge.Code != code || c != nil {
		t.Errorf("%v, %v; want a challenge %s", c, err, code)
	}
}

func TestAnAccessTokenMakesItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	got := w.admitted(t, w.ep, w.access(t, c))
	want := oauth.CallerKey{Surface: w.ep.Surface, Mode: oauth.ModeBridge, Issuer: w.project.Issuer(), Subject: standin.AliceID, Client: c.client.ID}
	if got.Key != want || got.Grant != c.issued.grant || got.Role != "authenticated" || !slices.Equal(got.Scopes, everything) || !got.Token.IsZero() {
		t.Errorf("caller %+v", got)
	}
	effects := effects(published(), everything)
	if got.Allowed == nil || got.Allowed.ReadOnly || !slices.Equal(got.Allowed.Writes, effects) || len(effects) != 2 {
		t.Errorf("allowed %+v", got.Allowed)
	}
	if d := got.Expires.Sub(w.clock.Now()); d != accessLifetime {
		t.Errorf("expires in %s", d)
	}
	token, err := got.ProjectToken(t.Context())
	if err != nil || token != w.mustUpstream(t, c.who) {
		t.Errorf("the project's token: %v", err)
	}
	if again, err := got.Session.Renew(t.Context(), token); err != nil || again == token {
		t.Errorf("renewed: %v", err)
	}
	// Every URL of the surface takes it, whichever one it was asked for.
	for _, r := range w.ep.URLs {
		w.admitted(t, w.endpoint(t, r.URL()), w.access(t, c))
	}
}

// A token of one app is of no use at another one, also of the same project.
func TestField22_TokensAreNotInterchangeable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sales := w.surface(t, w.builder, w.project, "acme", "sales", nil)
	globex := w.surface(t, w.member(t, "owner@globex.test", "Globex"), w.project, "globex", "main", nil)
	c := w.connected(t, w.ep, alice, "claude")
	there := w.connected(t, sales, alice, "claude")
	theirs := w.connected(t, globex, bob, "claude")
	for _, of := range []*connection{c, there, theirs} {
		for _, at := range []*tenants.Endpoint{w.ep, sales, globex} {
			if at.Surface == of.ep.Surface {
				w.admitted(t, at, w.access(t, of))
				continue
			}
			wantDenied(t, w, at, w.access(t, of), "token_surface")
		}
	}
	// As if made for the surface, with the grant of another one.
	for _, grant := range []issued{there.issued, theirs.issued} {
		mixed := *c
		mixed.issued = grant
		wantDenied(t, w, w.ep, w.access(t, &mixed), "token_revoked")
	}
	mixed := *c
	mixed.issued.subject = standin.BobID
	wantDenied(t, w, w.ep, w.access(t, &mixed), "token_revoked")
	mixed = *c
	mixed.issued.client = "client-other"
	wantDenied(t, w, w.ep, w.access(t, &mixed), "token_revoked")
	mixed = *c
	mixed.issued.chain = there.issued.chain
	wantDenied(t, w, w.ep, w.access(t, &mixed), "token_revoked")
	// Of an address that is not the surface's.
	elsewhere := *w.ep
	elsewhere.Resource.Base = "https://attacker.example.test"
	mixed = *c
	mixed.ep = &elsewhere
	wantDenied(t, w, w.ep, w.access(t, &mixed), "token_issuer")
	// The project's own tokens, delegated or not.
	for _, o := range []standin.TokenOptions{{}, {ClientID: "11111111-0000-4000-8000-000000000001"}} {
		text, err := w.project.AccessToken(alice, o)
		if err != nil {
			t.Fatal(err)
		}
		wantDenied(t, w, w.ep, text, "token_kind")
	}
	for name, token := range map[string]string{"rubbish": "rubbish", "a refresh token": c.issued.refresh.Reveal(), "nothing": ""} {
		if _, err := w.service.Admit(t.Context(), w.ep, token); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Taking access away is a row that says so: what had a token is refused at the
// next call, on every server, and nothing brings it back but a new approval.
func TestField80_RevocationBitesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.replica(t)
	c, theirs := w.connected(t, w.ep, alice, "claude"), w.connected(t, w.ep, bob, "cursor")
	other := &connection{who: c.who, client: w.client(t, w.ep, "other", callback), ep: w.ep}
	other.issued = w.exchanged(t, other, allow)
	token, spare := w.access(t, c), w.access(t, other)
	for _, server := range []*world{w, second} {
		server.admitted(t, w.ep, token)
		server.admitted(t, w.ep, spare)
		server.admitted(t, w.ep, w.access(t, theirs))
	}
	if err := w.service.Revoke(t.Context(), c.who, c.issued.grant); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, server := range []*world{w, second} {
		eventually(t, "the token is refused", func() bool { _, err := server.service.Admit(t.Context(), w.ep, token); return err != nil })
		wantDenied(t, server, w.ep, token, "token_revoked")
		server.admitted(t, w.ep, spare)
		server.admitted(t, w.ep, w.access(t, theirs))
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("it took %s", d)
	}
	_, err := w.refreshed(t, c, c.issued.refresh)
	wantInvalidGrant(t, err, sayRevoked)
	if err := w.service.Revoke(t.Context(), c.who, c.issued.grant); err != nil {
		t.Errorf("once more: %v", err)
	}
	for _, change := range []func() error{
		func() error { return w.service.Widen(t.Context(), c.who, c.issued.grant) },
		func() error { return w.service.Narrow(t.Context(), c.who, c.issued.grant, true, nil) },
	} {
		if err := change(); !fault.Is(err, fault.Conflict) {
			t.Errorf("changing a grant that was taken away: %v", err)
		}
	}
	again := w.exchanged(t, c, allow)
	if again.grant == c.issued.grant {
		t.Error("the tombstone lives again")
	}
	wantDenied(t, w, w.ep, token, "token_revoked")
	var rows int
	w.query(t, &rows, "select count(*) from grants where id = $1 and revoked_at is not null", c.issued.grant.UUID())
	if rows != 1 {
		t.Error("no tombstone")
	}
	if ends := w.steps.of(w.ep.Surface, events.StepEnded); len(ends) != 1 || ends[0].Code != revokedByUser {
		t.Errorf("steps %+v", ends)
	}
}

func TestWhatTheGrantSaysCountsAtEveryCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	token := w.access(t, c)
	w.admitted(t, w.ep, token)
	if err := w.service.Narrow(t.Context(), c.who, c.issued.grant, true, []string{"crm.read", "made.up"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the grant is narrow", func() bool { return w.admitted(t, w.ep, token).Allowed.ReadOnly })
	if got := w.admitted(t, w.ep, token); !slices.Equal(got.Scopes, []string{"crm.read"}) || len(got.Allowed.Writes) != 0 {
		t.Errorf("caller %+v %+v", got.Scopes, got.Allowed)
	}
	strict := *w.ep
	strict.Access.Require = []string{"crm.write"}
	var challenge *oauth.Challenge
	if _, err := w.service.Admit(t.Context(), &strict, token); !errors.As(err, &challenge) || challenge.Status != 403 || !strings.Contains(challenge.Header(), `scope="crm.write"`) {
		t.Errorf("without a scope that all need: %v", err)
	}
	w.Exec(t, "update upstream_sessions set role = 'staff'")
	eventually(t, "the role is known", func() bool { _, err := w.service.Admit(t.Context(), w.ep, token); return err != nil })
	wantDenied(t, w, w.ep, token, "token_role")
	w.Exec(t, "update upstream_sessions set role = 'authenticated', anonymous = true")
	eventually(t, "the role is back", func() bool {
		_, err := w.service.Admit(t.Context(), w.ep, token)
		return errors.As(err, &challenge) && challenge.Code != "token_role"
	})
	wantDenied(t, w, w.ep, token, "token_anonymous_user")
	w.clock.Advance(accessLifetime + clockSkew)
	wantDenied(t, w, w.ep, token, "token_expired")
}

func TestAGrantEndsWithItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &connection{who: w.signedIn(t, w.ep, alice), client: w.client(t, w.ep, "claude", callback), ep: w.ep}
	c.issued = w.exchanged(t, c, Answer{Allow: true, Lifetime: 24 * time.Hour})
	w.clock.Advance(24*time.Hour - time.Minute)
	token := w.access(t, c)
	w.admitted(t, w.ep, token)
	w.clock.Advance(time.Minute)
	wantDenied(t, w, w.ep, token, "grant_expired")
}

// With the database away what was known a moment ago still serves, and no
// longer than a minute; what was taken away does not.
func TestKnownGrantsServeWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, gone := w.connected(t, w.ep, alice, "claude"), w.connected(t, w.ep, bob, "cursor")
	token, revoked := w.access(t, c), w.access(t, gone)
	w.admitted(t, w.ep, token)
	w.admitted(t, w.ep, revoked)
	if err := w.service.Revoke(t.Context(), gone.who, gone.issued.grant); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the revocation is known", func() bool { _, err := w.service.Admit(t.Context(), w.ep, revoked); return err != nil })
	fresh := w.connected(t, w.ep, alice, "later")
	never := w.access(t, fresh)
	w.Store.Pool().Close()
	w.clock.Advance(30 * time.Second)
	w.admitted(t, w.ep, token)
	if _, err := w.service.Admit(t.Context(), w.ep, revoked); err == nil {
		t.Error("what was taken away serves")
	}
	if _, err := w.service.Admit(t.Context(), w.ep, never); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a grant never seen: %v", err)
	}
	w.clock.Advance(2 * time.Minute)
	if _, err := w.service.Admit(t.Context(), w.ep, token); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after two minutes: %v", err)
	}
}

func TestUsesAreNotedInBatchesAndNeverNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	token := w.access(t, c)
	caller := w.admitted(t, w.ep, token)
	known, _ := w.service.standing.grants.GetIfPresent(grantKey{w.ep.Organization, c.issued.grant})
	w.service.touches.Flush()
	var used *time.Time
	w.query(t, &used, "select last_used_at from grants")
	if used == nil || !used.Equal(w.clock.Now()) {
		t.Errorf("used %v", used)
	}
	w.admitted(t, w.ep, token)
	if w.service.touches.Flush() != 0 {
		t.Error("noted twice within a minute")
	}
	for range 3 {
		w.service.FirstCall(t.Context(), w.ep, caller, "Claude", "1.2", visitor)
	}
	w.replica(t).service.FirstCall(t.Context(), w.ep, caller, "Claude", "1.2", visitor)
	if steps := w.steps.of(w.ep.Surface, events.StepFirstCall); len(steps) != 1 || steps[0].ClientName != "Claude" || steps[0].ClientVersion != "1.2" || steps[0].Grant != c.issued.grant {
		t.Errorf("steps %+v", steps)
	}
	w.Exec(t, "select pg_notify('chumbo_directory', 'grant:00000000-0000-7000-8000-000000000000')")
	w.clock.Advance(time.Second)
	w.admitted(t, w.ep, token)
	if now, _ := w.service.standing.grants.GetIfPresent(grantKey{w.ep.Organization, c.issued.grant}); now != known {
		t.Error("a use made every server forget the grant")
	}
}

func TestAPersonalTokenMakesItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who, _ := w.visited(t, w.ep, alice)
	sales := w.surface(t, w.builder, w.project, "acme", "sales", nil)
	globex := w.surface(t, w.member(t, "owner@globex.test", "Globex"), w.project, "globex", "main", nil)
	grant, token, err := w.service.NewPersonalToken(t.Context(), who, w.ep, "  my script ", true, 30*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	text := token.Reveal()
	if !strings.HasSuffix(text, grant.TokenHint) || len(grant.TokenHint) != 4 || grant.ClientName != "my script" || !grant.Personal || len(text) != personalLength {
		t.Errorf("grant %+v", grant)
	}
	c, err := w.service.AdmitPersonal(t.Context(), w.ep, text)
	if err != nil {
		t.Fatal(err)
	}
	if c.Key.Client != grant.ID.String() || c.Key.Subject != who.Subject || c.Grant != grant.ID || !c.Allowed.ReadOnly || !slices.Equal(c.Scopes, everything) || !c.Expires.Equal(grant.ExpiresAt) {
		t.Errorf("caller %+v", c)
	}
	if upstream, err := c.ProjectToken(t.Context()); err != nil || upstream != w.mustUpstream(t, who) {
		t.Errorf("the project's token: %v", err)
	}
	wantDenied(t, w, sales, text, "token_unknown")
	wantDenied(t, w, globex, text, "token_unknown")
	wantDenied(t, w, w.ep, text[:len(text)-1]+"x", "token_unknown")
	wantDenied(t, w, w.ep, personalPrefix, "token_unknown")
	var stored int
	w.query(t, &stored, "select count(*) from grants g where g::text like '%' || $1 || '%'", text[8:])
	if stored != 0 {
		t.Error("the token is stored")
	}
	client := w.connected(t, w.ep, alice, "claude")
	if err := w.service.Revoke(t.Context(), who, grant.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is refused", func() bool { _, err := w.service.AdmitPersonal(t.Context(), w.ep, text); return err != nil })
	wantDenied(t, w, w.ep, text, "token_revoked")
	w.admitted(t, w.ep, w.access(t, client))

	for name, make := range map[string]func() error{
		"too long": func() error {
			_, _, err := w.service.NewPersonalToken(t.Context(), who, w.ep, "x", false, 91*24*time.Hour)
			return err
		},
		"no name": func() error {
			_, _, err := w.service.NewPersonalToken(t.Context(), who, w.ep, " \n", false, time.Hour)
			return err
		},
		"a token as its name": func() error {
			_, _, err := w.service.NewPersonalToken(t.Context(), who, w.ep, text, false, time.Hour)
			return err
		},
		"at another organization's surface": func() error {
			_, _, err := w.service.NewPersonalToken(t.Context(), who, globex, "x", false, time.Hour)
			return err
		},
		"at a direct surface": func() error {
			direct := w.surface(t, w.builder, w.project, "acme", "direct", func(c *surfaces.Compiled) { c.Access.Authorization = surfaces.AuthorizationDirect })
			_, _, err := w.service.NewPersonalToken(t.Context(), who, direct, "x", false, time.Hour)
			return err
		},
	} {
		if err := make(); !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range personalBound + 1 {
		_, _, err := w.service.NewPersonalToken(t.Context(), who, w.ep, "x", true, time.Hour)
		if full := n == personalBound; full != fault.Is(err, fault.Conflict) || !full && err != nil {
			t.Fatalf("token %d: %v", n, err)
		}
	}
}
