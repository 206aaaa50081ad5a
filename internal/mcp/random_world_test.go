package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// randomType is a type of columns in random tables, with values as text.
type randomType struct {
	sql    string
	values []string
	key    bool // may be part of a key
	order  bool // may be ordered by
}

var hostileTexts = []string{
	"", " ", "a", "A", "b", "null", "NULL", `a"b,c`, `back\slash`, `\`, `\\`, `\"`, `"`, "(x)", "x&role=eq.admin", "),id.gt.0,(", "*", "50%_off*", " lead", "trail ",
	"{a,b}", "[1]", "é😀", "ı", "'; drop table t0; --", "tab\tline\n", "+", ";", "%2C", "%", "_", "eq.1", "a.b", "\u2028", "not.is.null", "true", "NaN", "1e5", "00", ",", "{}", `{"a":1}`,
}

func randomTypes() []randomType {
	plain := func(sql string, values ...string) randomType {
		return randomType{sql: sql, values: values, key: true, order: true}
	}
	return []randomType{
		plain("int4", "-2147483648", "-1", "0", "1", "2", "3", "2147483647"),
		plain("int8", "-9223372036854775808", "-9007199254740993", "0", "1", "9007199254740992", "9007199254740993", "9223372036854775807"),
		plain("numeric", "NaN", "Infinity", "-Infinity", "-1", "0.1", "0.10", "12345678901234567890.12345678901234567891", "12345678901234567890.1234567890123456789", "0.00000000000000000001"),
		plain("float8", "NaN", "Infinity", "-Infinity", "-0", "0.1", "0.30000000000000004", "1e-300", "1.7976931348623157e308", "9007199254740993"),
		plain("text", hostileTexts...),
		plain("uuid", "00000000-0000-0000-0000-000000000000", "a11ce000-0000-4000-8000-000000000001", "b0b00000-0000-4000-8000-000000000002", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
		plain("timestamptz", "infinity", "-infinity", "2026-01-02 03:04:05.123456+00", "2026-01-02 03:04:05.123457+00", "2026-03-29 02:30:00+01", "0044-03-15 12:00:00+00 BC", "12026-01-01 00:00:00+00"),
		plain("timestamp", "infinity", "2026-01-02 03:04:05.123456", "2026-01-02 03:04:05", "1582-10-10 00:00:00", "0044-03-15 12:00:00 BC"),
		plain("date", "infinity", "-infinity", "2026-02-28", "2024-02-29", "0044-03-15 BC", "12026-01-01"),
		plain("time", "00:00:00", "24:00:00", "12:30:00.000001", "12:30:00"),
		plain("interval", "0", "1 mon", "30 days", "-1 day 02:03:00", "1 year 2 mons 3 days 04:05:06.789012"),
		plain("int2", "-32768", "0", "1", "32767"),
		plain("float4", "NaN", "-Infinity", "-0", "0.1", "16777217", "1e-30", "3.4028235e38"),
		plain("bpchar", "", "a", "a  ", " a", "A", "b", "é", `a"b,c`),
		plain("name", "", "a", "B", `back\slash`, "null"),
		plain("bytea", `\x`, `\x00`, `\x00ff`, `\xff`),
		plain("inet", "10.0.0.1", "10.0.0.1/8", "10.0.0.0/8", "::1", "2001:db8::/32"),
		plain("money", "$0.00", "-$1.10", "$12.50", "$1,234.56"),
		plain("timetz", "00:00:00+00", "12:30:00.000001+02", "12:30:00.000001+00", "24:00:00-11"),
		plain("int4range", "empty", "[1,5)", "[1,)", "(,3)", "(,)"),
		plain("varbit", "", "0", "00", "101"),
		plain("public.random_mood", "sad", `so "so", (x)`, "happy"),
		{sql: "bool", values: []string{"true", "false"}, order: true},
		{sql: "text[]", values: []string{"{}", "{a}", `{a,b}`, `{"a\"b,c","back\\slash","{x}"}`, `{"",NULL}`}},
		{sql: "int8[]", values: []string{"{}", "{1}", "{9007199254740993,1}", "{NULL}"}},
		{sql: "jsonb", values: []string{"{}", "[]", "null", `"a"`, "1.10", `{"a": [1, {"b": null}], "c": "),id.gt.0,("}`, `{"a": [1]}`, `["a", "b"]`}},
	}
}

