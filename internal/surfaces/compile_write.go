package surfaces

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// write is an operation that writes, being compiled.
type write struct {
	op     *OperationSpec
	at     place // where the operation is named
	values []writeValue
	set    []SetColumn
	guard  *Guard
	dedupe *Dedupe
	many   *Many
	patch  string
	taken  map[string]bool // names of arguments
}

// writeValue is a column that callers may write, and its schema.
type writeValue struct {
	plan   WriteColumn
	schema *schema
	at     place
}

// write compiles what an operation writes.
func (b *tableTool) write(o *OperationSpec) *write {
	w := &write{op: o, at: b.operationAt(o.Operation), taken: map[string]bool{}}
	if !b.canBeWritten(w) {
		return w
	}
	before := len(b.problems)
	defer func() {
		if !HasErrors(b.problems[before:]) || len(w.writeColumns()) > 0 {
			b.writeRights(w)
		}
	}()
	b.publicWrite(w)
	switch {
	case o.Operation == opCreate:
	case o.maxAffected.line > 0:
		b.many(w)
	default:
		b.writeKey(w)
		b.guard(w)
	}
	if o.Operation != opDelete {
		b.dedupe(w)
		if o.Operation == opUpdate {
			w.patch = uniqueArgument("patch", w.taken)
		}
		b.values(w)
		b.setColumns(w)
	}
	if o.Operation == opCreate {
		b.nothingMissing(w)
	}
	return w
}

// operationAt is where an operation is named, or the table.
func (b *tableTool) operationAt(operation string) place {
	for _, t := range b.spec.Operations {
		if t.Value == operation {
			return t.at
		}
	}
	return b.tool.at
}

// canBeWritten refuses relations that never take a row.
func (b *tableTool) canBeWritten(w *write) bool {
	switch b.rel.Kind {
	case KindMaterializedView, KindForeignTable:
		b.errorf(w.at, "%s is a %s, which is not written through the Data API: leave %s out of operations", b.shown, strings.ReplaceAll(b.rel.Kind, "_", " "), w.op.Operation)
		return false
	case KindView:
		b.warnf(w.at, "only simple views can be written (one table, no grouping, no distinct), unless a trigger does it: otherwise every %s of %s fails", w.op.Operation, b.shown)
	}
	return true
}

func (b *tableTool) publicWrite(w *write) {
	if b.tool.Public {
		b.warnf(w.at, "%s is public: anybody on the internet may call it, as anon; only the rights of anon and Row Level Security stand before the rows", w.op.Operation)
	}
}

// writeKey checks that a caller can name the key of the row.
func (b *tableTool) writeKey(w *write) {
	for _, k := range b.key {
		w.taken[k.Name] = true
		if !argumentName.MatchString(k.Name) {
			b.errorf(w.at, "the key column %s cannot be the name of an argument (letters, digits, _ . - only): leave %s out of operations", quoteName(k.Name), w.op.Operation)
		}
	}
}

// values are the columns that callers may write: those of write, or what of
// columns can be written.
func (b *tableTool) values(w *write) {
	specs := w.op.Write
	if specs == nil {
		specs = b.byDefault(w)
	}
	if len(specs) == 0 && w.op.Write != nil && w.op.Operation == opUpdate {
		b.errorf(w.at, "nothing may be written, so there is nothing to update: name columns in write, or leave update out of operations")
		return
	}
	specs = b.inOrder(specs)
	names := b.argumentNames(specs, w.taken)
	for _, s := range specs {
		c, ok := b.find(s.Name, "write")
		if !ok || !b.mayBeWritten(w, s.Name, c) {
			continue
		}
		w.values = append(w.values, b.value(w, s, c, names[s.Name.Value]))
	}
}

// byDefault are the columns that are read and can be written, where the file
// does not name them, and says which.
func (b *tableTool) byDefault(w *write) writeSpecs {
	specs := writeSpecs{}
	var names []string
	for _, t := range b.spec.Columns {
		c := b.rel.column(t.Value)
		if c == nil || b.offLimits(w, c) != "" || w.op.Operation == opUpdate && slices.Contains(b.rel.PrimaryKey, c.Name) || b.setSomewhere(c.Name) || b.guards(c.Name) || !b.allMay(c, commandOf(w.op.Operation)) {
			continue
		}
		specs = append(specs, WriteSpec{ArgumentSpec: ArgumentSpec{Name: t, at: t.at}})
		names = append(names, word(t.Value))
	}
	switch {
	case len(names) > 0:
		b.warnf(b.spec.Table.at, "write is not given, so %s may be written by %s; name them: write: [%s]", sentenceList(names), w.op.Operation, strings.Join(names, ", "))
	case w.op.Operation == opUpdate || len(w.op.Set) == 0:
		b.errorf(w.at, "write is missing, and no column of columns can be written by every caller: name the columns that %s may write", w.op.Operation)
	}
	return specs
}

