package surfaces

import (
	"fmt"
	"slices"
	"strings"
)

// findings are about who sees which rows.
func (b *tableTool) findings() {
	b.relationFindings(b.rel, b.shown, b.spec.Table.at)
	for _, e := range b.embeds {
		b.relationFindings(e.rel, b.ix.shown(e.rel.Schema, e.rel.Name), e.spec.Table.at)
	}
}

func (c *compiler) relationFindings(rel *RelationSchema, shown string, at place) {
	name := qualified(rel.Schema, rel.Name)
	switch rel.Kind {
	case KindView:
		if !rel.SecurityInvoker {
			c.warnf(at, "the view %s runs with its owner's rights, so Row Level Security of the tables below does not apply to callers: alter view %s set (security_invoker = true);", shown, name)
		}
	case KindMaterializedView, KindForeignTable:
		c.warnf(at, "%s is a %s, which has no Row Level Security: every caller sees every row", shown, strings.ReplaceAll(rel.Kind, "_", " "))
	default:
		if !rel.RLS {
			c.warnf(at, "Row Level Security is off on %s: every caller sees every row. If that is not meant: alter table %s enable row level security; and add policies", shown, name)
		} else if rel.Policies == 0 {
			c.warnf(at, "%s has Row Level Security but no policy: nobody sees any row", shown)
		}
	}
}

// privileges checks that the roles which will run the tool may read what it
// reads.
func (b *tableTool) privileges(list *ListPlan) {
	for _, e := range b.embeds {
		b.embedPrivileges(e)
	}
	columns := b.usedColumns(list)
	name := qualified(b.rel.Schema, b.rel.Name)
	for _, role := range b.roles(b.tool) {
		if !b.ix.known[role] {
			b.warnf(b.spec.Table.at, "the imported schema does not say what role %s may read", role)
			continue
		}
		if !slices.Contains(b.ix.usage[b.rel.Schema], role) {
			b.errorf(b.spec.Table.at, "%s may not use schema %s: grant usage on schema %s to %s;", role, quoteName(b.rel.Schema), ident(b.rel.Schema), ident(role))
		}
		var missing []string
		for _, column := range columns {
			if !slices.Contains(b.rel.column(column).Select, role) {
				missing = append(missing, column)
			}
		}
		if len(missing) == 0 {
			continue
		}
		if !slices.ContainsFunc(b.rel.Columns, func(c ColumnSchema) bool { return slices.Contains(c.Select, role) }) {
			b.errorf(b.spec.Table.at, "%s may not read %s: grant select on %s to %s;", role, b.shown, name, ident(role))
			continue
		}
		for _, column := range missing {
			b.errorf(b.columnAt(column), "%s may not read %s.%s: grant select (%s) on %s to %s;", role, b.shown, column, ident(column), name, ident(role))
		}
	}
}

// columnAt is where a column is first named, or the table.
func (b *tableTool) columnAt(name string) place {
	for _, t := range slices.Concat(b.spec.Columns, b.spec.Key) {
		if t.Value == name {
			return t.at
		}
	}
	for _, f := range b.spec.Filters {
		if f.Column.Value == name {
			return f.Column.at
		}
	}
	for _, o := range b.spec.Order {
		if o.Column.Value == name {
			return o.Column.at
		}
	}
	if b.spec.Search != nil {
		for _, t := range b.spec.Search.Columns {
			if t.Value == name {
				return t.at
			}
		}
	}
	for _, e := range b.embeds {
		if slices.Contains(e.link.near, name) {
			return e.spec.at
		}
	}
	return b.spec.Table.at
}

// embedPrivileges checks that the roles which will run the tool may read what
// it embeds, and the columns that join it.
func (b *tableTool) embedPrivileges(e embedded) {
	name, shown := qualified(e.rel.Schema, e.rel.Name), b.ix.shown(e.rel.Schema, e.rel.Name)
	for _, role := range b.roles(b.tool) {
		if !b.ix.known[role] {
			continue // said of the table
		}
		for _, column := range e.uses {
			if !slices.Contains(e.rel.column(column).Select, role) {
				b.errorf(e.columnAt(column), "%s may not read %s.%s: grant select (%s) on %s to %s;", role, shown, column, ident(column), name, ident(role))
			}
		}
	}
}

