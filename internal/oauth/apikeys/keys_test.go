package apikeys

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestAKeyIsShownOnceAndOnlyItsHashIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, secret := w.made(t, w.main, NewKey{Name: "Backend", Scopes: []string{"crm.read", "crm.write", "crm.read"}})
	if !keyShaped(secret) || len(secret) != 47 || !strings.HasSuffix(secret, key.Hint) || len(key.Hint) != 4 {
		t.Errorf("key %q with hint %q", secret, key.Hint)
	}
	var row string
	w.query(t, &row, "select (api_keys.*)::text from api_keys where id = $1", key.ID.UUID())
	hash := hashOf(secret)
	if strings.Contains(row, secret[4:20]) || !strings.Contains(row, fmt.Sprintf("%x", hash)) {
		t.Errorf("kept as %s", row)
	}
	list, err := w.service.List(t.Context(), w.alice, w.main.Surface, id.Key{})
	if err != nil || len(list) != 1 || list[0].ID != key.ID || list[0].Name != "Backend" || list[0].CreatedBy != w.alice.Builder.ID || list[0].RevokedAt != nil ||
		!slices.Equal(list[0].Scopes, []string{"crm.read", "crm.write"}) {
		t.Errorf("listed %+v, %v", list, err)
	}
	if w.audited(t, "key.create", "ok", key.ID.String()) != 1 {
		t.Error("no line in the audit log")
	}
	var audit string
	w.query(t, &audit, "select string_agg(a::text, '') from audit_events a")
	for _, log := range []string{audit, w.logs.String()} {
		if strings.Contains(log, secret[4:]) {
			t.Error("the key was logged")
		}
	}
	_, other := w.made(t, w.main, NewKey{})
	if other == secret {
		t.Error("two keys are the same")
	}
}

