package mcp

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// several are the conditions of a change of several rows. At least one filter
// must be given that leaves out anything at all; other is the one argument that
// is no filter.
func (t *toolCall) several(many *surfaces.Many, other string) ([]supabase.Condition, error) {
	isFilter := func(name string) bool {
		return slices.ContainsFunc(many.Filters, func(f surfaces.Filter) bool { return f.Argument == name })
	}
	if err := onlyKnown(t.arguments, func(name string) bool { return isFilter(name) || other != "" && name == other }); err != nil {
		return nil, err
	}
	filters, err := bindFilters(many.Filters, t.arguments)
	if err != nil {
		return nil, err
	}
	where := make([]supabase.Condition, len(filters))
	for i, f := range filters {
		if op := f.filter.Operator; (op == "like" || op == "ilike") && strings.Contains(f.values[0], "*") {
			return nil, invalid(f.filter.Argument, "must not hold *: the app's Data API takes it for any character, so that other rows would match, too")
		}
		where[i] = f.condition()
	}
	if !supabase.Narrows(where) {
		return nil, &toolError{kind: fault.Invalid.String(), detail: "Nothing was changed: at least one filter must say which rows; without one it would be all of them. Add a filter and call again."}
	}
	return where, nil
}

// manyWritten is the page of a change of several rows, from what write answered.
func (t *toolCall) manyWritten(verb string, many *surfaces.Many, columns []surfaces.Column, a supabase.Answer, err error) (*page, error) {
	var e *supabase.Error
	switch {
	case errors.Is(err, errUnread):
		return t.unreadRows(verb, many, a.Affected)
	case errors.As(err, &e) && (e.Code == codeTooMany || e.Code == codeNotSingular && e.Rows > 1):
		return nil, tooManyRows(many)
	case many.MaxAffected == 1 && matchedNone(err):
		return t.rowsWritten(verb, 0, columns, table{}), nil
	case err != nil:
		return nil, err
	}
	names := columnNames(columns)
	read := readTable
	if many.MaxAffected == 1 {
		read = readOne
	}
	rows, err := read(a.Body, names)
	affected := a.Affected
	if err != nil || len(names) == 0 {
		return t.unreadRows(verb, many, affected)
	}
	if affected < rows.len() {
		affected = rows.len()
	}
	if !a.Bounded && affected > many.MaxAffected {
		return nil, unbounded(verb, affected, many)
	}
	return t.rowsWritten(verb, affected, columns, rows), nil
}

// unreadRows is for rows that were changed and cannot be shown.
func (t *toolCall) unreadRows(verb string, many *surfaces.Many, affected int) (*page, error) {
	if affected > many.MaxAffected {
		return nil, unbounded(verb, affected, many)
	}
	if affected < 0 {
		return nil, &toolError{kind: kindOutcomeUnknown, detail: verb + ", but which rows, and how many, cannot be told: the app's answer cannot be read. The change stands; read the rows before doing more."}
	}
	w := writtenRows{t: t, outcome: saying(verb, affected), affected: affected}
	return w.none(""), nil
}

func tooManyRows(many *surfaces.Many) *toolError {
	return &toolError{kind: kindTooManyRows, detail: "Nothing was changed: more rows match than the " + strconv.Itoa(many.MaxAffected) +
		" that one call may touch. Narrow the filters and call again."}
}

// unbounded is for a Data API that went past the bound.
func unbounded(verb string, affected int, many *surfaces.Many) *toolError {
	return &toolError{kind: kindTooManyRows, detail: verb + " " + countOf(affected) + ", although one call may touch " + strconv.Itoa(many.MaxAffected) +
		": the app's Data API did not keep to that. The change stands; do not repeat it. The app's owner must bring its Data API up to date."}
}

func countOf(n int) string {
	if n == 1 {
		return "1 row"
	}
	return strconv.Itoa(n) + " rows"
}
