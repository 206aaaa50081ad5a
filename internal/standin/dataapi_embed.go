package standin

import (
	"slices"
	"strconv"
	"strings"
)

// link is how an embedded relation hangs on its parent.
type link struct {
	target   *relation
	name     string   // of the foreign key
	here     []string // columns of the parent
	there    []string // columns of the target
	many     bool
	oneToOne bool
}

func (l link) cardinality() string {
	switch {
	case l.many:
		return "one-to-many"
	case l.oneToOne:
		return "one-to-one"
	}
	return "many-to-one"
}

// findLink finds the one foreign key that an embedded relation's name and hint
// mean.
func (c *catalog) findLink(parent *relation, e *embedItem) (link, error) {
	var found []link
	for _, l := range c.links(parent) {
		if l.means(parent, e.relation, e.hint) {
			found = append(found, l)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return link{}, ambiguous(parent, e, found)
	}
	if target := c.relations[qualified{parent.schema, e.relation}]; parent.isView || (target != nil && target.isView) {
		return link{}, notImplemented("embedding of views")
	}
	searched := "Searched for a foreign key relationship between '" + parent.name + "' and '" + e.relation + "'"
	if e.hint != "" {
		searched += " using the hint '" + e.hint + "'"
	}
	return link{}, &apiError{
		status: 400, Code: "PGRST200",
		Message: "Could not find a relationship between '" + parent.name + "' and '" + e.relation + "' in the schema cache",
		Details: searched + " in the schema '" + parent.schema + "', but no matches were found.",
	}
}

// links are all foreign keys from or to a relation within its schema.
func (c *catalog) links(parent *relation) []link {
	var out []link
	for _, fk := range parent.foreign {
		target := c.relations[fk.target]
		if target == nil || target.schema != parent.schema {
			continue
		}
		out = append(out, link{target: target, name: fk.name, here: fk.from, there: fk.to, oneToOne: fk.oneToOne})
	}
	for _, other := range c.relations {
		if other.schema != parent.schema {
			continue
		}
		for _, fk := range other.foreign {
			if fk.target == parent.qualified {
				out = append(out, link{target: other, name: fk.name, here: fk.to, there: fk.from, many: !fk.oneToOne, oneToOne: fk.oneToOne})
			}
		}
	}
	slices.SortFunc(out, func(a, b link) int {
		return strings.Compare(a.name+a.cardinality(), b.name+b.cardinality())
	})
	return out
}

// means tells whether a link is meant by a name and a hint. Without a hint the
// name is that of the target, of the foreign key, or of the foreign key's one
// column; with one it is the target's, and the hint is the foreign key or one
// column of it. A table that points at itself means the many by its own name,
// where only the column can be the hint, and the one by the column; a unique
// column there links nothing.
func (l link) means(parent *relation, name, hint string) bool {
	single := func(columns []string, name string) bool { return len(columns) == 1 && columns[0] == name }
	if l.target == parent {
		switch {
		case l.oneToOne:
			return false
		case hint != "":
			return l.many && l.target.name == name && single(l.there, hint)
		case l.many:
			return l.target.name == name
		}
		return single(l.here, name)
	}
	if hint != "" {
		return l.target.name == name && (l.name == hint || single(l.here, hint) || single(l.there, hint))
	}
	return l.target.name == name || l.name == name || !l.many && single(l.here, name)
}

func ambiguous(parent *relation, e *embedItem, found []link) *apiError {
	var details []map[string]string
	var choices []string
	for _, l := range found {
		details = append(details, map[string]string{
			"cardinality":  l.cardinality(),
			"embedding":    parent.name + " with " + l.target.name,
			"relationship": l.name + " using " + parent.name + "(" + strings.Join(l.here, ", ") + ") and " + l.target.name + "(" + strings.Join(l.there, ", ") + ")",
		})
		choices = append(choices, "'"+l.target.name+"!"+l.name+"'")
	}
	return &apiError{
		status: 300, Code: "PGRST201",
		Message: "Could not embed because more than one relationship was found for '" + parent.name + "' and '" + e.relation + "'",
		Details: details,
		Hint: text("Try changing '" + e.relation + "' to one of the following: " + strings.Join(choices, ", ") +
			". Find the desired relationship in the 'details' key."),
	}
}

// embedding is an embedded relation of a select, ready for SQL.
type embedding struct {
	item  selectItem
	link  link
	alias string // of the join; its column a is the JSON or null
}

// embeddings resolves the embedded relations of a request, and refuses
// conditions on ones that are not selected.
func (c *catalog) embeddings(q *apiRequest, rel *relation) ([]embedding, error) {
	var out []embedding
	for _, item := range q.items {
		if item.embed == nil {
			continue
		}
		l, err := c.findLink(rel, item.embed)
		if err != nil {
			return nil, err
		}
		out = append(out, embedding{item: item, link: l, alias: "standin_e" + strconv.Itoa(len(out)+1)})
	}
	known := func(at string) bool { return at == "" || findEmbedding(out, at) != nil }
	for _, at := range paths(q) {
		if len(named(out, at)) > 1 {
			// PostgREST takes the first one that its last change put in front.
			return nil, notImplemented("a path that is one embed's alias and another one's relation")
		}
		if !known(at) {
			return nil, &apiError{
				status: 400, Code: "PGRST108", Message: "'" + at + "' is not an embedded resource in this request",
				Hint: text("Verify that '" + at + "' is included in the 'select' query parameter."),
			}
		}
	}
	return out, nil
}

func paths(q *apiRequest) []string {
	var all []string
	for at := range q.where {
		all = append(all, at)
	}
	for at := range q.order {
		all = append(all, at)
	}
	for at := range q.window {
		all = append(all, at)
	}
	slices.Sort(all)
	return all
}

// named are the embedded relations with that alias or that name.
func named(all []embedding, at string) []*embedding {
	var found []*embedding
	for i := range all {
		if all[i].item.name() == at || all[i].item.embed.relation == at {
			found = append(found, &all[i])
		}
	}
	return found
}

// findEmbedding is the first embedded relation with that alias or that name.
func findEmbedding(all []embedding, at string) *embedding {
	if found := named(all, at); len(found) > 0 {
		return found[0]
	}
	return nil
}

// at gives a map's value for an embedding under whichever of its names was
// used.
func at[T any](m map[string]T, e embedding) (value T, ok bool) {
	if value, ok = m[e.item.name()]; ok {
		return value, true
	}
	value, ok = m[e.item.embed.relation]
	return value, ok
}

// join is the lateral join of an embedding.
func (e embedding) join(b *statement, q *apiRequest, parent source, maxRows int) string {
	alias := e.link.target.name + "_1"
	inner := source{rel: e.link.target, from: quoted(e.link.target.schema, e.link.target.name) + " AS " + quoted(alias), alias: alias}
	var columns []string
	for _, item := range e.item.embed.items {
		columns = append(columns, inner.item(b, item))
	}
	var on []string
	for i := range e.link.here {
		on = append(on, quoted(alias, e.link.there[i])+" = "+quoted(parent.alias, e.link.here[i]))
	}
	conditions, _ := at(q.where, e)
	for _, c := range conditions {
		on = append(on, inner.condition(b, c))
	}
	order, _ := at(q.order, e)
	w, ok := at(q.window, e)
	if !ok {
		w = window{limit: -1}
	}
	if len(columns) == 0 {
		columns = []string{"1 AS one"}
	}
	rows := "SELECT " + strings.Join(columns, ", ") + " FROM " + inner.from + " WHERE " + strings.Join(on, " AND ") +
		inner.orderBy(b, order) + w.sql(b, maxRows)
	shape := "row_to_json(x)::jsonb"
	if e.link.many {
		shape = "json_agg(x)::jsonb"
	}
	join, joined := " LEFT JOIN LATERAL ", "true"
	if e.item.embed.inner {
		join, joined = " INNER JOIN LATERAL ", quoted(e.alias, "a")+" IS NOT NULL"
	}
	return join + "(SELECT " + shape + " AS a FROM (" + rows + ") x) AS " + quoted(e.alias) + " ON " + joined
}

// output is the embedding's column of a row; empty for an embed that selects
// nothing.
func (e embedding) output() string {
	if len(e.item.embed.items) == 0 {
		return ""
	}
	value := quoted(e.alias, "a")
	if e.link.many {
		value = "coalesce(" + value + ", '[]')"
	}
	return value + " AS " + quoted(e.item.name())
}
