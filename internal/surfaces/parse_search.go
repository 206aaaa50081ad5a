package surfaces

import (
	"regexp"

	"go.yaml.in/yaml/v4"
)

// maxSearch is how many columns one search may look in.
const maxSearch = 8

// searchConfig is the name of a text search configuration: it becomes a part
// of the operator, where nothing is quoted.
var searchConfig = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// search reads a list of columns, or a mapping with how to look.
func (r *reader) search(m mapping) *SearchSpec {
	n, at, ok := m.get("search")
	if !ok {
		return nil
	}
	s := &SearchSpec{Mode: Text{Value: SearchContains, at: at}, at: at}
	if n.Kind != yaml.MappingNode {
		s.Columns, _ = r.texts(n, at, "search", ruleName)
	} else {
		sub, _ := r.mapping(n, at, "search", searchKeys)
		s.Columns, _ = sub.list("columns", ruleName)
		if !sub.given("columns") {
			r.errorf(at, "columns is missing: list the columns to search")
			return s
		}
		s.Mode.Value = r.choice(sub, "mode", SearchContains, SearchWeb)
		if e, given := sub.entries["mode"]; given {
			s.Mode.at = e.at
		}
		s.Config, _ = sub.text("config", ruleName)
		s.HiddenOK, _ = sub.boolean("hidden_ok")
	}
	switch {
	case len(s.Columns) == 0 && (n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode):
		r.errorf(at, "search has no columns: list the columns to search")
	case len(s.Columns) > maxSearch:
		r.errorf(at, "search looks in %d columns; at most %d", len(s.Columns), maxSearch)
	}
	if c := s.Config; c.Value != "" && !searchConfig.MatchString(c.Value) {
		r.errorf(c.at, "%s cannot be the name of a text search configuration (small letters, digits and _): write one such as english or simple", quoteName(c.Value))
	}
	return s
}
