package mcp

import (
	"errors"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestACreatesKeyIsOfItsCallerToolAndRow: whatever tells two callers, tools or
// rows apart makes another key, so that nobody's create is answered by the row
// of somebody else.
func TestACreatesKeyIsOfItsCallerToolAndRow(t *testing.T) {
	t.Parallel()
	c := runCall()
	c.caller.Key = oauth.CallerKey{Surface: c.endpoint.Surface, Mode: oauth.ModeBridge, Issuer: "https://one.example.test", Subject: "alice", Client: "client"}
	const row = `{"name":"Ada","status":"open"}`
	digest := func(edit func(c *call, tool *surfaces.Tool, row *string)) string {
		of, caller, tool, text := *c, *c.caller, dedupeTool(), row
		of.caller = &caller
		if edit != nil {
			edit(&of, tool, &text)
		}
		tc := &toolCall{asker: asker{call: &of}, tool: tool}
		return string(tc.createDigest(tool.Create, token(text)))
	}
	same := digest(nil)
	seen := map[string]string{same: "the same"}
	for what, edit := range map[string]func(c *call, tool *surfaces.Tool, row *string){
		"surface": func(c *call, _ *surfaces.Tool, _ *string) { c.caller.Key.Surface = newSurfaceID() },
		"mode":    func(c *call, _ *surfaces.Tool, _ *string) { c.caller.Key.Mode = oauth.ModeBearer },
		"issuer":  func(c *call, _ *surfaces.Tool, _ *string) { c.caller.Key.Issuer = "https://two.example.test" },
		"subject": func(c *call, _ *surfaces.Tool, _ *string) { c.caller.Key.Subject = "bob" },
		"client":  func(c *call, _ *surfaces.Tool, _ *string) { c.caller.Key.Client = "another" },
		"no client, and a subject that runs into it": func(c *call, _ *surfaces.Tool, _ *string) {
			c.caller.Key.Subject, c.caller.Key.Client = "aliceclient", ""
		},
		"tool":     func(_ *call, tool *surfaces.Tool, _ *string) { tool.Name = "leads_create" },
		"value":    func(_ *call, _ *surfaces.Tool, row *string) { *row = `{"name":"ada","status":"open"}` },
		"type":     func(_ *call, _ *surfaces.Tool, row *string) { *row = `{"name":"Ada","status":null}` },
		"left out": func(_ *call, _ *surfaces.Tool, row *string) { *row = `{"name":"Ada"}` },
		"names":    func(_ *call, _ *surfaces.Tool, row *string) { *row = `{"name":"open","status":"Ada"}` },
	} {
		got := digest(edit)
		if other, taken := seen[got]; taken {
			t.Errorf("another %s has the key of %s", what, other)
		}
		seen[got] = what
	}
	for _, alike := range []string{`{"status":"open","name":"Ada"}`, `{ "name" : "\u0041da", "status":"open" }`} {
		if digest(func(_ *call, _ *surfaces.Tool, row *string) { *row = alike }) != same {
			t.Errorf("%s is another row", alike)
		}
	}
}

// TestAnotherUniqueKeyIsNotThatOfDedupe: a row that could not be created is
// never said to be, though its key has the name of dedupe's within its own.
func TestAnotherUniqueKeyIsNotThatOfDedupe(t *testing.T) {
	t.Parallel()
	for constraint, made := range map[string]bool{
		"customers_request_id_key": true, "customers_request_id_key1": false, "old_customers_request_id_key": false, "customers_name_key": false, "": false,
	} {
		p := ending(supabase.Answer{}, &supabase.Error{Status: 409, Code: "23505", Message: `duplicate key value violates unique constraint "` + constraint + `"`})
		p.onSelect = func(supabase.Select) (string, error) {
			return "", &supabase.Error{Status: 406, Code: codeNotSingular, Rows: 0}
		}
		got := runTool(t, newTestRunner(t, p).withCreates(&memoryCreates{}), runCall(), dedupeTool(), `{"name":"Ada"}`)
		if made != (got.text == madeText) || !made && got.kind() != "conflict" {
			t.Errorf("%q: %s", constraint, got.text)
		}
	}
	// Where it cannot be looked for, nothing is said that is not known.
	p := ending(supabase.Answer{}, &supabase.Error{Status: 409, Code: "23505", Message: `duplicate key value violates unique constraint "customers_name_key"`})
	p.onSelect = func(supabase.Select) (string, error) { return "", errors.New("away") }
	if got := runTool(t, newTestRunner(t, p).withCreates(&memoryCreates{}), runCall(), dedupeTool(), `{"name":"Ada"}`); got.kind() != "conflict" || strings.Contains(got.text, "lready created") {
		t.Errorf("%s", got.text)
	}
}

func TestARepeatedCreateThatReadsNothingIsOkAgain(t *testing.T) {
	t.Parallel()
	tool := dedupeTool()
	tool.Create.Columns, tool.Create.Key = nil, nil
	p := ending(supabase.Answer{}, &supabase.Error{Status: 409, Code: "23505", Message: `duplicate key value violates unique constraint "customers_request_id_key"`})
	p.onSelect = func(q supabase.Select) (string, error) {
		if len(q.Columns) != 1 || !q.Single || q.Where[0].Column != "request_id" {
			t.Errorf("looked with %+v", q)
		}
		return `{"request_id":"a11ce000-0000-4000-8000-000000000001"}`, nil
	}
	if got := runTool(t, newTestRunner(t, p).withCreates(&memoryCreates{}), runCall(), tool, `{"name":"Ada"}`); got.text != madeText || string(got.structured) != `{"ok":true}` {
		t.Errorf("%s %s", got.text, got.structured)
	}
}
