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
	if b.rel.Kind != KindTable && b.rel.Kind != KindMaterializedView {
		return
	}
	name := qualified(b.rel.Schema, b.rel.Name)
	for _, o := range p.Orders {
		if !slices.ContainsFunc(b.rel.Indexes, func(i IndexSchema) bool { return serves(i, o) }) {
			b.warnf(b.orderAt(o), "no index serves the order %s: create index on %s (%s);", quoteName(o.Name), name, orderColumns(o))
		}
	}
	told := map[string]bool{} // one index serves every such filter of a column
	for _, f := range p.Filters {
		fix := b.filterIndex(f, name)
		if fix == "" || told[fix] {
			continue
		}
		told[fix] = true
		b.warnf(b.filterAt(f.Column.Name), "no index serves the filter %s: %s", f.Argument, fix)
	}
}

// filterIndex is the SQL that makes an index for the filter; empty when there
// is one, or none would help.
func (b *tableTool) filterIndex(f Filter, table string) string {
	column := f.Column.Name
	switch f.Operator {
	case "is", "neq":
		return ""
	case "like", "ilike":
		if slices.ContainsFunc(b.rel.Indexes, func(i IndexSchema) bool { return trigrams(i, column) }) {
			return ""
		}
		return fmt.Sprintf("create extension if not exists pg_trgm; create index on %s using gin (%s gin_trgm_ops);", table, ident(column))
	}
	if slices.ContainsFunc(b.rel.Indexes, func(i IndexSchema) bool { return leads(i, column) }) {
		return ""
	}
	return fmt.Sprintf("create index on %s (%s);", table, ident(column))
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
