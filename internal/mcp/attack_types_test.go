package mcp

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// What an app may have in a column: types within types, under the names of
// Postgres's own, with every value that is none.
const oddTypes = `
create domain public.few as int8[];
create domain public.part as int8;
create type public.date as enum ('soon', 'it''s "late", (x)');
create type public.inner_pair as (n int8, x numeric, f float8, d public.few, p public.part, e public.date, "Odd name" text);
create type public.outer_pair as (i public.inner_pair, list public.inner_pair[], t timestamptz, j json, m money, b bytea, y "char", span int4range);
create domain public.checked_pair as public.outer_pair;
create table public.strange (
  id int primary key, pair public.outer_pair, pairs public.outer_pair[], checked public.checked_pair, few public.few, parts public.part[], said public.date,
  floats float8[], nums numeric[], grid int8[][], flags bool[], j json, jb jsonb, doc xml, p point, v bit varying, ts tsvector, rel regclass, o oid, "char" "char", parent int references public.strange);
insert into public.strange (id) values (1);
insert into public.strange values (2,
  row(row(9007199254740993, 'NaN', 'Infinity', '{1,null,9007199254740993}', 5, 'soon', 'x')::public.inner_pair, array[null, row(null, null, null, null, null, null, null)]::public.inner_pair[], 'infinity', 'null', '$1.50', '\x00ff', 'q', 'empty')::public.outer_pair,
  array[null, row(null, '{}', null, null, null, null, null, '[1,)')]::public.outer_pair[],
  row(null, null, null, '[1]', null, null, null, null), '{}', '{null,1}', 'it''s "late", (x)',
  '{NaN,Infinity,null,-0}', '{NaN,1.10,null}', '{{1,null},{9007199254740993,4}}', '{t,f,null}', 'null', '{"a": [1, null, {"b": "NaN"}]}', '<a>x</a>', '(1,2)', '101', 'a b', 'pg_class', 5, 'z', 1);
create view public.odd_view as select id, pair, pairs, few, parts, said, nums, grid from public.strange;
grant select, insert, update, delete on public.strange, public.odd_view to authenticated;
create function public.odd_rows() returns setof public.strange language sql stable as 'select * from public.strange order by id';
create function public.odd_row() returns public.strange language sql stable as 'select * from public.strange where id = 2';
create function public.no_row() returns public.strange language sql stable as 'select * from public.strange where id = 0';
create function public.odd_pair() returns public.outer_pair language sql stable as 'select pair from public.strange where id = 2';
create function public.odd_pairs() returns setof public.outer_pair language sql stable as 'select pair from public.strange order by id';
create function public.odd_list() returns public.outer_pair[] language sql stable as 'select pairs from public.strange where id = 2';
create function public.odd_few() returns public.few language sql stable as 'select ''{1,null}''::public.few';
create function public.odd_part() returns setof public.part language sql stable as 'select unnest(array[null, 9007199254740993]::public.part[])';
create function public.odd_table() returns table (only_one numeric) language sql stable as 'values (''NaN''::numeric), (null)';
create function public.odd_out(out a int8, out b public.date) language sql stable as 'select 1::int8, ''soon''::public.date';
create function public.odd_one(out a numeric) language sql stable as 'select 1.10';
grant execute on all functions in schema public to authenticated;
`

// TestWhatAppsKeepFitsWhatClientsWereTold: clients check structured content
// against the output schema, and throw away what does not fit.
func TestWhatAppsKeepFitsWhatClientsWereTold(t *testing.T) {
	t.Parallel()
	columns := "[id, pair, pairs, checked, few, parts, said, floats, nums, grid, flags, j, jb, doc, p, v, ts, rel, o, char]"
	var file strings.Builder
	file.WriteString("version: 1\ntitle: Odd\naccess: { mode: oauth, authorization: direct }\ntools:\n" +
		"  - { table: strange, description: Odd., operations: [list, get, create, update, delete], columns: " + columns + ", write: { create: [id, pair, pairs, checked, few, parts, said, nums, grid, jb], update: [pair, said] }, " +
		"embed: { up: { table: strange, kind: one, columns: " + columns + " }, down: { table: strange, kind: many, columns: " + columns + " } } }\n" +
		"  - { table: odd_view, description: Odd., key: [id], columns: [id, pair, pairs, few, parts, said, nums, grid] }\n")
	functions := []string{"odd_rows", "odd_row", "no_row", "odd_pair", "odd_pairs", "odd_list", "odd_few", "odd_part", "odd_table", "odd_out", "odd_one"}
	for _, f := range functions {
		file.WriteString("  - { rpc: " + f + ", description: Odd. }\n")
	}
	p := startReal(t, oddTypes)
	compiled := compileFor(t, p, file.String())
	c := p.callAs(t, standin.AliceEmail)
	check := func(name, arguments string) string {
		t.Helper()
		tool := *toolNamed(t, compiled, name)
		tool.Budget = 1 << 20
		input, err := compileSchema(tool.Input)
		if err != nil {
			t.Fatal(err)
		}
		if err := validateArguments(input, []byte(arguments)); err != nil {
			t.Errorf("%s %s: %v", name, arguments, err)
		}
		got := runTool(t, p.runner, c, &tool, arguments)
		if got.isError {
			t.Errorf("%s %s: %s", name, arguments, got.text)
			return ""
		}
		if err := matches(t, tool.Output, got.structured); err != nil {
			t.Errorf("%s: %v\n%s\n%s", name, err, got.structured, tool.Output)
		}
		return string(got.structured)
	}
	check("strange_list", `{}`)
	check("strange_get", `{"id":1}`)
	check("strange_get", `{"id":2}`)
	check("odd_view_list", `{}`)
	check("odd_view_get", `{"id":2}`)
	for _, f := range functions {
		check(f, `{}`)
	}
	check("strange_create", `{"id":3,"pair":{"i":{"n":"9007199254740993","x":"1.10","e":"soon"},"t":"2026-01-02T03:04:05Z","j":{"a":1}},"pairs":[{"m":"$2.00"}],"checked":{"span":"[1,5)"},"few":[1,"2"],"parts":["3"],"said":"soon","nums":["1.10",2],"grid":[1],"jb":[null]}`)
	check("strange_update", `{"id":3,"patch":{"pair":{"i":{"f":1.5}},"said":"it's \"late\", (x)"}}`)
	check("strange_delete", `{"id":3}`)
}
