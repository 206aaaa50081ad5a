package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestAuthoredSchemasAreShownFrom20251125On, byte for byte, and check the calls
// of every client.
func TestAuthoredSchemasAreShownFrom20251125On(t *testing.T) {
	t.Parallel()
	const schema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"month":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}$"}},` +
		`"properties":{"until":{"$ref":"#/$defs/month"},"from":{"$ref":"#/$defs/month"}},"dependentRequired":{"until":["from"]},"unevaluatedProperties":false}`
	b := setup(t)
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		tool := testTool("report")
		tool.Input, tool.Output = json.RawMessage(schema), nil
		tool.Function = &surfaces.FunctionPlan{Slug: "report", Timeout: 30, Authored: true}
		c.Tools = []surfaces.Tool{tool}
	}), "alice", "alice")
	for _, version := range versions() {
		list, call := legacy(version, "tools/list", `{}`), func(arguments string) request {
			return legacy(version, "tools/call", `{"name":"report","arguments":`+arguments+`}`)
		}
		if version == version20260728 {
			list, call = modern("tools/list", "", ""), func(arguments string) request {
				return modern("tools/call", "report", `"name":"report","arguments":`+arguments)
			}
		}
		want := `"inputSchema":` + schema
		if version < version20251125 {
			want = `"inputSchema":{"type":"object"}`
		}
		if body := bodyOf(t, b.send(list.as("alice"))); strings.Count(body, want+",") != 1 && strings.Count(body, want+"}") != 1 {
			t.Errorf("%s: %s", version, body)
		}
		ran := b.runner.count()
		for _, arguments := range []string{`{"from":"May"}`, `{"until":"2026-11"}`, `{"from":"2026-11","more":1}`} {
			if body := bodyOf(t, b.send(call(arguments).as("alice"))); !strings.Contains(body, `"isError":true`) || !strings.Contains(body, `\"kind\":\"invalid\"`) {
				t.Errorf("%s: %s is taken: %s", version, arguments, body)
			}
		}
		if b.runner.count() != ran {
			t.Errorf("%s: a call that does not fit was made", version)
		}
		if res := b.send(call(`{"from":"2026-10","until":"2026-11"}`).as("alice")); res.StatusCode != http.StatusOK || b.runner.count() != ran+1 {
			t.Errorf("%s: one that fits was not", version)
		}
	}
}
