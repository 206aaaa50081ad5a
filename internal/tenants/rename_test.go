package tenants_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func urls(s tenants.Surface) []string {
	var list []string
	for _, u := range s.URLs {
		list = append(list, u.URL())
	}
	return list
}

func (b *bundle) renamed(t *testing.T, p tenants.Principal, project, slug string) tenants.Project {
	t.Helper()
	renamed, err := b.service.RenameProject(t.Context(), p, project, slug)
	if err != nil {
		t.Fatal(err)
	}
	return renamed
}

func TestRenamedProjectServesItsOldURLsAsAliases(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{SurfaceDomain: "surfaces.example.test"}
	b := setup(t, hosts)
	b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.alice, "acme-crm", "sales")
	b.Exec(t, "update surface_urls set is_root = true where host = 'acme-crm.*' and path = '/mcp'")
	d := directory(t, b, tenants.DirectoryConfig{Hosts: tenants.Hosts{PublicURL: publicURL, SurfaceDomain: hosts.SurfaceDomain}})
	if renamed := b.renamed(t, b.alice, "acme-crm", "acme-corp"); renamed.Slug != "acme-corp" {
		t.Errorf("renamed to %+v", renamed)
	}
	s, err := b.service.Surface(t.Context(), b.alice, "acme-corp", "sales")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"https://acme-corp.surfaces.example.test/sales/mcp", "https://mcp.example.test/acme-crm/sales/mcp",
		"https://acme-crm.surfaces.example.test/sales/mcp", "https://mcp.example.test/acme-corp/sales/mcp",
	}
	got := urls(s)
	if len(got) != 4 || got[0] != want[0] {
		t.Errorf("URLs %q", got)
	}
	for _, at := range []struct{ host, path, resource string }{
		{host, "/acme-crm/mcp", "https://mcp.example.test/acme-crm/mcp"},
		{host, "/acme-corp/mcp", "https://mcp.example.test/acme-corp/mcp"},
		{host, "/acme-crm/sales/mcp", "https://mcp.example.test/acme-crm/sales/mcp"},
		{"acme-crm.surfaces.example.test", "/sales/mcp", "https://acme-crm.surfaces.example.test/sales/mcp"},
		{"acme-corp.surfaces.example.test", "/sales/mcp", "https://acme-corp.surfaces.example.test/sales/mcp"},
		{"acme-crm.surfaces.example.test", "/", "https://acme-crm.surfaces.example.test/mcp"},
		{"acme-corp.surfaces.example.test", "/", "https://acme-corp.surfaces.example.test/mcp"},
	} {
		ep, err := d.Lookup(t.Context(), at.host, at.path)
		if err != nil || ep.Resource.URL() != at.resource || ep.Project.Slug != "acme-corp" {
			t.Errorf("%s%s: %+v, %v; want resource %s", at.host, at.path, ep, err, at.resource)
		}
	}
	if _, err := b.service.Project(t.Context(), b.alice, "acme-crm"); !fault.Is(err, fault.NotFound) {
		t.Errorf("by its old name: %v", err)
	}

	b.renamed(t, b.alice, "acme-corp", "acme-crm") // and back
	s, err = b.service.Surface(t.Context(), b.alice, "acme-crm", "sales")
	if err != nil || urls(s)[0] != "https://acme-crm.surfaces.example.test/sales/mcp" || len(s.URLs) != 4 {
		t.Errorf("renamed back: %q, %v", urls(s), err)
	}
	if _, err := d.Lookup(t.Context(), host, "/acme-corp/mcp"); err != nil {
		t.Errorf("the name between: %v", err)
	}
	if n := b.count(t, "audit_events", "action = 'project.rename' and outcome = 'ok'"); n != 2 {
		t.Errorf("%d audit rows", n)
	}
}

