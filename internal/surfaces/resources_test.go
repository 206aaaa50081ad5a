package surfaces

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// readFile is a surface file with one resource or prompt, which stands on line 5.
func readFile(list, entry string) []byte {
	return []byte("version: 1\ntitle: T\naccess: { mode: oauth, authorization: bridge }\n" + list + ":\n  - { " + entry + " }\n")
}

// TestWhatCannotBeReadIsRefused: each entry is good but for the one thing that
// its words name.
func TestWhatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	for entry, words := range map[string]string{
		"uri: \"acme://a/{id}\", table: customer, columns: [id]":                                      "there is no table or view \"customer\"",
		"uri: \"acme://a/{id}\", table: customers, columns: [id, nam]":                                "has no column \"nam\"",
		"uri: \"acme://a/{nr}\", table: customers, columns: [id]":                                     "has no column \"nr\", which is a variable of the uri",
		"uri: \"acme://a/{name}\", table: customers, columns: [id]":                                   "are no key of customers, so they do not find one row (its key is (id)); for all rows that have these values write filters: [name]",
		"uri: \"acme://a/{id}/{name}\", table: customers, columns: [id]":                              "are no key of customers",
		"uri: \"acme://a/{id}\", table: customers, columns: [id], order: id":                          "needs no order",
		"uri: \"acme://a/{id}\", table: customers, columns: [id], limit: 5":                           "needs no limit",
		"uri: \"acme://a/{id}\", table: customers, columns: [id], key: id":                            "needs no key",
		"uri: acme://a, table: customers, columns: [id], filters: [status]":                           "is not a variable of the uri",
		"uri: \"acme://a/{status}\", table: customers, columns: [id], filters: [status]":              "Add it to columns",
		"uri: \"acme://a/{stat}\", table: customers, columns: [id], filters: [stat]":                  "has no column \"stat\"",
		"uri: \"acme://a/{status}/{id}\", table: customers, columns: [id, status], filters: [status]": "{id} of the uri narrows nothing",
		"uri: \"acme://a/{tags}\", table: customers, columns: [id, tags], filters: [tags]":            "the operator eq does not work",
		"uri: acme://a, table: customers, columns: [id], order: tags":                                 "cannot be ordered by",
		"uri: acme://a, table: customers, columns: [id], order: name":                                 "cannot be ordered by \"name\", which is not in columns",
		"uri: acme://a, table: customer_names, columns: [id]":                                         "has no known key",
		"uri: acme://a, storage: document, path: x":                                                   "did you mean \"documents\"?",
		"uri: acme://a, storage: avatars, path: x":                                                    "write public_bucket: true",
		"uri: acme://a, storage: documents, public_bucket: true, path: x":                             "is private",
		"uri: \"acme://a/{uri}\", function: build-report":                                             "no variable can be called that",
		"uri: \"acme://a/{id}\", function: f, complete: { ids: [1] }":                                 "the uri has no variable \"ids\"; did you mean \"id\"?",
		"uri: \"acme://a/{id}\", function: f, complete: { id: { column: id } }":                       "complete needs table",
		"uri: \"acme://a/{id}\", function: f, complete: { id: { table: customer, column: id } }":      "there is no table or view \"customer\"",
		"uri: \"acme://a/{id}\", function: f, complete: { id: { table: customers, column: nr } }":     "has no column \"nr\"",
		"uri: \"acme://a/{id}\", function: f, complete: { id: { table: customers, column: tags } }":   "cannot be suggested",
		"uri: acme://a, text: a, public: true":                                                        "public: true needs public in access.mode",
		"uri: acme://a, text: a, visible: \"no rule(\"":                                               "Syntax",
		"uri: acme://a, text: a, permission: p":                                                       "the file names none",
		"uri: acme://a, text: a, scopes: [openid]":                                                    "identity scopes",
		"uri: acme://a, text: a, aal: aal3":                                                           "unknown aal",
		"uri: acme://a, text: " + strings.Repeat("a", 600) + ", budget: 512":                          "text is 600 bytes, and budget is 512",
		"uri: acme://a, text: { a: b }":                                                               "text must be text, not a mapping",
		"uri: acme://a, text: \"\\u202e\"":                                                            "U+202E",
		"uri: acme://" + strings.Repeat("a", 500) + ", text: a":                                       "at most 500",
		"uri: acme://a, storage: documents, path: /b.txt":                                             "Storage: write path: b.txt",
		"uri: [a], text: a":       "uri must be text",
		"uri: acme://a, texts: a": "did you mean \"text\" instead of \"texts\"?",
	} {
		refusedWith(t, readFile("resources", entry), entry, words)
	}
	for entry, words := range map[string]string{
		"prompt: p, messages: [{ role: user, text: \"{{a}}\" }]":                                                             "the unknown name \"a\"",
		"prompt: p, messages: [{ role: user, text: \"{{b}}\" }]":                                                             "write arguments: [{ name: b, required: true }]",
		"prompt: p, messages: [{ role: user, resource: \"acme://customers/{id}\" }]":                                         "with two braces",
		"prompt: p, arguments: [{ name: week }], messages: [{ role: user, text: \"{{weak}}\" }]":                             "did you mean \"week\"?",
		"prompt: p, messages: [{ role: user, text: \"{{#items}}\" }]":                                                        "only the names of arguments are filled in",
		"prompt: p, messages: [{ role: user, text: \"{{\" }]":                                                                "{{ without }}",
		"prompt: p, messages: [{ role: user, text: \"{{}}\" }]":                                                              "only the names of arguments are filled in",
		"prompt: p, messages: [{ role: user, resource: acme://guide }]":                                                      "is not a resource of this surface",
		"prompt: p, messages: [{ role: user, text: " + strings.Repeat("a", 600) + " }], budget: 512":                         "the messages are 600 bytes",
		"prompt: p, arguments: [{ name: a, type: integer, enum: [1] }], messages: [{ role: user, text: a }]":                 "enum does not fit",
		"prompt: p, arguments: [{ name: a, type: boolean, pattern: x }], messages: [{ role: user, text: a }]":                "pattern does not fit",
		"prompt: p, arguments: [{ name: a, pattern: \"(\" }], messages: [{ role: user, text: a }]":                           "is not a regular expression",
		"prompt: p, arguments: [{ name: a, type: number, format: date }], messages: [{ role: user, text: a }]":               "format does not fit",
		"prompt: p, arguments: [{ name: a, minimum: 1 }], messages: [{ role: user, text: a }]":                               "minimum does not fit",
		"prompt: p, arguments: [{ name: a, type: integer, max_length: 1 }], messages: [{ role: user, text: a }]":             "max_length does not fit",
		"prompt: p, arguments: [{ name: a, type: integer, minimum: 2, maximum: 1 }], messages: [{ role: user, text: a }]":    "its least is 2 and its most 1",
		"prompt: p, arguments: [{ name: a, min_length: 2, max_length: 1 }], messages: [{ role: user, text: a }]":             "its least is 2 and its most 1",
		"prompt: p, arguments: [{ name: a, enum: [] }], messages: [{ role: user, text: a }]":                                 "enum lists nothing",
		"prompt: p, arguments: [{ name: a, enum: [x], complete: [y] }], messages: [{ role: user, text: a }]":                 "\"y\" is suggested, and the argument \"a\" does not take it",
		"prompt: p, arguments: [{ name: a, type: integer, complete: [x] }], messages: [{ role: user, text: a }]":             "does not take it",
		"prompt: p, arguments: [{ name: a, type: boolean, complete: [\"true\", yes] }], messages: [{ role: user, text: a }]": "does not take it",
		"prompt: p, arguments: [{ name: a, complete: { column: id } }], messages: [{ role: user, text: a }]":                 "complete needs table",
		"prompt: p, function: \"a b\"":                                                      "is not the name of an Edge Function",
		"prompt: p, function: f, timeout: 200s":                                             "from 1s to 150s",
		"prompt: p, messages: x":                                                            "messages must be a list",
		"prompt: p, messages: [{ role: user, text: \"\" }]":                                 "must not be empty",
		"prompt: p, messages: [{ role: user, image: { mime_type: image/png, data: [a] } }]": "data must be text",
		"prompt: p, messages: [" + strings.Repeat("{ role: user, text: a }, ", 33) + "]":    "not 33",
		"prompt: p, arguments: [" + listOf(33, func(i int) string { return fmt.Sprintf("{ name: a%d }", i) }) + "], messages: [{ role: user, text: a }]": "33 arguments; at most 32",
		"prompt: p, messages: [{ role: user, text: a }], public: true":                                                                                   "public: true needs public in access.mode",
	} {
		refusedWith(t, readFile("prompts", entry), entry, words)
	}
}

