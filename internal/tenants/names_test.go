package tenants_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestProjectNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"acme": true, "acme-crm": true, "a1b": true, "acme-2-crm": true, strings.Repeat("a", 40): true,
		"": false, "ab": false, strings.Repeat("a", 41): false, "Acme": false, "1acme": false, "-acme": false, "acme-": false,
		"acme--crm": false, "acme_crm": false, "acme.crm": false, "acmé": false, "acme crm": false, "acme\n": false, "../etc": false,
		"www": false, "api": false, "app": false, "mcp": false, "river": false, "connect": false, "claude": false, "chatgpt": false,
		"google": false, "supabase": false,
	} {
		err := tenants.CheckProjectSlug(name)
		if (err == nil) != good {
			t.Errorf("project %q: %v, want good=%v", name, err, good)
		}
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("project %q: %v, want invalid", name, err)
		}
	}
}

func TestSurfaceNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"main": true, "sales": true, "conformance": true, "api": true, "claude": true,
		"oauth": false, "authorize": false, "token": false, "sse": false, "mcp": false, "oauth-protected-resource": false, "x": false,
	} {
		if err := tenants.CheckSurfaceSlug(name); (err == nil) != good {
			t.Errorf("surface %q: %v, want good=%v", name, err, good)
		}
	}
}

func jwt(payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(payload)) + ".c2lnbmF0dXJl"
}

func TestSecretsAreRefusedInEveryFieldAndNeverRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value  string
		secret bool
	}{
		"secret key":           {"sb_secret_abcdefghijklmnop", true},
		"secret key in a URL":  {"https://db.example.test/?apikey=sb_secret_abcdefghijklmnop", true},
		"secret key, spaced":   {"  sb_secret_abcdefghijklmnop\n", true},
		"service_role":         {jwt(`{"role":"service_role"}`), true},
		"session":              {"Bearer " + jwt(`{"role":"authenticated","sub":"1"}`), true},
		"no role":              {jwt(`{"sub":"1"}`), true},
		"role in another case": {jwt(`{"ROLE":"anon","role":"service_role"}`), true},
		"only another case":    {jwt(`{"Role":"anon"}`), true},
		"two keys":             {jwt(`{"role":"anon"}`) + " " + jwt(`{"role":"service_role"}`), true},
		"access token":         {"sbp_0123456789abcdef0123456789abcdef01234567", true},
		"anon":                 {jwt(`{"role":"anon"}`), false},
		"publishable":          {"sb_publishable_0123456789abcdef", false},
		"a URL":                {"https://abcdefghijklmnopqrst.supabase.co", false},
		"a name":               {"my sb_secretary", false},
	} {
		err := tenants.RefuseSecret("name", c.value)
		if (err != nil) != c.secret {
			t.Errorf("%s: %v, want refused=%v", name, err, c.secret)
			continue
		}
		if err == nil {
			continue
		}
		f := fault.From(err)
		if strings.Contains(err.Error(), strings.TrimSpace(c.value)) || f.Code != "secret_key" || len(f.Issues) != 1 || f.Issues[0].Path != "name" {
			t.Errorf("%s: answer is %+v", name, f)
		}
		if name == "secret key" && !strings.Contains(f.Message, "Revoke") {
			t.Errorf("%s: does not say what to do: %q", name, f.Message)
		}
	}
}

func TestSecretKeyNeverReachesTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	change := map[string]func(*tenants.NewProject, string){
		"name":    func(n *tenants.NewProject, v string) { n.Name = v },
		"url":     func(n *tenants.NewProject, v string) { n.TypedURL = v },
		"key":     func(n *tenants.NewProject, v string) { n.PublishableKey = v },
		"issuer":  func(n *tenants.NewProject, v string) { n.Issuer += "/" + v },
		"key set": func(n *tenants.NewProject, v string) { n.JWKSURI += "?k=" + v },
	}
	for field, set := range change {
		for _, secret := range []string{"sb_secret_abcdefghijklmnop", jwt(`{"role":"service_role"}`)} {
			n := tenants.NewProject{Slug: "acme-crm", ProjectFacts: facts()}
			set(&n, secret)
			if _, err := b.service.CreateProject(t.Context(), b.alice, n); fault.From(err).Code != "secret_key" {
				t.Errorf("%s: %v, want secret_key", field, err)
			}
		}
	}
	for _, secret := range []string{"sb_secret_abcdefghijklmnop", jwt(`{"role":"service_role"}`)} { // as a name in a path
		if _, err := b.service.EnsureSurface(t.Context(), b.alice, secret, secret); err == nil {
			t.Error("a key became a surface's name")
		}
		if _, err := b.service.UpdateProject(t.Context(), b.alice, secret, facts()); err == nil {
			t.Error("a key named a project")
		}
	}
	if n := b.count(t, "projects", "true") + b.count(t, "name_claims", "true"); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	if n := b.count(t, "audit_events", "(detail::text || target) ~ 'sb_secret|eyJ'"); n != 0 {
		t.Errorf("%d audit rows hold the key", n)
	}
}

func TestFactsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	for name, change := range map[string]func(*tenants.ProjectFacts){
		"empty issuer":       func(f *tenants.ProjectFacts) { f.Issuer = "" },
		"relative issuer":    func(f *tenants.ProjectFacts) { f.Issuer = "/auth/v1" },
		"origin with a path": func(f *tenants.ProjectFacts) { f.APIOrigin += "/rest" },
		"foreign key set":    func(f *tenants.ProjectFacts) { f.JWKSURI = "https://evil.example.test/jwks.json" },
		"no key set":         func(f *tenants.ProjectFacts) { f.JWKSURI = "" },
		"no key":             func(f *tenants.ProjectFacts) { f.PublishableKey = "" },
		"odd key":            func(f *tenants.ProjectFacts) { f.PublishableKey = "sb_publishable_<script>" },
		"odd signing":        func(f *tenants.ProjectFacts) { f.Signing = "none" },
	} {
		f := facts()
		change(&f)
		_, err := b.service.CreateProject(t.Context(), b.alice, tenants.NewProject{Slug: "acme-crm", ProjectFacts: f})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}

func TestField12_ForwardedHostCountsFromTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: "https://mcp.example.test", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for _, c := range []struct{ remote, host, forwarded, want string }{
		{"203.0.113.9:1234", "10.0.0.5:8080", "mcp.example.test", "10.0.0.5:8080"},
		{"10.1.2.3:1234", "10.0.0.5:8080", "mcp.example.test", "mcp.example.test"},
		{"[::ffff:10.1.2.3]:1234", "10.0.0.5:8080", "mcp.example.test", "mcp.example.test"},
		{"10.1.2.3:1234", "10.0.0.5:8080", "evil.example.test, mcp.example.test", "mcp.example.test"},
		{"10.1.2.3:1234", "mcp.example.test", "", "mcp.example.test"},
		{"203.0.113.9:1234", "MCP.Example.Test", "", "mcp.example.test"},
		{"203.0.113.9:1234", "mcp.example.test:443", "", "mcp.example.test"},
		{"203.0.113.9:1234", "mcp.example.test.", "", "mcp.example.test"},
		{"203.0.113.9:1234", "mcp.example.test.:8443", "", "mcp.example.test:8443"},
		{"203.0.113.9:1234", "mcp.example.test:80", "", "mcp.example.test:80"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/acme/mcp", nil)
		r.RemoteAddr, r.Host = c.remote, c.host
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-Host", c.forwarded)
			r.Header.Set("X-Forwarded-Proto", "http")
		}
		if got := hosts.EffectiveHost(r); got != c.want {
			t.Errorf("%+v: host %q", c, got)
		}
	}
}

func TestField13_HostileHostIsNoHost(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: "https://mcp.example.test", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for _, hostile := range []string{
		`evil"; error="x`, "evil\r\nx: y", "mcp.example.test@evil", "mcp.example.test/evil", "%6dcp.example.test", "mcp.example.test#", strings.Repeat("a", 300),
	} {
		r := httptest.NewRequest(http.MethodPost, "/acme/mcp", nil)
		r.RemoteAddr, r.Host = "10.1.2.3:1234", "mcp.example.test"
		r.Header["X-Forwarded-Host"] = []string{hostile}
		if got := hosts.EffectiveHost(r); got != "" {
			t.Errorf("%q became host %q", hostile, got)
		}
	}
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme", "main")
	d := directory(t, b, tenants.DirectoryConfig{})
	for _, unknown := range []string{"", "evil.example.test"} {
		_, err := d.Lookup(t.Context(), unknown, "/acme/mcp")
		if !fault.Is(err, fault.Misdirected) || strings.Contains(fault.From(err).Message, "evil") {
			t.Errorf("host %q: %v, want misdirected without its name", unknown, err)
		}
	}
}

func TestHostsThatCannotBeAreRefusedAtStart(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	for name, hosts := range map[string]tenants.Hosts{
		"no URL":            {},
		"a path":            {PublicURL: "https://mcp.example.test/chumbo"},
		"no scheme":         {PublicURL: "mcp.example.test"},
		"another scheme":    {PublicURL: "ftp://mcp.example.test"},
		"credentials":       {PublicURL: "https://u:p@mcp.example.test"},
		"domain with port":  {PublicURL: publicURL, SurfaceDomain: "x.example.test:80"},
		"domain as URL":     {PublicURL: publicURL, SurfaceDomain: "https://x.example.test"},
		"single-label name": {PublicURL: publicURL, SurfaceDomain: "localhost"},
		"odd alias":         {PublicURL: publicURL, Aliases: []string{"a b"}},
	} {
		if _, err := tenants.NewService(tenants.ServiceConfig{Store: b.Store, Now: b.clock.Now, Hosts: hosts}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
