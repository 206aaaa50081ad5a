package mcp

import (
	"context"
	"strconv"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// get reads one row by its full primary key. A row that is not there and one
// the caller may not see are the same answer.
func (t *toolCall) get(ctx context.Context, plan *surfaces.GetPlan) (*page, error) {
	where, err := t.wholeKey(plan.Key)
	if err != nil {
		return nil, err
	}
	proj := projectionWith(plan.Columns, plan.Embeds, nil, nil)
	body, err := t.query(ctx, supabase.Select{
		Profile: plan.Relation.Profile, Relation: plan.Relation.Name, Columns: proj.items, Embeds: selectEmbeds(plan.Embeds), Where: where, Single: true,
	})
	if matchedNone(err) {
		return nil, &toolError{kind: fault.NotFound.String(), detail: "There is no such row, or you may not see it. Check the key with a list tool."}
	}
	if err != nil {
		return nil, err
	}
	rows, err := readOne(body, proj.names)
	if err == nil {
		err = proj.reshape(rows)
	}
	if err != nil {
		return nil, err
	}
	return t.rowPage(proj.columns, rows.row(0))
}

// rowPage renders one row. Columns that may be shortened are, but only when
// the whole row is over the budget: this is the tool that returns it whole.
func (t *toolCall) rowPage(columns []surfaces.Column, row []token) (*page, error) {
	p, err := t.within(t.rowAsIs(columns, row))
	if p != nil || err != nil {
		return p, err
	}
	shorten(columns, row, shortenTo(t.budget()), "")
	p, err = t.within(t.rowAsIs(columns, row))
	if p != nil || err != nil {
		return p, err
	}
	return nil, &toolError{kind: kindRowTooLarge, detail: "The row is larger than this tool's limit of " + strconv.Itoa(t.budget()) +
		" bytes. Ask the app's owner to raise the limit or to leave out long columns."}
}

func (t *toolCall) rowAsIs(columns []surfaces.Column, row []token) (*page, error) {
	return t.finish(appendObject(nil, columns, row), func(dst []byte) []byte {
		return appendFields(dst, columns, row)
	}, nil)
}
