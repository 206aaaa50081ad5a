package surfaces

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// madeResource is a compiled resource and where it was declared.
type madeResource struct {
	resource Resource
	spec     *ResourceSpec
	shape    uriShape
}

// resources compiles the resources, names them, and refuses two that could be
// meant by one URI.
func (c *compiler) resources() {
	var list []madeResource
	for _, s := range c.file.Resources {
		c.publicRules(s.tool)
		out, ok := c.resource(s)
		if ok {
			list = append(list, madeResource{resource: out, spec: s, shape: uriShapeOf(s.URI.Value)})
		}
	}
	c.overlaps()
	c.nameResources(list)
	for _, m := range list {
		if m.resource.Title == "" {
			m.resource.Title = humanize(m.resource.Name)
		}
		c.out.Resources = append(c.out.Resources, m.resource)
	}
}

// resource compiles one, without its name where that is derived.
func (c *compiler) resource(s *ResourceSpec) (Resource, bool) {
	before := len(c.problems)
	for _, scope := range s.Scopes {
		c.capabilityScope(scope)
	}
	out := Resource{
		Gate: s.gate(s.Public), URI: s.URI.Value, Name: s.Name.Value, Title: s.Title.Value, Description: s.Description.Value,
		MIMEType: s.MIMEType.Value, Budget: s.Budget, Text: s.Text, Blob: s.Blob,
	}
	if c.ix == nil && (s.Rows != nil || s.File != nil) {
		c.errorf(s.at, notImported)
		return out, false
	}
	var own *RelationSchema
	switch {
	case s.Text != nil && out.MIMEType == "":
		out.MIMEType = "text/plain"
	case s.Rows != nil:
		own = c.resourceRows(s, &out)
		out.MIMEType = "application/json"
	case s.File != nil:
		c.resourceFile(s, &out)
	case s.Function != nil:
		if slices.ContainsFunc(s.variables, func(v Variable) bool { return v.Name == "uri" }) {
			c.errorf(s.URI.at, "the function gets the whole address as uri, so no variable can be called that: take another name")
		}
		c.anonymousEdge(s.Function.Slug, s.Public)
		out.Function = s.Function.plan()
	}
	out.Variables = c.variables(s, own)
	return out, !HasErrors(c.problems[before:])
}

// overlaps refuses resources that one URI could mean: each with the first that
// stands before it.
func (c *compiler) overlaps() {
	shapes := make([]uriShape, len(c.file.Resources))
	for i, s := range c.file.Resources {
		shapes[i] = uriShapeOf(s.URI.Value)
		for j, other := range c.file.Resources[:i] {
			switch {
			case !shapes[i].overlap(shapes[j]):
				continue
			case s.URI.Value == other.URI.Value:
				c.errorf(s.URI.at, "%s is declared on line %d already", s.URI.Value, other.URI.at.line)
			default:
				c.errorf(s.URI.at, "%s overlaps with %s on line %d: one URI could mean both; let the text before the variables differ", s.URI.Value, other.URI.Value, other.URI.at.line)
			}
			break
		}
	}
}

// nameResources makes names unique: those the builder chose stand, and derived
// ones that collide get a number.
func (c *compiler) nameResources(list []madeResource) {
	taken := map[string]place{}
	for _, m := range list {
		name := m.spec.Name
		if name.Value == "" {
			continue
		}
		if first, twice := taken[name.Value]; twice {
			c.errorf(name.at, "the resource name %s is taken on line %d", name.Value, first.line)
			continue
		}
		taken[name.Value] = name.at
	}
	for i := range list {
		m := &list[i]
		if m.resource.Name != "" {
			continue
		}
		base := resourceName(m.resource.URI)
		name := base
		for n := 2; ; n++ {
			if _, twice := taken[name]; !twice {
				break
			}
			suffix := fmt.Sprintf("_%d", n)
			name = base[:min(len(base), maxToolName-len(suffix))] + suffix
		}
		if name != base {
			c.warnf(m.spec.at, "the resource is named %s, because %s is taken on line %d; choose a name with the key name", name, base, taken[base].line)
		}
		taken[name] = m.spec.at
		m.resource.Name = name
	}
}

// resourceName derives a name from what follows the scheme of a URI.
func resourceName(uri string) string {
	_, rest, _ := strings.Cut(uri, ":")
	return derivedName(strings.Trim(strings.NewReplacer("{+", " ", "{", " ", "}", " ").Replace(rest), "/ "), "")
}

// resourceFile compiles a file of Storage.
func (c *compiler) resourceFile(s *ResourceSpec, out *Resource) {
	before := len(c.problems)
	c.bucket(s.File.FilePlaceSpec, !slices.Contains(c.roles(s.tool), "anon"))
	if HasErrors(c.problems[before:]) {
		return
	}
	c.used.bucket(c.ix, s.File.Bucket.Value)
	out.File = &ReadFilePlan{Place: s.File.place(), Inline: s.File.Inline}
	out.FilePath = s.File.Path.Value
}

