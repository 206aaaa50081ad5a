package surfaces

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Parse reads a surface file and applies every default. It returns all
// problems it finds, by line; the file is nil only when nothing of it can be
// read. What needs the database is the compiler's to check.
func Parse(src []byte) (*File, []Problem) {
	r := &reader{}
	root := r.document(src)
	if root == nil {
		return nil, r.sorted()
	}
	file := r.file(root)
	return file, r.sorted()
}

// coreTags are the tags that plain and quoted values resolve to by themselves.
var coreTags = []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!map", "!!seq", "!!merge", ""}

// document reads the one YAML document of src, within limits and without the
// parts of YAML that make a file mean something else than it shows.
func (r *reader) document(src []byte) *yaml.Node {
	start := place{line: 1, column: 1}
	if len(src) > MaxFileBytes {
		r.errorf(start, "the file is %d bytes; at most %d (256 KiB)", len(src), MaxFileBytes)
		return nil
	}
	if !utf8.Valid(src) {
		r.errorf(firstInvalid(src), "the file is not UTF-8")
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		r.errorf(start, "the file cannot be read as YAML")
		return nil
	}
	var doc yaml.Node
	if err := loader.Load(&doc); err != nil {
		r.syntax(err)
		return nil
	}
	var second yaml.Node
	if err := loader.Load(&second); err == nil {
		r.errorf(nodeAt(&second, ""), "a second YAML document starts here; a surface file is one document")
	} else if !errors.Is(err, io.EOF) {
		r.syntax(err)
		return nil
	}
	if len(doc.Content) != 1 {
		r.errorf(start, "the file is empty; start with version: %d", FileVersion)
		return nil
	}
	if !r.plain(doc.Content[0], "", 1) {
		return nil
	}
	return doc.Content[0]
}

func (r *reader) syntax(err error) {
	if errors.Is(err, io.EOF) {
		r.errorf(place{line: 1, column: 1}, "the file is empty; start with version: %d", FileVersion)
		return
	}
	at, message := place{line: 1, column: 1}, "cannot be read"
	var load *yaml.LoadError
	if errors.As(err, &load) {
		message = load.Message
		if load.ContextMsg != "" {
			message = load.ContextMsg + ": " + message
		}
		if load.Mark.Line > 0 {
			at = place{line: load.Mark.Line, column: max(1, load.Mark.Column)}
		}
	}
	r.errorf(at, "not valid YAML: %s", message)
}

// plain reports what of YAML a surface file may not use, and returns false
// when the file is too deep to go on.
func (r *reader) plain(n *yaml.Node, path string, depth int) bool {
	if depth > MaxFileDepth {
		r.errorf(nodeAt(n, path), "nested more than %d levels deep", MaxFileDepth)
		return false
	}
	at := nodeAt(n, path)
	if n.Kind == yaml.AliasNode {
		r.errorf(at, "aliases (*%s) are not allowed: write the value out", n.Value)
		return true
	}
	if n.Anchor != "" {
		r.errorf(at, "anchors (&%s) are not allowed: write the value out where it is used", n.Anchor)
	}
	if n.Style&yaml.TaggedStyle != 0 || !slices.Contains(coreTags, n.Tag) {
		r.errorf(at, "tags (%s) are not allowed", n.Tag)
	}
	if n.Kind == yaml.MappingNode {
		return r.plainMapping(n, path, depth)
	}
	for i, child := range n.Content {
		if !r.plain(child, fmt.Sprintf("%s[%d]", path, i), depth+1) {
			return false
		}
	}
	return true
}

func (r *reader) plainMapping(n *yaml.Node, path string, depth int) bool {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := nodeAt(key, path)
		switch {
		case key.Tag == "!!merge":
			r.errorf(at, "merge keys (<<) are not allowed: write the keys out")
		case !isStringKey(key):
			r.errorf(at, "keys must be text: put quotes around it if it is meant as a name")
		case first[key.Value] > 0:
			r.errorf(nodeAt(key, join(path, key.Value)), "the key %s is given twice; the first is on line %d", quoteName(key.Value), first[key.Value])
		default:
			first[key.Value] = key.Line
		}
		if key.Kind != yaml.ScalarNode {
			if !r.plain(key, path, depth+1) {
				return false
			}
		} else if key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
			r.plain(key, path, depth+1)
		}
		if !r.plain(value, join(path, key.Value), depth+1) {
			return false
		}
	}
	return true
}

func firstInvalid(src []byte) place {
	at := place{line: 1, column: 1}
	for len(src) > 0 {
		c, size := utf8.DecodeRune(src)
		if c == utf8.RuneError && size == 1 {
			return at
		}
		at.column++
		if c == '\n' {
			at.line, at.column = at.line+1, 1
		}
		src = src[size:]
	}
	return at
}

// file reads the root.
func (r *reader) file(n *yaml.Node) *File {
	f := &File{Version: FileVersion}
	m, ok := r.mapping(n, nodeAt(n, ""), "a surface file", fileKeys)
	if !ok {
		return f
	}
	r.version(m)
	if f.Title, ok = m.text("title", ruleTitle); !ok && !m.given("title") {
		r.errorf(m.at, "title is missing: say in a few words what people connect to")
	}
	f.Instructions, _ = m.text("instructions", ruleProse)
	if access, at, ok := m.get("access"); ok {
		f.Access = r.access(access, at)
	} else if !m.given("access") {
		r.errorf(m.at, "access is missing: write access: { mode: oauth, authorization: bridge }")
	}
	f.Context, f.Authorizer = r.function(m, "context"), r.function(m, "authorizer")
	if items, at, ok := m.items("tools"); ok {
		f.Tools = r.tools(items, at)
	}
	if items, at, ok := m.items("resources"); ok {
		f.Resources = r.resources(items, at)
	}
	if items, at, ok := m.items("prompts"); ok {
		f.Prompts = r.prompts(items, at)
	}
	r.count(m, f)
	return f
}

// count bounds what a surface offers together.
func (r *reader) count(m mapping, f *File) {
	tools := 0
	for _, t := range f.Tools {
		tools += t.capabilities()
	}
	others := len(f.Resources) + len(f.Prompts)
	if tools > MaxCapabilities || others == 0 || tools+others <= MaxCapabilities {
		return // said already, or nothing to say
	}
	r.errorf(m.at, "%d tools, resources and prompts; at most %d in one surface: split them over several surfaces", tools+others, MaxCapabilities)
}

func (m mapping) given(key string) bool {
	_, ok := m.entries[key]
	return ok
}

func (r *reader) version(m mapping) {
	if !m.given("version") {
		r.errorf(m.at, "version is missing: write version: %d as the first line", FileVersion)
		return
	}
	n, at, ok := m.get("version")
	if ok && (n.Kind != yaml.ScalarNode || n.Style != 0 || n.Value != "1") {
		r.errorf(at, "this version reads surface files of version %d only", FileVersion)
	}
}
