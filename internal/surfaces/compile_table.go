package surfaces

import (
	"regexp"
	"slices"
	"strings"
)

// tableTool is a table entry being compiled.
type tableTool struct {
	*compiler
	spec    *TableSpec
	tool    *ToolSpec
	rel     *RelationSchema
	where   Relation
	columns []Column // returned
	key     []Column
	embeds  []embedded // of list and get
	writes  []*write
	shown   string // the relation as written in a surface file
}

// table compiles the operations of one table entry.
func (c *compiler) table(t *ToolSpec) {
	s, before := t.Table, len(c.problems)
	rel, ok := find(c.ix, s.Table.Value, c.ix.relations)
	if !ok {
		c.unknownRelation(s.Table)
		return
	}
	b := &tableTool{compiler: c, spec: s, tool: t, rel: rel, shown: c.ix.shown(rel.Schema, rel.Name)}
	b.where = Relation{Schema: rel.Schema, Name: rel.Name, Profile: c.ix.profile(rel.Schema)}
	b.pickColumns()
	b.pickKey()
	b.embeds = b.findEmbeds()
	b.findings()
	var list *ListPlan
	for _, o := range s.By {
		if o.Operation == opList {
			list = b.listPlan()
		}
	}
	if list == nil {
		b.withoutList()
	}
	for _, o := range s.By {
		if changes(o.Operation) {
			b.writes = append(b.writes, b.write(o))
		}
	}
	b.privileges(list)
	if HasErrors(c.problems[before:]) || len(s.Columns) == 0 && s.reads() {
		return // what follows describes a plan that must be whole
	}
	c.used.relation(c.ix, rel, b.usedColumns(list))
	for _, e := range b.embeds {
		c.used.relation(c.ix, e.rel, e.uses)
		c.used.Embeds = append(c.used.Embeds, e.plan)
	}
	for _, w := range b.writes {
		c.used.relation(c.ix, rel, w.writeColumns())
	}
	for _, o := range s.By {
		b.operation(o, list)
	}
}

// withoutList tells of what would narrow or sort a list that is not offered.
func (b *tableTool) withoutList() {
	const unlisted = "%s a list, and list is not among the operations: add it, or leave %s out"
	if s := b.spec.Search; s != nil {
		b.errorf(s.at, unlisted, "search narrows", "search")
	}
	if len(b.spec.Order) > 0 {
		b.warnf(b.spec.Order[0].Column.at, unlisted, "order sorts", "order")
	}
	many := slices.ContainsFunc(b.spec.By, func(o *OperationSpec) bool { return o.maxAffected.line > 0 })
	if len(b.spec.Filters) > 0 && !many {
		b.warnf(b.spec.Filters[0].Column.at, unlisted, "filters narrow", "filters")
	}
}

func (c *compiler) unknownRelation(t Text) {
	if other := elsewhere(c.ix, t.Value, c.ix.relations); other != "" {
		c.errorf(t.at, "there is no table or view %s in schema %s; did you mean %s?", quoteName(t.Value), ident(c.ix.defaultSchema()), quoteName(other))
		return
	}
	c.errorf(t.at, "there is no table or view %s in the imported schema%s If it is new, import the schema again (chumbo import)",
		quoteName(t.Value), ended(c.suggest(t.Value, names(c.ix, c.ix.relations), "; there are ")))
}

func (b *tableTool) pickColumns() {
	for _, t := range b.spec.Columns {
		if c, ok := b.find(t, "columns"); ok {
			b.columns = append(b.columns, b.ix.column(b.rel, c))
			b.warnUnpromised(t.at, c.Name)
		}
	}
	for _, t := range b.spec.Shorten {
		i := slices.IndexFunc(b.columns, func(c Column) bool { return c.Name == t.Value })
		switch {
		case i < 0:
			b.errorf(t.at, "shorten names %s, which is not in columns%s", quoteName(t.Value), b.suggest(t.Value, values(b.spec.Columns), "; columns are "))
		case b.columns[i].JSON != JSONString || b.columns[i].AsText:
			b.errorf(t.at, "%s is not text, so it cannot be shortened", quoteName(t.Value))
		default:
			b.columns[i].Shorten = true
		}
	}
}

