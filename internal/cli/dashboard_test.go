package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// typed finds commands where a page of the dashboard shows them.
var typed = regexp.MustCompile(`(?:[">]|\\n|&& )(chumbo [^"<\\&]+)`)

// TestDashboardPrintsCommandsThatAreThere: every command and flag that a page
// of the dashboard tells people to type.
func TestDashboardPrintsCommandsThatAreThere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../web/*.templ")
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages: %v %v", pages, err)
	}
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range typed.FindAllStringSubmatch(string(text), -1) {
			checked++
			root := newRoot(Environment{}, &printer{})
			command, _, err := root.Find(strings.Fields(m[1])[1:])
			if err != nil || command == root {
				t.Errorf("%s prints %q: there is no such command", page, m[1])
				continue
			}
			for _, word := range strings.Fields(m[1]) {
				name, isFlag := strings.CutPrefix(word, "--")
				if isFlag && command.Flags().Lookup(name) == nil && command.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%s prints %q: chumbo %s has no --%s", page, m[1], command.Name(), name)
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d commands were found", checked)
	}
}
