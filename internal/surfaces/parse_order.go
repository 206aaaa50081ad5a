package surfaces

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"
)

// orders reads the orders on offer: one, or a list.
func (r *reader) orders(m mapping) []OrderSpec {
	n, at, ok := m.get("order")
	if !ok {
		return nil
	}
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	var orders []OrderSpec
	seen := map[string]bool{}
	for i, item := range nodes {
		itemAt := nodeAt(item, fmt.Sprintf("%s[%d]", at.path, i))
		o, ok := r.order(item, itemAt)
		if !ok {
			continue
		}
		if seen[o.name()] {
			r.errorf(itemAt, "the order %s is listed twice", quoteName(o.name()))
			continue
		}
		seen[o.name()] = true
		orders = append(orders, o)
	}
	return orders
}

// order reads "name", "-name", or a mapping.
func (r *reader) order(n *yaml.Node, at place) (OrderSpec, bool) {
	if n.Kind != yaml.MappingNode {
		t, ok := r.scalar(n, at, "an order", ruleName)
		o := OrderSpec{Column: t}
		if ok && len(t.Value) > 1 && t.Value[0] == '-' {
			o.Column.Value, o.Desc = t.Value[1:], true
		}
		o.Nulls = defaultNulls(o.Desc)
		return o, ok
	}
	m, _ := r.mapping(n, at, "an order", orderKeys)
	column, ok := m.text("column", ruleName)
	if !ok {
		if !m.given("column") {
			r.errorf(at, "column is missing: name the column to order by")
		}
		return OrderSpec{}, false
	}
	o := OrderSpec{Column: column}
	o.Desc = r.choice(m, "direction", "asc", "desc") == "desc"
	o.Nulls = defaultNulls(o.Desc)
	if v := r.choice(m, "nulls", "last", "first"); m.given("nulls") {
		o.Nulls = v
	}
	o.HiddenOK, _ = m.boolean("hidden_ok")
	return o, true
}

// defaultNulls is where Postgres puts nulls, so that a plain index serves the
// order.
func defaultNulls(desc bool) string {
	if desc {
		return "first"
	}
	return "last"
}

func (o OrderSpec) name() string {
	if o.Desc {
		return "-" + o.Column.Value
	}
	return o.Column.Value
}

// choice reads one of several words; the first is the default.
func (r *reader) choice(m mapping, key string, options ...string) string {
	t, ok := m.text(key, ruleName)
	if !ok {
		return options[0]
	}
	if !slices.Contains(options, t.Value) {
		r.errorf(t.at, "unknown %s %s%s", key, quoteName(t.Value), r.suggest(t.Value, options, "; write one of "))
		return options[0]
	}
	return t.Value
}

func (r *reader) limit(m mapping) LimitSpec {
	l := LimitSpec{Default: DefaultLimit, Max: MaxLimit, at: m.at}
	n, at, ok := m.get("limit")
	if !ok {
		return l
	}
	l.at = at
	sub, ok := r.mapping(n, at, "limit", limitKeys)
	if !ok {
		return l
	}
	if v, ok := sub.integer("max", 1, MaxLimit); ok {
		l.Max = v
	}
	l.Default = min(DefaultLimit, l.Max)
	if v, ok := sub.integer("default", 1, MaxLimit); ok {
		l.Default = v
	}
	if l.Default > l.Max {
		r.errorf(at, "limit.default (%d) is above limit.max (%d)", l.Default, l.Max)
	}
	return l
}
