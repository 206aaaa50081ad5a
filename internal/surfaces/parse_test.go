package surfaces

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseReportsEveryProblemByLine(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/compile/syntax.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, problems := Parse(src)
	if len(problems) < 30 {
		t.Errorf("only %d problems", len(problems))
	}
	if !slices.IsSortedFunc(problems, func(a, b Problem) int { return a.Line*1000 + a.Column - b.Line*1000 - b.Column }) {
		t.Error("not sorted by place")
	}
	for _, p := range problems {
		if p.Line < 1 || p.Column < 1 || p.Message == "" {
			t.Errorf("a problem without a place or a text: %+v", p)
		}
	}
}

func TestParseNamesThePlaceInCharactersAndTheNearestName(t *testing.T) {
	t.Parallel()
	src := "version: 1\ntitle: Kundenübersicht\naccess: { mode: oauth, authorization: direct }\ntools:\n  - { \"table\": customers, columns: [id, \"größe\"], shortn: x }\n"
	_, problems := Compile([]byte(src), loadSnapshot(t), known())
	for _, want := range []Problem{
		{Line: 5, Column: 41, Path: "tools[0].columns[1]"},
		{Line: 5, Column: 51, Path: "tools[0].shortn"},
	} {
		if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Line == want.Line && p.Column == want.Column && p.Path == want.Path }) {
			t.Errorf("no problem at %d:%d %s: %v", want.Line, want.Column, want.Path, problems)
		}
	}
	if !mentions(problems, 5, `did you mean "shorten"?`) {
		t.Errorf("no suggestion: %v", problems)
	}
}

func TestParseRefusesWhatMakesYAMLMeanSomethingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, words string }{
		"empty":                  {"", "empty"},
		"comments only":          {"# nothing\n", "empty"},
		"two documents":          {"version: 1\n---\nversion: 1\n", "second YAML document"},
		"an anchor":              {"version: 1\ntitle: &a T\n", "anchors"},
		"an alias":               {"version: 1\ntitle: &a T\ninstructions: *a\n", "aliases"},
		"a merge key":            {"<<: { version: 1 }\n", "merge keys"},
		"a tag":                  {"title: !!str 5\n", "tags"},
		"a local tag":            {"title: !x y\n", "tags"},
		"a duplicate key":        {"version: 1\nversion: 1\n", "given twice"},
		"a number as a key":      {"1: a\n", "keys must be text"},
		"null as a key":          {"~: a\n", "keys must be text"},
		"a list as a key":        {"? [a]\n: b\n", "keys must be text"},
		"broken":                 {"title: [a\n", "not valid YAML"},
		"a list at the root":     {"- a\n", "must be a mapping"},
		"a scalar at the root":   {"hello\n", "must be a mapping"},
		"not UTF-8":              {"title: \xff\n", "not UTF-8"},
		"too deep":               {"tools: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n", "nested more than 32"},
		"far too deep":           {strings.Repeat("[", 50000), "not valid YAML"},
		"too large":              {"title: " + strings.Repeat("a", MaxFileBytes) + "\n", "256 KiB"},
		"a control character":    {"version: 1\ntitle: \"a\\u0007b\"\n", "U+0007"},
		"a bidi character":       {"version: 1\ntitle: \"a\\u202eb\"\n", "U+202E"},
		"an empty value":         {"version: 1\ntitle:\n", "title is empty"},
		"no title":               {"version: 1\n", "title is missing"},
		"no access":              {"version: 1\ntitle: T\n", "authorization: bridge"},
		"another authorization":  {"version: 1\ntitle: T\naccess: { mode: oauth, authorization: supabase }\n", "write authorization: bridge"},
		"an empty authorization": {"version: 1\ntitle: T\naccess: { mode: oauth, authorization: }\n", "authorization is empty"},
	} {
		_, problems := Parse([]byte(c.src))
		if !HasErrors(problems) || !mentions(problems, 0, c.words) {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestParseTakesTheSourceTextWhereAStringIsExpected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"007", "1.10", "yes", "true", "2026-01-01", "0x1F", "1e3", "null"} {
		file, problems := Parse([]byte("version: 1\ntitle: " + text + "\naccess: { mode: oauth, authorization: direct }\n"))
		if len(problems) > 0 || file.Title.Value != text {
			t.Errorf("%s was read as %q: %v", text, file.Title.Value, problems)
		}
	}
	for _, text := range []string{"yes", "on", "1", `"true"`} {
		if _, problems := Parse([]byte("version: 1\ntitle: T\naccess: { mode: oauth, authorization: direct, anonymous_users: " + text + " }\n")); !mentions(problems, 3, "true or false") {
			t.Errorf("%s passes for a boolean", text)
		}
	}
}

func TestNearestNames(t *testing.T) {
	t.Parallel()
	known := []string{"id", "name", "updated_at", "organization_id", "read_only"}
	for given, want := range map[string]string{
		"naem": "name", "Name": "name", "updatedAt": "updated_at", "organisation_id": "organization_id",
		"readOnlyHint": "read_only", "balance": "", "x": "", "": "", "ids": "id",
	} {
		if got := Nearest(given, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", given, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/compile/*.yaml")
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	snap := loadSnapshot(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		file, problems := Parse(src)
		if file == nil && !HasErrors(problems) {
			t.Fatal("nothing was read, and nothing is wrong")
		}
		b := Build(src, snap, known())
		if (b.Compiled == nil) != HasErrors(b.Problems) {
			t.Fatalf("compiled %t with %v", b.Compiled != nil, b.Problems)
		}
		if b.Compiled == nil {
			return
		}
		names := map[string]bool{}
		for _, tool := range b.Compiled.Tools {
			if names[tool.Name] || !toolName.MatchString(tool.Name) {
				t.Fatalf("bad or repeated tool name %q", tool.Name)
			}
			names[tool.Name] = true
		}
	})
}
