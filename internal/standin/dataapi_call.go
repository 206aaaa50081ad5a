package standin

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// invocation is a function call before its SQL: which arguments, and from
// where.
type invocation struct {
	f        *function
	names    []string // arguments given, in any order
	body     []byte   // of a POST
	values   []pair   // of a GET
	wholeArg bool     // the body is the single unnamed argument
}

// call runs a function: a GET always in a read only transaction, a POST in one
// unless the function is volatile.
func (d *dataAPI) call(ctx context.Context, q *apiRequest) (*apiAnswer, error) {
	inv, err := d.resolve(q)
	if err != nil {
		return nil, err
	}
	f := inv.f
	if q.prefer.limit() >= 0 && !f.set {
		return nil, &apiError{
			status: http.StatusBadRequest, Code: "PGRST128",
			Message: "Function must return SETOF or TABLE when max-affected preference is used with handling=strict",
		}
	}
	j, err := d.callJob(q, inv)
	if err != nil {
		return nil, err
	}
	out, err := d.run(ctx, q, j)
	if err != nil {
		return nil, err
	}
	applied := q.prefer.applied("count", "handling", "max-affected")
	if f.void {
		return newAnswer(http.StatusNoContent, out, applied)
	}
	return pageAnswer(q, out, applied)
}

// resolve picks the function by the names of the arguments alone.
func (d *dataAPI) resolve(q *apiRequest) (invocation, error) {
	inv := invocation{values: q.arguments}
	for _, p := range q.arguments {
		inv.names = append(inv.names, p.key)
	}
	if q.method == http.MethodPost {
		var err error
		if inv.body, inv.names, err = q.callBody(); err != nil {
			return inv, err
		}
	}
	c := d.catalog.Load()
	var found []*function
	var unnamed *function
	for _, f := range c.functions[qualified{q.schema, q.name}] {
		if f.takes(inv.names) {
			found = append(found, f)
		}
		if len(f.arguments) == 1 && f.arguments[0].name == "" {
			unnamed = f
		}
	}
	switch {
	case len(found) == 1:
		inv.f = found[0]
		return inv, nil
	case len(found) > 1:
		return inv, tooMany(found)
	case unnamed != nil && q.method == http.MethodPost:
		inv.f, inv.wholeArg = unnamed, true
		return inv, nil
	}
	return inv, c.noFunction(q, inv.names)
}

// takes tells whether a function can be called with these arguments: all the
// required ones, and no unknown one.
func (f *function) takes(names []string) bool {
	for _, arg := range f.arguments {
		if arg.name == "" || (!arg.optional && !slices.Contains(names, arg.name)) {
			return false
		}
	}
	for _, name := range names {
		if f.argument(name) == nil {
			return false
		}
	}
	return true
}

func (f *function) argument(name string) *argument {
	for i := range f.arguments {
		if f.arguments[i].name == name {
			return &f.arguments[i]
		}
	}
	return nil
}

func tooMany(found []*function) *apiError {
	var list []string
	for _, f := range found {
		var args []string
		for _, arg := range f.arguments {
			args = append(args, arg.name+" => "+arg.kind)
		}
		list = append(list, f.schema+"."+f.name+"("+strings.Join(args, ", ")+")")
	}
	return &apiError{
		status: http.StatusMultipleChoices, Code: "PGRST203",
		Message: "Could not choose the best candidate function between: " + strings.Join(list, ", "),
		Hint:    text("Try renaming the parameters or the function itself in the database so function overloading can be resolved"),
	}
}

func (c *catalog) noFunction(q *apiRequest, names []string) *apiError {
	full := q.schema + "." + q.name
	asked, searched := full+" without parameters", "without parameters"
	if len(names) > 0 {
		list := strings.Join(names, ", ")
		asked, searched = full+"("+list+")", "with parameters "+list
	}
	if q.method == http.MethodPost {
		searched += " or with a single unnamed json/jsonb parameter"
	}
	err := &apiError{
		status: http.StatusNotFound, Code: "PGRST202",
		Message: "Could not find the function " + asked + " in the schema cache",
		Details: "Searched for the function " + full + " " + searched + ", but no matches were found in the schema cache.",
	}
	best := 0.0
	for key := range c.functions {
		if key.schema != q.schema {
			continue
		}
		if s := similarity(q.name, key.name); s >= 0.75 && s > best {
			best, err.Hint = s, text("Perhaps you meant to call the function "+key.schema+"."+key.name)
		}
	}
	return err
}

