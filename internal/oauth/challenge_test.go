package oauth

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestField95_ChallengeBelongsToTheSurfaceOfTheRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.project("https://bob.example.test", "/bob/sales/mcp")
	const (
		acme = `Bearer resource_metadata="https://mcp.example.test/.well-known/oauth-protected-resource/acme/mcp"`
		bob  = `Bearer resource_metadata="https://mcp.example.test/.well-known/oauth-protected-resource/bob/sales/mcp"`
	)
	for ep, want := range map[*tenants.Endpoint]string{b.ep: acme, other: bob} {
		caller, err := b.auth.Authenticate(t.Context(), ep, http.Header{}, "")
		if got := b.challengeIn(caller, err, reasonNoToken).Header(); got != want {
			t.Errorf("no token: %s", got)
		}
		got := b.refusal(ep, forged(`{"alg":"ES256"}`, "nope", "x"), reasonMalformed).Header()
		if want := want + `, error="invalid_token", error_description="The access token cannot be read. Sign in again."`; got != want {
			t.Errorf("bad token: %s", got)
		}
		got = InsufficientScope(ep, []string{"email", "profile", "email"}).Header()
		if want := want + `, error="insufficient_scope", scope="email profile", error_description="The access token lacks a scope that is needed here."`; got != want {
			t.Errorf("scope: %s", got)
		}
	}
}

func TestInsufficientScopeNamesTheWholeSetTheProjectCanGrant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Access.Require = []string{"openid", "crm.read"}
	got := InsufficientScope(b.ep, []string{"profile", "crm.write", `x" evil="1`, "offline_access", "openid"}).Header()
	if !strings.Contains(got, `scope="openid profile"`) || strings.Contains(got, "evil") {
		t.Errorf("got %s", got)
	}
	if got := InsufficientScope(b.ep, nil); got.Status != http.StatusForbidden || !fault.Is(got, fault.Forbidden) {
		t.Errorf("got %d", got.Status)
	}
}

func TestField02_OneSurfaceByTwoURLsIsChallengedByTheOneUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alias := *b.ep
	alias.Resource = b.ep.URLs[1]
	if got := SignIn(&alias).Header(); got != `Bearer resource_metadata="https://acme.example.test/.well-known/oauth-protected-resource/mcp"` {
		t.Errorf("got %s", got)
	}
}

func TestField13_NoByteOfTheRequestReachesTheHeader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, h := range []http.Header{
		{"Authorization": {`Bearer evil"; error="x`}},
		{"Authorization": {"Bearer evil"}, "X-Forwarded-Host": {`evil"; error="x`}, "Host": {"evil.example.test"}},
		{"Authorization": {`evil"`}},
		{"Authorization": {"Bearer " + forged(`{"alg":"evil"}`, `{"iss":"evil"}`, "evil")}},
	} {
		_, err := b.auth.Authenticate(t.Context(), b.ep, h, "")
		recorder := httptest.NewRecorder()
		var challenge *Challenge
		if !asChallenge(err, &challenge) {
			t.Fatalf("got %v", err)
		}
		challenge.Write(recorder, "req-1")
		if all := recorder.Header().Get("WWW-Authenticate") + recorder.Body.String(); strings.Contains(strings.ToLower(all), "evil") {
			t.Errorf("%v: %s", h, all)
		}
	}
}

func TestField13_ConfiguredURLCannotEndTheQuotedString(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Resource.Base = "https://mcp.example.test/\"\\\r\nX: é"
	got := SignIn(b.ep).Header()
	if want := `Bearer resource_metadata="https://mcp.example.test/%22%5C%0D%0AX: %C3%A9/.well-known/oauth-protected-resource/acme/mcp"`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestField15_EveryRefusalPointsToTheMetadataWithOneBearerChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, token := range []string{"", "opaque", b.token(map[string]any{"role": "anon"}), "chk_x", b.token(map[string]any{"exp": 1})} {
		h := http.Header{}
		if token != "" {
			h = bearerHeader(token)
		}
		_, err := b.auth.Authenticate(t.Context(), b.ep, h, "")
		var challenge *Challenge
		if !asChallenge(err, &challenge) {
			t.Fatalf("got %v", err)
		}
		recorder := httptest.NewRecorder()
		challenge.Write(recorder, "req-1")
		values := recorder.Header().Values("WWW-Authenticate")
		if len(values) != 1 || strings.Count(values[0], "Bearer") != 1 || !strings.Contains(values[0], `resource_metadata="https://`) {
			t.Errorf("got %q", values)
		}
	}
}

func TestField16_ChallengeCanBeReadByBrowsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, challenge := range []*Challenge{SignIn(b.ep), InsufficientScope(b.ep, []string{"email"})} {
		recorder := httptest.NewRecorder()
		recorder.Header().Set("Access-Control-Allow-Origin", "https://app.example.test") // the edge's decision
		recorder.Header().Set("WWW-Authenticate", "Basic")
		challenge.Write(recorder, "req-1")
		h := recorder.Header()
		for _, name := range []string{"WWW-Authenticate", "Mcp-Session-Id", "MCP-Protocol-Version", "Chumbo-Request-Id", "Chumbo-Revision"} {
			if !strings.Contains(h.Get("Access-Control-Expose-Headers"), name) {
				t.Errorf("%s is not exposed", name)
			}
		}
		if h.Get("Access-Control-Allow-Origin") != "https://app.example.test" || len(h.Values("WWW-Authenticate")) != 1 {
			t.Errorf("headers %v", h)
		}
		var problem fault.Problem
		if err := json.Unmarshal(recorder.Body.Bytes(), &problem); err != nil {
			t.Fatalf("body: %v", err)
		}
		if recorder.Code != challenge.Status || problem.Status != challenge.Status || problem.TraceID != "req-1" || problem.Code != challenge.Code || problem.Detail == "" {
			t.Errorf("got %d %+v", recorder.Code, problem)
		}
		if h.Get("Content-Type") != "application/problem+json" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestEveryReasonHasAnHonestPlainText(t *testing.T) {
	t.Parallel()
	for why, text := range texts {
		if text == "" || !isQuotable(text) {
			t.Errorf("%s: %q", why, text)
		}
	}
}

func isQuotable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '%' {
			return false
		}
	}
	return true
}
