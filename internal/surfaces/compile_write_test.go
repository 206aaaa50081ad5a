package surfaces

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const writeHead = "version: 1\ntitle: T\naccess: { mode: oauth, authorization: direct }\ntools:\n"

// writeFile is a surface file with one entry.
func writeFile(entry string) []byte { return []byte(writeHead + "  - { " + entry + " }\n") }

// compiledWrites compiles the accepted file of writes, by tool.
func compiledWrites(t *testing.T) map[string]Tool {
	t.Helper()
	src, err := os.ReadFile("testdata/compile/writes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]Tool{}
	for _, tool := range mustBuild(t, string(src), loadSnapshot(t)).Tools {
		tools[tool.Name] = tool
	}
	return tools
}

// takes reports whether an input schema takes arguments.
func takes(t *testing.T, input json.RawMessage, arguments string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return compileSchema(t, input).Validate(doc) == nil
}

func TestField72_AWriteNamesItsRowAndAPatchHasAMember(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, tool := range compiledWrites(t) {
		w := tool.writing()
		if w == nil || tool.Create != nil {
			continue
		}
		seen++
		var root struct{ Required []string }
		if err := json.Unmarshal(tool.Input, &root); err != nil {
			t.Fatal(err)
		}
		switch {
		case w.many == nil && len(w.key) == 0:
			t.Errorf("%s has neither a key nor filters", tool.Name)
		case w.many != nil && (len(w.many.Filters) == 0 || w.many.MaxAffected < 1 || w.guard != nil || len(w.key) > 0):
			t.Errorf("%s chooses rows by %+v", tool.Name, w)
		}
		for _, k := range w.key {
			if !slices.Contains(root.Required, k.Name) {
				t.Errorf("%s does not require the key column %s", tool.Name, k.Name)
			}
		}
		if takes(t, tool.Input, `{}`) {
			t.Errorf("%s takes no arguments at all", tool.Name)
		}
	}
	if seen < 6 {
		t.Errorf("only %d tools were looked at", seen)
	}
	update, remove := compiledWrites(t)["note_update"], compiledWrites(t)["quiet_delete"]
	for arguments, fits := range map[string]bool{
		`{"id":"1","patch":{"body":"x"}}`: true, `{"id":1,"patch":{"body":"x"}}`: true,
		`{"patch":{"body":"x"}}`: false, `{"id":"1"}`: false, `{"id":"1","patch":{}}`: false, `{"id":null,"patch":{"body":"x"}}`: false,
		`{"id":[],"patch":{"body":"x"}}`: false, `{"id":["1","2"],"patch":{"body":"x"}}`: false, `{"id":"","patch":{"body":"x"}}`: false,
		`{"id":"1","patch":{"body":"x","author_id":"00000000-0000-4000-8000-000000000001"}}`: false,
		`{"id":"1","patch":{"id":"2"}}`: false, `{"id":"1","patch":[{"body":"x"}]}`: false, `{"id":"1","patch":null}`: false,
		`{"id":"1","body":"x","patch":{"body":"x"}}`: false,
	} {
		if takes(t, update.Input, arguments) != fits {
			t.Errorf("update takes %s: %t", arguments, !fits)
		}
	}
	for arguments, fits := range map[string]bool{`{"id":"1"}`: true, `{}`: false, `{"id":null}`: false, `{"id":{}}`: false, `{"id":"1","customer_id":"1"}`: false} {
		if takes(t, remove.Input, arguments) != fits {
			t.Errorf("delete takes %s: %t", arguments, !fits)
		}
	}
}

func TestField72_EveryColumnOfAKeyIsRequired(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	r := relationOf(t, snap, "enrollments")
	r.Delete = []string{"authenticated"}
	c := mustBuild(t, string(writeFile("table: enrollments, operations: [delete]")), snap)
	for arguments, fits := range map[string]bool{
		`{"course":"a","customer_id":"1"}`: true, `{"course":"a"}`: false, `{"customer_id":"1"}`: false, `{"course":"a","customer_id":null}`: false, `{"course":["a"],"customer_id":"1"}`: false,
	} {
		if takes(t, c.Tools[0].Input, arguments) != fits {
			t.Errorf("%s: %t", arguments, !fits)
		}
	}
}

func TestField60_NullIsTakenOnlyWhereItIsDeclared(t *testing.T) {
	t.Parallel()
	for column, c := range map[string]struct{ values, not []string }{
		"tags":     {[]string{`["a"]`, `[]`}, []string{`"a"`, `[1]`}},
		"score":    {[]string{`1.5`}, []string{`"x"`}},
		"home":     {[]string{`{"street":"a"}`}, []string{`"a"`, `[]`}},
		"settings": {[]string{`{}`, `[1]`, `"a"`, `1`, `true`}, nil},
		"birthday": {[]string{`"2026-01-31"`}, []string{`1`}},
	} {
		for _, null := range []bool{false, true} {
			tools := mustBuild(t, string(writeFile(fmt.Sprintf("table: customers, operations: [create, update], columns: [id], write: { organization_id: , name: , %s: { null: %t } }", column, null))), loadSnapshot(t)).Tools
			for _, tool := range tools {
				walkSchema(mustDecode(t, tool.Input), func(s map[string]any) {
					if _, list := s["type"].([]any); list {
						t.Errorf("%s of %s: a list of types", column, tool.Name)
					}
				})
				call := `{"organization_id":"00000000-0000-4000-8000-000000000001","name":"a","` + column + `":%s}`
				if tool.Update != nil {
					call = `{"id":1,"patch":{"` + column + `":%s}}`
				}
				for _, v := range append(slices.Clone(c.values), "null") {
					if fits := takes(t, tool.Input, fmt.Sprintf(call, v)); fits != (v != "null" || null) {
						t.Errorf("%s of %s, null %t: %s is taken: %t", column, tool.Name, null, v, fits)
					}
				}
				for _, v := range c.not {
					if takes(t, tool.Input, fmt.Sprintf(call, v)) {
						t.Errorf("%s of %s takes %s", column, tool.Name, v)
					}
				}
			}
		}
	}
	if b := Build(writeFile("table: customers, operations: [update], columns: [id], write: { name: { null: true } }"), loadSnapshot(t), known()); b.Compiled != nil || !mentions(b.Problems, 5, "never null") {
		t.Errorf("null in a column that is never null: %v", b.Problems)
	}
}

func mustDecode(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEveryColumnIsOfferedOrItIsSaidWhyNot tries each column of the schema that
// has every kind of them.
func TestEveryColumnIsOfferedOrItIsSaidWhyNot(t *testing.T) {
	t.Parallel()
	refused := map[string][2]string{ // on create, on update
		"id": {"numbered by the database", "numbered by the database"}, "label": {"generated by the database", "generated by the database"},
	}
	required := []string{"name", "organization_id"}
	for _, c := range relationOf(t, loadSnapshot(t), "customers").Columns {
		write := append(slices.DeleteFunc(slices.Clone(required), func(name string) bool { return name == c.Name }), c.Name)
		create := Build(writeFile("table: customers, operations: [create], columns: [id], write: ["+strings.Join(write, ", ")+"]"), loadSnapshot(t), known())
		update := Build(writeFile("table: customers, operations: [update], columns: [id], write: ["+c.Name+"]"), loadSnapshot(t), known())
		if why, out := refused[c.Name]; out {
			if create.Compiled != nil || !mentions(create.Problems, 5, why[0]) || update.Compiled != nil || !mentions(update.Problems, 5, why[1]) {
				t.Errorf("%s: %v, %v", c.Name, create.Problems, update.Problems)
			}
			continue
		}
		if create.Compiled == nil || update.Compiled == nil {
			t.Errorf("%s: %v, %v", c.Name, create.Problems, update.Problems)
			continue
		}
		var in struct {
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(create.Compiled.Tools[0].Input, &in); err != nil {
			t.Fatal(err)
		}
		if in.Properties[c.Name] == nil || len(in.Properties) != len(write) || !slices.Equal(slices.Sorted(slices.Values(in.Required)), required) {
			t.Errorf("create with %s: %s", c.Name, create.Compiled.Tools[0].Input)
		}
		if v := update.Compiled.Tools[0].Update.Values; len(v) != 1 || v[0].Column.Name != c.Name || v[0].Required {
			t.Errorf("update of %s: %+v", c.Name, v)
		}
	}
}

func TestWithoutWriteOnlyWhatEveryCallerMayWriteIsOffered(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	r := relationOf(t, snap, "customers")
	r.column("vip").Insert, r.column("visits").Update, r.column("balance").Identity = nil, nil, "always"
	b := Build(writeFile("table: customers, operations: [create, update], columns: [id, name, organization_id, status, visits, vip, label, balance, birthday, updated_at], guard: updated_at, set: { create: { birthday: { value: null } } }"), snap, known())
	if b.Compiled == nil {
		t.Fatal(b.Problems)
	}
	for i, want := range []string{"name organization_id status visits", "name organization_id status vip"} {
		var got []string
		for _, v := range b.Compiled.Tools[i].writing().values {
			got = append(got, v.Argument)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s offers %v, want %s", b.Compiled.Tools[i].Name, got, want)
		}
	}
	if !mentions(b.Problems, 5, "write is not given, so name, organization_id, status and visits may be written by create; name them: write: [name, organization_id, status, visits]") {
		t.Errorf("problems are %v", b.Problems)
	}
}

// TestWritesNeedTheRightsOfEveryCaller takes one right away at a time, and
// expects the GRANT that gives it back.
func TestWritesNeedTheRightsOfEveryCaller(t *testing.T) {
	t.Parallel()
	entry := "table: notes, operations: [create, update, delete], columns: [id, body, created_at], write: { create: [customer_id, body], update: [body] }, set: { create: { author_id: { value: 00000000-0000-4000-8000-000000000001 } } }, guard: created_at, dedupe: request_id"
	if b := Build(writeFile(entry), loadSnapshot(t), known()); b.Compiled == nil {
		t.Fatal(b.Problems)
	}
	for grant, take := range map[string]func(*RelationSchema){
		"grant insert (customer_id) on public.notes to authenticated;": func(r *RelationSchema) { r.column("customer_id").Insert = nil },
		"grant insert (author_id) on public.notes to authenticated;":   func(r *RelationSchema) { r.column("author_id").Insert = nil },
		"grant insert (request_id) on public.notes to authenticated;":  func(r *RelationSchema) { r.column("request_id").Insert = nil },
		"grant select (request_id) on public.notes to authenticated;":  func(r *RelationSchema) { r.column("request_id").Select = nil },
		"grant update (body) on public.notes to authenticated;":        func(r *RelationSchema) { r.column("body").Update = nil },
		"grant delete on public.notes to authenticated;":               func(r *RelationSchema) { r.Delete = []string{"anon"} },
		"grant select (id) on public.notes to authenticated;":          func(r *RelationSchema) { r.column("id").Select = nil },
		"grant select (created_at) on public.notes to authenticated;":  func(r *RelationSchema) { r.column("created_at").Select = nil },
		"grant insert (body) on public.notes to authenticated;":        func(r *RelationSchema) { r.column("body").Insert = []string{"anon"} },
	} {
		snap := loadSnapshot(t)
		take(relationOf(t, snap, "notes"))
		if b := Build(writeFile(entry), snap, known()); b.Compiled != nil || !mentions(b.Problems, 5, grant) {
			t.Errorf("%s: %v", grant, b.Problems)
		}
	}
	// The Data API reads the key back with whatever a write returns.
	for _, entry := range []string{"[create], columns: [body], write: [customer_id, body, author_id]", "[update], columns: [body], write: [body]"} {
		snap := loadSnapshot(t)
		relationOf(t, snap, "notes").column("id").Select = nil
		b := Build(writeFile("table: notes, operations: "+entry), snap, known())
		if b.Compiled != nil || !mentions(b.Problems, 5, "grant select (id) on public.notes to authenticated;") {
			t.Errorf("%s: %v", entry, b.Problems)
		}
	}
	// What a create neither returns nor looks up needs no right to read.
	snap := loadSnapshot(t)
	r := relationOf(t, snap, "notes")
	for i := range r.Columns {
		r.Columns[i].Select = nil
	}
	r.PrimaryKey = nil
	if b := Build(writeFile("table: notes, operations: [create], write: [customer_id, body, author_id]"), snap, known()); b.Compiled == nil || len(b.Compiled.Tools[0].Create.Key) > 0 {
		t.Errorf("a create of what nobody may read: %v", b.Problems)
	}
}

func TestAGuardMovesOnByItselfWhereItCan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*ColumnSchema)
		want string
	}{
		"timestamptz":        {func(*ColumnSchema) {}, BumpNow},
		"timestamp":          {func(c *ColumnSchema) { c.Type.Name = "timestamp" }, BumpNow},
		"int2":               {func(c *ColumnSchema) { c.Type.Name = "int2" }, BumpIncrement},
		"int4":               {func(c *ColumnSchema) { c.Type.Name = "int4" }, BumpIncrement},
		"int8":               {func(c *ColumnSchema) { c.Type.Name = "int8" }, BumpIncrement},
		"uuid":               {func(c *ColumnSchema) { c.Type.Name = "uuid" }, BumpUUID},
		"text":               {func(c *ColumnSchema) { c.Type.Name = "text" }, ""},
		"date":               {func(c *ColumnSchema) { c.Type.Name = "date" }, ""},
		"generated":          {func(c *ColumnSchema) { c.Generated = true }, ""},
		"no right to update": {func(c *ColumnSchema) { c.Update = nil }, ""},
	} {
		snap := loadSnapshot(t)
		c.edit(relationOf(t, snap, "customers").column("updated_at"))
		b := Build(writeFile("table: customers, operations: [update, delete], columns: [id, updated_at], write: [name], guard: updated_at"), snap, known())
		if b.Compiled == nil {
			t.Errorf("%s: %v", name, b.Problems)
			continue
		}
		if g := b.Compiled.Tools[0].Update.Guard; g == nil || g.Bump != c.want || mentions(b.Problems, 5, "so a trigger of the database must") != (c.want == "") {
			t.Errorf("%s: %+v, %v", name, g, b.Problems)
		}
		if g := b.Compiled.Tools[1].Delete.Guard; g == nil || g.Bump != "" {
			t.Errorf("%s: a delete moves its guard on: %+v", name, g)
		}
	}
}