// expression is the call itself, and what must stand before it in FROM.
func (inv invocation) expression(b *statement) (from, call string) {
	f := inv.f
	name := quoted(f.schema, f.name)
	if inv.wholeArg {
		return "", name + "((" + b.arg(string(inv.body)) + ")::" + f.arguments[0].kind + ")"
	}
	var args, record []string
	for _, p := range inv.values {
		args = append(args, inv.spread(p.key)+quoted(p.key)+" := ("+b.arg(p.value)+")::"+f.argument(p.key).kind)
	}
	if inv.body == nil || len(inv.names) == 0 {
		return "", name + "(" + strings.Join(args, ", ") + ")"
	}
	for _, key := range inv.names {
		args = append(args, inv.spread(key)+quoted(key)+" := a."+quoted(key))
		record = append(record, quoted(key)+" "+f.argument(key).kind)
	}
	from = "json_to_record((" + b.arg(string(inv.body)) + ")::json) AS a(" + strings.Join(record, ", ") + "), "
	return from, name + "(" + strings.Join(args, ", ") + ")"
}

// spread marks the variadic argument, the last one.
func (inv invocation) spread(name string) string {
	last := len(inv.f.arguments) - 1
	if inv.f.variadic && inv.f.arguments[last].name == name {
		return "VARIADIC "
	}
	return ""
}

func (d *dataAPI) callJob(q *apiRequest, inv invocation) (job, error) {
	f, b := inv.f, &statement{}
	for i, p := range inv.values {
		if slices.ContainsFunc(inv.values[:i], func(other pair) bool { return other.key == p.key }) {
			return job{}, notImplemented("repeated arguments of a GET call")
		}
	}
	from, call := inv.expression(b)
	j := job{
		readOnly: q.method != http.MethodPost || !f.volatile,
		settings: hoisted(f.settings),
		check:    func(*outcome) error { return nil },
	}
	if f.set {
		j.check = q.checkAffected
	}
	var err error
	if f.composite {
		j.sql, err = d.rowsCall(q, inv, b, from, call)
	} else {
		j.sql, err = scalarCall(q, f, from, call)
	}
	j.args = b.args
	return j, err
}

// rowsCall is a call whose result has columns: it can be selected from,
// filtered, ordered and limited like a relation.
func (d *dataAPI) rowsCall(q *apiRequest, inv invocation, b *statement, from, call string) (string, error) {
	f := inv.f
	rel := &relation{qualified: f.qualified}
	if f.rowType != nil {
		if known := d.catalog.Load().relations[*f.rowType]; known != nil {
			rel = known
		}
	}
	alias := quoted(f.name)
	result := "called AS (SELECT " + alias + ".* FROM " + from + "LATERAL " + call + " AS " + alias + ")"
	s, err := d.shape(q, source{rel: rel, from: "called AS " + alias, alias: f.name})
	if err != nil {
		return "", err
	}
	rows, err := s.rows(b)
	if err != nil {
		return "", err
	}
	total, err := s.total(b)
	if err != nil {
		return "", err
	}
	return resultSQL(result+", src AS ("+rows+")", "src", total, jsonBody("src", q.accept, !f.set)), nil
}

// scalarCall is a call whose result is a value, or a set of values.
func scalarCall(q *apiRequest, f *function, from, call string) (string, error) {
	if len(q.where) > 0 || len(q.order) > 0 || len(q.window) > 0 || !q.items[0].star {
		return "", notImplemented("filters, order and windows on a function that returns no columns")
	}
	// Materialized, so that the call happens even where its value is not used.
	src := "src AS MATERIALIZED (SELECT " + call + " AS v)"
	if from != "" {
		src = "src AS MATERIALIZED (SELECT " + call + " AS v FROM " + strings.TrimSuffix(from, ", ") + ")"
	}
	body := "SELECT json_agg(src.v)->0 FROM src"
	if f.set {
		body = "SELECT coalesce(json_agg(src.v), '[]') FROM src"
	}
	if f.void {
		body = "SELECT null::text"
	}
	total := "null::bigint"
	if q.prefer.count != "" {
		total = "(SELECT count(*) FROM src)"
	}
	return resultSQL(src, "src", total, body), nil
}

// hoisted are the settings of a function that must hold for the whole
// transaction to have an effect.
func hoisted(all []setting) []setting {
	return slices.DeleteFunc(slices.Clone(all), func(s setting) bool { return s.name != "statement_timeout" })
}
