package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// BenchmarkEdge measures the edge in process, without the project: what it
// adds to BenchmarkBareSDK.
func BenchmarkEdge(b *testing.B) {
	for name, q := range benchmarked() {
		b.Run(name, func(b *testing.B) {
			bundle := setupBench(b)
			serveMany(b, bundle.handler, q)
		})
	}
}

// BenchmarkPolicy measures what rules on every one of twenty tools add.
func BenchmarkPolicy(b *testing.B) {
	queries := map[string]request{
		"list": modern("tools/list", "", ""), "call": modern("tools/call", "tool_3", `"name":"tool_3","arguments":{"name":"x","limit":5}`),
	}
	for _, rules := range []string{"none", "rules"} {
		for name, q := range queries {
			b.Run(name+"/"+rules, func(b *testing.B) {
				bundle := setup(b)
				ep := bundle.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
					c.Tools = nil
					for i := range 20 {
						tool := testTool(fmt.Sprintf("tool_%d", i))
						if rules == "rules" {
							tool.Meta = json.RawMessage(`{"tier":"pro","team":"sales"}`)
							tool.Visible = `claims.app_metadata.tier == tool.meta.tier`
							tool.Allow = &surfaces.Allow{Rule: `tool.meta.team in claims.app_metadata.teams`}
						}
						c.Tools = append(c.Tools, tool)
					}
				})
				bundle.admitAs(ep, oauth.ModeDirect, "alice", `{"sub":"alice","aal":"aal1","amr":[{"method":"password","timestamp":1}],"app_metadata":{"tier":"pro","teams":["support","sales"]}}`)
				serveMany(b, bundle.handler, q)
			})
		}
	}
}

// BenchmarkBareSDK is the SDK alone with a tool that does nothing.
func BenchmarkBareSDK(b *testing.B) {
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	for _, name := range []string{"zebra_list", "customers_list"} {
		spec := testTool(name)
		server.AddTool(wireTool(&spec), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "{}"}}, StructuredContent: json.RawMessage(`{}`)}, nil
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true})
	for name, q := range benchmarked() {
		b.Run(name, func(b *testing.B) { serveMany(b, handler, q) })
	}
}

func benchmarked() map[string]request {
	return map[string]request{
		"call":        modern("tools/call", "customers_list", `"name":"customers_list","arguments":{"name":"x","limit":5}`),
		"call-legacy": legacy("2025-11-25", "tools/call", `{"name":"customers_list","arguments":{"name":"x","limit":5}}`),
		"list":        modern("tools/list", "", ""),
	}
}

func setupBench(b *testing.B) *bundle {
	b.Helper()
	bundle := setup(b)
	bundle.caller(bundle.surface("acme", nil), "alice", "alice")
	return bundle
}

func serveMany(b *testing.B, handler http.Handler, q request) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "http://"+testHost+"/acme/mcp", strings.NewReader(q.body))
		for name, value := range q.header {
			r.Header.Set(name, value)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer alice")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatalf("status %d: %s", w.Code, w.Body)
		}
	}
}
