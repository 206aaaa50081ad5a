package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func searchTool(mode, config string, columns ...surfaces.Column) *surfaces.Tool {
	tool := listTool()
	tool.List.Search = &surfaces.Search{Argument: "search", Columns: columns, Mode: mode, Config: config}
	return tool
}

func TestASearchIsAConditionOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tool *surfaces.Tool
		want supabase.Condition
	}{
		{searchTool(surfaces.SearchContains, "", nameColumn, statusColumn), supabase.Condition{Or: []supabase.Condition{
			{Column: "name", Operator: "ilike", Value: `%50\%\_off_),x.eq."1%`}, {Column: "status", Operator: "ilike", Value: `%50\%\_off_),x.eq."1%`}}}},
		{searchTool(surfaces.SearchContains, "", nameColumn), supabase.Condition{Column: "name", Operator: "ilike", Value: `%50\%\_off_),x.eq."1%`}},
		{searchTool(surfaces.SearchWeb, "english", nameColumn), supabase.Condition{Column: "name", Operator: "wfts", Config: "english", Value: `50%_off*),x.eq."1`}},
		{searchTool(surfaces.SearchWeb, "", nameColumn, statusColumn), supabase.Condition{Or: []supabase.Condition{
			{Column: "name", Operator: "wfts", Value: `50%_off*),x.eq."1`}, {Column: "status", Operator: "wfts", Value: `50%_off*),x.eq."1`}}}},
	} {
		p := answering(`[]`)
		runTool(t, newTestRunner(t, p), runCall(), test.tool, `{"search":"50%_off*),x.eq.\"1","status":"open"}`)
		if where := p.selects[0].Where; len(where) != 2 || where[0].Value != "open" || fmt.Sprintf("%+v", where[1]) != fmt.Sprintf("%+v", test.want) {
			t.Errorf("%s: %+v", test.tool.List.Search.Mode, where)
		}
		if runTool(t, newTestRunner(t, p), runCall(), test.tool, `{}`); len(p.selects[1].Where) != 0 {
			t.Errorf("without a search: %+v", p.selects[1].Where)
		}
	}
	for _, arguments := range []string{`{"search":""}`, `{"search":" \t\u3000"}`, `{"search":null}`, `{"search":7}`, `{"search":["a"]}`} {
		p := answering(`[]`)
		if got := runTool(t, newTestRunner(t, p), runCall(), searchTool(surfaces.SearchWeb, "", nameColumn), arguments); got.kind() != "invalid" || len(p.selects) != 0 {
			t.Errorf("%s: %s", arguments, got.text)
		}
	}
}

func containmentTool() *surfaces.Tool {
	tool := listTool()
	tags := surfaces.Column{Name: "tags", SQLType: "text[]", JSON: surfaces.JSONArray}
	profile := surfaces.Column{Name: "profile", SQLType: "jsonb", JSON: surfaces.JSONAny}
	for _, op := range []string{"cs", "cd", "ov"} {
		tool.List.Filters = append(tool.List.Filters, surfaces.Filter{Argument: "tags_" + op, Column: tags, Operator: op})
	}
	for _, op := range []string{"cs", "cd"} {
		tool.List.Filters = append(tool.List.Filters, surfaces.Filter{Argument: "profile_" + op, Column: profile, Operator: op})
	}
	tool.List.Filters = append(tool.List.Filters, surfaces.Filter{Argument: "status_isdistinct", Column: statusColumn, Operator: "isdistinct"})
	return tool
}

