package surfaces

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// moves lists what a compiled surface uses and two snapshots say differently,
// by object.
func moves(before, after *Snapshot, c *Compiled) []string {
	m := &mover{was: newIndex(before), is: newIndex(after), roles: callers(c)}
	if a, b := m.was.defaultSchema(), m.is.defaultSchema(); a != b {
		m.add("schemas", "the Data API's default schema %s became %s", word(a), word(b))
	}
	// Above the largest page the cap changes nothing.
	if a, b := min(before.MaxRows, MaxLimit+1), min(after.MaxRows, MaxLimit+1); a != b && slices.ContainsFunc(readersOf(c), func(t Tool) bool { return t.List != nil }) {
		m.add("max_rows", "%d became %d", before.MaxRows, after.MaxRows)
	} else if before.MaxRows != after.MaxRows && slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.RPC != nil && t.RPC.Returns.MaxRows > 0 }) {
		m.add("max_rows", "%d became %d", before.MaxRows, after.MaxRows)
	}
	relations, functions := touches(c)
	m.links(c)
	for _, key := range slices.Sorted(maps.Keys(relations)) {
		m.relation(key, relations[key])
	}
	m.writes(c)
	for _, key := range slices.Sorted(maps.Keys(functions)) {
		m.function(key)
	}
	m.buckets(c)
	return onceEach(m.lines)
}

// touches are the columns of each relation (schema.name) that plans use, and
// whether they are read, and the functions.
func touches(c *Compiled) (relations map[string]map[string]bool, functions map[string]bool) {
	relations, functions = map[string]map[string]bool{}, map[string]bool{}
	use := func(r Relation, columns ...Column) {
		key := r.Schema + "." + r.Name
		if relations[key] == nil {
			relations[key] = map[string]bool{}
		}
		for _, column := range columns {
			relations[key][column.Name] = true
		}
	}
	for _, t := range readersOf(c) {
		switch {
		case t.List != nil:
			use(t.List.Relation, slices.Concat(t.List.Columns, t.List.Key)...)
			for _, f := range t.List.Filters {
				use(t.List.Relation, f.Column)
			}
			if t.List.Search != nil {
				use(t.List.Relation, t.List.Search.Columns...)
			}
		case t.Get != nil:
			use(t.Get.Relation, slices.Concat(t.Get.Columns, t.Get.Key)...)
		case t.RPC != nil:
			functions[t.RPC.Relation.Schema+"."+t.RPC.Relation.Name] = true
		case t.Function != nil, t.Files != nil, t.ReadFile != nil, t.Upload != nil: // nothing of the database
		case t.onDatabase():
			use(t.Relation(), t.writing().read()...)
		}
	}
	for _, e := range embedsOf(c) {
		use(e.Relation, e.Columns...)
		for _, o := range e.Order {
			use(e.Relation, o.Column)
		}
	}
	for _, u := range writtenBy(c) {
		key := u.on.Schema + "." + u.on.Name
		for name := range u.columns {
			relations[key][name] = relations[key][name] || false
		}
	}
	for _, f := range called(c) {
		functions[f.Schema+"."+f.Name] = true
	}
	return relations, functions
}

// callers are the database roles that run a surface's tools, and what Chumbo
// itself calls for it.
func callers(c *Compiled) []string {
	var roles []string
	if c.Access.users() {
		roles = slices.Clone(admitted(c.Access))
	}
	if c.Access.Keys != nil || slices.ContainsFunc(readersOf(c), func(t Tool) bool { return c.Access.anon(&t) }) {
		roles = append(roles, "anon")
	}
	return roles
}

// mover collects what moved.
type mover struct {
	was, is *index
	roles   []string
	enums   map[string]bool // told
	types   map[string]bool // likewise, composite
	lines   []string
}

func (m *mover) add(object, format string, args ...any) {
	m.lines = append(m.lines, object+": "+fmt.Sprintf(format, args...))
}

func (m *mover) relation(key string, columns map[string]bool) {
	old, now := m.was.relations[key], m.is.relations[key]
	if old == nil {
		return // was never in the snapshot: nothing to compare
	}
	name := word(m.was.shown(old.Schema, old.Name))
	if now == nil {
		m.add(name, "is gone")
		return
	}
	if old.Kind != now.Kind {
		m.add(name, "a %s became a %s", strings.ReplaceAll(old.Kind, "_", " "), strings.ReplaceAll(now.Kind, "_", " "))
	}
	if old.RLS != now.RLS {
		m.add(name, "Row Level Security is %s now", map[bool]string{true: "on", false: "off"}[now.RLS])
	}
	if old.SecurityInvoker != now.SecurityInvoker {
		m.add(name, "runs with the rights of its %s now", map[bool]string{true: "caller", false: "owner"}[now.SecurityInvoker])
	}
	if !slices.Equal(old.PrimaryKey, now.PrimaryKey) {
		m.add(name, "primary key (%s) became (%s)", word(strings.Join(old.PrimaryKey, ", ")), word(strings.Join(now.PrimaryKey, ", ")))
	}
	m.comment(name, old.Comment, now.Comment)
	m.rights(name, "use its schema", m.was.usage[old.Schema], m.is.usage[now.Schema])
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		m.column(name+"."+word(column), old.column(column), now.column(column), columns[column])
	}
}

