package app

import (
	"bytes"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestAttack_LogoIsServedAsAPictureAndNothingElse: what a builder uploads ends
// up on the origin of the dashboard.
func TestAttack_LogoIsServedAsAPictureAndNothingElse(t *testing.T) {
	t.Parallel()
	store := dbtest.NewDatabase(t).Store
	builders, err := tenants.NewService(tenants.ServiceConfig{Store: store, Hosts: tenants.Hosts{PublicURL: "https://mcp.example.test"}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	_, _, token, err := builders.CreateOwner(t.Context(), "alice@example.test", "Acme")
	if err != nil {
		t.Fatal(err)
	}
	alice, err := builders.VerifyToken(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	_, err = builders.CreateProject(t.Context(), alice, tenants.NewProject{Slug: "acme", ProjectFacts: tenants.ProjectFacts{
		TypedURL: "https://db.example.test", APIOrigin: "https://db.example.test", Issuer: "https://db.example.test/auth/v1",
		JWKSURI: "https://db.example.test/auth/v1/.well-known/jwks.json", PublishableKey: "sb_publishable_0123456789abcdef", Signing: tenants.SigningAsymmetric,
	}})
	if err != nil {
		t.Fatal(err)
	}
	var sent bytes.Buffer
	if err := png.Encode(&sent, image.NewNRGBA(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	sent.WriteString("<svg onload=alert(1)>")
	project, err := builders.SetLogo(t.Context(), alice, "acme", sent.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	handler := logos(builders, slog.New(slog.DiscardHandler))
	get := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		return w
	}
	w := get(http.MethodGet, project.LogoPath())
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/png" || w.Header().Get("X-Content-Type-Options") != "nosniff" ||
		w.Header().Get("Content-Security-Policy") != "default-src 'none'" || bytes.Contains(w.Body.Bytes(), []byte("svg")) {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, path := range []string{tenants.LogoPrefix, tenants.LogoPrefix + "x.png", tenants.LogoPrefix + project.Logo, tenants.LogoPrefix + "../" + project.Logo + ".png"} {
		if w := get(http.MethodGet, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := get(http.MethodPost, project.LogoPath()); w.Code != http.StatusNotFound {
		t.Errorf("POST: %d", w.Code)
	}
}
