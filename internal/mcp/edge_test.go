package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestEdgeKeepsItsOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Access.Origins = []string{"https://app.example.test"}
	})
	b.surface("open", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModePublic}}
	})
	b.surface("keys", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeAPIKey}}
	})
	b.surface("both", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModePublic}}
	})
	b.surface("paused", func(ep *tenants.Endpoint, _ *surfaces.Compiled) { ep.State = tenants.StatePaused })
	b.caller(ep, "alice", "alice")
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	html := map[string]string{"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
	evil := map[string]string{"Origin": "https://evil.example.test"}
	for _, tc := range []struct {
		name      string
		request   request
		status    int
		challenge bool
		contains  string
	}{
		{"foreign host before anything", request{host: "evil.example.test", header: evil}, 421, false, "not served here"},
		{"unknown path before origin and credential", request{path: "/nobody/mcp", header: evil}, 404, false, "nothing here"},
		{"trailing slash names the right URL", request{path: "/acme/mcp/"}, 404, false, "https://" + testHost + "/acme/mcp,"},
		{"escaped path is another path", request{path: "/%61cme/mcp"}, 404, false, "nothing here"},
		{"origin before preflight", request{method: "OPTIONS", header: evil}, 403, false, "origin_not_allowed"},
		{"preflight before credential", request{method: "OPTIONS", header: map[string]string{"Origin": "https://app.example.test"}}, 204, false, ""},
		{"page for a browser", request{method: "GET", header: html}, 200, false, "<h1>Acme acme</h1>"},
		{"no page with a credential", request{method: "GET", header: html, token: "wrong"}, 401, true, ""},
		{"no page for */*", request{method: "GET", header: map[string]string{"Accept": "*/*"}}, 401, true, ""},
		{"challenge before method", request{method: "DELETE"}, 401, true, ""},
		{"challenge for GET", request{method: "GET"}, 401, true, ""},
		{"challenge for HEAD", request{method: "HEAD"}, 401, true, ""},
		{"challenge before size", request{body: strings.Repeat("x", 2<<20)}, 401, true, ""},
		{"challenge before body", request{body: "{"}, 401, true, ""},
		{"size before method", request{method: "PUT", token: "alice", body: strings.Repeat("x", 2<<20)}, 413, false, "-32600"},
		{"size", request{token: "alice", body: strings.Repeat("x", 2<<20)}, 413, false, "-32600"},
		{"method before media type", request{method: "GET", token: "alice", header: map[string]string{"Content-Type": "text/plain"}}, 405, false, "POST"},
		{"DELETE is no method here", request{method: "DELETE", token: "alice"}, 405, false, "POST"},
		{"media type before body", request{token: "alice", header: map[string]string{"Content-Type": "text/plain"}, body: "{"}, 415, false, "application/json"},
		{"media type with parameters", request{token: "alice", header: map[string]string{"Content-Type": "application/json; charset=utf-8"}, body: list}, 200, false, "customers_list"},
		{"body", request{token: "alice", body: "{"}, 400, false, "-32700"},
		{"empty body", request{token: "alice"}, 400, false, "-32700"},
		{"query is ignored", request{path: "/acme/mcp?token=alice", token: "alice", body: list}, 200, false, "customers_list"},
		{"public goes on", request{path: "/open/mcp", body: list}, 200, false, `"tools":[]`},
		{"public alone has no challenge for GET", request{path: "/open/mcp", method: "GET"}, 405, false, "POST"},
		{"public and oauth challenge GET", request{path: "/both/mcp", method: "GET"}, 401, true, ""},
		{"public and oauth challenge HEAD", request{path: "/both/mcp", method: "HEAD"}, 401, true, ""},
		{"public and oauth let POST on", request{path: "/both/mcp", body: list}, 200, false, `"tools":[]`},
		{"paused", request{path: "/paused/mcp", body: list}, 503, false, "paused by its owner"},
		{"metadata of nothing", request{method: "GET", path: "/.well-known/oauth-protected-resource/nobody/mcp"}, 404, false, "nothing here"},
		{"metadata where there is no sign-in", request{method: "GET", path: "/.well-known/oauth-protected-resource/open/mcp"}, 404, false, "needs no sign-in"},
		{"metadata where keys are taken", request{method: "GET", path: "/.well-known/oauth-protected-resource/keys/mcp"}, 404, false, "takes keys"},
		{"keys: bare challenge", request{path: "/keys/mcp", body: list}, 401, true, "key"},
		{"keys: bare challenge for GET", request{path: "/keys/mcp", method: "GET"}, 401, true, "key"},
		{"keys: page for a browser", request{path: "/keys/mcp", method: "GET", header: html}, 200, false, "<h1>Acme keys</h1>"},
		{"unknown well-known", request{method: "GET", path: "/.well-known/openid-configuration"}, 404, false, "nothing here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			res := b.send(tc.request)
			body := bodyOf(t, res)
			if res.StatusCode != tc.status || !strings.Contains(body, tc.contains) {
				t.Fatalf("status %d, body %s", res.StatusCode, body)
			}
			if got := len(res.Header.Values("WWW-Authenticate")); (got == 1) != tc.challenge || got > 1 {
				t.Fatalf("%d challenges: %v", got, res.Header.Values("WWW-Authenticate"))
			}
			if res.Header.Get("Chumbo-Request-Id") == "" || res.Header.Get("Chumbo-Version") != "1.2.3" || !strings.Contains(res.Header.Get("Server-Timing"), "chumbo;dur=") {
				t.Fatalf("headers %v", res.Header)
			}
			if tc.status == 405 && res.Header.Get("Allow") == "" {
				t.Fatal("405 without Allow")
			}
			if ct := res.Header.Get("Content-Type"); tc.status >= 400 && tc.request.method != "HEAD" && !strings.Contains(ct, "json") {
				t.Fatalf("content type %q", ct)
			}
		})
	}
}

