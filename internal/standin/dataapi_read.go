package standin

import (
	"context"
	"strings"
)

// shape is a select over a source: columns and embeddings.
type shape struct {
	q          *apiRequest
	src        source
	embeddings []embedding
	maxRows    int
}

func (d *dataAPI) shape(q *apiRequest, src source) (shape, error) {
	embeddings, err := d.catalog.Load().embeddings(q, src.rel)
	return shape{q: q, src: src, embeddings: embeddings, maxRows: d.cfg.maxRows}, err
}

// list is the select list.
func (s shape) list(b *statement) string {
	var columns []string
	next := 0
	for _, item := range s.q.items {
		if item.embed == nil {
			columns = append(columns, s.src.item(b, item))
			continue
		}
		if out := s.embeddings[next].output(); out != "" {
			columns = append(columns, out)
		}
		next++
	}
	if len(columns) == 0 {
		return "1 AS one"
	}
	return strings.Join(columns, ", ")
}

// from is FROM with the joins.
func (s shape) from(b *statement) string {
	sql := " FROM " + s.src.from
	for _, e := range s.embeddings {
		sql += e.join(b, s.q, s.src, s.maxRows)
	}
	return sql
}

// where is the top level's conditions. One that names an embedded relation
// asks whether it is there.
func (s shape) where(b *statement) (string, error) {
	var parts []string
	for _, c := range s.q.where[""] {
		e := findEmbedding(s.embeddings, c.field.name)
		if c.group != "" || e == nil {
			parts = append(parts, s.src.condition(b, c))
			continue
		}
		isNull := c.value == "null"
		if c.operator != "is" || (!isNull && c.value != "not_null") {
			return "", &apiError{status: 400, Code: "PGRST120", Message: "Bad operator on the '" + c.field.name + "' embedded resource",
				Details: "Only is null or not is null filters are allowed on embedded resources"}
		}
		want := " IS NULL"
		if isNull == c.negate {
			want = " IS NOT NULL"
		}
		parts = append(parts, quoted(e.alias, "a")+want)
	}
	if len(parts) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(parts, " AND "), nil
}

// rows is the whole select of a page.
func (s shape) rows(b *statement) (string, error) {
	list, from := s.list(b), s.from(b)
	where, err := s.where(b)
	if err != nil {
		return "", err
	}
	return "SELECT " + list + from + where + s.src.orderBy(b, s.q.order[""]) + s.q.windowAt("").sql(b, s.maxRows), nil
}

// total counts the rows without limits, or is null when nobody asked.
func (s shape) total(b *statement) (string, error) {
	if s.q.prefer.count == "" {
		return "null::bigint", nil
	}
	from := s.from(b)
	where, err := s.where(b)
	if err != nil {
		return "", err
	}
	return "(SELECT count(*)" + from + where + ")", nil
}

// resultSQL is the outer select that every request ends in: total, page,
// body, and what SQL said about the response. rows and total are SQL.
func resultSQL(with, rows, total, body string) string {
	return "WITH " + with + " SELECT " + total + ", (SELECT count(*) FROM " + rows + "), (" + body + ")::text, " +
		"nullif(current_setting('response.status', true), ''), nullif(current_setting('response.headers', true), '')"
}

// jsonBody renders the rows of a CTE: a list, or its first object.
func jsonBody(rows string, a accept, single bool) string {
	list := "json_agg(r)"
	if a.stripNulls {
		list = "json_strip_nulls(json_agg(r))"
	}
	if single || a.singular {
		return "SELECT " + list + "->0 FROM " + rows + " r"
	}
	return "SELECT coalesce(" + list + ", '[]') FROM " + rows + " r"
}

func (d *dataAPI) read(ctx context.Context, q *apiRequest, rel *relation) (*apiAnswer, error) {
	s, err := d.shape(q, tableSource(rel))
	if err != nil {
		return nil, err
	}
	b := &statement{}
	rows, err := s.rows(b)
	if err != nil {
		return nil, err
	}
	total, err := s.total(b)
	if err != nil {
		return nil, err
	}
	sql := resultSQL("src AS ("+rows+")", "src", total, jsonBody("src", q.accept, false))
	out, err := d.run(ctx, q, job{sql: sql, args: b.args, readOnly: true, check: q.checkSingular})
	if err != nil {
		return nil, err
	}
	return pageAnswer(q, out, q.prefer.applied("count", "handling"))
}
