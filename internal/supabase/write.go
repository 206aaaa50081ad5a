package supabase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Insert writes one row as the session. The body is the row as an object, or
// nil when no columns were asked for. A row that a trigger drops without a word
// is an *Error (PGRST116). Errors as Select; after a *fault.Error, or a failure
// without PostgREST's own code, the row may be there all the same, and it is
// there when Answer.Status is a success.
func (c *Client) Insert(ctx context.Context, s Session, q Insert) (Answer, error) {
	path, err := relationPath(q.Relation)
	if err == nil {
		_, err = members(q.Row)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("build insert: %w", err)
	}
	req, err := c.dataRequest(ctx, s, http.MethodPost, path+selected(q.Columns), q.Row)
	if err != nil {
		return Answer{}, err
	}
	req.Header["Accept"] = []string{acceptObject}
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Prefer"] = []string{"handling=strict, " + returning(q.Columns)}
	if q.Profile != "" {
		req.Header["Content-Profile"] = []string{q.Profile}
	}
	a, _, err := c.exchange(req, s)
	return a, err
}

// Update changes the rows that match as the session. With Max 1 the body is the
// row as an object, else an array; nil when no columns were asked for. A change
// without a condition, or without a bound, is refused before anything is sent.
// More rows than Max are an *Error (PGRST124, or PGRST116 with Max 1), as is no
// row with Max 1 (PGRST116), and nothing is changed. Errors as Insert.
func (c *Client) Update(ctx context.Context, s Session, q Change) (Answer, error) {
	n, err := members(q.Patch)
	if err == nil && n == 0 {
		err = errors.New("patch has no member")
	}
	if err != nil {
		return Answer{}, fmt.Errorf("build update: %w", err)
	}
	return c.change(ctx, s, http.MethodPatch, q, q.Patch)
}

// Delete removes the rows that match as the session; as Update, with the rows
// as they were.
func (c *Client) Delete(ctx context.Context, s Session, q Change) (Answer, error) {
	return c.change(ctx, s, http.MethodDelete, q, nil)
}

func (c *Client) change(ctx context.Context, s Session, method string, q Change, body []byte) (Answer, error) {
	path, err := relationPath(q.Relation)
	if err != nil {
		return Answer{}, fmt.Errorf("build change: %w", err)
	}
	query, err := q.query()
	if err != nil {
		return Answer{}, fmt.Errorf("build change: %w", err)
	}
	req, err := c.dataRequest(ctx, s, method, path+"?"+query, body)
	if err != nil {
		return Answer{}, err
	}
	bound := "max-affected=" + strconv.Itoa(q.Max)
	prefer := "handling=strict, " + bound + ", " + returning(q.Columns)
	req.Header["Accept"] = []string{acceptRows}
	if q.Max == 1 {
		req.Header["Accept"] = []string{acceptObject}
	} else if method == http.MethodDelete {
		prefer += ", count=exact" // without it only PATCH says how many
	}
	req.Header["Prefer"] = []string{prefer}
	if body != nil {
		req.Header["Content-Type"] = []string{"application/json"}
	}
	if q.Profile != "" {
		req.Header["Content-Profile"] = []string{q.Profile}
	}
	a, header, err := c.exchange(req, s)
	switch {
	case a.Status < 200 || a.Status >= 300:
		return a, err
	case q.Max == 1:
		a.Bounded, a.Affected = true, 1 // the singular representation undoes all else
	default:
		a.Bounded = applied(header, bound)
		a.Affected = affected(header.Get("Content-Range"), method == http.MethodPatch)
	}
	return a, err
}

// query is the query string of a change: what it returns and its conditions.
// limit, offset and order are not part of it: they would not hold it.
func (q Change) query() (string, error) {
	if q.Max < 1 {
		return "", errors.New("change has no bound")
	}
	if !Narrows(q.Where) {
		return "", errors.New("change has no condition that narrows it")
	}
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(selected(q.Columns), "?"))
	if err := where(&b, q.Where); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Narrows reports whether a list of conditions, all of which must hold, leaves
// out anything at all: a condition that every row meets is none. Update and
// Delete refuse others.
func Narrows(all []Condition) bool {
	for _, c := range all {
		if c.narrows(false) {
			return true
		}
	}
	return false
}

// narrows is false for conditions that hold for every row (or every row with a
// value) whatever is in it; negated counts the groups around it that say not.
func (c Condition) narrows(negated bool) bool {
	negated = negated != c.Negate
	if c.Column == "" {
		members, isAnd := c.And, true
		if len(c.Or) > 0 {
			members, isAnd = c.Or, false
		}
		// Under a not, and is an or of the opposites, and the other way round.
		if isAnd != negated {
			for _, m := range members {
				if m.narrows(negated) {
					return true
				}
			}
			return false
		}
		for _, m := range members {
			if !m.narrows(negated) {
				return false
			}
		}
		return len(members) > 0
	}
	switch c.Operator {
	case "in", "ov":
		return !negated || len(c.Values) > 0 // nothing is in the empty list
	case "cs":
		value := strings.Join(strings.Fields(c.Value), "")
		return negated || len(c.Values) > 0 || value != "" && value != "{}" && value != "[]" // everything contains nothing
	case "like", "ilike":
		return negated || strings.Trim(c.Value, "%") != ""
	case "wfts":
		return !negated || strings.TrimSpace(c.Value) != ""
	}
	return true
}

// members counts the members of a JSON object; anything else is an error. A
// list would write many rows, a bare value none.
func members(object json.RawMessage) (int, error) {
	trimmed := bytes.TrimLeft(object, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return 0, errors.New("row is not a JSON object")
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(trimmed, &m) != nil {
		return 0, errors.New("row is not a JSON object")
	}
	return len(m), nil
}

// selected is "?select=…" with columns, and nothing without.
func selected(columns []string) string {
	if len(columns) == 0 {
		return ""
	}
	var b strings.Builder
	pair(&b, "select", strings.Join(columns, ","))
	return "?" + b.String()
}

func returning(columns []string) string {
	if len(columns) == 0 {
		return "return=minimal"
	}
	return "return=representation"
}

// applied reports whether Preference-Applied names the preference.
func applied(h http.Header, preference string) bool {
	for _, line := range h.Values("Preference-Applied") {
		for p := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(p) == preference {
				return true
			}
		}
	}
	return false
}

// affected reads how many rows a write changed from its Content-Range: the
// total behind the slash, or for a PATCH the span before it ("0-1/*" is two
// rows, "*/*" none). -1 where it does not say.
func affected(contentRange string, isPatch bool) int {
	span, total, found := strings.Cut(contentRange, "/")
	if !found {
		return -1
	}
	if n, err := strconv.Atoi(total); err == nil && n >= 0 {
		return n
	}
	if !isPatch || total != "*" {
		return -1
	}
	if span == "*" {
		return 0
	}
	from, to, _ := strings.Cut(span, "-")
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || first != 0 || last < 0 {
		return -1
	}
	return last + 1
}
