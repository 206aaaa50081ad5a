package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestField76_ListsTellNothingFromForbidden: rows that are not there are an
// empty list, a table without a grant is an error, and an empty set of allowed
// values finds nothing with any operator that takes one.
func TestField76_ListsTellNothingFromForbidden(t *testing.T) {
	t.Parallel()
	r := newTestRunner(t, answering(`[]`))
	for _, form := range []surfaces.ResultForm{surfaces.ResultHybrid, surfaces.ResultStructured} {
		tool := listTool()
		tool.Result = form
		if got := runTool(t, r, runCall(), tool, `{}`); got.isError || !strings.HasPrefix(string(got.structured), `{"items":[],"has_more":false`) {
			t.Errorf("%s: %s", form, got.structured)
		}
	}
	forbidden := failing(&supabase.Error{Status: 403, Code: "42501", Message: "permission denied for table customers"})
	got := runTool(t, newTestRunner(t, forbidden), runCall(), listTool(), `{}`)
	if got.kind() != "forbidden" || strings.Contains(got.text, "customers") {
		t.Errorf("without a grant: %s", got.text)
	}
	p := answering(`[]`)
	runTool(t, newTestRunner(t, p), runCall(), containmentTool(), `{"status_in":[],"tags_ov":[],"tags_cd":[]}`)
	for _, c := range p.selects[0].Where {
		if c.Values == nil || len(c.Values) != 0 {
			t.Errorf("an empty list became %+v", c)
		}
	}
	if len(p.selects[0].Where) != 3 {
		t.Errorf("conditions %+v", p.selects[0].Where)
	}
}

// TestField68_NextCallIsExactAndCallable: what a page says comes next is, byte
// for byte, a call of the same tool that its schema and the edge take as it is.
func TestField68_NextCallIsExactAndCallable(t *testing.T) {
	t.Parallel()
	p := answering(threeRows)
	b := setupOver(t, newTestRunner(t, p))
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		list := searchTool(surfaces.SearchContains, "", nameColumn)
		list.Name = "customers_list"
		list.Input = []byte(`{"type":"object","additionalProperties":false,"properties":{"status":{"type":"string"},"status_in":{"type":"array","items":{"type":"string"}},
			"id_gt":{"anyOf":[{"type":"integer"},{"type":"string"}]},"search":{"type":"string"},"order":{"enum":["id","name"]},"limit":{"type":"integer"},"cursor":{"type":"string","maxLength":512}}}`)
		c.Tools = []surfaces.Tool{*list}
	}), "alice", "alice")
	given := `{"status":"\u00e4\u2028<b>","status_in":["a\"b","\\"],"id_gt":9007199254740993,"search":"x y","order":"name","limit":"2"}`
	kept := []string{`"status":"\u00e4\u2028<b>"`, `"status_in":["a\"b","\\"]`, `"id_gt":9007199254740993`, `"search":"x y"`, `"order":"name"`, `"limit":2`}
	var before string
	for page := range 3 {
		body := bodyOf(t, b.send(modern("tools/call", "customers_list", `"name":"customers_list","arguments":`+given).as("alice")))
		next, name := nextCallOf(t, body)
		if name != "customers_list" || next == before {
			t.Fatalf("page %d: %s %s", page, name, next)
		}
		// The SDK escapes on the way out what need not be.
		unescaped := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(next)
		for _, part := range kept {
			if !strings.Contains(unescaped, part) {
				t.Errorf("page %d lost %s: %s", page, part, next)
			}
		}
		before, given = next, next
	}
	first, last := p.selects[0], p.selects[2]
	if len(p.selects) != 3 || len(last.Where) != len(first.Where)+1 || fmt.Sprint(last.Where[:len(first.Where)]) != fmt.Sprint(first.Where) || last.Limit != first.Limit {
		t.Errorf("asked\n%+v\n%+v", first, last)
	}
}

