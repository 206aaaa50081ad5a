package mcp

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func TestExactArgumentsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	exact := map[string]spelling{"id": exactNumber, "who": lowerText}
	for given, want := range map[string]string{
		`{"id":7}`: `{"id":"7"}`, `{"id":"7"}`: `{"id":"7"}`, `{"id":"007"}`: `{"id":"7"}`, `{"id":7.0}`: `{"id":"7"}`, `{"id":"+7"}`: `{"id":"7"}`,
		`{"id":-0}`: `{"id":"0"}`, `{"id":70e-1}`: `{"id":"7"}`, `{"id":"1.50"}`: `{"id":"1.5"}`, `{"id":9007199254740993}`: `{"id":"9007199254740993"}`,
		`{ "id" : [ 7, "08", null ] , "n":"007"}`:        `{"id":["7","8",null],"n":"007"}`,
		`{"who":"A11CE000-0000-4000-8000-00000000000A"}`: `{"who":"a11ce000-0000-4000-8000-00000000000a"}`, `{"who":7}`: "",
		`{"id":null}`:    `{"id":null}`,
		`{"\u0069d": 7}`: `{"id":"7"}`,
		// What is no number cannot be told to a rule, so the call is refused.
		`{"id":"NaN"}`: "", `{"id":"0x7"}`: "", `{"id":"7/1"}`: "", `{"id":" 7"}`: "", `{"id":true}`: "", `{"id":{"a":7}}`: "",
		`{"id":[7,"x"],"a":1}`: "", `{"id":"1e9999"}`: "", `{"id":""}`: "",
		`{"id":"` + strings.Repeat("9", 500) + `"}`: "",
	} {
		got, unread := canonical([]byte(given), exact)
		if string(got) != want || (unread == "") != (want != "") || unread != "" && !strings.Contains(given, `"`+unread+`"`) {
			t.Errorf("%s: %s (%s unread), want %s", given, got, unread, want)
		}
	}
	if got, _ := canonical([]byte(`{"id": 7}`), nil); string(got) != `{"id": 7}` {
		t.Errorf("a tool without such arguments: %s", got)
	}
}

func TestWhichArgumentsAreExact(t *testing.T) {
	t.Parallel()
	id, name := surfaces.Column{Name: "id", SQLType: "int8"}, surfaces.Column{Name: "name", SQLType: "text"}
	for what, spec := range map[string]*surfaces.Tool{
		"rpc":    {RPC: &surfaces.RPCPlan{Arguments: []surfaces.Argument{{Name: "id", SQLType: "numeric"}, {Name: "name", SQLType: "text"}}}},
		"get":    {Get: &surfaces.GetPlan{Key: []surfaces.Column{id, name}}},
		"list":   {List: &surfaces.ListPlan{Filters: []surfaces.Filter{{Argument: "id", Column: id}, {Argument: "name", Column: name}}}},
		"create": {Create: &surfaces.CreatePlan{Values: writes(id, name)}}, "delete": {Delete: &surfaces.DeletePlan{Key: []surfaces.Column{id, name}}},
		"many":          {Delete: &surfaces.DeletePlan{Many: &surfaces.Many{Filters: []surfaces.Filter{{Argument: "id", Column: id}, {Argument: "name", Column: name}}}}},
		"list of lists": {List: &surfaces.ListPlan{Filters: []surfaces.Filter{{Argument: "id", Column: surfaces.Column{SQLType: "int8[]"}}}}},
	} {
		if got := exactArguments(spec); len(got) != 1 || got["id"] == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func TestExactArgumentsInsideAPatch(t *testing.T) {
	t.Parallel()
	id := surfaces.Column{Name: "id", SQLType: "int8"}
	exact := exactArguments(&surfaces.Tool{Update: &surfaces.UpdatePlan{
		Key: []surfaces.Column{id}, Guard: &surfaces.Guard{Column: id, Argument: "version"}, Patch: "patch",
		Values: writes(surfaces.Column{Name: "amount", SQLType: "numeric"}, surfaces.Column{Name: "ids", SQLType: "uuid[]"}, surfaces.Column{Name: "data", SQLType: "jsonb"}),
	}})
	given := `{"id":7.0,"version":"08","patch":{"amount":"1.50","ids":["A1","b2"],"data":{"amount":"1.50"}},"amount":"1.50"}`
	want := `{"id":"7","version":"8","patch":{"amount":"1.5","ids":["a1","b2"],"data":{"amount":"1.50"}},"amount":"1.50"}`
	if got, unread := canonical([]byte(given), exact); string(got) != want || unread != "" {
		t.Errorf("%s\nwant %s", got, want)
	}
}