func TestSetNeverShowsInAnInputAndClaimsNeedCallersWhoHaveThem(t *testing.T) {
	t.Parallel()
	for name, tool := range compiledWrites(t) {
		w := tool.writing()
		if w == nil {
			continue
		}
		for _, s := range w.set {
			if tool.Create != nil && strings.Contains(string(tool.Input), s.Column.Name) {
				t.Errorf("%s: the input names %s: %s", name, s.Column.Name, tool.Input)
			}
		}
	}
	for access, c := range map[string]struct {
		entry string
		words string // empty: accepted
	}{
		"mode: api-key, keys: { rpc: check_key }": {"", "which callers of api-key do not have"},
		"mode: bearer": {"", ""},
		"mode: [oauth, api-key], authorization: bridge":                         {"", ""},
		"mode: [oauth, public], public: { confirm: true, calls: 60, per: 1m }":  {", public: true", "callers of a public tool have none"},
		"mode: [bearer, public], public: { confirm: true, calls: 60, per: 1m }": {"", ""},
	} {
		snap := loadSnapshot(t)
		r := relationOf(t, snap, "notes")
		for i := range r.Columns {
			r.Columns[i].Insert = append(r.Columns[i].Insert, "anon")
		}
		for i := range snap.Schemas {
			snap.Schemas[i].Usage = append(snap.Schemas[i].Usage, "anon")
		}
		src := strings.Replace(string(writeFile("table: notes, operations: [create], write: [customer_id, body], set: { author_id: claims.sub }"+c.entry)), "mode: oauth, authorization: direct", access, 1)
		b := Build([]byte(src), snap, known())
		if (c.words == "") != (b.Compiled != nil) || c.words != "" && !mentions(b.Problems, 5, c.words) {
			t.Errorf("%s: %v", access, b.Problems)
		}
	}
}

