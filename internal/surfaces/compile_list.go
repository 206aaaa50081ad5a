package surfaces

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxCursor is the longest cursor, in characters.
const MaxCursor = 512

// maxIn is how many values an "in" filter takes; URLs have limits.
const maxIn = 100

// listPlan makes the plan of the list operation.
func (b *tableTool) listPlan() *ListPlan {
	p := &ListPlan{Relation: b.where, Key: b.key}
	p.Orders = b.orders()
	p.Filters = b.filters()
	p.Search = b.search(p.Filters)
	p.Embeds = embedPlans(b.embeds)
	p.DefaultLimit, p.MaxLimit = b.limits()
	p.Columns = slices.Clone(b.columns)
	for _, o := range p.Orders {
		for _, k := range o.Keys {
			if k.Column.Hidden && !slices.ContainsFunc(p.Columns, func(c Column) bool { return c.Name == k.Column.Name }) {
				p.Columns = append(p.Columns, k.Column)
			}
		}
	}
	if len(p.Orders) == 0 && len(b.key) > 0 && len(b.spec.Order) == 0 {
		b.errorf(b.spec.Table.at, "no order can be offered")
	}
	b.indexFindings(p)
	return p
}

// limits keeps one row to spare below the Data API's silent cap: it tells
// whether there is more.
func (b *tableTool) limits() (def, most int) {
	l := b.spec.Limit
	most = min(l.Max, b.ix.snap.MaxRows-1)
	if most < 1 {
		b.errorf(l.at, "the Data API returns at most %d rows (db-max-rows), which leaves no room for a page: set it to 2 or more", b.ix.snap.MaxRows)
		return l.Default, 1
	}
	if most < l.Max && l.Max != MaxLimit {
		b.warnf(l.at, "limit.max is lowered to %d: the Data API returns at most %d rows (db-max-rows), and one is needed to see whether there is more", most, b.ix.snap.MaxRows)
	}
	return min(l.Default, most), most
}

// orders completes every declared order by the rest of the key, in the same
// direction, so that an index over (column, key) serves it both ways.
func (b *tableTool) orders() []Order {
	if len(b.spec.Order) == 0 {
		return b.keyOrder()
	}
	var orders []Order
	for _, s := range b.spec.Order {
		c, ok := b.find(s.Column, "order")
		if !ok {
			continue
		}
		if v := b.ix.typeOf(c.Type); !v.ordered() && v.json != JSONBoolean {
			b.errorf(s.Column.at, "rows cannot be ordered by %s, which is of type %s", quoteName(c.Name), v.sql)
			continue
		}
		b.mustShow(s.Column, s.HiddenOK, "ordered by")
		column := b.ix.column(b.rel, c)
		column.Hidden = !b.returned(c.Name)
		o := Order{Name: s.name(), Keys: []OrderTerm{{Column: column, Desc: s.Desc, NullsFirst: s.Nulls == "first"}}}
		for _, k := range b.key {
			if k.Name != c.Name {
				o.Keys = append(o.Keys, OrderTerm{Column: k, Desc: s.Desc, NullsFirst: s.Desc})
			}
		}
		orders = append(orders, o)
	}
	return orders
}

func (b *tableTool) keyOrder() []Order {
	if len(b.key) == 0 {
		return nil
	}
	o := Order{Name: b.key[0].Name}
	for _, k := range b.key {
		o.Keys = append(o.Keys, OrderTerm{Column: k})
	}
	return []Order{o}
}

// mustShow refuses to sort or filter by what is not shown: order and matches
// tell its value.
func (b *tableTool) mustShow(t Text, hiddenOK bool, what string) {
	if b.returned(t.Value) {
		return
	}
	if !hiddenOK {
		b.errorf(t.at, "rows cannot be %s %s, which is not in columns: that would tell its values. Add it to columns, or state hidden_ok: true there", what, quoteName(t.Value))
		return
	}
	b.warnf(t.at, "callers can learn values of %s, which is not in columns, because rows may be %s it (hidden_ok)", quoteName(t.Value), what)
}

// filters makes the arguments that narrow a list, in the order of columns
// (hidden ones after, by name), operators in their own order.
func (b *tableTool) filters() []Filter {
	specs := slices.Clone(b.spec.Filters)
	position := func(name string) int {
		if i := slices.IndexFunc(b.spec.Columns, func(t Text) bool { return t.Value == name }); i >= 0 {
			return i
		}
		return len(b.spec.Columns)
	}
	slices.SortFunc(specs, func(x, y FilterSpec) int {
		return cmp.Or(cmp.Compare(position(x.Column.Value), position(y.Column.Value)), cmp.Compare(x.Column.Value, y.Column.Value))
	})
	var filters []Filter
	taken := map[string]bool{"order": true, "limit": true, "cursor": true}
	for _, s := range specs {
		c, ok := b.find(s.Column, "filters")
		if !ok {
			continue
		}
		b.mustShow(s.Column, s.HiddenOK, "filtered by")
		v := b.ix.typeOf(c.Type)
		column := b.ix.column(b.rel, c)
		column.Hidden = !b.returned(c.Name)
		for _, op := range filterOperators {
			i := slices.IndexFunc(s.Operators, func(t Text) bool { return t.Value == op })
			if i < 0 || !b.operatorFits(s.Operators[i], c, v) {
				continue
			}
			filters = append(filters, Filter{Argument: filterArgument(c.Name, op, taken), Column: column, Operator: op, Required: s.Required && len(s.Operators) == 1})
		}
		if s.Required && len(s.Operators) != 1 {
			b.errorf(s.Column.at, "a required filter has exactly one operator")
		}
	}
	return filters
}

