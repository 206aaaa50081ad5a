package surfaces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// known are the facts of an ordinary project.
func known() ProjectFacts {
	return ProjectFacts{Signing: SigningAsymmetric, ScopesSupported: []string{"openid", "email", "phone", "profile"}}
}

func TestCompileGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/compile/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b := Build(src, loadSnapshot(t), known())
			if (b.Compiled == nil) != HasErrors(b.Problems) || (b.Compiled == nil) != (b.Digest == "") {
				t.Errorf("compiled %t, errors %t, digest %q do not agree", b.Compiled != nil, HasErrors(b.Problems), b.Digest)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", render(t, b))
		})
	}
}

func render(t *testing.T, b Built) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, p := range b.Problems {
		fmt.Fprintln(&out, p)
	}
	if b.Compiled == nil {
		return out.Bytes()
	}
	raw, err := marshal(b.Compiled)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&out, "digest", b.Digest)
	if err := json.Indent(&out, raw, "", " "); err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), '\n')
}

func TestCompileIsDeterministic(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"full", "refused", "writes", "writes-refused"} {
		src, err := os.ReadFile("testdata/compile/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		first := render(t, Build(src, loadSnapshot(t), known()))
		for range 6 {
			if again := render(t, Build(src, loadSnapshot(t), known())); !bytes.Equal(first, again) {
				t.Fatalf("%s compiles differently: %s", name, firstDifference(first, again))
			}
		}
	}
}

// compiledCorpus is compiled once for all tests that look at its tools.
var compiledCorpus struct {
	once  sync.Once
	tools []Tool
}

// compileAll compiles every accepted file of the corpus. The tools are shared:
// nobody writes to them.
func compileAll(t *testing.T) []Tool {
	t.Helper()
	compiledCorpus.once.Do(func() { compiledCorpus.tools = compileCorpus(t) })
	if len(compiledCorpus.tools) == 0 {
		t.Fatal("the corpus did not compile")
	}
	return compiledCorpus.tools
}

func compileCorpus(t *testing.T) []Tool {
	t.Helper()
	files, err := filepath.Glob("testdata/compile/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tools []Tool
	compiled := 0
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, problems := Compile(src, loadSnapshot(t), known())
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if refused := strings.HasSuffix(name, "refused") || name == "later" || name == "syntax"; (c == nil) != refused {
			t.Fatalf("%s: refused %t, %v", name, c == nil, problems)
		}
		if c != nil {
			compiled++
			tools = append(tools, c.Tools...)
		}
	}
	if compiled < 12 {
		t.Errorf("only %d files compiled", compiled)
	}
	return tools
}

func eachSchema(t *testing.T, visit func(tool Tool, what string, raw json.RawMessage)) {
	t.Helper()
	for _, tool := range compileAll(t) {
		if tool.Function == nil || !tool.Function.Authored { // sent as its author wrote it
			visit(tool, "input", tool.Input)
		}
		if len(tool.Output) > 0 {
			visit(tool, "output", tool.Output)
		}
	}
}

func TestField57_RootCombinatorsAreRefusedAndEveryRootIsAnObject(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "if"} {
		src := "version: 1\ntitle: T\naccess: { mode: oauth, authorization: direct }\ntools:\n  - { rpc: touch, description: D., input: { type: object, " + key + ": [] } }\n"
		c, problems := Compile([]byte(src), loadSnapshot(t), known())
		if c != nil || !mentions(problems, 5, key) {
			t.Errorf("%s at the root: compiled %t, problems %v", key, c != nil, problems)
		}
	}
	eachSchema(t, func(tool Tool, what string, raw json.RawMessage) {
		var root map[string]any
		if err := json.Unmarshal(raw, &root); err != nil {
			t.Fatal(err)
		}
		if root["type"] != "object" {
			t.Errorf("%s %s: root type is %v", tool.Name, what, root["type"])
		}
		for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "if"} {
			if _, has := root[key]; has {
				t.Errorf("%s %s has %s at its root", tool.Name, what, key)
			}
		}
		if what == "input" && root["additionalProperties"] != false && tool.Name != "announce" { // its file says so
			t.Errorf("%s takes undeclared arguments", tool.Name)
		}
	})
}

