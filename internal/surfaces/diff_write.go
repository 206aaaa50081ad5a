package surfaces

import (
	"slices"
	"strings"
)

// writing is what the plans that write have in common.
type writing struct {
	relation     Relation
	columns, key []Column
	values       []WriteColumn
	set          []SetColumn
	guard        *Guard
	dedupe       *Dedupe
	many         *Many
}

// writing is what a tool writes; nil for one that only reads, or calls a
// function.
func (t *Tool) writing() *writing {
	switch {
	case t.Create != nil:
		p := t.Create
		return &writing{relation: p.Relation, columns: p.Columns, key: p.Key, values: p.Values, set: p.Set, dedupe: p.Dedupe}
	case t.Update != nil:
		p := t.Update
		return &writing{relation: p.Relation, columns: p.Columns, key: p.Key, values: p.Values, set: p.Set, guard: p.Guard, many: p.Many}
	case t.Delete != nil:
		p := t.Delete
		return &writing{relation: p.Relation, columns: p.Columns, key: p.Key, guard: p.Guard, many: p.Many}
	}
	return nil
}

// write compares what a tool writes, beyond what its schemas tell.
func (d *differ) write(before, after *Tool) {
	was, is := before.writing(), after.writing()
	d.target(verbs[after.Operation()], was.relation, is.relation)
	d.columns(before, after, was.columns, is.columns)
	if after.Create == nil && was.many == nil && is.many == nil {
		d.key(was.key, is.key)
	}
	d.writtenValues(was.values, is.values)
	d.set(was.set, is.set)
	d.guard(was.guard, is.guard)
	d.dedupe(was.dedupe, is.dedupe)
	d.many(was.many, is.many)
}

// writtenValues compares what arguments of the same name write.
func (d *differ) writtenValues(before, after []WriteColumn) {
	for _, was := range before {
		i := slices.IndexFunc(after, func(v WriteColumn) bool { return v.Argument == was.Argument })
		if i < 0 {
			continue // told by the schema
		}
		switch is := after[i]; {
		case was.Column.Name != is.Column.Name:
			d.add(ChangeBehaviour, "argument %s writes column %s now, it was %s", word(is.Argument), word(is.Column.Name), word(was.Column.Name))
		case was.Column.SQLType != is.Column.SQLType:
			d.add(ChangeBehaviour, "argument %s writes a column of type %s now, it was %s", word(is.Argument), word(is.Column.SQLType), word(was.Column.SQLType))
		}
	}
}

// set compares what is set for callers.
func (d *differ) set(before, after []SetColumn) {
	find := func(list []SetColumn, name string) *SetColumn {
		i := slices.IndexFunc(list, func(s SetColumn) bool { return s.Column.Name == name })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	for _, was := range before {
		if find(after, was.Column.Name) == nil {
			d.add(ChangeBehaviour, "column %s is not set for the caller any more", word(was.Column.Name))
		}
	}
	for _, is := range after {
		was := find(before, is.Column.Name)
		switch {
		case was == nil:
			d.add(ChangeBehaviour, "column %s is set now, from %s", word(is.Column.Name), is.From.words())
		case !sameJSON(was.From, is.From):
			d.add(ChangeBehaviour, "column %s is set from %s now, it was %s", word(is.Column.Name), is.From.words(), was.From.words())
		case was.Column.SQLType != is.Column.SQLType:
			d.add(ChangeBehaviour, "column %s, which is set for the caller, is %s now, it was %s", word(is.Column.Name), word(is.Column.SQLType), word(was.Column.SQLType))
		}
	}
}

// words say where a value comes from.
func (f ValueFrom) words() string {
	switch {
	case len(f.Claim) > 0:
		return "the claim " + word(strings.Join(f.Claim, "."))
	case len(f.Context) > 0:
		return "the context's " + word(strings.Join(f.Context, "."))
	}
	return "the value " + word(string(f.Value))
}

func (d *differ) guard(was, is *Guard) {
	switch {
	case was == nil && is == nil:
	case was == nil:
		d.add(ChangeBehaviour, "a write loses to a change that came first now: %s must be as last read", word(is.Column.Name))
	case is == nil:
		d.add(ChangeBehaviour, "a write no longer loses to a change that came first")
	case was.Column.Name != is.Column.Name || was.Column.SQLType != is.Column.SQLType:
		d.add(ChangeBehaviour, "the version is %s (%s) now, it was %s (%s)", word(is.Column.Name), word(is.Column.SQLType), word(was.Column.Name), word(was.Column.SQLType))
	case was.Bump != is.Bump:
		d.add(ChangeBehaviour, "%s moves on by %s now, it was %s", word(is.Column.Name), bumpWord(is.Bump), bumpWord(was.Bump))
	}
}

func bumpWord(bump string) string {
	if bump == "" {
		return "the database alone"
	}
	return bump
}

func (d *differ) dedupe(was, is *Dedupe) {
	switch {
	case was == nil && is == nil:
	case was == nil:
		d.add(ChangeBehaviour, "identical calls within ten minutes make one row now (%s)", word(is.Column.Name))
	case is == nil:
		d.add(ChangeBehaviour, "identical calls make a row each now")
	case was.Column.Name != is.Column.Name:
		d.add(ChangeBehaviour, "identical calls are told by %s now, it was %s", word(is.Column.Name), word(was.Column.Name))
	case !sameJSON(was, is):
		d.add(ChangeBehaviour, "identical calls are found by other keys of %s", word(is.Column.Name))
	}
}

func (d *differ) many(was, is *Many) {
	switch {
	case was == nil && is == nil:
	case was == nil:
		d.add(ChangeBehaviour, "writes every row that matches its filters now, %d at most; it was one row by its key", is.MaxAffected)
	case is == nil:
		d.add(ChangeBehaviour, "writes one row by its key now; it was every row that matches its filters")
	default:
		d.filters(was.Filters, is.Filters)
		switch {
		case is.MaxAffected < was.MaxAffected:
			d.add(ChangeBreaks, "a call writes at most %d rows now, it was %d; calls that match more are refused", is.MaxAffected, was.MaxAffected)
		case is.MaxAffected > was.MaxAffected:
			d.add(ChangeBehaviour, "a call may write %d rows now, it was %d", is.MaxAffected, was.MaxAffected)
		}
	}
}
