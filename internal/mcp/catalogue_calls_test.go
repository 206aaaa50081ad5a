package mcp

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// A customer, a note and a team as the Data API answers them.
const (
	oneCustomer = `{"id":"1","name":"Ada","status":"lead","balance":"12.50","home":{"street":"Rua","city":null},"tags":["new"],"settings":{"a":1},` +
		`"updated_at":"2026-01-31T12:00:00+00:00","created_at":"2026-01-31T12:00:00+00:00","notes":[{"id":"7","body":"x","author_id":null}]}`
	oneNote = `{"id":"7","customer_id":"1","body":"x"}`
	oneTeam = `{"id":1,"name":"A","parent":null}`
)

// catalogueProject answers every call of the catalogue's surface.
func catalogueProject() *scripted {
	rows := map[string]string{"customers": oneCustomer, "notes": oneNote, "teams": oneTeam}
	return &scripted{
		onSelect: func(q supabase.Select) (string, error) {
			if q.Single {
				return rows[q.Relation], nil
			}
			return "[" + rows[q.Relation] + "]", nil
		},
		onCall: func(q supabase.Call) (string, error) {
			body, known := map[string]string{
				"greet": `"Hello, Ada"`, "ids": `[1,2]`, "pair": `{"x":1,"y":"y"}`, "summary": `[]`, "payload": `[1,"x"]`, "anything": `[{"f1":1}]`, "touch": ``,
			}[q.Function]
			if !known {
				return "", errors.New("no function " + q.Function)
			}
			return body, nil
		},
		onChange: func(c change) (supabase.Answer, error) {
			body := rows[c.insert.Relation+c.change.Relation]
			if c.change.Max > 1 {
				body = "[" + body + "]"
			}
			return supabase.Answer{Status: http.StatusOK, Body: []byte(body), Bounded: true, Affected: 1}, nil
		},
	}
}

// TestField64_EveryResultIsAnObjectThatItsSchemaDescribes: rows are wrapped,
// and so are values; a tool has an output schema exactly where its results have
// structure; an error has none.
func TestField64_EveryResultIsAnObjectThatItsSchemaDescribes(t *testing.T) {
	t.Parallel()
	b := catalogueBundle(t, newTestRunner(t, catalogueProject()))
	promised := map[string]json.RawMessage{}
	for _, raw := range profiles[0].ask(t, b).Tools {
		var tool listed
		if err := json.Unmarshal(raw, &tool); err != nil {
			t.Fatal(err)
		}
		promised[tool.Name] = tool.OutputSchema
	}
	for _, c := range []struct{ tool, arguments, structured string }{
		{"customers_list", `{}`, `{"items":[{"id":"1",`}, {"customers_get", `{"id":"1"}`, `{"id":"1",`},
		{"customers_create", `{"name":"Ada"}`, `{"id":"1",`},
		{"customers_update", `{"id":"1","updated_at":"2026-01-31T12:00:00Z","patch":{"name":"Ada"}}`, `{"id":"1",`},
		{"customers_delete", `{"id":"1","updated_at":"2026-01-31T12:00:00Z"}`, `{"id":"1",`},
		{"notes_update", `{"customer_id":"1","patch":{"body":"y"}}`, `{"affected":1,"items":[{"id":"7",`},
		{"notes_delete", `{"customer_id":"1"}`, `{"affected":1,"items":[{"id":"7",`},
		{"teams_list", `{}`, ``},
		{"greet", `{"name":"Ada"}`, `{"result":"Hello, Ada"}`}, {"ids", `{}`, `{"items":[1,2]}`}, {"pair", `{"a":1}`, `{"x":1,"y":"y"}`},
		{"summary", `{}`, `{"items":[]}`}, {"payload", `{"body":1}`, `{"result":[1,"x"]}`}, {"anything", `{}`, `{"items":[{"f1":1}]}`}, {"touch", `{"id":"1"}`, `{"ok":true}`},
	} {
		for _, version := range versions() {
			q := modern("tools/call", c.tool, `"name":"`+c.tool+`","arguments":`+c.arguments)
			if version < version20260728 {
				q = legacy(version, "tools/call", `{"name":"`+c.tool+`","arguments":`+c.arguments+`}`)
			}
			body := bodyOf(t, b.send(q.as("alice")))
			var answer struct {
				Result struct {
					Structured json.RawMessage `json:"structuredContent"`
					IsError    bool            `json:"isError"`
				} `json:"result"`
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Result.IsError {
				t.Errorf("%s at %s: %v, %s", c.tool, version, err, body)
				continue
			}
			got, schema := answer.Result.Structured, promised[c.tool]
			if (len(got) == 0) != (len(schema) == 0) || !strings.HasPrefix(string(got), c.structured) || (c.structured == "") != (len(got) == 0) {
				t.Errorf("%s at %s: %s", c.tool, version, body)
			}
			if len(schema) > 0 {
				if err := matches(t, schema, got); err != nil {
					t.Errorf("%s at %s: %v", c.tool, version, err)
				}
			}
		}
	}
	failed := catalogueBundle(t, newTestRunner(t, failing(&supabase.Error{Status: http.StatusForbidden, Code: "42501"})))
	for _, tool := range []string{"customers_list", "ids", "summary"} {
		body := bodyOf(t, failed.send(modern("tools/call", tool, `"name":"`+tool+`","arguments":{}`).as("alice")))
		if !strings.Contains(body, `"isError":true`) || strings.Contains(body, "structuredContent") {
			t.Errorf("%s: %s", tool, body)
		}
	}
}
