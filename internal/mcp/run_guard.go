package mcp

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// version is the version of the row that the caller saw last.
func (t *toolCall) version(g *surfaces.Guard) (token, error) {
	value := t.arguments.get(g.Argument)
	switch {
	case value == nil:
		return nil, invalid(g.Argument, "is required: give the value that the row had when you read it")
	case isNull(value) && g.Column.Nullable:
		return value, nil
	case isNull(value), isContainer(value):
		return nil, invalid(g.Argument, "must be a plain value")
	}
	if isWhole(g.Column.SQLType) { // 7, 7.0 and "7" are one version
		exact := exactNumber(value)
		if exact == nil || bytes.IndexByte(exact, '.') >= 0 {
			return nil, invalid(g.Argument, "must be a whole number")
		}
		return exact, nil
	}
	return value, nil
}

func isWhole(sqlType string) bool { return sqlType == "int2" || sqlType == "int4" || sqlType == "int8" }

// guardCondition holds while the row has the version that was seen.
func (o *one) guardCondition() supabase.Condition {
	if isNull(o.seen) {
		return supabase.Condition{Column: o.guard.Column.Name, Operator: "is", Value: "null"}
	}
	return supabase.Condition{Column: o.guard.Column.Name, Operator: "eq", Value: stringOf(o.seen)}
}

// nextVersion is what a change moves its guard to.
func nextVersion(g *surfaces.Guard, seen token) (token, error) {
	switch g.Bump {
	case surfaces.BumpIncrement:
		if isNull(seen) {
			return token("1"), nil
		}
		n, ok := new(big.Int).SetString(stringOf(seen), 10)
		if !ok {
			return nil, invalid(g.Argument, "must be a whole number")
		}
		return n.Add(n, big.NewInt(1)).Append(nil, 10), nil
	case surfaces.BumpNow:
		return token(`"now"`), nil // Postgres reads the word as its transaction's time
	case surfaces.BumpUUID:
		id, err := uuid.NewRandom()
		if err != nil {
			return nil, err
		}
		return appendString(nil, id.String()), nil
	}
	return nil, errors.New("guard moves on in an unknown way")
}

// untouched says why a change of one row found nothing to change, after looking
// at the row as the caller: it moved on, it may be seen and not changed, or for
// this caller it is not there.
func (t *toolCall) untouched(ctx context.Context, o *one) error {
	var guard []surfaces.Column
	if o.guard != nil {
		guard = []surfaces.Column{o.guard.Column}
	}
	proj := projectionOf(o.columns, append(guard, o.key...), nil)
	row, err := t.single(ctx, o.relation, proj, o.where)
	if matchedNone(err) {
		return &toolError{kind: fault.NotFound.String(), detail: "There is no such row, or you may not see it. Nothing was changed. Check the key with a list tool."}
	}
	if err != nil {
		return err
	}
	if o.guard != nil {
		moved, err := t.moved(ctx, o, row[proj.key[0]])
		if err != nil {
			return err
		}
		if moved {
			return t.conflict(o, proj, row)
		}
	}
	return &toolError{kind: fault.Forbidden.String(), detail: "You may see this row, but not " + o.verb + " it. Nothing was changed; trying again does not help."}
}

// single reads the one row that the conditions name, as the caller.
func (t *toolCall) single(ctx context.Context, on surfaces.Relation, proj projection, where []supabase.Condition) ([]token, error) {
	body, err := t.query(ctx, supabase.Select{Profile: on.Profile, Relation: on.Name, Columns: proj.items, Where: where, Single: true})
	if err != nil {
		return nil, err
	}
	rows, err := readOne(body, proj.names)
	if err != nil {
		return nil, err
	}
	return rows.row(0), nil
}

// moved reports whether the row has another version than the one seen. One that
// reads differently may be the same all the same, such as a time in another
// zone: then the database compares.
func (t *toolCall) moved(ctx context.Context, o *one, now token) (bool, error) {
	seen, column := o.seen, o.guard.Column
	switch {
	case isNull(seen) || isNull(now):
		return isNull(seen) != isNull(now), nil
	case isWhole(column.SQLType):
		return !bytes.Equal(exactNumber(now), seen), nil
	case stringOf(seen) == stringOf(now):
		return false, nil
	}
	_, err := t.single(ctx, o.relation, projectionOf(nil, o.key, nil), o.conditions())
	if matchedNone(err) {
		return true, nil
	}
	return false, err
}

// conflict is the error of a change that came second, with the row as it is.
func (t *toolCall) conflict(o *one, proj projection, row []token) *toolError {
	told := &toolError{kind: fault.Conflict.String(), detail: "The row was changed since you read it, so nothing was changed now. Its current state is in current: look at it, and if you still want this, call again with " +
		o.guard.Argument + " as it is there."}
	values := slices.Clone(row[:proj.visible])
	for _, keep := range []int{math.MaxInt, shortenTo(t.budget())} {
		shorten(proj.columns, values, keep, "")
		if shown := appendObject(nil, proj.columns, values); len(values) > 0 && wireSize(string(shown)) <= t.budget() {
			told.current = shown
			return told
		}
	}
	told.current = appendObject(nil, []surfaces.Column{o.guard.Column}, []token{row[proj.key[0]]})
	told.detail = "The row was changed since you read it, so nothing was changed now. It is too large to be shown here: read it again, and if you still want this, call again with " +
		o.guard.Argument + " as it is there."
	return told
}