func TestField58_ToolNamesFitEveryClientAndCollisionsAreShown(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/compile/names.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, problems := Compile(src, loadSnapshot(t), known())
	if c == nil {
		t.Fatal(problems)
	}
	var got []string
	for _, tool := range c.Tools {
		if !toolName.MatchString(tool.Name) {
			t.Errorf("tool name %q", tool.Name)
		}
		got = append(got, tool.Name)
	}
	want := "user_events_list user_events_get user_events_get_2 billing_invoices_list_2 billing_invoices_get billing_invoices_list do_thing"
	if strings.Join(got, " ") != want {
		t.Errorf("names are %v, want %s", got, want)
	}
	for _, name := range []string{"user_events_get_2", "billing_invoices_list_2"} {
		if !mentions(problems, 0, name) {
			t.Errorf("the builder is not told about %s: %v", name, problems)
		}
	}
}

func TestField60And61And62_SchemasAreTheSameUnderBothDrafts(t *testing.T) {
	t.Parallel()
	forbidden := []string{"$ref", "$defs", "definitions", "$schema", "$id", "prefixItems", "nullable", "dependentRequired", "unevaluatedProperties", "if", "not", "oneOf", "allOf"}
	operations := map[string]int{}
	defer func() {
		for _, op := range []string{opList, opGet, opCreate, opUpdate, opDelete, opRPC, opFunction, opUpload} {
			if operations[op] < 2 {
				t.Errorf("only %d schemas of %s were looked at", operations[op], op)
			}
		}
	}()
	eachSchema(t, func(tool Tool, what string, raw json.RawMessage) {
		operations[tool.Operation()]++
		if err := CheckSchema(raw); err != nil {
			t.Errorf("%s %s: %v", tool.Name, what, err)
		}
		if len(raw) > 32<<10 {
			t.Errorf("%s %s has %d bytes", tool.Name, what, len(raw))
		}
		var doc any
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		walkSchema(doc, func(s map[string]any) {
			for _, key := range forbidden {
				if _, has := s[key]; has {
					t.Errorf("%s %s uses %s", tool.Name, what, key)
				}
			}
			if _, list := s["type"].([]any); list {
				t.Errorf("%s %s has a list of types", tool.Name, what)
			}
			if s["type"] == "array" && s["items"] == nil {
				t.Errorf("%s %s has an array without items", tool.Name, what)
			}
			properties, _ := s["properties"].(map[string]any)
			for name := range properties {
				if !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name) {
					t.Errorf("%s %s has a property %q", tool.Name, what, name)
				}
			}
			required, _ := s["required"].([]any)
			for _, name := range required {
				if properties[name.(string)] == nil {
					t.Errorf("%s %s requires %v, which it does not have", tool.Name, what, name)
				}
			}
			if what == "output" && tool.onDatabase() {
				for _, key := range []string{"enum", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "additionalProperties"} {
					if _, has := s[key]; has {
						t.Errorf("%s output uses %s, which data could break", tool.Name, key)
					}
				}
			}
		})
	})
}

// walkSchema visits a schema and the schemas in it, not the names of its
// properties.
func walkSchema(v any, visit func(map[string]any)) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	visit(s)
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, p := range properties {
			walkSchema(p, visit)
		}
	}
	walkSchema(s["items"], visit)
	if any, ok := s["anyOf"].([]any); ok {
		for _, a := range any {
			walkSchema(a, visit)
		}
	}
}

func TestField64_ListsAndScalarsHaveObjectRoots(t *testing.T) {
	t.Parallel()
	want := map[string]string{"ids": "items", "greet": "result", "touch": "ok", "summary": "items", "customers_list": "has_more", "pair": "x"}
	eachSchema(t, func(tool Tool, what string, raw json.RawMessage) {
		property, asked := want[tool.Name]
		if what != "output" || !asked {
			return
		}
		var root struct{ Properties map[string]any }
		if err := json.Unmarshal(raw, &root); err != nil {
			t.Fatal(err)
		}
		if root.Properties[property] == nil {
			t.Errorf("%s: the output has no %s: %s", tool.Name, property, raw)
		}
	})
}

