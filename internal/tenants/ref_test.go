package tenants_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

var refShape = regexp.MustCompile(`^[a-z0-9_.]+$`)

func TestRefFindsEveryURLOfASurfaceAndNoOther(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: publicURL, Aliases: []string{"alias.example.test"}, SurfaceDomain: "mcp.example.test"}
	b := setup(t, hosts)
	b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.bob, "globex-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{Hosts: hosts})
	run(t, d)
	seen := map[string]string{}
	for _, path := range []string{"/acme-crm/mcp", "/globex-crm/mcp"} {
		ep, err := d.Lookup(t.Context(), host, path)
		if err != nil {
			t.Fatal(err)
		}
		if len(ep.URLs) != 3 {
			t.Fatalf("URLs %+v, want the label's and two of the shared host", ep.URLs)
		}
		for _, r := range ep.URLs {
			if !refShape.MatchString(r.Ref) || seen[r.Ref] != "" {
				t.Errorf("ref %q of %s, which is also %s", r.Ref, r.URL(), seen[r.Ref])
			}
			seen[r.Ref] = r.URL()
			found, err := d.ByRef(t.Context(), r.Ref)
			if err != nil {
				t.Fatalf("%s: %v", r.Ref, err)
			}
			if found.Resource != r || found.Surface != ep.Surface || found.Organization != ep.Organization {
				t.Errorf("%s finds %+v of %s, want %+v", r.Ref, found.Resource, found.Surface, r)
			}
		}
		if ep.Project.Name == "" || ep.Project.SignInPaused {
			t.Errorf("project %+v", ep.Project)
		}
	}
}

func TestRefThatNamesNothingIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{})
	run(t, d)
	ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
	if err != nil {
		t.Fatal(err)
	}
	ref := ep.Resource.Ref
	for _, wrong := range []string{
		"", ".", "x", ref + ".0", ref + ".1", ref + ".-1", ref + ".01", ref + ".", ref + "/", strings.ToUpper(ref), strings.TrimPrefix(ref, "url_"),
		"srf_" + strings.TrimPrefix(ref, "url_"), ref[:len(ref)-1] + "x", strings.Repeat("a", 1000), ref + ".99999999999999999999", s.ID.String(),
	} {
		if _, err := d.ByRef(t.Context(), wrong); !fault.Is(err, fault.NotFound) || fault.From(err).Code != "unknown_surface" {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	b.Exec(t, "update surfaces set live_revision = null where id = $1", s.ID.UUID())
	eventually(t, "an unpublished surface is not found by its ref", func() bool {
		_, err := d.ByRef(t.Context(), ref)
		return fault.Is(err, fault.NotFound)
	})
	b.Exec(t, "delete from surface_urls where surface_id = $1", s.ID.UUID())
	if _, err := d.ByRef(t.Context(), ref); !fault.Is(err, fault.NotFound) {
		t.Errorf("without its row: %v", err)
	}
}

func TestRefOfAnUnprovenDomainIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{})
	run(t, d)
	b.Exec(t, `insert into domains (organization_id, id, project_id, host, verified_at, created_at)
		values ($1, gen_random_uuid(), $2, 'agents.acme.test', now(), now())`, s.Organization.UUID(), s.Project.UUID())
	b.Exec(t, `insert into surface_urls (organization_id, id, surface_id, host, path, is_primary, is_root, created_at)
		values ($1, gen_random_uuid(), $2, 'agents.acme.test', '/mcp', false, true, now())`, s.Organization.UUID(), s.ID.UUID())
	var ep *tenants.Endpoint
	eventually(t, "the domain serves", func() bool {
		var err error
		ep, err = d.Lookup(t.Context(), "agents.acme.test", "/")
		return err == nil
	})
	if found, err := d.ByRef(t.Context(), ep.Resource.Ref); err != nil || found.Resource != ep.Resource {
		t.Fatalf("%+v, %v", found, err)
	}
	if own := d.OwnBases(ep); !slices.Equal(own, []string{"https://agents.acme.test"}) {
		t.Errorf("own bases %v", own)
	}
	urls := func() int {
		shared, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
		if err != nil {
			t.Error(err)
			return 0
		}
		return len(shared.URLs)
	}
	if n := urls(); n != 2 {
		t.Errorf("%d URLs, want the domain's among them", n)
	}
	b.Exec(t, "update domains set verified_at = null")
	eventually(t, "not any more", func() bool {
		_, err := d.ByRef(t.Context(), ep.Resource.Ref)
		return fault.Is(err, fault.NotFound) && fault.From(err).Code == "unknown_surface"
	})
	eventually(t, "the unproven domain is no more among the surface's URLs", func() bool { return urls() == 1 })
}

func TestOwnBasesAreNeverTheSharedHosts(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: publicURL, Aliases: []string{"alias.example.test"}, SurfaceDomain: "mcp.example.test"}
	b := setup(t, hosts)
	b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.alice, "acme-crm", "sales")
	with, without := directory(t, b, tenants.DirectoryConfig{Hosts: hosts}), directory(t, b, tenants.DirectoryConfig{})
	for _, path := range []string{"/acme-crm/mcp", "/acme-crm/sales/mcp"} {
		ep, err := with.Lookup(t.Context(), host, path)
		if err != nil {
			t.Fatal(err)
		}
		if own := with.OwnBases(ep); !slices.Equal(own, []string{"https://acme-crm.mcp.example.test"}) {
			t.Errorf("%s: %v", path, own)
		}
	}
	ep, err := without.Lookup(t.Context(), host, "/acme-crm/mcp")
	if err != nil {
		t.Fatal(err)
	}
	if own := without.OwnBases(ep); len(own) != 0 {
		t.Errorf("own bases %v without a surface domain", own)
	}
}

func TestMissedProofsPauseSignInOfTheProjectOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.bob, "globex-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{})
	run(t, d)
	paused := func(path string) bool {
		ep, err := d.Lookup(t.Context(), host, path)
		return err == nil && ep.Project.SignInPaused
	}
	b.Exec(t, "update projects set ownership_misses = 2 where id = $1", s.Project.UUID())
	if paused("/acme-crm/mcp") {
		t.Error("paused after two misses")
	}
	b.Exec(t, "update projects set ownership_misses = 3 where id = $1", s.Project.UUID())
	eventually(t, "paused after three", func() bool { return paused("/acme-crm/mcp") })
	if paused("/globex-crm/mcp") {
		t.Error("bob's sign-in is paused with alice's")
	}
}

func TestCanGrantAsksTheSurfacesAuthorizationServer(t *testing.T) {
	t.Parallel()
	ep := &tenants.Endpoint{
		Project: tenants.ProjectRef{ScopesSupported: []string{"openid", "email"}},
		Access:  surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: surfaces.AuthorizationDirect, Scopes: []string{"crm.read"}},
	}
	if !ep.CanGrant("email") || ep.CanGrant("crm.read") {
		t.Error("direct: the project's own scopes and no other")
	}
	ep.Access.Authorization = surfaces.AuthorizationBridge
	if ep.CanGrant("email") || !ep.CanGrant("crm.read") {
		t.Error("bridge: the surface's scopes and no other")
	}
}
