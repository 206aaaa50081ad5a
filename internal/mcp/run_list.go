package mcp

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// boundFilter is a filter with the values the caller gave.
type boundFilter struct {
	filter surfaces.Filter
	values []string // plain text: one, or any number for in and for lists of cs, cd and ov
}

// Bounds of one list, or one JSON value, that a filter compares with: they
// travel in a URL.
const (
	maxFilterValues = 100
	maxFilterBytes  = 4 << 10
)

// list reads one page of rows after the cursor, one row more than asked to see
// whether there are others, and renders as many as the budget holds.
func (t *toolCall) list(ctx context.Context, plan *surfaces.ListPlan) (*page, error) {
	filters, err := bindFilters(plan.Filters, t.arguments)
	if err != nil {
		return nil, err
	}
	order, err := chooseOrder(plan, t.arguments)
	if err != nil {
		return nil, err
	}
	limit, err := chooseLimit(plan, t.arguments)
	if err != nil {
		return nil, err
	}
	search, err := bindSearch(plan.Search, t.arguments)
	if err != nil {
		return nil, err
	}
	scope := newCursorScope(t.call.endpoint.Surface.String(), t.tool.Name, order, filters, search)
	where := make([]supabase.Condition, 0, len(filters)+2)
	for _, f := range filters {
		where = append(where, f.condition())
	}
	if search != nil {
		where = append(where, search.condition())
	}
	if cursor := t.arguments.get("cursor"); cursor != nil && !isNull(cursor) {
		after, err := t.after(ctx, plan, order, scope, stringOf(cursor))
		if err != nil {
			return nil, err
		}
		where = append(where, after)
	}
	proj := projectionWith(plan.Columns, plan.Embeds, plan.Key, order.Keys)
	body, err := t.query(ctx, supabase.Select{
		Profile: plan.Relation.Profile, Relation: plan.Relation.Name, Columns: proj.items, Embeds: selectEmbeds(plan.Embeds),
		Where: where, Order: orderOf(order), Limit: limit + 1,
	})
	if err != nil {
		return nil, err
	}
	rows, err := readTable(body, proj.names)
	if err == nil {
		err = proj.reshape(rows)
	}
	if err != nil {
		return nil, err
	}
	return t.listPage(plan, proj, rows, limit, scope)
}

// after opens the cursor and gives the condition of the rows behind it.
func (t *toolCall) after(ctx context.Context, plan *surfaces.ListPlan, order surfaces.Order, scope cursorScope, cursor string) (supabase.Condition, error) {
	p, err := t.runner.openCursor(scope, cursor, len(order.Keys), len(plan.Key))
	if err != nil {
		return supabase.Condition{}, err
	}
	if p.byKey {
		if p.values, err = t.orderValues(ctx, plan, order, p.values); err != nil {
			return supabase.Condition{}, err
		}
	}
	return afterRow(order.Keys, p.values, plan.Key), nil
}

// orderValues reads the order values of the row with this key, as the caller:
// who cannot see the row cannot use the cursor.
func (t *toolCall) orderValues(ctx context.Context, plan *surfaces.ListPlan, order surfaces.Order, key []token) ([]token, error) {
	proj := projectionOf(nil, nil, order.Keys)
	body, err := t.query(ctx, supabase.Select{
		Profile: plan.Relation.Profile, Relation: plan.Relation.Name, Columns: proj.items,
		Where: keyConditions(plan.Key, key), Single: true,
	})
	var e *supabase.Error
	if errors.As(err, &e) && e.Code == codeNotSingular {
		return nil, errCursor
	}
	if err != nil {
		return nil, err
	}
	rows, err := readOne(body, proj.names)
	if err != nil {
		return nil, err
	}
	return pick(rows.row(0), proj.order), nil
}

func keyConditions(key []surfaces.Column, values []token) []supabase.Condition {
	where := make([]supabase.Condition, len(key))
	for i, k := range key {
		where[i] = supabase.Condition{Column: k.Name, Operator: "eq", Value: stringOf(values[i])}
	}
	return where
}