// inOrder sorts as filters are: in the order of columns, others after, by
// name.
func (b *tableTool) inOrder(specs writeSpecs) writeSpecs {
	sorted := slices.Clone(specs)
	position := func(name string) int {
		if i := slices.IndexFunc(b.spec.Columns, func(t Text) bool { return t.Value == name }); i >= 0 {
			return i
		}
		return len(b.spec.Columns)
	}
	slices.SortFunc(sorted, func(x, y WriteSpec) int {
		return cmp.Or(cmp.Compare(position(x.Name.Value), position(y.Name.Value)), cmp.Compare(x.Name.Value, y.Name.Value))
	})
	return sorted
}

// argumentNames names the arguments of columns: by the column where clients
// accept that, else made safe. In a patch they are among themselves.
func (b *tableTool) argumentNames(specs writeSpecs, taken map[string]bool) map[string]string {
	own := map[string]bool{}
	if len(taken) == 0 {
		own = taken
	}
	names := map[string]string{}
	for _, s := range specs {
		if name := s.Name.Value; argumentName.MatchString(name) {
			names[name], own[name] = name, true
		}
	}
	for _, s := range specs {
		if name := s.Name.Value; names[name] == "" {
			names[name] = uniqueArgument(safeName(name), own)
		}
	}
	return names
}

// offLimits says why nobody may write the column, in words after its name.
func (b *tableTool) offLimits(w *write, c *ColumnSchema) string {
	key := slices.ContainsFunc(b.key, func(k Column) bool { return k.Name == c.Name })
	switch {
	case c.Generated:
		return "is generated by the database"
	case c.Identity == "always":
		return "is numbered by the database (generated always as identity)"
	case key && w.op.Operation == opUpdate:
		return "is part of the key, which an update cannot change"
	case b.dedupes(c.Name):
		return "is the column of dedupe, which Chumbo fills in"
	}
	return ""
}

// mayBeWritten reports a column of write that cannot stand there.
func (b *tableTool) mayBeWritten(w *write, t Text, c *ColumnSchema) bool {
	why := b.offLimits(w, c)
	set := slices.ContainsFunc(w.op.Set, func(s SetSpec) bool { return s.Column.Value == c.Name })
	switch {
	case why != "":
	case set:
		why = "is in set, so callers never give it"
	case w.op.Operation == opUpdate && b.guards(c.Name):
		why = "is the guard, which callers give as they saw it last"
	default:
		return true
	}
	b.errorf(t.at, "%s %s: leave it out of write%s", quoteName(c.Name), why, b.forCreate(w, c))
	return false
}

// forCreate tells how to keep for create what only an update cannot have.
func (b *tableTool) forCreate(w *write, c *ColumnSchema) string {
	create := b.operationSpec(opCreate)
	if w.op.Operation != opUpdate || create == nil || b.offLimits(&write{op: create}, c) != "" {
		return ""
	}
	return ", or keep it for create: { create: …, update: … }"
}

func (b *tableTool) operationSpec(operation string) *OperationSpec {
	for _, o := range b.spec.By {
		if o.Operation == operation {
			return o
		}
	}
	return nil
}

// setSomewhere reports whether some operation of the entry sets the column.
func (b *tableTool) setSomewhere(name string) bool {
	return slices.ContainsFunc(b.spec.By, func(o *OperationSpec) bool {
		return slices.ContainsFunc(o.Set, func(s SetSpec) bool { return s.Column.Value == name })
	})
}

func (b *tableTool) guards(name string) bool {
	return slices.ContainsFunc(b.spec.By, func(o *OperationSpec) bool { return o.Guard.Value == name })
}

func (b *tableTool) dedupes(name string) bool {
	return slices.ContainsFunc(b.spec.By, func(o *OperationSpec) bool { return o.Dedupe.Value == name })
}

// value makes one column that callers may write.
func (b *tableTool) value(w *write, s WriteSpec, c *ColumnSchema, argument string) writeValue {
	v, column := b.ix.typeOf(c.Type), b.ix.column(b.rel, c)
	column.Hidden = !b.returned(c.Name)
	in := v.input()
	b.narrow("column", in, s.ArgumentSpec, v)
	if s.Null && !column.Nullable {
		b.errorf(s.at, "%s is never null in the database: leave null out", quoteName(c.Name))
	}
	if s.Null {
		in = in.orNull()
	} else {
		in = in.notNull()
	}
	in.Description = s.Description.Value
	if in.Description == "" && (v.hint() != "" || c.Comment != "") {
		in.Description = sentence(humanize(c.Name), v.hint(), c.Comment)
	}
	create := w.op.Operation == opCreate
	if s.Required && !create && !b.sharedWrite(s) {
		b.warnf(s.at, "required counts for create only: an update writes what it is given, and nothing in particular must be")
	}
	required := create && (s.Required || needsValue(c))
	return writeValue{plan: WriteColumn{Column: column, Argument: argument, Required: required, Null: s.Null}, schema: in, at: s.at}
}

