package surfaces

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// yamlBlock finds fenced YAML, also where it is indented as part of a list.
var yamlBlock = regexp.MustCompile("(?ms)^([ ]*)```ya?ml\n(.*?)^[ ]*```$")

// yamlExamples are the YAML blocks of a page, without their indentation.
func yamlExamples(t *testing.T, path string) []string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, m := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		examples = append(examples, strings.TrimPrefix(strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n"), "\n"))
	}
	return examples
}

// asFile makes a whole surface file of an example that shows a part of one.
func asFile(t *testing.T, example string) string {
	t.Helper()
	const (
		head   = "version: 1\ntitle: Example\n"
		access = "access: { mode: oauth, authorization: bridge }\n"
		table  = "tools:\n  - table: customers\n    columns: [id, name, status]\n"
		rpc    = "tools:\n  - rpc: archive_customer\n    description: Archive a customer.\n"
	)
	key, _, _ := strings.Cut(example, ":")
	inTool := "    " + strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n    ") + "\n"
	switch key {
	case "version":
		return example
	case "access":
		return head + example
	case "tools", "context", "authorizer":
		return head + access + example
	case "filters", "order", "result":
		return head + access + table + inTool
	case "arguments", "input":
		return head + access + rpc + inTool
	}
	if strings.HasPrefix(example, "#") && strings.Count(strings.TrimSpace(example), "\n") == 0 {
		return example + head + access
	}
	t.Fatalf("an example that begins with %q: say here what it is a part of", key)
	return ""
}

func TestExamplesInTheDocsCompile(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	compiled := 0
	for _, page := range append(pages, "../../README.md") {
		for i, example := range yamlExamples(t, page) {
			file := asFile(t, example)
			if got, problems := Compile([]byte(file), loadSnapshot(t), known()); got == nil {
				t.Errorf("%s, example %d:\n%s\n%v", page, i+1, file, problems)
			}
			compiled++
		}
	}
	if compiled < 10 {
		t.Errorf("only %d examples were found", compiled)
	}
}

func TestSurfaceFilePageShowsEveryKey(t *testing.T) {
	t.Parallel()
	examples := strings.Join(yamlExamples(t, "../../docs/surface-file.md"), "\n")
	for _, k := range []keys{
		fileKeys, accessKeys, introspectionKeys, functionKeys, publicKeys, scopesFromKeys, requiredRolesKeys, allowKeys, tableKeys, rpcKeys, filterKeys, orderKeys, limitKeys, guidanceKeys,
		operationKeys, annotationKeys, argumentKeys, inputKeys, propertyKeys,
	} {
		for _, key := range k.known {
			if !regexp.MustCompile(`(?m)(^|[\s{,])` + regexp.QuoteMeta(key) + `:`).MatchString(examples) {
				t.Errorf("docs/surface-file.md has no example of the key %s", key)
			}
		}
	}
	for _, operator := range filterOperators {
		if !slices.Contains(regexp.MustCompile(`\w+`).FindAllString(examples, -1), operator) {
			t.Errorf("docs/surface-file.md has no example of the operator %s", operator)
		}
	}
}
