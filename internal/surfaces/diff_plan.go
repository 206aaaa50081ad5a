package surfaces

import (
	"slices"
	"strings"
)

// plan compares what a tool does, beyond what its schemas tell.
func (d *differ) plan(before, after *Tool) {
	switch {
	case before.kindOfPlan() != after.kindOfPlan():
		d.add(ChangeBehaviour, "%s now, it %s before", verb(after), verb(before))
	case before.List != nil:
		d.list(before, after)
	case before.Get != nil:
		d.target("reads", before.Get.Relation, after.Get.Relation)
		d.columns(before, after, before.Get.Columns, after.Get.Columns)
		d.embeds(before, after)
		d.key(before.Get.Key, after.Get.Key)
	case before.RPC != nil:
		d.call(before, after)
	case before.Function != nil:
		d.edge(before.Function, after.Function)
	case !before.onDatabase():
		d.files(before, after)
	case before.Operation() != "":
		d.write(before, after)
	}
}

// key compares what finds one row.
func (d *differ) key(before, after []Column) {
	if !sameJSON(before, after) {
		d.add(ChangeBehaviour, "a row is found by %s now, it was %s", word(strings.Join(columnNamesAll(after), ", ")), word(strings.Join(columnNamesAll(before), ", ")))
	}
}

func verb(t *Tool) string {
	if does := verbs[t.kindOfPlan()]; does != "" {
		return does + " " + t.Relation().shown()
	}
	return "does nothing"
}

var verbs = map[string]string{
	opList: "lists rows of", opGet: "reads one row of", opCreate: "adds rows to", opUpdate: "changes rows of", opDelete: "deletes rows of", opRPC: "calls",
	opFunction: "calls the Edge Function", opFiles: "lists files of", opRead: "reads a file of", opUpload: "uploads to",
}

func (r Relation) shown() string {
	if r.Profile == "" {
		return word(r.Name)
	}
	return word(r.Schema + "." + r.Name)
}

func (d *differ) target(does string, before, after Relation) {
	if before.Schema != after.Schema || before.Name != after.Name {
		d.add(ChangeBehaviour, "%s %s now, it was %s", does, after.shown(), before.shown())
	}
}

func (d *differ) list(before, after *Tool) {
	was, is := before.List, after.List
	d.target("lists rows of", was.Relation, is.Relation)
	d.columns(before, after, was.Columns, is.Columns)
	d.embeds(before, after)
	d.filters(was.Filters, is.Filters)
	d.search(was.Search, is.Search)
	d.orders(was, is)
	d.pages("rows", was.DefaultLimit, is.DefaultLimit, was.MaxLimit, is.MaxLimit)
	if was.DetailTool != is.DetailTool {
		d.add(ChangeBehaviour, "names %s for rows that are too large, it was %s", toolOrNone(is.DetailTool), toolOrNone(was.DetailTool))
	}
}

// pages compares how much of what a list holds is on one page: unless the call
// says otherwise, and at most.
func (d *differ) pages(what string, usualBefore, usualAfter, mostBefore, mostAfter int) {
	switch {
	case mostAfter < mostBefore:
		d.add(ChangeBreaks, "a page has at most %d %s now, it was %d; calls that ask for more are refused", mostAfter, what, mostBefore)
	case mostAfter > mostBefore:
		d.add(ChangeSafe, "a page may have %d %s now, it was %d", mostAfter, what, mostBefore)
	}
	if usualBefore != usualAfter {
		d.add(ChangeBehaviour, "a page has %d %s unless the call says otherwise, it was %d", usualAfter, what, usualBefore)
	}
}

func toolOrNone(name string) string {
	if name == "" {
		return "no tool"
	}
	return name
}

// columns compares what may be read of a row. Where both forms have an output
// schema, it has told which columns came and went, and their JSON types.
func (d *differ) columns(before, after *Tool, was, is []Column) {
	shown := len(before.Output) > 0 && len(after.Output) > 0
	for _, c := range was {
		if now, ok := columnNamed(is, c.Name); !ok {
			if !shown || c.Hidden {
				d.add(ChangeBehaviour, "column %s is not read any more", word(c.Name))
			}
		} else if c != now {
			d.column(c, now, shown)
		}
	}
	for _, c := range is {
		if _, ok := columnNamed(was, c.Name); !ok && (!shown || c.Hidden) {
			d.add(ChangeBehaviour, "column %s is read now", word(c.Name))
		}
	}
	if a, b := columnNames(was), columnNames(is); !slices.Equal(a, b) && len(without(a, b)) == 0 && len(without(b, a)) == 0 {
		d.add(ChangeBehaviour, "the columns come in another order")
	}
}

