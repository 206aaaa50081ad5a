package surfaces

import (
	"slices"
)

// completion compiles where suggestions come from. own is the relation of a
// resource of rows, which need not be named; nil for none.
func (c *compiler) completion(s *CompletionSpec, own *RelationSchema, t *ToolSpec) *Completion {
	if s.Column.Value == "" {
		return &Completion{Values: values(s.Values)}
	}
	if c.ix == nil {
		c.errorf(s.at, notImported)
		return nil
	}
	rel, table := own, s.Table
	switch {
	case table.Value != "":
		var ok bool
		if rel, ok = find(c.ix, table.Value, c.ix.relations); !ok {
			c.unknownRelation(table)
			return nil
		}
	case own == nil:
		c.errorf(s.at, "complete needs table: the one whose column %s is", quoteName(s.Column.Value))
		return nil
	default:
		table = Text{Value: c.ix.shown(rel.Schema, rel.Name), at: s.Column.at}
	}
	b := c.tableOf(rel, &TableSpec{Table: table}, t)
	column, ok := b.find(s.Column, "complete")
	if !ok {
		return nil
	}
	v := c.ix.typeOf(column.Type)
	switch {
	case len(v.labels) > 0:
		c.used.relation(c.ix, rel, []string{column.Name})
		return &Completion{Values: v.labels}
	case v.json == JSONBoolean:
		return &Completion{Values: []string{"true", "false"}}
	case !v.ordered():
		c.errorf(s.Column.at, "values of %s cannot be suggested, which is of type %s: name a column of text, a number, a time or an id", quoteName(column.Name), v.sql)
		return nil
	}
	before := len(c.problems)
	b.spec.Columns = []Text{s.Column}
	b.columns = []Column{c.ix.column(rel, column)}
	if rel != own {
		c.relationFindings(rel, b.shown, table.at)
	}
	b.privileges(nil)
	if HasErrors(c.problems[before:]) {
		return nil
	}
	if v.isText() {
		c.completionIndex(rel, b.columns[0], s.Column.at)
	}
	c.used.relation(c.ix, rel, []string{column.Name})
	return &Completion{Column: &ValueColumn{Relation: b.where, Column: b.columns[0]}}
}

// completionIndex tells of the index that finds values by how they begin.
func (c *compiler) completionIndex(rel *RelationSchema, column Column, at place) {
	if rel.Kind != KindTable && rel.Kind != KindMaterializedView {
		return
	}
	if m := missingFilterIndex(c.ix.snap, rel, Filter{Column: column, Operator: "ilike"}); m.sql != "" {
		c.warnf(at, "no index finds values by how they begin, and nothing is suggested where that takes long: %s", m.sql)
	}
}

// variables compiles the variables of a resource's uri with their suggestions.
func (c *compiler) variables(s *ResourceSpec, own *RelationSchema) []Variable {
	list := slices.Clone(s.variables)
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
	}
	for i := range s.Complete {
		spec := &s.Complete[i]
		at := slices.Index(names, spec.Name.Value)
		if at < 0 {
			c.errorf(spec.Name.at, "the uri has no variable %s%s", quoteName(spec.Name.Value), c.suggest(spec.Name.Value, names, "; its variables are "))
			continue
		}
		list[at].Complete = c.completion(spec, own, s.tool)
	}
	return list
}

// tableOf is a table entry about a relation, for what reads it beside tools.
func (c *compiler) tableOf(rel *RelationSchema, spec *TableSpec, t *ToolSpec) *tableTool {
	return &tableTool{
		compiler: c, spec: spec, tool: t, rel: rel, shown: c.ix.shown(rel.Schema, rel.Name),
		where: Relation{Schema: rel.Schema, Name: rel.Name, Profile: c.ix.profile(rel.Schema)},
	}
}