func TestWriteIsByOperationOnlyWhenEveryKeyIsOne(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	r := relationOf(t, snap, "notes")
	column := *r.column("body")
	column.Name, column.NotNull = "update", false
	r.Columns = append(r.Columns, column)
	c := mustBuild(t, string(writeFile("table: notes, operations: [update], columns: [id], write: { update: The word., body: }")), snap)
	if v := c.Tools[0].Update.Values; len(v) != 2 || v[1].Column.Name != "update" {
		t.Errorf("a column called update: %+v", v)
	}
	c = mustBuild(t, string(writeFile("table: notes, operations: [update], columns: [id], write: { update: [update] }")), snap)
	if v := c.Tools[0].Update.Values; len(v) != 1 || v[0].Column.Name != "update" {
		t.Errorf("by operation: %+v", v)
	}
	for _, entry := range []string{
		"operations: [update], write: { create: [body], update: [body] }",
		"operations: [update], write: [body], set: { create: { author_id: claims.sub } }",
	} {
		b := Build(writeFile("table: notes, columns: [id], "+entry), snap, known())
		if b.Compiled != nil || len(b.Problems) == 0 || !strings.Contains(b.Problems[0].Message, "create is not among the operations of this table") {
			t.Errorf("%s: %v", entry, b.Problems)
		}
	}
}

