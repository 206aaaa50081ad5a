package mcp

import (
	"bytes"
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// codeSetUnavailable is for what a tool fills in from the sign-in, and cannot.
const codeSetUnavailable = "set_unavailable"

func errSetUnavailable() *toolError {
	return &toolError{kind: fault.Forbidden.String(), code: codeSetUnavailable,
		detail: "Nothing was changed: part of what this tool writes comes from your account in the app, and your account does not have it. Trying again does not help; ask the app's owner."}
}

// setsOf are the columns that a tool fills in by itself.
func setsOf(spec *surfaces.Tool) []surfaces.SetColumn {
	switch {
	case spec.Create != nil:
		return spec.Create.Set
	case spec.Update != nil:
		return spec.Update.Set
	}
	return nil
}

// needSet makes readable what a tool fills in from claims and context. It
// returns what the model is told where that cannot be had; an error fails the
// request.
func (r *revision) needSet(ctx context.Context, c *call, spec *surfaces.Tool) (*toolError, error) {
	for _, s := range setsOf(spec) {
		var err error
		switch {
		case len(s.From.Claim) > 0:
			err = c.needClaims(ctx, r.log)
		case len(s.From.Context) > 0:
			err = r.needContext(ctx, c)
		}
		if errors.Is(err, errUndecided) {
			return errSetUnavailable(), nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// set adds the columns that callers neither give nor see.
func (t *toolCall) set(row *fields, set []surfaces.SetColumn) error {
	for _, s := range set {
		value := t.setValue(s)
		if value == nil {
			return errSetUnavailable()
		}
		if len(s.From.Value) == 0 {
			t.filled = append(t.filled, stringOf(value))
		}
		if err := row.add(s.Column.Name, value); err != nil {
			return err
		}
	}
	return nil
}

// setValue is the column's value, or nil where there is none that it can hold.
func (t *toolCall) setValue(s surfaces.SetColumn) token {
	if len(s.From.Value) > 0 {
		return token(s.From.Value)
	}
	facts := t.call.facts
	if facts == nil {
		return nil
	}
	var value token
	switch {
	case len(s.From.Claim) > 0:
		value = token(facts.read.ClaimJSON(s.From.Claim...))
	case len(s.From.Context) > 0:
		value = token(facts.read.ContextJSON(s.From.Context...))
	}
	value = bytes.TrimSpace(value)
	if len(value) == 0 || isNull(value) || !holdsJSON(s.Column, value) {
		return nil
	}
	return value
}

// holdsJSON reports whether a column can hold a value of the JSON type.
func holdsJSON(c surfaces.Column, value token) bool {
	switch c.JSON {
	case surfaces.JSONAny:
		return true
	case surfaces.JSONString:
		return isString(value) || c.AsText && isNumber(value)
	case surfaces.JSONInteger:
		return isNumber(value) && !bytes.ContainsAny(value, ".eE")
	case surfaces.JSONNumber:
		return isNumber(value)
	case surfaces.JSONBoolean:
		return string(value) == "true" || string(value) == "false"
	case surfaces.JSONArray:
		return value[0] == '['
	}
	return false
}