func listOf(n int, make func(i int) string) string {
	list := slices.Repeat([]string{""}, n)
	for i := range list {
		list[i] = make(i)
	}
	return strings.Join(list, ", ")
}

func refusedWith(t *testing.T, src []byte, entry, words string) {
	t.Helper()
	b := Build(src, loadSnapshot(t), known())
	said := false
	for _, p := range b.Problems {
		said = said || p.Severity == SeverityError && p.Line == 5 && strings.Contains(p.Message, words)
	}
	if b.Compiled != nil || !said {
		t.Errorf("%s: compiled %t, %v; want %q", entry, b.Compiled != nil, b.Problems, words)
	}
}

// TestWhatTheRolesMayNotReadIsRefused, with the grant that lets them.
func TestWhatTheRolesMayNotReadIsRefused(t *testing.T) {
	t.Parallel()
	for entry, words := range map[string]string{
		"uri: \"acme://a/{id}\", table: customers, columns: [name]":                                   "grant select (name) on public.customers to authenticated;",
		"uri: acme://a, table: customers, columns: [id, name], order: name":                           "grant select (name) on public.customers to authenticated;",
		"uri: \"acme://a/{x}\", function: f, complete: { x: { table: customers, column: name } }":     "grant select (name) on public.customers to authenticated;",
		"uri: \"acme://a/{id}\", table: customers, columns: [id], complete: { id: { column: name } }": "grant select (name) on public.customers to authenticated;",
	} {
		snap := loadSnapshot(t)
		relationOf(t, snap, "customers").column("name").Select = nil
		if b := Build(readFile("resources", entry), snap, known()); b.Compiled != nil || !mentions(b.Problems, 5, words) {
			t.Errorf("%s: compiled %t, %v", entry, b.Compiled != nil, b.Problems)
		}
		if b := Build(readFile("resources", entry), loadSnapshot(t), known()); b.Compiled == nil {
			t.Errorf("%s: refused with the right: %v", entry, b.Problems)
		}
	}
	snap := loadSnapshot(t)
	relationOf(t, snap, "customers").RLS = false
	for _, entry := range []string{"uri: \"acme://a/{id}\", table: customers, columns: [name]", "uri: \"acme://a/{x}\", function: f, complete: { x: { table: customers, column: name } }"} {
		b := Build(readFile("resources", entry), snap, known())
		if b.Compiled == nil || !mentions(b.Problems, 5, "Row Level Security is off on customers") {
			t.Errorf("%s without Row Level Security: %v", entry, b.Problems)
		}
		if _, blocking := risks(snap, b.Compiled); len(blocking) != 1 {
			t.Errorf("%s publishes over a table without Row Level Security: %v", entry, blocking)
		}
	}
}

