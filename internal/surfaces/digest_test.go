package surfaces

import (
	"os"
	"strings"
	"testing"
)

const digestFile = `version: 1
title: CRM
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    columns: [id, name, status]
    filters: { status: [eq, in], name: [ilike] }
  - { rpc: summary, description: Counts. }
`

func digestOf(t *testing.T, src string, snap *Snapshot) string {
	t.Helper()
	b := Build([]byte(src), snap, known())
	if b.Compiled == nil {
		t.Fatalf("refused: %v", b.Problems)
	}
	return b.Digest
}

func TestDigestIgnoresHowAFileIsWritten(t *testing.T) {
	t.Parallel()
	want := digestOf(t, digestFile, loadSnapshot(t))
	for name, src := range map[string]string{
		"comments, quotes and blank lines": strings.NewReplacer("title: CRM", "# the title\n\ntitle: \"CRM\"  # here", "version: 1", "---\nversion: 1").Replace(digestFile),
		"another order of keys": `tools:
  - filters: { name: [ilike], status: [in, eq] }
    columns:
      - id
      - name
      - status
    table: customers
  - { description: Counts., rpc: summary }
access: { authorization: direct, mode: [oauth] }
title: CRM
version: 1
`,
		"defaults written out": strings.NewReplacer("columns: [id, name, status]",
			"columns: [id, name, status]\n    operations: [list, get]\n    limit: { default: 20, max: 100 }\n    budget: 16384\n    result: hybrid\n    public: false",
			"mode: oauth", "mode: oauth, roles: [authenticated], anonymous_users: false").Replace(digestFile),
	} {
		if got := digestOf(t, src, loadSnapshot(t)); got != want {
			t.Errorf("%s: the digest changed", name)
		}
	}
}

func TestDigestChangesWithWhatAFileSays(t *testing.T) {
	t.Parallel()
	want := digestOf(t, digestFile, loadSnapshot(t))
	for _, change := range [][2]string{
		{"title: CRM", "title: CRM 2"}, {"[id, name, status]", "[id, status, name]"}, {"name: [ilike]", "name: [like]"},
		{"Counts.", "Counts"}, {"mode: oauth", "mode: oauth, anonymous_users: true"}, {"rpc: summary", "rpc: summary, budget: 20000"},
	} {
		src := strings.Replace(digestFile, change[0], change[1], 1)
		if src == digestFile {
			t.Fatalf("%s is not in the file", change[0])
		}
		if digestOf(t, src, loadSnapshot(t)) == want {
			t.Errorf("%s: the digest is the same", change[1])
		}
	}
}

func TestDigestChangesWithTheSchemaItUsesOnly(t *testing.T) {
	t.Parallel()
	want := digestOf(t, digestFile, loadSnapshot(t))
	relation := func(s *Snapshot, name string) *RelationSchema {
		for i := range s.Relations {
			if s.Relations[i].Name == name {
				return &s.Relations[i]
			}
		}
		t.Fatalf("no relation %s", name)
		return nil
	}
	for name, c := range map[string]struct {
		changes bool
		edit    func(*Snapshot)
	}{
		"type of a used column":        {true, func(s *Snapshot) { relation(s, "customers").column("name").Type.Name = "varchar" }},
		"nullability of a used column": {true, func(s *Snapshot) { relation(s, "customers").column("name").NotNull = false }},
		"labels of a used enum":        {true, func(s *Snapshot) { s.Enums[0].Labels = append(s.Enums[0].Labels, "lost") }},
		"comment of a used table":      {true, func(s *Snapshot) { relation(s, "customers").Comment = "Other people." }},
		"arguments of a used function": {true, func(s *Snapshot) { fn(s, "summary").Arguments[0].HasDefault = false }},
		"a lower cap on rows":          {true, func(s *Snapshot) { s.MaxRows = 50 }},
		"type of another column":       {false, func(s *Snapshot) { relation(s, "customers").column("score").Type.Name = "float4" }},
		"another table":                {false, func(s *Snapshot) { relation(s, "logs").Columns[0].Type.Name = "varchar" }},
		"another function":             {false, func(s *Snapshot) { fn(s, "ids").Volatility = VolatilityVolatile }},
		"a table that is gone":         {false, func(s *Snapshot) { s.Relations = s.Relations[:len(s.Relations)-1] }},
		"indexes and policies":         {false, func(s *Snapshot) { r := relation(s, "customers"); r.Indexes, r.Policies = nil, 7 }},
		"a cap above the page size, which cuts what a function returns": {true, func(s *Snapshot) { s.MaxRows = 5000 }},
		"the version of Postgres": {false, func(s *Snapshot) { s.Postgres = "18.1" }},
	} {
		snap := loadSnapshot(t)
		c.edit(snap)
		if got := digestOf(t, digestFile, snap); (got != want) != c.changes {
			t.Errorf("%s: changed %t, want %t", name, got != want, c.changes)
		}
	}
}

