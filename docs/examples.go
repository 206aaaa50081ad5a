// Package docs reads the examples of its own pages, for the tests that publish
// and call them. Nothing else imports it.
package docs

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.md
var pages embed.FS

// Example is a block of YAML on a page, and the calls that stand below it.
type Example struct {
	Page  string // such as surface-file.md
	Line  int    // of the page, where the block begins
	Text  string
	File  string // a whole surface file with the example in its place
	Calls []Call
}

// String says where the example stands.
func (e Example) String() string { return fmt.Sprintf("docs/%s:%d", e.Page, e.Line) }

// Call is a call as a client sends it: of a tool by Name, of a prompt by Prompt,
// a read of URI, or what Argument of Ref is suggested.
type Call struct {
	Name      string          `json:"name"`
	Prompt    string          `json:"prompt"`
	Arguments json.RawMessage `json:"arguments"`
	URI       string          `json:"uri"`
	Ref       json.RawMessage `json:"ref"`
	Argument  json.RawMessage `json:"argument"`
}

// Request is the call's method and parameters.
func (c Call) Request() (method string, params map[string]any) {
	switch {
	case c.Prompt != "":
		return "prompts/get", map[string]any{"name": c.Prompt, "arguments": c.Arguments}
	case c.URI != "":
		return "resources/read", map[string]any{"uri": c.URI}
	case len(c.Ref) > 0:
		return "completion/complete", map[string]any{"ref": c.Ref, "argument": c.Argument}
	}
	return "tools/call", map[string]any{"name": c.Name, "arguments": c.Arguments}
}

// callBegins are how the lines of a block of calls begin.
var callBegins = []string{`{ "name":`, `{ "prompt":`, `{ "uri":`, `{ "ref":`}

// block finds fenced blocks, also where they are indented as part of a list.
var block = regexp.MustCompile("(?ms)^([ ]*)```(ya?ml|json)\n(.*?)^[ ]*```$")

// Pages are the names of all pages.
func Pages() ([]string, error) {
	entries, err := pages.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Examples reads the examples of a page.
func Examples(page string) ([]Example, error) {
	text, err := pages.ReadFile(page)
	if err != nil {
		return nil, err
	}
	return ExamplesOf(page, string(text))
}

// ExamplesOf reads the examples of a page's text. A JSON block belongs to the
// YAML block before it when its lines are calls; other JSON is left alone.
func ExamplesOf(page, text string) ([]Example, error) {
	var examples []Example
	for _, m := range block.FindAllStringSubmatchIndex(text, -1) {
		line := 1 + strings.Count(text[:m[0]], "\n")
		body := strings.TrimPrefix(strings.ReplaceAll("\n"+text[m[6]:m[7]], "\n"+text[m[2]:m[3]], "\n"), "\n")
		if text[m[4]:m[5]] == "json" {
			calls, err := callsOf(body)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", page, line, err)
			}
			if len(calls) > 0 && len(examples) > 0 {
				last := &examples[len(examples)-1]
				last.Calls = append(last.Calls, calls...)
			}
			continue
		}
		file, err := fileOf(body)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", page, line, err)
		}
		examples = append(examples, Example{Page: page, Line: line, Text: body, File: file})
	}
	return examples, nil
}

func callsOf(text string) ([]Call, error) {
	if !slices.ContainsFunc(callBegins, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return nil, nil
	}
	var calls []Call
	for line := range strings.Lines(text) {
		var c Call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return nil, fmt.Errorf("a call on each line: %w", err)
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// fileOf makes a whole surface file of an example that shows a part of one.
func fileOf(example string) (string, error) {
	const (
		head   = "version: 1\ntitle: Example\n"
		access = "access: { mode: oauth, authorization: bridge }\n"
		table  = "tools:\n  - table: customers\n    columns: [id, name, status]\n"
		rpc    = "tools:\n  - rpc: archive_customer\n    description: Archive a customer.\n"
	)
	key, _, _ := strings.Cut(example, ":")
	inTool := "    " + strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n    ") + "\n"
	if strings.HasPrefix(strings.TrimSpace(example), "- ") {
		return head + access + "tools:\n" + example, nil
	}
	switch key {
	case "version":
		return example, nil
	case "access":
		greet := "tools:\n  - rpc: greet\n"
		if strings.Contains(example, "public") {
			greet += "    public: true\n"
		}
		return head + example + greet, nil
	case "tools", "context", "authorizer", "resources", "prompts":
		return head + access + example, nil
	case "filters", "search", "order", "embed", "result":
		return head + access + table + inTool, nil
	case "arguments", "input":
		return head + access + rpc + inTool, nil
	}
	if strings.HasPrefix(example, "#") && strings.Count(strings.TrimSpace(example), "\n") == 0 {
		return example + head + access, nil
	}
	return "", fmt.Errorf("an example that begins with %q: say in package docs what it is a part of", key)
}
