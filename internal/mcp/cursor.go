package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// A cursor is where a page ended: the last row's order values, sealed. It is
// bound to the surface, the tool, the filters, the search and the order (all in
// the associated data), not to the caller and not to the revision: paging survives
// a publish, and a cursor in other hands reads that caller's rows only.
//
// The sealed text is one letter and a JSON array of the row's tokens as the
// project sent them, so that no digit and no microsecond is lost:
//
//	v[…]  the values of the order's columns
//	k[…]  the primary key alone, when those would be too long; its order
//	      values are read again, as the caller, when the cursor is used
const (
	cursorByValue = 'v'
	cursorByKey   = 'k'
)

var errCursor = &toolError{kind: kindInvalidCursor,
	detail: "This cursor does not continue this list: it was made for other arguments, or is not a cursor. Start again without cursor."}

// cursorScope is what a cursor is bound to.
type cursorScope struct{ ad []byte }

// newCursorScope binds to the surface, the tool, the order with its columns
// and directions, the values of every filter in plan order, and the search.
func newCursorScope(surface, tool string, order surfaces.Order, filters []boundFilter, search *boundSearch) cursorScope {
	h := sha256.New()
	list := func(parts []string) { // as one part: how many there are must not be in doubt
		h.Write(seal.AD(string(seal.AD(parts...))))
	}
	for _, f := range filters {
		list([]string{f.filter.Argument, f.filter.Column.Name, f.filter.Operator})
		list(f.values)
	}
	if search != nil {
		list(search.scope())
	}
	parts := []string{"list cursor 2", surface, tool, order.Name, string(h.Sum(nil))}
	for _, k := range order.Keys {
		parts = append(parts, k.Column.Name, direction(k))
	}
	return cursorScope{ad: seal.AD(parts...)}
}

func direction(k surfaces.OrderTerm) string {
	switch {
	case k.Desc && k.NullsFirst:
		return "df"
	case k.Desc:
		return "dl"
	case k.NullsFirst:
		return "af"
	}
	return "al"
}

// sealCursor makes the cursor after a row. It returns "" when not even the
// primary key fits, or a key column is null (a view whose key is none).
func (r *toolRunner) sealCursor(scope cursorScope, order, key []token) string {
	if c := r.sealTokens(scope, cursorByValue, order); c != "" {
		return c
	}
	for _, t := range key {
		if isNull(t) {
			return ""
		}
	}
	return r.sealTokens(scope, cursorByKey, key)
}

func (r *toolRunner) sealTokens(scope cursorScope, form byte, tokens []token) string {
	plain := append(make([]byte, 0, 128), form, '[')
	for i, t := range tokens {
		if i > 0 {
			plain = append(plain, ',')
		}
		plain = appendToken(plain, t)
	}
	plain = append(plain, ']')
	const sealedOverhead = 32
	if base64.RawURLEncoding.EncodedLen(len(plain)+sealedOverhead) > surfaces.MaxCursor {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(r.cursors.Seal(plain, scope.ad))
}

// position is an opened cursor.
type position struct {
	byKey  bool
	values []token
}

// openCursor reverses sealCursor. Every failure is errCursor: which part of a
// cursor is wrong is nobody's business.
func (r *toolRunner) openCursor(scope cursorScope, cursor string, orderLen, keyLen int) (position, error) {
	if len(cursor) > surfaces.MaxCursor {
		return position{}, errCursor
	}
	sealed, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(cursor))
	if err != nil {
		return position{}, errCursor
	}
	plain, err := r.cursors.Open(sealed, scope.ad)
	if err != nil || len(plain) < 3 || plain[1] != '[' || !json.Valid(plain[1:]) {
		return position{}, errCursor
	}
	p := position{byKey: plain[0] == cursorByKey, values: elements(plain[1:])}
	want := orderLen
	if p.byKey {
		want = keyLen
	}
	if len(p.values) != want {
		return position{}, errCursor
	}
	return p, nil
}
