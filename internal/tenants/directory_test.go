package tenants_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const host = "mcp.example.test"

func TestLookupSaysWhatServesAURL(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{})
	ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
	if err != nil {
		t.Fatal(err)
	}
	if ep.Surface != s.ID || ep.Organization != b.alice.Organization.ID || ep.Revision != 1 || ep.State != tenants.StateLive ||
		ep.Project.Issuer != "https://db.example.test/auth/v1" || ep.Project.Slug != "acme-crm" || len(ep.Digest) != 64 {
		t.Errorf("endpoint is %+v", ep)
	}
	if ep.Resource.URL() != publicURL+"/acme-crm/mcp" || len(ep.URLs) != 1 || ep.URLs[0] != ep.Resource {
		t.Errorf("resource %+v of %+v", ep.Resource, ep.URLs)
	}
	if !ep.Access.Has("oauth") || ep.Access.Authorization != "direct" {
		t.Errorf("access is %+v", ep.Access)
	}
	compiled, err := d.Compiled(t.Context(), ep)
	if err != nil || compiled.Title != "Acme CRM" {
		t.Errorf("compiled %+v, %v", compiled, err)
	}
}

func TestLookupRefusesWhatIsNotServed(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: publicURL, SurfaceDomain: "surfaces.example.test"}
	b := setup(t, hosts)
	s := b.surface(t, b.alice, "acme-crm", "main")
	b.Exec(t, `insert into domains (organization_id, id, project_id, host, created_at)
		values ($1, gen_random_uuid(), $2, 'waiting.example.test', now())`, s.Organization.UUID(), s.Project.UUID())
	d := directory(t, b, tenants.DirectoryConfig{Hosts: hosts})
	for _, c := range []struct {
		host, path string
		want       fault.Kind
		says       string
	}{
		{"evil.example.test", "/acme-crm/mcp", fault.Misdirected, "Host"},
		{"evil.example.test", "/favicon.ico", fault.Misdirected, "Host"},
		{"waiting.example.test", "/mcp", fault.Misdirected, "Host"},
		{"a.b.surfaces.example.test", "/mcp", fault.Misdirected, "Host"},
		{"", "/acme-crm/mcp", fault.Misdirected, "Host"},
		{host, "/nobody/mcp", fault.NotFound, "/mcp"},
		{host, "/", fault.NotFound, "/mcp"},
		{host, "/acme-crm", fault.NotFound, "/mcp"},
		{host, "/ACME-CRM/mcp", fault.NotFound, "/mcp"},
		{host, "/" + strings.Repeat("a", 4000) + "/mcp", fault.NotFound, "/mcp"},
		{"nobody.surfaces.example.test", "/mcp", fault.NotFound, "/mcp"},
		{"acme-crm.surfaces.example.test", "/", fault.NotFound, "/mcp"}, // no root surface yet
		{host, "/acme-crm/mcp/", fault.NotFound, "Use " + publicURL + "/acme-crm/mcp"},
		{host, "/nobody/mcp/", fault.NotFound, "no published surface"},
	} {
		_, err := d.Lookup(t.Context(), c.host, c.path)
		f := fault.From(err)
		if f.Kind != c.want || !strings.Contains(f.Message, c.says) {
			t.Errorf("%.40s%.40s: %v, want %v saying %q", c.host, c.path, err, c.want, c.says)
		}
		if strings.Contains(f.Message, "evil") {
			t.Errorf("%s: the answer repeats the host: %q", c.host, f.Message)
		}
	}
}

