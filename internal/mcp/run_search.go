package mcp

import (
	"strings"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// boundSearch is a search with the text the caller gave.
type boundSearch struct {
	search *surfaces.Search
	text   string
}

// bindSearch takes the search's text from the arguments; nil where the list has
// no search, or the caller gave none. Text of nothing but space is refused: it
// would find everything in one mode and nothing in the other.
func bindSearch(search *surfaces.Search, args arguments) (*boundSearch, error) {
	if search == nil {
		return nil, nil
	}
	value := args.get(search.Argument)
	switch {
	case value == nil:
		return nil, nil
	case !isString(value):
		return nil, invalid(search.Argument, "must be text")
	}
	text := stringOf(value)
	if strings.TrimSpace(text) == "" {
		return nil, invalid(search.Argument, "says nothing to look for; leave it out to read all rows")
	}
	return &boundSearch{search: search, text: text}, nil
}

// condition holds for rows of which any column matches.
func (s *boundSearch) condition() supabase.Condition {
	any := make([]supabase.Condition, len(s.search.Columns))
	for i, c := range s.search.Columns {
		if s.search.Mode == surfaces.SearchWeb {
			any[i] = supabase.Condition{Column: c.Name, Operator: "wfts", Config: s.search.Config, Value: s.text}
		} else {
			any[i] = supabase.Condition{Column: c.Name, Operator: "ilike", Value: contains(s.text)}
		}
	}
	if len(any) == 1 {
		return any[0]
	}
	return supabase.Condition{Or: any}
}

// scope is what a cursor is bound to of the search: what is looked for, where
// and how.
func (s *boundSearch) scope() []string {
	parts := []string{s.search.Argument, s.search.Mode, s.search.Config, s.text}
	for _, c := range s.search.Columns {
		parts = append(parts, c.Name)
	}
	return parts
}