func (m *mover) column(name string, old, now *ColumnSchema, read bool) {
	if old == nil {
		return
	}
	if now == nil {
		m.add(name, "is gone")
		return
	}
	m.typed(name, "type", old.Type, now.Type)
	if old.NotNull != now.NotNull {
		m.add(name, "%s", map[bool]string{true: "is never null now", false: "may be null now"}[now.NotNull])
	}
	m.comment(name, old.Comment, now.Comment)
	if read {
		m.rights(name, "read it", old.Select, now.Select)
	}
}

func (m *mover) function(key string) {
	old, now := m.was.functions[key], m.is.functions[key]
	if len(old) != 1 {
		return // what was published called one function
	}
	f := old[0]
	name := word(m.was.shown(f.Schema, f.Name)) + "()"
	switch {
	case len(now) == 0:
		m.add(name, "is gone")
		return
	case len(now) > 1:
		m.add(name, "there are %d functions of that name now", len(now))
		return
	}
	g := now[0]
	if a, b := m.was.argumentsOf(f), m.is.argumentsOf(g); a != b {
		m.add(name, "arguments (%s) became (%s)", a, b)
	}
	if a, b := m.was.returnsOf(f.Returns), m.is.returnsOf(g.Returns); a != b {
		m.add(name, "returns %s became %s", a, b)
	}
	if f.Volatility != g.Volatility {
		m.add(name, "%s became %s", f.Volatility, g.Volatility)
	}
	if f.SecurityDefiner != g.SecurityDefiner {
		m.add(name, "runs with the rights of its %s now", map[bool]string{true: "owner", false: "caller"}[g.SecurityDefiner])
	}
	m.comment(name, f.Comment, g.Comment)
	m.rights(name, "use its schema", m.was.usage[f.Schema], m.is.usage[g.Schema])
	m.rights(name, "execute it", f.Execute, g.Execute)
	for _, t := range typesOf(f) {
		m.labels(t)
	}
}

// typed compares a type, and the labels of one that stayed.
func (m *mover) typed(name, what string, old, now TypeRef) {
	if a, b := m.was.typeName(old), m.is.typeName(now); a != b {
		m.add(name, "%s %s became %s", what, a, b)
		return
	}
	m.labels(old)
}

// labels compares an enum, once.
func (m *mover) labels(t TypeRef) {
	for t.Base != nil {
		t = *t.Base
	}
	key := t.Schema + "." + t.Name
	m.composite(key, word(m.was.shown(t.Schema, t.Name)))
	old, isEnum := m.was.enums[key]
	now, still := m.is.enums[key]
	if !isEnum || !still || m.enums[key] {
		return
	}
	if m.enums == nil {
		m.enums = map[string]bool{}
	}
	m.enums[key] = true
	name := word(m.was.shown(t.Schema, t.Name))
	gone, added := without(old, now), without(now, old)
	if len(gone) > 0 {
		m.add(name, "no longer has %s", wordList(gone))
	}
	if len(added) > 0 {
		m.add(name, "also has %s", wordList(added))
	}
	if len(gone) == 0 && len(added) == 0 && !slices.Equal(old, now) {
		m.add(name, "its labels are in another order")
	}
}

func (m *mover) comment(name, old, now string) {
	if old != now {
		m.add(name, "its comment changed")
	}
}

// rights compares what the roles that run the surface may do, of those that
// both snapshots know.
func (m *mover) rights(name, what string, old, now []string) {
	for _, role := range m.roles {
		if !m.was.known[role] || !m.is.known[role] {
			continue
		}
		switch had, has := slices.Contains(old, role), slices.Contains(now, role); {
		case had && !has:
			m.add(name, "%s may not %s any more", word(role), what)
		case !had && has:
			m.add(name, "%s may %s now", word(role), what)
		}
	}
}

func (ix *index) typeName(t TypeRef) string {
	name := t.Name
	if t.Schema != catalogSchema {
		name = ix.shown(t.Schema, t.Name)
	}
	if t.Array {
		name += "[]"
	}
	if t.Base != nil {
		name += " (" + ix.typeName(*t.Base) + ")"
	}
	return word(name)
}

func (ix *index) argumentsOf(f *FunctionSchema) string {
	list := make([]string, len(f.Arguments))
	for i, a := range f.Arguments {
		list[i] = strings.TrimSpace(word(a.Name) + " " + ix.typeName(a.Type))
		if a.Variadic {
			list[i] = "variadic " + list[i]
		}
		if a.HasDefault {
			list[i] += " default"
		}
	}
	return strings.Join(list, ", ")
}

func (ix *index) returnsOf(r FunctionReturns) string {
	if r.Void {
		return "nothing"
	}
	s := ix.typeName(r.Type)
	if r.Set {
		s = "setof " + s
	}
	if len(r.Columns) == 0 {
		return s
	}
	columns := make([]string, len(r.Columns))
	for i, a := range r.Columns {
		columns[i] = word(a.Name) + " " + ix.typeName(a.Type)
	}
	return s + " (" + strings.Join(columns, ", ") + ")"
}

func typesOf(f *FunctionSchema) []TypeRef {
	var types []TypeRef
	if !f.Returns.Row { // of a row, its columns are what counts
		types = append(types, f.Returns.Type)
	}
	for _, a := range f.Arguments {
		types = append(types, a.Type)
	}
	for _, a := range f.Returns.Columns {
		types = append(types, a.Type)
	}
	return types
}
