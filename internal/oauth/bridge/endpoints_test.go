package bridge

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// ask sends a request to the authorization server, by an absolute URL. header
// are names and values in turn.
func (w *world) ask(t testing.TB, method, to, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, to, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.service.ServeHTTP(rec, r)
	if rec.Header().Get("Access-Control-Allow-Origin") != "*" || rec.Header().Get("Chumbo-Request-Id") == "" {
		t.Errorf("%s %s: headers %v", method, to, rec.Header())
	}
	if rec.Code != http.StatusNoContent && method != http.MethodHead && !json.Valid(rec.Body.Bytes()) && rec.Code != http.StatusFound {
		t.Errorf("%s %s: not JSON: %s", method, to, rec.Body)
	}
	return rec
}

// decoded reads an answer of the status.
func decoded[T any](t testing.TB, rec *httptest.ResponseRecorder, status int) T {
	t.Helper()
	var v T
	if rec.Code != status {
		t.Fatalf("status %d, want %d: %s", rec.Code, status, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
		t.Fatalf("%s: %v", rec.Body, err)
	}
	return v
}

// post sends a form to an endpoint of ep's issuer.
func (w *world) post(t testing.TB, ep *tenants.Endpoint, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return w.ask(t, http.MethodPost, ep.Resource.URL()+path, form.Encode(),
		append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

// root makes the URLs at the surface's own hosts those of the root surface.
func (w *world) root(t testing.TB, ep *tenants.Endpoint) *tenants.Endpoint {
	t.Helper()
	w.Exec(t, "update surface_urls set is_root = true where surface_id = $1 and host <> ''", ep.Surface.UUID())
	var found *tenants.Endpoint
	eventually(t, "the directory hears of the root surface", func() bool {
		found = w.endpoint(t, ep.Resource.URL())
		return found.Resource.Root
	})
	return found
}

const pathURL = publicURL + "/acme/mcp" // an alias of surface main, on the shared host

// Both documents, in both spellings, are one; and the keys are where it says.
func TestField09_MetadataIsTheSameInEveryPlaceOfAnIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct{ origin, path string }{{publicURL, "/acme/mcp"}, {"https://acme.mcp.example.test", "/mcp"}} {
		issuer := c.origin + c.path
		var first string
		for _, at := range []string{
			c.origin + "/.well-known/oauth-authorization-server" + c.path, c.origin + "/.well-known/openid-configuration" + c.path,
			issuer + "/.well-known/oauth-authorization-server", issuer + "/.well-known/openid-configuration",
		} {
			rec := w.ask(t, http.MethodGet, at, "", "Authorization", "Bearer nonsense")
			m := decoded[serverMetadata](t, rec, http.StatusOK)
			if m.Issuer != issuer || m.Token != issuer+"/oauth/token" || m.Registration != issuer+"/oauth/register" ||
				m.Revocation != issuer+"/oauth/revoke" || m.Keys != issuer+"/oauth/jwks.json" ||
				!strings.HasPrefix(m.Authorization, publicURL+"/connect/authorize/") {
				t.Errorf("%s: %s", at, rec.Body)
			}
			if first == "" {
				first = rec.Body.String()
			}
			if rec.Body.String() != first || rec.Header().Get("Cache-Control") != "public, max-age=60" || rec.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%s differs: %v %s", at, rec.Header(), rec.Body)
			}
			if head := w.ask(t, http.MethodHead, at, ""); head.Code != http.StatusOK || head.Body.Len() != 0 {
				t.Errorf("HEAD %s: %d %s", at, head.Code, head.Body)
			}
			if set := decoded[map[string]any](t, w.ask(t, http.MethodGet, m.Keys, ""), http.StatusOK); set["keys"] == nil {
				t.Errorf("%s: no keys: %v", m.Keys, set)
			}
		}
	}
	if steps := w.steps.of(w.ep.Surface, events.StepMetadata); len(steps) != 16 || steps[0].Failed || steps[0].Organization != w.ep.Organization {
		t.Errorf("%d steps of %+v", len(steps), steps)
	}
}

// What clients look for in the metadata, each of them seen to turn away
// without it.
func TestField35_MetadataOffersWhatClientsLookFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := decoded[map[string]any](t, w.ask(t, http.MethodGet, w.ep.Resource.URL()+"/.well-known/oauth-authorization-server", ""), http.StatusOK)
	list := func(name string) []string {
		var out []string
		for _, v := range m[name].([]any) {
			out = append(out, v.(string))
		}
		return out
	}
	if m["client_id_metadata_document_supported"] != true || m["authorization_response_iss_parameter_supported"] != true {
		t.Errorf("%v", m)
	}
	for name, want := range map[string]string{
		"token_endpoint_auth_methods_supported":            "none client_secret_post client_secret_basic private_key_jwt",
		"token_endpoint_auth_signing_alg_values_supported": "RS256 ES256 EdDSA",
		"code_challenge_methods_supported":                 "S256",
		"response_types_supported":                         "code",
		"response_modes_supported":                         "query",
		"grant_types_supported":                            "authorization_code refresh_token",
		"scopes_supported":                                 "crm.read offline_access",
		"subject_types_supported":                          "public",
		"id_token_signing_alg_values_supported":            "ES256",
	} {
		if got := strings.Join(list(name), " "); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestField02_RootPathsNameTheHostsOwnSurfaceOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := w.root(t, w.ep)
	for _, name := range metadataNames {
		m := decoded[serverMetadata](t, w.ask(t, http.MethodGet, ep.Resource.Base+name, ""), http.StatusOK)
		if m.Issuer != ep.Resource.URL() {
			t.Errorf("%s: issuer %s", name, m.Issuer)
		}
	}
	rec := w.ask(t, http.MethodGet, ep.Resource.Base+"/authorize?client_id=a&state=x%20y", "")
	if rec.Code != http.StatusFound || rec.Header().Get("Location") != w.service.AuthorizationURL(ep)+"?client_id=a&state=x%20y" {
		t.Errorf("/authorize: %d %v", rec.Code, rec.Header())
	}
	if rec := w.ask(t, http.MethodGet, ep.Resource.Base+"/jwks.json", ""); rec.Code != http.StatusOK {
		t.Errorf("/jwks.json: %d", rec.Code)
	}
	for _, path := range []string{"/token", "/register", "/revoke"} {
		rec := w.ask(t, http.MethodPost, ep.Resource.Base+path, "{}", "Content-Type", "text/plain")
		if rec.Code != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	for _, path := range append([]string{"/authorize", "/token", "/register", "/revoke", "/jwks.json"}, metadataNames...) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if rec := w.ask(t, method, publicURL+path, ""); rec.Code != http.StatusNotFound {
				t.Errorf("%s %s on the shared host: %d %s", method, path, rec.Code, rec.Body)
			}
		}
	}
}