// nextCallOf is next_call of a tool's answer.
func nextCallOf(t *testing.T, body string) (arguments, name string) {
	t.Helper()
	at := strings.Index(body, `{"jsonrpc"`)
	if at < 0 {
		t.Fatalf("body %s", body)
	}
	var answer struct {
		Result struct {
			StructuredContent struct {
				NextCall *struct {
					Name      string          `json:"name"`
					Arguments json.RawMessage `json:"arguments"`
				} `json:"next_call"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.NewDecoder(strings.NewReader(body[at:])).Decode(&answer); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if answer.Result.StructuredContent.NextCall == nil {
		t.Fatalf("no next_call in %s", body)
	}
	return string(answer.Result.StructuredContent.NextCall.Arguments), answer.Result.StructuredContent.NextCall.Name
}

// TestGuidanceCountsInTheBudgetAndChangesNoStructure: for every budget the
// bytes sent stay within it, guidance included, and the structure is that of
// the page without.
func TestGuidanceCountsInTheBudgetAndChangesNoStructure(t *testing.T) {
	t.Parallel()
	for _, form := range []surfaces.ResultForm{surfaces.ResultHybrid, surfaces.ResultStructured, surfaces.ResultText} {
		for budget := 1024; budget <= 8<<10; budget += 512 {
			plain, guided := listTool(), listTool()
			for _, tool := range []*surfaces.Tool{plain, guided} {
				tool.Result, tool.Budget, tool.Template = form, budget, "{{#items}}{{id}} {{name}}\n{{/items}}"
			}
			guided.Guidance = surfaces.Guidance{Before: strings.Repeat("Before <all>. ", 12), After: strings.Repeat("After\nall. ", 12)}
			with := runTool(t, newTestRunner(t, answering(rowsOf(21, 30))), runCall(), guided, `{}`)
			if with.isError || sent(t, with) > budget {
				t.Errorf("%s %d: %d bytes: %.80s", form, budget, sent(t, with), with.text)
				continue
			}
			if form != surfaces.ResultStructured && (!strings.HasPrefix(with.text, guided.Guidance.Before) || !strings.HasSuffix(with.text, guided.Guidance.After)) {
				t.Errorf("%s %d: guidance is not around the text", form, budget)
			}
			if form == surfaces.ResultText {
				continue
			}
			l := with.list(t)
			plain.Budget = 64 << 10
			same := runTool(t, newTestRunner(t, answering(rowsOf(21, 30))), runCall(), plain, fmt.Sprintf(`{"limit":%d}`, max(len(l.Items), 1))).list(t)
			if fmt.Sprint(l.Items) != fmt.Sprint(same.Items) {
				t.Errorf("%s %d: guidance changed the rows", form, budget)
			}
		}
	}
}

// TestField99_HybridTextIsTheStructuredPage: every cell of the text is the value
// of the structure, row for row, whatever the values are.
func TestField99_HybridTextIsTheStructuredPage(t *testing.T) {
	t.Parallel()
	tool := listTool()
	tool.List.Columns = []surfaces.Column{idColumn, nameColumn, {Name: "j", SQLType: "jsonb", JSON: surfaces.JSONAny}, {Name: "f", SQLType: "float8", JSON: surfaces.JSONNumber}}
	rows := `[{"id":"1","name":"a\tb\n\\\"c\"","j":{"k\t":[1, null, "x\ty"]},"f":1e-07},{"id":"2","name":null,"j":null,"f":"NaN"},
		{"id":"3","name":"null","j":"null","f":null},{"id":"4","name":"","j":[],"f":-0},{"id":"5","name":"\"","j":false,"f":9007199254740993}]`
	got := runTool(t, newTestRunner(t, answering(rows)), runCall(), tool, `{}`)
	var l struct {
		Items []struct {
			ID, Name, J, F json.RawMessage
		}
	}
	if err := json.Unmarshal(got.structured, &l); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got.text, "\n")
	if len(lines) != len(l.Items)+2 || lines[0] != "id\tname\tj\tf" {
		t.Fatalf("text\n%s", got.text)
	}
	for i, item := range l.Items {
		cells := strings.Split(lines[i+1], "\t")
		for j, value := range []json.RawMessage{item.ID, item.Name, item.J, item.F} {
			if back := valueOfCell(cells[j]); back != plainText(t, value) {
				t.Errorf("row %d, cell %d: %q is not %s", i, j, cells[j], value)
			}
		}
	}
}

// valueOfCell reads a cell as its syntax says; NULL stands for null.
func valueOfCell(cell string) string {
	if cell == "null" {
		return "NULL"
	}
	if len(cell) > 1 && cell[0] == '"' && cell[len(cell)-1] == '"' {
		cell = cell[1 : len(cell)-1]
	}
	return strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n").Replace(cell)
}

func plainText(t *testing.T, value json.RawMessage) string {
	t.Helper()
	switch {
	case string(value) == "null":
		return "NULL"
	case value[0] == '"':
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	return string(value)
}

// TestField68_AShortenedCellSaysItsTrueLength in bytes, whatever it is cut
// from, and stays text that can be read.
func TestField68_AShortenedCellSaysItsTrueLength(t *testing.T) {
	t.Parallel()
	for _, value := range []string{strings.Repeat("x", 700), strings.Repeat("😀", 300), strings.Repeat("\"\n\\", 400), "a" + strings.Repeat("ä", 999)} {
		tool := listTool()
		tool.List.Columns = []surfaces.Column{idColumn, {Name: "name", SQLType: "text", JSON: surfaces.JSONString, Shorten: true}}
		encoded := appendString(nil, value)
		got := runTool(t, newTestRunner(t, answering(`[{"id":"1","name":`+string(encoded)+`}]`)), runCall(), tool, `{}`)
		name := got.list(t).Items[0]["name"].(string)
		kept, note, _ := strings.Cut(name, "…(")
		if note != fmt.Sprintf("%d bytes, use customers_get)", len(value)) || !strings.HasPrefix(value, kept) || kept == "" || len(kept) > shortenTo(tool.Budget) {
			t.Errorf("%d bytes became %q", len(value), name)
		}
	}
}

// TestEveryToolErrorNamesTheRequest: trace_id is the Chumbo-Request-Id of the
// answer, wherever the call stopped, and an error has no structure.
func TestEveryToolErrorNamesTheRequest(t *testing.T) {
	t.Parallel()
	p := failing(&supabase.Error{Status: 403, Code: "42501"})
	b := setupOver(t, newTestRunner(t, p))
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		list, get, ruled, scoped := *listTool(), *getTool(), *listTool(), *listTool()
		ruled.Name, ruled.Allow = "ruled_list", &surfaces.Allow{Rule: "false"}
		scoped.Name, scoped.AAL = "assured_list", surfaces.AAL2
		for _, tool := range []*surfaces.Tool{&list, &get, &ruled, &scoped} {
			tool.Input = json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"limit":{"type":"integer"},"cursor":{"type":"string"}},"additionalProperties":false}`)
		}
		list.Output = json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","items":{}}}}`)
		c.Tools = []surfaces.Tool{list, get, ruled, scoped}
	}), "alice", "alice")
	ids := map[string]bool{}
	for _, test := range []struct{ tool, arguments, kind string }{
		{"customers_list", `{}`, "forbidden"}, {"customers_list", `{"nope":1}`, "invalid"}, {"customers_list", `{"limit":0}`, "invalid"},
		{"customers_list", `{"cursor":"AAAA"}`, "invalid_cursor"}, {"customers_get", `{"id":"1"}`, "forbidden"}, {"ruled_list", `{}`, "forbidden"}, {"assured_list", `{}`, "forbidden"},
	} {
		for _, req := range []request{
			modern("tools/call", test.tool, `"name":"`+test.tool+`","arguments":`+test.arguments),
			legacy("2025-06-18", "tools/call", `{"name":"`+test.tool+`","arguments":`+test.arguments+`}`),
		} {
			res := b.send(req.as("alice"))
			id, body := res.Header.Get("Chumbo-Request-Id"), bodyOf(t, res)
			if id == "" || ids[id] || !strings.Contains(body, `\"trace_id\":\"`+id+`\"`) || !strings.Contains(body, `\"kind\":\"`+test.kind+`\"`) {
				t.Errorf("%s %s: request %s, body %s", test.tool, test.arguments, id, body)
			}
			if !strings.Contains(body, `"isError":true`) || strings.Contains(body, "structuredContent") {
				t.Errorf("%s %s: %s", test.tool, test.arguments, body)
			}
			ids[id] = true
		}
	}
}

