package supabase

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// SelectColumn is the select item of a column: quoted, as text if asked, which
// keeps every digit of bigint and numeric. The key in the answer is the name.
func SelectColumn(name string, asText bool) string {
	if asText {
		return quote(name) + "::text"
	}
	return quote(name)
}

// SelectAlias is SelectColumn under another key.
func SelectAlias(alias, name string, asText bool) string {
	return quote(alias) + ":" + SelectColumn(name, asText)
}

// query is the raw query string. The server decodes the whole query before it
// parses it, so escaping protects only the transport; the quoting below is
// what keeps values values:
//
//	A  column=op.value       the value verbatim: quotes would be searched for
//	B  in.("a","b")          every element quoted
//	C  or=("a".eq."b",…)     every value quoted, but those of is and in
//
// An array is one value, {"a","b"}, whose elements are quoted as in B; in C it
// is quoted once more as a whole.
func (q Select) query() (string, error) {
	var b strings.Builder
	items, err := q.items()
	if err != nil {
		return "", err
	}
	if len(items) > 0 {
		pair(&b, "select", strings.Join(items, ","))
	}
	if err := where(&b, q.Where); err != nil {
		return "", err
	}
	for _, e := range q.Embeds {
		if len(e.Order) > 0 {
			pair(&b, quote(e.Alias)+".order", orderText(e.Order))
		}
		if e.Limit > 0 {
			pair(&b, quote(e.Alias)+".limit", strconv.Itoa(e.Limit))
		}
	}
	if len(q.Order) > 0 {
		pair(&b, "order", orderText(q.Order))
	}
	if q.Limit > 0 {
		pair(&b, "limit", strconv.Itoa(q.Limit))
	}
	return b.String(), nil
}

// items are the select items: columns, then embeds.
func (q Select) items() ([]string, error) {
	if len(q.Embeds) == 0 {
		return q.Columns, nil
	}
	items := slices.Clone(q.Columns)
	for i, e := range q.Embeds {
		// A path such as alias.order means an embed by its alias or by its
		// relation, and the server takes either one.
		hasPath := len(e.Order) > 0 || e.Limit > 0
		for j, other := range q.Embeds {
			if i != j && (other.Alias == e.Alias || hasPath && other.Relation == e.Alias) {
				return nil, fmt.Errorf("alias %q of an embed means another one too", e.Alias)
			}
		}
		item, err := e.item()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// where writes the conditions, all of which must hold.
func where(b *strings.Builder, all []Condition) error {
	for _, c := range all {
		key, value, err := c.topLevel()
		if err != nil {
			return err
		}
		pair(b, key, value)
	}
	return nil
}

// item is the select item of an embed. Its order and limit go by the alias,
// which is quoted there as here: a hint or alias named inner, not or limit is
// a name.
func (e Embed) item() (string, error) {
	if !isWord(e.Alias) {
		return "", fmt.Errorf("alias %q of an embed is not of letters, digits and _", e.Alias)
	}
	if e.Relation == "" || e.Relation == "count" || len(e.Columns) == 0 {
		// The grammar keeps the name count for itself.
		return "", errors.New("embed has no relation that can be named, or no columns")
	}
	var b strings.Builder
	b.WriteString(quote(e.Alias))
	b.WriteByte(':')
	b.WriteString(quote(e.Relation))
	if e.Hint != "" {
		b.WriteByte('!')
		b.WriteString(quote(e.Hint))
	}
	b.WriteByte('(')
	b.WriteString(strings.Join(e.Columns, ","))
	b.WriteByte(')')
	return b.String(), nil
}

// isWord reports whether s is of ASCII letters, digits and underscores, at
// least one.
func isWord(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}

func pair(b *strings.Builder, key, value string) {
	if b.Len() > 0 {
		b.WriteByte('&')
	}
	b.WriteString(url.QueryEscape(key))
	b.WriteByte('=')
	b.WriteString(url.QueryEscape(value))
}

func orderText(terms []OrderBy) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(t.Column))
		if t.Desc {
			b.WriteString(".desc")
		} else {
			b.WriteString(".asc")
		}
		if t.NullsFirst {
			b.WriteString(".nullsfirst")
		} else {
			b.WriteString(".nullslast")
		}
	}
	return b.String()
}

var errCondition = errors.New("condition has neither a column nor a group, or both")

// topLevel is the pair of a condition in context A (and B for in).
func (c Condition) topLevel() (key, value string, err error) {
	if c.isGroup() {
		return c.group()
	}
	if c.Column == "" || len(c.And) > 0 || len(c.Or) > 0 {
		return "", "", errCondition
	}
	c = c.normal()
	v, err := c.operand(false)
	if err != nil {
		return "", "", err
	}
	return quote(c.Column), c.not() + c.operator() + "." + v, nil
}

