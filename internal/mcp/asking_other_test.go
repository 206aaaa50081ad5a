package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// askingRunner asks for prompts and resources, until a round brings answers.
type askingRunner struct {
	*scriptedRunner
	asks string
	got  []string
}

func (r *askingRunner) read(_ context.Context, c *call, _ *surfaces.Resource, uri string, _ []byte) (*mcp.ReadResourceResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, uri+" "+string(c.round.answers)+" "+c.round.kept)
	if c.round.answers == nil {
		return &mcp.ReadResourceResult{InputRequests: r.requests(), RequestState: "kept"}, nil
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "done"}}}, nil
}

func (r *askingRunner) prompt(_ context.Context, c *call, _ *surfaces.Prompt, arguments []byte) (*mcp.GetPromptResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, string(arguments)+" "+string(c.round.answers)+" "+c.round.kept)
	if c.round.answers == nil {
		return &mcp.GetPromptResult{InputRequests: r.requests(), RequestState: "kept"}, nil
	}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "done"}}}}, nil
}

func (r *askingRunner) requests() (m mcp.InputRequestMap) {
	_ = json.Unmarshal([]byte("{"+r.asks+"}"), &m)
	return m
}

func TestPromptsAndResourcesAskToo(t *testing.T) {
	t.Parallel()
	run := &askingRunner{scriptedRunner: &scriptedRunner{}, asks: asksName}
	b := &askingBundle{bundle: setupOver(t, run), once: &memoryApprovals{used: map[string]bool{}}}
	b.handler.revisions.asking.once = b.once
	function := &surfaces.FunctionPlan{Slug: "ask", Timeout: 10, Asks: true}
	b.ep = b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Prompts = []surfaces.Prompt{{
			Name: "review", Title: "Review", Budget: 1000, Function: function,
			Arguments: []surfaces.PromptArgument{{Name: "week", Type: surfaces.JSONString, Schema: json.RawMessage(`{"type":"string"}`)}},
		}}
		c.Resources = []surfaces.Resource{{URI: "acme://report", Name: "report", Title: "Report", Budget: 1000, Function: function}, {URI: "acme://other", Name: "other", Title: "Other", Budget: 1000, Function: function}}
	})
	for _, who := range []string{"alice", "bob"} {
		b.caller(b.ep, who, who)
	}
	send := func(who, method, name, params, client, more string) heard {
		q := modern(method, name, params+more)
		q.body = strings.Replace(q.body, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":`+client, 1)
		return b.read(q.as(who))
	}
	const named = `,"inputResponses":{"name":{"action":"accept","content":{"name":"Alice"}}},`
	for _, try := range []struct{ method, name, params, otherName, otherParams, ran string }{
		{"prompts/get", "review", `"name":"review","arguments":{"week":"48"}`, "review", `"name":"review","arguments":{"week":"49"}`, `{"week":"48"} {"name":{"action":"accept","content":{"name":"Alice"}}} kept`},
		{"resources/read", "acme://report", `"uri":"acme://report"`, "acme://other", `"uri":"acme://other"`, `acme://report {"name":{"action":"accept","content":{"name":"Alice"}}} kept`},
	} {
		ask := func() string { return send("alice", try.method, try.name, try.params, formClient, "").input(t, "name") }
		for what, got := range map[string]heard{
			"Bob":             send("bob", try.method, try.name, try.params, formClient, named+ask()),
			"another":         send("alice", try.method, try.otherName, try.otherParams, formClient, named+ask()),
			"a state made up": send("alice", try.method, try.name, try.params, formClient, named+`"requestState":"AAAA"`),
		} {
			if !got.stale() {
				t.Errorf("%s, %s: %s", try.method, what, got.body)
			}
		}
		for what, got := range map[string]heard{
			"no capability": send("alice", try.method, try.name, try.params, `{}`, ""),
			"answers that were not asked for": func() heard {
				got := send("alice", try.method, try.name, try.params, formClient, strings.TrimSuffix(named, ","))
				got.input(t, "name")
				return send("alice", try.method, try.name, try.params, `{"sampling":{}}`, "")
			}(),
		} {
			if got.Error == nil || got.Error.Code != mcp.CodeMissingRequiredClientCapabilities || got.status != 400 {
				t.Errorf("%s, %s: %s", try.method, what, got.body)
			}
		}
		if got := send("alice", try.method, try.name, try.params, formClient, ","+ask()); got.input(t, "name") == "" {
			t.Errorf("%s without an answer: %s", try.method, got.body)
		}
		state := ask()
		got := send("alice", try.method, try.name, try.params, formClient, named+state)
		if got.Result == nil || got.Result.ResultType != "complete" || !strings.Contains(got.body, `"done"`) || run.got[len(run.got)-1] != try.ran {
			t.Errorf("%s: %s, got %v", try.method, got.body, run.got)
		}
		ran := len(run.got)
		if again := send("alice", try.method, try.name, try.params, formClient, named+state); !again.stale() || len(run.got) != ran {
			t.Errorf("%s, replayed: %s", try.method, again.body)
		}
		old := b.read(legacy(version20251125, try.method, `{`+try.params+`}`).as("alice"))
		if old.Error == nil || old.Error.Data.Kind != kindNeedsPerson || strings.Contains(old.body, "kept") {
			t.Errorf("%s of before: %s", try.method, old.body)
		}
	}
}