func (e *embedded) columnAt(name string) place {
	for _, t := range e.spec.Columns {
		if t.Value == name {
			return t.at
		}
	}
	return e.spec.Table.at
}

// searchConfigAdvice says what no index can help.
func (b *tableTool) searchConfigAdvice(s *Search) string {
	if s.Mode != SearchWeb || s.Config != "" || s.Columns[0].SQLType == tsvector {
		return ""
	}
	return " And write config: english, or the one that fits: without one, no index serves"
}

// indexFindings name the orders and filters that no index serves.
func (b *tableTool) indexFindings(p *ListPlan) {
	for _, m := range missingIndexes(b.ix.snap, b.rel, p) {
		if m.order != nil {
			b.warnf(b.orderAt(*m.order), "no index serves the order %s: %s", quoteName(m.order.Name), m.sql)
			continue
		}
		if m.search != nil {
			b.warnf(b.spec.Search.at, "no index serves the search: %s%s", m.sql, b.searchConfigAdvice(p.Search))
			continue
		}
		b.warnf(b.filterAt(m.filter.Column.Name), "no index serves the filter %s: %s", m.filter.Argument, m.sql)
	}
	for _, e := range b.embeds {
		if m := missingEmbedIndex(e.rel, &e.plan, e.link.far); m.sql != "" {
			b.warnf(e.spec.at, "no index finds the rows of %s: %s", quoteName(e.plan.Name), m.sql)
		}
	}
}

// missingIndex is an order or a filter that no index serves.
type missingIndex struct {
	order   *Order
	filter  *Filter
	search  *Search
	embed   *Embed
	columns string // what the index would be over
	sql     string // that makes it
}

// missingIndexes are the indexes that a list asks for and does not have: each
// one once.
func missingIndexes(snap *Snapshot, rel *RelationSchema, p *ListPlan) []missingIndex {
	if rel.Kind != KindTable && rel.Kind != KindMaterializedView {
		return nil
	}
	var missing []missingIndex
	table := qualified(rel.Schema, rel.Name)
	for i, o := range p.Orders {
		if !slices.ContainsFunc(rel.Indexes, func(x IndexSchema) bool { return serves(x, o) }) {
			columns := orderColumns(o)
			missing = append(missing, missingIndex{order: &p.Orders[i], columns: columns, sql: fmt.Sprintf("create index on %s (%s);", table, columns)})
		}
	}
	told := map[string]bool{} // one index serves every such filter of a column
	for i, f := range p.Filters {
		m := missingFilterIndex(snap, rel, f)
		if m.sql == "" || told[m.sql] {
			continue
		}
		told[m.sql] = true
		m.filter = &p.Filters[i]
		missing = append(missing, m)
	}
	for _, m := range missingSearchIndexes(snap, rel, p.Search) {
		if !told[m.sql] {
			told[m.sql] = true
			missing = append(missing, m)
		}
	}
	return missing
}

// unordered are Postgres's own types that no btree index can be over.
var unordered = map[string]bool{
	"json": true, "xml": true, "point": true, "line": true, "lseg": true, "box": true, "path": true, "polygon": true, "circle": true,
	"aclitem": true, "jsonpath": true, "refcursor": true, "txid_snapshot": true, "pg_snapshot": true, "xid": true, "cid": true,
}

