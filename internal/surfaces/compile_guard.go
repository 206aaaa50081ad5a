package surfaces

import (
	"slices"
	"strings"
)

// guard compiles the column whose last version a write of one row needs.
func (b *tableTool) guard(w *write) {
	t := w.op.Guard
	if t.Value == "" {
		return
	}
	c, ok := b.find(t, "guard")
	if !ok {
		return
	}
	v := b.ix.typeOf(c.Type)
	switch {
	case !b.returned(c.Name):
		b.errorf(t.at, "the guard %s is not in columns: callers must see it to say which version they saw last", quoteName(c.Name))
		return
	case slices.ContainsFunc(b.key, func(k Column) bool { return k.Name == c.Name }):
		b.errorf(t.at, "the guard %s is part of the key, which never changes: take a column that changes with the row, such as updated_at", quoteName(c.Name))
		return
	case v.json == JSONArray || v.json == JSONAny || unordered[v.sql]:
		b.errorf(t.at, "the guard %s is of type %s, which cannot be compared: take a number, a time or text", quoteName(c.Name), v.sql)
		return
	case c.Coarse:
		b.errorf(t.at, "the guard %s keeps less than microseconds, so two changes soon after each other look like one: alter table %s alter column %s type %s;", quoteName(c.Name), qualified(b.rel.Schema, b.rel.Name), ident(c.Name), v.sql)
		return
	}
	name := c.Name
	if !argumentName.MatchString(name) {
		name = safeName(name)
	}
	w.guard = &Guard{Column: b.ix.column(b.rel, c), Argument: uniqueArgument(name, w.taken)}
	if w.op.Operation == opUpdate {
		b.bump(w, t, c)
	}
}

// bumps are how an update moves a guard on, by type.
var bumps = map[string]string{
	"int2": BumpIncrement, "int4": BumpIncrement, "int8": BumpIncrement, "timestamp": BumpNow, "timestamptz": BumpNow, "uuid": BumpUUID,
}

// bump says how an update moves the guard on, where every caller may write it.
func (b *tableTool) bump(w *write, t Text, c *ColumnSchema) {
	how := bumps[w.guard.Column.SQLType]
	var why string
	switch {
	case c.Generated || c.Identity == "always":
		why = "the database fills it in"
	case how == "":
		why = "it is of type " + w.guard.Column.SQLType
	case !b.allMay(c, CommandUpdate):
		why = "not every caller may update it"
	default:
		w.guard.Bump = how
		return
	}
	b.warnf(t.at, "an update does not move %s on by itself (%s), so a trigger of the database must: otherwise the guard never sees a change", quoteName(c.Name), why)
}

// dedupe compiles the column that makes identical creates one row.
func (b *tableTool) dedupe(w *write) {
	t := w.op.Dedupe
	if t.Value == "" {
		return
	}
	c := b.rel.column(t.Value)
	if c == nil {
		b.errorf(t.at, "%s has no column %s: name one that nothing else writes, or add it: alter table %s add column %s uuid unique;", b.shown, quoteName(t.Value), qualified(b.rel.Schema, b.rel.Name), ident(t.Value))
		return
	}
	v, name := b.ix.typeOf(c.Type), quoteName(c.Name)
	constraints := b.rel.uniqueAlone(c.Name)
	switch {
	case c.Generated || c.Identity == "always":
		b.errorf(t.at, "the database fills %s in itself, so it cannot be the column of dedupe", name)
		return
	case v.json != JSONString || v.sql != "uuid" && v.sql != "text" && v.sql != "varchar":
		b.errorf(t.at, "dedupe needs a column of type uuid or text, and %s is of type %s", name, v.sql)
		return
	case len(constraints) == 0:
		b.errorf(t.at, "nothing says that %s alone is unique, so a second row would be made all the same: alter table %s add unique (%s);", name, qualified(b.rel.Schema, b.rel.Name), ident(c.Name))
		return
	}
	column := b.ix.column(b.rel, c)
	column.Hidden = !b.returned(c.Name)
	w.dedupe = &Dedupe{Column: column, Constraints: constraints}
}