func TestLookupFollowsTheHostItWasReachedBy(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: "http://localhost:8080", Aliases: []string{"127.0.0.1:8080"}, SurfaceDomain: "surfaces.example.test"}
	b := setup(t, hosts)
	s := b.surface(t, b.alice, "acme-crm", "main")
	b.Exec(t, "update surface_urls set is_root = true where host <> ''")
	b.Exec(t, `insert into domains (organization_id, id, project_id, host, verified_at, created_at)
		values ($1, gen_random_uuid(), $2, 'mcp.acme.example.test', now(), now())`, s.Organization.UUID(), s.Project.UUID())
	b.Exec(t, `insert into surface_urls (organization_id, id, surface_id, host, path, is_primary, is_root, created_at)
		values ($1, gen_random_uuid(), $2, 'mcp.acme.example.test', '/mcp', false, true, now())`, s.Organization.UUID(), s.ID.UUID())
	d := directory(t, b, tenants.DirectoryConfig{Hosts: hosts})
	for _, c := range []struct{ host, path, want string }{
		{"localhost:8080", "/acme-crm/mcp", "http://localhost:8080/acme-crm/mcp"},
		{"127.0.0.1:8080", "/acme-crm/mcp", "http://127.0.0.1:8080/acme-crm/mcp"},
		{"acme-crm.surfaces.example.test:8080", "/mcp", "http://acme-crm.surfaces.example.test:8080/mcp"},
		{"acme-crm.surfaces.example.test:8080", "/", "http://acme-crm.surfaces.example.test:8080/mcp"},
		{"acme-crm.surfaces.example.test:8080", "", "http://acme-crm.surfaces.example.test:8080/mcp"},
		{"mcp.acme.example.test:8080", "/mcp", "http://mcp.acme.example.test:8080/mcp"},
	} {
		ep, err := d.Lookup(t.Context(), c.host, c.path)
		if err != nil {
			t.Errorf("%s%s: %v", c.host, c.path, err)
			continue
		}
		if ep.Resource.URL() != c.want || len(ep.URLs) != 4 || ep.URLs[0].URL() != "http://acme-crm.surfaces.example.test:8080/mcp" {
			t.Errorf("%s%s: resource %s of %v, want %s", c.host, c.path, ep.Resource.URL(), ep.URLs, c.want)
		}
	}
}

func TestSharedHostIsThePublicOneAndItsAliases(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: "http://localhost:8080", Aliases: []string{"127.0.0.1:8080", "http://[::1]:8080"}, SurfaceDomain: "surfaces.example.test"}
	d := directory(t, setup(t, hosts), tenants.DirectoryConfig{Hosts: hosts})
	for host, want := range map[string]bool{
		"localhost:8080": true, "127.0.0.1:8080": true, "[::1]:8080": true,
		"localhost": false, "acme.surfaces.example.test:8080": false, "evil.example": false, "": false,
	} {
		if got := d.SharedHost(host); got != want {
			t.Errorf("%q: shared %v, want %v", host, got, want)
		}
	}
}

func TestUnprovenProjectsAreNotServedWhereOwnershipIsRequired(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{RequireOwnership: true})
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); !fault.Is(err, fault.NotFound) {
		t.Errorf("unproven project: %v, want not found", err)
	}
	b.Exec(t, "update projects set verified_at = now()")
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil {
		t.Errorf("proven project: %v", err)
	}
}

// A project whose tokens would go to another origin than their issuer's needs
// the proof even where others do not.
func TestSplitIssuerIsServedOnlyWhenProven(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	b.Exec(t, "update projects set api_origin = 'https://elsewhere.example.test'")
	d := directory(t, b, tenants.DirectoryConfig{RequireOwnership: false})
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); !fault.Is(err, fault.NotFound) {
		t.Errorf("unproven split issuer: %v, want not found", err)
	}
	b.Exec(t, "update projects set verified_at = now()")
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil {
		t.Errorf("proven split issuer: %v", err)
	}
}

func TestNewerFormatKeepsTheLastKnownRevisionServing(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	b.publish(t, s, 2, 1)
	b.publish(t, s, 3, 99)
	d := directory(t, b, tenants.DirectoryConfig{})
	ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
	if err != nil || ep.Revision != 2 {
		t.Fatalf("serving %+v, %v, want revision 2", ep, err)
	}
	if _, err := d.Compiled(t.Context(), ep); err != nil {
		t.Errorf("compiled form of the last known: %v", err)
	}
}

func TestAliceAndBobAreLookedUpApart(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	want := map[string]tenants.Surface{
		"/acme-crm/mcp": b.surface(t, b.alice, "acme-crm", "main"), "/acme-crm/sales/mcp": b.surface(t, b.alice, "acme-crm", "sales"),
		"/globex-crm/mcp": b.surface(t, b.bob, "globex-crm", "main"), "/globex-crm/sales/mcp": b.surface(t, b.bob, "globex-crm", "sales"),
	}
	d := directory(t, b, tenants.DirectoryConfig{MaxEntries: 2}) // so that they push each other out
	run(t, d)
	var wg sync.WaitGroup
	for range 8 {
		for path, surface := range want {
			wg.Go(func() {
				for range 25 {
					ep, err := d.Lookup(t.Context(), host, path)
					if err != nil {
						t.Error(err)
						return
					}
					if ep.Surface != surface.ID || ep.Organization != surface.Organization || ep.Project.ID != surface.Project || ep.Resource.Path != path {
						t.Errorf("%s is %s of %s", path, ep.Surface, ep.Organization)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}
