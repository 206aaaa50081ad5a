package surfaces

import (
	"strings"
	"testing"
)

// TestWhatContradictsItselfIsRefused: each entry is good but for the one thing
// that its words name.
func TestWhatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	for entry, words := range map[string]string{
		// Results.
		"table: customers, columns: [id, name], result: text":                                                    "result: text needs a template",
		"table: customers, columns: [id, name], result: { get: text }, template: { list: \"{{has_more}}\" }":     "result: text needs a template",
		"table: customers, columns: [id, name], template: \"{{name}}\"":                                          "a template is used with result: text only",
		"table: customers, columns: [id, name], result: { list: structured }, template: { list: \"{{items}}\" }": "a template is used with result: text only",
		"rpc: greet, result: text":                                                                     "result: text needs a template",
		"rpc: greet, template: \"{{result}}\"":                                                         "a template is used with result: text only",
		"rpc: ids, result: text, template: \"x\", description: D":                                      "a list of plain values",
		"table: customers, columns: [id], budget: 511":                                                 "from 512 to 1048576",
		"table: customers, columns: [id], budget: 1048577":                                             "from 512 to 1048576",
		"table: customers, columns: [id], guidance: { before: \"" + strings.Repeat("x", 1001) + "\" }": "at most 1000",
		"table: customers, columns: [id, score], shorten: [score]":                                     "is not text",
		// Reads.
		"table: customers, columns: [id, status], filters: { status: { operators: [eq, in], required: true } }": "a required filter has exactly one operator",
		"table: customers, columns: [id], limit: { max: 101 }":                                                  "from 1 to 100",
		"table: customers, columns: [id], limit: { default: 0 }":                                                "from 1 to 100",
		"table: customers, columns: [id, organization_id], key: [organization_id]":                              "alter table public.customers add unique (organization_id);",
		"table: notes, columns: [id, request_id], key: [request_id]":                                            "alter column request_id set not null;",
		"table: notes, operations: [get], columns: [body]":                                                      "get reads a row by",
		"table: customers, operations: [get], columns: [id, name], search: [name]":                              "list is not among the operations",
		"table: customers, columns: [id, tags], search: [tags]":                                                 "cannot be searched by",
		"table: customers, columns: [id, name], search: [a, b, c, d, e, f, g, h, i]":                            "search looks in 9 columns; at most 8",
		"table: customers, columns: [id, name], search: { columns: [name], mode: web, config: \"english)\" }":   "cannot be the name of a text search configuration",
		"table: customers, columns: [id], search: { mode: web }":                                                "list the columns to search",
		"table: customers, columns: [id], embed: { notes: { table: notes } }":                                   "list the columns to return of each row",
		"table: customers, columns: [id], embed: { notes: { columns: [id] } }":                                  "name the table whose rows go into",
		"table: customers, columns: [id], embed: { \"1st\": { table: notes, columns: [id] } }":                  "cannot be the name of an embed",
		"table: customers, columns: [id], embed: { notes: { table: notes, columns: [id], order: [id, body] } }": "an embed has one order",
		"table: customers, columns: [id], embed: { notes: { table: notes, columns: [id], order: [bodi] } }":     "has no column \"bodi\" (in order)",
		"table: customers, columns: [id], embed: { notes: { table: notes, columns: [id], limit: 51 } }":         "from 1 to 50",
		"table: customers, columns: [id], embed: { notes: { table: notes, columns: [id], limit: 0 } }":          "from 1 to 50",
		// Functions.
		"rpc: greet, arguments: [name], input: { type: object, properties: { name: { type: string } } }": "give arguments or input, not both",
		"rpc: greet, arguments: { name: { enum: [] } }":                                                  "enum lists nothing",
		"rpc: greet, input: { type: object, properties: { name: { type: integer } } }":                   "does not travel as \"integer\"",
		"rpc: greet, input: { type: object, properties: { name: { type: string } }, required: [nam] }":   "not among the properties",
		"rpc: greet, input: { type: object, properties: { name: { } }, additionalProperties: true }":     "additionalProperties must be false",
		"rpc: greet, annotations: { destructive: true }":                                                 "both read_only and destructive",
		"rpc: greet, privileged: true, allow: \"true\"":                                                  "so it is not privileged",
		// Tools.
		"table: customers, rpc: greet, columns: [id]":                                      "make two entries",
		"table: customers, columns: [id], scopes: { update: [crm.write] }":                 "update is not among the operations",
		"table: customers, columns: [id], title: {}":                                       "empty mapping",
		"table: customers, columns: [id], operations: []":                                  "operations is an empty list",
		"table: customers, columns: []":                                                    "columns is an empty list",
		"table: customers, columns: [id, id]":                                              "twice",
		"table: customers, columns: [id], name: { list: customers, get: customers }":       "is taken by the tool on line",
		"rpc: greet, tool: " + strings.Repeat("n", 65):                                     "cannot be the name of a tool",
		"table: customers, columns: [id], name: { list: " + strings.Repeat("n", 65) + " }": "cannot be the name of a tool",
	} {
		b := Build(writeFile(entry), loadSnapshot(t), known())
		said := false
		for _, p := range b.Problems {
			said = said || p.Severity == SeverityError && p.Line == 5 && strings.Contains(p.Message, words)
		}
		if b.Compiled != nil || !said {
			t.Errorf("%s: compiled %t, %v", entry, b.Compiled != nil, b.Problems)
		}
	}
}