func (b *tableTool) operatorFits(op Text, c *ColumnSchema, v value) bool {
	fits := true
	switch op.Value {
	case "is":
	case "like", "ilike":
		fits = v.isText()
	case "gt", "gte", "lt", "lte":
		fits = v.ordered()
	case "cs", "cd":
		fits = v.sql == "jsonb" || v.listable()
	case "ov":
		fits = v.listable()
	default:
		fits = v.json != JSONArray && v.json != JSONAny && !unordered[v.sql] // nor do these have an equal that a person means
	}
	if !fits {
		b.errorf(op.at, "the operator %s does not work on %s, which is of type %s", op.Value, quoteName(c.Name), v.sql)
	}
	return fits
}

// filterArgument names a filter's argument: the column for eq, else
// column_operator; made safe for clients and unique.
func filterArgument(column, op string, taken map[string]bool) string {
	name := safeName(column)
	if op != "eq" || taken[name] {
		name += "_" + cmp.Or(operatorSuffixes[op], op)
	}
	return uniqueArgument(name, taken)
}

// operatorSuffixes are those that say more than the operator.
var operatorSuffixes = map[string]string{"cs": "contains", "cd": "contained_in", "ov": "overlaps"}

// uniqueArgument makes a name one that is not taken, and takes it.
func uniqueArgument(name string, taken map[string]bool) string {
	name = name[:min(len(name), 64)]
	unique := name
	for i := 2; taken[unique]; i++ {
		suffix := fmt.Sprintf("_%d", i)
		unique = name[:min(len(name), 64-len(suffix))] + suffix
	}
	taken[unique] = true
	return unique
}

// addFilters offers what narrows rows.
func (b *tableTool) addFilters(in *schema, filters []Filter) {
	for _, f := range filters {
		column := b.rel.column(f.Column.Name)
		in.Properties.add(f.Argument, b.filterSchema(f, column))
		if f.Required {
			in.Required = append(in.Required, f.Argument)
		}
	}
}

func (b *tableTool) listInput(p *ListPlan) *schema {
	in := inputObject()
	b.addFilters(in, p.Filters)
	if p.Search != nil {
		in.Properties.add(p.Search.Argument, searchSchema(p.Search))
	}
	if len(p.Orders) > 1 {
		var orders []string
		for _, o := range p.Orders {
			orders = append(orders, o.Name)
		}
		in.Properties.add("order", &schema{Type: "string", Enum: orders, Default: orders[0], Description: "Order of the rows; a leading - means descending."})
	}
	in.Properties.add("limit", &schema{Type: "integer", Minimum: ptr(1), Maximum: ptr(p.MaxLimit), Default: p.DefaultLimit, Description: "Rows per page."})
	in.Properties.add("cursor", &schema{Type: "string", MaxLength: ptr(MaxCursor), Description: "next_cursor of the page before, with the same filters and order; leave out for the first page."})
	return in
}

// operatorWords say what a filter does, after the column's name.
var operatorWords = map[string]string{
	"eq": "equals this value", "neq": "does not equal this value",
	"gt": "is greater than this value", "gte": "is this value or greater",
	"lt": "is less than this value", "lte": "is this value or less",
	"in": "is one of these values", "is": "is null or has a value",
	"like": "contains this text (case counts)", "ilike": "contains this text (any case)",
	"isdistinct": "is not this value, also where it is null",
	"cs":         "contains all of these values", "cd": "contains no other than these values", "ov": "contains at least one of these values",
}

func (b *tableTool) filterSchema(f Filter, c *ColumnSchema) *schema {
	v := b.ix.typeOf(c.Type)
	s := v.input()
	words, hint := operatorWords[f.Operator], v.hint()
	switch f.Operator {
	case "in":
		s = &schema{Type: "array", Items: bounded(s), MaxItems: ptr(maxIn)}
	case "is":
		s, hint = &schema{Type: "string", Enum: []string{"null", "not_null"}}, ""
		if v.json == JSONBoolean {
			s.Enum = append(s.Enum, "true", "false")
			words = "is null, not null, true or false"
		}
	case "like", "ilike":
		s = &schema{Type: "string"}
	case "cs", "cd", "ov":
		hint = ""
		if v.json != JSONArray {
			s, words = &schema{}, map[string]string{"cs": "contains this JSON value", "cd": "is contained in this JSON value"}[f.Operator]
			break
		}
		s = &schema{Type: "array", Items: bounded(v.item.input()), MaxItems: ptr(maxIn)}
		if h := v.item.hint(); h != "" {
			hint = "each " + h
		}
	}
	s = bounded(s)
	s.Description = sentence("Only rows whose "+c.Name+" "+words, hint, c.Comment)
	return s
}

// bounded limits free text, which travels in a URL.
func bounded(s *schema) *schema {
	if s.Type == "string" && len(s.Enum) == 0 && s.Pattern == "" {
		s.MaxLength = ptr(maxText)
	}
	return s
}

func identList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = ident(n)
	}
	return strings.Join(quoted, ", ")
}
