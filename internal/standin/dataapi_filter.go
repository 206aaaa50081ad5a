package standin

import (
	"slices"
	"strings"
)

// condition is a filter on a field, or a group of conditions.
type condition struct {
	field    field
	operator string // eq, in, is, fts, …; empty for a group
	negate   bool
	quantity string // any, all or empty
	language string // of the full text operators
	value    string
	values   []string // of in

	group string // and, or; empty for a filter
	parts []condition
}

// comparisons are the operators that compare with a plain value, and how SQL
// spells them.
var comparisons = map[string]string{
	"eq": "=", "neq": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=",
	"like": "like", "ilike": "ilike", "match": "~", "imatch": "~*",
	"cs": "@>", "cd": "<@", "ov": "&&", "sl": "<<", "sr": ">>", "nxr": "&<", "nxl": "&>", "adj": "-|-",
	"isdistinct": "is distinct from",
}

var quantifiable = []string{"eq", "gt", "gte", "lt", "lte", "like", "ilike", "match", "imatch"}

var searches = map[string]string{
	"fts": "to_tsquery", "plfts": "plainto_tsquery", "phfts": "phraseto_tsquery", "wfts": "websearch_to_tsquery",
}

var isValues = map[string]string{
	"null": "null", "not_null": "not null", "true": "true", "false": "false", "unknown": "unknown",
}

// parseFilter reads the value of a top level filter: everything after the
// operator is the value, as it is.
func parseFilter(f field, input string) (condition, error) {
	l := &lexer{in: input}
	c := condition{field: f}
	if !l.operator(&c) {
		return c, parseError("filter", input, `unexpected `+firstOf(input)+` expecting "not" or operator (eq, gt, ...)`)
	}
	switch c.operator {
	case "in":
		values, ok := l.list()
		if !ok || !l.done() {
			return c, parseError("filter", input, `unexpected `+firstOf(l.rest())+` expecting "("`)
		}
		c.values = values
	case "is":
		c.value = strings.ToLower(l.rest())
		if isValues[c.value] == "" {
			return c, parseError("filter", input, "unexpected "+firstOf(c.value)+" expecting null, not_null, true, false or unknown")
		}
	default:
		c.value = l.rest()
	}
	return c, nil
}

// operator consumes "[not.]op[(any)|(language)]." into c.
func (l *lexer) operator(c *condition) bool {
	start := l.pos
	if l.take("not.") {
		c.negate = true
	}
	name := l.until(".(")
	argument := ""
	if name != "in" && l.take("(") {
		// A text search configuration is one bare name: no schema, no quotes.
		argument = l.castName()
		if argument == "" || !l.take(")") {
			l.pos = start
			return false
		}
	}
	if !l.take(".") || !c.setOperator(name, argument) {
		l.pos = start
		return false
	}
	return true
}

func (c *condition) setOperator(name, argument string) bool {
	c.operator = name
	switch {
	case searches[name] != "":
		c.language = argument
		return true
	case argument != "":
		c.quantity = argument
		return slices.Contains(quantifiable, name) && (argument == "any" || argument == "all")
	}
	return comparisons[name] != "" || name == "in" || name == "is"
}

// parseLogic reads the value of an and= or or= parameter: "(a.eq.1,or(…))".
func parseLogic(group string, negate bool, input string) (condition, error) {
	l := &lexer{in: input}
	c := condition{group: group, negate: negate}
	parts, ok := l.group(0)
	if !ok || !l.done() {
		return c, parseError("logic tree", input, "unexpected "+firstOf(l.rest()))
	}
	c.parts = parts
	return c, nil
}

// maxLogicDepth stops a query string from using up the stack.
const maxLogicDepth = 32

func (l *lexer) group(depth int) (parts []condition, ok bool) {
	if depth > maxLogicDepth || !l.take("(") {
		return nil, false
	}
	for {
		part, ok := l.logicPart(depth)
		if !ok {
			return nil, false
		}
		parts = append(parts, part)
		if l.take(",") {
			continue
		}
		return parts, l.take(")")
	}
}

func (l *lexer) logicPart(depth int) (condition, bool) {
	start := l.pos
	c := condition{negate: l.take("not.")}
	for _, group := range []string{"and", "or"} {
		if strings.HasPrefix(l.rest(), group+"(") {
			l.pos += len(group)
			parts, ok := l.group(depth + 1)
			c.group, c.parts = group, parts
			return c, ok
		}
	}
	l.pos = start // a "not." here belonged to a column of that name
	return l.logicFilter()
}

func (l *lexer) logicFilter() (c condition, ok bool) {
	if c.field, ok = l.field(); !ok || !l.take(".") || !l.operator(&c) {
		return c, false
	}
	switch c.operator {
	case "in":
		c.values, ok = l.list()
		return c, ok
	case "is":
		c.value = strings.ToLower(l.until(",)"))
		return c, isValues[c.value] != ""
	}
	if value, quoted := l.quoted(); quoted {
		c.value = value
		return c, true
	}
	if strings.HasPrefix(l.rest(), "{") {
		if end := strings.IndexAny(l.rest()[1:], "{}"); end >= 0 && l.rest()[end+1] == '}' {
			c.value = l.rest()[:end+2]
			l.pos += end + 2
			return c, true
		}
	}
	c.value = l.until(",)")
	return c, true
}

func firstOf(input string) string {
	for _, r := range input {
		return `"` + string(r) + `"`
	}
	return "end of input"
}
