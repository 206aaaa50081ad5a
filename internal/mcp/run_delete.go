package mcp

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// remove deletes one row by its whole key, or several by filters.
func (t *toolCall) remove(ctx context.Context, plan *surfaces.DeletePlan) (*page, error) {
	if plan.Many != nil {
		return t.removeMany(ctx, plan)
	}
	row := &one{relation: plan.Relation, columns: plan.Columns, key: plan.Key, guard: plan.Guard, verb: "delete"}
	if err := onlyKnown(t.arguments, row.isOf); err != nil {
		return nil, err
	}
	if err := t.bind(row); err != nil {
		return nil, err
	}
	a, err := t.delete(ctx, plan, supabase.Change{Where: row.conditions(), Max: 1})
	switch {
	case err == nil, errors.Is(err, errUnread):
		return t.rowWritten("Deleted.", plan.Columns, plan.Key, a.Body), nil
	case matchedNone(err):
		return nil, t.untouched(ctx, row)
	}
	return nil, err
}

func (t *toolCall) removeMany(ctx context.Context, plan *surfaces.DeletePlan) (*page, error) {
	where, err := t.several(plan.Many, "")
	if err != nil {
		return nil, err
	}
	a, err := t.delete(ctx, plan, supabase.Change{Where: where, Max: plan.Many.MaxAffected})
	return t.manyWritten("Deleted", plan.Many, plan.Columns, a, err)
}

func (t *toolCall) delete(ctx context.Context, plan *surfaces.DeletePlan, q supabase.Change) (supabase.Answer, error) {
	q.Profile, q.Relation, q.Columns = plan.Relation.Profile, plan.Relation.Name, items(plan.Columns)
	return t.write(ctx, func(s supabase.Session) (supabase.Answer, error) { return t.runner.projects.Delete(ctx, s, q) })
}
