package bridge

import (
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func ids(grants []AccessGrant) string {
	var list []string
	for _, g := range grants {
		list = append(list, g.ClientName)
	}
	return strings.Join(list, " ")
}

// A person sees and changes what is theirs at one project, and nothing else.
func TestConnectedAppsAreThePersonsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sales := w.surface(t, w.builder, w.project, "acme", "sales", nil)
	two := w.surface(t, w.builder, w.project, "acme-two", "main", nil)
	globex := w.surface(t, w.member(t, "owner@globex.test", "Globex"), w.project, "globex", "main", nil)
	first := w.connected(t, w.ep, alice, "first")
	w.clock.Advance(time.Minute)
	second := w.connected(t, sales, alice, "second")
	w.clock.Advance(time.Minute)
	elsewhere := w.connected(t, two, alice, "elsewhere")
	abroad := w.connected(t, globex, alice, "abroad")
	theirs := w.connected(t, w.ep, bob, "theirs")
	for name, test := range map[string]struct {
		who  *Person
		want string
	}{
		"Alice": {first.who, "second first"}, "Alice at sales": {second.who, "second first"}, "Alice at another project": {elsewhere.who, "elsewhere"},
		"Alice at another organization": {abroad.who, "abroad"}, "Bob": {theirs.who, "theirs"},
	} {
		got, err := w.service.Connected(t.Context(), test.who)
		if err != nil || ids(got) != test.want {
			t.Errorf("%s sees %q, %v", name, ids(got), err)
		}
	}
	posing := *theirs.who // Bob, with Alice's session
	posing.Upstream = first.who.Upstream
	for name, who := range map[string]*Person{"Bob": theirs.who, "Alice of another project": elsewhere.who, "Alice of another organization": abroad.who, "Bob posing": &posing} {
		for what, try := range map[string]func() error{
			"revoke": func() error { return w.service.Revoke(t.Context(), who, first.issued.grant) },
			"narrow": func() error { return w.service.Narrow(t.Context(), who, first.issued.grant, true, nil) },
			"widen":  func() error { return w.service.Widen(t.Context(), who, first.issued.grant) },
		} {
			err := try()
			if unknown := w.service.Revoke(t.Context(), who, id.New[id.GrantKind]()); err == nil || err.Error() != unknown.Error() {
				t.Errorf("%s can %s: %v", name, what, err)
			}
		}
	}
	if _, _, err := w.service.NewPersonalToken(t.Context(), &posing, w.ep, "x", true, time.Hour); err == nil {
		t.Error("Bob made a token with Alice's session")
	}
	if _, _, err := w.service.NewPersonalToken(t.Context(), abroad.who, w.ep, "x", true, time.Hour); !fault.Is(err, fault.NotFound) {
		t.Errorf("a token at another organization's surface: %v", err)
	}
	if err := w.service.Revoke(t.Context(), second.who, first.issued.grant); err != nil {
		t.Errorf("Alice herself: %v", err)
	}
	got, err := w.service.Connected(t.Context(), first.who)
	if err != nil || ids(got) != "second first" || got[1].RevokedWhy != revokedByUser || got[1].RevokedAt == nil {
		t.Errorf("after revoking: %q %+v, %v", ids(got), got, err)
	}
	w.clock.Advance(endedShown + time.Hour)
	if got, err = w.service.Connected(t.Context(), first.who); err != nil || ids(got) != "second" {
		t.Errorf("a month later: %q, %v", ids(got), err)
	}
}

// Builders see who connected what to their own surfaces, and may end it; they
// see no email, and the audit log says who did it.
func TestBuildersEndGrantsOfTheirOwnSurfaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rival := w.member(t, "owner@globex.test", "Globex")
	globex := w.surface(t, rival, w.project, "globex", "main", nil)
	c, theirs := w.connected(t, w.ep, alice, "claude"), w.connected(t, globex, bob, "cursor")
	got, err := w.service.GrantsOf(t.Context(), w.builder, w.ep.Surface, id.Grant{})
	if err != nil || len(got) != 1 || got[0].ID != c.issued.grant || got[0].Subject != c.who.Subject || got[0].TokenHint != "" {
		t.Errorf("grants %+v, %v", got, err)
	}
	if _, err := w.service.GrantsOf(t.Context(), rival, w.ep.Surface, id.Grant{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("another organization's builder sees them: %v", err)
	}
	for name, try := range map[string]func() error{
		"another organization's": func() error { return w.service.RevokeByBuilder(t.Context(), rival, w.ep.Surface, c.issued.grant) },
		"by one's own surface":   func() error { return w.service.RevokeByBuilder(t.Context(), rival, globex.Surface, c.issued.grant) },
		"unknown": func() error {
			return w.service.RevokeByBuilder(t.Context(), rival, globex.Surface, id.New[id.GrantKind]())
		},
	} {
		if err := try(); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	viewer := w.builder
	viewer.Role = tenants.RoleViewer
	if err := w.service.RevokeByBuilder(t.Context(), viewer, w.ep.Surface, c.issued.grant); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a viewer: %v", err)
	}
	for range 2 {
		if err := w.service.RevokeByBuilder(t.Context(), w.builder, w.ep.Surface, c.issued.grant); err != nil {
			t.Fatal(err)
		}
	}
	if w.why(t, c) != revokedByBuilder || w.why(t, theirs) != "" {
		t.Errorf("revoked %q and %q", w.why(t, c), w.why(t, theirs))
	}
	var audit string
	w.query(t, &audit, "select string_agg(outcome || ' ' || target, ', ' order by at, outcome) from audit_events where action = 'grant.revoke' and organization_id = $1", w.builder.Organization.ID.UUID())
	if want := "ok " + c.issued.grant.String() + ", refused " + c.issued.grant.String(); audit != want {
		t.Errorf("audit %q", audit)
	}
	for range grantsOfPage + 3 {
		w.Exec(t, `insert into grants select organization_id, gen_random_uuid(), surface_id, project_id, 'personal', issuer, subject, gen_random_uuid(), client_name, asked, scopes, read_only,
			writes, approved_redirects, upstream_session_id, null, '', created_at, approved_at, expires_at from grants where id = $1`, c.issued.grant.UUID())
	}
	seen := map[id.Grant]bool{}
	var after id.Grant
	for {
		page, err := w.service.GrantsOf(t.Context(), w.builder, w.ep.Surface, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page {
			seen[g.ID] = true
		}
		if len(page) < grantsOfPage {
			break
		}
		after = page[len(page)-1].ID
	}
	if len(seen) != grantsOfPage+4 {
		t.Errorf("%d grants by pages", len(seen))
	}
}