// TestArgumentsOfAnUpdateAreToldApart: the key, the guard, filters and the
// patch share one object.
func TestArgumentsOfAnUpdateAreToldApart(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	r := relationOf(t, snap, "notes")
	r.column("id").Name, r.PrimaryKey = "patch", []string{"patch"}
	r.column("created_at").Name = "geändert am"
	column := *r.column("body")
	column.Name, column.NotNull = "ge ndert am", false
	r.Columns = append(r.Columns, column)
	c := mustBuild(t, string(writeFile(`table: notes, operations: [update], columns: [patch, body, "geändert am", "ge ndert am"], write: [body, "ge ndert am"], guard: "geändert am"`)), snap)
	p := c.Tools[0].Update
	if p.Key[0].Name != "patch" || p.Patch != "patch_2" || p.Guard.Argument != "ge_ndert_am" || p.Values[1].Argument != "ge_ndert_am" {
		t.Errorf("%+v with guard %+v", p, p.Guard)
	}
	if !takes(t, c.Tools[0].Input, `{"patch":"1","ge_ndert_am":"2026-01-01T00:00:00Z","patch_2":{"ge_ndert_am":"x"}}`) {
		t.Errorf("the input is %s", c.Tools[0].Input)
	}
}

func TestWritesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for entry, words := range map[string]string{
		"operations: [create, update], columns: [id, body, created_at], write: { create: [customer_id, author_id, body], update: [body, created_at] }, guard: created_at": `"created_at" is the guard`,
		"operations: [update], columns: [id, body, created_at], write: [body], set: { created_at: { value: 2026-01-01T00:00:00Z } }, guard: created_at":                   `"created_at" is the guard`,
		"operations: [update], columns: [id, body], write: [body], set: { id: { value: 1 } }":                                                                             `"id" is numbered by the database`,
		"operations: [update], columns: [id, body], write: [body, author_id], set: { author_id: claims.sub }":                                                             `"author_id" is in set`,
		"operations: [create, update], columns: [id, body], write: [customer_id, author_id, body, request_id], dedupe: request_id":                                        `"request_id" is the column of dedupe`,
		"operations: [create], write: [customer_id, author_id, body], set: { request_id: claims.sub }, dedupe: request_id":                                                `"request_id" is the column of dedupe`,
		"operations: [create], write: [customer_id, author_id, body], dedupe: author_id":                                                                                  `nothing says that "author_id" alone is unique`,
		"operations: [create], write: [customer_id, author_id, body], dedupe: id":                                                                                         "the database fills",
		"operations: [create], write: [customer_id, body]":                                                                                                                "needs a value in author_id",
		"operations: [update, delete], columns: [id, body], write: [body], guard: created_at":                                                                             "callers must see it",
		"operations: [update], columns: [id, body], write: [body], guard: id":                                                                                             "part of the key",
		"operations: [update], columns: [id, body], write: []":                                                                                                            "nothing may be written",
		"operations: [update], write: { body: { minimum: 1 } }":                                                                                                           "does not fit the column",
		"operations: [update], write: { body: { enum: [] } }":                                                                                                             "enum lists nothing",
		"operations: [update], write: { body: { required: yes } }":                                                                                                        "true or false",
		"operations: [update], write: { create: [body] }":                                                                                                                 "create is not among the operations of this table",
		"operations: [update, delete], write: { update: [body], delete: [body] }":                                                                                         "write belongs to create and update, not to delete",
		"operations: [update], write: { update: }":                                                                                                                        "update is empty",
		"operations: [update], write: [body], set: {}":                                                                                                                    "empty mapping",
		"operations: [update], write: [body], set: { update: {} }":                                                                                                        "empty mapping",
		"operations: [update], write: [body], set: { author_id: { claim: sub, value: 1 } }":                                                                               "one source",
		"operations: [update], write: [body], set: { author_id: {} }":                                                                                                     "one source",
		"operations: [update], write: [body], set: { author_id: claims }":                                                                                                 "not where a value comes from",
		"operations: [update], write: [body], set: { author_id: 'claims.' }":                                                                                              "empty name",
		"operations: [update], write: [body], set: { author_id: claims.User_Metadata.id }":                                                                                "written by users themselves",
		"operations: [update], write: [body], set: { author_id: { claim: [a, user_metadata] } }":                                                                          "written by users themselves",
		"operations: [update], write: [body], set: { author_id: { context: raw_user_meta_data.x } }":                                                                      "written by users themselves",
		"operations: [update], write: [body], set: { author_id: context.user }":                                                                                           "does not say where it comes from",
		"operations: [update], write: [body], set: { author_id: { value: nobody } }":                                                                                      "does not fit",
		"operations: [update], write: [body], set: { author_id: { value: null } }":                                                                                        "never null",
		"operations: [update], write: [body], guard: {}":                                                                                                                  "empty mapping",
		"operations: [update, create], write: [body, customer_id, author_id], guard: { create: created_at }":                                                              "guard belongs to update and delete",
		"operations: [delete], columns: [id, created_at], filters: { id: eq }, max_affected: 5, guard: created_at":                                                        "leave one of the two out",
		"operations: [delete], columns: [id, created_at], filters: { id: eq }, max_affected: 5, guard: { delete: created_at }":                                            "leave one of the two out",
		"operations: [delete], columns: [id], max_affected: 5":                                                                                                            "there are none: write filters",
		"operations: [delete], filters: { id: { operators: [eq], hidden_ok: true } }, max_affected: 5":                                                                    "max_affected needs columns",
		"operations: [delete], columns: [id], filters: { id: eq }, max_affected: 0":                                                                                       "from 1 to 1000",
		"operations: [delete], columns: [id], filters: { id: eq }, max_affected: 1001":                                                                                    "from 1 to 1000",
		"operations: [delete], columns: [id], filters: { id: eq }, max_affected: {}":                                                                                      "empty mapping",
		"operations: [list, delete]":          "columns is missing",
		"operations: [upsert], columns: [id]": "not yet supported",
	} {
		b := Build(writeFile("table: notes, "+entry), loadSnapshot(t), known())
		said := slices.ContainsFunc(b.Problems, func(p Problem) bool {
			return p.Severity == SeverityError && p.Line == 5 && strings.Contains(p.Message, words)
		})
		if b.Compiled != nil || !said {
			t.Errorf("%s: compiled %t, %v", entry, b.Compiled != nil, b.Problems)
		}
	}
}