// bindFilters takes the filters' values from the arguments, in plan order.
func bindFilters(filters []surfaces.Filter, args arguments) ([]boundFilter, error) {
	bound := make([]boundFilter, 0, len(filters))
	for _, f := range filters {
		value := args.get(f.Argument)
		if value == nil {
			if f.Required {
				return nil, invalid(f.Argument, "is required")
			}
			continue
		}
		values, err := filterValues(f, value)
		if err != nil {
			return nil, err
		}
		bound = append(bound, boundFilter{filter: f, values: values})
	}
	return bound, nil
}

func filterValues(f surfaces.Filter, value token) ([]string, error) {
	switch {
	case f.Operator == "in":
		return filterList(f, value)
	case isContainment(f.Operator):
		if f.Column.JSON != surfaces.JSONArray {
			return filterJSON(f, value)
		}
		return filterList(f, value)
	case f.Operator == "is":
		switch s := stringOf(value); s {
		case "null", "not_null", "true", "false", "unknown":
			return []string{s}, nil
		}
		return nil, invalid(f.Argument, "must be one of null, not_null, true, false, unknown")
	case isContainer(value) || isNull(value):
		return nil, invalid(f.Argument, "must be a plain value")
	}
	return []string{stringOf(value)}, nil
}

// isContainment reports whether the operator compares what is inside values:
// contains, contained in, overlaps.
func isContainment(operator string) bool {
	return operator == "cs" || operator == "cd" || operator == "ov"
}

// filterList reads a list of plain values. Null is none: no list of the Data
// API's can hold it.
func filterList(f surfaces.Filter, value token) ([]string, error) {
	if value[0] != '[' {
		return nil, invalid(f.Argument, "must be a list")
	}
	list := elements(value)
	if len(list) > maxFilterValues {
		return nil, invalid(f.Argument, "has more than "+strconv.Itoa(maxFilterValues)+" values; give fewer")
	}
	values := make([]string, len(list))
	for i, v := range list {
		if isContainer(v) || isNull(v) {
			return nil, invalid(f.Argument, "must be a list of plain values")
		}
		values[i] = stringOf(v)
	}
	if lengthOf(values) > maxFilterBytes {
		return nil, invalid(f.Argument, "is longer than "+strconv.Itoa(maxFilterBytes)+" bytes; give fewer or shorter values")
	}
	return values, nil
}

// filterJSON reads any JSON value, as compact JSON.
func filterJSON(f surfaces.Filter, value token) ([]string, error) {
	compact := appendToken(nil, value)
	if len(compact) > maxFilterBytes {
		return nil, invalid(f.Argument, "is longer than "+strconv.Itoa(maxFilterBytes)+" bytes; give a smaller value")
	}
	return []string{string(compact)}, nil
}

func lengthOf(values []string) int {
	n := 0
	for _, v := range values {
		n += len(v)
	}
	return n
}

// condition is the filter on the wire. like and ilike look for the caller's
// text anywhere in the column: its own \ % _ are ordinary characters, and its
// * stands for any one character, since the Data API cannot say a literal *.
func (f boundFilter) condition() supabase.Condition {
	c := supabase.Condition{Column: f.filter.Column.Name, Operator: f.filter.Operator}
	switch f.filter.Operator {
	case "in":
		c.Values = f.values
	case "cs", "cd", "ov":
		if f.filter.Column.JSON == surfaces.JSONArray {
			c.Values = f.values
		} else {
			c.Value = f.values[0]
		}
	case "like", "ilike":
		c.Value = contains(f.values[0])
	default:
		c.Value = f.values[0]
	}
	return c
}

func contains(text string) string {
	b := make([]byte, 0, len(text)+8)
	b = append(b, '%')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\', '%', '_':
			b = append(b, '\\', c)
		case '*':
			b = append(b, '_')
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '%'))
}

func chooseOrder(plan *surfaces.ListPlan, args arguments) (surfaces.Order, error) {
	if len(plan.Orders) == 0 {
		return surfaces.Order{}, errors.New("list plan has no order")
	}
	value := args.get("order")
	if value == nil {
		return plan.Orders[0], nil
	}
	for _, o := range plan.Orders {
		if o.Name == stringOf(value) {
			return o, nil
		}
	}
	return surfaces.Order{}, invalid("order", "is not one of the orders on offer")
}

