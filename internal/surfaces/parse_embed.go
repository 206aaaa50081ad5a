package surfaces

import (
	"regexp"
)

// Bounds of embeds.
const (
	maxEmbeds         = 8
	DefaultEmbedLimit = 5
	MaxEmbedLimit     = 50
)

// embedName is what is safe as a key in rows and as a prefix in requests.
var embedName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,62}$`)

// embeds reads a mapping of names to related tables.
func (r *reader) embeds(m mapping) embedSpecs {
	n, at, ok := m.get("embed")
	if !ok {
		return nil
	}
	names, ok := r.raw(n, at, "embed")
	if !ok {
		return nil
	}
	var embeds embedSpecs
	for _, name := range names.names {
		e := names.entries[name]
		if !embedName.MatchString(name) {
			r.errorf(e.key, "%s cannot be the name of an embed (letters, digits and _ only, not a digit first, at most 63): it becomes a key of every row", quoteName(name))
			continue
		}
		if s, ok := r.embed(Text{Value: name, at: e.key}, e); ok {
			embeds = append(embeds, s)
		}
	}
	if len(embeds) > maxEmbeds {
		r.errorf(at, "%d embeds; at most %d", len(embeds), maxEmbeds)
	}
	return embeds
}

func (r *reader) embed(name Text, e entry) (EmbedSpec, bool) {
	m, ok := r.mapping(e.value, e.at, "an embed", embedKeys)
	if !ok {
		return EmbedSpec{}, false
	}
	s := EmbedSpec{Name: name, at: e.key, limit: e.at}
	if s.Table, ok = m.text("table", textRule{max: 200, oneLine: true}); !ok {
		if !m.given("table") {
			r.errorf(e.key, "table is missing: name the table whose rows go into %s", quoteName(name.Value))
		}
		return s, false
	}
	s.Via, _ = m.text("via", ruleName)
	if m.given("kind") {
		s.Kind.Value = r.choice(m, "kind", embedOne, embedMany)
		s.Kind.at = m.entries["kind"].at
	}
	s.Columns = r.embedColumns(m)
	s.Order = r.orders(m)
	if len(s.Order) > 1 {
		r.errorf(s.Order[1].Column.at, "an embed has one order: leave this one out")
		s.Order = s.Order[:1]
	}
	if v, ok := m.integer("limit", 1, MaxEmbedLimit); ok {
		s.Limit, s.limit = v, m.entries["limit"].at
	}
	return s, true
}

func (r *reader) embedColumns(m mapping) []Text {
	texts, ok := m.list("columns", ruleName)
	if !m.given("columns") || ok && len(texts) == 0 {
		r.errorf(m.at, "columns is missing: list the columns to return of each row")
	}
	for _, t := range texts {
		if t.Value == "*" {
			r.errorf(t.at, "columns cannot be *: list the columns to return; nothing is exposed until chosen")
		}
	}
	return texts
}
