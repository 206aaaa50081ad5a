package tenants_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestFirstOwnerIsMadeOnceEvenWhenTwoTry(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { _, _, _, errs[i] = b.service.CreateOwner(t.Context(), "carol@example.test", "Initech") })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		switch {
		case err == nil:
			made++
		case !fault.Is(err, fault.Conflict):
			t.Errorf("refused with %v, want a conflict", err)
		}
	}
	if made != 1 {
		t.Errorf("%d first owners were made, want 1", made)
	}
}

func TestTokenTellsWhoseItIs(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	if b.alice.Organization.Slug != "acme" || b.alice.Builder.Email != "alice@example.test" || b.alice.Role != tenants.RoleOwner {
		t.Errorf("alice is %+v", b.alice)
	}
	if b.alice.Organization.ID == b.bob.Organization.ID {
		t.Error("alice and bob share an organization")
	}
}

func TestTokensThatDoNotHoldAreRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	expiringID, expiring, err := b.service.CreateToken(t.Context(), b.alice, tenants.NewAPIToken{Name: "ci", Scope: tenants.ScopeWrite, Expires: b.clock.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	revokedID, revoked, err := b.service.CreateToken(t.Context(), b.alice, tenants.NewAPIToken{Name: "laptop", Scope: tenants.ScopeAdmin})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []seal.Secret{expiring, revoked} {
		if _, err := b.service.VerifyToken(t.Context(), token); err != nil {
			t.Fatalf("fresh token refused: %v", err)
		}
	}
	if err := b.service.RevokeToken(t.Context(), b.bob, expiringID); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob revoking alice's token: %v, want not found", err)
	}
	if err := b.service.RevokeToken(t.Context(), b.alice, revokedID); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Hour)
	for code, token := range map[string]string{
		"token_malformed": "cht_short",
		"token_unknown":   "cht_" + strings.Repeat("A", 43),
		"token_expired":   expiring.Reveal(),
		"token_revoked":   revoked.Reveal(),
	} {
		_, err := b.service.VerifyToken(t.Context(), seal.NewSecret(token))
		if f := fault.From(err); f.Kind != fault.Unauthenticated || f.Code != code || !strings.Contains(f.Message, ".") {
			t.Errorf("%s: got %v", code, err)
		}
	}
}

func TestTakenNameStaysTakenAfterTheProjectIsGone(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	n := tenants.NewProject{Slug: "acme-crm", ProjectFacts: facts()}
	_, err := b.service.CreateProject(t.Context(), b.bob, n)
	if f := fault.From(err); f.Kind != fault.Conflict || !strings.Contains(f.Message, "acme-crm-globex") {
		t.Errorf("bob takes alice's name: %v", err)
	}
	if _, err := b.service.CreateProject(t.Context(), b.alice, n); !fault.Is(err, fault.Conflict) {
		t.Errorf("alice registers twice: %v, want a conflict", err)
	}
	b.Exec(t, "update surfaces set live_revision = null")
	for _, table := range []string{"revisions", "surface_urls", "surfaces", "projects"} {
		b.Exec(t, "delete from "+table)
	}
	if _, err := b.service.CreateProject(t.Context(), b.bob, n); !fault.Is(err, fault.Conflict) {
		t.Errorf("bob takes the name after alice's project is gone: %v, want a conflict", err)
	}
	if _, err := b.service.CreateProject(t.Context(), b.alice, n); err != nil {
		t.Errorf("alice takes her own name again: %v", err)
	}
}

func TestAliceAndBobSeeOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.bob, "globex-crm", "main")
	ctx := t.Context()
	list, err := b.service.Projects(ctx, b.bob)
	if err != nil || len(list) != 1 || list[0].Slug != "globex-crm" {
		t.Errorf("bob's projects: %+v, %v", list, err)
	}
	calls := map[string]func() error{
		"project":  func() error { _, err := b.service.Project(ctx, b.bob, "acme-crm"); return err },
		"update":   func() error { _, err := b.service.UpdateProject(ctx, b.bob, "acme-crm", facts()); return err },
		"surfaces": func() error { _, err := b.service.Surfaces(ctx, b.bob, "acme-crm"); return err },
		"surface":  func() error { _, err := b.service.Surface(ctx, b.bob, "acme-crm", "main"); return err },
		"ensure":   func() error { _, err := b.service.EnsureSurface(ctx, b.bob, "acme-crm", "extra"); return err },
		"state": func() error {
			_, err := b.service.SetState(ctx, b.bob, "acme-crm", "main", tenants.StatePaused)
			return err
		},
	}
	for name, call := range calls {
		if err := call(); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s on alice's project as bob: %v, want not found", name, err)
		}
	}
	mine, err := b.service.Surfaces(ctx, b.alice, "acme-crm")
	if err != nil || len(mine) != 1 || mine[0].State != tenants.StateLive {
		t.Errorf("alice's surfaces after bob's tries: %+v, %v", mine, err)
	}
}

