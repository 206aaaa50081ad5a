package app

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// oneSurface is a server with acme's main surface published, and what the
// publisher was told its URLs are.
func oneSurface(t *testing.T, edit func(*Config)) (*Server, tenants.Surface) {
	t.Helper()
	cfg, err := LoadConfig([]string{
		"CHUMBO_PUBLIC_URL=https://mcp.example.test", "CHUMBO_DATABASE_URL=" + dbtest.NewDatabase(t).ServerDSN,
		"CHUMBO_MASTER_KEY=" + seal.GenerateKey().Reveal(), "CHUMBO_REQUIRE_OWNERSHIP=false",
	})
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(&cfg)
	}
	server, err := NewServer(t.Context(), cfg, Options{Logger: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(t.Context()) })
	_, _, token, err := server.Tenants.CreateOwner(t.Context(), "alice@example.test", "Acme")
	if err != nil {
		t.Fatal(err)
	}
	alice, err := server.Tenants.VerifyToken(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	origin := "https://acme.example.test"
	project, err := server.Tenants.CreateProject(t.Context(), alice, tenants.NewProject{Slug: "acme", Name: "Acme", ProjectFacts: tenants.ProjectFacts{
		TypedURL: origin, APIOrigin: origin, Issuer: origin + "/auth/v1", JWKSURI: origin + "/auth/v1/.well-known/jwks.json",
		PublishableKey: "sb_publishable_" + strings.Repeat("a", 31), Signing: tenants.SigningAsymmetric, OAuthEnabled: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	surface, err := server.Tenants.EnsureSurface(t.Context(), alice, project.Slug, tenants.MainSurface)
	if err != nil {
		t.Fatal(err)
	}
	_, err = server.Surfaces.Publish(t.Context(), alice.Actor(), surface.ID, surfaces.PublishRequest{
		File: []byte("version: 1\ntitle: Acme CRM\naccess: { mode: oauth, authorization: direct }\ntools: []\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return server, surface
}

// visitSurface asks the server as a browser or client that typed that URL.
func visitSurface(t *testing.T, s *Server, address, accept string) (int, string) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, address, nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, req)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

// shownURL is the one URL the connect page gives out.
func shownURL(t *testing.T, page string) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "class" && a.Val == "copyable-value" {
				return n.FirstChild.Data
			}
		}
	}
	return ""
}

// TestField03_TheConnectPageShowsTheURLThatTheMetadataNames: a connector whose
// URL differs from the metadata's resource by a slash, a host or a port fails
// before any window opens. Whichever of its URLs somebody opens, the page shows
// one to copy, and the metadata of that one names it byte for byte.
func TestField03_TheConnectPageShowsTheURLThatTheMetadataNames(t *testing.T) {
	t.Parallel()
	server, surface := oneSurface(t, func(c *Config) { c.SurfaceDomain = "mcp.apps.example.test" })
	if len(surface.URLs) != 2 {
		t.Fatalf("URLs: %v", surface.URLs)
	}
	for _, at := range surface.URLs {
		status, page := visitSurface(t, server, at.URL(), "text/html,application/xhtml+xml")
		shown := shownURL(t, page)
		if status != http.StatusOK || shown == "" {
			t.Fatalf("%s: %d, shows %q", at.URL(), status, shown)
		}
		status, body := visitSurface(t, server, at.MetadataURL(), "application/json")
		var metadata struct {
			Resource string `json:"resource"`
		}
		if err := json.Unmarshal([]byte(body), &metadata); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %v", at.MetadataURL(), status, err)
		}
		if metadata.Resource != shown {
			t.Errorf("the page shows %q, the metadata names %q", shown, metadata.Resource)
		}
		if strings.Count(page, shown) < 10 || strings.Contains(page, shown+"/") {
			t.Errorf("%s: the steps do not all give that URL", at.URL())
		}
		for _, address := range []string{at.URL() + "?utm=1", at.URL() + "?client=cursor"} {
			if _, page := visitSurface(t, server, address, "text/html"); shownURL(t, page) != metadata.Resource {
				t.Errorf("%s shows %q", address, shownURL(t, page))
			}
		}
		if status, body := visitSurface(t, server, at.URL()+"/", "text/html"); status != http.StatusNotFound || !strings.Contains(body, metadata.Resource) {
			t.Errorf("with a slash: %d %s", status, body)
		}
	}
}