// column compares one column. What an output schema shows is told there.
func (d *differ) column(was, is Column, shown bool) {
	name, told := word(is.Name), shown && !was.Hidden && !is.Hidden
	if was.SQLType != is.SQLType && (!told || was.JSON == is.JSON) {
		d.add(ChangeBehaviour, "column %s is %s now, it was %s", name, word(is.SQLType), word(was.SQLType))
	}
	if was.Hidden != is.Hidden && !shown {
		d.add(ChangeBehaviour, "column %s is %s now", name, map[bool]string{true: "used but not returned", false: "returned"}[is.Hidden])
	}
	if was.Shorten != is.Shorten {
		d.add(ChangeBehaviour, "column %s %s", name, map[bool]string{true: "may be shortened now", false: "is no longer shortened"}[is.Shorten])
	}
	if was.Nullable != is.Nullable && !told {
		d.add(ChangeBehaviour, "column %s %s", name, map[bool]string{true: "may be null now", false: "is never null now"}[is.Nullable])
	}
}

func columnNamed(columns []Column, name string) (Column, bool) {
	i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return Column{}, false
	}
	return columns[i], true
}

// filters compares what arguments of the same name narrow.
func (d *differ) filters(before, after []Filter) {
	for _, was := range before {
		i := slices.IndexFunc(after, func(f Filter) bool { return f.Argument == was.Argument })
		if i < 0 {
			continue // told by the schema
		}
		if is := after[i]; was.Column.Name != is.Column.Name || was.Operator != is.Operator {
			d.add(ChangeBehaviour, "argument %s filters %s by %s now, it was %s by %s", word(is.Argument), word(is.Column.Name), is.Operator, word(was.Column.Name), was.Operator)
		} else if was.Column.SQLType != is.Column.SQLType {
			d.add(ChangeBehaviour, "argument %s filters a column of type %s now, it was %s", word(is.Argument), word(is.Column.SQLType), word(was.Column.SQLType))
		}
	}
}

func (d *differ) orders(before, after *ListPlan) {
	if len(before.Orders) == 0 || len(after.Orders) == 0 {
		return
	}
	if was, is := before.Orders[0], after.Orders[0]; was.Name != is.Name {
		d.add(ChangeBehaviour, "rows come by %s unless the call says otherwise, it was %s", word(is.Name), word(was.Name))
	}
	for _, was := range before.Orders {
		i := slices.IndexFunc(after.Orders, func(o Order) bool { return o.Name == was.Name })
		if i >= 0 && !slices.EqualFunc(was.Keys, after.Orders[i].Keys, sameTerm) {
			d.add(ChangeBehaviour, "the order %s sorts otherwise; pages begun before cannot be continued", word(was.Name))
		}
	}
}

func sameTerm(a, b OrderTerm) bool {
	return a.Column.Name == b.Column.Name && a.Desc == b.Desc && a.NullsFirst == b.NullsFirst
}

// call compares what a function tool does.
func (d *differ) call(before, after *Tool) {
	was, is := before.RPC, after.RPC
	d.target("calls", was.Relation, is.Relation)
	if was.ReadOnly != is.ReadOnly {
		d.add(ChangeBehaviour, "%s", map[bool]string{true: "the function only reads now", false: "the function may write now"}[is.ReadOnly])
	}
	for _, a := range was.Arguments {
		i := slices.IndexFunc(is.Arguments, func(b Argument) bool { return b.Name == a.Name })
		if i >= 0 && is.Arguments[i].SQLType != a.SQLType {
			d.add(ChangeBehaviour, "argument %s is %s in the database now, it was %s", word(a.Name), word(is.Arguments[i].SQLType), word(a.SQLType))
		}
	}
	if was.Returns.Kind != is.Returns.Kind {
		d.add(ChangeBehaviour, "the function returns %s now, it was %s", returnsWords[is.Returns.Kind], returnsWords[was.Returns.Kind])
		return
	}
	d.columns(before, after, was.Returns.Columns, is.Returns.Columns)
	if x, y := was.Returns.Scalar, is.Returns.Scalar; x != nil && y != nil && *x != *y {
		d.column(*x, *y, len(before.Output) > 0 && len(after.Output) > 0)
	}
}

var returnsWords = map[string]string{
	ReturnsVoid: "nothing", ReturnsScalar: "a value", ReturnsRow: "one row", ReturnsRows: "rows", ReturnsScalars: "values",
}
