package surfaces

import (
	"slices"
	"strings"
)

// embedOf is an embed and the relation whose rows it goes into.
type embedOf struct {
	from Relation
	Embed
}

// embedsOf are the embeds of all tools.
func embedsOf(c *Compiled) []embedOf {
	var all []embedOf
	for _, t := range toolsOf(c) {
		for _, e := range t.embeds() {
			all = append(all, embedOf{from: t.Relation(), Embed: e})
		}
	}
	return all
}

func (t *Tool) embeds() []Embed {
	switch {
	case t.List != nil:
		return t.List.Embeds
	case t.Get != nil:
		return t.Get.Embeds
	}
	return nil
}

// links tells where a foreign key that an embed goes over is gone, or leads
// elsewhere.
func (m *mover) links(c *Compiled) {
	told := map[string]bool{}
	for _, e := range embedsOf(c) {
		old, ok := m.was.linkOf(e.from, e.Embed)
		if !ok {
			continue // was never there: nothing to compare
		}
		name := word(m.was.shown(e.from.Schema, e.from.Name))
		before, after := old.words(), ""
		if now, ok := m.is.linkOf(e.from, e.Embed); ok {
			after = now.words()
			m.joined(e, now)
		}
		switch key := name + " " + before; {
		case before == after || told[key]:
		case after == "":
			told[key] = true
			m.add(name, "the foreign key %s, which says what %s is, is gone", word(old.key.Name), word(e.Name))
		default:
			told[key] = true
			m.add(name, "the foreign key %s (%s) became (%s)", word(old.key.Name), before, after)
		}
	}
}

// joined tells of rights on the columns that join two tables, which a caller
// reads without their being returned.
func (m *mover) joined(e embedOf, l link) {
	for _, side := range []struct {
		on      Relation
		columns []string
	}{{e.from, l.near}, {e.Relation, l.far}} {
		key := side.on.Schema + "." + side.on.Name
		was, is := m.was.relations[key], m.is.relations[key]
		for _, name := range side.columns {
			if old, now := was.column(name), is.column(name); old != nil && now != nil {
				m.rights(word(m.was.shown(side.on.Schema, side.on.Name))+"."+word(name), "read it", old.Select, now.Select)
			}
		}
	}
}

func (l link) words() string {
	many := map[bool]string{true: "many", false: "one"}[l.many]
	return word(strings.Join(l.near, ", ")) + " to " + many + " by " + word(strings.Join(l.far, ", "))
}

// composite compares the attributes of a composite type, once.
func (m *mover) composite(key, name string) {
	old, now := m.was.composites[key], m.is.composites[key]
	if m.types[key] || len(old) == 0 || len(now) == 0 {
		return
	}
	if m.types == nil {
		m.types = map[string]bool{}
	}
	m.types[key] = true
	a, b := m.was.attributesOf(old), m.is.attributesOf(now)
	if a != b {
		m.add(name, "its attributes (%s) became (%s)", a, b)
	}
	for _, attribute := range old {
		m.labels(attribute.Type)
	}
}

func (ix *index) attributesOf(attributes []Attribute) string {
	list := make([]string, len(attributes))
	for i, a := range attributes {
		list[i] = word(a.Name) + " " + ix.typeName(a.Type)
	}
	return strings.Join(list, ", ")
}

// onceEach keeps each line once, in the order it was told first.
func onceEach(lines []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(lines, func(line string) bool {
		again := seen[line]
		seen[line] = true
		return again
	})
}
