package surfaces

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The sides of a foreign key that an embed may be on, as the file writes them.
const (
	embedOne  = "one"
	embedMany = "many"
)

// embedded is an embed with what was found of it.
type embedded struct {
	plan Embed
	spec *EmbedSpec
	rel  *RelationSchema
	link link
	uses []string // columns of rel that are read, in its order
}

// link is one way over a foreign key.
type link struct {
	key     *ForeignKey
	outward bool // the key is the reading table's own
	self    bool // it refers to its own table
	many    bool
	near    []string // columns of the reading table
	far     []string // columns of the embedded table
}

// links are the ways from one table to another. Columns that are unique refer
// to one row from both sides, as the Data API has it.
func links(from, to *RelationSchema) []link {
	self := from == to
	var found []link
	for i := range from.ForeignKeys {
		k := &from.ForeignKeys[i]
		if k.ReferencedSchema == to.Schema && k.ReferencedName == to.Name {
			found = append(found, link{key: k, outward: true, self: self, near: k.Columns, far: k.ReferencedColumns})
		}
	}
	for i := range to.ForeignKeys {
		k := &to.ForeignKeys[i]
		if k.ReferencedSchema == from.Schema && k.ReferencedName == from.Name {
			found = append(found, link{key: k, self: self, many: !to.unique(k.Columns), near: k.ReferencedColumns, far: k.Columns})
		}
	}
	return found
}

// unique reports whether no two rows have the same values in these columns. A
// unique index counts as well as a constraint, though the Data API goes by
// constraints alone and answers a list of one then.
func (r *RelationSchema) unique(columns []string) bool {
	sorted := slices.Sorted(slices.Values(columns))
	same := func(key []string) bool { return slices.Equal(slices.Sorted(slices.Values(key)), sorted) }
	return same(r.PrimaryKey) || slices.ContainsFunc(r.Unique, func(u UniqueKey) bool { return same(u.Columns) })
}

// findEmbeds finds the related tables.
func (b *tableTool) findEmbeds() []embedded {
	specs := slices.Clone(b.spec.Embed) // by name: in which order a mapping is written counts for nothing
	slices.SortFunc(specs, func(x, y EmbedSpec) int { return cmp.Compare(x.Name.Value, y.Name.Value) })
	var all []embedded
	for i := range specs {
		if e, ok := b.embed(&specs[i]); ok {
			all = append(all, e)
		}
	}
	if len(b.spec.Embed) > 0 && !slices.ContainsFunc(b.spec.By, func(o *OperationSpec) bool { return o.Operation == opList || o.Operation == opGet }) {
		b.errorf(b.spec.Embed[0].at, "embed adds related rows to what list and get return, and neither is among the operations: leave embed out")
	}
	return all
}

func (b *tableTool) embed(s *EmbedSpec) (embedded, bool) {
	before := len(b.problems)
	if b.rel.column(s.Name.Value) != nil {
		b.errorf(s.Name.at, "%s has a column %s: give the embed another name", b.shown, quoteName(s.Name.Value))
	}
	if b.rel.Kind != KindTable {
		b.errorf(s.at, "%s is a %s, and foreign keys, which say what belongs together, are between tables only: embed from a table, or join inside the view", b.shown, strings.ReplaceAll(b.rel.Kind, "_", " "))
		return embedded{}, false
	}
	rel, ok := find(b.ix, s.Table.Value, b.ix.relations)
	if !ok {
		b.unknownRelation(s.Table)
		return embedded{}, false
	}
	shown := b.ix.shown(rel.Schema, rel.Name)
	switch {
	case rel.Kind != KindTable:
		b.errorf(s.Table.at, "%s is a %s, and foreign keys, which say what belongs together, are between tables only", shown, strings.ReplaceAll(rel.Kind, "_", " "))
		return embedded{}, false
	case rel.Schema != b.rel.Schema:
		b.errorf(s.Table.at, "%s is in another schema than %s: the Data API embeds within one schema only", shown, b.shown)
		return embedded{}, false
	}
	l, ok := b.link(s, rel, shown)
	if !ok {
		return embedded{}, false
	}
	e := embedded{spec: s, rel: rel, link: l}
	e.plan = Embed{
		Name: s.Name.Value, Relation: Relation{Schema: rel.Schema, Name: rel.Name, Profile: b.ix.profile(rel.Schema)},
		Target: rel.Name, Hint: l.key.Name, Many: l.many,
	}
	if l.self {
		b.selfReference(&e)
	}
	if f := b.computed(e.plan.Target); f != nil {
		b.errorf(s.at, "the Data API runs the function %s in place of any foreign key between %s and %s, so other rows could come than the foreign key says: rename the function, or leave this embed out", signature(f), b.shown, shown)
	}
	if e.plan.Target == "count" {
		b.errorf(s.at, "the Data API takes count for a function, so nothing of that name can be embedded: rename it in the database")
	}
	b.embedColumns(&e, shown)
	b.embedRows(&e, shown)
	e.collectUses()
	return e, !HasErrors(b.problems[before:])
}

