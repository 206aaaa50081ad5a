package surfaces

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func TestStarterOfTheExampleIsAGoodBeginning(t *testing.T) {
	t.Parallel()
	_, conn := crmProject(t, "")
	snap := importPublic(t, conn)
	want := []string{"announcements", "customer_names", "customers", "memberships", "notes", "organizations"}
	if got := Offerable(snap); !slices.Equal(got, want) {
		t.Errorf("offerable %q, want %q", got, want)
	}
	file, err := Starter(snap, "Acme CRM", []string{"customers", "public.notes", "customer_names", "customers"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "starter.yaml"), file)
	b := Build(file, snap, known())
	if b.Compiled == nil {
		t.Fatalf("refused: %v", b.Problems)
	}
	for _, p := range b.Problems {
		if !strings.Contains(p.Message, "the database cannot confirm that (id)") {
			t.Errorf("a warning: %s", p)
		}
	}
	var names []string
	for _, tool := range b.Compiled.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"customers_list", "customers_get", "notes_list", "notes_get", "customer_names_list", "customer_names_get"}) {
		t.Errorf("tools %q", names)
	}
	if found := Posture(snap, []*Compiled{b.Compiled}); len(found) != 0 {
		t.Errorf("findings: %v", found)
	}
}

func TestStarterRefusesWhatItCannotOffer(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	if got := Offerable(snap); !slices.Equal(got, []string{"billing.invoices", "announcements", "articles", "customer_names", "customers", "enrollments", "matches", "notes", "staff", "team_badges", "teams", "user.events"}) {
		t.Errorf("offerable %q", got)
	}
	for table, why := range map[string]string{
		"custmers":       "is no table or view",
		"greet":          "is no table or view",
		"logs":           "has no key",
		"every_customer": "owner's rights",
		"totals":         "every caller would see every row",
	} {
		_, err := Starter(snap, "CRM", []string{"customers", table})
		f := fault.From(err)
		if f.Kind != fault.Invalid || len(f.Issues) != 1 || f.Issues[0].Path != "tables[1]" || !strings.Contains(f.Issues[0].Message, why) {
			t.Errorf("%s: %v %v", table, err, f.Issues)
		}
	}
	for _, tables := range [][]string{nil, slices.Repeat([]string{"customers"}, maxStarterTables+1)} {
		if _, err := Starter(snap, "CRM", tables); !fault.Is(err, fault.Invalid) {
			t.Errorf("%d tables: %v", len(tables), err)
		}
	}
	if _, err := Starter(snap, " \n", []string{"customers"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a title: %v", err)
	}
}

func TestStarterTitleIsTextWhateverIsTyped(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	for typed, want := range map[string]string{
		"CRM": "CRM", "yes": "yes", "true": "true", "\"quoted\" \\ # : {x}": "\"quoted\" \\ # : {x}", "two\nlines\u202e": "two lines",
		"日本語 🦆": "日本語 🦆", "no\u00a0break\u200dx": "no break\u200dx", strings.Repeat("x", 300): strings.Repeat("x", 99) + "…",
	} {
		file, err := Starter(snap, typed, []string{"customers"})
		if err != nil {
			t.Fatal(err)
		}
		b := Build(file, snap, known())
		if b.Compiled == nil || b.Compiled.Title != want {
			t.Errorf("%q: %v\n%s", typed, b.Problems, file[:300])
		}
	}
}

// wear damages a snapshot at random, in ways that databases are.
func wear(r *rand.Rand, snap *Snapshot) {
	if r.IntN(8) == 0 {
		snap.MaxRows = 1 + r.IntN(3)
	}
	odd := []string{"yes", "null", "-x", "a b", "a.b", "*", "ünder", "limit", "cursor", "new\nline", "\u202e", " pad", "x: [y", "#", "~", "9", "'", `"`, "\u2028", strings.Repeat("n", 200)}
	for i := range snap.Relations {
		rel := &snap.Relations[i]
		for j := range rel.Columns {
			c := &rel.Columns[j]
			if r.IntN(6) == 0 {
				rename(rel, c.Name, odd[r.IntN(len(odd))])
			}
			if r.IntN(10) == 0 {
				c.Select = nil
			}
			if r.IntN(10) == 0 {
				c.NotNull = !c.NotNull
			}
			if r.IntN(8) == 0 {
				names := []string{"point", "jsonb", "bytea", "tsvector", "bool", "name", "bpchar", "date", "float8", "xml", "inet", "interval"}
				c.Type = TypeRef{Schema: catalogSchema, Name: names[r.IntN(len(names))], Array: r.IntN(4) == 0}
			}
		}
		if r.IntN(6) == 0 {
			rel.PrimaryKey = nil
		}
		if r.IntN(6) == 0 {
			rel.Name = odd[r.IntN(len(odd))]
		}
		if r.IntN(5) == 0 && len(rel.Columns) > 0 {
			column := rel.Columns[r.IntN(len(rel.Columns))].Name
			method := []string{"btree", "hash", "gin", "brin", "gist"}[r.IntN(5)]
			rel.Indexes = append(rel.Indexes, IndexSchema{Name: "extra", Method: method, Unique: r.IntN(2) == 0, Keys: []IndexTerm{{Column: column, Desc: r.IntN(2) == 0, OpClass: []string{"", "gin_trgm_ops"}[r.IntN(2)]}}})
		}
	}
	snap.Normalize()
}

// rename renames a column wherever it is named, unless the name is taken.
func rename(rel *RelationSchema, from, to string) {
	if rel.column(to) != nil {
		return
	}
	swap := func(names []string) {
		for i := range names {
			if names[i] == from {
				names[i] = to
			}
		}
	}
	swap(rel.PrimaryKey)
	for i := range rel.Unique {
		swap(rel.Unique[i].Columns)
	}
	for i := range rel.Indexes {
		for j := range rel.Indexes[i].Keys {
			if rel.Indexes[i].Keys[j].Column == from {
				rel.Indexes[i].Keys[j].Column = to
			}
		}
	}
	rel.column(from).Name = to
}

func TestStarterCompilesOverAnyTables(t *testing.T) {
	t.Parallel()
	_, crm := crmProject(t, "")
	odd := importNasty(t, nasty(t))
	raw := func(snap *Snapshot) []byte { return []byte(encoded(t, snap, nil)) }
	sources := [][]byte{raw(loadSnapshot(t)), raw(importPublic(t, crm)), raw(odd)}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same tables every time
	written := 0
	for round := range 90 {
		snap, err := ParseSnapshot(sources[round%len(sources)])
		if err != nil {
			t.Fatal(err)
		}
		if round >= len(sources) {
			wear(r, snap)
		}
		if snap.Validate() != nil {
			continue // two of one name
		}
		tables := Offerable(snap)
		if len(tables) == 0 {
			continue
		}
		r.Shuffle(len(tables), func(i, j int) { tables[i], tables[j] = tables[j], tables[i] })
		tables = tables[:1+r.IntN(len(tables))]
		file, err := Starter(snap, "Title", tables)
		if err != nil {
			t.Fatalf("%q: %v", tables, fault.From(err).Issues)
		}
		b := Build(file, snap, known())
		if b.Compiled == nil {
			t.Fatalf("round %d, refused: %v\n%s", round, b.Problems, file)
		}
		if len(b.Compiled.Tools) < len(tables) {
			t.Errorf("%d tools of %d tables", len(b.Compiled.Tools), len(tables))
		}
		for _, p := range b.Problems {
			if strings.Contains(p.Message, "no index serves") && !strings.Contains(p.Message, "serves the order "+quoteName("id")+":") {
				t.Errorf("round %d: %s\n%s", round, p, file)
			}
		}
		written++
	}
	if written < 45 {
		t.Errorf("only %d files were written", written)
	}
}

func TestStarterOffersNothingUnderANameThatMeansSomethingElse(t *testing.T) {
	t.Parallel()
	text := TypeRef{Schema: catalogSchema, Name: "text"}
	may := []string{starterRole}
	table := func(schema, name string) RelationSchema {
		return RelationSchema{
			Schema: schema, Name: name, Kind: KindTable, RLS: true, PrimaryKey: []string{"id"},
			Columns: []ColumnSchema{{Name: "id", Type: text, NotNull: true, Select: may}, {Name: "-x", Type: text, NotNull: true, Select: may}, {Name: "x", Type: text, NotNull: true, Select: may}},
			Indexes: []IndexSchema{{Name: "i", Method: "btree", Keys: []IndexTerm{{Column: "-x"}, {Column: "id"}}}},
		}
	}
	snap := &Snapshot{
		Format: SnapshotFormat, MaxRows: 1000, Roles: []RoleInfo{{Name: starterRole}},
		Schemas: []SchemaInfo{{Name: "public", Usage: may}, {Name: "a.b", Usage: may}, {Name: "a", Usage: may}},
		// public."a.c" is what a.c means in a file, so the table c of schema a cannot be named.
		Relations: []RelationSchema{table("public", "a.c"), table("a", "c"), table("a.b", "d")},
	}
	snap.Normalize()
	if got := Offerable(snap); !slices.Equal(got, []string{"a.b.d", "a.c"}) {
		t.Errorf("offerable %q", got)
	}
	file, err := Starter(snap, "x", []string{"a.c"})
	if err != nil {
		t.Fatal(err)
	}
	// In an order, "-x" is x descending.
	if b := Build(file, snap, known()); b.Compiled == nil || b.Compiled.Tools[0].List.Relation.Schema != "public" || b.Compiled.Tools[0].List.Orders[0].Name != "id" {
		t.Errorf("%v\n%s", b.Problems, file)
	}
}
