package surfaces

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/docs"
)

func TestExamplesInTheDocsCompile(t *testing.T) {
	t.Parallel()
	names, err := docs.Pages()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := docs.ExamplesOf("../README.md", string(readme))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		more, err := docs.Examples(name)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, more...)
	}
	if len(examples) < 10 {
		t.Errorf("only %d examples were found", len(examples))
	}
	for _, e := range examples {
		if got, problems := Compile([]byte(e.File), loadSnapshot(t), known()); got == nil {
			t.Errorf("%s:\n%s\n%v", e, e.File, problems)
		}
	}
}

// calledExamples are the examples of the surface file's page that have calls;
// a test of the demo makes them. Those about access are tried by its tests of
// the ways in.
func calledExamples(t *testing.T) string {
	t.Helper()
	examples, err := docs.Examples("surface-file.md")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range examples {
		if len(e.Calls) > 0 {
			texts = append(texts, e.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func TestSurfaceFilePageShowsEveryKey(t *testing.T) {
	t.Parallel()
	examples := calledExamples(t)
	for _, k := range []keys{
		fileKeys, accessKeys, introspectionKeys, functionKeys, publicKeys, scopesFromKeys, requiredRolesKeys, allowKeys, tableKeys, rpcKeys,
		filterKeys, orderKeys, limitKeys, searchKeys, embedKeys, writeKeys, setKeys, guidanceKeys, operationKeys, annotationKeys, argumentKeys, inputKeys, propertyKeys,
		edgeKeys, storageKeys, questionKeys, fileOperations, schemaKeys,
		resourceKeys["text"], resourceKeys["blob"], rowsKeys, resourceKeys["storage"], resourceKeys["function"], columnKeys,
		promptKeys, promptFunctionKeys, promptArgumentKeys, messageKeys, imageKeys,
	} {
		for _, key := range k.known {
			if !regexp.MustCompile(`(?m)(^|[\s{,])` + regexp.QuoteMeta(key) + `:`).MatchString(examples) {
				t.Errorf("docs/surface-file.md has no example of the key %s with a call below it", key)
			}
		}
	}
	for _, operator := range filterOperators {
		if !slices.Contains(regexp.MustCompile(`\w+`).FindAllString(examples, -1), operator) {
			t.Errorf("docs/surface-file.md has no example of the operator %s", operator)
		}
	}
}