// link finds the one foreign key that is meant.
func (b *tableTool) link(s *EmbedSpec, rel *RelationSchema, shown string) (link, bool) {
	all := links(b.rel, rel)
	if len(all) == 0 {
		b.errorf(s.Table.at, "no foreign key is between %s and %s: only what a foreign key says belongs together can be embedded", b.shown, shown)
		return link{}, false
	}
	if s.Kind.Value == "" && rel == b.rel {
		b.errorf(s.at, "%s refers to itself: write kind: one for the row that is referred to, or kind: many for those that refer to it", shown)
		return link{}, false
	}
	fits := slices.DeleteFunc(slices.Clone(all), func(l link) bool {
		switch {
		case s.Via.Value != "" && s.Via.Value != l.key.Name && !slices.Equal([]string{s.Via.Value}, l.key.Columns):
			return true
		case s.Kind.Value == "":
			return false
		case l.self:
			return l.outward != (s.Kind.Value == embedOne)
		}
		return l.many != (s.Kind.Value == embedMany)
	})
	switch {
	case len(fits) == 1 && !fits[0].self && slices.ContainsFunc(all, func(l link) bool { return l.key != fits[0].key && l.key.goesBy(fits[0].key.Name) }):
		b.errorf(s.at, "two foreign keys between %s and %s go by %s, the name of one and the name or column of the other, and the Data API cannot tell them apart: rename one", b.shown, shown, quoteName(fits[0].key.Name))
		return link{}, false
	case len(fits) == 1:
		return fits[0], true
	case len(fits) == 0:
		at := s.at
		if s.Via.Value != "" {
			at = s.Via.at
		} else if s.Kind.Value != "" {
			at = s.Kind.at
		}
		if s.Via.Value == "" && len(all) == 1 && !all[0].self {
			other := map[string]string{embedOne: embedMany, embedMany: embedOne}[s.Kind.Value]
			b.errorf(at, "the foreign key between %s and %s makes it kind: %s, which need not be written: %s", b.shown, shown, other, linkList(all))
			return link{}, false
		}
		b.errorf(at, "no foreign key between %s and %s is like that; there are: %s", b.shown, shown, linkList(all))
		return link{}, false
	}
	how := "choose one with via"
	if s.Via.Value != "" {
		how = "write its name after via, or say kind: one or kind: many"
	}
	b.errorf(s.at, "%d foreign keys could be meant, so %s: %s", len(fits), how, linkList(fits))
	return link{}, false
}

// goesBy reports whether the Data API takes a word for this foreign key: its
// name, or its only column.
func (k *ForeignKey) goesBy(word string) bool {
	return k.Name == word || slices.Equal(k.Columns, []string{word})
}

// computed is the function that the Data API takes for the relation of that
// name: one that takes a row of the table which is read, and returns rows. It
// counts before every foreign key; nil where there is none.
func (b *tableTool) computed(target string) *FunctionSchema {
	for _, f := range b.ix.functions[b.rel.Schema+"."+target] {
		if len(f.Arguments) != 1 || !f.Returns.Row {
			continue
		}
		if t := f.Arguments[0].Type; !t.Array && t.Schema == b.rel.Schema && t.Name == b.rel.Name {
			return f
		}
	}
	return nil
}