// TestResourcesAndPromptsAreOneSurfacesWithItsTools: names, addresses and the
// number of everything together.
func TestResourcesAndPromptsAreOneSurfacesWithItsTools(t *testing.T) {
	t.Parallel()
	head := "version: 1\ntitle: T\naccess: { mode: oauth, authorization: bridge }\n"
	for name, c := range map[string]struct {
		file, words string
		line        int
	}{
		"the same address": {"resources:\n  - { uri: acme://a, text: a }\n  - { uri: acme://a, text: b }\n", "acme://a is declared on line 5 already", 6},
		"an overlap":       {"resources:\n  - { uri: \"acme://{a}/b\", function: f }\n  - { uri: \"acme://a/{b}\", function: f }\n", "acme://a/{b} overlaps with acme://{a}/b on line 5", 6},
		"a file over all":  {"resources:\n  - { uri: acme://f/readme, text: a }\n  - { uri: \"acme://f/{+path}\", storage: documents }\n", "acme://f/{+path} overlaps with acme://f/readme on line 5", 6},
		"a name twice":     {"resources:\n  - { uri: acme://a, name: n, text: a }\n  - { uri: acme://b, name: n, text: b }\n", "the resource name n is taken on line 5", 6},
		"a prompt twice":   {"prompts:\n  - { prompt: a, function: f }\n  - { prompt: a, function: f }\n", "the prompt name a is taken on line 5", 6},
		"one too many": {"tools:\n  - { rpc: greet }\nresources:\n" + strings.ReplaceAll(listOf(199, func(i int) string { return fmt.Sprintf("  - { uri: acme://%d, text: a }\n", i) }), "\n, ", "\n") +
			"prompts:\n  - { prompt: a, function: f }\n", "201 tools, resources and prompts; at most 200", 1},
		"resources alone":                  {"resources:\n" + strings.Repeat("  - { text: a }\n", MaxCapabilities+1), "201 resources; at most 200", 5},
		"prompts alone":                    {"prompts:\n" + strings.Repeat("  - { function: f }\n", MaxCapabilities+1), "201 prompts; at most 200", 5},
		"an argument that may be left out": {"resources:\n  - { uri: \"acme://{a}\", function: f }\nprompts:\n  - { prompt: a, arguments: [{ name: a }], messages: [{ role: user, resource: \"acme://{{a}}\" }] }\n", "write required: true", 7},
		"an address that is one by chance": {"resources:\n  - { uri: acme://a, text: a }\nprompts:\n  - { prompt: a, arguments: [{ name: a, required: true }], messages: [{ role: user, resource: \"acme://{{a}}\" }] }\n", "is not a resource of this surface, whatever", 7},
		"an argument over a text":          {"resources:\n  - { uri: \"acme://a/{b}\", function: f }\nprompts:\n  - { prompt: a, arguments: [{ name: a, required: true }], messages: [{ role: user, resource: \"acme://{{a}}/b\" }] }\n", "is not a resource of this surface, whatever", 7},
	} {
		b := Build([]byte(head+c.file), loadSnapshot(t), known())
		if b.Compiled != nil || !mentions(b.Problems, c.line, c.words) {
			t.Errorf("%s: compiled %t, %v", name, b.Compiled != nil, b.Problems)
		}
	}
	for _, entry := range []string{"uri: \"acme://a/{b}\", function: f, complete: { b: { table: customers, column: id } }", "uri: acme://a, table: customers, columns: [id]", "uri: acme://a, storage: documents, path: a"} {
		if b := Build(readFile("resources", entry), nil, known()); b.Compiled != nil || !mentions(b.Problems, 5, "import") {
			t.Errorf("%s without a schema: compiled %t, %v", entry, b.Compiled != nil, b.Problems)
		}
	}
	b := Build([]byte(head+"resources:\n  - { uri: acme://a, text: a }\n  - { uri: acme:a, text: b }\n  - { uri: acme://b, name: a_3, text: b }\n  - { uri: acme:/a, text: b }\n"), nil, known())
	if b.Compiled == nil {
		t.Fatalf("without a schema: %v", b.Problems)
	}
	var names []string
	for _, r := range b.Compiled.Resources {
		names = append(names, r.Name)
	}
	if !slices.Equal(names, []string{"a", "a_2", "a_3", "a_4"}) || !mentions(b.Problems, 6, "is named a_2") {
		t.Errorf("names %v: %v", names, b.Problems)
	}
}