// find returns the column a text names, or reports it as unknown.
func (b *tableTool) find(t Text, what string) (*ColumnSchema, bool) {
	if c := b.rel.column(t.Value); c != nil {
		return c, true
	}
	b.errorf(t.at, "%s has no column %s (in %s)%s", b.shown, quoteName(t.Value), what, b.suggest(t.Value, b.rel.columnNames(), "; its columns are "))
	return nil, false
}

// argumentName is what clients accept as the name of an argument.
var argumentName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// pickKey finds the columns that identify a row: the primary key, or the key
// the file declares.
func (b *tableTool) pickKey() {
	at, declared := b.spec.Table.at, len(b.spec.Key) > 0
	key := b.rel.PrimaryKey
	if declared {
		at, key = b.spec.Key[0].at, values(b.spec.Key)
		b.checkDeclaredKey()
	}
	needed := b.needsKey()
	if len(key) == 0 && needed {
		b.noKey(at)
	}
	for _, name := range key {
		c := b.rel.column(name)
		if c == nil {
			continue // reported before
		}
		column := b.ix.column(b.rel, c)
		if v := b.ix.typeOf(c.Type); needed && !v.ordered() {
			b.errorf(at, "the key column %s is of type %s, which cannot be ordered", quoteName(name), v.sql)
		}
		column.Hidden = !b.returned(name)
		b.key = append(b.key, column)
	}
}

// needsKey reports whether an operation tells rows apart by their key. A create
// only says what the key of its row is, and filters choose many.
func (b *tableTool) needsKey() bool {
	return slices.ContainsFunc(b.spec.By, func(o *OperationSpec) bool { return o.Operation != opCreate && o.maxAffected.line == 0 })
}

func (b *tableTool) checkDeclaredKey() {
	sorted := slices.Sorted(slices.Values(values(b.spec.Key)))
	for _, t := range b.spec.Key {
		if _, ok := b.find(t, "key"); !ok {
			return
		}
	}
	at := b.spec.Key[0].at
	same := func(columns []string) bool { return slices.Equal(slices.Sorted(slices.Values(columns)), sorted) }
	if same(b.rel.PrimaryKey) || slices.ContainsFunc(b.rel.Unique, func(u UniqueKey) bool { return same(u.Columns) }) {
		for _, t := range b.spec.Key {
			if c := b.rel.column(t.Value); !c.NotNull && b.rel.Kind == KindTable {
				b.errorf(t.at, "the key column %s may be null, so it does not identify every row: alter table %s alter column %s set not null;",
					quoteName(t.Value), qualified(b.rel.Schema, b.rel.Name), ident(t.Value))
			}
		}
		return
	}
	if b.rel.Kind == KindTable {
		b.errorf(at, "nothing says that (%s) is unique: alter table %s add unique (%s);",
			strings.Join(values(b.spec.Key), ", "), qualified(b.rel.Schema, b.rel.Name), identList(values(b.spec.Key)))
		return
	}
	b.warnf(at, "the database cannot confirm that (%s) identifies one row of %s, and that none of it is null; if not, pages may skip rows", strings.Join(values(b.spec.Key), ", "), b.shown)
}

func (b *tableTool) noKey(at place) {
	if b.rel.Kind == KindTable {
		b.errorf(at, "%s has no primary key, so its rows cannot be paged or read one by one: alter table %s add primary key (…);", b.shown, qualified(b.rel.Schema, b.rel.Name))
		return
	}
	b.errorf(at, "%s is a %s and has no known key, so its rows cannot be paged or read one by one: write key: [the columns that identify one row]",
		b.shown, strings.ReplaceAll(b.rel.Kind, "_", " "))
}

func (b *tableTool) returned(name string) bool {
	return slices.ContainsFunc(b.spec.Columns, func(t Text) bool { return t.Value == name })
}

// usedColumns are the names of all columns that a plan touches, in the order
// of the table.
func (b *tableTool) usedColumns(list *ListPlan) []string {
	use := map[string]bool{}
	for _, c := range b.columns {
		use[c.Name] = true
	}
	for _, c := range b.key {
		use[c.Name] = use[c.Name] || b.needsKey()
	}
	for _, w := range b.writes {
		for _, name := range w.readColumns() {
			use[name] = true
		}
	}
	if len(b.writes) > 0 && len(b.columns) > 0 {
		// With a row that it wrote the Data API reads the primary key back, too.
		for _, name := range b.rel.PrimaryKey {
			use[name] = true
		}
	}
	if list != nil {
		for _, c := range list.Columns {
			use[c.Name] = true
		}
		for _, f := range list.Filters {
			use[f.Column.Name] = true
		}
		if list.Search != nil {
			for _, c := range list.Search.Columns {
				use[c.Name] = true
			}
		}
	}
	for _, e := range b.embeds {
		for _, name := range e.link.near {
			use[name] = true
		}
	}
	var used []string
	for _, name := range b.rel.columnNames() {
		if use[name] {
			used = append(used, name)
		}
	}
	return used
}

