package mcp

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const shapeTypes = `
create type public.mood as enum ('sad', 'so "so"', 'happy');
create type public.money_of as (amount numeric, currency text);
create type public.deal as (id bigint, price public.money_of, moods public.mood[], history bigint[]);
create domain public.positive as int8 check (value > 0);
create table public.shaped (id bigint primary key, label text, price public.money_of);
alter table public.shaped enable row level security;
create policy everybody on public.shaped for select to authenticated using (true);
grant select on public.shaped to authenticated;
insert into public.shaped values (9007199254740993, 'a', (1.10, 'EUR')), (2, null, null);
`

// shape is a function, and what a call of it gives.
type shape struct {
	name, sql  string // create function public.<name> <sql>
	arguments  string
	structured string
	text       string
}

func shapes() []shape {
	return []shape{
		{"nothing", `() returns void language sql as 'select 1'`, `{}`, `{"ok":true}`, "Done."},
		{"nothing_stable", `() returns void language plpgsql stable as 'begin end'`, `{}`, `{"ok":true}`, "Done."},
		{"number", `(v int4) returns int4 language sql immutable as 'select v'`, `{"v":-5}`, `{"result":-5}`, "-5"},
		{"no_number", `() returns int4 language sql stable as 'select null::int4'`, `{}`, `{"result":null}`, "null"},
		{"long_number", `(v int8) returns int8 language sql stable as 'select v'`, `{"v":"9007199254740993"}`, `{"result":"9007199254740993"}`, "9007199254740993"},
		{"long_number_as_such", `(v int8) returns int8 language sql stable as 'select v'`, `{"v":-9223372036854775808}`, `{"result":"-9223372036854775808"}`, "-9223372036854775808"},
		{"decimal", `(v numeric) returns numeric language sql stable as 'select v'`, `{"v":"12345678901234567890.1234567890"}`, `{"result":"12345678901234567890.1234567890"}`, "12345678901234567890.1234567890"},
		{"no_decimal", `() returns numeric language sql stable as $$select 'NaN'::numeric$$`, `{}`, `{"result":"NaN"}`, "NaN"},
		{"a_float", `(v float8) returns float8 language sql stable as 'select v'`, `{"v":0.30000000000000004}`, `{"result":0.30000000000000004}`, "0.30000000000000004"},
		{"no_float", `() returns float8 language sql stable as $$select '-Infinity'::float8$$`, `{}`, `{"result":"-Infinity"}`, "-Infinity"},
		{"a_domain", `(v public.positive) returns public.positive language sql stable as 'select v'`, `{"v":"9007199254740993"}`, `{"result":"9007199254740993"}`, "9007199254740993"},
		{"yes", `(v bool) returns bool language sql stable as 'select not v'`, `{"v":false}`, `{"result":true}`, "true"},
		{"words", `(v text) returns text language sql stable as 'select v'`, `{"v":"is.null"}`, `{"result":"is.null"}`, "is.null"},
		{"more_words", `(v text) returns text language sql stable as 'select v'`, `{"v":"a\n\t\"b\\\u0007\u202ec"}`, `{"result":"a\n\t\"b\\\u0007` + "\u202e" + `c"}`, "a\n\t\"b\\c"},
		{"no_words", `(v text default 'none') returns text language sql stable as 'select v'`, `{}`, `{"result":"none"}`, "none"},
		{"a_mood", `(v public.mood) returns public.mood language sql stable as 'select v'`, `{"v":"so \"so\""}`, `{"result":"so \"so\""}`, `so "so"`},
		{"moods", `(v public.mood[]) returns public.mood[] language sql stable as 'select v'`, `{"v":["happy","so \"so\""]}`, `{"result":["happy","so \"so\""]}`, `["happy","so \"so\""]`},
		{"bytes", `(v bytea) returns bytea language sql stable as 'select v'`, `{"v":"\\x00ff"}`, `{"result":"\\x00ff"}`, `\x00ff`},
		{"a_time", `(v timestamptz) returns timestamptz language sql stable as 'select v'`, `{"v":"2026-01-02T03:04:05.123456+02:00"}`, `{"result":"2026-01-02T01:04:05.123456+00:00"}`, "2026-01-02T01:04:05.123456+00:00"},
		{"a_json", `(v json) returns json language sql stable as 'select v'`, `{"v":{"b": 1.10, "a":[9007199254740993 , null]}}`, `{"result":{"b":1.10,"a":[9007199254740993,null]}}`, `{"b":1.10,"a":[9007199254740993,null]}`},
		{"a_jsonb", `(v jsonb) returns jsonb language sql stable as 'select v'`, `{"v":"text"}`, `{"result":"text"}`, "text"},
		{"jsonb_null", `(v jsonb) returns text language sql stable as 'select jsonb_typeof(v)'`, `{"v":null}`, `{"result":null}`, "null"},
		{"jsonb_list", `() returns jsonb language sql stable as $$select '[1, {"a": 2}]'::jsonb$$`, `{}`, `{"result":[1,{"a":2}]}`, `[1,{"a":2}]`},
		{"long_list", `(v int8[]) returns int8[] language sql stable as 'select v'`, `{"v":[9007199254740993,"-1"]}`, `{"result":["9007199254740993","-1"]}`, `[9007199254740993,-1]`},
		{"some_numbers", `(n int4) returns setof int4 language sql stable as 'select generate_series(1, n)'`, `{"n":3}`, `{"items":[1,2,3]}`, "1\n2\n3\n3 rows."},
		{"no_numbers", `() returns setof int4 language sql stable as 'select 1 where false'`, `{}`, `{"items":[]}`, "0 rows."},
		{"long_numbers", `() returns setof int8 language sql stable as 'values (9007199254740993), (null)'`, `{}`, `{"items":["9007199254740993",null]}`, "9007199254740993\nnull\n2 rows."},
		{"some_json", `() returns setof jsonb language sql stable as $$values ('{"a":1}'::jsonb), ('null'), (null)$$`, `{}`, `{"items":[{"a":1},null,null]}`, "{\"a\":1}\nnull\nnull\n3 rows."},
		{"a_row", `(id int8) returns public.shaped language sql stable as 'select * from public.shaped s where s.id = $1'`, `{"id":"9007199254740993"}`,
			`{"id":"9007199254740993","label":"a","price":{"amount":1.10,"currency":"EUR"}}`, "id: 9007199254740993\nlabel: a\nprice: {\"amount\":1.10,\"currency\":\"EUR\"}"},
		{"no_row", `() returns public.shaped language sql stable as 'select * from public.shaped where false'`, `{}`, `{"id":null,"label":null,"price":null}`, "id: null\nlabel: null\nprice: null"},
		{"some_rows", `() returns setof public.shaped language sql stable as 'select * from public.shaped order by id desc'`, `{}`,
			`{"items":[{"id":"9007199254740993","label":"a","price":{"amount":1.10,"currency":"EUR"}},{"id":"2","label":null,"price":null}]}`,
			"id\tlabel\tprice\n9007199254740993\ta\t{\"amount\":1.10,\"currency\":\"EUR\"}\n2\tnull\tnull\n2 rows."},
		{"a_deal", `(v public.deal) returns public.deal language sql stable as 'select v'`, `{"v":{"id":9007199254740993,"price":{"amount":"1.10","currency":"EUR"},"moods":["sad"],"history":[9007199254740993]}}`,
			`{"id":"9007199254740993","price":{"amount":1.10,"currency":"EUR"},"moods":["sad"],"history":["9007199254740993"]}`,
			"id: 9007199254740993\nprice: {\"amount\":1.10,\"currency\":\"EUR\"}\nmoods: [\"sad\"]\nhistory: [9007199254740993]"},
		{"no_deal", `() returns public.deal language sql stable as 'select null::public.deal'`, `{}`, `{"id":null,"price":null,"moods":null,"history":null}`, "id: null\nprice: null\nmoods: null\nhistory: null"},
		{"deals", `() returns public.deal[] language sql stable as $$select array[row(9007199254740993, null, null, null)::public.deal]$$`, `{}`,
			`{"result":[{"id":9007199254740993,"price":null,"moods":null,"history":null}]}`, `[{"id":9007199254740993,"price":null,"moods":null,"history":null}]`},
		{"a_table", `(n int4) returns table (number int8, "Odd Name" text) language sql stable as $$select g, 'x' || g from generate_series(1, n) g$$`, `{"n":2}`,
			`{"items":[{"number":"1","Odd Name":"x1"},{"number":"2","Odd Name":"x2"}]}`, "number\tOdd Name\n1\tx1\n2\tx2\n2 rows."},
		{"empty_table", `() returns table (number int8) language sql stable as 'select 1 where false'`, `{}`, `{"items":[]}`, "0 rows."},
		{"out_one", `(v int8, out twice int8) language sql stable as 'select v * 2'`, `{"v":4503599627370497}`, `{"twice":"9007199254740994"}`, "twice: 9007199254740994"},
		{"out_two", `(inout v int4, out twice int8) language sql stable as 'select v, v::int8 * 2'`, `{"v":2}`, `{"v":2,"twice":"4"}`, "v: 2\ntwice: 4"},
		{"out_set", `(out a int4, out b text) returns setof record language sql stable as $$values (1, 'x'), (2, null)$$`, `{}`, `{"items":[{"a":1,"b":"x"},{"a":2,"b":null}]}`, "a\tb\n1\tx\n2\tnull\n2 rows."},
		{"a_record", `() returns record language sql stable as $$select 9007199254740993 as a, 'x'::text as b$$`, `{}`, `{"a":9007199254740993,"b":"x"}`, `{"a":9007199254740993,"b":"x"}`},
		{"variadic_words", `(separator text, variadic words text[]) returns text language sql stable as 'select array_to_string(words, separator)'`, `{"separator":"-","words":["a","b,c","{d}"]}`, `{"result":"a-b,c-{d}"}`, "a-b,c-{d}"},
		{"exact_names", `("Upper" text, "limit" text, "a.b" text, "select" text) returns text language sql stable as 'select $1 || $2 || $3 || $4'`, `{"Upper":"1","limit":"2","a.b":"3","select":"4"}`, `{"result":"1234"}`, "1234"},
		{"Quoted Function", `(v text) returns text language sql stable as 'select v'`, `{"v":"q"}`, `{"result":"q"}`, "q"},
		{"it_writes", `() returns text language plpgsql as $$begin perform set_config('chumbo.test', 'x', true); return current_setting('transaction_read_only'); end$$`, `{}`, `{"result":"off"}`, "off"},
		{"it_reads", `() returns text language sql stable as $$select current_setting('transaction_read_only')$$`, `{}`, `{"result":"on"}`, "on"},
	}
}

