package surfaces

// writeTool fills in the plan, the schemas and the description of a tool that
// writes.
func (b *tableTool) writeTool(tool *Tool, w *write) {
	in := inputObject()
	switch w.op.Operation {
	case opCreate:
		plan := &CreatePlan{Relation: b.where, Columns: b.columns, Key: b.createdKey(), Set: w.set, Dedupe: w.dedupe}
		plan.Values = w.add(in)
		tool.Create, tool.Description = plan, b.describeCreate(w)
		tool.Annotations = Annotations{}
		b.used.Creates = append(b.used.Creates, plan)
	case opUpdate:
		b.addressed(in, w)
		patch := inputObject()
		plan := &UpdatePlan{Relation: b.where, Columns: b.columns, Patch: w.patch, Values: w.add(patch), Set: w.set, Guard: w.guard, Many: w.many}
		patch.MinProperties, patch.Description = ptr(1), "What to change: only columns that are given here are written, the others stay."
		in.Properties.add(w.patch, patch)
		in.Required = append(in.Required, w.patch)
		if w.many == nil {
			plan.Key = b.key
		}
		b.used.Updates = append(b.used.Updates, plan)
		tool.Update, tool.Description = plan, b.describeUpdate(w)
		tool.Annotations = Annotations{Destructive: true, Idempotent: true}
	case opDelete:
		b.addressed(in, w)
		plan := &DeletePlan{Relation: b.where, Columns: b.columns, Guard: w.guard, Many: w.many}
		if w.many == nil {
			plan.Key = b.key
		}
		b.used.Deletes = append(b.used.Deletes, plan)
		tool.Delete, tool.Description = plan, b.describeDelete(w)
		tool.Annotations = Annotations{Destructive: true, Idempotent: true}
	}
	tool.Input, tool.Output = b.raw(b.tool.at, in), b.raw(b.tool.at, b.writeOutput(w))
	b.checkTemplate(w.op.Template, b.writeTemplateNames(w))
}

// add offers the columns that callers may write.
func (w *write) add(in *schema) []WriteColumn {
	var columns []WriteColumn
	for _, v := range w.values {
		columns = append(columns, v.plan)
		in.Properties.add(v.plan.Argument, v.schema)
		if v.plan.Required {
			in.Required = append(in.Required, v.plan.Argument)
		}
	}
	return columns
}

// addressed offers what says which row, or which rows: the key and the guard,
// or filters.
func (b *tableTool) addressed(in *schema, w *write) {
	if w.many != nil {
		b.addFilters(in, w.many.Filters)
		return
	}
	b.addKey(in)
	if w.guard == nil {
		return
	}
	c := b.rel.column(w.guard.Column.Name)
	v := b.ix.typeOf(c.Type)
	s := bounded(v.input())
	if w.guard.Column.Nullable {
		s = s.orNull()
	}
	s.Description = sentence("The row's "+c.Name+" exactly as last read: if it is another by now, nothing is written", v.hint(), c.Comment)
	in.Properties.add(w.guard.Argument, s)
	in.Required = append(in.Required, w.guard.Argument)
}

// createdKey is the key of a new row, where it can be read back.
func (b *tableTool) createdKey() []Column {
	if len(b.columns) == 0 {
		return nil
	}
	for _, k := range b.key {
		if !b.allMay(b.rel.column(k.Name), CommandSelect) {
			return nil
		}
	}
	return b.key
}

func (b *tableTool) writeOutput(w *write) *schema {
	switch {
	case w.many != nil:
		out := outputObject()
		out.Properties.add("affected", &schema{Type: "integer"})
		out.Properties.add("items", &schema{Type: "array", Items: b.rowSchema()})
		out.Properties.add("truncated", &schema{Type: "boolean"})
		out.Required = []string{"affected", "items", "truncated"}
		return out
	case len(b.columns) == 0:
		out := outputObject()
		out.Properties.add("ok", &schema{Type: "boolean"})
		return out
	}
	return b.rowSchema()
}

func (b *tableTool) writeTemplateNames(w *write) templateNames {
	switch {
	case w.many != nil:
		return templateNames{values: []string{"affected", "truncated"}, items: columnNames(b.columns), section: true}
	case len(b.columns) == 0:
		return templateNames{values: []string{"ok"}}
	}
	return rowTemplateNames(b.columns)
}
