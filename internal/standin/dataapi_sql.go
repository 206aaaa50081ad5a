package standin

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// statement is SQL under construction with its parameters, all of them text
// that PostgreSQL types itself.
type statement struct{ args []any }

func (s *statement) arg(value string) string {
	s.args = append(s.args, value)
	return "$" + strconv.Itoa(len(s.args))
}

func quoted(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// source is what a select reads from: a relation under an alias.
type source struct {
	rel   *relation
	from  string // `"s"."t" AS "t"`, or a CTE under that alias
	alias string
}

func tableSource(rel *relation) source {
	return source{rel: rel, from: quoted(rel.schema, rel.name) + " AS " + quoted(rel.name), alias: rel.name}
}

// column is the SQL of a field of the source.
func (s source) column(b *statement, f field) string {
	sql := quoted(s.alias, f.name)
	if len(f.path) == 0 {
		return sql
	}
	if col := s.rel.column(f.name); col == nil || !col.isJSON {
		sql = "to_jsonb(" + sql + ")"
	}
	for _, step := range f.path {
		arrow, kind := "->", "text"
		if step.asText {
			arrow = "->>"
		}
		if step.isIndex {
			kind = "int"
		}
		sql += arrow + "(" + b.arg(step.key) + ")::" + kind
	}
	return "(" + sql + ")"
}

// condition is the SQL of a filter or group on the source.
func (s source) condition(b *statement, c condition) string {
	var sql string
	switch {
	case c.group != "":
		parts := make([]string, len(c.parts))
		for i, part := range c.parts {
			parts[i] = s.condition(b, part)
		}
		sql = "(" + strings.Join(parts, " "+c.group+" ") + ")"
	case c.operator == "in":
		sql = s.column(b, c.field) + " = ANY (" + b.arg(arrayLiteral(c.values)) + ")"
	case c.operator == "is":
		sql = s.column(b, c.field) + " IS " + isValues[c.value]
	case searches[c.operator] != "":
		sql = s.search(b, c)
	case c.quantity != "":
		sql = s.column(b, c.field) + " " + comparisons[c.operator] + " " + c.quantity + " (" + b.arg(pattern(c)) + ")"
	default:
		sql = s.column(b, c.field) + " " + comparisons[c.operator] + " " + b.arg(pattern(c))
	}
	if c.negate {
		return "NOT (" + sql + ")"
	}
	return sql
}

// pattern is a condition's value; in a pattern every * stands for %.
func pattern(c condition) string {
	if c.operator == "like" || c.operator == "ilike" {
		return strings.ReplaceAll(c.value, "*", "%")
	}
	return c.value
}

func (s source) search(b *statement, c condition) string {
	language := ""
	if c.language != "" {
		language = "(" + b.arg(c.language) + ")::regconfig, "
	}
	column := s.column(b, c.field)
	if col := s.rel.column(c.field.name); col == nil || !col.isVector || len(c.field.path) > 0 {
		column = "to_tsvector(" + language + column + ")"
	}
	return column + " @@ " + searches[c.operator] + "(" + language + b.arg(c.value) + ")"
}

func arrayLiteral(values []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var out strings.Builder
	out.WriteByte('{')
	for i, value := range values {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`"` + escape.Replace(value) + `"`)
	}
	out.WriteByte('}')
	return out.String()
}

func (s source) where(b *statement, conditions []condition) string {
	if len(conditions) == 0 {
		return ""
	}
	parts := make([]string, len(conditions))
	for i, c := range conditions {
		parts[i] = s.condition(b, c)
	}
	return " WHERE " + strings.Join(parts, " AND ")
}

func (s source) orderBy(b *statement, terms []orderTerm) string {
	if len(terms) == 0 {
		return ""
	}
	parts := make([]string, len(terms))
	for i, term := range terms {
		parts[i] = s.column(b, term.field)
		if term.desc {
			parts[i] += " DESC"
		}
		if term.nulls != "" {
			parts[i] += " NULLS " + strings.ToUpper(term.nulls)
		}
	}
	return " ORDER BY " + strings.Join(parts, ", ")
}

// limit caps a window by max-rows; a maxRows of 0 or less caps nothing.
func (w window) sql(b *statement, maxRows int) string {
	limit := w.limit
	if maxRows > 0 && (limit < 0 || limit > maxRows) {
		limit = maxRows
	}
	sql := ""
	if limit >= 0 {
		sql += " LIMIT (" + b.arg(strconv.Itoa(limit)) + ")::bigint"
	}
	if w.offset > 0 {
		sql += " OFFSET (" + b.arg(strconv.Itoa(w.offset)) + ")::bigint"
	}
	return sql
}

// item is the SQL of a plain select item.
func (s source) item(b *statement, item selectItem) string {
	if item.star {
		return quoted(s.alias) + ".*"
	}
	sql := s.column(b, item.field)
	if item.cast != "" {
		sql = "CAST(" + sql + " AS " + item.cast + ")"
	}
	if item.alias == "" && item.cast == "" && len(item.field.path) == 0 {
		return sql
	}
	return sql + " AS " + quoted(item.name())
}