func (c Condition) isGroup() bool {
	return c.Column == "" && (len(c.And) > 0) != (len(c.Or) > 0)
}

// group is a logic tree's key (and, or, not.and, not.or) and bracketed list.
func (c Condition) group() (key, value string, err error) {
	word, members := "and", c.And
	if len(c.Or) > 0 {
		word, members = "or", c.Or
	}
	var b strings.Builder
	b.WriteByte('(')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := m.nested(&b); err != nil {
			return "", "", err
		}
	}
	b.WriteByte(')')
	return c.not() + word, b.String(), nil
}

// nested writes the condition in context C.
func (c Condition) nested(b *strings.Builder) error {
	if c.isGroup() {
		key, value, err := c.group()
		if err != nil {
			return err
		}
		b.WriteString(key)
		b.WriteString(value)
		return nil
	}
	if c.Column == "" || len(c.And) > 0 || len(c.Or) > 0 {
		return errCondition
	}
	c = c.normal()
	v, err := c.operand(true)
	if err != nil {
		return err
	}
	// Inside a tree the negation stands between the column and the operator.
	b.WriteString(quote(c.Column))
	b.WriteByte('.')
	b.WriteString(c.not())
	b.WriteString(c.operator())
	b.WriteByte('.')
	b.WriteString(v)
	return nil
}

// operator is the operator as written, once operand has taken it.
func (c Condition) operator() string {
	if c.Config != "" {
		return c.Operator + "(" + c.Config + ")"
	}
	return c.Operator
}

// normal rewrites the one list the grammar cannot say: in.("") means the empty
// set there, so a lone empty string is compared with eq.
func (c Condition) normal() Condition {
	if c.Operator == "in" && len(c.Values) == 1 && c.Values[0] == "" {
		c.Operator, c.Value, c.Values = "eq", "", nil
	}
	return c
}

func (c Condition) not() string {
	if c.Negate {
		return "not."
	}
	return ""
}

// operand is the text after the operator's dot. Operators are a closed list:
// one from elsewhere would change the meaning of everything behind it.
func (c Condition) operand(inTree bool) (string, error) {
	if c.Config != "" && (c.Operator != "wfts" || !isWord(c.Config)) {
		return "", errors.New("text search configuration is not a plain name, or not of a text search")
	}
	switch c.Operator {
	case "eq", "neq", "gt", "gte", "lt", "lte", "isdistinct", "wfts":
		return valueText(c.Value, inTree), nil
	case "like", "ilike":
		// The grammar turns every * into %, with no way to escape it.
		return valueText(strings.ReplaceAll(c.Value, "*", "_"), inTree), nil
	case "cs", "cd", "ov":
		v, err := c.contained()
		if err != nil {
			return "", err
		}
		return valueText(v, inTree), nil
	case "is":
		switch c.Value {
		case "null", "not_null", "true", "false", "unknown":
			return c.Value, nil
		}
		return "", errors.New("operator is takes null, not_null, true, false or unknown")
	case "in":
		return listText(c.Values, '(', ')'), nil
	}
	return "", fmt.Errorf("operator %q is not one of the list", c.Operator)
}

func valueText(v string, inTree bool) string {
	if inTree {
		return quote(v)
	}
	return v
}

// contained is the value of cs, cd and ov: a JSON text as it is, or the values
// as an array literal. Every element is quoted, so that none is NULL or an
// array of its own.
func (c Condition) contained() (string, error) {
	if c.Value == "" {
		return listText(c.Values, '{', '}'), nil
	}
	if len(c.Values) > 0 || c.Operator == "ov" || !json.Valid([]byte(c.Value)) {
		return "", errors.New("operator cs or cd takes values or a JSON text, ov takes values")
	}
	return c.Value, nil
}

// listText is a list of quoted values: of in, or an array literal.
func listText(values []string, open, closing byte) string {
	var b strings.Builder
	b.WriteByte(open)
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		writeQuoted(&b, v)
	}
	b.WriteByte(closing)
	return b.String()
}

// quote quotes a column, table or alias for every place where the Data API's
// grammar takes an identifier, and values where it takes them quoted. Quoting
// an identifier is always legal there.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	writeQuoted(&b, s)
	return b.String()
}

func writeQuoted(b *strings.Builder, s string) {
	b.WriteByte('"')
	for {
		i := strings.IndexAny(s, `"\`)
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		b.WriteByte('\\')
		b.WriteByte(s[i])
		s = s[i+1:]
	}
	b.WriteString(s)
	b.WriteByte('"')
}