// sharedWrite reports whether a column of write is written for create, too.
func (b *tableTool) sharedWrite(s WriteSpec) bool {
	create := b.operationSpec(opCreate)
	return create != nil && slices.ContainsFunc(create.Write, func(other WriteSpec) bool { return other.Name == s.Name })
}

// needsValue reports whether a new row must say what stands in the column.
func needsValue(c *ColumnSchema) bool {
	return c.NotNull && c.Default == "" && c.Identity == "" && !c.Generated
}

// nothingMissing checks that a new row has all it needs.
func (b *tableTool) nothingMissing(w *write) {
	var missing []string
	for i := range b.rel.Columns {
		c := &b.rel.Columns[i]
		written := slices.ContainsFunc(w.values, func(v writeValue) bool { return v.plan.Column.Name == c.Name }) ||
			slices.ContainsFunc(w.op.Write, func(s WriteSpec) bool { return s.Name.Value == c.Name })
		set := slices.ContainsFunc(w.op.Set, func(s SetSpec) bool { return s.Column.Value == c.Name })
		if needsValue(c) && !written && !set && w.op.Dedupe.Value != c.Name {
			missing = append(missing, word(c.Name))
		}
	}
	if len(missing) > 0 {
		b.errorf(w.at, "every create would fail: a row of %s needs a value in %s, without null and without a default: add it to write, or to set", b.shown, sentenceList(missing))
	}
}

// setColumns are the columns that are set for the caller, by name.
func (b *tableTool) setColumns(w *write) {
	b.setAgain(w)
	for _, s := range w.op.Set {
		c, ok := b.find(s.Column, "set")
		if !ok {
			continue
		}
		why := b.offLimits(w, c)
		if why == "" && w.op.Operation == opUpdate && b.guards(c.Name) {
			why = "is the guard, which an update moves on by itself"
		}
		if why != "" {
			b.errorf(s.Column.at, "%s %s: leave it out of set%s", quoteName(c.Name), why, b.forCreate(w, c))
			continue
		}
		b.setSource(s, c)
		column := b.ix.column(b.rel, c)
		column.Hidden = !b.returned(c.Name)
		w.set = append(w.set, SetColumn{Column: column, From: ValueFrom{Claim: s.Claim, Context: s.Context, Value: s.Value}})
	}
	slices.SortFunc(w.set, func(x, y SetColumn) int { return cmp.Compare(x.Column.Name, y.Column.Name) })
}

// setAgain warns where who updates a row takes the place of who made it.
func (b *tableTool) setAgain(w *write) {
	create := b.operationSpec(opCreate)
	if w.op.Operation != opUpdate || create == nil {
		return
	}
	for _, s := range w.op.Set {
		if s.Value == nil && slices.ContainsFunc(create.Set, func(other SetSpec) bool { return other.Column == s.Column }) {
			b.warnf(s.Column.at, "set counts for create and for update, so every update sets %s again, to that of who updates; if only new rows get it, write set: { create: { … } }", quoteName(s.Column.Value))
		}
	}
}

// setSource refuses a source that never has a value for a caller.
func (b *tableTool) setSource(s SetSpec, c *ColumnSchema) {
	a := b.file.Access
	switch {
	case len(s.Claim) > 0 && b.tool.Public:
		b.errorf(s.at, "set reads claims, and callers of a public tool have none: leave public out, or take another source")
	case len(s.Claim) > 0 && !a.claimed() && len(a.Modes) > 0:
		b.errorf(s.at, "set reads claims, which callers of %s do not have: take another source", strings.Join(values(a.Modes), " and "))
	case len(s.Claim) > 0:
		b.emailClaim(s.Claim, s.at)
		if a.external() && len(s.Claim) == 1 && s.Claim[0] == "sub" {
			b.warnf(s.at, "sub is a subject of %s, which is no user of the project even where a user's id is the same text: the row may seem to be that user's", a.Issuer.Value)
		}
	case len(s.Context) > 0 && b.file.Context == nil:
		b.errorf(s.at, "set reads context, and the file does not say where it comes from: write context: { rpc: … } beside access")
	case s.Value != nil:
		b.constantFits(s, c)
	}
}

// constantFits checks a constant as an argument would be.
func (b *tableTool) constantFits(s SetSpec, c *ColumnSchema) {
	decoder := json.NewDecoder(bytes.NewReader(s.Value))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return // it was written as JSON
	}
	v := b.ix.typeOf(c.Type)
	if value == nil {
		if !b.ix.column(b.rel, c).Nullable {
			b.errorf(s.at, "%s is never null in the database", quoteName(c.Name))
		}
		return
	}
	if !v.input().accepts(value) {
		b.errorf(s.at, "this value does not fit %s, which is of type %s", quoteName(c.Name), v.sql)
	}
}