func TestConnectPageIsNeverCached(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.surface("acme", nil)
	res := b.send(request{method: "GET", header: map[string]string{"Accept": "text/html"}})
	if res.Header.Get("Cache-Control") != "no-store" || !strings.Contains(strings.Join(res.Header.Values("Vary"), ","), "Authorization") {
		t.Fatalf("headers %v", res.Header)
	}
}

func TestConnectPageReadsTheRevisionThatServesCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", nil)
	page := request{method: "GET", header: map[string]string{"Accept": "text/html"}}
	for range 3 {
		if body := bodyOf(t, b.send(page)); !strings.Contains(body, "<li>"+b.directory.compiled[revisionKey{ep.Surface, ep.Revision, ep.Digest}].Tools[0].Name+"</li>") {
			t.Fatalf("page %s", body)
		}
	}
	if b.directory.loads != 1 {
		t.Errorf("the revision was read %d times, want once", b.directory.loads)
	}
	other := setup(t)
	other.surface("acme", nil)
	other.directory.load = func(*tenants.Endpoint) error { return fault.New(fault.Unavailable, "", "Away.") }
	if res := other.send(page); res.StatusCode != http.StatusOK {
		t.Errorf("without its revision the page is %d", res.StatusCode)
	}
}

func TestAnswersNameTheirSurface(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", nil)
	b.caller(ep, "alice", "alice")
	b.runner.do(func(_ context.Context, c *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
		c.projectTime, c.upstream = 1500*time.Microsecond, "upstream-1"
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
	})
	res := b.send(modern("tools/call", "customers_list", `"name":"customers_list"`).as("alice"))
	for name, want := range map[string]string{
		"Chumbo-Surface": ep.Surface.String(), "Chumbo-Revision": "1", "Chumbo-Access": "direct", "Access-Control-Allow-Origin": "*",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(res.Header.Get("Server-Timing"), "project;dur=1.5") {
		t.Errorf("Server-Timing %q", res.Header.Get("Server-Timing"))
	}
	for _, name := range []string{"Chumbo-Request-Id", "Server-Timing", "WWW-Authenticate", "Retry-After"} {
		if !strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("%s is not exposed", name)
		}
	}
	list := b.recorder.all()
	if len(list) != 1 {
		t.Fatalf("%d invocations", len(list))
	}
	inv := list[0]
	if inv.Capability != "customers_list" || inv.Method != "tools/call" || inv.Client != "client-alice" || inv.Protocol != "2026-07-28" ||
		inv.Outcome != events.OutcomeOK || inv.Project != 1500*time.Microsecond || inv.Upstream != "upstream-1" ||
		inv.RequestID != res.Header.Get("Chumbo-Request-Id") || inv.Organization != ep.Organization || inv.ResultBytes == 0 {
		t.Errorf("invocation %+v", inv)
	}
}

func TestNothingAUserTypedIsRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	b.send(modern("tools/call", "my_secret", `"name":"my_secret","arguments":{"password":"my_secret"}`).as("alice"))
	recorded, err := json.Marshal(b.recorder.all())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(recorded), `"refused"`) || strings.Contains(string(recorded)+b.logs.String(), "my_secret") {
		t.Fatalf("recorded %s, logged %s", recorded, b.logs)
	}
}