func TestNameThatStillServesIsNobodyElses(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	b.renamed(t, b.alice, "acme-crm", "acme-corp")
	create := func(p tenants.Principal, slug string) error {
		_, err := b.service.CreateProject(t.Context(), p, tenants.NewProject{Slug: slug, ProjectFacts: facts()})
		return err
	}
	err := create(b.alice, "acme-crm")
	if f := fault.From(err); f.Code != "name_is_alias" || !strings.Contains(f.Message, `"acme-corp"`) {
		t.Errorf("alice's second project: %v", err)
	}
	if err := create(b.bob, "acme-crm"); fault.From(err).Code != "name_taken" || strings.Contains(err.Error(), "corp") {
		t.Errorf("bob takes it: %v", err)
	}
	b.project(t, b.bob, "globex-crm", facts())
	b.project(t, b.alice, "acme-two", facts())
	for slug, code := range map[string]string{"acme-crm": "name_is_alias", "acme-corp": "name_taken", "globex-crm": "name_taken", "claude": "name_reserved", "A": "name_invalid"} {
		if _, err := b.service.RenameProject(t.Context(), b.alice, "acme-two", slug); fault.From(err).Code != code {
			t.Errorf("acme-two to %s: %v, want %s", slug, err, code)
		}
	}
	for _, slug := range []string{"acme-crm", "acme-corp", "acme-two"} {
		if _, err := b.service.RenameProject(t.Context(), b.bob, "globex-crm", slug); fault.From(err).Code != "name_taken" {
			t.Errorf("bob renames to %s: %v", slug, err)
		}
		if _, err := b.service.RenameProject(t.Context(), b.bob, slug, "globex-new"); !fault.Is(err, fault.NotFound) {
			t.Errorf("bob renames alice's %s: %v", slug, err)
		}
	}
	b.renamed(t, b.alice, "acme-corp", "acme-crm") // only it may go back
	// A refused rename claims nothing.
	if n := b.count(t, "name_claims", "name in ('globex-new', 'claude')"); n != 0 {
		t.Error("a refused rename claimed a name")
	}
	developer := b.alice
	developer.Role = tenants.RoleDeveloper
	if _, err := b.service.RenameProject(t.Context(), developer, "acme-two", "acme-three"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a developer renames: %v", err)
	}
}

func TestRenamedSurfaceServesItsOldURLs(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "sales")
	b.surface(t, b.alice, "acme-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{})
	s, err := b.service.RenameSurface(t.Context(), b.alice, "acme-crm", "sales", "leads")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"https://mcp.example.test/acme-crm/leads/mcp", "https://mcp.example.test/acme-crm/sales/mcp"}
	if !slices.Equal(urls(s), want) {
		t.Errorf("URLs %q, want %q", urls(s), want)
	}
	for _, url := range want {
		ep, err := d.Lookup(t.Context(), host, strings.TrimPrefix(url, publicURL))
		if err != nil || ep.Resource.URL() != url || ep.SurfaceSlug != "leads" {
			t.Errorf("%s: %+v, %v", url, ep, err)
		}
	}
	_, err = b.service.EnsureSurface(t.Context(), b.alice, "acme-crm", "sales")
	if f := fault.From(err); f.Code != "url_taken" || !strings.Contains(f.Message, `"leads"`) {
		t.Errorf("a new surface of the old name: %v", err)
	}
	for slug, code := range map[string]string{"main": "name_taken", "oauth": "name_reserved", "x": "name_invalid"} {
		if _, err := b.service.RenameSurface(t.Context(), b.alice, "acme-crm", "leads", slug); fault.From(err).Code != code {
			t.Errorf("to %s: %v, want %s", slug, err, code)
		}
	}
	if _, err := b.service.RenameSurface(t.Context(), b.bob, "acme-crm", "leads", "stolen"); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob renames alice's surface: %v", err)
	}
	back, err := b.service.RenameSurface(t.Context(), b.alice, "acme-crm", "leads", "sales")
	if err != nil || urls(back)[0] != want[1] || len(back.URLs) != 2 {
		t.Errorf("renamed back: %q, %v", urls(back), err)
	}
}

func TestTwoRenamesToOneNameAtOnceLeaveOneWinner(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-one", "main")
	b.surface(t, b.alice, "acme-two", "main")
	b.renamed(t, b.alice, "acme-one", "acme-new")
	b.renamed(t, b.alice, "acme-new", "acme-one")
	if err := b.service.DeleteProject(t.Context(), b.alice, "acme-one", "acme-one"); err != nil {
		t.Fatal(err) // so that acme-new is claimed, and free
	}
	b.surface(t, b.alice, "acme-one", "main")
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, slug := range []string{"acme-one", "acme-two"} {
		wg.Go(func() { _, errs[i] = b.service.RenameProject(t.Context(), b.alice, slug, "acme-new") })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !fault.Is(err, fault.Conflict) {
			t.Errorf("lost with %v, want a conflict", err)
		}
	}
	if won != 1 {
		t.Errorf("%d renames won", won)
	}
}

func TestProjectIsCalledWhatItsBuilderSays(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.project(t, b.alice, "acme-crm", facts())
	named, err := b.service.SetProjectName(t.Context(), b.alice, "acme-crm", "Acme's customers")
	if err != nil || named.Name != "Acme's customers" {
		t.Errorf("named %+v, %v", named, err)
	}
	for _, bad := range []string{"", "two\nlines", "sb_secret_0123456789abcdef"} {
		if _, err := b.service.SetProjectName(t.Context(), b.alice, "acme-crm", bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := b.service.SetProjectName(t.Context(), b.bob, "acme-crm", "Bob's"); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob: %v", err)
	}
}