func chooseLimit(plan *surfaces.ListPlan, args arguments) (int, error) {
	value := args.get("limit")
	if value == nil {
		return plan.DefaultLimit, nil
	}
	n, err := strconv.Atoi(string(value))
	if err != nil {
		// JSON Schema counts 10.0 and 1e1 as integers.
		f, ferr := strconv.ParseFloat(string(value), 64)
		if ferr != nil || f != float64(int(f)) {
			return 0, invalid("limit", "must be a whole number")
		}
		n = int(f)
	}
	if n < 1 {
		return 0, invalid("limit", "must be at least 1")
	}
	return min(n, plan.MaxLimit), nil
}

func orderOf(order surfaces.Order) []supabase.OrderBy {
	terms := make([]supabase.OrderBy, len(order.Keys))
	for i, k := range order.Keys {
		terms[i] = supabase.OrderBy{Column: k.Column.Name, Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return terms
}

// projection is what a read asks for and where to find it in a row.
type projection struct {
	names   []string // keys of the answer's objects
	items   []string // select items
	columns []surfaces.Column
	visible int   // the first columns, in names too, are returned
	key     []int // of each key column
	order   []int // of each order term

	embeds  []surfaces.Embed // the last of the visible
	embedAt int              // where the first one is
}

// projectionOf selects the visible columns first, then what the key and the
// order need besides.
func projectionOf(columns, key []surfaces.Column, terms []surfaces.OrderTerm) projection {
	return projectionWith(columns, nil, key, terms)
}

// projectionWith is projectionOf with embeds behind the visible columns. They
// are selected apart from items, and have their form once the rows went
// through reshape.
func projectionWith(columns []surfaces.Column, embeds []surfaces.Embed, key []surfaces.Column, terms []surfaces.OrderTerm) projection {
	p := projection{embeds: embeds}
	for _, c := range columns {
		if !c.Hidden {
			p.columns = append(p.columns, c)
			p.add(c)
		}
	}
	p.embedAt = len(p.names)
	for i, e := range embeds {
		p.columns = append(p.columns, embedColumn(e))
		p.names = append(p.names, embedAlias(embeds, i))
	}
	p.visible = len(p.names)
	for _, c := range key {
		p.key = append(p.key, p.at(c))
	}
	for i, term := range terms {
		if c := term.Column; c.JSON == surfaces.JSONArray || c.JSON == surfaces.JSONAny {
			// A comparison needs the column's text form, not its JSON.
			alias := "chumbo_order_" + strconv.Itoa(i)
			p.order = append(p.order, len(p.names))
			p.names = append(p.names, alias)
			p.items = append(p.items, supabase.SelectAlias(alias, c.Name, true))
			continue
		}
		p.order = append(p.order, p.at(term.Column))
	}
	return p
}

func (p *projection) add(c surfaces.Column) int {
	p.names = append(p.names, c.Name)
	p.items = append(p.items, supabase.SelectColumn(c.Name, c.AsText))
	return len(p.names) - 1
}

// at is where the column is, after adding it if it was not selected yet.
func (p *projection) at(c surfaces.Column) int {
	for i, name := range p.names {
		if name == c.Name {
			return i
		}
	}
	return p.add(c)
}

func pick(row []token, at []int) []token {
	out := make([]token, len(at))
	for i, n := range at {
		out[i] = row[n]
	}
	return out
}

// argumentsWith is the caller's arguments with the cursor replaced, as JSON.
func (t *toolCall) argumentsWith(cursor string) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, a := range t.arguments {
		if a.name == "cursor" {
			continue
		}
		b.Write(appendString(nil, a.name))
		b.WriteByte(':')
		b.Write(appendToken(nil, a.value))
		b.WriteByte(',')
	}
	b.WriteString(`"cursor":`)
	b.Write(appendString(nil, cursor))
	b.WriteByte('}')
	return b.Bytes()
}