// TestWhatTheDatabaseCannotDoIsRefused: each file is good over the schema as it
// is, and names what stands against it over another.
func TestWhatTheDatabaseCannotDoIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry string
		edit  func(t *testing.T, s *Snapshot)
		words string
	}{
		"related rows without a key": {"table: customers, columns: [id], embed: { notes: { table: notes, columns: [body] } }", func(t *testing.T, s *Snapshot) {
			relationOf(t, s, "notes").PrimaryKey = nil
		}, "so its rows have no certain order: alter table public.notes add primary key"},
		"a reference to itself of several columns": {"table: staff, columns: [id], embed: { reports: { table: staff, kind: many, columns: [id] } }", func(t *testing.T, s *Snapshot) {
			k := &relationOf(t, s, "staff").ForeignKeys[0]
			k.Columns, k.ReferencedColumns = append(k.Columns, "name"), append(k.ReferencedColumns, "name")
		}, "is of several columns"},
		"a key that is no argument, to get": {"table: notes, operations: [get], columns: [id, body]", func(t *testing.T, s *Snapshot) {
			relationOf(t, s, "notes").column("id").Name = "größe"
			relationOf(t, s, "notes").PrimaryKey = []string{"größe"}
		}, "cannot be the name of an argument (letters, digits, _ . - only): leave get out"},
		"a key that is no argument, to write": {"table: notes, operations: [update], columns: [body], write: [body]", func(t *testing.T, s *Snapshot) {
			relationOf(t, s, "notes").column("id").Name = "größe"
			relationOf(t, s, "notes").PrimaryKey = []string{"größe"}
		}, "cannot be the name of an argument (letters, digits, _ . - only): leave update out"},
		"dedupe of another type": {"table: notes, operations: [create], write: [customer_id, author_id, body], dedupe: request_id", func(t *testing.T, s *Snapshot) {
			relationOf(t, s, "notes").column("request_id").Type.Name = "int8"
		}, "dedupe needs a column of type uuid or text"},
		"a key that has no order": {"table: notes, columns: [id, body]", func(t *testing.T, s *Snapshot) {
			relationOf(t, s, "notes").column("id").Type.Name = "json"
		}, "which cannot be ordered"},
		"an argument that is no name": {"rpc: greet", func(_ *testing.T, s *Snapshot) {
			fn(s, "greet").Arguments[0].Name = "größe"
		}, "cannot be the name of an argument for clients"},
		"a row of what is set alone, and no right to insert": {"table: notes, operations: [create], write: [body], set: { customer_id: { value: 1 }, author_id: claims.sub }", func(t *testing.T, s *Snapshot) {
			r := relationOf(t, s, "notes")
			for i := range r.Columns {
				r.Columns[i].Insert = nil
			}
		}, "may not insert"},
	} {
		if b := Build(writeFile(c.entry), loadSnapshot(t), known()); b.Compiled == nil {
			t.Errorf("%s: refused without: %v", name, b.Problems)
		}
		snap := loadSnapshot(t)
		c.edit(t, snap)
		entry := strings.ReplaceAll(c.entry, "columns: [id, body]", "columns: ["+relationOf(t, snap, "notes").Columns[0].Name+", body]")
		if b := Build(writeFile(entry), snap, known()); b.Compiled != nil || !mentions(b.Problems, 5, c.words) {
			t.Errorf("%s: compiled %t, %v", name, b.Compiled != nil, b.Problems)
		}
	}
}

// TestASearchForWordsNamesItsIndex, of the words themselves or of the text.
func TestASearchForWordsNamesItsIndex(t *testing.T) {
	t.Parallel()
	const words = "table: articles, columns: [id, title], search: { columns: [words], mode: web, hidden_ok: true }"
	const text = "table: articles, columns: [id, title], search: { columns: [title], mode: web, config: simple }"
	snap := loadSnapshot(t)
	if b := Build(writeFile(words), snap, known()); b.Compiled == nil || mentions(b.Problems, 5, "no index serves the search") {
		t.Errorf("with its index: %v", b.Problems)
	}
	relationOf(t, snap, "articles").Indexes = nil
	for entry, sql := range map[string]string{
		words: "create index on public.articles using gin (words);", text: "create index on public.articles using gin (to_tsvector('simple', title));",
	} {
		if b := Build(writeFile(entry), snap, known()); b.Compiled == nil || !mentions(b.Problems, 5, "no index serves the search: "+sql) {
			t.Errorf("%s: %v", entry, b.Problems)
		}
	}
	relationOf(t, snap, "articles").Indexes = []IndexSchema{{Name: "x", Method: "gin", Keys: []IndexTerm{{}}}}
	if b := Build(writeFile(text), snap, known()); b.Compiled == nil || mentions(b.Problems, 5, "no index serves the search") {
		t.Errorf("with an index of an expression: %v", b.Problems)
	}
}