// TestField104_WhatRunsIsWhatWasValidated: arguments that do not fit stop before
// rules, authorizers and the project, healed or not, on tools of every kind.
func TestField104_WhatRunsIsWhatWasValidated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Policy.Authorizer = &surfaces.Function{Relation: surfaces.Relation{Name: "authorizer"}, Argument: "checks"}
		for i := range c.Tools {
			c.Tools[i].Permission = "p"
		}
		c.Tools[0].Input = []byte(`{"type":"object","anyOf":[{"required":["a"]}]}`)
	}), "alice", "alice")
	b.runner.answer = func(context.Context, *call, *surfaces.Function, []byte) ([]byte, error) {
		t.Error("the authorizer was asked")
		return []byte(`[{"allowed":true}]`), nil
	}
	b.runner.do(func(context.Context, *call, *surfaces.Tool, []byte) (*mcp.CallToolResult, error) {
		t.Error("the tool ran")
		return &mcp.CallToolResult{}, nil
	})
	for _, test := range []struct{ tool, arguments string }{
		{"zebra_list", `{"b":"x"}`}, {"zebra_list", `{"b":"{\"a\":1}"}`}, {"customers_list", `{"limit":"x"}`}, {"customers_list", `{"limit":"[5]"}`},
		{"customers_list", `{"limit":"101"}`}, {"customers_list", `{"limit":5,"Limit":5}`}, {"customers_list", `{"name":5}`}, {"customers_list", `{"when":"yesterday"}`},
	} {
		body := bodyOf(t, b.send(modern("tools/call", test.tool, `"name":"`+test.tool+`","arguments":`+test.arguments).as("alice")))
		if !strings.Contains(body, `\"kind\":\"invalid\"`) || !strings.Contains(body, `\"issues\"`) {
			t.Errorf("%s: %s", test.arguments, body)
		}
	}
	if slices.Contains(b.runner.asked, "authorizer") {
		t.Error("the authorizer was asked")
	}
}