func TestUnavailableIsNeverAChallenge(t *testing.T) {
	t.Parallel()
	secret := errors.New(`Get "https://10.1.2.3/jwks": dial tcp: refused`)
	away := fault.Wrap(secret, fault.Unavailable, "", "The sign-in service cannot be reached.").WithRetryAfter(1500 * time.Millisecond)
	for _, tc := range []struct {
		name   string
		breaks func(*bundle)
	}{
		{"directory", func(b *bundle) { b.directory.fail(away) }},
		{"key set", func(b *bundle) { b.auth.err = away }},
		{"revision", func(b *bundle) { b.directory.load = func(*tenants.Endpoint) error { return away } }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.caller(b.surface("acme", nil), "alice", "alice")
			tc.breaks(b)
			res := b.send(modern("tools/list", "", "").as("alice"))
			body := bodyOf(t, res)
			if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "2" || res.Header.Get("WWW-Authenticate") != "" {
				t.Fatalf("status %d, headers %v", res.StatusCode, res.Header)
			}
			if strings.Contains(body, "10.1.2.3") || !strings.Contains(body, "trace_id") {
				t.Fatalf("body %s", body)
			}
		})
	}
}

func TestField96_VerifierTextStaysInside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.surface("acme", nil)
	b.auth.err = errors.New(`Get "https://10.1.2.3/jwks": dial tcp 10.1.2.3:443: refused`)
	res := b.send(modern("tools/list", "", "").as("alice"))
	if body := bodyOf(t, res); res.StatusCode != http.StatusInternalServerError || strings.Contains(body, "10.1.2.3") || !strings.Contains(body, res.Header.Get("Chumbo-Request-Id")) {
		t.Fatalf("status %d, body %s", res.StatusCode, body)
	}
}

func TestField13_HostileHostNeverReachesTheAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.surface("acme", nil)
	for _, q := range []request{
		{host: "evil.example.test"},
		{header: map[string]string{"X-Forwarded-Host": `evil"; error="x`, "X-Forwarded-Proto": "evil", "Forwarded": "host=evil"}},
	} {
		res := b.send(q)
		all := bodyOf(t, res)
		for name, values := range res.Header {
			all += name + strings.Join(values, "")
		}
		if strings.Contains(all, "evil") {
			t.Fatalf("answer echoes the host: %s", all)
		}
	}
}

func TestField17_PreflightAllowsEveryHeader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.surface("acme", nil)
	asked := "authorization,content-type,mcp-protocol-version,mcp-method,mcp-name,mcp-session-id,last-event-id,mcp-param-region"
	res := b.send(request{method: "OPTIONS", header: map[string]string{
		"Origin": "https://inspector.example.test", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": asked,
	}})
	if res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Headers") != asked || res.Header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(res.Header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Fatalf("status %d, headers %v", res.StatusCode, res.Header)
	}
	res = b.send(request{method: "OPTIONS", header: map[string]string{"Access-Control-Request-Headers": "x\"y"}})
	if res.Header.Get("Access-Control-Allow-Headers") != "" {
		t.Fatal("a list that is none was echoed")
	}
}

func TestField16_BrowserCanReadTheChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.surface("acme", nil)
	b.surface("listed", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Access.Origins = []string{"https://app.example.test"}
	})
	res := b.send(request{header: map[string]string{"Origin": "https://inspector.example.test"}})
	if res.StatusCode != http.StatusUnauthorized || res.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(strings.Join(res.Header.Values("Access-Control-Expose-Headers"), ","), "WWW-Authenticate") {
		t.Fatalf("headers %v", res.Header)
	}
	res = b.send(request{path: "/listed/mcp", header: map[string]string{"Origin": "https://app.example.test"}})
	if res.Header.Get("Access-Control-Allow-Origin") != "https://app.example.test" || !strings.Contains(strings.Join(res.Header.Values("Vary"), ","), "Origin") {
		t.Fatalf("headers %v", res.Header)
	}
}

func TestField50_ForeignHostIsRefusedAndProxiesAreNot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	for host, want := range map[string]int{testHost: 200, "evil.example.test": 421, "localhost": 421} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL+"/acme/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Authorization", "Bearer alice")
		req.Header.Set("Content-Type", "application/json")
		res, err := b.server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, res.StatusCode, want)
		}
	}
}

func TestField51_GetOpensNoStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	res := b.send(request{method: "GET", token: "alice", header: map[string]string{"Accept": "text/event-stream"}})
	if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") == "" {
		t.Fatalf("status %d, headers %v", res.StatusCode, res.Header)
	}
}

func TestField95_EachSurfaceHasItsOwnChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	acme, other := b.surface("acme", nil), b.surface("other", nil)
	b.caller(acme, "alice", "alice")
	for path, ep := range map[string]*tenants.Endpoint{"/acme/mcp": acme, "/other/mcp": other} {
		got := b.send(request{path: path}).Header.Get("WWW-Authenticate")
		if !strings.Contains(got, ep.Resource.MetadataURL()) {
			t.Errorf("%s: challenge %q", path, got)
		}
	}
	if res := b.send(modern("tools/list", "", "").as("alice")); res.StatusCode != http.StatusOK {
		t.Errorf("own surface: %d", res.StatusCode)
	}
	q := modern("tools/list", "", "").as("alice")
	q.path = "/other/mcp"
	if res := b.send(q); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("token of another surface: %d", res.StatusCode)
	}
}
