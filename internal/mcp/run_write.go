package mcp

import (
	"context"
	"errors"
	"slices"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// errUnread is for a write that was done, and whose answer cannot be read.
var errUnread = errors.New("written, and the answer cannot be read")

// write makes one request that changes something, as ask. Where it is not known
// whether it was done, the error says so and never asks for another try; where
// it was done and only the answer is lost, the error is errUnread.
func (t *toolCall) write(ctx context.Context, do func(supabase.Session) (supabase.Answer, error)) (supabase.Answer, error) {
	return t.ask(ctx, func(s supabase.Session) (supabase.Answer, error) {
		a, err := do(s)
		return a, t.afterWrite(a, err)
	})
}

func (t *toolCall) afterWrite(a supabase.Answer, err error) error {
	var said *supabase.Error
	var f *fault.Error
	switch {
	case errors.As(err, &said):
		if mayBeDone(said) {
			return t.unknown()
		}
	case errors.As(err, &f):
		switch {
		case a.Status >= 200 && a.Status < 300 && f.Kind == fault.TooLarge:
			return errUnread
		case f.Kind == fault.Internal, f.Kind == fault.Invalid, egress.Unsent(err):
		default:
			return t.unknown()
		}
	}
	return err
}

// unknown is the error of a write that may have been done.
func (t *toolCall) unknown() *toolError {
	detail := "It is not known whether this was done: the app did not answer after the call was sent. It may have happened; check before trying again."
	if t.tool.Create != nil && t.tool.Create.Dedupe != nil && t.identified() {
		detail = "It is not known whether this was done: the app did not answer after the call was sent. It may have happened. Call again with exactly the same arguments within ten minutes: it is not made twice."
	}
	return &toolError{kind: kindOutcomeUnknown, detail: detail}
}

// writes reports whether the tool changes rows of a table itself.
func (t *toolCall) writes() bool {
	return t.tool.Create != nil || t.tool.Update != nil || t.tool.Delete != nil
}

// fields is a JSON object in the making, for a body of the Data API.
type fields struct {
	object []byte
	names  []string
}

// add appends a member. A name that is there already is a plan that says two
// things of one column.
func (f *fields) add(name string, value token) error {
	if slices.Contains(f.names, name) {
		return errors.New("plan writes a column twice")
	}
	opening := byte('{')
	if len(f.names) > 0 {
		opening = ','
	}
	f.names = append(f.names, name)
	f.object = append(appendString(append(f.object, opening), name), ':')
	f.object = append(f.object, value...)
	return nil
}

func (f *fields) json() []byte {
	if len(f.object) == 0 {
		return []byte("{}")
	}
	return append(slices.Clip(f.object), '}')
}

// addValues adds the columns that the caller writes. below leads from the
// arguments to the object that holds them.
func (f *fields) addValues(values []surfaces.WriteColumn, given arguments, below ...string) error {
	for _, w := range values {
		value := given.get(w.Argument)
		switch {
		case value == nil && w.Required:
			return invalidAt("is required", append(below, w.Argument)...)
		case value == nil:
			continue
		case isNull(value) && !w.Null:
			return invalidAt("must not be null", append(below, w.Argument)...)
		}
		if err := f.add(w.Column.Name, value); err != nil {
			return err
		}
	}
	return nil
}

// onlyKnown refuses arguments that no part of the plan reads: one that is meant
// to narrow a change, and does not, must never be passed over.
func onlyKnown(given arguments, known func(name string) bool, below ...string) error {
	for _, a := range given {
		if !known(a.name) {
			return invalidAt("is not an argument of this tool", append(below, a.name)...)
		}
	}
	return nil
}

func isValue(values []surfaces.WriteColumn, name string) bool {
	return slices.ContainsFunc(values, func(w surfaces.WriteColumn) bool { return w.Argument == name })
}

// wholeKey is the condition of the one row with the key that the caller gave.
// Every column of the key must be there with a plain value.
func (t *toolCall) wholeKey(key []surfaces.Column) ([]supabase.Condition, error) {
	if len(key) == 0 {
		return nil, errors.New("plan has no key")
	}
	where := make([]supabase.Condition, len(key))
	for i, k := range key {
		value := t.arguments.get(k.Name)
		if value == nil {
			return nil, invalid(k.Name, "is required")
		}
		if isNull(value) || isContainer(value) {
			return nil, invalid(k.Name, "must be a plain value")
		}
		where[i] = supabase.Condition{Column: k.Name, Operator: "eq", Value: stringOf(value)}
	}
	return where, nil
}

// items are the select items of the returned columns.
func items(columns []surfaces.Column) []string { return projectionOf(columns, nil, nil).items }

// one is a change of one row, by its whole key and the version seen.
type one struct {
	relation surfaces.Relation
	columns  []surfaces.Column
	key      []surfaces.Column
	guard    *surfaces.Guard
	verb     string // "change" or "delete"

	where []supabase.Condition // of the key
	seen  token                // of the guard
}

// conditions are those of the row in the version that was seen.
func (o *one) conditions() []supabase.Condition {
	if o.guard == nil {
		return o.where
	}
	return append(slices.Clip(o.where), o.guardCondition())
}

// bind reads the key and the version from the arguments.
func (t *toolCall) bind(o *one) error {
	var err error
	if o.where, err = t.wholeKey(o.key); err != nil || o.guard == nil {
		return err
	}
	o.seen, err = t.version(o.guard)
	return err
}

// isOf reports whether the argument names the row or its version.
func (o *one) isOf(name string) bool {
	return o.guard != nil && o.guard.Argument == name ||
		slices.ContainsFunc(o.key, func(k surfaces.Column) bool { return k.Name == name })
}

// matchedNone reports whether the Data API found no row to change.
func matchedNone(err error) bool {
	var e *supabase.Error
	return errors.As(err, &e) && e.Code == codeNotSingular && e.Rows <= 0
}
