package surfaces

import (
	"fmt"
	"slices"
	"strings"
)

// findings are about who sees which rows.
func (b *tableTool) findings() {
	at, name := b.spec.Table.at, qualified(b.rel.Schema, b.rel.Name)
	switch b.rel.Kind {
	case KindView:
		if !b.rel.SecurityInvoker {
			b.warnf(at, "the view %s runs with its owner's rights, so Row Level Security of the tables below does not apply to callers: alter view %s set (security_invoker = true);", b.shown, name)
		}
	case KindMaterializedView, KindForeignTable:
		b.warnf(at, "%s is a %s, which has no Row Level Security: every caller sees every row", b.shown, strings.ReplaceAll(b.rel.Kind, "_", " "))
	default:
		if !b.rel.RLS {
			b.warnf(at, "Row Level Security is off on %s: every caller sees every row. If that is not meant: alter table %s enable row level security; and add policies", b.shown, name)
		} else if b.rel.Policies == 0 {
			b.warnf(at, "%s has Row Level Security but no policy: nobody sees any row", b.shown)
		}
	}
}

// privileges checks that the roles which will run the tool may read what it
// reads.
func (b *tableTool) privileges(list *ListPlan) {
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
	return b.spec.Table.at
}

// indexFindings name the orders and filters that no index serves.
func (b *tableTool) indexFindings(p *ListPlan) {
	for _, m := range missingIndexes(b.ix.snap, b.rel, p) {
		if m.order != nil {
			b.warnf(b.orderAt(*m.order), "no index serves the order %s: %s", quoteName(m.order.Name), m.sql)
			continue
		}
		b.warnf(b.filterAt(m.filter.Column.Name), "no index serves the filter %s: %s", m.filter.Argument, m.sql)
	}
}

// missingIndex is an order or a filter that no index serves.
type missingIndex struct {
	order   *Order
	filter  *Filter
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
	case "is", "neq":
		return missingIndex{}
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