func TestListsAndJSONBecomeConditions(t *testing.T) {
	t.Parallel()
	p := answering(`[]`)
	runTool(t, newTestRunner(t, p), runCall(), containmentTool(),
		`{"tags_cs":["a\"b,c","back\\slash","{}","NULL",5,true],"tags_cd":[],"tags_ov":["x"],"profile_cs":{"a": [1.10, "x y"]},"profile_cd":"text","status_isdistinct":"open"}`)
	want := []supabase.Condition{
		{Column: "tags", Operator: "cs", Values: []string{`a"b,c`, `back\slash`, `{}`, `NULL`, `5`, `true`}}, {Column: "tags", Operator: "cd", Values: []string{}},
		{Column: "tags", Operator: "ov", Values: []string{"x"}}, {Column: "profile", Operator: "cs", Value: `{"a":[1.10,"x y"]}`},
		{Column: "profile", Operator: "cd", Value: `"text"`}, {Column: "status", Operator: "isdistinct", Value: "open"},
	}
	if got := fmt.Sprintf("%+v", p.selects[0].Where); got != fmt.Sprintf("%+v", want) {
		t.Errorf("conditions\n got %s\nwant %+v", got, want)
	}
	long := `"` + strings.Repeat("x", maxFilterBytes) + `"`
	for _, arguments := range []string{
		`{"tags_cs":"a"}`, `{"tags_cs":null}`, `{"tags_cs":{}}`, `{"tags_cs":[null]}`, `{"tags_cs":[["a"]]}`, `{"tags_ov":[{"a":1}]}`,
		`{"tags_cs":["x"` + strings.Repeat(`,"x"`, maxFilterValues) + `]}`, `{"status_in":["x"` + strings.Repeat(`,"x"`, maxFilterValues) + `]}`,
		`{"tags_cs":["y",` + long + `]}`, `{"profile_cs":[` + long + `]}`, `{"status_isdistinct":null}`, `{"status_isdistinct":["a"]}`,
	} {
		p := answering(`[]`)
		if got := runTool(t, newTestRunner(t, p), runCall(), containmentTool(), arguments); got.kind() != "invalid" || len(p.selects) != 0 {
			t.Errorf("%.60s: %s", arguments, got.text)
		}
	}
}

// TestACursorIsBoundToTheSearchAndEveryFilter: a cursor of one search continues
// no other, and no list of values is taken for another.
func TestACursorIsBoundToTheSearchAndEveryFilter(t *testing.T) {
	t.Parallel()
	p := answering(threeRows)
	r, c := newTestRunner(t, p), runCall()
	make := func(mode, config string, columns ...surfaces.Column) *surfaces.Tool {
		tool := containmentTool()
		tool.List.Search = searchTool(mode, config, columns...).List.Search
		return tool
	}
	given := []string{
		``, `"search":"a"`, `"search":"b"`, `"search":"a","status":"a"`, `"status":"a"`, `"tags_cs":["a"]`, `"tags_cs":["a","b"]`, `"tags_cs":["b","a"]`, `"tags_cs":[]`,
		`"tags_cd":["a"]`, `"tags_ov":["a"]`, `"tags_ov":["a"],"tags_cs":["b"]`, `"profile_cs":["a"]`, `"profile_cs":"a"`, `"profile_cd":"a"`, `"status_isdistinct":"a"`,
		`"status_in":["a","status_isdistinct","status","isdistinct","a"]`, `"status_in":["a"],"status_isdistinct":"a"`,
	}
	tools := map[string]*surfaces.Tool{
		"contains": make(surfaces.SearchContains, "", nameColumn, statusColumn), "other columns": make(surfaces.SearchContains, "", nameColumn),
		"web": make(surfaces.SearchWeb, "", nameColumn, statusColumn), "config": make(surfaces.SearchWeb, "english", nameColumn, statusColumn),
	}
	for from, tool := range tools {
		for _, made := range given {
			cursor := *runTool(t, r, c, tool, `{"limit":2`+comma(made)+`}`).list(t).NextCursor
			for to, other := range tools {
				for _, used := range given {
					got := runTool(t, r, c, other, `{"cursor":"`+cursor+`"`+comma(used)+`}`)
					same := made == used && (from == to || !strings.Contains(made, `"search"`))
					if got.isError == same || got.isError && got.kind() != "invalid_cursor" {
						t.Errorf("%s %s, then %s %s: %s", from, made, to, used, got.text)
					}
				}
			}
		}
	}
}

func comma(members string) string {
	if members == "" {
		return ""
	}
	return "," + members
}