// TestDedupeNeedsAKeyOverItsColumnAlone: a key that holds only for some rows,
// or for several columns together, lets a second row in.
func TestDedupeNeedsAKeyOverItsColumnAlone(t *testing.T) {
	t.Parallel()
	const entry = "table: notes, operations: [create], write: [customer_id, author_id, body], dedupe: request_id"
	request := IndexSchema{Name: "x", Method: "btree", Unique: true, Keys: []IndexTerm{{Column: "request_id"}}}
	for name, c := range map[string]struct {
		edit func(r *RelationSchema)
		want string
	}{
		"a constraint": {func(*RelationSchema) {}, "notes_request_id_key"},
		"an index":     {func(r *RelationSchema) { r.Unique, r.Indexes = nil, []IndexSchema{request} }, "x"},
		"the primary key": {func(r *RelationSchema) {
			r.PrimaryKey = []string{"request_id"}
			r.Unique, r.Indexes = nil, []IndexSchema{request}
		}, "x"},
		"no key":              {func(r *RelationSchema) { r.Unique, r.Indexes = nil, nil }, ""},
		"a partial index":     {func(r *RelationSchema) { i := request; i.Partial = true; r.Unique, r.Indexes = nil, []IndexSchema{i} }, ""},
		"an index not unique": {func(r *RelationSchema) { i := request; i.Unique = false; r.Unique, r.Indexes = nil, []IndexSchema{i} }, ""},
		"an index of two": {func(r *RelationSchema) {
			i := request
			i.Keys = append(i.Keys[:1:1], IndexTerm{Column: "id"})
			r.Unique, r.Indexes = nil, []IndexSchema{i}
		}, ""},
		"a constraint of two": {func(r *RelationSchema) {
			r.Unique, r.Indexes = []UniqueKey{{Name: "y", Columns: []string{"request_id", "id"}}}, nil
		}, ""},
		"an expression beside": {func(r *RelationSchema) {
			i := request
			i.Keys = append([]IndexTerm{{}}, i.Keys...)
			r.Unique, r.Indexes = nil, []IndexSchema{i}
		}, ""},
	} {
		snap := loadSnapshot(t)
		c.edit(relationOf(t, snap, "notes"))
		b := Build(writeFile(entry), snap, known())
		if (b.Compiled != nil) != (c.want != "") {
			t.Errorf("%s: %v", name, b.Problems)
			continue
		}
		if b.Compiled == nil {
			continue
		}
		if d := b.Compiled.Tools[0].Create.Dedupe; d == nil || !slices.Equal(d.Constraints, []string{c.want}) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestAGuardKeepsMicroseconds: a time that keeps less would not move between
// two changes within its unit, and the second would win unseen.
func TestAGuardKeepsMicroseconds(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	if c := relationOf(t, snap, "articles").column("checked_at"); c == nil || !c.Coarse || relationOf(t, snap, "customers").column("updated_at").Coarse {
		t.Fatalf("the snapshot does not tell how exact times are: %+v", c)
	}
	relationOf(t, snap, "customers").column("updated_at").Coarse = true
	for _, operation := range []string{"update", "delete"} {
		file := "version: 1\ntitle: T\naccess: { mode: bearer }\ntools:\n  - { table: customers, operations: [" + operation + "], columns: [id, updated_at], guard: updated_at"
		if operation == "update" {
			file += ", write: [name]"
		}
		b := Build([]byte(file+" }\n"), snap, known())
		if b.Compiled != nil || !strings.Contains(fmt.Sprint(b.Problems), "alter column updated_at type timestamptz;") {
			t.Errorf("%s: %v", operation, b.Problems)
		}
	}
}