func TestSurfaceHasItsURLs(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{PublicURL: "http://localhost:8080", Aliases: []string{"127.0.0.1:8080"}, SurfaceDomain: "surfaces.example.test"})
	main := b.surface(t, b.alice, "acme-crm", "main")
	sales := b.surface(t, b.alice, "acme-crm", "sales")
	for _, c := range []struct {
		surface tenants.Surface
		want    []string
	}{
		{main, []string{"http://acme-crm.surfaces.example.test:8080/mcp", "http://localhost:8080/acme-crm/mcp", "http://127.0.0.1:8080/acme-crm/mcp"}},
		{sales, []string{"http://acme-crm.surfaces.example.test:8080/sales/mcp", "http://localhost:8080/acme-crm/sales/mcp", "http://127.0.0.1:8080/acme-crm/sales/mcp"}},
	} {
		var got []string
		for _, u := range c.surface.URLs {
			got = append(got, u.URL())
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("URLs of %s: %q, want %q", c.surface.Slug, got, c.want)
		}
	}
}

func TestHostFormBecomesPrimaryOnceThereIsASurfaceDomain(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	later, err := tenants.NewService(tenants.ServiceConfig{
		Store: b.Store, Now: b.clock.Now, Hosts: tenants.Hosts{PublicURL: publicURL, SurfaceDomain: "surfaces.example.test"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := later.EnsureSurface(t.Context(), b.alice, "acme-crm", "main")
	if err != nil {
		t.Fatal(err)
	}
	if s.URLs[0].URL() != "https://acme-crm.surfaces.example.test/mcp" || len(s.URLs) != 2 {
		t.Errorf("URLs are %+v", s.URLs)
	}
}

func TestViewersOnlyReadAndChangesAreAudited(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	b.Exec(t, "update members set role = 'viewer' where organization_id = $1", b.alice.Organization.ID.UUID())
	viewer := b.alice
	viewer.Role = tenants.RoleViewer
	if _, err := b.service.SetState(t.Context(), viewer, "acme-crm", "main", tenants.StatePaused); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a viewer paused a surface: %v", err)
	}
	if _, err := b.service.Surface(t.Context(), viewer, "acme-crm", "main"); err != nil {
		t.Errorf("a viewer reads: %v", err)
	}
	if got := b.count(t, "audit_events", "action = 'project.create' and outcome = 'ok' and actor like 'tok_%'"); got != 1 {
		t.Errorf("%d audit rows of the registration, want 1", got)
	}
	if got := b.count(t, "audit_events", "action = 'surface.state' and outcome = 'refused'"); got != 1 {
		t.Errorf("%d audit rows of the refusal, want 1", got)
	}
}

func TestUpdateProjectForgetsTheProofWhenTheOriginMoves(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	b.Exec(t, "update projects set verified_at = now()")
	same, err := b.service.UpdateProject(t.Context(), b.alice, "acme-crm", facts())
	if err != nil || same.VerifiedAt == nil {
		t.Errorf("same origin: verified %v, %v", same.VerifiedAt, err)
	}
	f := facts()
	f.APIOrigin, f.Issuer, f.JWKSURI = "https://new.example.test", "https://new.example.test/auth/v1", "https://new.example.test/jwks.json"
	moved, err := b.service.UpdateProject(t.Context(), b.alice, "acme-crm", f)
	if err != nil || moved.VerifiedAt != nil {
		t.Errorf("moved origin: verified %v, %v", moved.VerifiedAt, err)
	}
}
