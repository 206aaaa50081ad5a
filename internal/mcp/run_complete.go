package mcp

import (
	"context"
	"slices"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// The Data API cannot say DISTINCT: values are read page by page, each behind
// the last value of the page before.
const (
	suggestPage  = 200 // rows
	suggestPages = 6
)

// suggest implements runner.
func (r *toolRunner) suggest(ctx context.Context, c *call, from *surfaces.ValueColumn, typed string) (values []string, all bool, err error) {
	t := &toolCall{asker: asker{runner: r, call: c}, tool: &surfaces.Tool{Name: from.Relation.Name}}
	isText := isTextType(from.Column.SQLType)
	proj := projectionOf([]surfaces.Column{from.Column}, nil, nil)
	last := ""
	for page := range suggestPages {
		where := []supabase.Condition{{Column: from.Column.Name, Operator: "is", Value: "null", Negate: true}}
		if isText && typed != "" {
			where = append(where, supabase.Condition{Column: from.Column.Name, Operator: "ilike", Value: startsWith(typed)})
		}
		if page > 0 {
			where = append(where, supabase.Condition{Column: from.Column.Name, Operator: "gt", Value: last})
		}
		body, err := t.query(ctx, supabase.Select{
			Profile: from.Relation.Profile, Relation: from.Relation.Name, Columns: proj.items, Where: where,
			Order: []supabase.OrderBy{{Column: from.Column.Name}}, Limit: suggestPage,
		})
		if err != nil {
			_ = r.explain(c, t, err) // a token whose time is over ends in a challenge
			return nil, false, err
		}
		rows, err := readTable(body, proj.names)
		if err != nil {
			return nil, false, err
		}
		if rows.len() == 0 {
			return values, true, nil
		}
		for i := range rows.len() {
			last = stringOf(rows.row(i)[0])
			if last == "" || !beginsWith(last, typed) || slices.Contains(values, last) {
				continue
			}
			if values = append(values, last); len(values) > maxSuggestions {
				return values, false, nil
			}
		}
	}
	return values, false, nil
}

// startsWith is the pattern of texts that begin with this one (see contains).
func startsWith(text string) string { return contains(text)[1:] }
