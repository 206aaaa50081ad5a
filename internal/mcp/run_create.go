package mcp

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// create inserts one row: what the caller gave, then what they can neither give
// nor see, then the key that makes identical calls one.
func (t *toolCall) create(ctx context.Context, plan *surfaces.CreatePlan) (*page, error) {
	if err := onlyKnown(t.arguments, func(name string) bool { return isValue(plan.Values, name) }); err != nil {
		return nil, err
	}
	var row fields
	if err := row.addValues(plan.Values, t.arguments); err != nil {
		return nil, err
	}
	if err := t.set(&row, plan.Set); err != nil {
		return nil, err
	}
	key := ""
	if plan.Dedupe != nil {
		var err error
		if key, err = t.createKey(ctx, plan, row.json()); err != nil {
			return nil, err
		}
		if err := row.add(plan.Dedupe.Column.Name, appendString(nil, key)); err != nil {
			return nil, err
		}
	}
	a, err := t.write(ctx, func(s supabase.Session) (supabase.Answer, error) {
		return t.runner.projects.Insert(ctx, s, supabase.Insert{
			Profile: plan.Relation.Profile, Relation: plan.Relation.Name, Row: row.json(), Columns: items(plan.Columns),
		})
	})
	switch {
	case err == nil, errors.Is(err, errUnread):
		return t.rowWritten("Created.", plan.Columns, plan.Key, a.Body), nil
	case matchedNone(err):
		return nil, &toolError{kind: kindRefused, detail: "The app did not take the row: nothing was created. Trying again unchanged does not help."}
	case plan.Dedupe != nil:
		return t.madeBefore(ctx, plan, key, err)
	}
	return nil, err
}
