package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestRandomReads holds reads of random tables against what Postgres itself
// says of them.
func TestRandomReads(t *testing.T) {
	t.Parallel()
	w := startRandom(t)
	t.Run("paging", w.paging)
	t.Run("filters", w.filters)
	t.Run("round trips", w.roundTrips)
}

// paging walks all pages of lists in random orders, with random limits,
// budgets and filters, by what each page says comes next: every row comes
// exactly once, in the order that Postgres gives.
func (w *randomWorld) paging(t *testing.T) {
	conn := w.connect(t)
	for i := range w.tables {
		tool := *toolNamed(t, w.compiled, w.tables[i].name+"_list")
		for range 4 {
			order := pick1(w.random, tool.List.Orders)
			tool.Budget = pick1(w.random, []int{512, 1024, 2048, 16 << 10})
			tool.Result = pick1(w.random, []surfaces.ResultForm{surfaces.ResultHybrid, surfaces.ResultStructured})
			filter := w.filterFor(&tool, &w.tables[i])
			want, err := keys(t, conn, tool.List, filter.where, orderSQL(order), filter.args...)
			if err != nil {
				filter = randomFilter{where: "true"}
				if want, err = keys(t, conn, tool.List, "true", orderSQL(order)); err != nil {
					t.Fatal(err)
				}
			}
			arguments := fmt.Sprintf(`{"order":%s,"limit":%d%s}`, appendString(nil, order.Name), 1+w.random.IntN(9), comma(filter.member))
			w.walk(t, &tool, arguments, want)
		}
	}
}

