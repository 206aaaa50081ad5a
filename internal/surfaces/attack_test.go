package surfaces

import (
	"encoding/json"
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
	arguments := repeated(35_000, `{"name":"a%d","type":{"schema":"c","name":"t"}}`)
	for name, rest := range map[string]string{
		"arguments": schemas + `,"functions":[` + function(arguments) + `,` + function(arguments) + `]`,
		"roles": `"schemas":[{"name":"public","usage":[` + repeated(30_000, `"r%d"`) + `]}],"roles":[` + repeated(30_000, `{"name":"r%d"}`) + `],` +
			`"relations":[` + repeated(5_000, `{"schema":"public","name":"t%d","kind":"table","columns":[{"name":"id","type":{"schema":"c","name":"t"},"select":["x"]}]}`) + `]`,
		"columns":         schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","columns":[` + repeated(30_000, `{"name":"c%d","type":{"schema":"c","name":"t"}}`) + `]}]`,
		"indexes":         schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","indexes":[` + repeated(30_000, `{"name":"i%d","keys":[]}`) + `]}]`,
		"keys of indexes": schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","indexes":[{"name":"i","keys":[` + repeated(30_000, `{"column":"c%d"}`) + `]}]}]`,
		"rights":          schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","columns":[{"name":"c","type":{"schema":"c","name":"t"},"select":[` + repeated(30_000, `"r%d"`) + `]}]}]`,
		"policies":        schemas + `,"relations":[{"schema":"public","name":"t","kind":"table","policy_roles":[` + repeated(30_000, `{"role":"r%d","commands":["select"]}`) + `]}]`,
		"schemas":         `"schemas":[` + repeated(30_000, `{"name":"s%d","usage":[]}`) + `]`,
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
	for i := range MaxCapabilities / 4 {
		fmt.Fprintf(&file, "  - table: %sx%d\n    columns: [id]\n", long[:80], i)
	}
	soon(t, "a file of unknown tables", func() {
		if _, problems := Compile([]byte(file.String()), snap, ProjectFacts{}); !HasErrors(problems) {
			t.Error("was accepted")
		}
	})
	soon(t, "a drift of everything", func() { Posture(snap, nil); Offerable(snap) })
}

// TestAnEmbedNeverRunsAFunction: the Data API takes a function of the table's
// row for the relation of its name, before every foreign key, and one that is
// SECURITY DEFINER returns rows past Row Level Security.
func TestAnEmbedNeverRunsAFunction(t *testing.T) {
	t.Parallel()
	file := func(embed string) []byte {
		return []byte(hostileHead + "  - table: teams\n    operations: [list]\n    columns: [id]\n    embed:\n      e: { " + embed + " }\n")
	}
	row := func(table string) []FunctionArgument {
		return []FunctionArgument{{Name: "t", Type: TypeRef{Schema: "public", Name: table}}}
	}
	matches := FunctionReturns{Type: TypeRef{Schema: "public", Name: "matches"}, Set: true, Row: true}
	for name, c := range map[string]struct {
		embed    string
		function FunctionSchema
		refused  bool
	}{
		"in place of a foreign key": {"table: matches, via: home_team, columns: [id]", FunctionSchema{Name: "matches", Arguments: row("teams"), Returns: matches}, true},
		"in place of a self reference": {"table: teams, kind: one, columns: [id]",
			FunctionSchema{Name: "parent_id", Arguments: row("teams"), Returns: FunctionReturns{Type: TypeRef{Schema: "public", Name: "teams"}, Row: true}}, true},
		"of another table":  {"table: matches, via: home_team, columns: [id]", FunctionSchema{Name: "matches", Arguments: row("articles"), Returns: matches}, false},
		"of another name":   {"table: matches, via: home_team, columns: [id]", FunctionSchema{Name: "played", Arguments: row("teams"), Returns: matches}, false},
		"of no row at all":  {"table: matches, via: home_team, columns: [id]", FunctionSchema{Name: "matches", Arguments: row("teams"), Returns: FunctionReturns{Type: TypeRef{Schema: "pg_catalog", Name: "int4"}}}, false},
		"of several values": {"table: matches, via: home_team, columns: [id]", FunctionSchema{Name: "matches", Arguments: append(row("teams"), row("teams")...), Returns: matches}, false},
	} {
		snap := loadSnapshot(t)
		c.function.Schema, c.function.Volatility, c.function.SecurityDefiner = "public", VolatilityStable, true
		snap.Functions = append(snap.Functions, c.function)
		b := Build(file(c.embed), snap, known())
		if got := b.Compiled == nil; got != c.refused || c.refused && !mentions(b.Problems, 9, "runs the function public."+c.function.Name) {
			t.Errorf("%s: refused %t, %v", name, got, b.Problems)
		}
	}
}

// TestAForeignKeyThatTheDataAPIConfusesIsNotEmbedded: a hint is the name of a
// foreign key or its column, so that a name like another's column means both,
// and every call would fail.
func TestAForeignKeyThatTheDataAPIConfusesIsNotEmbedded(t *testing.T) {
	t.Parallel()
	const file = hostileHead + "  - table: teams\n    operations: [list]\n    columns: [id]\n    embed:\n      e: { table: matches, via: matches_home_team_fkey, columns: [id] }\n"
	snap := loadSnapshot(t)
	mustBuild(t, file, snap)
	keys := relationOf(t, snap, "matches").ForeignKeys
	for i := range keys {
		if keys[i].Name == "matches_home_team_fkey" {
			keys[i].Name = "away_team"
		}
	}
	b := Build([]byte(edited(t, file, "via: matches_home_team_fkey", "via: home_team")), snap, known())
	if b.Compiled != nil || !mentions(b.Problems, 9, "cannot tell them apart") {
		t.Errorf("%v", b.Problems)
	}

	const self = hostileHead + "  - table: staff\n    operations: [list]\n    columns: [id]\n    embed:\n      boss: { table: staff, kind: one, columns: [id] }\n"
	mustBuild(t, self, snap)
	staff := relationOf(t, snap, "staff")
	staff.ForeignKeys = append(staff.ForeignKeys, ForeignKey{Name: "again", Columns: []string{"manager_id"}, ReferencedSchema: "public", ReferencedName: "customers", ReferencedColumns: []string{"id"}})
	if b := Build([]byte(self), snap, known()); b.Compiled != nil || !mentions(b.Problems, 9, "cannot tell them apart") {
		t.Errorf("%v", b.Problems)
	}
}

// TestNothingIsOfferedThatPostgresCannotCompare: a point has no order and no
// equal, so each call with such an argument would fail.
func TestNothingIsOfferedThatPostgresCannotCompare(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"point", "xml", "polygon", "jsonpath"} {
		snap := loadSnapshot(t)
		relationOf(t, snap, "customers").column("label").Type = TypeRef{Schema: catalogSchema, Name: typ}
		relationOf(t, snap, "matches").column("played_on").Type = TypeRef{Schema: catalogSchema, Name: typ}
		for keys, words := range map[string]string{
			"columns: [id, label], order: [label]": "cannot be ordered by", "columns: [id, label], filters: { label: [eq] }": "eq does not work",
			"columns: [id, label], filters: { label: [gt] }": "gt does not work", "columns: [id, label], filters: { label: [in] }": "in does not work",
			"columns: [id, label], filters: { label: [isdistinct] }": "isdistinct does not work",
		} {
			b := Build([]byte(hostileHead+"  - { table: customers, operations: [list], "+keys+" }\n"), snap, known())
			if b.Compiled != nil || !mentions(b.Problems, 5, words) {
				t.Errorf("%s %s: %v", typ, keys, b.Problems)
			}
		}
		for _, keys := range []string{"columns: [id, label]", "columns: [id, label], filters: { label: [is] }"} {
			mustBuild(t, hostileHead+"  - { table: customers, operations: [list], "+keys+" }\n", snap)
		}
		b := Build([]byte(hostileHead+"  - table: teams\n    operations: [list]\n    columns: [id]\n    embed:\n      e: { table: matches, via: home_team, columns: [id], order: [played_on] }\n"), snap, known())
		if b.Compiled != nil || !mentions(b.Problems, 9, "cannot be ordered by") {
			t.Errorf("%s: %v", typ, b.Problems)
		}
	}
}

