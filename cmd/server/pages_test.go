package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	printed  = regexp.MustCompile("(?m)(?:^[ ]*|`|--rm )server +(-?[a-z][a-z-]*)((?: -[a-z-]+)*)")
	flagName = regexp.MustCompile(`flags\.(?:String|Bool)\("([a-z-]+)"`)
)

// TestPagesPrintCommandsThatAreThere: every subcommand and flag of the server
// that a page tells people to type.
func TestPagesPrintCommandsThatAreThere(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, file := range []string{"run.go", "password.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range flagName.FindAllStringSubmatch(string(source), -1) {
			known["-"+m[1]] = true
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, "../../README.md", "../../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range printed.FindAllStringSubmatch(string(text), -1) {
			checked++
			words := append([]string{m[1]}, strings.Fields(m[2])...)
			for _, word := range words {
				if !known[word] && !strings.Contains(usage, "server "+word+" ") {
					t.Errorf("%s prints server %s%s: there is no %s", page, m[1], m[2], word)
				}
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d commands were found", checked)
	}
}
