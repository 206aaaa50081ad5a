package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// bearer adds a token to every request, as an MCP client does after sign-in.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// signedIn is an HTTP client that sends the token.
func (b *bundle) signedIn(token string) *http.Client {
	return &http.Client{Transport: bearer{token, b.server.Client().Transport}}
}

// connect is the SDK's own client, signed in, at the given version.
func (b *bundle) connect(path, token, version string) *mcp.ClientSession {
	b.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(b.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: b.server.URL + path, HTTPClient: b.signedIn(token), DisableStandaloneSSE: true, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestOfficialClientOfEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.caller(b.surface("acme", nil), "alice", "alice")
			session := b.connect("/acme/mcp", "alice", version)
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Fatalf("negotiated %s", got)
			}
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := toolNames(list.Tools); got != "zebra_list customers_list" {
				t.Fatalf("tools %s: not in declared order", got)
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "customers_list", Arguments: map[string]any{"limit": 5}})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(res.StructuredContent); got != "map[who:alice]" {
				t.Fatalf("structured content %s", got)
			}
			res, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "customers_list", Arguments: map[string]any{"limit": 5000}})
			if err != nil || !res.IsError || res.StructuredContent != nil {
				t.Fatalf("wrong argument: %+v, %v", res, err)
			}
			if _, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "nothing"}); err == nil || !strings.Contains(err.Error(), "Unknown tool") {
				t.Fatalf("unknown tool: %v", err)
			}
			if version < version20260728 {
				if err := session.Ping(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				if err := session.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil { //nolint:staticcheck // older clients do
					t.Fatal(err)
				}
			}
		})
	}
}

func toolNames(tools []*mcp.Tool) string {
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = tool.Name
	}
	return strings.Join(names, " ")
}

func TestField79_ListsFollowTheCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) { c.Tools[0].Scopes = []string{"crm.write"} })
	b.caller(ep, "alice", "alice", "crm.write")
	b.caller(ep, "bob", "bob")
	for range 3 {
		for token, want := range map[string]string{"alice": "zebra_list customers_list", "bob": "customers_list"} {
			list, err := b.connect("/acme/mcp", token, version20260728).ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := toolNames(list.Tools); got != want || list.CacheScope != "private" {
				t.Fatalf("%s sees %q, scope %s", token, got, list.CacheScope)
			}
		}
	}
}

func TestField53_IdentityIsTheRequestsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", nil)
	b.caller(ep, "alice", "alice")
	b.caller(ep, "bob", "bob")
	for _, token := range []string{"alice", "bob", "alice"} {
		q := legacy("2025-11-25", "tools/call", `{"name":"customers_list"}`).as(token)
		q.header["Mcp-Session-Id"] = "one-session"
		res := b.send(q)
		if body := bodyOf(t, res); !strings.Contains(body, token) || res.Header.Get("Mcp-Session-Id") != "" {
			t.Fatalf("%s got %s", token, body)
		}
	}
}

func TestAliceAndBobAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	edit := func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Tools[0].Scopes = []string{"crm.write"}
		c.Tools[1].Scopes = []string{"crm.read"}
	}
	acme, other := b.surface("acme", edit), b.surface("other", edit)
	b.caller(acme, "alice", "alice", "crm.write")
	b.caller(acme, "bob", "bob", "crm.read")
	b.caller(other, "carol", "carol", "crm.read")
	people := []struct{ token, path, own, foreign string }{
		{"alice", "/acme/mcp", "zebra_list", "customers_list"},
		{"bob", "/acme/mcp", "customers_list", "zebra_list"},
		{"carol", "/other/mcp", "customers_list", "zebra_list"},
	}
	const rounds = 120
	var wg sync.WaitGroup
	for worker := range 6 {
		for _, p := range people {
			wg.Go(func() {
				for i := range rounds {
					if err := b.round(p.token, p.path, p.own, p.foreign, (i+worker)%2 == 0); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if n := b.runner.count(); n != 6*len(people)*rounds {
		t.Errorf("%d calls ran", n)
	}
	for _, inv := range b.recorder.all() {
		if inv.Client == "client-carol" && inv.Surface != other.Surface || inv.Client != "client-carol" && inv.Surface != acme.Surface {
			t.Fatalf("recorded at another surface: %+v", inv)
		}
	}
}

// round lists, calls what is the caller's own, and tries what is not.
func (b *bundle) round(token, path, own, foreign string, modernly bool) error {
	shape := func(method, name string) request {
		params := ""
		if name != "" {
			params = `"name":"` + name + `"`
		}
		q := legacy("2025-11-25", method, "{"+params+"}")
		if modernly {
			q = modern(method, name, params)
		}
		q.path = path
		return q.as(token)
	}
	list := bodyOf(b.t, b.send(shape("tools/list", "")))
	if !strings.Contains(list, own) || strings.Contains(list, foreign) {
		return fmt.Errorf("%s lists %s", token, list)
	}
	call := bodyOf(b.t, b.send(shape("tools/call", own)))
	for _, person := range []string{"alice", "bob", "carol"} {
		if strings.Contains(call, person) != (person == token) {
			return fmt.Errorf("%s got %s", token, call)
		}
	}
	if res := b.send(shape("tools/call", foreign)); res.StatusCode != http.StatusForbidden {
		return fmt.Errorf("%s may call %s: %d", token, foreign, res.StatusCode)
	}
	return nil
}

func TestReadOnlySurfaceHidesWhatWrites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", func(ep *tenants.Endpoint, c *surfaces.Compiled) {
		ep.State = tenants.StateReadOnly
		c.Tools[0].Annotations.ReadOnly = false
	})
	b.caller(ep, "alice", "alice")
	if body := bodyOf(t, b.send(modern("tools/list", "", "").as("alice"))); strings.Contains(body, "zebra_list") {
		t.Fatalf("listed: %s", body)
	}
	if body := bodyOf(t, b.send(modern("tools/call", "zebra_list", `"name":"zebra_list"`).as("alice"))); !strings.Contains(body, unknownTool) || b.runner.count() > 0 {
		t.Fatalf("called: %s", body)
	}
}

func TestPublicCallerIsAskedToSignInForTheRest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	edit := func(modes ...surfaces.Mode) func(*tenants.Endpoint, *surfaces.Compiled) {
		return func(_ *tenants.Endpoint, c *surfaces.Compiled) {
			c.Access = surfaces.Access{Modes: modes}
			c.Tools[0].Public = true
		}
	}
	b.surface("acme", edit(surfaces.ModeOAuth, surfaces.ModePublic))
	b.surface("open", edit(surfaces.ModePublic))
	for path, want := range map[string]int{"/acme/mcp": http.StatusUnauthorized, "/open/mcp": http.StatusBadRequest} {
		list := modern("tools/list", "", "")
		list.path = path
		if body := bodyOf(t, b.send(list)); !strings.Contains(body, "zebra_list") || strings.Contains(body, "customers_list") {
			t.Errorf("%s lists %s", path, body)
		}
		q := modern("tools/call", "zebra_list", `"name":"zebra_list"`)
		q.path = path
		if res := b.send(q); res.StatusCode != http.StatusOK || res.Header.Get("Chumbo-Access") != "public" {
			t.Errorf("%s: public tool %d", path, res.StatusCode)
		}
		q = modern("tools/call", "customers_list", `"name":"customers_list"`)
		q.path = path
		if res := b.send(q); res.StatusCode != want || (res.Header.Get("WWW-Authenticate") != "") != (want == http.StatusUnauthorized) {
			t.Errorf("%s: other tool %d", path, res.StatusCode)
		}
	}
}

func TestLate401DropsWhatTheToolAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	b.runner.do(func(_ context.Context, c *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
		c.unauthorized = true
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "half an answer"}}}, nil
	})
	for _, q := range []request{modern("tools/call", "customers_list", `"name":"customers_list"`), legacy("2025-06-18", "tools/call", `{"name":"customers_list"}`)} {
		res := b.send(q.as("alice"))
		if body := bodyOf(t, res); res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" || strings.Contains(body, "half") {
			t.Fatalf("status %d, body %s", res.StatusCode, body)
		}
	}
	if got := strings.Join(b.auth.refused, " "); got != "alice alice" {
		t.Fatalf("forgotten: %q", got)
	}
}