// uniqueAlone are the names of the constraints and indexes that keep a column
// unique by itself.
func (r *RelationSchema) uniqueAlone(column string) []string {
	var names []string
	for _, u := range r.Unique {
		if len(u.Columns) == 1 && u.Columns[0] == column {
			names = append(names, u.Name)
		}
	}
	for _, i := range r.Indexes {
		if i.Unique && !i.Partial && len(i.Keys) == 1 && i.Keys[0].Column == column {
			names = append(names, i.Name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// many compiles a write of several rows, chosen by the entry's filters.
func (b *tableTool) many(w *write) {
	at := w.op.maxAffected
	if len(b.spec.Filters) == 0 {
		b.errorf(at, "max_affected lets %s choose rows by filters, and there are none: write filters, or leave max_affected out to %s one row by its key", w.op.Operation, w.op.Operation)
	}
	if len(b.spec.Columns) == 0 {
		b.errorf(at, "max_affected needs columns: what was written is answered row by row")
	}
	if w.op.MaxAffected == 0 {
		return // reported before
	}
	w.many = &Many{MaxAffected: w.op.MaxAffected, Filters: b.filters()}
	for _, f := range w.many.Filters {
		w.taken[f.Argument] = true
	}
	b.indexFindings(&ListPlan{Relation: b.where, Filters: w.many.Filters})
}

// commandOf is the right that an operation needs.
func commandOf(operation string) string {
	return map[string]string{opCreate: CommandInsert, opUpdate: CommandUpdate, opDelete: CommandDelete}[operation]
}

// holders are the roles that may use a command on the column.
func (c *ColumnSchema) holders(command string) []string {
	switch command {
	case CommandInsert:
		return c.Insert
	case CommandUpdate:
		return c.Update
	}
	return c.Select
}

// allMay reports whether every role of callers may.
func (b *tableTool) allMay(c *ColumnSchema, command string) bool {
	return !slices.ContainsFunc(b.roles(b.tool), func(role string) bool { return !slices.Contains(c.holders(command), role) })
}

// writeColumns are the names of the columns that a write writes.
func (w *write) writeColumns() []string {
	plan := writing{set: w.set, dedupe: w.dedupe, guard: w.guard}
	for _, v := range w.values {
		plan.values = append(plan.values, v.plan)
	}
	return plan.written()
}

// readColumns are the names of the columns that a write reads beside those it
// returns.
func (w *write) readColumns() []string {
	var names []string
	if w.guard != nil {
		names = append(names, w.guard.Column.Name)
	}
	if w.dedupe != nil {
		names = append(names, w.dedupe.Column.Name)
	}
	if w.many != nil {
		for _, f := range w.many.Filters {
			names = append(names, f.Column.Name)
		}
	}
	return names
}

// writeRights checks that the roles which will run the tool may write what it
// writes.
func (b *tableTool) writeRights(w *write) {
	command, name := commandOf(w.op.Operation), qualified(b.rel.Schema, b.rel.Name)
	for _, role := range b.roles(b.tool) {
		if !b.ix.known[role] {
			continue // said of what it may read
		}
		if command == CommandDelete {
			if !slices.Contains(b.rel.Delete, role) {
				b.errorf(w.at, "%s may not delete from %s: grant delete on %s to %s;", role, b.shown, name, ident(role))
			}
			continue
		}
		var missing []string
		for _, column := range w.writeColumns() {
			if !slices.Contains(b.rel.column(column).holders(command), role) {
				missing = append(missing, column)
			}
		}
		if len(missing) > 0 {
			b.errorf(b.writtenAt(w, missing[0]), "%s may not %s %s of %s: grant %s (%s) on %s to %s;", role, command, sentenceList(missing), b.shown, command, identList(missing), name, ident(role))
			continue
		}
		if len(w.writeColumns()) == 0 && !slices.ContainsFunc(b.rel.Columns, func(c ColumnSchema) bool { return slices.Contains(c.Insert, role) }) {
			b.errorf(w.at, "%s may not insert into %s: grant insert on %s to %s;", role, b.shown, name, ident(role))
		}
	}
}

// writtenAt is where the file names a column that is written, or the
// operation.
func (b *tableTool) writtenAt(w *write, name string) place {
	for _, s := range w.op.Write {
		if s.Name.Value == name {
			return s.Name.at
		}
	}
	for _, s := range w.op.Set {
		if s.Column.Value == name {
			return s.Column.at
		}
	}
	for _, t := range []Text{w.op.Dedupe, w.op.Guard} {
		if t.Value == name {
			return t.at
		}
	}
	return w.at
}

// keyWords names key columns in a sentence.
func keyWords(key []Column) string {
	names := make([]string, len(key))
	for i, k := range key {
		names[i] = k.Name
	}
	return strings.Join(names, " and ")
}