// resourceRows compiles one row, or the first page of rows.
func (c *compiler) resourceRows(s *ResourceSpec, out *Resource) *RelationSchema {
	rows, before := s.Rows, len(c.problems)
	rel, ok := find(c.ix, rows.Table.Value, c.ix.relations)
	if !ok {
		if rows.Table.Value != "" {
			c.unknownRelation(rows.Table)
		}
		return nil
	}
	one := len(s.variables) > 0 && len(rows.Filters) == 0 && rows.filters.line == 0
	op := &OperationSpec{Operation: map[bool]string{true: opGet, false: opList}[one], at: s.at}
	spec := &TableSpec{Table: rows.Table, Columns: rows.Columns, Key: rows.Key, By: operationSpecs{op}}
	b := c.tableOf(rel, spec, s.tool)
	var list *ListPlan
	if one {
		b.rowRules(s)
	} else {
		b.rowsRules(s)
	}
	b.pickColumns()
	if !HasErrors(c.problems[before:]) {
		b.pickKey()
	}
	b.findings()
	if !one && !HasErrors(c.problems[before:]) {
		list = b.listPlan()
		for i := range list.Filters { // a variable, not an argument beside others
			list.Filters[i].Argument = list.Filters[i].Column.Name
		}
	}
	b.privileges(list)
	if HasErrors(c.problems[before:]) || len(rows.Columns) == 0 {
		return rel
	}
	c.used.relation(c.ix, rel, b.usedColumns(list))
	what := "Rows"
	if one {
		what = "A row"
		out.Row = &GetPlan{Relation: b.where, Columns: b.columns, Key: b.key}
	} else {
		out.Rows = list
	}
	if out.Description == "" {
		out.Description = fmt.Sprintf("%s of %s %s.%s", what, b.shown, b.who(), b.about())
	}
	return rel
}

// rowRules check that the variables are a key of the table: they find one row.
func (b *tableTool) rowRules(s *ResourceSpec) {
	rows := s.Rows
	for key, given := range map[string]bool{"order": len(rows.Order) > 0, "limit": rows.Limit > 0, "key": len(rows.Key) > 0} {
		if given {
			b.errorf(s.at, "the uri has variables, so it is one row, which needs no %s: leave it out, or write filters for the rows that have these values", key)
		}
	}
	var names []string
	for _, v := range s.variables {
		names = append(names, v.Name)
		b.spec.Key = append(b.spec.Key, Text{Value: v.Name, at: s.URI.at})
		if b.rel.column(v.Name) == nil {
			b.errorf(s.URI.at, "%s has no column %s, which is a variable of the uri%s", b.shown, quoteName(v.Name), b.suggest(v.Name, b.rel.columnNames(), "; its columns are "))
			return
		}
	}
	if b.rel.Kind != KindTable || b.isKey(names) {
		return
	}
	hint := "its key is (" + strings.Join(b.rel.PrimaryKey, ", ") + ")"
	if len(b.rel.PrimaryKey) == 0 {
		hint = "it has no primary key"
	}
	b.errorf(s.URI.at, "the variables (%s) are no key of %s, so they do not find one row (%s); for all rows that have these values write filters: [%s]", strings.Join(names, ", "), b.shown, hint, strings.Join(names, ", "))
}

// isKey reports whether columns are the primary key or a unique one.
func (b *tableTool) isKey(names []string) bool {
	set := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	same := func(columns []string) bool { return slices.Equal(set(columns), set(names)) }
	return same(b.rel.PrimaryKey) || slices.ContainsFunc(b.rel.Unique, func(u UniqueKey) bool { return same(u.Columns) })
}

// rowsRules check what narrows and sorts the rows of a resource.
func (b *tableTool) rowsRules(s *ResourceSpec) {
	rows := s.Rows
	variables := map[string]bool{}
	for _, v := range s.variables {
		variables[v.Name] = true
	}
	for _, f := range rows.Filters {
		switch {
		case !variables[f.Value]:
			b.errorf(f.at, "%s is not a variable of the uri: a filter of a resource takes its value from there, as {%s}", quoteName(f.Value), f.Value)
		case b.rel.column(f.Value) != nil && !b.returned(f.Value):
			b.errorf(f.at, "rows cannot be narrowed by %s, which is not in columns: that would tell its values. Add it to columns", quoteName(f.Value))
		default:
			b.spec.Filters = append(b.spec.Filters, FilterSpec{Column: f, Operators: []Text{{Value: "eq", at: f.at}}, Required: true})
		}
		delete(variables, f.Value)
	}
	if left := slices.Sorted(maps.Keys(variables)); len(left) > 0 && len(rows.Filters) > 0 {
		b.errorf(s.URI.at, "{%s} of the uri narrows nothing: add it to filters, or take it out of the uri", left[0])
	}
	b.spec.Order = rows.Order
	limit := rows.Limit
	if limit == 0 {
		limit = maxRowsLimit
	}
	b.spec.Limit = LimitSpec{Default: limit, Max: limit, at: rows.limit}
}