func TestField64_TextResultsHaveNoOutputSchema(t *testing.T) {
	t.Parallel()
	for _, tool := range compileAll(t) {
		none := tool.ReadFile != nil || tool.Function != nil && len(tool.Output) == 0 // content, and whatever the function says
		if !none && (tool.Result == ResultText) != (len(tool.Output) == 0) {
			t.Errorf("%s: result %s with output %s", tool.Name, tool.Result, tool.Output)
		}
	}
}

func TestField68_PagesAreBoundedAndStayBelowTheSilentCap(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/compile/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for rows, want := range map[int][2]int{1000: {20, 100}, 101: {20, 100}, 100: {20, 99}, 11: {10, 10}, 2: {1, 1}} {
		snap := loadSnapshot(t)
		snap.MaxRows = rows
		c, problems := Compile(src, snap, known())
		if c == nil {
			t.Fatalf("max_rows %d: %v", rows, problems)
		}
		if p := c.Tools[0].List; p.DefaultLimit != want[0] || p.MaxLimit != want[1] {
			t.Errorf("max_rows %d: limits %d and %d, want %v", rows, p.DefaultLimit, p.MaxLimit, want)
		}
		if c.Tools[0].Budget != DefaultBudget {
			t.Errorf("budget %d", c.Tools[0].Budget)
		}
	}
	snap := loadSnapshot(t)
	snap.MaxRows = 1
	if c, _ := Compile(src, snap, known()); c != nil {
		t.Error("a cap of one row leaves no room for a page, but it compiled")
	}
}

func TestField69_ManyToolsDrawAWarning(t *testing.T) {
	t.Parallel()
	file := func(n int) []byte {
		src := "version: 1\ntitle: T\naccess: { mode: oauth, authorization: direct }\ntools:\n"
		for i := range n {
			src += fmt.Sprintf("  - { rpc: greet, tool: greet_%d, title: Greet %d, description: Greets for the %dth time. }\n", i, i, i)
		}
		return []byte(src)
	}
	if _, problems := Compile(file(40), loadSnapshot(t), known()); len(problems) > 0 {
		t.Errorf("40 tools: %v", problems)
	}
	if c, problems := Compile(file(41), loadSnapshot(t), known()); c == nil || !mentions(problems, 45, "41 tools") {
		t.Errorf("41 tools: %v", problems)
	}
	if c, problems := Compile(file(201), loadSnapshot(t), known()); c != nil || !mentions(problems, 0, "at most 200") {
		t.Errorf("201 tools: %v", problems)
	}
}

func TestField40_DirectOverHS256IsRefusedWithTheStep(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/compile/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	facts := known()
	facts.Signing = SigningHS256
	c, problems := Compile(src, loadSnapshot(t), facts)
	if c != nil {
		t.Fatal("compiled")
	}
	for _, words := range []string{"JWT Keys", "Rotate keys", "check the project again", "authorization: bridge"} {
		if !mentions(problems, 3, words) {
			t.Errorf("the problem does not say %q: %v", words, problems)
		}
	}
	facts = known()
	facts.OAuthOff = true
	if c, problems := Compile(src, loadSnapshot(t), facts); c != nil || !mentions(problems, 3, "OAuth Server") {
		t.Errorf("with the OAuth server off: %v", problems)
	}
}

func TestField76_AnEmptyListNeverMeansEverything(t *testing.T) {
	t.Parallel()
	for _, access := range []string{"mode: []", "mode: oauth, authorization: direct, roles: []", "mode: oauth, authorization: direct, origins: []"} {
		src := "version: 1\ntitle: T\naccess: { " + access + " }\ntools: []\n"
		if c, _ := Compile([]byte(src), loadSnapshot(t), known()); c != nil {
			t.Errorf("accepted: %s", access)
		}
	}
	for _, tool := range []string{"columns: []", "columns: [id], operations: []"} {
		src := "version: 1\ntitle: T\naccess: { mode: oauth, authorization: direct }\ntools:\n  - { table: customers, " + tool + " }\n"
		if c, _ := Compile([]byte(src), loadSnapshot(t), known()); c != nil {
			t.Errorf("accepted: %s", tool)
		}
	}
}