func TestField48_EveryWayOutIsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issuer := w.ep.Resource.URL()
	for _, c := range []struct {
		method, to, media, body string
		want                    int
	}{
		{"GET", issuer + "/oauth/register", "", "", 405},
		{"GET", issuer + "/oauth/token", "", "", 405},
		{"DELETE", issuer + "/oauth/jwks.json", "", "", 405},
		{"POST", issuer + "/.well-known/oauth-authorization-server", "", "", 405},
		{"POST", issuer + "/oauth/token", "application/json", "{}", 415},
		{"POST", issuer + "/oauth/token", "", "", 415},
		{"POST", issuer + "/oauth/revoke", "text/html", "", 415},
		{"POST", issuer + "/oauth/register", "application/x-www-form-urlencoded", "a=b", 415},
		{"POST", issuer + "/oauth/register", "application/json", "<html>", 400},
		{"POST", issuer + "/oauth/register", "application/json", strings.Repeat("x", maxBody+1), 413},
		{"POST", issuer + "/oauth/token", "application/x-www-form-urlencoded", strings.Repeat("x", maxBody+1), 413},
		{"POST", issuer + "/oauth/token", "application/x-www-form-urlencoded", "%zz", 400},
		{"POST", issuer + "/oauth/token", "application/x-www-form-urlencoded", "", 400},
		{"POST", publicURL + "/nobody/mcp/oauth/token", "application/x-www-form-urlencoded", "", 404},
		{"GET", publicURL + "/.well-known/oauth-authorization-server/nobody/mcp", "", "", 404},
		{"GET", publicURL + "/.well-known/oauth-authorization-server/acme/mcp/", "", "", 404},
		{"GET", publicURL + "/.well-known/oauth-authorization-serverx", "", "", 404},
		{"GET", "https://evil.example.test/.well-known/oauth-authorization-server/acme/mcp", "", "", 421},
	} {
		rec := w.ask(t, c.method, c.to, c.body, "Content-Type", c.media)
		answer := decoded[map[string]any](t, rec, c.want)
		if answer["error"] == "" || answer["error"] == nil || !strings.Contains(rec.Header().Get("Content-Type"), "json") {
			t.Errorf("%s %s: %v %s", c.method, c.to, rec.Header(), rec.Body)
		}
		if rec.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: kept: %v", c.method, c.to, rec.Header())
		}
		if c.want == 405 && !strings.Contains(rec.Header().Get("Allow"), "OPTIONS") {
			t.Errorf("%s %s: Allow %q", c.method, c.to, rec.Header().Get("Allow"))
		}
	}
}

func TestAPanicIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *worldOptions) {
		o.instance = func(c *Config) { c.Steps = panicking{} }
	})
	rec := w.ask(t, http.MethodGet, w.ep.Resource.URL()+"/.well-known/oauth-authorization-server", "")
	if answer := decoded[map[string]any](t, rec, 500); answer["error"] != "server_error" {
		t.Errorf("%v", answer)
	}
	if strings.Contains(w.logs.String(), "hunter2") || !strings.Contains(w.logs.String(), "panic in the authorization server") {
		t.Errorf("log: %s", w.logs)
	}
}

type panicking struct{}

func (panicking) Record(events.Step) { panic("hunter2") }

func TestBrowsersMayAskEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issuer := w.ep.Resource.URL()
	for _, to := range []string{
		issuer + "/.well-known/oauth-authorization-server", issuer + "/oauth/token", issuer + "/oauth/register", issuer + "/oauth/revoke", issuer + "/oauth/jwks.json",
	} {
		rec := w.ask(t, http.MethodOptions, to, "", "Access-Control-Request-Headers", "content-type,mcp-protocol-version,x-made-up, evil\r\nheader")
		h := rec.Header()
		allowed := strings.ToLower(h.Get("Access-Control-Allow-Headers"))
		if rec.Code != http.StatusNoContent || !strings.Contains(allowed, "mcp-protocol-version") || !strings.Contains(allowed, "x-made-up") || strings.Contains(allowed, "evil") {
			t.Errorf("%s: %d %v", to, rec.Code, h)
		}
	}
	if !strings.Contains(w.ask(t, http.MethodOptions, issuer+"/oauth/token", "").Header().Get("Access-Control-Allow-Methods"), "POST") {
		t.Error("POST is not allowed at the token endpoint")
	}
}

func TestDirectSurfacesHaveNoAuthorizationServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	direct := w.surface(t, w.builder, w.project, "acme", "direct", func(c *surfaces.Compiled) { c.Access.Authorization = surfaces.AuthorizationDirect })
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/oauth/jwks.json"} {
		if rec := w.ask(t, http.MethodGet, direct.Resource.URL()+path, ""); rec.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
	if rec := w.ask(t, http.MethodPost, direct.Resource.URL()+"/oauth/register", `{"redirect_uris":["https://a.example.test/cb"]}`, "Content-Type", "application/json"); rec.Code != http.StatusNotFound {
		t.Errorf("registration: %d", rec.Code)
	}
}

func TestPausedSurfacesStillTellWhoSignsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Exec(t, "update surfaces set state = 'paused'")
	eventually(t, "the directory hears of the pause", func() bool { return w.endpoint(t, w.ep.Resource.URL()).State == tenants.StatePaused })
	if rec := w.ask(t, http.MethodGet, w.ep.Resource.URL()+"/.well-known/oauth-authorization-server", ""); rec.Code != http.StatusOK {
		t.Errorf("metadata: %d %s", rec.Code, rec.Body)
	}
}

func TestRoutesAreTheServersAndNobodyElses(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/.well-known/oauth-authorization-server":        "metadata /",
		"/.well-known/openid-configuration/acme/mcp":     "metadata /acme/mcp",
		"/acme/mcp/.well-known/openid-configuration":     "metadata /acme/mcp",
		"/acme/mcp/oauth/token":                          "token /acme/mcp",
		"/acme/crm/mcp/oauth/jwks.json":                  "jwks /acme/crm/mcp",
		"/mcp/oauth/revoke":                              "revoke /mcp",
		"/register":                                      "register /",
		"/.well-known/oauth-authorization-server/":       "",
		"/.well-known/oauth-protected-resource/acme/mcp": "",
		"/acme/oauth/token":                              "",
		"/oauth/token":                                   "",
		"/api/oauth/token":                               "",
		"/acme/mcp":                                      "",
		"/acme/mcp/token":                                "",
		"/registered":                                    "",
		"/app/register":                                  "",
		"/":                                              "",
		"":                                               "",
		"/acme/mcp/oauth/token/":                         "",
		"/.well-known/oauth-authorization-server/acme/mcp/oauth/token": "metadata /acme/mcp/oauth/token",
	} {
		what, surface, ok := route(path)
		got := strings.TrimSpace(string(what) + " " + surface)
		if got != want || ok != (want != "") || Serves(path) != ok {
			t.Errorf("%q: %q %v, want %q", path, got, ok, want)
		}
	}
}

func TestKeySetIsPublicAndKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mint(t, someIssued())
	rec := w.ask(t, http.MethodGet, w.ep.Resource.URL()+"/oauth/jwks.json", "")
	set := decoded[struct{ Keys []map[string]string }](t, rec, http.StatusOK)
	if len(set.Keys) != 1 || set.Keys[0]["crv"] != "P-256" || set.Keys[0]["use"] != "sig" || slices.Contains([]string{"", "no-store"}, rec.Header().Get("Cache-Control")) {
		t.Errorf("%v %s", rec.Header(), rec.Body)
	}
	if _, private := set.Keys[0]["d"]; private {
		t.Error("the private part is published")
	}
}
