package standin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// defaultReturning is what a write returns when only its count matters: it
// needs no privilege to read.
const defaultReturning = "1"

// write is a statement that changes rows, and how its rows are shown.
type write struct {
	q   *apiRequest
	rel *relation
	b   *statement
	sql string // up to RETURNING
	// check holds the outcome to what the request allows.
	check func(*outcome) error
}

// execute runs a write and its representation.
func (d *dataAPI) execute(ctx context.Context, w write) (*outcome, error) {
	q, returning := w.q, defaultReturning
	if q.prefer.returns == "headers-only" && len(w.rel.primary) > 0 {
		q.items = nil
		for _, name := range w.rel.primary {
			q.items = append(q.items, selectItem{field: field{name: name}})
		}
	}
	shown := q.prefer.representation() || q.prefer.returns == "headers-only" && len(w.rel.primary) > 0
	shaped, body := "", "null"
	if shown {
		s, err := d.shape(q, source{rel: w.rel, from: "src AS " + quoted(w.rel.name), alias: w.rel.name})
		if err != nil {
			return nil, err
		}
		returning = w.returning(s)
		shaped = ", shaped AS (SELECT " + s.list(w.b) + s.from(w.b) + s.src.orderBy(w.b, q.order[""]) + ")"
		body = jsonBody("shaped", q.accept, false)
	}
	sql := resultSQL("src AS ("+w.sql+" RETURNING "+returning+")"+shaped, "src", "null::bigint", body)
	return d.run(ctx, q, job{sql: sql, args: w.b.args, check: w.check})
}

// returning lists the columns that a representation needs, so that no others
// need to be readable: those selected, those that embeds join by, and always
// those of the primary key.
func (w write) returning(s shape) string {
	var names []string
	for _, item := range w.q.items {
		if item.star {
			return quoted(w.rel.name) + ".*"
		}
		if item.embed == nil {
			names = append(names, item.field.name)
		}
	}
	for _, e := range s.embeddings {
		names = append(names, e.link.here...)
	}
	for _, term := range w.q.order[""] {
		names = append(names, term.field.name)
	}
	names = append(names, w.rel.primary...)
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		names[i] = quoted(w.rel.name, name)
	}
	if len(names) == 0 {
		return defaultReturning
	}
	return strings.Join(names, ", ")
}

func (d *dataAPI) insert(ctx context.Context, q *apiRequest, rel *relation) (*apiAnswer, error) {
	body, err := q.rows()
	if err != nil {
		return nil, err
	}
	if q.columns != nil {
		body.columns = q.columns
	} else if !body.uniform {
		return nil, badBody("All object keys must match")
	}
	if err := knownColumns(rel, body.columns); err != nil {
		return nil, err
	}
	w := write{q: q, rel: rel, b: &statement{}, check: q.checkSingular}
	w.sql = w.insertSQL(body)
	out, err := d.execute(ctx, w)
	if err != nil {
		return nil, err
	}
	status := http.StatusCreated
	if q.prefer.resolution == "merge-duplicates" && out.inserted == "0" && out.page > 0 {
		status = http.StatusOK
	}
	a, err := newAnswer(status, out, q.prefer.applied("resolution", "missing", "return", "count", "handling"))
	if err != nil {
		return nil, err
	}
	a.header.Set("Content-Range", writeRange(q, out))
	if q.prefer.representation() {
		a.setBody(out.body, q.accept.contentType())
	} else if location := location(rel, out.body); location != "" {
		a.header.Set("Location", location)
	}
	return a, nil
}

func (w write) insertSQL(body rowsBody) string {
	rel := w.rel
	into := "INSERT INTO " + quoted(rel.schema, rel.name) + " AS " + quoted(rel.name)
	if len(body.columns) == 0 && body.count == 1 {
		return into + " DEFAULT VALUES"
	}
	names, record, defaults := make([]string, 0), make([]string, 0), make([]string, 0)
	for _, name := range body.columns {
		col := rel.column(name)
		names = append(names, quoted(name))
		record = append(record, quoted(name)+" "+col.kind)
		if col.fallback != "" && w.q.prefer.missing == "default" {
			defaults = append(defaults, w.b.arg(name)+"::text, "+col.fallback)
		}
	}
	if len(names) == 0 {
		// No row, and no column either: nothing is written.
		return "INSERT INTO " + quoted(rel.schema, rel.name) + " AS " + quoted(rel.name) + " SELECT " + quoted(rel.name) + ".* FROM " + quoted(rel.schema, rel.name) + " AS " + quoted(rel.name) + " WHERE false"
	}
	elements := w.b.arg(string(body.raw)) + "::json"
	from := "json_to_recordset(" + elements + ") AS b(" + strings.Join(record, ", ") + ")"
	if len(defaults) > 0 {
		from = "(SELECT jsonb_build_object(" + strings.Join(defaults, ", ") + ") || e AS e FROM jsonb_array_elements((" + elements + ")::jsonb) e) d, " +
			"jsonb_to_record(d.e) AS b(" + strings.Join(record, ", ") + ")"
	}
	list := strings.Join(names, ", ")
	sql := into + " (" + list + ") SELECT b." + strings.Join(names, ", b.") + " FROM " + from
	return sql + w.conflictSQL(names)
}