func TestPublicModeAndPublicToolsBelongTogether(t *testing.T) {
	t.Parallel()
	file := func(access, tool string) []byte {
		return []byte("version: 1\ntitle: T\naccess: { " + access + " }\ntools:\n  - { table: announcements, columns: [id, body], " + tool + " }\n")
	}
	const rate = "public: { confirm: true, calls: 60, per: 1m }"
	for name, c := range map[string]struct {
		access, tool, words string
	}{
		"a tool nobody could call":     {"mode: public, " + rate, "public: false", "nobody could call"},
		"a public tool without a mode": {"mode: oauth, authorization: direct", "public: true", "needs public in access.mode"},
		"a public tool with scopes":    {"mode: [oauth, public], authorization: direct, " + rate, "public: true, scopes: [email]", "cannot need scopes"},
		"direct without oauth":         {"mode: public, authorization: direct, " + rate, "public: true", "belongs to mode oauth"},
	} {
		compiled, problems := Compile(file(c.access, c.tool), loadSnapshot(t), known())
		if compiled != nil || !mentions(problems, 0, c.words) {
			t.Errorf("%s: compiled %t, %v", name, compiled != nil, problems)
		}
	}
	if compiled, problems := Compile(file("mode: public, "+rate, "public: true"), loadSnapshot(t), known()); compiled == nil {
		t.Errorf("a public surface is refused: %v", problems)
	}
}

func TestWithoutASnapshotTheBuilderIsToldToImport(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/compile/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if c, problems := Compile(src, nil, known()); c != nil || !mentions(problems, 5, "chumbo import") {
		t.Errorf("compiled %t: %v", c != nil, problems)
	}
}

func TestEveryToolStatesAllItsHints(t *testing.T) {
	t.Parallel()
	want := map[string]Annotations{
		"customers_list":   {ReadOnly: true, Idempotent: true},
		"customers_get":    {ReadOnly: true, Idempotent: true},
		"archive_customer": {Destructive: true, Idempotent: true},
		"summary":          {ReadOnly: true, Idempotent: true},
		"touch":            {Destructive: true},
	}
	seen := 0
	for _, tool := range compileAll(t) {
		if tool.Title == "" || tool.Description == "" {
			t.Errorf("%s has no title or description", tool.Name)
		}
	}
	src, err := os.ReadFile("testdata/compile/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range mustBuild(t, string(src), loadSnapshot(t)).Tools {
		if a, asked := want[tool.Name]; asked {
			seen++
			if tool.Annotations != a {
				t.Errorf("%s: %+v, want %+v", tool.Name, tool.Annotations, a)
			}
		}
	}
	if seen < len(want) {
		t.Errorf("only %d of %d tools were there", seen, len(want))
	}
}

func TestEveryOrderIsTotalAndStatesItsNulls(t *testing.T) {
	t.Parallel()
	orders := 0
	for _, tool := range compileAll(t) {
		if tool.List == nil {
			continue
		}
		for _, o := range tool.List.Orders {
			orders++
			for _, k := range tool.List.Key {
				found := false
				for _, term := range o.Keys {
					found = found || term.Column.Name == k.Name
				}
				if !found {
					t.Errorf("%s: the order %s lacks the key column %s", tool.Name, o.Name, k.Name)
				}
			}
		}
	}
	if orders < 5 {
		t.Errorf("only %d orders were looked at", orders)
	}
}

func TestInputSchemasAcceptLongNumbersAsTextOrInteger(t *testing.T) {
	t.Parallel()
	var get Tool
	for _, tool := range compileAll(t) {
		if tool.Name == "customers_get" {
			get = tool
		}
	}
	schema := compileSchema(t, get.Input)
	for value, fits := range map[string]bool{
		`{"id":"9007199254740993"}`: true, `{"id":9007199254740993}`: true, `{"id":"12x"}`: false,
		`{"id":1.5}`: false, `{}`: false, `{"id":1,"other":2}`: false, `{"id":null}`: false,
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); (err == nil) != fits {
			t.Errorf("%s: fits %t, want %t", value, err == nil, fits)
		}
	}
}

// mentions reports whether a problem has these words, on that line unless it
// is 0.
func mentions(problems []Problem, line int, words string) bool {
	for _, p := range problems {
		if (line == 0 || p.Line == line) && strings.Contains(p.Message, words) {
			return true
		}
	}
	return false
}
