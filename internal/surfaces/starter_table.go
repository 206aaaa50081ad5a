package surfaces

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// starterTable is what a starter file says of one table.
type starterTable struct {
	rel         *RelationSchema
	name        string // as written in the file
	operations  []string
	declaredKey []string // where the database does not know one
	columns     []string
	filters     []starterFilter
	orders      []string
}

type starterFilter struct {
	column    string
	operators []string
}

const (
	starterRole   = "authenticated"
	starterOrders = 4
)

// starterTable decides what to offer of a table, or says why nothing can be.
func (ix *index) starterTable(name string) (t *starterTable, why string) {
	rel, ok := find(ix, name, ix.relations)
	if !ok {
		return nil, "is no table or view of the imported schema"
	}
	t = &starterTable{rel: rel, name: ix.shown(rel.Schema, rel.Name)}
	switch {
	case !writable(t.name, 200):
		return nil, "has a name that a surface file cannot hold"
	case ix.snap.MaxRows < 2:
		return nil, "cannot be paged: the Data API returns one row only (db-max-rows)"
	case !slices.Contains(ix.usage[rel.Schema], starterRole) || !ix.known[starterRole]:
		return nil, fmt.Sprintf("is in a schema that %s may not use", starterRole)
	case rel.Kind == KindView && !rel.SecurityInvoker:
		return nil, "is a view that runs with its owner's rights, past Row Level Security"
	case rel.Kind == KindMaterializedView || rel.Kind == KindForeignTable:
		return nil, "has no Row Level Security, so every caller would see every row"
	}
	for i := range rel.Columns {
		if c := &rel.Columns[i]; slices.Contains(c.Select, starterRole) && writable(c.Name, ruleName.max) && c.Name != "*" && !machineOnly(ix.typeOf(c.Type)) {
			t.columns = append(t.columns, c.Name)
		}
	}
	key := t.key()
	if len(key) == 0 {
		return nil, fmt.Sprintf("has no key that %s may read", starterRole)
	}
	t.operations = []string{opList, opGet}
	for _, name := range key {
		if !ix.typeOf(rel.column(name).Type).ordered() {
			return nil, "has a key that cannot be ordered"
		}
		if !argumentName.MatchString(name) {
			t.operations = []string{opList}
		}
	}
	t.pickFilters(ix, key)
	t.pickOrders(ix, key)
	return t, ""
}

// writable reports whether a name can stand in a surface file as it is.
func writable(name string, most int) bool {
	return name != "" && name == strings.TrimSpace(name) && utf8.RuneCountInString(name) <= most && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError })
}

// machineOnly are values that no model can make sense of.
func machineOnly(v value) bool {
	return v.sql == "bytea" || v.sql == "tsvector" || v.sql == "tsquery"
}

// key are the columns that identify a row, where all of them are offered:
// the primary key, else a unique one, else the id of a view.
func (t *starterTable) key() []string {
	offered := func(columns []string) bool {
		return len(columns) > 0 && !slices.ContainsFunc(columns, func(name string) bool { return !slices.Contains(t.columns, name) })
	}
	if offered(t.rel.PrimaryKey) {
		return t.rel.PrimaryKey
	}
	for _, u := range t.rel.Unique {
		if offered(u.Columns) && !slices.ContainsFunc(u.Columns, func(name string) bool { return !t.rel.column(name).NotNull }) {
			t.declaredKey = u.Columns
			return u.Columns
		}
	}
	if t.rel.Kind == KindView && offered([]string{"id"}) {
		t.declaredKey = []string{"id"}
	}
	return t.declaredKey
}

// pickFilters offers what an index serves. The whole key is what get is for.
func (t *starterTable) pickFilters(ix *index, key []string) {
	for _, name := range t.columns {
		if slices.Equal(key, []string{name}) {
			continue
		}
		v := ix.typeOf(t.rel.column(name).Type)
		var operators []string
		for _, op := range usualOperators(v) {
			served := slices.ContainsFunc(t.rel.Indexes, func(i IndexSchema) bool {
				if op == "ilike" {
					return trigrams(i, name)
				}
				return leads(i, name) && (i.Method == "btree" || (i.Method == "hash" && op != "gte" && op != "lt"))
			})
			if served {
				operators = append(operators, op)
			}
		}
		if len(operators) > 0 {
			t.filters = append(t.filters, starterFilter{name, operators})
		}
	}
}

// usualOperators are how people narrow by a type.
func usualOperators(v value) []string {
	switch {
	case v.json == JSONArray || v.json == JSONAny || unordered[v.sql]:
		return nil
	case len(v.labels) > 0:
		return []string{"eq", "in"}
	case v.isText():
		return []string{"eq", "ilike"}
	case v.sql == "timestamptz" || v.sql == "timestamp" || v.sql == "date" || v.sql == "numeric" || v.json == JSONNumber:
		return []string{"gte", "lt"}
	}
	return []string{"eq"}
}

// pickOrders offers the orders that an index serves: times from the latest,
// anything else upwards.
func (t *starterTable) pickOrders(ix *index, key []string) {
	if t.rel.Kind != KindTable {
		return
	}
	for _, name := range t.columns {
		v := ix.typeOf(t.rel.column(name).Type)
		if slices.Contains(key, name) || strings.HasPrefix(name, "-") || !v.ordered() || len(v.labels) > 0 || v.sql == "uuid" || unordered[v.sql] {
			continue
		}
		desc := v.sql == "timestamptz" || v.sql == "timestamp" || v.sql == "date"
		o := Order{Keys: []OrderTerm{{Column: ix.column(t.rel, t.rel.column(name)), Desc: desc, NullsFirst: desc}}}
		for _, k := range key {
			o.Keys = append(o.Keys, OrderTerm{Column: ix.column(t.rel, t.rel.column(k)), Desc: desc, NullsFirst: desc})
		}
		if !slices.ContainsFunc(t.rel.Indexes, func(i IndexSchema) bool { return serves(i, o) }) {
			continue
		}
		if desc {
			name = "-" + name
		}
		if t.orders = append(t.orders, name); len(t.orders) == starterOrders {
			return
		}
	}
}

// plainYAML is text that YAML reads as itself, quoted or not, however old the
// editor that shows it.
var plainYAML = regexp.MustCompile(`^-?[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$`)

var yamlWords = wordSet("true false null yes no on off y n")

// yamlText writes text as a YAML scalar.
func yamlText(s string) string {
	if plainYAML.MatchString(s) && !yamlWords[s] {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case !unicode.IsPrint(c):
			fmt.Fprintf(&b, `\U%08X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// yamlList writes a list on one line, or on several when it is long.
func yamlList(items []string) string {
	const width = 96
	var b strings.Builder
	b.WriteByte('[')
	line := 0
	for i, item := range items {
		text := yamlText(item)
		if i > 0 {
			b.WriteByte(',')
			if line += len(text) + 2; line > width {
				b.WriteString("\n      ")
				line = len(text)
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(text)
	}
	b.WriteByte(']')
	return b.String()
}
