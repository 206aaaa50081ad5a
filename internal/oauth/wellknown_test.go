package oauth

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestField01_ThreeShapesOfTheMetadataURL(t *testing.T) {
	t.Parallel()
	cases := []struct {
		path, resource string
		ok             bool
	}{
		{"/.well-known/oauth-protected-resource/a/acme/mcp", "/a/acme/mcp", true},
		{"/a/acme/mcp/.well-known/oauth-protected-resource", "/a/acme/mcp", true},
		{"/a/acme/mcp/oauth-protected-resource", "/a/acme/mcp", true},
		{"/.well-known/oauth-protected-resource", "/", true},
		{"/.well-known/oauth-protected-resource/", "", false},
		{"/.well-known/oauth-protected-resource/acme/mcp/", "/acme/mcp/", true}, // found by nobody: 404 names the right one
		{"/.well-known/oauth-protected-resourcex/acme/mcp", "", false},
		{"/oauth-protected-resource", "", false},
		{"//oauth-protected-resource", "", false},
		{"/acme/mcp", "", false},
		{"/.well-known/oauth-authorization-server/acme/mcp", "", false},
		{"", "", false},
	}
	for _, c := range cases {
		if resource, ok := ResourcePath(c.path); resource != c.resource || ok != c.ok {
			t.Errorf("%s: got %q, %t", c.path, resource, ok)
		}
	}
}

func serve(ep *tenants.Endpoint, method string, h http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, ep.Resource.MetadataURL(), nil)
	for name, values := range h {
		r.Header[name] = values
	}
	recorder := httptest.NewRecorder()
	ServeMetadata(recorder, r, ep)
	return recorder
}

func document(t *testing.T, recorder *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(recorder.Body.Bytes(), &doc); err != nil {
		t.Fatalf("read document: %v in %s", err, recorder.Body)
	}
	return doc
}

func TestField01_DocumentHoldsTheResourceByteForByte(t *testing.T) {
	t.Parallel()
	b := setup(t)
	recorder := serve(b.ep, http.MethodGet, nil)
	want := map[string]any{
		"resource": "https://mcp.example.test/acme/mcp", "resource_name": "Acme CRM",
		"authorization_servers":    []any{"https://ref.example.test/auth/v1"},
		"bearer_methods_supported": []any{"header"},
	}
	if got := document(t, recorder); recorder.Code != http.StatusOK || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d %v", recorder.Code, got)
	}
	if got := recorder.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %s", got)
	}
	if recorder.Header().Get("Cache-Control") == "" {
		t.Error("no cache control")
	}
}

func TestField03_EachURLDescribesItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, resource := range b.ep.URLs {
		ep := *b.ep
		ep.Resource = resource
		if got := document(t, serve(&ep, http.MethodGet, nil))["resource"]; got != resource.URL() {
			t.Errorf("%s describes %v", resource.URL(), got)
		}
	}
}

// Clients build the metadata address of the authorization server from this
// very text: without /auth/v1 they ask Supabase where nothing is.
func TestField04_IssuerKeepsItsPath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Project.Issuer = "https://abcdefghijklmnopqrst.supabase.co/auth/v1"
	got := document(t, serve(b.ep, http.MethodGet, nil))["authorization_servers"]
	if !reflect.DeepEqual(got, []any{"https://abcdefghijklmnopqrst.supabase.co/auth/v1"}) {
		t.Errorf("got %v", got)
	}
}

func TestField05_TheClaimedIssuerIsAdvertisedAndChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Project.APIOrigin = "https://auth.example.test" // reached by a domain of its own
	b.ep.Project.JWKSURI = "https://auth.example.test/auth/v1/.well-known/jwks.json"
	b.sources.rings[b.ep.Project.JWKSURI] = b.ring
	got := document(t, serve(b.ep, http.MethodGet, nil))["authorization_servers"]
	if !reflect.DeepEqual(got, []any{"https://ref.example.test/auth/v1"}) {
		t.Errorf("advertised %v", got)
	}
	b.accepts(b.ep, b.token(nil))
	b.refuses(b.ep, b.token(map[string]any{"iss": "https://auth.example.test/auth/v1"}), reasonIssuer)
}

func TestField07_EmptyIssuerAcceptsNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Project.Issuer = ""
	b.refuses(b.ep, b.token(map[string]any{"iss": ""}), reasonIssuer)
	b.refuses(b.ep, b.token(map[string]any{"iss": nil}), reasonIssuer)
}

