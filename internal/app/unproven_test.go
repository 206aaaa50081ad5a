package app

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestUnprovenProjectIsToldFromNothingByNobody: until a project is proven,
// what is asked at its URLs is answered as at URLs that never were.
func TestUnprovenProjectIsToldFromNothingByNobody(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	cfg, err := LoadConfig([]string{
		"CHUMBO_PUBLIC_URL=http://mcp.example.test", "CHUMBO_SURFACE_DOMAIN=surfaces.example.test",
		"CHUMBO_DATABASE_URL=" + d.ServerDSN, "CHUMBO_MASTER_KEY=" + seal.GenerateKey().Reveal(),
	})
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(t.Context(), cfg, Options{Logger: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(t.Context()) })
	publishUnproven(t, d, server, "acme-crm")

	type asked struct{ name, method, host, path, accept string }
	var list []asked
	for _, place := range []struct{ host, path string }{
		{"mcp.example.test", "/SLUG/mcp"}, {"mcp.example.test", "/SLUG/sales/mcp"},
		{"SLUG.surfaces.example.test", "/mcp"}, {"SLUG.surfaces.example.test", "/sales/mcp"}, {"SLUG.surfaces.example.test", "/"},
	} {
		for _, method := range []string{"POST", "GET", "HEAD", "OPTIONS", "DELETE"} {
			list = append(list, asked{"", method, place.host, place.path, "*/*"})
		}
		list = append(list,
			asked{"connect page", "GET", place.host, place.path, "text/html"},
			asked{"trailing slash", "POST", place.host, strings.TrimSuffix(place.path, "/") + "/", "*/*"},
			asked{"metadata, inserted", "GET", place.host, "/.well-known/oauth-protected-resource" + strings.TrimSuffix(place.path, "/"), "*/*"},
			asked{"metadata, appended", "GET", place.host, strings.TrimSuffix(place.path, "/") + "/.well-known/oauth-protected-resource", "*/*"},
			asked{"metadata, bare", "GET", place.host, strings.TrimSuffix(place.path, "/") + "/oauth-protected-resource", "*/*"},
			asked{"metadata, preflight", "OPTIONS", place.host, "/.well-known/oauth-protected-resource" + strings.TrimSuffix(place.path, "/"), "*/*"})
	}
	ask := func(a asked, slug, token string) string {
		r := httptest.NewRequest(a.method, "http://x"+strings.ReplaceAll(a.path, "SLUG", slug), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		r.Host = strings.ReplaceAll(a.host, "SLUG", slug)
		r.Header.Set("Accept", a.accept)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", "https://client.example.test")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		return told(t, w.Result(), slug)
	}
	for _, a := range list {
		for _, token := range []string{"", "eyJhbGciOiJFUzI1NiJ9.e30.x"} {
			unproven, nothing := ask(a, "acme-crm", token), ask(a, "none-such", token)
			if unproven != nothing {
				t.Errorf("%s %s %s%s (%s):\n%s\nbut where nothing is:\n%s", a.name, a.method, a.host, a.path, a.accept, unproven, nothing)
			}
		}
	}
	// What was compared can differ, each of it.
	d.Exec(t, "update projects set verified_at = now()")
	for _, a := range list {
		if a.path == "/oauth-protected-resource" { // nobody looks for a root surface's there
			continue
		}
		if proven := ask(a, "acme-crm", ""); proven == ask(a, "none-such", "") {
			t.Errorf("once proven, %s %s %s%s answers %s", a.name, a.method, a.host, a.path, proven)
		}
	}
}

// told is an answer without what differs between any two.
func told(t *testing.T, res *http.Response, slug string) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	id := res.Header.Get("Chumbo-Request-Id")
	for _, name := range []string{"Chumbo-Request-Id", "Server-Timing", "Date"} {
		res.Header.Del(name)
	}
	text := &strings.Builder{}
	_ = res.Header.Write(text) // to memory
	all := http.StatusText(res.StatusCode) + "\n" + text.String() + string(body)
	if id != "" {
		all = strings.ReplaceAll(all, id, "ID")
	}
	return res.Status + " " + strings.ReplaceAll(all, slug, "SLUG")
}

// publishUnproven makes a project with two published surfaces, main the root
// of its own host, that nobody has proven.
func publishUnproven(t *testing.T, d *dbtest.Database, server *Server, slug string) {
	t.Helper()
	_, _, token, err := server.Tenants.CreateOwner(t.Context(), "alice@example.test", "Acme")
	if err != nil {
		t.Fatal(err)
	}
	alice, err := server.Tenants.VerifyToken(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	_, err = server.Tenants.CreateProject(t.Context(), alice, tenants.NewProject{Slug: slug, ProjectFacts: tenants.ProjectFacts{
		TypedURL: "https://db.example.test", APIOrigin: "https://db.example.test", Issuer: "https://db.example.test/auth/v1",
		JWKSURI: "https://db.example.test/auth/v1/.well-known/jwks.json", PublishableKey: "sb_publishable_0123456789abcdef", Signing: tenants.SigningAsymmetric,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main", "sales"} {
		publishEmpty(t, d, server, alice, slug, name)
	}
	d.Exec(t, "update surfaces set live_revision = 1")
	d.Exec(t, "update surface_urls set is_root = host <> '' and path = '/mcp'")
}

func publishEmpty(t *testing.T, d *dbtest.Database, server *Server, alice tenants.Principal, project, name string) {
	t.Helper()
	s, err := server.Tenants.EnsureSurface(t.Context(), alice, project, name)
	if err != nil {
		t.Fatal(err)
	}
	d.Exec(t, `insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_at)
		values ($1, $2, 1, sha256('1'), '', 'Acme CRM', '{"modes":["oauth"],"authorization":"direct"}', 1,
		    convert_to('{"format":1,"title":"Acme CRM","access":{"modes":["oauth"]},"tools":[]}', 'utf8'), '', now())`, s.Organization.UUID(), s.ID.UUID())
}
