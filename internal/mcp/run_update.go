package mcp

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// update changes one row by its whole key, or several by filters.
func (t *toolCall) update(ctx context.Context, plan *surfaces.UpdatePlan) (*page, error) {
	if plan.Many != nil {
		return t.updateMany(ctx, plan)
	}
	row := &one{relation: plan.Relation, columns: plan.Columns, key: plan.Key, guard: plan.Guard, verb: "change"}
	if err := onlyKnown(t.arguments, func(name string) bool { return name == plan.Patch || row.isOf(name) }); err != nil {
		return nil, err
	}
	if err := t.bind(row); err != nil {
		return nil, err
	}
	patch, err := t.patch(plan)
	if err != nil {
		return nil, err
	}
	if plan.Guard != nil && plan.Guard.Bump != "" {
		next, err := nextVersion(plan.Guard, row.seen)
		if err != nil {
			return nil, err
		}
		if err := patch.add(plan.Guard.Column.Name, next); err != nil {
			return nil, err
		}
	}
	a, err := t.write(ctx, func(s supabase.Session) (supabase.Answer, error) {
		return t.runner.projects.Update(ctx, s, supabase.Change{
			Profile: plan.Relation.Profile, Relation: plan.Relation.Name, Where: row.conditions(), Patch: patch.json(), Max: 1, Columns: items(plan.Columns),
		})
	})
	switch {
	case err == nil, errors.Is(err, errUnread):
		return t.rowWritten("Updated.", plan.Columns, plan.Key, a.Body), nil
	case matchedNone(err):
		return nil, t.untouched(ctx, row)
	}
	return nil, err
}

// patch is what the caller changes, at least one column, and what changes with
// it.
func (t *toolCall) patch(plan *surfaces.UpdatePlan) (*fields, error) {
	value := t.arguments.get(plan.Patch)
	if value == nil {
		return nil, invalid(plan.Patch, "is required")
	}
	if value[0] != '{' {
		return nil, invalid(plan.Patch, "must be an object")
	}
	given, err := readArguments(value)
	var told *toolError
	if errors.As(err, &told) {
		for i := range told.issues {
			told.issues[i].Path = pointer([]string{plan.Patch}) + told.issues[i].Path
		}
	}
	if err != nil {
		return nil, err
	}
	if err := onlyKnown(given, func(name string) bool { return isValue(plan.Values, name) }, plan.Patch); err != nil {
		return nil, err
	}
	patch := &fields{}
	if err := patch.addValues(plan.Values, given, plan.Patch); err != nil {
		return nil, err
	}
	if len(patch.names) == 0 {
		return nil, invalid(plan.Patch, "must change at least one thing")
	}
	t.patched = given
	return patch, t.set(patch, plan.Set)
}

func (t *toolCall) updateMany(ctx context.Context, plan *surfaces.UpdatePlan) (*page, error) {
	where, err := t.several(plan.Many, plan.Patch)
	if err != nil {
		return nil, err
	}
	patch, err := t.patch(plan)
	if err != nil {
		return nil, err
	}
	a, err := t.write(ctx, func(s supabase.Session) (supabase.Answer, error) {
		return t.runner.projects.Update(ctx, s, supabase.Change{
			Profile: plan.Relation.Profile, Relation: plan.Relation.Name, Where: where, Patch: patch.json(), Max: plan.Many.MaxAffected, Columns: items(plan.Columns),
		})
	})
	return t.manyWritten("Updated", plan.Many, plan.Columns, a, err)
}
