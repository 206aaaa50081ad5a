package surfaces

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxMaxAffected is the most rows that one call may change.
const MaxMaxAffected = 1000

// The operations that the keys about writes belong to.
var (
	writeOperations  = []string{opCreate, opUpdate}
	guardOperations  = []string{opUpdate, opDelete}
	dedupeOperations = []string{opCreate}
)

// changes reports whether an operation writes.
func changes(operation string) bool {
	return operation == opCreate || operation == opUpdate || operation == opDelete
}

// reads reports whether the entry has an operation that only reads.
func (s *TableSpec) reads() bool {
	return slices.ContainsFunc(s.Operations, func(t Text) bool { return !changes(t.Value) })
}

// writes reads what belongs to the operations that write.
func (r *reader) writes(m mapping, s *TableSpec) {
	r.split(m, s, "write", writeOperations, func(n *yaml.Node, at place, what string) func(*OperationSpec) {
		specs := r.writeSpecs(n, at, what)
		return func(o *OperationSpec) { o.Write = specs }
	})
	r.split(m, s, "set", writeOperations, func(n *yaml.Node, at place, what string) func(*OperationSpec) {
		specs := r.setSpecs(n, at, what)
		return func(o *OperationSpec) { o.Set = specs }
	})
	r.maxAffected(m, s)
	r.guard(m, s)
	if t, ok := m.text("dedupe", ruleName); ok {
		for _, o := range r.belonging(m, s, "dedupe", dedupeOperations) {
			o.Dedupe = t
		}
	}
}

