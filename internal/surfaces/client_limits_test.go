package surfaces

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestClientLimitsAreWarnedOfByLine(t *testing.T) {
	t.Parallel()
	file := func(instructions, tools string) string {
		return "version: 1\ntitle: T\ninstructions: " + instructions + "\naccess: { mode: oauth, authorization: direct }\ntools:\n" + tools
	}
	greet := func(name string) string {
		return "  - { rpc: greet, tool: " + name + ", title: " + name + ", description: Says " + name + " }\n"
	}
	var many strings.Builder
	for i := range 129 {
		many.WriteString(greet(fmt.Sprintf("greet_%d", i)))
	}
	for name, c := range map[string]struct {
		file  string
		line  int
		words string // empty: nothing is said
	}{
		"a good name":       {file("Hi.", greet(strings.Repeat("n", 40))), 0, ""},
		"a long name":       {file("Hi.", greet(strings.Repeat("n", 45))), 6, "45 characters long, and clients put the server's before it: Cursor leaves the tool out where that is over 15, Gemini CLI cuts the name in its middle where that is over 13; 40 or fewer is safe"},
		"the longest name":  {file("Hi.", greet(strings.Repeat("n", 64))), 6, "before it: Cursor leaves the tool out, Gemini CLI cuts the name in its middle; 40"},
		"good instructions": {file(strings.Repeat("é", 512), greet("a")), 0, ""},
		"long instructions": {file(strings.Repeat("é", 513), greet("a")), 3, "513 characters long, and Codex reads the first 512"},
		"many tools":        {file("Hi.", many.String()), 134, "VS Code takes 128"},
	} {
		b := Build([]byte(c.file), loadSnapshot(t), known())
		if b.Compiled == nil {
			t.Fatalf("%s: %v", name, b.Problems)
		}
		if c.words == "" && len(b.Problems) > 0 || c.words != "" && !mentions(b.Problems, c.line, c.words) {
			t.Errorf("%s: %v", name, b.Problems)
		}
	}
}

func TestClientLimitsCountWhatClientsCount(t *testing.T) {
	t.Parallel()
	tool := func(n int) []string { return []string{"short", strings.Repeat("n", n)} }
	for _, l := range ClientLimits() {
		switch l.Of {
		case LimitTool:
			if l.Exceeded("a long name of a server", "", tool(l.Most)) || !l.Exceeded("", "", tool(l.Most+1)) {
				t.Errorf("%s: %s", l.Client, l.Of)
			}
		case LimitServerAndTool:
			if left := l.Most - l.Around - 4; l.Exceeded("acme", "", tool(left)) || !l.Exceeded("acme", "", tool(left+1)) || !l.Exceeded("acme2", "", tool(left)) {
				t.Errorf("%s: %s", l.Client, l.Of)
			}
		case LimitTools:
			if l.Exceeded("", "", make([]string, l.Most)) || !l.Exceeded("", "", make([]string, l.Most+1)) {
				t.Errorf("%s: %s", l.Client, l.Of)
			}
		case LimitInstructions:
			if l.Exceeded("", strings.Repeat("é", l.Most), nil) || !l.Exceeded("", strings.Repeat("é", l.Most+1), nil) {
				t.Errorf("%s: %s", l.Client, l.Of)
			}
		default:
			t.Errorf("%s bounds %q", l.Client, l.Of)
		}
	}
}

func TestPageOfClientsListsTheLimits(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/client-compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Limits\n")
	if !found {
		t.Fatal("there is no section Limits")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| (\d+) \| (\d*) ?\| ([^|]+) \|$`).FindAllStringSubmatch(section, -1) {
		rows = append(rows, strings.Join(m[1:], "|"))
	}
	var want []string
	for _, l := range ClientLimits() {
		around := ""
		if l.Around > 0 {
			around = strconv.Itoa(l.Around)
		}
		want = append(want, strings.Join([]string{l.Client, l.Of, strconv.Itoa(l.Most), around, l.Beyond}, "|"))
		if !strings.Contains(string(page), "\n| "+l.Client+" | ") {
			t.Errorf("%s is not in the table of clients", l.Client)
		}
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("the page lists\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

func TestPageOfClientsListsWhatTheyDoWithAuthoredSchemas(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/client-compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n### Authored schemas\n")
	if !found {
		t.Fatal("there is no section Authored schemas")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows, want []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(section, -1)[1:] {
		rows = append(rows, strings.Join(m[1:], "|"))
	}
	for _, l := range AuthoredLimits() {
		want = append(want, strings.Join([]string{l.Client, l.Of, l.Beyond}, "|"))
		if !strings.Contains(string(page), "\n| "+l.Client+" | ") {
			t.Errorf("%s is not in the table of clients", l.Client)
		}
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("the page lists\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}