// operation makes one tool.
func (b *tableTool) operation(o *OperationSpec, list *ListPlan) {
	tool := b.common(b.tool, o)
	tool.Annotations = Annotations{ReadOnly: true, Idempotent: true}
	tool.Title = b.title(o)
	switch o.Operation {
	case opList:
		tool.List = list
		tool.Input, tool.Output = b.raw(b.tool.at, b.listInput(list)), b.raw(b.tool.at, b.listOutput())
		tool.Description = b.describeList(o, list)
		b.checkTemplate(o.Template, listTemplateNames(b.columns, b.embeds...))
	case opGet:
		tool.Get = &GetPlan{Relation: b.where, Columns: b.columns, Embeds: embedPlans(b.embeds), Key: b.getKey(o)}
		tool.Input, tool.Output = b.raw(b.tool.at, b.getInput()), b.raw(b.tool.at, b.readSchema())
		tool.Description = b.describeGet(o)
		b.checkTemplate(o.Template, rowTemplateNames(b.columns, b.embeds...))
	}
	for _, w := range b.writes {
		if w.op == o {
			b.writeTool(&tool, w)
		}
	}
	if tool.Result == ResultText {
		tool.Output = nil
	}
	base := b.shown
	if b.spec.Base.Value != "" {
		base = b.spec.Base.Value
	}
	b.asking(&tool, o, false)
	m := made{tool: tool, at: o.at, key: base + "_" + o.Operation}
	m.tool.Name = derivedName(base, "_"+o.Operation)
	if o.Name.Value != "" {
		m.explicit, m.at, m.tool.Name = true, o.Name.at, o.Name.Value
	}
	b.made = append(b.made, m)
}

// getKey checks that a caller can know and name the key of a row.
func (b *tableTool) getKey(o *OperationSpec) []Column {
	for _, k := range b.key {
		if k.Hidden {
			b.errorf(o.at, "get reads a row by %s, which is not in columns: add it, or leave get out of operations", quoteName(k.Name))
		}
		if !argumentName.MatchString(k.Name) {
			b.errorf(o.at, "the key column %s cannot be the name of an argument (letters, digits, _ . - only): leave get out of operations", quoteName(k.Name))
		}
	}
	return b.key
}

// rowSchema is a row as a write returns it: without what is embedded.
func (b *tableTool) rowSchema() *schema {
	row := outputObject()
	for _, c := range b.columns {
		row.returns(c.Name, b.ix.typeOf(b.rel.column(c.Name).Type).output(c.Nullable))
	}
	return row
}

// readSchema is a row as list and get return it.
func (b *tableTool) readSchema() *schema {
	row := b.rowSchema()
	for _, e := range b.embeds {
		row.Properties.add(e.plan.Name, b.embedSchema(e))
	}
	return row
}

// listOutput is the page of design section 7.
func (b *tableTool) listOutput() *schema { return pageOutput(b.readSchema()) }

// pageOutput is a page of a list.
func pageOutput(item *schema) *schema {
	page := outputObject()
	page.Properties.add("items", &schema{Type: "array", Items: item})
	page.Properties.add("has_more", &schema{Type: "boolean"})
	page.Properties.add("next_cursor", (&schema{Type: "string"}).orNull())
	page.Properties.add("next_call", (&schema{Type: "object"}).orNull())
	page.Required = []string{"items", "has_more"}
	return page
}

func (b *tableTool) getInput() *schema {
	in := inputObject()
	b.addKey(in)
	return in
}

// addKey offers the columns that say which row.
func (b *tableTool) addKey(in *schema) {
	for _, k := range b.key {
		column := b.rel.column(k.Name)
		v := b.ix.typeOf(column.Type)
		s := v.input()
		s.Description = sentence("The row's "+k.Name, v.hint(), column.Comment)
		in.Properties.add(k.Name, s)
		in.Required = append(in.Required, k.Name)
	}
}