func TestLate401InABatchRunsNothingTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	runs := 0
	b.runner.do(func(_ context.Context, c *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
		runs++
		c.unauthorized = runs > 1
		return &mcp.CallToolResult{}, nil
	})
	one := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"customers_list"}}`
	}
	res := b.send(request{token: "alice", body: "[" + one("1") + "," + one("2") + "]"})
	if body := bodyOf(t, res); res.StatusCode != http.StatusOK || !strings.Contains(body, "another credential") {
		t.Fatalf("status %d, body %s", res.StatusCode, body)
	}
}

func TestToolThatFailsKillsNothingAndTellsNothing(t *testing.T) {
	t.Parallel()
	secret := "pq: password authentication failed for 10.0.0.7"
	for name, script := range map[string]func() (*mcp.CallToolResult, error){
		"panic":       func() (*mcp.CallToolResult, error) { panic(secret) },
		"plain error": func() (*mcp.CallToolResult, error) { return nil, errors.New(secret) },
		"fault": func() (*mcp.CallToolResult, error) {
			return nil, fault.Wrap(errors.New(secret), fault.Timeout, "", "The project did not answer in time.")
		},
	} {
		for _, version := range []string{version20260728, version20251125, version20250326} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.caller(b.surface("acme", nil), "alice", "alice")
				b.runner.do(func(context.Context, *call, *surfaces.Tool, []byte) (*mcp.CallToolResult, error) { return script() })
				q := legacy(version, "tools/call", `{"name":"customers_list"}`)
				if version == version20260728 {
					q = modern("tools/call", "customers_list", `"name":"customers_list"`)
				}
				res := b.send(q.as("alice"))
				body := bodyOf(t, res)
				if res.StatusCode != http.StatusOK || !strings.Contains(body, "-32603") || strings.Contains(body, "10.0.0.7") ||
					!strings.Contains(body, res.Header.Get("Chumbo-Request-Id")) {
					t.Fatalf("status %d, body %s", res.StatusCode, body)
				}
				if name == "panic" && strings.Contains(b.logs.String(), "10.0.0.7") {
					t.Fatalf("the panic's value was logged: %s", b.logs)
				}
			})
		}
	}
}

func TestClientThatLeavesCancelsItsCall(t *testing.T) {
	t.Parallel()
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.caller(b.surface("acme", nil), "alice", "alice")
			begun, ended := make(chan struct{}), make(chan error, 1)
			b.runner.do(func(ctx context.Context, _ *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
				close(begun)
				select {
				case <-ctx.Done():
					ended <- nil
				case <-time.After(20 * time.Second):
					ended <- errors.New("the call went on")
				}
				return nil, ctx.Err()
			})
			q := legacy(version, "tools/call", `{"name":"customers_list"}`)
			if version == version20260728 {
				q = modern("tools/call", "customers_list", `"name":"customers_list"`)
			}
			ctx, leave := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL+"/acme/mcp", strings.NewReader(q.body))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range q.header {
				req.Header.Set(name, value)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer alice")
			go func() { <-begun; leave() }()
			if res, err := b.server.Client().Do(req); err == nil {
				_ = res.Body.Close()
				t.Fatal("an answer came")
			}
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestField104_ArgumentsAreValidatedBeforeTheCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Tools[0].Input = []byte(`{"type":"object","anyOf":[{"required":["a"]}]}`)
	}), "alice", "alice")
	body := bodyOf(t, b.send(modern("tools/call", "zebra_list", `"name":"zebra_list","arguments":{"b":"x"}`).as("alice")))
	if !strings.Contains(body, `"isError":true`) || b.runner.count() != 0 {
		t.Fatalf("%d calls, body %s", b.runner.count(), body)
	}
}

func TestRunnerGetsTheCallersJSON(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	var got string
	b.runner.do(func(_ context.Context, _ *call, _ *surfaces.Tool, arguments []byte) (*mcp.CallToolResult, error) {
		got = string(arguments)
		return &mcp.CallToolResult{}, nil
	})
	want := `{ "limit" : 10.0, "name":"a\u003cb" }`
	b.send(modern("tools/call", "customers_list", `"name":"customers_list","arguments":`+want).as("alice"))
	if got != want {
		t.Fatalf("got %s", got)
	}
}

func TestResultThatIsNoJSONIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	b.runner.do(func(context.Context, *call, *surfaces.Tool, []byte) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"half":`)}, nil
	})
	if body := bodyOf(t, b.send(modern("tools/call", "customers_list", `"name":"customers_list"`).as("alice"))); !strings.Contains(body, "-32603") {
		t.Fatalf("body %s", body)
	}
}

func TestStructuredContentIsAnObjectBefore20260728(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	b.runner.do(func(context.Context, *call, *surfaces.Tool, []byte) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`[1]`)}, nil
	})
	if body := bodyOf(t, b.send(legacy("2025-11-25", "tools/call", `{"name":"customers_list"}`).as("alice"))); strings.Contains(body, "structuredContent") {
		t.Errorf("2025-11-25: %s", body)
	}
	if body := bodyOf(t, b.send(modern("tools/call", "customers_list", `"name":"customers_list"`).as("alice"))); !strings.Contains(body, `"structuredContent":[1]`) {
		t.Errorf("2026-07-28: %s", body)
	}
}
