package doctor_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/doctor"
)

// bridged is a surface that is its own authorization server.
type bridged struct {
	site
	change func(map[string]any)
	lose   string // a place that something in front answers
}

func (b *bridged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := b.url + "/acme/mcp"
	switch r.URL.Path {
	case b.lose:
		w.WriteHeader(http.StatusNotFound)
	case "/.well-known/oauth-protected-resource/acme/mcp":
		w.Header().Set("Chumbo-Request-Id", "0123")
		_ = json.NewEncoder(w).Encode(map[string]any{"resource": own, "authorization_servers": []string{own}})
	case "/.well-known/oauth-authorization-server/acme/mcp", "/.well-known/openid-configuration/acme/mcp",
		"/acme/mcp/.well-known/oauth-authorization-server", "/acme/mcp/.well-known/openid-configuration":
		doc := map[string]any{
			"issuer": own, "authorization_endpoint": b.url + "/connect/authorize/x", "token_endpoint": own + "/oauth/token", "registration_endpoint": own + "/oauth/register",
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"}, "code_challenge_methods_supported": []string{"S256"},
			"client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
		}
		if b.change != nil {
			b.change(doc)
		}
		_ = json.NewEncoder(w).Encode(doc)
	default:
		b.site.ServeHTTP(w, r)
	}
}

func visitBridge(t *testing.T, b *bridged) map[string]doctor.Finding {
	t.Helper()
	return visitAt(t, b, &b.url, "/acme/mcp")
}

func TestHealthyBridgeSurfacePassesEveryCheck(t *testing.T) {
	t.Parallel()
	for check, f := range visitBridge(t, &bridged{}) {
		if f.Status != doctor.Pass {
			t.Errorf("%s: %+v", check, f)
		}
	}
}

func TestBridgeIsDescribedWhereverClientsLook(t *testing.T) {
	t.Parallel()
	for _, place := range []string{
		"/.well-known/oauth-authorization-server/acme/mcp", "/.well-known/openid-configuration/acme/mcp",
		"/acme/mcp/.well-known/oauth-authorization-server", "/acme/mcp/.well-known/openid-configuration",
	} {
		f := visitBridge(t, &bridged{lose: place})[doctor.CheckSurfaceIssuer]
		if f.Status != doctor.Fail || !strings.Contains(f.Summary, "1 of the 4 places") || !strings.Contains(f.Detail, place+" answers 404") {
			t.Errorf("%s: %+v", place, f)
		}
	}
	f := visitBridge(t, &bridged{change: func(doc map[string]any) { doc["issuer"] = "https://elsewhere.example.test/acme/mcp" }})[doctor.CheckSurfaceIssuer]
	if f.Status != doctor.Fail || !strings.Contains(f.Detail, "names the issuer https://elsewhere.example.test/acme/mcp") {
		t.Errorf("another issuer: %+v", f)
	}
}

func TestBridgeSaysWhatClientsLookFor(t *testing.T) {
	t.Parallel()
	for key, c := range map[string]struct {
		value any
		says  string
	}{
		"token_endpoint_auth_methods_supported":          {[]string{"client_secret_basic", "none"}, "none"},
		"code_challenge_methods_supported":               {[]string{"plain"}, "PKCE"},
		"client_id_metadata_document_supported":          {false, "metadata documents"},
		"authorization_response_iss_parameter_supported": {false, "iss"},
		"registration_endpoint":                          {"", "register"},
	} {
		f := visitBridge(t, &bridged{change: func(doc map[string]any) { doc[key] = c.value }})[doctor.CheckSurfaceIssuer]
		if f.Status != doctor.Fail || !strings.Contains(f.Summary, c.says) || f.Fix == "" {
			t.Errorf("%s: %+v", key, f)
		}
	}
}
