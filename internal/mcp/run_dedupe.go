package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// madeText says of a create that it was made before.
const madeText = "Already created by an identical call."

// identified reports whether the caller can be told from all others. Creates of
// those who cannot are never taken for one another's.
func (t *toolCall) identified() bool { return t.call.caller.Key.Mode != oauth.ModePublic }

// createKey is the value that the dedupe column gets for this row of this
// caller.
func (t *toolCall) createKey(ctx context.Context, plan *surfaces.CreatePlan, row token) (string, error) {
	if !t.identified() {
		id, err := uuid.NewRandom()
		return id.String(), err
	}
	if t.runner.creates == nil {
		return "", &toolError{kind: fault.Unavailable.String(), detail: "Nothing was created: this server cannot tell whether a create is made twice. The app's owner must look into it."}
	}
	id, err := t.runner.creates.Key(ctx, t.call.endpoint.Surface, t.createDigest(plan, row))
	if fault.Is(err, fault.Unavailable) {
		return "", &toolError{kind: fault.Unavailable.String(), detail: "Nothing was created: whether it was created before cannot be told right now. Try again" + in(fault.From(err).RetryAfter) + "."}
	}
	return id.String(), err
}

// createDigest stands for the caller, the tool and the row, in which equal
// values are written alike. The row holds what was set, too: a user who changed
// organizations meanwhile makes another row.
func (t *toolCall) createDigest(plan *surfaces.CreatePlan, row token) []byte {
	key := t.call.caller.Key
	parts := seal.AD("create 1", key.Surface.String(), string(key.Mode), key.Issuer, key.Subject, key.Client, t.tool.Name,
		string(canonicalRow(row, plan)))
	sum := sha256.Sum256(parts)
	return sum[:]
}

// canonicalRow writes the row with its members in order, and numbers that
// travel as text, and uuids, in one spelling.
func canonicalRow(row token, plan *surfaces.CreatePlan) []byte {
	spell := func(name string) spelling {
		for _, w := range plan.Values {
			if w.Column.Name == name {
				return spellingOf(w.Column.SQLType)
			}
		}
		return nil
	}
	return appendSorted(nil, row, func(name string, value token) token {
		if s := spell(name); s != nil {
			if exact := each(value, s); exact != nil {
				return exact
			}
		}
		return value
	})
}

// appendSorted appends JSON with the members of every object in the order of
// their names, without space, and text in one spelling.
func appendSorted(dst []byte, value token, edit func(name string, value token) token) []byte {
	switch {
	case isString(value):
		return appendString(dst, stringOf(value))
	case !isContainer(value):
		return append(dst, value...)
	case value[0] == '[':
		dst = append(dst, '[')
		for i, element := range elements(value) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSorted(dst, element, nil)
		}
		return append(dst, ']')
	}
	list := members(value, 0)
	slices.SortFunc(list, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, m := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		part := bytes.TrimSpace(value[m.start:m.end])
		if edit != nil {
			part = edit(m.key, part)
		}
		dst = append(appendString(dst, m.key), ':')
		dst = appendSorted(dst, part, nil)
	}
	return append(dst, '}')
}

// madeBefore answers a create whose row is there already by the row, and any
// other failure as it was. Any unique key may be the one that the repeated row
// met first, so the row is looked for by the key of the create.
func (t *toolCall) madeBefore(ctx context.Context, plan *surfaces.CreatePlan, key string, failure error) (*page, error) {
	var e *supabase.Error
	if !errors.As(failure, &e) || e.Code != "23505" {
		return nil, failure
	}
	columns := plan.Columns
	proj := projectionOf(columns, nil, nil)
	if len(proj.items) == 0 {
		proj = projectionOf(nil, []surfaces.Column{plan.Dedupe.Column}, nil)
	}
	body, err := t.query(ctx, supabase.Select{
		Profile: plan.Relation.Profile, Relation: plan.Relation.Name, Columns: proj.items, Single: true,
		Where: []supabase.Condition{{Column: plan.Dedupe.Column.Name, Operator: "eq", Value: key}},
	})
	switch {
	case err == nil:
		return t.rowWritten(madeText, columns, plan.Key, body), nil
	case slices.ContainsFunc(plan.Dedupe.Constraints, func(name string) bool { return strings.Contains(e.Message, `"`+name+`"`) }):
		return t.rowWritten(madeText, nil, nil, nil), nil
	}
	return nil, failure
}