// TestTypesNamedLikePostgresOwnAreNotTakenForThem: an app's enum may be named
// date, and has labels all the same.
func TestTypesNamedLikePostgresOwnAreNotTakenForThem(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"date", "interval", "int8", "uuid", "text", "point", "jsonb", "numeric"} {
		snap := loadSnapshot(t)
		snap.Enums = append(snap.Enums, EnumType{Schema: "public", Name: name, Labels: []string{"soon", "late"}})
		relationOf(t, snap, "customers").column("status").Type = TypeRef{Schema: "public", Name: name}
		c := mustBuild(t, hostileHead+"  - { table: customers, operations: [list], columns: [id, status], filters: { status: [eq, gt] }, order: [status] }\n", snap)
		var in shape
		if err := json.Unmarshal(c.Tools[0].Input, &in); err != nil {
			t.Fatal(err)
		}
		if s := in.Properties["status"]; s.Type != "string" || len(s.Enum) != 2 || s.Pattern != "" || strings.Contains(s.Description, "(") {
			t.Errorf("%s: %+v", name, s)
		}
		if got := c.Tools[0].List.Filters[0].Column; got.SQLType != "public."+name || got.JSON != JSONString || got.AsText {
			t.Errorf("%s: %+v", name, got)
		}
		b := Build([]byte(hostileHead+"  - { table: customers, operations: [list], columns: [id, status], filters: { status: [like] } }\n"), snap, known())
		if b.Compiled != nil || !mentions(b.Problems, 5, "like does not work") {
			t.Errorf("%s: %v", name, b.Problems)
		}

		snap = loadSnapshot(t)
		snap.Composites = append(snap.Composites, CompositeType{Schema: "public", Name: name, Attributes: []Attribute{{Name: "a", Type: TypeRef{Schema: catalogSchema, Name: "int8"}}}})
		relationOf(t, snap, "customers").column("status").Type = TypeRef{Schema: "public", Name: name}
		c = mustBuild(t, hostileHead+"  - { table: customers, operations: [get, create], columns: [id, status], write: [status, name, organization_id] }\n", snap)
		var create shape
		if err := json.Unmarshal(c.Tools[1].Input, &create); err != nil {
			t.Fatal(err)
		}
		if s := create.Properties["status"]; s.Type != "object" || s.Properties["a"] == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestCompositesMadeToCostAreRefusedSoon: a type of many attributes, in many
// columns of many tools.
func TestCompositesMadeToCostAreRefusedSoon(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string]string{
		"of itself":            repeated(60, `{"name":"a%d","type":{"schema":"public","name":"w"}}`),
		"of the largest names": repeated(190, `{"name":"`+strings.Repeat("n", 55)+`%d","type":{"schema":"pg_catalog","name":"timestamptz"}}`),
	} {
		const columns = 60
		snap, err := ParseSnapshot(hostileSnapshot(`"schemas":[{"name":"public","usage":["authenticated"]}],"roles":[{"name":"authenticated"}],
			"composites":[{"schema":"public","name":"w","attributes":[` + attributes + `]}],
			"relations":[{"schema":"public","name":"t","kind":"table","rls":true,"policies":1,"primary_key":["id"],"delete":["authenticated"],"columns":[
				{"name":"id","type":{"schema":"pg_catalog","name":"uuid"},"not_null":true,"default":"expression","select":["authenticated"],"insert":["authenticated"],"update":["authenticated"]},` +
			repeated(columns, `{"name":"c%d","type":{"schema":"public","name":"w"},"select":["authenticated"],"insert":["authenticated"],"update":["authenticated"]}`) + `]}]`))
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for i := range columns {
			list = append(list, fmt.Sprintf("c%d", i))
		}
		var file strings.Builder
		file.WriteString(hostileHead)
		for i := 0; i < 66 && file.Len() < MaxFileBytes-3000; i++ {
			fmt.Fprintf(&file, "  - { table: t, operations: [get, create, update], columns: [id, %s], name: t%d }\n", strings.Join(list, ", "), i)
		}
		soon(t, name, func() {
			if _, problems := Compile([]byte(file.String()), snap, ProjectFacts{}); !HasErrors(problems) {
				t.Errorf("%s was accepted", name)
			}
		})
	}
}

// TestNothingIsNoDescription: null and ~ say that there is nothing to say of a
// column, and no model is to read them as words.
func TestNothingIsNoDescription(t *testing.T) {
	t.Parallel()
	for _, nothing := range []string{"", "null", "~", "Null"} {
		c := mustBuild(t, hostileHead+"  - { table: customers, operations: [update], columns: [id, name], write: { visits: "+nothing+" } }\n"+
			"  - { rpc: greet, description: Greets., arguments: { name: "+nothing+" } }\n", loadSnapshot(t))
		for _, tool := range c.Tools {
			if strings.Contains(strings.ToLower(string(tool.Input)), `"description":"null"`) || strings.Contains(string(tool.Input), `"~"`) {
				t.Errorf("%q: %s", nothing, tool.Input)
			}
		}
	}
	c := mustBuild(t, hostileHead+"  - { rpc: greet, description: Greets., arguments: { name: 'null' } }\n", loadSnapshot(t))
	if !strings.Contains(string(c.Tools[0].Input), `"description":"null"`) {
		t.Errorf("quoted, it is a word: %s", c.Tools[0].Input)
	}
}