// missingFilterIndex is the index that the filter asks for; without SQL when
// there is one, or none would help.
func missingFilterIndex(snap *Snapshot, rel *RelationSchema, f Filter) missingIndex {
	column, table := f.Column.Name, qualified(rel.Schema, rel.Name)
	switch f.Operator {
	case "is", "neq", "isdistinct":
		return missingIndex{}
	case "cs", "cd", "ov":
		if f.Operator == "cd" && f.Column.JSON != JSONArray || slices.ContainsFunc(rel.Indexes, func(i IndexSchema) bool { return contents(i, f) }) {
			return missingIndex{} // nothing finds JSON by what it is a part of
		}
		return missingIndex{columns: "gin " + ident(column), sql: fmt.Sprintf("create index on %s using gin (%s);", table, ident(column))}
	case "like", "ilike":
		if f.Column.SQLType == "bpchar" || f.Column.SQLType == "name" ||
			slices.ContainsFunc(rel.Indexes, func(i IndexSchema) bool { return trigrams(i, column) }) {
			return missingIndex{}
		}
		install, schema := "", snap.Trigrams
		if schema == "" { // Supabase keeps extensions in a schema of that name
			install, schema = "create extension if not exists pg_trgm with schema extensions; ", "extensions"
		}
		return missingIndex{columns: "gin " + ident(column), sql: fmt.Sprintf("%screate index on %s using gin (%s %s.gin_trgm_ops);", install, table, ident(column), ident(schema))}
	}
	if unordered[f.Column.SQLType] || slices.ContainsFunc(rel.Indexes, func(i IndexSchema) bool { return leads(i, column) }) {
		return missingIndex{}
	}
	return missingIndex{columns: ident(column), sql: fmt.Sprintf("create index on %s (%s);", table, ident(column))}
}

// filterAt is where filters names the column.
func (b *tableTool) filterAt(column string) place {
	for _, f := range b.spec.Filters {
		if f.Column.Value == column {
			return f.Column.at
		}
	}
	return b.columnAt(column)
}

// orderAt is where order names it; the order by key need not be written.
func (b *tableTool) orderAt(o Order) place {
	for _, s := range b.spec.Order {
		if s.name() == o.Name {
			return s.Column.at
		}
	}
	return b.columnAt(o.Keys[0].Column.Name)
}

func leads(i IndexSchema, column string) bool {
	return !i.Partial && i.Method != "gin" && len(i.Keys) > 0 && i.Keys[0].Column == column
}

// contents reports whether the index finds lists or JSON by what is in them.
func contents(i IndexSchema, f Filter) bool {
	return !i.Partial && i.Method == "gin" && slices.ContainsFunc(i.Keys, func(k IndexTerm) bool {
		return k.Column == f.Column.Name && (k.OpClass != "jsonb_path_ops" || f.Operator == "cs")
	})
}

func trigrams(i IndexSchema, column string) bool {
	return !i.Partial && slices.ContainsFunc(i.Keys, func(k IndexTerm) bool {
		return k.Column == column && strings.HasSuffix(k.OpClass, "_trgm_ops")
	})
}

// serves reports whether reading the index forwards or backwards gives the
// order. A unique column that is never null needs no more columns.
func serves(i IndexSchema, o Order) bool {
	if i.Partial || i.Method != "btree" {
		return false
	}
	for _, backwards := range []bool{false, true} {
		n := 0
		for n < len(o.Keys) && n < len(i.Keys) && matches(i.Keys[n], o.Keys[n], backwards) {
			n++
		}
		if n == len(o.Keys) || (n > 0 && n == len(i.Keys) && i.Unique && !nullable(o.Keys[:n])) {
			return true
		}
	}
	return false
}

func nullable(terms []OrderTerm) bool {
	return slices.ContainsFunc(terms, func(t OrderTerm) bool { return t.Column.Nullable })
}

func matches(k IndexTerm, t OrderTerm, backwards bool) bool {
	if k.Column != t.Column.Name || (k.Desc != backwards) != t.Desc {
		return false
	}
	return !t.Column.Nullable || (k.NullsFirst != backwards) == t.NullsFirst
}

// orderColumns writes an order as the columns of an index. Where Postgres's
// own direction serves it (read backwards if need be), nothing is added.
func orderColumns(o Order) string {
	plain := true
	for _, k := range o.Keys {
		plain = plain && (!k.Column.Nullable || k.NullsFirst == k.Desc) && k.Desc == o.Keys[0].Desc
	}
	terms := make([]string, len(o.Keys))
	for i, k := range o.Keys {
		terms[i] = ident(k.Column.Name)
		if plain {
			continue
		}
		if k.Desc {
			terms[i] += " desc"
		}
		if k.NullsFirst != k.Desc {
			terms[i] += map[bool]string{true: " nulls first", false: " nulls last"}[k.NullsFirst]
		}
	}
	return strings.Join(terms, ", ")
}
