package tenants_test

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestHostThatIsOnlyAPortIsNotServed: taken away its port, it has the form of
// the shared host's name in the tables.
func TestHostThatIsOnlyAPortIsNotServed(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: "http://localhost:8080", SurfaceDomain: "surfaces.example.test"}
	b := setup(t, hosts)
	b.surface(t, b.alice, "acme-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{Hosts: hosts})
	for _, host := range []string{":8080", ".:8080", ".surfaces.example.test:8080"} {
		if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); !fault.Is(err, fault.Misdirected) {
			t.Errorf("host %q: %v, want misdirected", host, err)
		}
	}
	if _, err := d.Lookup(t.Context(), "localhost:8080", "/acme-crm/mcp"); err != nil {
		t.Errorf("the shared host afterwards: %v", err)
	}
}

// TestNamesThatCannotBeAreUnknownNotAFailure: Postgres takes no NUL and no
// broken UTF-8, and a name with one is simply nobody's.
func TestNamesThatCannotBeAreUnknownNotAFailure(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	for _, name := range []string{"acme\x00", "\xff\xfe", "acme' or '1'='1", ""} {
		if _, err := b.service.Project(t.Context(), b.alice, name); !fault.Is(err, fault.NotFound) {
			t.Errorf("project %q: %v, want not found", name, err)
		}
		if _, err := b.service.Surface(t.Context(), b.alice, "acme-crm", name); !fault.Is(err, fault.NotFound) {
			t.Errorf("surface %q: %v, want not found", name, err)
		}
		if _, err := b.service.EnsureSurface(t.Context(), b.alice, "acme-crm", name); !fault.Is(err, fault.Invalid) {
			t.Errorf("new surface %q: %v, want invalid", name, err)
		}
	}
}

func TestTextThatCannotBeStoredIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	for what, change := range map[string]func(*tenants.NewProject){
		"NUL in the name":          func(n *tenants.NewProject) { n.Name = "Acme\x00" },
		"broken UTF-8 in the name": func(n *tenants.NewProject) { n.Name = "Acme\xff" },
		"line break in the name":   func(n *tenants.NewProject) { n.Name = "Acme\r\nGlobex" },
		"bidi control in the name": func(n *tenants.NewProject) { n.Name = "Acme \u202e" },
		"NUL in a scope":           func(n *tenants.NewProject) { n.ScopesSupported = []string{"openid", "e\x00"} },
	} {
		n := tenants.NewProject{Slug: "acme-crm", ProjectFacts: facts()}
		change(&n)
		if _, err := b.service.CreateProject(t.Context(), b.alice, n); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, want invalid", what, err)
		}
	}
	if _, _, _, err := b.service.CreateOrganization(t.Context(), "carol@example.test", "Ini\x00tech"); !fault.Is(err, fault.Invalid) {
		t.Errorf("NUL in an organization's name: %v, want invalid", err)
	}
}