func fn(s *Snapshot, name string) *FunctionSchema {
	for i := range s.Functions {
		if s.Functions[i].Name == name {
			return &s.Functions[i]
		}
	}
	return nil
}

func TestSameDigestMeansTheSameCompiledForm(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/compile/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := Build(src, loadSnapshot(t), known())
	snap := loadSnapshot(t)
	for i := range snap.Relations {
		snap.Relations[i].Indexes = nil
	}
	b := Build(append([]byte("# a comment\n"), src...), snap, known())
	if a.Compiled == nil || b.Compiled == nil || a.Digest != b.Digest {
		t.Fatal("digests differ")
	}
	x, _ := marshal(a.Compiled)
	y, _ := marshal(b.Compiled)
	if string(x) != string(y) {
		t.Error("one digest stands for two compiled forms")
	}
}

const digestWrites = `version: 1
title: CRM
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    operations: [create, update]
    columns: [id, name, status, updated_at]
    write: { create: { name: The name., organization_id: }, update: { name: , status: } }
    set: { create: { visits: { value: 1 }, vip: { value: true } } }
    guard: updated_at
  - { table: notes, operations: [create], columns: [id, customer_id, author_id, created_at, body], dedupe: request_id }
`

func TestDigestChangesWithWhatWritesDependOn(t *testing.T) {
	t.Parallel()
	want := digestOf(t, digestWrites, loadSnapshot(t))
	for name, c := range map[string]struct {
		changes bool
		edit    func(*Snapshot)
	}{
		"a default of a written column":                {true, func(s *Snapshot) { relationOf(t, s, "customers").column("name").Default = "constant" }},
		"another kind of default":                      {false, func(s *Snapshot) { relationOf(t, s, "customers").column("visits").Default = "expression" }},
		"the type of a set column":                     {true, func(s *Snapshot) { relationOf(t, s, "customers").column("visits").Type.Name = "int8" }},
		"the name of the unique key":                   {true, func(s *Snapshot) { r := relationOf(t, s, "notes"); r.Unique[0].Name = "other" }},
		"a right that takes a column out of the offer": {true, func(s *Snapshot) { relationOf(t, s, "notes").column("created_at").Insert = nil }},
		"a right that keeps the guard where it is":     {true, func(s *Snapshot) { relationOf(t, s, "customers").column("updated_at").Update = nil }},
		"a right that nothing depends on": {false, func(s *Snapshot) {
			relationOf(t, s, "customers").column("name").Insert = []string{"anon", "authenticated"}
		}},
		"a default of a column that is only read": {false, func(s *Snapshot) { relationOf(t, s, "customers").column("score").Default = "constant" }},
	} {
		snap := loadSnapshot(t)
		c.edit(snap)
		if got := digestOf(t, digestWrites, snap); (got != want) != c.changes {
			t.Errorf("%s: changed %t, want %t", name, got != want, c.changes)
		}
	}
	for name, c := range map[string]struct {
		changes bool
		edits   []string
	}{
		"the order of write": {false, []string{"{ name: The name., organization_id: }", "{ organization_id: , name: The name. }"}},
		"the order of set":   {false, []string{"visits: { value: 1 }, vip: { value: true }", "vip: { value: true }, visits: { value: 1 }"}},
		"a list for write":   {false, []string{"update: { name: , status: }", "update: [name, status]"}},
		"a constant":         {true, []string{"value: 1", "value: 2"}},
		"nothing to write":   {true, []string{"created_at, body], dedupe", "created_at, body], write: [body, created_at, author_id, customer_id], dedupe"}},
		"null":               {true, []string{"status: }", "status: , birthday: { null: true } }"}},
	} {
		if got := digestOf(t, edited(t, digestWrites, c.edits...), loadSnapshot(t)); (got != want) != c.changes {
			t.Errorf("%s: changed %t, want %t", name, got != want, c.changes)
		}
	}
}

func TestDigestOfListsKnowsNoCapAboveThePage(t *testing.T) {
	t.Parallel()
	file := strings.Replace(digestFile, "  - { rpc: summary, description: Counts. }\n", "", 1)
	if file == digestFile {
		t.Fatal("the file has another tool that calls a function")
	}
	snap := loadSnapshot(t)
	want := digestOf(t, file, snap)
	snap.MaxRows = 5000
	if digestOf(t, file, snap) != want {
		t.Error("a cap far above the page size changes the digest of lists")
	}
}