// belonging are the operations of the entry that a key counts for. One that
// counts for none of them is refused: it would do nothing.
func (r *reader) belonging(m mapping, s *TableSpec, key string, operations []string) []*OperationSpec {
	var list []*OperationSpec
	for _, o := range s.By {
		if slices.Contains(operations, o.Operation) {
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		r.errorf(m.entries[key].key, "%s belongs to the operation %s, which this table does not offer: add it to operations, or leave %s out", key, strings.Join(operations, " or "), key)
	}
	return list
}

// split reads a key whose value may itself be a mapping: it is one by
// operation only when every key is an operation, of this entry or of others.
func (r *reader) split(m mapping, s *TableSpec, key string, operations []string, read func(n *yaml.Node, at place, what string) func(*OperationSpec)) {
	n, at, ok := m.get(key)
	if !ok {
		return
	}
	names := keysOf(n)
	other := func(name string) bool { return !slices.Contains(operationKeys.known, name) }
	if !isMapping(n) || len(names) == 0 || slices.ContainsFunc(names, other) {
		list := r.belonging(m, s, key, operations)
		if len(list) == 0 {
			return
		}
		set := read(n, at, key)
		for _, o := range list {
			set(o)
		}
		return
	}
	sub, _ := r.raw(n, at, key)
	for _, name := range sub.names {
		if !slices.Contains(operations, name) {
			r.errorf(sub.entries[name].key, "%s belongs to %s, not to %s", key, strings.Join(operations, " and "), name)
			continue
		}
		o := r.operationOf(sub, name, s)
		if value, valueAt, ok := sub.get(name); ok && o != nil {
			read(value, valueAt, key+"."+name)(o)
		}
	}
}

// writeSpecs reads columns that callers may write: names, or names with
// descriptions and limits. It never returns nil: nothing may be written is
// something else than nothing is said.
func (r *reader) writeSpecs(n *yaml.Node, at place, what string) writeSpecs {
	specs := writeSpecs{}
	if !isMapping(n) {
		names, _ := r.texts(n, at, what, ruleName)
		for _, name := range names {
			specs = append(specs, WriteSpec{ArgumentSpec: ArgumentSpec{Name: name, at: name.at}})
		}
		return specs
	}
	m, _ := r.raw(n, at, what)
	for _, name := range m.names {
		e := m.entries[name]
		s := WriteSpec{ArgumentSpec: ArgumentSpec{Name: Text{Value: name, at: e.key}, at: e.at}}
		switch {
		case isNothing(e.value):
			s.at = e.key // offered as it is
		case isScalar(e.value):
			s.Description, _ = r.scalar(e.value, e.at, "a description", ruleDescription)
		default:
			if sub, ok := r.mapping(e.value, e.at, "a column of "+what, writeKeys); ok {
				s.Required, _ = sub.boolean("required")
				s.Null, _ = sub.boolean("null")
				r.limits(sub, &s.ArgumentSpec, "min_length", "max_length", "max_items")
			}
		}
		specs = append(specs, s)
	}
	return specs
}

// setSpecs reads columns that are set for the caller.
func (r *reader) setSpecs(n *yaml.Node, at place, what string) setSpecs {
	m, ok := r.raw(n, at, what)
	if !ok {
		return nil
	}
	if len(m.names) == 0 {
		r.errorf(at, "%s is an empty mapping: name a column and where its value comes from, or leave it out", what)
	}
	var specs setSpecs
	for _, name := range m.names {
		value, valueAt, ok := m.get(name)
		if !ok {
			continue
		}
		s := SetSpec{Column: Text{Value: name, at: m.entries[name].key}, at: valueAt}
		if r.source(value, &s) {
			specs = append(specs, s)
		}
	}
	return specs
}

const sources = "write claims.sub (a claim of the caller), context.team (of what the function context answers), or { value: … } (a constant)"

// source reads where the value of a set column comes from.
func (r *reader) source(n *yaml.Node, s *SetSpec) bool {
	if isScalar(n) {
		t, ok := r.scalar(n, s.at, "where a value comes from", textRule{max: 300, oneLine: true})
		if !ok {
			return false
		}
		from, path, found := strings.Cut(t.Value, ".")
		if !found || from != "claims" && from != "context" {
			r.errorf(s.at, "%s is not where a value comes from: %s", quoteName(t.Value), sources)
			return false
		}
		return s.take(from, r.dotted(Text{Value: path, at: t.at}, "the path"))
	}
	m, ok := r.mapping(n, s.at, "where a value comes from", setKeys)
	if !ok {
		return false
	}
	if len(n.Content) != 2 {
		r.errorf(s.at, "a column has one source: %s", sources)
		return false
	}
	for _, key := range []string{"claim", "context"} {
		if from, at, ok := m.get(key); ok {
			return s.take(key, r.path(from, at, key))
		}
	}
	value, at, ok := m.get("value")
	if !ok {
		return false
	}
	s.Value = r.constant(value, at, "value")
	return s.Value != nil
}

func (s *SetSpec) take(from string, path claimPath) bool {
	if from == "context" {
		s.Context = path
	} else {
		s.Claim = path
	}
	return path != nil
}

// constant reads any value as JSON.
func (r *reader) constant(n *yaml.Node, at place, what string) json.RawMessage {
	before := len(r.problems)
	v := r.jsonValue(n, at)
	if len(r.problems) > before {
		return nil
	}
	raw, err := marshal(v)
	if err != nil {
		r.errorf(at, "%s cannot be written as JSON", what)
		return nil
	}
	if len(raw) > MaxMeta {
		r.errorf(at, "%s is %d bytes of JSON; at most %d", what, len(raw), MaxMeta)
		return nil
	}
	return raw
}

// maxAffected reads how many rows a call may change: one number, or one by
// operation.
func (r *reader) maxAffected(m mapping, s *TableSpec) {
	const key = "max_affected"
	n, at, ok := m.get(key)
	if !ok {
		return
	}
	if !isMapping(n) {
		v, _ := m.integer(key, 1, MaxMaxAffected)
		for _, o := range r.belonging(m, s, key, guardOperations) {
			o.MaxAffected, o.maxAffected = v, at
		}
		return
	}
	sub := r.mappingByOperation(n, at, key, s)
	for _, name := range sub.names {
		if o := r.guarded(sub, name, key, s); o != nil {
			o.MaxAffected, _ = sub.integer(name, 1, MaxMaxAffected)
			o.maxAffected = sub.entries[name].at
		}
	}
}

// guarded is the operation of a mapping by operation, of those that change
// rows which are there.
func (r *reader) guarded(sub mapping, name, key string, s *TableSpec) *OperationSpec {
	o := r.operationOf(sub, name, s)
	if o != nil && !slices.Contains(guardOperations, name) {
		r.errorf(sub.entries[name].key, "%s belongs to %s, not to %s", key, strings.Join(guardOperations, " and "), name)
		return nil
	}
	return o
}

// guard reads the column whose last version a write needs. One for all
// operations counts for those that write one row.
func (r *reader) guard(m mapping, s *TableSpec) {
	const key = "guard"
	n, at, ok := m.get(key)
	if !ok {
		return
	}
	if !isMapping(n) {
		t, ok := r.scalar(n, at, key, ruleName)
		list := r.belonging(m, s, key, guardOperations)
		many := func(o *OperationSpec) bool { return o.maxAffected.line > 0 }
		if len(list) > 0 && !slices.ContainsFunc(list, func(o *OperationSpec) bool { return !many(o) }) {
			r.errorf(m.entries[key].key, "guard is about one row, and max_affected is given: leave one of the two out")
		}
		for _, o := range list {
			if ok && !many(o) {
				o.Guard = t
			}
		}
		return
	}
	sub := r.mappingByOperation(n, at, key, s)
	for _, name := range sub.names {
		o := r.guarded(sub, name, key, s)
		if o == nil {
			continue
		}
		if o.maxAffected.line > 0 {
			r.errorf(sub.entries[name].key, "guard is about one row, and max_affected is given for %s: leave one of the two out", name)
			continue
		}
		o.Guard, _ = sub.text(name, ruleName)
	}
}

// path reads names that lead to a value: with dots between them, or a list of
// names, which may then have dots of their own.
func (r *reader) path(n *yaml.Node, at place, what string) claimPath {
	if isMapping(n) {
		r.errorf(at, "%s must be names with a dot between them, or a list of names, not a mapping", what)
		return nil
	}
	if isScalar(n) {
		t, ok := r.scalar(n, at, what, textRule{max: 300, oneLine: true})
		if !ok {
			return nil
		}
		return r.dotted(t, what)
	}
	var path claimPath
	for i, item := range n.Content {
		t, ok := r.scalar(item, nodeAt(item, fmt.Sprintf("%s[%d]", at.path, i)), "a name of "+what, ruleName)
		if !ok {
			return nil
		}
		path = append(path, t.Value)
	}
	return r.checkClaim(path, at)
}

func (r *reader) dotted(t Text, what string) claimPath {
	if strings.ContainsAny(t.Value, "/:") {
		r.errorf(t.at, "%s is cut at its dots: write %s as a list of names, such as [%s]", quoteName(t.Value), what, quoteName(t.Value))
		return nil
	}
	return r.checkClaim(strings.Split(t.Value, "."), t.at)
}
