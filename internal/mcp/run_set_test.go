package mcp

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestWhatIsSetHasTheJSONTypeOfItsColumn, or nothing is sent: the database
// would make something of it all the same.
func TestWhatIsSetHasTheJSONTypeOfItsColumn(t *testing.T) {
	t.Parallel()
	values := []string{`"x"`, `"7"`, `7`, `-7`, `7.0`, `7e1`, `0.5`, `true`, `false`, `[1]`, `[]`, `{}`}
	for _, c := range []struct {
		column surfaces.Column
		holds  string
	}{
		{surfaces.Column{JSON: surfaces.JSONString}, `"x" "7"`},
		{surfaces.Column{JSON: surfaces.JSONString, AsText: true}, `"x" "7" 7 -7 7.0 7e1 0.5`},
		{surfaces.Column{JSON: surfaces.JSONInteger}, `7 -7`},
		{surfaces.Column{JSON: surfaces.JSONNumber}, `7 -7 7.0 7e1 0.5`},
		{surfaces.Column{JSON: surfaces.JSONBoolean}, `true false`},
		{surfaces.Column{JSON: surfaces.JSONArray}, `[1] []`},
		{surfaces.Column{JSON: surfaces.JSONAny}, strings.Join(values, " ")},
		{surfaces.Column{JSON: "something new"}, ``},
	} {
		var held []string
		for _, v := range values {
			if holdsJSON(c.column, token(v)) {
				held = append(held, v)
			}
		}
		if got := strings.Join(held, " "); got != c.holds {
			t.Errorf("%s, as text %t: holds %s, want %s", c.column.JSON, c.column.AsText, got, c.holds)
		}
	}
}

// TestAValueThatWasSetAndIsRefusedIsNotTheCallersToMend: the database names the
// value it cannot read, and it is none that the caller gave.
func TestAValueThatWasSetAndIsRefusedIsNotTheCallersToMend(t *testing.T) {
	t.Parallel()
	const message = `invalid input syntax for type uuid: "seat-7"`
	tc := &toolCall{tool: createTool(), filled: []string{"", "seat-7"}}
	tc.arguments, _ = readArguments([]byte(`{"name":"Ada"}`))
	if told := badValue(tc, message); told.code != codeSetUnavailable || len(told.issues) > 0 || strings.Contains(told.detail, "seat-7") {
		t.Errorf("%+v", told)
	}
	tc.arguments, _ = readArguments([]byte(`{"name":"seat-7"}`))
	if told := badValue(tc, message); told.code != "" || len(told.issues) != 1 || told.issues[0].Path != "/name" {
		t.Errorf("a value of the caller's: %+v", told)
	}
	tc.filled = nil
	tc.arguments, _ = readArguments([]byte(`{"name":"Ada"}`))
	if told := badValue(tc, message); told.code != "" {
		t.Errorf("nothing was filled in: %+v", told)
	}
}
