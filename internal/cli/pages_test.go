package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// printed finds commands where pages print them: a line of a block, or a span
// of code in prose.
var printed = regexp.MustCompile("(?m)(?:^[ ]*(?:\\$ )?|`)(chumbo [^`\\n]+)")

// TestPagesPrintCommandsThatAreThere: every command and flag that a page tells
// people to type.
func TestPagesPrintCommandsThatAreThere(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range printed.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(m[1], " #")
			checked++
			words := strings.Fields(line)
			root := newRoot(Environment{}, &printer{})
			command, _, err := root.Find(words[1:])
			if err != nil || command == root {
				t.Errorf("%s prints %q: there is no such command", page, line)
				continue
			}
			for _, word := range words {
				name, isFlag := strings.CutPrefix(word, "--")
				name, _, _ = strings.Cut(name, "=")
				if isFlag && command.Flags().Lookup(name) == nil && command.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%s prints %q: chumbo %s has no --%s", page, line, command.Name(), name)
				}
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d commands were found", checked)
	}
}
