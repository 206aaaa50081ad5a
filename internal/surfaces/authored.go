package surfaces

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// maxExpanded bounds an authored schema with each $ref written out, in schemas:
// so many may be looked at for one value, each time a tool is called.
const maxExpanded = 2_000

// checkAuthored compiles a schema that is sent as its author wrote it, and
// refuses one that could take long to check.
func (c *compiler) checkAuthored(s SchemaText) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.raw))
	if err != nil {
		c.errorf(s.at, "the schema cannot be read: %v", err)
		return
	}
	if err := expanded(doc); err != nil {
		c.errorf(s.at, "%v", err)
		return
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(NoLoader{})
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("tool:schema", doc); err != nil {
		c.errorf(s.at, "the schema is not valid: %s", oneLine(err.Error(), 300))
		return
	}
	_, err = compiler.Compile("tool:schema")
	var invalid *jsonschema.SchemaValidationError
	var why *jsonschema.ValidationError
	switch {
	case err == nil:
	case errors.As(err, &invalid) && errors.As(invalid.Err, &why):
		for len(why.Causes) > 0 {
			why = why.Causes[0]
		}
		at := nodeBelow(s.node, s.at, why.InstanceLocation)
		c.errorf(at, "this is not valid in JSON Schema 2020-12: %s", oneLine(strings.TrimSpace(last(why.Error(), ": ")), 200))
	default:
		c.errorf(s.at, "the schema is not valid: %s", oneLine(err.Error(), 300))
	}
}

// last is what stands behind the last separator.
func last(s, separator string) string {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[i+len(separator):]
	}
	return s
}

// nodeBelow is where a value stands in a file, by the names that lead to it.
func nodeBelow(n *yaml.Node, at place, path []string) place {
	for _, name := range path {
		next := (*yaml.Node)(nil)
		if i, err := strconv.Atoi(name); n.Kind == yaml.SequenceNode && err == nil && i < len(n.Content) {
			next, at.path = n.Content[i], fmt.Sprintf("%s[%d]", at.path, i)
		}
		for i := 0; isMapping(n) && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				next, at.path = n.Content[i+1], join(at.path, name)
			}
		}
		if next == nil {
			return at
		}
		n, at = next, nodeAt(next, at.path)
	}
	return at
}

// expanded refuses a schema that refers to itself, and one that is very large
// once each reference is written out: checking a value could then take time
// without end.
func expanded(root any) error {
	e := &expansion{root: root, anchors: map[string]string{}, sizes: map[string]int{}, open: map[string]bool{}}
	e.findAnchors(root, "")
	n, err := e.size(root, "")
	if err == nil && n > maxExpanded {
		err = fmt.Errorf("the schema has more than %d schemas in it once each $ref is written out: checking a call would take too long", maxExpanded)
	}
	return err
}

type expansion struct {
	root    any
	anchors map[string]string // to pointers
	sizes   map[string]int    // by pointer
	open    map[string]bool   // being sized
}

// inside calls visit for each schema directly inside of one.
func inside(s map[string]any, visit func(keyword, pointer string, schema any)) {
	for _, key := range schemaKeywords {
		if sub, given := s[key]; given {
			visit(key, "/"+key, sub)
		}
	}
	for _, key := range schemaListKeywords {
		list, _ := s[key].([]any)
		for i, sub := range list {
			visit(key, fmt.Sprintf("/%s/%d", key, i), sub)
		}
	}
	for _, key := range schemaMapKeywords {
		named, _ := s[key].(map[string]any)
		for name, sub := range named {
			visit(key, "/"+key+"/"+escapePointer(name), sub)
		}
	}
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func (e *expansion) findAnchors(v any, pointer string) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := s[key].(string); ok {
			e.anchors[name] = pointer
		}
	}
	inside(s, func(_, below string, schema any) { e.findAnchors(schema, pointer+below) })
}

// size is how many schemas there are in a schema, references written out.
// Definitions count where they are referred to.
func (e *expansion) size(v any, pointer string) (int, error) {
	s, ok := v.(map[string]any)
	if !ok {
		return 1, nil
	}
	if n, done := e.sizes[pointer]; done {
		return n, nil
	}
	if e.open[pointer] {
		return 0, errors.New("the schema refers to itself, so checking a call could take time without end: write out as many levels as are needed")
	}
	for _, key := range []string{"$id", "$dynamicRef", "$recursiveRef"} {
		if s[key] != nil && (pointer != "" || key != "$id") {
			return 0, fmt.Errorf("the schema has %s where a $ref leads: it cannot be checked when the file is published", key)
		}
	}
	e.open[pointer] = true
	defer delete(e.open, pointer)
	n := 1
	var err error
	add := func(v any, pointer string) {
		if err != nil || n > maxExpanded {
			return
		}
		var more int
		if more, err = e.size(v, pointer); err == nil {
			n += more
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		target, to, found := e.resolve(ref)
		if !found {
			return 0, fmt.Errorf("the $ref %s leads nowhere", quoteName(ref))
		}
		add(target, to)
	}
	inside(s, func(keyword, below string, schema any) {
		if !slices.Contains([]string{"$defs", "definitions"}, keyword) {
			add(schema, pointer+below)
		}
	})
	if err == nil {
		e.sizes[pointer] = n
	}
	return n, err
}

// resolve finds what a reference within the schema refers to.
func (e *expansion) resolve(ref string) (target any, pointer string, ok bool) {
	fragment, within := strings.CutPrefix(ref, "#")
	if !within || strings.Contains(fragment, "%") {
		return nil, "", false // written in another way than it is found by
	}
	if pointer, ok := e.anchors[fragment]; ok {
		fragment = pointer
	}
	v := e.root
	if fragment == "" {
		return v, "", true
	}
	if !strings.HasPrefix(fragment, "/") {
		return nil, "", false
	}
	for name := range strings.SplitSeq(fragment[1:], "/") {
		pointer += "/" + name
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch in := v.(type) {
		case map[string]any:
			next, given := in[name]
			if !given {
				return nil, "", false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, "", false
			}
			v = in[i]
		default:
			return nil, "", false
		}
	}
	return v, pointer, true
}
