// Package docs_test checks the pages themselves.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	notSlug = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors are the fragments that a page's headings can be linked by.
func anchors(page string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		list = append(list, strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}

func TestLinksBetweenPagesResolve(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"*.md", "../*.md", "../examples/crm/*.md"} {
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
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			checked++
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			linked, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if fragment != "" && !slices.Contains(anchors(string(linked)), fragment) {
				t.Errorf("%s links to %s, and there is no such heading", page, m[1])
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d links were found", checked)
	}
}

// TestEveryPageIsNamedInTheReadme: what nobody links, nobody reads.
func TestEveryPageIsNamedInTheReadme(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !strings.Contains(string(readme), "](docs/"+page+")") {
			t.Errorf("the README has no link to docs/%s", page)
		}
	}
}

// named finds paths of this repository where prose names them.
var named = regexp.MustCompile("`((?:cmd|internal|docs|db|web|examples|test)/[A-Za-z0-9_./-]+|\\.[a-z-]+(?:/[a-z]+|\\.[a-z]+))`")

func TestPathsNamedInThePagesAreThere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
}

// saidByOthers are words of clients, which stand in no source of ours.
var saidByOthers = []string{"Couldn't register", "no authorization server", "Authorization failed", "HS256"}

var quoted = regexp.MustCompile(`"([^"` + "`" + `]+)"`)

// TestTroubleshootingQuotesWhatTheProductSays: who looks for the words on the
// screen must find them.
func TestTroubleshootingQuotesWhatTheProductSays(t *testing.T) {
	t.Parallel()
	said := sources(t)
	page, err := os.ReadFile("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(page)) {
		row := strings.Split(line, "|")
		if len(row) < 4 {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(row[1]+row[2], -1) {
			if slices.Contains(saidByOthers, m[1]) {
				continue
			}
			checked++
			for part := range strings.SplitSeq(m[1], "…") {
				if !strings.Contains(said, strings.TrimSpace(part)) {
					t.Errorf("troubleshooting.md quotes %q, which nothing says", m[1])
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d quotations were found", checked)
	}
}

// sources is the text of everything that speaks to people.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, root := range []string{"../internal", "../web", "../cmd"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".templ" {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