// TestEveryShapeOfAFunctionsAnswer publishes a function of every shape and holds
// what a call gives against its output schema as well.
func TestEveryShapeOfAFunctionsAnswer(t *testing.T) {
	t.Parallel()
	var sql, file strings.Builder
	sql.WriteString(shapeTypes)
	file.WriteString("version: 1\ntitle: Shapes\naccess: { mode: oauth, authorization: direct }\ntools:\n")
	toolName := func(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "_") }
	for _, s := range shapes() {
		fmt.Fprintf(&sql, "create function public.%s %s;\n", pgx.Identifier{s.name}.Sanitize(), s.sql)
		fmt.Fprintf(&file, "  - { tool: %s, rpc: %q, description: A function. }\n", toolName(s.name), s.name)
	}
	sql.WriteString("create function public.unnamed_json(json) returns json language sql stable as 'select $1'; create function public.half_named(a text, text) returns text language sql stable as 'select a';\n")
	sql.WriteString("grant execute on all functions in schema public to authenticated;\n")
	p := startReal(t, sql.String())
	compiled := compileFor(t, p, file.String())
	c := p.callAs(t, standin.AliceEmail)
	for _, s := range shapes() {
		tool := toolNamed(t, compiled, toolName(s.name))
		input, err := compileSchema(tool.Input)
		if err != nil {
			t.Fatal(err)
		}
		if s.name != "jsonb_null" {
			if err := validateArguments(input, []byte(s.arguments)); err != nil {
				t.Errorf("%s: arguments %v", s.name, err)
			}
		}
		got := runTool(t, p.runner, c, tool, s.arguments)
		if got.isError || string(got.structured) != s.structured || got.text != s.text {
			t.Errorf("%s:\n got %s\nwant %s\n got %q\nwant %q", s.name, got.structured, s.structured, got.text, s.text)
		}
		if err := matches(t, tool.Output, got.structured); err != nil {
			t.Errorf("%s: %v\n%s", s.name, err, tool.Output)
		}
		if volatile := s.name == "nothing" || s.name == "it_writes"; tool.RPC.ReadOnly == volatile || tool.Annotations.ReadOnly == volatile {
			t.Errorf("%s: read-only %v", s.name, tool.RPC.ReadOnly)
		}
	}
	for _, r := range p.RequestsTo("/rest/v1/rpc/") {
		if r.Method != http.MethodPost || r.RawQuery != "" {
			t.Errorf("%s %s", r.Method, r.Path)
		}
	}
	for _, name := range []string{"unnamed_json", "half_named"} {
		problems := problemsOf(t, p, strings.Split(file.String(), "  - ")[0]+"  - { tool: x, rpc: "+name+", description: A function. }\n")
		if len(problems) == 0 || !strings.Contains(problems[0].Message, "an argument without a name") {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func problemsOf(t *testing.T, p *realProject, src string) []surfaces.Problem {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	snap, err := surfaces.ImportPostgres(t.Context(), conn, surfaces.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, problems := surfaces.Compile([]byte(src), snap, surfaces.ProjectFacts{Signing: surfaces.SigningAsymmetric})
	return problems
}

// TestRowsThatTheDataAPIMayHaveCut: as many rows as it returns at most may not
// be all of them, and a model must not count on it.
func TestRowsThatTheDataAPIMayHaveCut(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{2: `{"items":["0","1"]}`, 3: `{"items":["0","1","2"],"truncated":true}`} {
		var body []string
		for i := range n {
			body = append(body, strconv.Itoa(i))
		}
		column := &surfaces.Column{Name: "result", SQLType: "int8", JSON: surfaces.JSONString, AsText: true}
		tc := &toolCall{tool: &surfaces.Tool{Name: "numbers", Budget: surfaces.DefaultBudget}}
		p, err := tc.rpcPage(surfaces.Returns{Kind: surfaces.ReturnsScalars, Scalar: column, MaxRows: 3}, []byte("["+strings.Join(body, ",")+"]"))
		if err != nil || string(p.structured) != want || strings.Contains(p.text, "others") != (n == 3) {
			t.Errorf("%d rows: %v, %s", n, err, p.structured)
		}
	}
}

func TestNumbersInListsKeepEveryDigit(t *testing.T) {
	t.Parallel()
	bigints := &surfaces.Column{Name: "n", SQLType: "int8[]", JSON: surfaces.JSONArray}
	if got := string(appendValue(nil, token(`[9007199254740993, null, [-1, 2]]`), bigints)); got != `["9007199254740993",null,["-1","2"]]` {
		t.Error(got)
	}
	if got := string(appendValue(nil, token(`[1, 2]`), &surfaces.Column{Name: "n", SQLType: "int4[]", JSON: surfaces.JSONArray})); got != `[1,2]` {
		t.Error(got)
	}
}