func orderSQL(order surfaces.Order) string {
	var terms []string
	for _, k := range order.Keys {
		term := ident(k.Column.Name)
		if k.Desc {
			term += " desc"
		}
		if k.NullsFirst {
			term += " nulls first"
		} else {
			term += " nulls last"
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, ", ")
}

// walk pages to the end. A row that is larger than the budget is told, with a
// cursor behind it, and counts as one that came.
func (w *randomWorld) walk(t *testing.T, tool *surfaces.Tool, first string, want []string) {
	t.Helper()
	var got []string
	arguments := first
	for range 2*len(want) + 2 {
		page := runTool(t, w.runner, w.call, tool, arguments)
		if n := sent(t, page); n > tool.Budget && !page.isError {
			t.Errorf("%s %s: %d bytes within %d", tool.Name, arguments, n, tool.Budget)
		}
		if page.isError {
			if page.kind() != "row_too_large" || len(got) == len(want) {
				t.Errorf("%s %s: %s", tool.Name, arguments, page.text)
				return
			}
			got = append(got, want[len(got)])
			_, rest, more := strings.Cut(page.text, `cursor \"`)
			if !more {
				break
			}
			cursor, _, _ := strings.Cut(rest, `\"`)
			arguments = first[:len(first)-1] + `,"cursor":"` + cursor + `"}`
			continue
		}
		got = append(got, keysOf(t, tool.List, page.structured)...)
		l := page.list(t)
		if !*l.HasMore {
			break
		}
		switch {
		case l.NextCall != nil:
			arguments = argumentsText(t, l)
		case l.NextCursor != nil:
			arguments = first[:len(first)-1] + `,"cursor":"` + *l.NextCursor + `"}`
		default:
			t.Errorf("%s %s: cannot be continued", tool.Name, arguments)
			return
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s %s within %d:\n got %q\nwant %q", tool.Name, first, tool.Budget, got, want)
	}
}

// randomFilter is a filter as an argument, and what Postgres says it means.
type randomFilter struct {
	member string // "argument":value
	where  string
	args   []any
}

// filters compares what random filters find, with hostile values among theirs,
// with the same predicate evaluated by Postgres over parameters.
func (w *randomWorld) filters(t *testing.T) {
	conn := w.connect(t)
	found, none, refused := 0, 0, 0
	for range 200 {
		i := w.random.IntN(len(w.tables))
		tool := *toolNamed(t, w.compiled, w.tables[i].name+"_list")
		tool.Budget = 1 << 20
		filter := w.filterFor(&tool, &w.tables[i])
		want, wrong := keys(t, conn, tool.List, filter.where, orderSQL(tool.List.Orders[0]), filter.args...)
		arguments := `{"limit":100` + comma(filter.member) + `}`
		fits := validateArguments(w.input(t, &tool), []byte(arguments)) == nil
		got := runTool(t, w.runner, w.call, &tool, arguments)
		switch {
		case got.isError:
			if refused++; got.kind() != "invalid" || wrong == nil && fits {
				t.Errorf("%s %s: %s, Postgres: %v %v", tool.Name, arguments, got.text, want, wrong)
			}
			continue
		case wrong != nil:
			t.Errorf("%s %s: Postgres refuses it: %v", tool.Name, arguments, wrong)
			continue
		case len(want) > 0:
			found++
		default:
			none++
		}
		if have := keysOf(t, tool.List, got.structured); strings.Join(have, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s %s (%s %q):\n got %q\nwant %q", tool.Name, arguments, filter.where, filter.args, have, want)
		}
	}
	if found < 50 || none < 10 || refused < 1 {
		t.Errorf("of the filters %d found rows, %d none, %d were refused: too much alike to say anything", found, none, refused)
	}
}

var comparisonSQL = map[string]string{"eq": "=", "neq": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "cs": "@>", "cd": "<@", "ov": "&&", "isdistinct": "is distinct from"}

// filterFor makes a filter of one of the tool's.
func (w *randomWorld) filterFor(tool *surfaces.Tool, table *randomTable) randomFilter {
	f := pick1(w.random, tool.List.Filters)
	var column randomColumn
	for _, c := range table.columns {
		if c.name == f.Column.Name {
			column = c
		}
	}
	name, sql := ident(f.Column.Name), column.sql
	member := func(value token) string { return string(appendString(nil, f.Argument)) + ":" + string(value) }
	switch f.Operator {
	case "is":
		words := map[string]string{"null": "is null", "not_null": "is not null"}
		if sql == "bool" {
			words["true"], words["false"] = "is true", "is false"
		}
		word := pick1(w.random, []string{"null", "not_null", "true", "false"})
		if words[word] == "" {
			word = "null"
		}
		return randomFilter{member(appendString(nil, word)), name + " " + words[word], nil}
	case "in", "cs", "cd", "ov":
		if sql == "jsonb" {
			value := pick1(w.random, column.values)
			return randomFilter{member(token(value)), name + " " + comparisonSQL[f.Operator] + " $1::text::jsonb", []any{value}}
		}
		element, item := strings.TrimSuffix(sql, "[]"), f.Column
		if f.Operator != "in" {
			item = surfaces.Column{JSON: surfaces.JSONString}
			column.values = append(elementsOf(element), pick1(w.random, hostileTexts))
		}
		values, list := []string{}, []string{}
		for range w.random.IntN(4) {
			value := w.value(column)
			values = append(values, value)
			list = append(list, string(argumentOf(item, value)))
		}
		compare := name + " " + comparisonSQL[f.Operator] + " $1::text[]::" + element + "[]"
		if f.Operator == "in" {
			compare = name + " = any ($1::text[]::" + sql + "[])"
		}
		return randomFilter{member(token("[" + strings.Join(list, ",") + "]")), compare, []any{values}}
	case "like", "ilike":
		value := w.value(column)
		// * stands for one character, everything else for itself.
		sought := strings.NewReplacer("!", "!!", "%", "!%", "_", "!_", "*", "_").Replace(value)
		return randomFilter{member(appendString(nil, value)), name + " " + f.Operator + " $1::text escape '!'", []any{"%" + sought + "%"}}
	}
	value := w.value(column)
	return randomFilter{member(argumentOf(f.Column, value)), name + " " + comparisonSQL[f.Operator] + " $1::text::" + sql, []any{value}}
}

func elementsOf(sql string) []string {
	if sql == "int8" {
		return []string{"1", "9007199254740993", "-5"}
	}
	return []string{"a", "b", `a"b,c`, `back\slash`, "{x}", ""}
}

// value is one that the column may have, or any other text.
func (w *randomWorld) value(c randomColumn) string {
	if len(c.values) == 0 || w.random.IntN(6) == 0 {
		return pick1(w.random, hostileTexts)
	}
	return pick1(w.random, c.values)
}

// The types whose values go from a list through a filter, a key and a function
// and stay what they are to the last digit.
var roundTripTypes = []struct {
	name, sql string
	values    []string
}{
	{"bigint", "int8", []string{"-9223372036854775808", "9007199254740993", "-9007199254740993", "0", "9223372036854775807"}},
	{"exact", "numeric", []string{"0.10", "-0.000000000000000000000000000001", "12345678901234567890123456789.1234567890", "100", "1e20"}},
	{"double", "float8", []string{"0.1", "0.30000000000000004", "1e-300", "-1.7976931348623157e308", "5e-324", "9007199254740993", "100000000000000000000000", "-0.000001"}},
	{"instant", "timestamptz", []string{"2026-01-02 03:04:05.123456+02", "2026-01-02 03:04:05.1+00", "infinity", "-infinity", "0044-03-15 12:00:00.000001+00 BC", "12026-01-01 00:00:00+00"}},
	{"wall", "timestamp", []string{"2026-01-02 03:04:05.123456", "1582-10-10 00:00:00", "infinity", "0044-03-15 12:00:00 BC", "12026-12-31 23:59:59.999999"}},
	{"day", "date", []string{"2024-02-29", "0044-03-15 BC", "infinity", "-infinity", "12026-01-01"}},
	{"clock", "time", []string{"00:00:00", "24:00:00", "12:30:00.000001"}},
	{"span", "interval", []string{"1 year 2 mons -3 days 04:05:06.789012", "-00:00:00.000001", "30 days", "178000000 years"}},
}

func roundTripSchema() string {
	var s strings.Builder
	for _, r := range roundTripTypes {
		fmt.Fprintf(&s, `create table public.%[1]s (v %[2]s primary key); grant select on public.%[1]s to authenticated;
			create function public.same_%[1]s(v %[2]s) returns %[2]s language sql stable as 'select v'; grant execute on function public.same_%[1]s(%[2]s) to authenticated;
			create function public.has_%[1]s(v %[2]s) returns bool language sql stable as 'select exists (select from public.%[1]s t where t.v = $1)'; grant execute on function public.has_%[1]s(%[2]s) to authenticated;
			`, r.name, r.sql)
		for _, v := range r.values {
			fmt.Fprintf(&s, "insert into public.%s values (%s);\n", r.name, literal(v))
		}
	}
	return s.String()
}

func roundTripTools() string {
	var s strings.Builder
	for _, r := range roundTripTypes {
		fmt.Fprintf(&s, "  - { table: %[1]s, description: Values., operations: [list, get], columns: [v], filters: { v: [eq, in] } }\n"+
			"  - { tool: same_%[1]s, rpc: same_%[1]s, description: The value. }\n  - { tool: has_%[1]s, rpc: has_%[1]s, description: Whether it is there. }\n", r.name)
	}
	return s.String()
}

// roundTrips takes each value as a list returns it, byte for byte, through an
// equality, a key and a function.
func (w *randomWorld) roundTrips(t *testing.T) {
	conn := w.connect(t)
	for _, r := range roundTripTypes {
		list := toolNamed(t, w.compiled, r.name+"_list")
		page := runTool(t, w.runner, w.call, list, `{}`)
		rows, err := readTable(memberOf(page.structured, "items"), []string{"v"})
		if err != nil || rows.len() != len(r.values) {
			t.Fatalf("%s: %d rows, %v: %s", r.name, rows.len(), err, page.text)
		}
		for i := range rows.len() {
			v := string(rows.row(i)[0])
			var known bool
			if err := conn.QueryRow(t.Context(), "select $1::text::"+r.sql+" = any ($2::text[]::"+r.sql+"[])", stringOf(token(v)), r.values).Scan(&known); err != nil || !known {
				t.Errorf("%s: %s is none of the values (%v)", r.name, v, err)
			}
			for _, step := range []struct{ tool, arguments, want string }{
				{r.name + "_list", `{"v":` + v + `}`, `{"items":[{"v":` + v + `}],`},
				{r.name + "_list", `{"v_in":[` + v + `]}`, `{"items":[{"v":` + v + `}],`},
				{r.name + "_get", `{"v":` + v + `}`, `{"v":` + v + `}`},
				{"same_" + r.name, `{"v":` + v + `}`, `{"result":` + v + `}`},
				{"has_" + r.name, `{"v":` + v + `}`, `{"result":true}`},
			} {
				w.step(t, step.tool, step.arguments, step.want)
			}
		}
	}
}

func (w *randomWorld) step(t *testing.T, name, arguments, want string) {
	t.Helper()
	tool := toolNamed(t, w.compiled, name)
	if err := validateArguments(w.input(t, tool), []byte(arguments)); err != nil {
		t.Errorf("%s %s: %v", name, arguments, err)
	}
	if got := runTool(t, w.runner, w.call, tool, arguments); !strings.HasPrefix(string(got.structured), want) {
		t.Errorf("%s %s: %s %s, want %s", name, arguments, got.structured, got.text, want)
	}
}
