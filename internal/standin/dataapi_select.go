package standin

import (
	"strings"
	"unicode"
)

// selectItem is one item of a select list: a column, "*", or an embedded
// relation with a list of its own.
type selectItem struct {
	star  bool
	field field
	alias string
	cast  string

	embed *embedItem
}

// embedItem is "rel!hint!inner(…)".
type embedItem struct {
	relation string
	hint     string
	inner    bool
	items    []selectItem
}

// name is what the item is called in a row.
func (s selectItem) name() string {
	if s.alias != "" {
		return s.alias
	}
	if s.embed != nil {
		return s.embed.relation
	}
	for i := len(s.field.path) - 1; i >= 0; i-- {
		if !s.field.path[i].isIndex {
			return s.field.path[i].key
		}
	}
	return s.field.name
}

// parseSelect reads a select parameter; empty means "*".
func parseSelect(input string) ([]selectItem, error) {
	if strings.TrimSpace(input) == "" {
		return []selectItem{{star: true}}, nil
	}
	l := &lexer{in: input}
	items, err := l.selectList(0)
	if err != nil {
		return nil, err
	}
	if !l.done() {
		return nil, parseError("select parameter", input, "unexpected "+firstOf(l.rest()))
	}
	return items, nil
}

func (l *lexer) selectList(depth int) ([]selectItem, error) {
	var items []selectItem
	for {
		item, err := l.selectItem(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if !l.take(",") {
			return items, nil
		}
	}
}

func (l *lexer) selectItem(depth int) (item selectItem, err error) {
	if l.take("*") {
		return selectItem{star: true}, nil
	}
	if strings.HasPrefix(l.rest(), "...") {
		return item, notImplemented("spread embedding")
	}
	if strings.HasPrefix(l.rest(), "count()") {
		return item, aggregatesOff()
	}
	name, ok := l.identifier()
	if !ok {
		return item, parseError("select parameter", l.in, "unexpected "+firstOf(l.rest())+" expecting field name")
	}
	if strings.HasPrefix(l.rest(), ":") && !strings.HasPrefix(l.rest(), "::") {
		l.pos++
		item.alias = name
		if name, ok = l.identifier(); !ok {
			return item, parseError("select parameter", l.in, "unexpected "+firstOf(l.rest())+" expecting field name")
		}
	}
	if strings.HasPrefix(l.rest(), "(") || strings.HasPrefix(l.rest(), "!") {
		item.embed, err = l.embed(name, depth)
		return item, err
	}
	item.field.name = name
	if item.field.path, ok = l.jsonPath(); !ok {
		return item, parseError("select parameter", l.in, "unexpected "+firstOf(l.rest()))
	}
	if isAggregate(l.rest()) {
		return item, aggregatesOff()
	}
	if l.take("::") {
		if item.cast = l.castName(); item.cast == "" {
			return item, parseError("select parameter", l.in, "unexpected "+firstOf(l.rest())+" expecting a type name")
		}
		if isAggregate(l.rest()) {
			return item, aggregatesOff()
		}
	}
	return item, nil
}

func (l *lexer) embed(name string, depth int) (*embedItem, error) {
	if depth > 0 {
		return nil, notImplemented("embedding inside an embedded relation")
	}
	if name == "count" {
		return nil, parseError("select parameter", l.in, "unexpected "+firstOf(l.rest()))
	}
	e := &embedItem{relation: name}
	for l.take("!") {
		// The words are taken first, from the front of a bare hint too: only a
		// quoted hint may begin with one.
		if l.take("left") {
			continue
		}
		if l.take("inner") {
			e.inner = true
			continue
		}
		var ok bool
		if e.hint, ok = l.identifier(); !ok {
			return nil, parseError("select parameter", l.in, "unexpected "+firstOf(l.rest()))
		}
	}
	if !l.take("(") {
		return nil, parseError("select parameter", l.in, `unexpected `+firstOf(l.rest())+` expecting "("`)
	}
	if l.take(")") {
		return e, nil
	}
	var err error
	if e.items, err = l.selectList(depth + 1); err != nil {
		return nil, err
	}
	if !l.take(")") {
		return nil, parseError("select parameter", l.in, `unexpected `+firstOf(l.rest())+` expecting ")"`)
	}
	return e, nil
}

// castName consumes a type name: letters, digits, _ space and $.
func (l *lexer) castName() string {
	start := l.pos
	for !l.done() {
		c := rune(l.in[l.pos])
		if c > unicode.MaxASCII || (!unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_ $", c)) {
			break
		}
		l.pos++
	}
	return strings.TrimSpace(l.in[start:l.pos])
}

func isAggregate(rest string) bool {
	for _, name := range []string{".sum()", ".avg()", ".count()", ".max()", ".min()"} {
		if strings.HasPrefix(rest, name) {
			return true
		}
	}
	return false
}

func aggregatesOff() *apiError {
	return &apiError{status: 400, Code: "PGRST123", Message: "Use of aggregate functions is not allowed"}
}

// orderTerm is one term of an order parameter.
type orderTerm struct {
	field field
	desc  bool
	nulls string // first, last or empty for the default
}

func parseOrder(input string) ([]orderTerm, error) {
	l := &lexer{in: input}
	var terms []orderTerm
	for {
		f, ok := l.field()
		if !ok {
			return nil, parseError("order", input, "unexpected "+firstOf(l.rest())+" expecting field name")
		}
		if strings.HasPrefix(l.rest(), "(") {
			return nil, notImplemented("ordering by an embedded relation")
		}
		term := orderTerm{field: f}
		if l.take(".desc") {
			term.desc = true
		} else {
			l.take(".asc")
		}
		switch {
		case l.take(".nullsfirst"):
			term.nulls = "first"
		case l.take(".nullslast"):
			term.nulls = "last"
		}
		terms = append(terms, term)
		if l.done() {
			return terms, nil
		}
		if !l.take(",") {
			return nil, parseError("order", input, "unexpected "+firstOf(l.rest())+` expecting "asc", "desc", "nullsfirst" or "nullslast"`)
		}
	}
}

// parseNames reads columns= and on_conflict=: a comma list of names.
func parseNames(what, input string) ([]string, error) {
	l := &lexer{in: input}
	var names []string
	for {
		name, ok := l.identifier()
		if !ok {
			return nil, parseError(what, input, "unexpected "+firstOf(l.rest())+" expecting field name")
		}
		names = append(names, name)
		if l.done() {
			return names, nil
		}
		if !l.take(",") {
			return nil, parseError(what, input, "unexpected "+firstOf(l.rest())+` expecting ","`)
		}
	}
}
