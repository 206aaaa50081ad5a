package surfaces

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Sizes of resources and prompts, in bytes.
const (
	DefaultResourceBudget = 256 << 10
	DefaultPromptBudget   = 256 << 10
)

// mediaType is a media type, with parameters.
var mediaType = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}(; ?[a-z0-9-]{1,32}=[A-Za-z0-9._-]{1,64}){0,3}$`)

// resourceKinds are the keys that say what a resource is.
var resourceKinds = []string{"text", "blob", "table", "storage", "function"}

// resources reads the list of resources.
func (r *reader) resources(items []*yaml.Node, at place) []*ResourceSpec {
	return readEntries(r, items, at, "resources", r.resource)
}

// readEntries reads a list of entries, those that can be read, and no more of
// them than a surface may have.
func readEntries[T any](r *reader, items []*yaml.Node, at place, what string, read func(*yaml.Node, place) *T) []*T {
	var list []*T
	for i, n := range items {
		if i == MaxCapabilities {
			r.errorf(at, "%d %s; at most %d in one surface: split them over several surfaces", len(items), what, MaxCapabilities)
			break
		}
		if entry := read(n, nodeAt(n, fmt.Sprintf("%s[%d]", at.path, i))); entry != nil {
			list = append(list, entry)
		}
	}
	return list
}

// resource reads one entry; one of resourceKinds says of which kind.
func (r *reader) resource(n *yaml.Node, at place) *ResourceSpec {
	m, ok := r.raw(n, at, "a resource")
	if !ok {
		return nil
	}
	var kinds []string
	for _, name := range resourceKinds {
		if m.given(name) {
			kinds = append(kinds, name)
		}
	}
	if len(kinds) != 1 {
		if len(kinds) > 1 {
			r.errorf(at, "a resource is one thing, and this is %s: make an entry of each", sentenceList(kinds))
			return nil
		}
		r.errorf(at, "a resource needs text or blob (what it always holds), table (rows), storage (a file) or function (an Edge Function)%s", firstSuggestion(m.names, slices.Concat(resourceKeys["text"].known, resourceKinds)))
		return nil
	}
	kind := kinds[0]
	if m, ok = r.mapping(n, at, "a resource", resourceKeys[kind]); !ok {
		return nil
	}
	s := &ResourceSpec{}
	s.Operation, s.at, s.public = opRead, at, at
	s.Result = Text{Value: string(ResultHybrid), at: at}
	if s.URI, ok = m.text("uri", textRule{max: maxResourceURI, oneLine: true}); !ok {
		if !m.given("uri") {
			r.errorf(at, "uri is missing: give the resource an address of your own, such as acme://guide")
		}
		return nil
	}
	variables, err := parseURI(s.URI.Value)
	if err != nil {
		r.errorf(s.URI.at, "the uri %s cannot be used: %v", quoteName(s.URI.Value), err)
		return nil
	}
	s.variables = variables
	s.Name, _ = m.text("name", ruleName)
	r.checkName(s.Name, "a resource")
	s.Public, s.public, s.Budget = r.capability(m, &s.OperationSpec, DefaultResourceBudget)
	if t, ok := m.text("mime_type", ruleName); ok {
		if s.MIMEType = t; !mediaType.MatchString(t.Value) {
			r.errorf(t.at, "%s is not a media type: write one in lower case, such as text/markdown", quoteName(t.Value))
		}
	}
	switch kind {
	case "text", "blob":
		r.static(m, s, kind)
	case "table":
		s.Rows = r.rows(m)
	case "storage":
		s.File = r.resourceFile(m, s)
	case "function":
		call := r.edgeCall(m)
		s.Function = &call
	}
	s.Complete = r.completions(m)
	s.tool = &ToolSpec{as: "resource", Public: s.Public, public: s.public, at: at, Table: &TableSpec{By: operationSpecs{&s.OperationSpec}}}
	return s
}

// capability reads what resources and prompts have in common.
func (r *reader) capability(m mapping, o *OperationSpec, budget int) (public bool, publicAt place, most int) {
	o.Title, _ = m.text("title", ruleTitle)
	o.Description, _ = m.text("description", ruleDescription)
	o.Scopes = r.scopes(m, "scopes")
	r.policy(m, o)
	public, _ = m.boolean("public")
	publicAt = m.at
	if e, ok := m.entries["public"]; ok {
		publicAt = e.at
	}
	if v, ok := m.integer("budget", MinBudget, MaxBudget); ok {
		budget = v
	}
	return public, publicAt, budget
}

// checkName checks a name that the builder chose.
func (r *report) checkName(t Text, what string) {
	if t.Value != "" && !toolName.MatchString(t.Value) {
		r.errorf(t.at, "%s cannot be the name of %s (letters, digits, _ and - only, at most %d): write %s", quoteName(t.Value), what, maxToolName, derivedName(t.Value, ""))
	}
}

// static reads what a resource always holds.
func (r *reader) static(m mapping, s *ResourceSpec, kind string) {
	if len(s.variables) > 0 {
		r.errorf(s.URI.at, "what always holds the same has no variables: write a uri without {%s}", s.variables[0].Name)
	}
	n, at, ok := m.get(kind)
	if !ok {
		return
	}
	if !isScalar(n) {
		r.errorf(at, "%s must be text, not %s", kind, kindOf(n))
		return
	}
	if kind == "text" {
		if c, bad := firstForbidden(n.Value, false); bad {
			r.errorf(at, "text holds the character U+%04X, which is not allowed there", c)
		}
		s.Text = &n.Value
	} else {
		s.Blob = r.base64(n, at, kind)
		if !m.given("mime_type") {
			r.errorf(at, "a blob needs mime_type: say what it is, such as image/png")
		}
	}
	if len(n.Value) > s.Budget {
		r.errorf(at, "%s is %d bytes, and budget is %d: write a larger one, at most %d", kind, len(n.Value), s.Budget, MaxBudget)
	}
}

// base64 reads bytes, over any number of lines.
func (r *reader) base64(n *yaml.Node, at place, what string) []byte {
	b, err := base64.StdEncoding.Strict().DecodeString(strings.Join(strings.Fields(n.Value), ""))
	if err != nil || len(b) == 0 {
		r.errorf(at, "%s is not base64 (RFC 4648, with padding)", what)
		return nil
	}
	return b
}

// maxRowsLimit is the most rows of a resource, which has no second page.
const maxRowsLimit = MaxLimit

func (r *reader) rows(m mapping) *RowsSpec {
	s := &RowsSpec{filters: m.entries["filters"].at, limit: m.at}
	s.Table, _ = m.text("table", textRule{max: 200, oneLine: true})
	var ok bool
	if s.Columns, ok = m.list("columns", ruleName); len(s.Columns) == 0 && (ok || !m.given("columns")) {
		r.errorf(m.at, "columns is missing: list the columns to return; nothing is exposed until chosen")
	}
	s.Columns = slices.DeleteFunc(s.Columns, func(t Text) bool {
		if t.Value == "*" {
			r.errorf(t.at, "columns cannot be *: list the columns to return; nothing is exposed until chosen")
		}
		return t.Value == "*"
	})
	s.Key, _ = m.list("key", ruleName)
	s.Filters, ok = m.list("filters", ruleName)
	if e, given := m.entries["filters"]; given && ok && len(s.Filters) == 0 {
		r.errorf(e.key, "filters is an empty list: name the variables of the uri that narrow the rows, or leave it out")
	}
	if s.Order = r.orders(m); len(s.Order) > 1 {
		r.errorf(s.Order[1].Column.at, "a resource has one order, which nobody can choose: leave the others out")
	}
	if v, ok := m.integer("limit", 1, maxRowsLimit); ok {
		s.Limit, s.limit = v, m.entries["limit"].at
	}
	return s
}

func (r *reader) resourceFile(m mapping, s *ResourceSpec) *FileSpec {
	f := &FileSpec{FilePlaceSpec: r.filePlace(m), Inline: DefaultInline}
	if v, ok := m.integer("inline", 0, MaxInline); ok {
		f.Inline = v
	}
	t, ok := m.text("path", textRule{max: maxFilePath, oneLine: true})
	switch {
	case !ok && len(s.variables) == 0 && !m.given("path"):
		r.errorf(m.at, "nothing says which file: write path, or a uri that ends with {+path}")
	case len(s.variables) > 1:
		r.errorf(s.URI.at, "a file is found by one variable, and the uri has %d: write {+path} at its end", len(s.variables))
	case ok && len(s.variables) > 0:
		r.errorf(t.at, "{%s} of the uri says which file: leave path out, or write a uri without it", s.variables[0].Name)
	case ok:
		f.Path = t
		for segment := range strings.SplitSeq(t.Value, "/") {
			if segment == "." || segment == ".." || !fileSegment.MatchString(segment) {
				hint := ""
				if plain := strings.Trim(t.Value, "/"); plain != "" && plain != t.Value {
					hint = ": write path: " + oneLine(plain, 80)
				}
				r.errorf(t.at, "%s is not the path of a file in Storage%s", quoteName(t.Value), hint)
				break
			}
		}
	}
	return f
}