// counted adds to the count of inserted rows, as a condition that holds.
func counted(by string) string {
	return "set_config('pgrst.inserted', (coalesce(nullif(current_setting('pgrst.inserted', true), '')::int, 0) " + by + ")::text, true) <> ''"
}

func (w write) conflictSQL(names []string) string {
	target := w.q.onConflict
	if len(target) == 0 {
		target = w.rel.primary
	}
	if w.q.prefer.resolution == "" || len(target) == 0 {
		return ""
	}
	quotedTarget := make([]string, len(target))
	for i, name := range target {
		quotedTarget[i] = quoted(name)
	}
	sql := " WHERE " + counted("+ 1") + " ON CONFLICT (" + strings.Join(quotedTarget, ", ") + ") DO "
	if w.q.prefer.resolution == "ignore-duplicates" {
		return sql + "NOTHING"
	}
	sets := make([]string, len(names))
	for i, name := range names {
		sets[i] = name + " = EXCLUDED." + name
	}
	return sql + "UPDATE SET " + strings.Join(sets, ", ") + " WHERE " + counted("- 1")
}

func (d *dataAPI) update(ctx context.Context, q *apiRequest, rel *relation) (*apiAnswer, error) {
	if q.prefer.missing == "default" {
		return nil, notImplemented("missing=default on PATCH")
	}
	body, err := q.rows()
	if err != nil {
		return nil, err
	}
	if body.count > 1 {
		return nil, notImplemented("PATCH with several objects")
	}
	if q.columns != nil {
		body.columns = q.columns
	}
	if err := knownColumns(rel, body.columns); err != nil {
		return nil, err
	}
	w := write{q: q, rel: rel, b: &statement{}, check: q.checkAffected}
	table := quoted(rel.schema, rel.name) + " AS " + quoted(rel.name)
	if len(body.columns) == 0 {
		w.sql = "UPDATE " + table + " SET " + quoted(rel.columns[0].name) + " = " + quoted(rel.name, rel.columns[0].name) + " WHERE false"
		return d.changed(ctx, w, true)
	}
	var sets, record []string
	for _, name := range body.columns {
		sets = append(sets, quoted(name)+" = standin_b."+quoted(name))
		record = append(record, quoted(name)+" "+rel.column(name).kind)
	}
	w.sql = "UPDATE " + table + " SET " + strings.Join(sets, ", ") +
		" FROM json_to_recordset(" + w.b.arg(string(body.raw)) + "::json) AS standin_b(" + strings.Join(record, ", ") + ")" +
		tableSource(rel).where(w.b, q.where[""])
	return d.changed(ctx, w, true)
}

func (d *dataAPI) remove(ctx context.Context, q *apiRequest, rel *relation) (*apiAnswer, error) {
	w := write{q: q, rel: rel, b: &statement{}, check: q.checkAffected}
	w.sql = "DELETE FROM " + quoted(rel.schema, rel.name) + " AS " + quoted(rel.name) + tableSource(rel).where(w.b, q.where[""])
	return d.changed(ctx, w, false)
}

// changed runs a PATCH or DELETE. limit, offset and order do nothing to which
// rows those touch.
func (d *dataAPI) changed(ctx context.Context, w write, isPatch bool) (*apiAnswer, error) {
	q := w.q
	if q.prefer.returns == "headers-only" {
		q.prefer.returns = "minimal"
	}
	out, err := d.execute(ctx, w)
	if err != nil {
		return nil, err
	}
	status := http.StatusNoContent
	if q.prefer.representation() {
		status = http.StatusOK
	}
	a, err := newAnswer(status, out, q.prefer.applied("return", "count", "handling", "max-affected"))
	if err != nil {
		return nil, err
	}
	a.header.Set("Content-Range", writeRange(q, out))
	if isPatch {
		var total *int64
		if q.prefer.count != "" {
			total = &out.page
		}
		a.header.Set("Content-Range", contentRange(0, out.page, total))
	}
	if q.prefer.representation() {
		a.setBody(out.body, q.accept.contentType())
	}
	return a, nil
}

func writeRange(q *apiRequest, out *outcome) string {
	if q.prefer.count == "" {
		return "*/*"
	}
	return contentRange(0, 0, &out.page)
}

func knownColumns(rel *relation, names []string) error {
	for _, name := range names {
		if rel.column(name) == nil {
			return &apiError{
				status: http.StatusBadRequest, Code: "PGRST204",
				Message: "Could not find the '" + name + "' column of '" + rel.name + "' in the schema cache",
			}
		}
	}
	return nil
}

// location names an inserted row by its primary key, when there is just one.
func location(rel *relation, body *string) string {
	if body == nil {
		return ""
	}
	var rows []map[string]json.RawMessage
	if json.Unmarshal([]byte(*body), &rows) != nil || len(rows) != 1 {
		return ""
	}
	var parts []string
	for _, name := range rel.primary {
		value := strings.Trim(string(rows[0][name]), `"`)
		parts = append(parts, url.QueryEscape(name)+"=eq."+url.QueryEscape(value))
	}
	return "/" + url.PathEscape(rel.name) + "?" + strings.Join(parts, "&")
}