func TestWhatNoKeyCanBeIsRefusedWithAnIssueEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := w.clock.Now()
	for name, c := range map[string]struct {
		n     NewKey
		paths []string
	}{
		"no name":          {NewKey{}, []string{"name"}},
		"a long name":      {NewKey{Name: strings.Repeat("ä", 81)}, []string{"name"}},
		"two lines":        {NewKey{Name: "a\nb"}, []string{"name"}},
		"turned around":    {NewKey{Name: "a\u202eb"}, []string{"name"}},
		"a key as a name":  {NewKey{Name: newSecret().Reveal()}, []string{"name"}},
		"a secret key":     {NewKey{Name: "sb_secret_0123456789"}, []string{"name"}},
		"a blank scope":    {NewKey{Name: "a", Scopes: []string{"crm.read", "crm read", ""}}, []string{"scopes[1]", "scopes[2]"}},
		"quotes":           {NewKey{Name: "a", Scopes: []string{`"`, `\`, "é"}}, []string{"scopes[0]", "scopes[1]", "scopes[2]"}},
		"many scopes":      {NewKey{Name: "a", Scopes: slices.Repeat([]string{"a"}, 51)}, []string{"scopes"}},
		"now":              {NewKey{Name: "a", Expires: now}, []string{"expires_at"}},
		"too far away":     {NewKey{Name: "a", Expires: now.AddDate(11, 0, 0)}, []string{"expires_at"}},
		"several mistakes": {NewKey{Scopes: []string{" "}, Expires: now.Add(-time.Hour)}, []string{"name", "scopes[0]", "expires_at"}},
	} {
		_, secret, err := w.service.Create(t.Context(), w.alice, w.main.Surface, c.n)
		f := fault.From(err)
		var paths []string
		for _, i := range f.Issues {
			paths = append(paths, i.Path)
		}
		if f.Kind != fault.Invalid || !slices.Equal(paths, c.paths) || !secret.IsZero() {
			t.Errorf("%s: %v at %v", name, err, paths)
		}
		if c.n.Name != "" && len(c.n.Name) > 10 && strings.Contains(fmt.Sprint(f.Message, f.Issues), c.n.Name) {
			t.Errorf("%s: repeated", name)
		}
	}
	if list, err := w.service.List(t.Context(), w.alice, w.main.Surface, id.Key{}); err != nil || len(list) != 0 {
		t.Errorf("made %v, %v", list, err)
	}
	if n := w.audited(t, "key.create", "refused", ""); n != 12 {
		t.Errorf("%d refusals in the audit log", n)
	}
	w.made(t, w.main, NewKey{Name: strings.Repeat("ä", 80), Scopes: []string{"nobody.asks.for.it"}, Expires: now.Add(time.Second)})
}

func TestOthersKeysAreNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, secret := w.made(t, w.main, NewKey{})
	if _, _, err := w.service.Create(t.Context(), w.bob, w.main.Surface, NewKey{Name: "mine"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("Bob makes a key of Alice's surface: %v", err)
	}
	if list, err := w.service.List(t.Context(), w.bob, w.main.Surface, id.Key{}); !fault.Is(err, fault.NotFound) || len(list) != 0 {
		t.Errorf("Bob lists %v, %v", list, err)
	}
	for _, revoke := range []func() error{
		func() error { return w.service.Revoke(t.Context(), w.bob, w.main.Surface, key.ID) },
		func() error { return w.service.Revoke(t.Context(), w.bob, w.globex.Surface, key.ID) },
		func() error { return w.service.Revoke(t.Context(), w.alice, w.sales.Surface, key.ID) },
		func() error { return w.service.Revoke(t.Context(), w.alice, w.main.Surface, newKeyID()) },
	} {
		if err := revoke(); !fault.Is(err, fault.NotFound) {
			t.Errorf("revoked: %v", err)
		}
	}
	w.admitted(t, w.main, secret)
	if list, err := w.service.List(t.Context(), w.alice, w.sales.Surface, id.Key{}); err != nil || len(list) != 0 {
		t.Errorf("another surface lists %v, %v", list, err)
	}
}

func TestWhoMayOnlyLookMakesAndEndsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, _ := w.made(t, w.main, NewKey{})
	viewer, reader := w.alice, w.alice
	viewer.Role, reader.Scope = tenants.RoleViewer, tenants.ScopeRead
	for _, p := range []tenants.Principal{viewer, reader} {
		if _, _, err := w.service.Create(t.Context(), p, w.main.Surface, NewKey{Name: "a"}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("made: %v", err)
		}
		if err := w.service.Revoke(t.Context(), p, w.main.Surface, key.ID); !fault.Is(err, fault.Forbidden) {
			t.Errorf("revoked: %v", err)
		}
		if list, err := w.service.List(t.Context(), p, w.main.Surface, id.Key{}); err != nil || len(list) != 1 {
			t.Errorf("listed %v, %v", list, err)
		}
	}
	if w.audited(t, "key.create", "refused", "") != 2 || w.audited(t, "key.revoke", "refused", key.ID.String()) != 2 {
		t.Error("refusals are not in the audit log")
	}
	developer := w.alice
	developer.Role, developer.Scope = tenants.RoleDeveloper, tenants.ScopeWrite
	if err := w.service.Revoke(t.Context(), developer, w.main.Surface, key.ID); err != nil {
		t.Errorf("a developer revokes: %v", err)
	}
	if err := w.service.Revoke(t.Context(), developer, w.main.Surface, key.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("once more: %v", err)
	}
	if w.audited(t, "key.revoke", "ok", key.ID.String()) != 1 {
		t.Error("no line in the audit log")
	}
}

func TestListComesInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made []id.Key
	for range PageSize + 3 {
		key, _ := w.made(t, w.main, NewKey{})
		made = append(made, key.ID)
	}
	if err := w.service.Revoke(t.Context(), w.alice, w.main.Surface, made[0]); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(made) // newest first
	var seen []id.Key
	var after id.Key
	for range 3 {
		page, err := w.service.List(t.Context(), w.alice, w.main.Surface, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range page {
			seen, after = append(seen, key.ID), key.ID
			if (key.RevokedAt != nil) != (key.ID == made[len(made)-1]) {
				t.Errorf("%s revoked %v", key.ID, key.RevokedAt)
			}
		}
	}
	if !slices.Equal(seen, made) {
		t.Errorf("seen %d of %d", len(seen), len(made))
	}
}

// A hundred keys in force are enough; those revoked or expired do not count,
// and makers at once are counted one after the other.
func TestASurfaceHasAHundredKeysInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, _ = w.made(t, w.main, NewKey{Expires: w.clock.Now().Add(time.Second)})
	w.clock.Advance(time.Second)
	w.Exec(t, `insert into api_keys (organization_id, id, surface_id, name, key_hash, hint, scopes, created_by, created_at)
		select $1, gen_random_uuid(), $2, 'k', sha256(n::text::bytea), '', '{}', gen_random_uuid(), now() from generate_series(1, 97) n`,
		w.main.Organization.UUID(), w.main.Surface.UUID())
	first, _ := w.made(t, w.main, NewKey{})
	var mu sync.Mutex
	var wg sync.WaitGroup
	var fine, refused int
	for range 6 {
		wg.Go(func() {
			_, _, err := w.service.Create(t.Context(), w.alice, w.main.Surface, NewKey{Name: "a"})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				fine++
			case fault.From(err).Code == "too_many_keys" && fault.Is(err, fault.Conflict):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if fine != 2 || refused != 4 {
		t.Errorf("%d made, %d refused", fine, refused)
	}
	w.made(t, w.sales, NewKey{}) // another surface has its own
	if err := w.service.Revoke(t.Context(), w.alice, w.main.Surface, first.ID); err != nil {
		t.Fatal(err)
	}
	w.made(t, w.main, NewKey{})
}