func linkList(all []link) string {
	var list []string
	for _, l := range all[:min(len(all), maxWords)] {
		text := fmt.Sprintf("%s (%s)", word(l.key.Name), word(strings.Join(l.key.Columns, ", ")))
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if more := len(all) - maxWords; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// selfReference names the way over a foreign key to its own table as the Data
// API tells the two directions apart: by the column.
func (b *tableTool) selfReference(e *embedded) {
	columns := e.link.key.Columns
	if len(columns) != 1 {
		b.errorf(e.spec.at, "the foreign key %s is of several columns, and the Data API cannot tell its two directions apart", quoteName(e.link.key.Name))
		return
	}
	if slices.ContainsFunc(b.rel.ForeignKeys, func(k ForeignKey) bool { return k.Name != e.link.key.Name && k.goesBy(columns[0]) }) {
		b.errorf(e.spec.at, "another foreign key goes by %s, too, and the Data API cannot tell them apart", quoteName(columns[0]))
		return
	}
	if e.rel.unique(columns) {
		b.errorf(e.spec.at, "the foreign key %s is unique, and the Data API embeds no row of the same table one to one", quoteName(e.link.key.Name))
		return
	}
	if e.link.outward {
		e.plan.Target, e.plan.Hint = columns[0], ""
		return
	}
	e.plan.Hint = columns[0]
}

func (b *tableTool) embedColumns(e *embedded, shown string) {
	for _, t := range e.spec.Columns {
		c := e.rel.column(t.Value)
		if c == nil {
			b.errorf(t.at, "%s has no column %s%s", shown, quoteName(t.Value), b.suggest(t.Value, e.rel.columnNames(), "; its columns are "))
			continue
		}
		column := b.ix.column(e.rel, c)
		column.Nullable = true
		b.warnUnpromised(t.at, c.Name)
		e.plan.Columns = append(e.plan.Columns, column)
	}
}

// embedRows says which of many rows come, and in which order.
func (b *tableTool) embedRows(e *embedded, shown string) {
	s := e.spec
	if !e.plan.Many {
		if len(s.Order) > 0 {
			b.errorf(s.Order[0].Column.at, "%s is one row, which has no order: leave order out", quoteName(s.Name.Value))
		}
		if s.Limit > 0 {
			b.errorf(s.limit, "%s is one row, which needs no limit: leave limit out", quoteName(s.Name.Value))
		}
		return
	}
	limit := s.Limit
	if limit == 0 {
		limit = DefaultEmbedLimit
	}
	e.plan.Limit = min(limit, b.ix.snap.MaxRows-1)
	switch {
	case e.plan.Limit < 1:
		b.errorf(s.limit, "the Data API returns at most %d rows (db-max-rows), which leaves no room for related ones: set it to 2 or more", b.ix.snap.MaxRows)
	case e.plan.Limit < s.Limit:
		b.warnf(s.limit, "limit is lowered to %d: the Data API returns at most %d rows (db-max-rows), and one is needed to see whether there is more", e.plan.Limit, b.ix.snap.MaxRows)
	}
	if len(e.rel.PrimaryKey) == 0 {
		b.errorf(s.at, "%s has no primary key, so its rows have no certain order: alter table %s add primary key (…);", shown, qualified(e.rel.Schema, e.rel.Name))
		return
	}
	desc := false
	for _, o := range s.Order {
		desc = o.Desc
		b.embedOrder(e, o, shown)
	}
	for _, name := range e.rel.PrimaryKey {
		if !slices.ContainsFunc(e.plan.Order, func(t OrderTerm) bool { return t.Column.Name == name }) {
			e.plan.Order = append(e.plan.Order, OrderTerm{Column: e.column(b.ix, name), Desc: desc, NullsFirst: desc})
		}
	}
}

func (b *tableTool) embedOrder(e *embedded, o OrderSpec, shown string) {
	c := e.rel.column(o.Column.Value)
	if c == nil {
		b.errorf(o.Column.at, "%s has no column %s (in order)%s", shown, quoteName(o.Column.Value), b.suggest(o.Column.Value, e.rel.columnNames(), "; its columns are "))
		return
	}
	if v := b.ix.typeOf(c.Type); !v.ordered() && v.json != JSONBoolean {
		b.errorf(o.Column.at, "rows cannot be ordered by %s, which is of type %s", quoteName(c.Name), v.sql)
		return
	}
	// The column need not be returned: callers choose nothing here.
	e.plan.Order = append(e.plan.Order, OrderTerm{Column: e.column(b.ix, c.Name), Desc: o.Desc, NullsFirst: o.Nulls == "first"})
}

// column is a column of the embedded table as an order uses it.
func (e *embedded) column(ix *index, name string) Column {
	column := ix.column(e.rel, e.rel.column(name))
	column.Hidden = !slices.ContainsFunc(e.plan.Columns, func(c Column) bool { return c.Name == name })
	return column
}

// collectUses names what callers must be able to read: a join reads the
// columns on both of its sides.
func (e *embedded) collectUses() {
	use := map[string]bool{}
	for _, c := range e.plan.Columns {
		use[c.Name] = true
	}
	for _, o := range e.plan.Order {
		use[o.Column.Name] = true
	}
	for _, name := range e.link.far {
		use[name] = true
	}
	for _, name := range e.rel.columnNames() {
		if use[name] {
			e.uses = append(e.uses, name)
		}
	}
}

func embedPlans(all []embedded) []Embed {
	var plans []Embed
	for _, e := range all {
		plans = append(plans, e.plan)
	}
	return plans
}

// embedSchema is what stands in a row under the embed's name.
func (b *tableTool) embedSchema(e embedded) *schema {
	row := outputObject()
	for _, c := range e.plan.Columns {
		row.returns(c.Name, b.ix.typeOf(e.rel.column(c.Name).Type).output(true))
	}
	if !e.plan.Many {
		return row.orNull()
	}
	rows := outputObject()
	rows.Properties.add("items", &schema{Type: "array", Items: row})
	rows.Properties.add("truncated", &schema{Type: "boolean"})
	return rows
}

// embedWords tell a model what comes with each row.
func embedWords(all []embedded) string {
	var words []string
	for _, e := range all {
		columns := strings.Join(columnNames(e.plan.Columns), ", ")
		if e.plan.Many {
			words = append(words, fmt.Sprintf("%s (at most %d rows of %s)", e.plan.Name, e.plan.Limit, columns))
		} else {
			words = append(words, fmt.Sprintf("%s (%s)", e.plan.Name, columns))
		}
	}
	return sentenceList(words)
}

// missingEmbedIndex is the index that finds the rows which refer to another;
// the other way there always is one.
func missingEmbedIndex(rel *RelationSchema, e *Embed, far []string) missingIndex {
	if !e.Many || slices.ContainsFunc(rel.Indexes, func(x IndexSchema) bool { return leadsWith(x, far) }) {
		return missingIndex{}
	}
	return missingIndex{embed: e, columns: identList(far), sql: fmt.Sprintf("create index on %s (%s);", qualified(rel.Schema, rel.Name), identList(far))}
}

// leadsWith reports whether the first keys of an index are these columns, in
// any order.
func leadsWith(x IndexSchema, columns []string) bool {
	if x.Partial || x.Method == "gin" || len(x.Keys) < len(columns) {
		return false
	}
	for _, k := range x.Keys[:len(columns)] {
		if !slices.Contains(columns, k.Column) {
			return false
		}
	}
	return true
}

// linkOf finds the way that a compiled embed goes over; ok is false where the
// snapshot does not have it any more.
func (ix *index) linkOf(from Relation, e Embed) (l link, ok bool) {
	near, far := ix.relations[from.Schema+"."+from.Name], ix.relations[e.Relation.Schema+"."+e.Relation.Name]
	if near == nil || far == nil {
		return link{}, false
	}
	for _, l := range links(near, far) {
		switch {
		case !l.self && l.key.Name == e.Hint,
			l.self && l.outward && e.Hint == "" && slices.Equal(l.key.Columns, []string{e.Target}),
			l.self && !l.outward && slices.Equal(l.key.Columns, []string{e.Hint}):
			return l, true
		}
	}
	return link{}, false
}
