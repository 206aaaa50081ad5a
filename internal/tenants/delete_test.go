package tenants_test

import (
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestDeletedProjectIsGoneAndItsNamesStayClaimed(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	ctx := t.Context()
	b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.alice, "acme-crm", "sales")
	b.renamed(t, b.alice, "acme-crm", "acme-corp") // an alias goes too
	b.surface(t, b.alice, "acme-two", "main")
	b.surface(t, b.bob, "globex-crm", "main")
	mine, err := b.service.Project(ctx, b.alice, "acme-corp")
	if err != nil {
		t.Fatal(err)
	}
	org, id := b.alice.Organization.ID.UUID(), mine.ID.UUID()
	b.Exec(t, "insert into domains values ($1, gen_random_uuid(), $2, 'mcp.acme.example.test', now(), now()), ($1, gen_random_uuid(), $2, 'typo.example.test', null, now())", org, id)
	b.Exec(t, "insert into schema_snapshots values ($1, $2, 'd', '{}', 'file', now())", org, id)
	b.Exec(t, "insert into invocations select $1, gen_random_uuid(), now(), (select id from surfaces where slug = 'sales'), 1, 'm', 'c', 'direct', '', '', 'ok', '', 1, 1, 1, '', ''", org)
	r, err := b.service.BeginRegistration(ctx, b.alice, "https://db.example.test")
	if err != nil {
		t.Fatal(err)
	}
	r.Project = &mine.ID
	if err := b.service.SaveRegistration(ctx, b.alice, r); err != nil {
		t.Fatal(err)
	}
	d := directory(t, b, tenants.DirectoryConfig{})
	run(t, d)
	served := func(path string) bool { _, err := d.Lookup(ctx, host, path); return err == nil }
	if !served("/acme-crm/mcp") || !served("/acme-corp/sales/mcp") {
		t.Fatal("not served before")
	}

	developer := b.alice
	developer.Role = tenants.RoleDeveloper
	for name, err := range map[string]error{
		"unconfirmed": b.service.DeleteProject(ctx, b.alice, "acme-corp", "acme"),
		"bob":         b.service.DeleteProject(ctx, b.bob, "acme-corp", "acme-corp"),
		"developer":   b.service.DeleteProject(ctx, developer, "acme-corp", "acme-corp"),
	} {
		if err == nil {
			t.Fatalf("%s deleted it", name)
		}
	}
	if err := b.service.DeleteProject(ctx, b.alice, "acme-corp", "acme-corp"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its URLs are gone", func() bool { return !served("/acme-crm/mcp") && !served("/acme-corp/sales/mcp") })
	for table, want := range map[string]int{
		"projects": 2, "surfaces": 2, "revisions": 2, "surface_urls": 2, "domains": 0, "schema_snapshots": 0, // acme-two's and globex-crm's are left
		"invocations": 1, "registrations": 1, "name_claims": 5,
	} {
		if n := b.count(t, table, "true"); n != want {
			t.Errorf("%d rows in %s, want %d", n, table, want)
		}
	}
	if n := b.count(t, "name_claims", "kind = 'host' and name = 'mcp.acme.example.test'"); n != 1 {
		t.Error("the host that served is not claimed")
	}
	if again, err := b.service.Registration(ctx, b.alice, r.ID); err != nil || again.Project != nil {
		t.Errorf("the registration: %+v, %v", again, err)
	}
	if n := b.count(t, "audit_events", "action = 'project.delete' and outcome = 'ok' and detail ->> 'slug' = 'acme-corp'"); n != 1 {
		t.Errorf("%d audit rows", n)
	}
	if n := b.count(t, "audit_events", "action = 'project.delete' and outcome = 'refused'"); n != 3 {
		t.Errorf("%d audit rows of refusals", n)
	}
}

// TestSquattingAURLThatWasSomebodyElses: whoever knew a URL of Alice's never
// reaches Bob there.
func TestSquattingAURLThatWasSomebodyElses(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	ctx := t.Context()
	b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.alice, "acme-crm", "sales")
	b.renamed(t, b.alice, "acme-crm", "acme-corp")
	if err := b.service.DeleteSurface(ctx, b.alice, "acme-corp", "sales", "sales"); err != nil {
		t.Fatal(err)
	}
	b.surface(t, b.bob, "globex-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{})
	attack := func(when string) {
		t.Helper()
		for _, slug := range []string{"acme-crm", "acme-corp"} {
			if _, err := b.service.CreateProject(ctx, b.bob, tenants.NewProject{Slug: slug, ProjectFacts: facts()}); !fault.Is(err, fault.Conflict) {
				t.Errorf("%s: bob registers %s: %v, want a conflict", when, slug, err)
			}
			if _, err := b.service.RenameProject(ctx, b.bob, "globex-crm", slug); !fault.Is(err, fault.Conflict) {
				t.Errorf("%s: bob renames to %s: %v, want a conflict", when, slug, err)
			}
			for _, surface := range []string{"main", "sales"} {
				if _, err := b.service.EnsureSurface(ctx, b.bob, slug, surface); !fault.Is(err, fault.NotFound) {
					t.Errorf("%s: bob puts %s under %s: %v", when, surface, slug, err)
				}
			}
		}
		for _, path := range []string{"/acme-crm/mcp", "/acme-corp/mcp", "/acme-crm/sales/mcp", "/acme-corp/sales/mcp"} {
			if ep, err := d.Lookup(ctx, host, path); err == nil && ep.Organization != b.alice.Organization.ID {
				t.Errorf("%s: bob is reached at %s", when, path)
			}
		}
	}
	attack("while it serves")
	if err := b.service.DeleteProject(ctx, b.alice, "acme-corp", "acme-corp"); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	attack("after it was deleted")
	b.project(t, b.alice, "acme-crm", facts()) // Alice may have it again
	b.surface(t, b.alice, "acme-corp", "sales")
	attack("after alice took it again")
}

func TestDeletedSurfaceFreesItsName(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	ctx := t.Context()
	b.surface(t, b.alice, "acme-crm", "main")
	gone := b.surface(t, b.alice, "acme-crm", "sales")
	for name, err := range map[string]error{
		"unconfirmed": b.service.DeleteSurface(ctx, b.alice, "acme-crm", "sales", ""),
		"bob":         b.service.DeleteSurface(ctx, b.bob, "acme-crm", "sales", "sales"),
		"unknown":     b.service.DeleteSurface(ctx, b.alice, "acme-crm", "leads", "leads"),
	} {
		if err == nil {
			t.Errorf("%s deleted something", name)
		}
	}
	if err := b.service.DeleteSurface(ctx, b.alice, "acme-crm", "sales", "sales"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.Surface(ctx, b.alice, "acme-crm", "sales"); !fault.Is(err, fault.NotFound) {
		t.Errorf("the surface: %v", err)
	}
	if list, err := b.service.Surfaces(ctx, b.alice, "acme-crm"); err != nil || len(list) != 1 {
		t.Errorf("left: %+v, %v", list, err)
	}
	if n := b.count(t, "revisions", "surface_id = '"+gone.ID.UUID().String()+"'"); n != 0 {
		t.Errorf("%d revisions are left", n)
	}
	again := b.surface(t, b.alice, "acme-crm", "sales")
	if again.ID == gone.ID || again.URLs[0].URL() != gone.URLs[0].URL() {
		t.Errorf("made again: %+v", again)
	}
}