// randomColumn is a column of a random table.
type randomColumn struct {
	name string
	randomType
}

// randomTable is a table of a random world, or a view of one.
type randomTable struct {
	name    string
	key     int // the first columns are the key
	columns []randomColumn
}

// randomWorld is a project with random tables, and its surface.
type randomWorld struct {
	*realProject
	random   *rand.Rand
	tables   []randomTable
	compiled *surfaces.Compiled
	inputs   map[string]*jsonschema.Schema // compiled, by tool
	call     *call
}

// startRandom makes a world from a seed: CHUMBO_TEST_SEED, or another one each
// time. Whatever fails there names it.
func startRandom(t *testing.T) *randomWorld {
	t.Helper()
	seed := rand.Uint64() //nolint:gosec // tables for a test
	if s := os.Getenv("CHUMBO_TEST_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("run again with CHUMBO_TEST_SEED=%d", seed)
		}
	})
	w := &randomWorld{inputs: map[string]*jsonschema.Schema{}, random: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // likewise
	sql, file := w.invent()
	w.realProject = startReal(t, sql, roundTripSchema())
	w.compiled = compileFor(t, w.realProject, file+roundTripTools())
	w.call = w.callAs(t, standin.AliceEmail)
	return w
}

func pick1[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// invent makes the tables, as SQL, and the surface file over them.
func (w *randomWorld) invent() (sql, file string) {
	const tables, rows = 4, 24
	var s, f strings.Builder
	s.WriteString("create type public.random_mood as enum ('sad', 'so \"so\", (x)', 'happy');\n")
	f.WriteString("version: 1\ntitle: Random\naccess: { mode: oauth, authorization: direct }\ntools:\n")
	all := randomTypes()
	keys := slices.DeleteFunc(slices.Clone(all), func(t randomType) bool { return !t.key })
	orders := slices.DeleteFunc(slices.Clone(all), func(t randomType) bool { return !t.order })
	for i := range tables {
		table := randomTable{name: fmt.Sprintf("t%d", i), key: 1 + i%3}
		for k := range table.key {
			table.columns = append(table.columns, randomColumn{fmt.Sprintf("k%d", k), pick1(w.random, keys)})
		}
		table.columns = append(table.columns,
			randomColumn{"Odd.name", pick1(w.random, orders)}, randomColumn{"order", pick1(w.random, orders)},
			randomColumn{"note", randomType{sql: "text"}}, randomColumn{"tags", all[len(all)-3+i%2]}, randomColumn{"extra", all[len(all)-1]})
		if w.random.IntN(3) == 0 { // values too long for a cursor
			table.columns[table.key].randomType = randomType{sql: "text", order: true, values: []string{strings.Repeat("long ", 140), strings.Repeat("long ", 140) + "er", "short"}}
		}
		s.WriteString(w.createTable(&table, rows))
		w.tables = append(w.tables, table)
		f.WriteString(w.entry(&table, false))
		if i%2 == 0 {
			view := table
			view.name = fmt.Sprintf("v%d", i)
			fmt.Fprintf(&s, "create view public.%s as select * from public.%s; grant select on public.%s to authenticated;\n", view.name, table.name, view.name)
			w.tables = append(w.tables, view)
			f.WriteString(w.entry(&view, true))
		}
	}
	return s.String(), f.String()
}

func (w *randomWorld) createTable(table *randomTable, rows int) string {
	var s strings.Builder
	var columns, key []string
	for i, c := range table.columns {
		columns = append(columns, ident(c.name)+" "+c.sql)
		if i < table.key {
			key = append(key, ident(c.name))
		}
	}
	fmt.Fprintf(&s, "create table public.%s (%s, primary key (%s));\ngrant select on public.%[1]s to authenticated;\n", table.name, strings.Join(columns, ", "), strings.Join(key, ", "))
	for range rows {
		var values []string
		for i, c := range table.columns {
			switch {
			case c.name == "note":
				values = append(values, literal(strings.Repeat("note ", w.random.IntN(80))))
			case i >= table.key && w.random.IntN(4) == 0:
				values = append(values, "null")
			default:
				values = append(values, literal(pick1(w.random, c.values))+"::"+c.sql)
			}
		}
		fmt.Fprintf(&s, "insert into public.%s values (%s) on conflict do nothing;\n", table.name, strings.Join(values, ", "))
	}
	return s.String()
}

// entry offers the table with every filter and several orders.
func (w *randomWorld) entry(table *randomTable, declareKey bool) string {
	var columns, filters, orders, key []string
	for i, c := range table.columns {
		name := strconv.Quote(c.name)
		columns = append(columns, name)
		ops := "eq, neq, in, is, isdistinct"
		switch {
		case c.sql == "jsonb":
			ops = "cs, cd, is"
		case strings.HasSuffix(c.sql, "[]"):
			ops = "cs, cd, ov, is"
		case c.sql == "text":
			ops += ", gt, gte, lt, lte, like, ilike"
		case c.sql != "bool":
			ops += ", gt, gte, lt, lte"
		}
		filters = append(filters, name+": ["+ops+"]")
		if i < table.key {
			key = append(key, name)
		}
		if c.order {
			for _, direction := range []string{"asc", "desc"} {
				orders = append(orders, fmt.Sprintf("{ column: %s, direction: %s, nulls: %s }", name, direction, pick1(w.random, []string{"first", "last"})))
			}
		}
	}
	declared := ""
	if declareKey {
		declared = "key: [" + strings.Join(key, ", ") + "], "
	}
	return fmt.Sprintf("  - { table: %s, description: Rows., operations: [list, get], %scolumns: [%s], filters: { %s }, order: [%s] }\n",
		table.name, declared, strings.Join(columns, ", "), strings.Join(filters, ", "), strings.Join(orders, ", "))
}

func ident(name string) string   { return pgx.Identifier{name}.Sanitize() }
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// connect is a connection of the database's owner, in the time zone that the
// Data API answers in.
func (w *randomWorld) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), "set timezone to 'UTC'"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// input is the tool's compiled input schema.
func (w *randomWorld) input(t *testing.T, tool *surfaces.Tool) *jsonschema.Schema {
	t.Helper()
	if w.inputs[tool.Name] == nil {
		schema, err := compileSchema(tool.Input)
		if err != nil {
			t.Fatal(err)
		}
		w.inputs[tool.Name] = schema
	}
	return w.inputs[tool.Name]
}

