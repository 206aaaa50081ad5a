package surfaces

import (
	"fmt"
	"strings"
	"testing"
)

// TestToolsThatAModelCannotTellApartAreNamed: by their titles, or by what they
// say of themselves.
func TestToolsThatAModelCannotTellApartAreNamed(t *testing.T) {
	t.Parallel()
	file := func(second string) []byte {
		return []byte(writeHead + "  - { rpc: greet, title: Greet, description: Says hello. }\n  - { rpc: ids, " + second + " }\n")
	}
	for second, words := range map[string]string{
		"title: Count, description: Says hello.":        "same description as the tool on line 5",
		"title: Greet, description: Numbers of things.": "same title as the tool on line 5",
		"title: Count, description: Numbers of things.": "",
	} {
		b := Build(file(second), loadSnapshot(t), known())
		if b.Compiled == nil || (words == "") != (len(b.Problems) == 0) || words != "" && !mentions(b.Problems, 6, words) {
			t.Errorf("%s: %v", second, b.Problems)
		}
	}
}

// TestField69_AHeavyListIsWeighed: not one tool is heavy, all of them together
// are.
func TestField69_AHeavyListIsWeighed(t *testing.T) {
	t.Parallel()
	file := func(n int) []byte {
		var s strings.Builder
		s.WriteString(writeHead)
		for i := range n {
			fmt.Fprintf(&s, "  - { rpc: greet, tool: greet_%d, title: Greet %d, description: \"%d %s\" }\n", i, i, i, strings.Repeat("Says hello. ", 100))
		}
		return []byte(s.String())
	}
	if b := Build(file(20), loadSnapshot(t), known()); b.Compiled == nil || len(b.Problems) > 0 {
		t.Errorf("20 tools: %v", b.Problems)
	}
	b := Build(file(40), loadSnapshot(t), known())
	total := 0
	for i := range b.Compiled.Tools {
		total += Weight(&b.Compiled.Tools[i])
	}
	if !mentions(b.Problems, 3, fmt.Sprintf("the list of tools takes about %d tokens of every conversation", total)) || len(b.Problems) != 1 {
		t.Errorf("%d tokens: %v", total, b.Problems)
	}
}

// TestFiltersAndOrdersWithoutAListAreSaidToDoNothing, since who writes a filter
// beside delete may think that it holds.
func TestFiltersAndOrdersWithoutAListAreSaidToDoNothing(t *testing.T) {
	t.Parallel()
	const entry = "table: notes, operations: [%s], columns: [id, customer_id, body], filters: { customer_id: [eq] }, order: [id]%s"
	for _, c := range []struct {
		operations, more string
		filters, order   bool
	}{{"list, delete", "", false, false}, {"get, delete", "", true, true}, {"delete", ", max_affected: 5", false, true}} {
		b := Build(writeFile(fmt.Sprintf(entry, c.operations, c.more)), loadSnapshot(t), known())
		if b.Compiled == nil || mentions(b.Problems, 5, "filters narrow a list, and list is not among") != c.filters || mentions(b.Problems, 5, "order sorts a list, and list is not among") != c.order {
			t.Errorf("%s%s: %v", c.operations, c.more, b.Problems)
		}
	}
}
