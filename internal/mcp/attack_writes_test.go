package mcp

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestALongRefusalIsComparedWithLittle: callers can make the database's message
// and a list both as long as a body.
func TestALongRefusalIsComparedWithLittle(t *testing.T) {
	t.Parallel()
	tool := createTool()
	tool.Create.Values = writes(surfaces.Column{Name: "times", SQLType: "timestamptz[]", JSON: surfaces.JSONArray})
	long := strings.Repeat("x", maxCompared)
	call := &toolCall{tool: tool, arguments: arguments{{name: "times", value: token(`["` + long + `"` + strings.Repeat(`,"a"`, 200_000) + `]`)}}}
	if n := len(call.typedArguments()[0].values); n != maxComparedValues+1 {
		t.Errorf("%d values are compared", n)
	}
	told := badValue(call, `invalid input syntax for type timestamp with time zone: "`+long+`"`)
	if told.kind != "invalid" || len(told.issues) != 1 || told.issues[0].Path != "/times" {
		t.Errorf("%+v", told)
	}
}

// TestAnotherConstraintIsNotTakenForDedupes: nothing was created, and the caller
// must not be told that it was.
func TestAnotherConstraintIsNotTakenForDedupes(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]bool{"customers_request_id_key": true, "old_customers_request_id_key": false, "customers_request_id_key1": false} {
		p := ending(supabase.Answer{}, &supabase.Error{Status: 409, Code: "23505", Message: `duplicate key value violates unique constraint "` + name + `"`})
		p.onSelect = func(supabase.Select) (string, error) {
			return "", &supabase.Error{Status: 406, Code: codeNotSingular}
		}
		got := runTool(t, newTestRunner(t, p).withCreates(&memoryCreates{}), runCall(), dedupeTool(), `{"name":"Ada"}`)
		if got.isError == made || strings.Contains(got.text, madeText) != made {
			t.Errorf("%s: %s", name, got.text)
		}
	}
}

// TestAStarChoosesNoRowsToChange: the Data API takes it for any character.
func TestAStarChoosesNoRowsToChange(t *testing.T) {
	t.Parallel()
	p := ending(supabase.Answer{Status: 200, Body: []byte("[]")}, nil)
	for _, text := range []string{"*", "a*", "***"} {
		got := runTool(t, newTestRunner(t, p), runCall(), manyTool(), `{"name_ilike":"`+text+`","patch":{"name":"Ada"}}`)
		if got.kind() != "invalid" || !strings.Contains(got.text, `"path":"/name_ilike"`) || len(p.changes) != 0 {
			t.Errorf("%s: %s", text, got.text)
		}
	}
	if got := runTool(t, newTestRunner(t, p), runCall(), manyTool(), `{"name_ilike":"a%_\\","status":"*","patch":{"name":"Ada"}}`); got.isError || len(p.changes) != 1 {
		t.Errorf("what can be looked for: %s", got.text)
	}
}

// TestAFunctionThatRanIsNotTakenForOneThatDidNot, because its answer has another
// form than it had.
func TestAFunctionThatRanIsNotTakenForOneThatDidNot(t *testing.T) {
	t.Parallel()
	for _, reads := range []bool{false, true} {
		tool := volatileTool()
		tool.RPC.ReadOnly, tool.RPC.Returns = reads, surfaces.Returns{Kind: surfaces.ReturnsRow, Columns: []surfaces.Column{idColumn, nameColumn}}
		for _, body := range []string{`[]`, `{"id":"1"}`, `7`, `{`} {
			p := answering(body)
			got := runTool(t, newTestRunner(t, p), runCall(), tool, `{}`)
			if got.kind() != kindOutOfDate || strings.Contains(got.text, "its effects stand") == reads {
				t.Errorf("reads only %t, %s: %s", reads, body, got.text)
			}
		}
	}
}