// keys are the keys of rows as Postgres gives them, each one text.
func keys(t *testing.T, conn *pgx.Conn, plan *surfaces.ListPlan, where, order string, args ...any) ([]string, error) {
	t.Helper()
	var parts []string
	for _, k := range plan.Key {
		parts = append(parts, "to_json("+ident(k.Name)+") #>> '{}'")
	}
	query := "select array[" + strings.Join(parts, ", ") + "] from public." + ident(plan.Relation.Name) + " where " + where
	if order != "" {
		query += " order by " + order
	}
	rows, err := conn.Query(t.Context(), query, args...)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[[]string])
	if err != nil {
		return nil, err
	}
	out := make([]string, len(list))
	for i, k := range list {
		out[i] = strings.Join(k, " | ")
	}
	return out, nil
}

// keysOf are the keys of a page's rows, as keys has them.
func keysOf(t *testing.T, plan *surfaces.ListPlan, structured []byte) []string {
	t.Helper()
	var page struct{ Items []map[string]json.RawMessage }
	if err := json.Unmarshal(structured, &page); err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(page.Items))
	for i, item := range page.Items {
		var parts []string
		for _, k := range plan.Key {
			parts = append(parts, stringOf(item[k.Name]))
		}
		out[i] = strings.Join(parts, " | ")
	}
	return out
}

// argumentOf is a value, written as Postgres reads it, as a column's values
// travel in arguments.
func argumentOf(c surfaces.Column, text string) token {
	switch c.JSON {
	case surfaces.JSONInteger, surfaces.JSONNumber, surfaces.JSONBoolean:
		if json.Valid([]byte(text)) && !strings.HasPrefix(text, `"`) {
			return token(text)
		}
	}
	return appendString(nil, text)
}