func TestField10_MetadataNeedsNoTokenAndSurvivesABadOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plain := serve(b.ep, http.MethodGet, nil)
	garbage := serve(b.ep, http.MethodGet, http.Header{"Authorization": {"Bearer x"}})
	if garbage.Code != http.StatusOK || garbage.Body.String() != plain.Body.String() {
		t.Errorf("got %d %s", garbage.Code, garbage.Body)
	}
}

func TestField12_MetadataIgnoresForwardedHosts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := http.Header{"X-Forwarded-Host": {`evil.example.test"; error="x`}, "X-Forwarded-Proto": {"http"}, "Forwarded": {"host=evil.example.test"}}
	r := httptest.NewRequest(http.MethodGet, "http://10.0.0.5:8080/.well-known/oauth-protected-resource/acme/mcp", nil)
	r.Header = h
	recorder := httptest.NewRecorder()
	ServeMetadata(recorder, r, b.ep)
	if got := document(t, recorder)["resource"]; got != "https://mcp.example.test/acme/mcp" {
		t.Errorf("got %v", got)
	}
}

func TestField17_PreflightOfMetadataAllowsWhatClientsSend(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const asked = "authorization,content-type,mcp-protocol-version,mcp-method,mcp-name,mcp-session-id,last-event-id"
	recorder := serve(b.ep, http.MethodOptions, http.Header{
		"Origin": {"https://app.example.test"}, "Access-Control-Request-Headers": {asked},
	})
	allowed := strings.ToLower(recorder.Header().Get("Access-Control-Allow-Headers"))
	for name := range strings.SplitSeq(asked, ",") {
		if !strings.Contains(allowed, name) {
			t.Errorf("%s is not allowed: %s", name, allowed)
		}
	}
	if recorder.Code != http.StatusNoContent || recorder.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("got %d", recorder.Code)
	}
}

func TestField97_BrowsersMayReadMetadata(t *testing.T) {
	t.Parallel()
	b := setup(t)
	recorder := serve(b.ep, http.MethodOptions, http.Header{"Access-Control-Request-Headers": {"mcp-protocol-version"}})
	h := recorder.Header()
	if recorder.Code != http.StatusNoContent || recorder.Body.Len() != 0 {
		t.Errorf("got %d with %d bytes", recorder.Code, recorder.Body.Len())
	}
	if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Max-Age") == "" ||
		!strings.Contains(h.Get("Access-Control-Allow-Methods"), "GET") ||
		!strings.Contains(strings.ToLower(h.Get("Access-Control-Allow-Headers")), "mcp-protocol-version") {
		t.Errorf("headers %v", h)
	}
	if got := serve(b.ep, http.MethodGet, nil).Header().Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("GET allows %q", got)
	}
}

func TestPreflightEchoesHeaderNamesOnly(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"x-evil\r\nSet-Cookie: a=b", `x"evil`, "x evil", strings.Repeat("evil,", 1000)} {
		if got := allowedHeaders(asked); strings.Contains(got, "evil") {
			t.Errorf("%q: %s", asked, got)
		}
	}
}

func TestHeadAndOtherMethodsOfMetadata(t *testing.T) {
	t.Parallel()
	b := setup(t)
	head := serve(b.ep, http.MethodHead, nil)
	if head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %d with %d bytes", head.Code, head.Body.Len())
	}
	post := serve(b.ep, http.MethodPost, nil)
	if post.Code != http.StatusMethodNotAllowed || post.Header().Get("Allow") == "" || document(t, post)["status"] != 405.0 {
		t.Errorf("POST: %d %s", post.Code, post.Body)
	}
}

func TestSurfaceWithoutOAuthHasNoMetadata(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Access.Modes = []surfaces.Mode{surfaces.ModePublic}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
		if got := serve(b.ep, method, nil).Code; got != http.StatusNotFound {
			t.Errorf("%s: %d", method, got)
		}
	}
}

func TestAdvertisedScopesAreOnesTheProjectGrants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Access.Advertise = []string{"email", "crm.read", "offline_access", "profile", "email"}
	if got := document(t, serve(b.ep, http.MethodGet, nil))["scopes_supported"]; !reflect.DeepEqual(got, []any{"email", "profile"}) {
		t.Errorf("got %v", got)
	}
	b.ep.Access.Advertise = []string{"crm.read"}
	if got, there := document(t, serve(b.ep, http.MethodGet, nil))["scopes_supported"]; there {
		t.Errorf("got %v, want the key left out", got)
	}
}
