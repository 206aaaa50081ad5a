package surfaces

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// callers are the roles that can call the function.
func (p *inspection) callers(f *FunctionSchema) []string {
	var roles []string
	for _, role := range p.ix.snap.Roles {
		if slices.Contains(f.Execute, role.Name) && slices.Contains(p.ix.usage[f.Schema], role.Name) {
			roles = append(roles, role.Name)
		}
	}
	return roles
}

// definer finds functions that run past Row Level Security. Those outside the
// exposed schemas are in no snapshot: policies may call them, clients cannot.
func (p *inspection) definer(f *FunctionSchema) {
	roles := p.callers(f)
	if !f.SecurityDefiner || len(roles) == 0 {
		return
	}
	object := f.Schema + "." + f.Name
	used, severity, meant := p.uses[object+"()"], FindingWarning, ""
	if used.any && !used.owner {
		severity = FindingSerious
	}
	if used.owner {
		meant = " That is deliberate where a surface marks its tool privileged, or has Chumbo call it; whoever calls it past Chumbo meets no rule of the surface."
	}
	signature := signatureOf(f)
	p.add(Finding{
		Kind: FindingFunctionDefiner, Severity: severity, Object: object, Used: used.any,
		Summary: fmt.Sprintf("The function %s is SECURITY DEFINER: whoever has the role %s runs it with its owner's rights, past Row Level Security.%s", signature, strings.Join(roles, " or "), meant),
		SQL: fmt.Sprintf("alter function %s security invoker;\n"+
			"-- If it has to run with its owner's rights (a policy calls it, say), take it\n"+
			"-- out of the API instead, into a schema that is not exposed:\n"+
			"-- create schema if not exists private;\n-- alter function %s set schema private;", signature, signature),
	}, typeList(f))
}

// overloads finds functions that share a name, at the first of them. The Data
// API tells them apart by the names of arguments only, so none is offered.
func (p *inspection) overloads(f *FunctionSchema) {
	object := f.Schema + "." + f.Name
	all := p.ix.functions[object]
	if len(all) < 2 || all[0] != f || !slices.ContainsFunc(all, func(f *FunctionSchema) bool { return len(p.callers(f)) > 0 }) {
		return
	}
	var sql strings.Builder
	sql.WriteString("-- Keeps the first and renames the others; what calls those has to follow.")
	number := 1
	for _, other := range all[1:] {
		var name string
		name, number = p.freeName(f, number)
		fmt.Fprintf(&sql, "\nalter function %s rename to %s;", signatureOf(other), ident(name))
	}
	p.add(Finding{
		Kind: FindingOverloaded, Severity: FindingWarning, Object: object, Used: p.uses[object+"()"].any,
		Summary: fmt.Sprintf("There are %d functions %s. The Data API tells them apart by the names of arguments only, so none of them can be offered.", len(all), qualified(f.Schema, f.Name)),
		SQL:     sql.String(),
	}, "")
}

// freeName is a name like the function's that no function has, and its number:
// the next after the one before.
func (p *inspection) freeName(f *FunctionSchema, before int) (free string, number int) {
	const most = 63 // bytes of a name
	for i := before + 1; ; i++ {
		suffix := fmt.Sprintf("_%d", i)
		name := f.Name[:min(len(f.Name), most-len(suffix))]
		for !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
		name += suffix
		if len(p.ix.functions[f.Schema+"."+name]) == 0 {
			return name, i
		}
	}
}

// signatureOf names one function among its overloads.
func signatureOf(f *FunctionSchema) string {
	types := make([]string, len(f.Arguments))
	for i, a := range f.Arguments {
		types[i] = typeSQL(a.Type)
	}
	return qualified(f.Schema, f.Name) + "(" + strings.Join(types, ", ") + ")"
}

func typeSQL(t TypeRef) string {
	if t.Array {
		return qualified(t.Schema, t.Name) + "[]"
	}
	return qualified(t.Schema, t.Name)
}

// typeList is the types of a function's arguments, for an id.
func typeList(f *FunctionSchema) string {
	types := make([]string, len(f.Arguments))
	for i, a := range f.Arguments {
		types[i] = strings.TrimPrefix(typeSQL(a.Type), catalogSchema+".")
	}
	return strings.Join(types, ",")
}

// indexes finds the orders, filters, searches and embeds of a surface that no
// index serves.
func (p *inspection) indexes(c *Compiled) {
	for _, e := range embedsOf(c) {
		object := e.Relation.Schema + "." + e.Relation.Name
		l, ok := p.ix.linkOf(e.from, e.Embed)
		if !ok {
			continue // drift tells of it
		}
		rel := p.ix.relations[object]
		if m := missingEmbedIndex(rel, &e.Embed, l.far); m.sql != "" {
			p.add(Finding{
				Kind: FindingMissingIndex, Severity: FindingWarning, Object: object, Used: true,
				Summary: fmt.Sprintf("No index of %s finds what belongs to a row of %s (%s): lists get slow as the table grows.", qualified(rel.Schema, rel.Name), qualified(e.from.Schema, e.from.Name), word(e.Name)),
				SQL:     m.sql,
			}, strings.ReplaceAll(m.columns, ", ", ","))
		}
	}
	for _, t := range readersOf(c) {
		list := t.List
		if w := t.writing(); w != nil && w.many != nil {
			list = &ListPlan{Relation: w.relation, Filters: w.many.Filters}
		}
		if list == nil {
			continue
		}
		object := list.Relation.Schema + "." + list.Relation.Name
		rel, ok := p.ix.relations[object]
		if !ok {
			continue // drift tells of it
		}
		for _, m := range missingIndexes(p.ix.snap, rel, list) {
			what := "search"
			switch {
			case m.filter != nil:
				what = "filter " + quoteName(m.filter.Argument)
			case m.order != nil:
				what = "order " + quoteName(m.order.Name)
			}
			p.add(Finding{
				Kind: FindingMissingIndex, Severity: FindingWarning, Object: object, Used: true,
				Summary: fmt.Sprintf("No index of %s serves the %s of %s: it gets slow as the table grows.", qualified(rel.Schema, rel.Name), what, t.Name),
				SQL:     m.sql,
			}, strings.ReplaceAll(m.columns, ", ", ","))
		}
	}
}