// TestWhatIsNoListIsSaidOnce: nobody is told that a mapping lists nothing.
func TestWhatIsNoListIsSaidOnce(t *testing.T) {
	t.Parallel()
	b := Build(readFile("resources", "uri: \"acme://{status}\", table: customers, columns: [id, status], filters: { status: [eq] }"), loadSnapshot(t), known())
	if len(b.Problems) != 1 || !mentions(b.Problems, 5, "filters must be a list") {
		t.Errorf("%v", b.Problems)
	}
}

// TestPublicPromptsShowPublicResources, and nothing public needs a scope or a
// second factor.
func TestPublicPromptsShowPublicResources(t *testing.T) {
	t.Parallel()
	file := func(access, resource, prompt string) []byte {
		return []byte("version: 1\ntitle: T\naccess: " + access + "\nresources:\n  - { uri: acme://a, text: a" + resource + " }\nprompts:\n  - { prompt: p, messages: [{ role: user, resource: acme://a }]" + prompt + " }\n")
	}
	const public = "{ mode: public, public: { confirm: true, calls: 60, per: 1m } }"
	const both = "{ mode: [oauth, public], authorization: bridge, public: { confirm: true, calls: 60, per: 1m } }"
	for _, c := range []struct {
		access, resource, prompt, words string
		line                            int
	}{
		{both, "", ", public: true", "the prompt is public, and the resource acme://a is not", 7},
		{public, "", ", public: true", "nobody could read this resource", 5},
		{public, ", public: true", "", "nobody could use this prompt", 7},
		{both, ", public: true, scopes: [crm.read]", "", "a public resource cannot need scopes", 5},
		{both, ", public: true", ", public: true, scopes: [crm.read]", "a public prompt cannot need scopes", 7},
		{both, ", public: true, aal: aal2", "", "a public resource cannot need aal2", 5},
		{both, "", "", "nothing is marked public: true", 3},
		{both, ", public: true", "", "", 0},
	} {
		b := Build(file(c.access, c.resource, c.prompt), nil, known())
		if c.words != "" && !mentions(b.Problems, c.line, c.words) || c.words == "" && len(b.Problems) > 0 {
			t.Errorf("%s%s%s: %v", c.access, c.resource, c.prompt, b.Problems)
		}
	}
	b := Build(readFile("resources", "uri: acme://a, table: customers, columns: [id]"), nil, known())
	if b.Compiled != nil || !mentions(b.Problems, 5, "import its schema first") {
		t.Errorf("rows without a schema: %v", b.Problems)
	}
	b = Build([]byte(strings.Replace(string(readFile("resources", "uri: \"acme://{a}\", function: f, complete: { a: { table: customers, column: id } }")), "mode: oauth, authorization: bridge", "mode: api-key", 1)), loadSnapshot(t), known())
	if !mentions(b.Problems, 5, "verify_jwt = false") || !mentions(b.Problems, 5, "anon may not read") {
		t.Errorf("as anon: %v", b.Problems)
	}
}

