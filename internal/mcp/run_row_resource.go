package mcp

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// resultJSON is the form of rows inside a resource: their JSON, once, as text.
const resultJSON surfaces.ResultForm = "json"

// rows is the first page of a list as JSON: {"items":[row…]}, and
// "truncated":true where there are more. It ends at a row that the budget still
// holds.
func (t *resourceCall) rows(ctx context.Context, plan *surfaces.ListPlan) (string, error) {
	filters, err := bindFilters(plan.Filters, t.arguments)
	if err != nil {
		return "", err
	}
	order, err := chooseOrder(plan, nil)
	if err != nil {
		return "", err
	}
	where := make([]supabase.Condition, len(filters))
	for i, f := range filters {
		where[i] = f.condition()
	}
	proj := projectionWith(plan.Columns, plan.Embeds, plan.Key, order.Keys)
	body, err := t.query(ctx, supabase.Select{
		Profile: plan.Relation.Profile, Relation: plan.Relation.Name, Columns: proj.items, Embeds: selectEmbeds(plan.Embeds),
		Where: where, Order: orderOf(order), Limit: plan.DefaultLimit + 1,
	})
	if err != nil {
		return "", err
	}
	rows, err := readTable(body, proj.names)
	if err == nil {
		err = proj.reshape(rows)
	}
	if err != nil {
		return "", err
	}
	return t.rowsWithin(plan, proj, rows)
}

func (t *resourceCall) rowsWithin(plan *surfaces.ListPlan, proj projection, rows table) (string, error) {
	count, keep := min(rows.len(), plan.DefaultLimit), shortenTo(t.budget())
	room := t.budget() - len(`{"items":[],"truncated":true}`) - 2*len(`items""truncated""`)
	out := []byte(`{"items":[`)
	n := 0
	for ; n < count; n++ {
		row := rows.row(n)[:proj.visible]
		shorten(proj.columns, row, keep, plan.DetailTool)
		object := appendObject(nil, proj.columns, row)
		if room -= wireSize(string(object)) + 1; room < 0 {
			break
		}
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, object...)
	}
	if n == 0 && count > 0 {
		return "", t.tooLarge()
	}
	out = append(out, ']')
	if n < rows.len() {
		out = append(out, `,"truncated":true`...)
	}
	return string(append(out, '}')), nil
}
