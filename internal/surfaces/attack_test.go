package surfaces

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// soon fails a test whose work a hostile project made long: without bounds each
// of these takes hours, with them seconds.
func soon(t *testing.T, what string, work func()) {
	t.Helper()
	begun := time.Now()
	work()
	if took := time.Since(begun); took > 5*time.Minute {
		t.Errorf("%s took %s", what, took)
	}
}

func hostileSnapshot(rest string) []byte {
	return []byte(`{"format":"chumbo.schema/1","postgres":"17","max_rows":1000,` + rest + `}`)
}

func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestSnapshotsMadeToCostAreRefusedSoon: eight MiB hold more of a thing than
// any database has, and what looks at one of it for each of another takes
// hours.
func TestSnapshotsMadeToCostAreRefusedSoon(t *testing.T) {
	t.Parallel()
	const schemas = `"schemas":[{"name":"public","usage":["anon"]}]`
	function := func(args string) string {
		return `{"schema":"public","name":"f","volatility":"stable","execute":["anon"],"returns":{"type":{"schema":"c","name":"t"}},"arguments":[` + args + `]}`
	}
	arguments := repeated(70_000, `{"name":"a%d","type":{"schema":"c","name":"t"}}`)
	for name, rest := range map[string]string{
		"arguments": schemas + `,"functions":[` + function(arguments) + `,` + function(arguments) + `]`,
		"roles": `"schemas":[{"name":"public","usage":[` + repeated(60_000, `"r%d"`) + `]}],"roles":[` + repeated(60_000, `{"name":"r%d"}`) + `],` +
			`"relations":[` + repeated(5_000, `{"schema":"public","name":"t%d","kind":"table","columns":[{"name":"id","type":{"schema":"c","name":"t"},"select":["x"]}]}`) + `]`,
		"columns":         schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","columns":[` + repeated(60_000, `{"name":"c%d","type":{"schema":"c","name":"t"}}`) + `]}]`,
		"indexes":         schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","indexes":[` + repeated(60_000, `{"name":"i%d","keys":[]}`) + `]}]`,
		"keys of indexes": schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","indexes":[{"name":"i","keys":[` + repeated(60_000, `{"column":"c%d"}`) + `]}]}]`,
		"rights":          schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","columns":[{"name":"c","type":{"schema":"c","name":"t"},"select":[` + repeated(60_000, `"r%d"`) + `]}]}]`,
		"policies":        schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","policy_roles":[` + repeated(60_000, `{"role":"r%d","commands":["select"]}`) + `]}]`,
		"schemas":         `"schemas":[` + repeated(60_000, `{"name":"s%d","usage":[]}`) + `]`,
		"overloads": schemas + `,"functions":[` + strings.Repeat(function(`{"name":"a","type":{"schema":"c","name":"t"}}`)+",", 4_999) +
			function("") + `]`,
	} {
		soon(t, name, func() {
			snap, err := ParseSnapshot(hostileSnapshot(rest))
			if name == "overloads" {
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				Posture(snap, nil)
				return
			}
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v, want invalid", name, err)
			}
		})
	}
}

// TestSurfacesMadeToGrowAreRefusedSoon: each argument over an enum holds all
// its labels, so that a small file over a small schema could fill the memory.
func TestSurfacesMadeToGrowAreRefusedSoon(t *testing.T) {
	t.Parallel()
	snap, err := ParseSnapshot(hostileSnapshot(`"schemas":[{"name":"public","usage":["authenticated"]}],"roles":[{"name":"authenticated"}],
		"enums":[{"schema":"public","name":"e","labels":[` + repeated(20_000, `"label number %d"`) + `]}],
		"relations":[{"schema":"public","name":"t","kind":"table","rls":true,"primary_key":["id"],"columns":[
			{"name":"id","type":{"schema":"pg_catalog","name":"uuid"},"not_null":true,"select":["authenticated"]},` +
		repeated(200, `{"name":"c%d","type":{"schema":"public","name":"e"},"select":["authenticated"]}`) + `]}]`))
	if err != nil {
		t.Fatal(err)
	}
	var columns, filters []string
	for i := range 200 {
		columns, filters = append(columns, fmt.Sprintf("c%d", i)), append(filters, fmt.Sprintf("c%d: [eq, in]", i))
	}
	entry := "  - table: t\n    operations: [list]\n    columns: [id, " + strings.Join(columns, ", ") + "]\n    filters: { " + strings.Join(filters, ", ") + " }\n    name: t%d\n"
	var file strings.Builder
	file.WriteString(hostileHead)
	for i := range 10 {
		fmt.Fprintf(&file, entry, i)
	}
	soon(t, "a file over a large enum", func() {
		if _, problems := Compile([]byte(file.String()), snap, ProjectFacts{}); !HasErrors(problems) {
			t.Errorf("was accepted: %v", problems)
		} else if last := problems[0].Message; !strings.Contains(last, "too large") {
			t.Errorf("refused: %s", last)
		}
	})
}

// TestNamesMadeToCostAreLookedUpSoon: each unknown name is held against every
// name there is.
func TestNamesMadeToCostAreLookedUpSoon(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 100)
	snap, err := ParseSnapshot(hostileSnapshot(`"schemas":[` + repeated(100, `{"name":"s%d","usage":["authenticated"]}`) + `],"roles":[{"name":"authenticated"}],
		"relations":[` + repeated(2_000, `{"schema":"s99","name":"`+long+`%d","kind":"table","columns":[{"name":"id","type":{"schema":"pg_catalog","name":"uuid"},"select":["authenticated"]}]}`) + `]`))
	if err != nil {
		t.Fatal(err)
	}
	var file strings.Builder
	file.WriteString(hostileHead)
	for i := range MaxCapabilities {
		fmt.Fprintf(&file, "  - table: %sx%d\n    columns: [id]\n", long[:80], i)
	}
	soon(t, "a file of unknown tables", func() {
		if _, problems := Compile([]byte(file.String()), snap, ProjectFacts{}); !HasErrors(problems) {
			t.Error("was accepted")
		}
	})
	soon(t, "a drift of everything", func() { Posture(snap, nil); Offerable(snap) })
}