// TestResourcesAndPromptsAreInTheDigest, with what they use of the project.
func TestResourcesAndPromptsAreInTheDigest(t *testing.T) {
	t.Parallel()
	digest := func(list, entry string, edit func(s *Snapshot)) string {
		snap := loadSnapshot(t)
		edit(snap)
		b := Build(readFile(list, entry), snap, known())
		if b.Compiled == nil {
			t.Fatalf("%s: %v", entry, b.Problems)
		}
		return b.Digest
	}
	same := func(*Snapshot) {}
	const file = "uri: \"acme://f/{+path}\", storage: documents"
	const column = "uri: \"acme://{a}\", function: f, complete: { a: { table: customers, column: name } }"
	const enum = "uri: \"acme://{a}\", function: f, complete: { a: { table: customers, column: status } }"
	if digest("resources", file, same) != digest("resources", file, func(s *Snapshot) { bucketNamed(s, "avatars").Public = false }) {
		t.Error("another bucket counts")
	}
	if digest("resources", file, same) == digest("resources", file, func(s *Snapshot) { bucketNamed(s, "documents").FileSizeLimit = 5 }) {
		t.Error("its own bucket does not count")
	}
	if digest("resources", column, same) == digest("resources", column, func(s *Snapshot) { relationOf(t, s, "customers").column("name").Type.Name = "varchar" }) {
		t.Error("the column that is suggested does not count")
	}
	if digest("resources", enum, same) == digest("resources", enum, func(s *Snapshot) {
		for i := range s.Enums {
			s.Enums[i].Labels = append(s.Enums[i].Labels, "more")
		}
	}) {
		t.Error("the labels that are suggested do not count")
	}
	if digest("resources", "uri: acme://a, text: a", same) == digest("resources", "uri: acme://a, text: b", same) {
		t.Error("the text does not count")
	}
	if digest("prompts", "prompt: a, messages: [{ role: user, text: a }]", same) == digest("prompts", "prompt: a, messages: [{ role: assistant, text: a }]", same) {
		t.Error("the role does not count")
	}
}

// TestHostileResourcesAreRefusedSoon: many addresses that are alike to the last,
// variables and suggestions without end.
func TestHostileResourcesAreRefusedSoon(t *testing.T) {
	t.Parallel()
	head := "version: 1\ntitle: T\naccess: { mode: oauth, authorization: bridge }\nresources:\n"
	for _, entry := range map[string]func(i int) string{
		"alike": func(i int) string {
			return fmt.Sprintf("  - { uri: \"acme://{a}:%s%d%s:{b}\", function: f }\n", strings.Repeat("a", 400), i, strings.Repeat("b", 40))
		},
		"segments": func(i int) string {
			return fmt.Sprintf("  - { uri: \"acme://%s{b}/%d\", function: f }\n", strings.Repeat("a/", 200), i)
		},
		"variables": func(i int) string {
			return fmt.Sprintf("  - { uri: \"acme://%d/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{+h}\", function: f }\n", i)
		},
		"braces": func(int) string { return "  - { uri: \"acme://" + strings.Repeat("{", 400) + "\", text: a }\n" },
		"suggested": func(i int) string {
			return fmt.Sprintf("  - { uri: \"acme://%d/{a}\", function: f, complete: { a: [%s] } }\n", i, listOf(400, func(j int) string { return fmt.Sprint(j) }))
		},
	} {
		var file strings.Builder
		file.WriteString(head)
		for i := 0; i < 400 && file.Len() < MaxFileBytes-3000; i++ {
			file.WriteString(entry(i))
		}
		_ = Build([]byte(file.String()), loadSnapshot(t), known())
	}
	long := Resource{URI: "acme://{a}:{b}:{c}:{d}/{+e}"}
	uri := "acme://" + strings.Repeat("a:", MaxResourceURI/2-10) + "/x"
	if _, ok := long.Match(uri); !ok {
		t.Error("a long address is not found")
	}
}
