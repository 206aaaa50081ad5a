package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// paperTables are what the tests of writes write: papers of an organization,
// which a member sees and may change unless they are locked, seats with a key of
// two columns, and marks that only say they were made.
const paperTables = `
create type public.mood as enum ('low', 'high', 'so "so", \ or not');
create type public.format as (width int, height bigint);
create domain public.short as text check (length(value) < 10);
create function private.my_organization() returns uuid language sql stable security definer set search_path = '' as $$
  select organization_id from public.memberships where user_id = auth.uid() $$;
grant execute on function private.my_organization() to authenticated;
create table public.papers (
  id bigint generated always as identity primary key,
  organization_id uuid not null default private.my_organization() references public.organizations (id),
  title text not null check (title <> 'forbidden'),
  counted int not null default 0,
  mood public.mood default 'low', labels text[], numbers bigint[], grid int[], moods public.mood[], data jsonb, raw json, blob bytea,
  amount numeric, big bigint, small int2, ratio float8, flag boolean, at timestamptz, local timestamp, day date, clock time, span interval,
  period tstzrange, ints int4range, ident uuid, address inet, code varchar(4), fmt public.format, nick public.short,
  request_id uuid unique, email text,
  locked boolean not null default false,
  version int not null default 1, stamp uuid not null default gen_random_uuid(), moved timestamptz, updated_at timestamptz not null default now(),
  unique (organization_id, email));
alter table public.papers enable row level security;
create policy reading on public.papers for select to authenticated using (organization_id in (select private.my_organizations()));
create policy adding on public.papers for insert to authenticated with check (organization_id in (select private.my_organizations()));
create policy changing on public.papers for update to authenticated
  using (organization_id in (select private.my_organizations()) and not locked) with check (organization_id in (select private.my_organizations()));
create policy removing on public.papers for delete to authenticated using (organization_id in (select private.my_organizations()) and not locked);
grant select, insert, update, delete on public.papers to authenticated;

create table public.seats (hall text, number int, holder text, primary key (hall, number));
alter table public.seats enable row level security;
create policy everybody on public.seats to authenticated using (true) with check (true);
grant select, insert, update, delete on public.seats to authenticated;
insert into public.seats select hall, n, null from unnest(array['', 'a', 'b', 'null', '{a,b}', ') or (true']) hall, generate_series(1, 4) n;

create table public.marks (id bigint generated always as identity primary key, word text not null, made_by uuid, team text, source text, extra jsonb, big bigint);
alter table public.marks enable row level security;
create policy adding on public.marks for insert to authenticated with check (true);
grant insert on public.marks to authenticated;

create view public.grouped as select title, count(*) from public.papers group by title;
grant select, insert, update, delete on public.grouped to authenticated;
create function public.mark_volatile() returns text language sql as $$ insert into public.marks (word) values ('called') returning word $$;
alter function public.mark_volatile() security definer;
create function public.refuses() returns trigger language plpgsql as $$ begin
  if new.title = 'raise' then raise exception 'No more papers today.'; end if;
  if new.title = 'dropped' then return null; end if;
  return new; end $$;
create trigger refuses before insert or update on public.papers for each row execute function public.refuses();
`

// acme and globex are the organizations of Alice and Bob.
const (
	acme   = "ac3e0000-0000-4000-8000-00000000000a"
	globex = "910be000-0000-4000-8000-00000000000b"
)

// paperTools is every writing tool on papers as the owner of an app would write
// it down; columns are those that come back.
const paperTools = `
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: papers
    operations: [list, get, create, update, delete]
    columns: [id, title, counted, email, mood, labels, numbers, grid, moods, data, raw, blob, amount, big, small, ratio, flag, at, local, day, clock, span, period, ints, ident, address, code, fmt, nick]
    write:
      title: { max_length: 200000 }
      counted:
      email: { "null": true }
      mood: { "null": true }
      labels: { "null": true }
      numbers: { "null": true }
      grid: { "null": true }
      moods: { "null": true }
      data: { "null": true }
      raw: { "null": true }
      blob: { "null": true }
      amount: { "null": true }
      big: { "null": true }
      small: { "null": true }
      ratio: { "null": true }
      flag: { "null": true }
      at: { "null": true }
      local: { "null": true }
      day: { "null": true }
      clock: { "null": true }
      span: { "null": true }
      period: { "null": true }
      ints: { "null": true }
      ident: { "null": true }
      address: { "null": true }
      code: { "null": true }
      fmt: { "null": true }
      nick: { "null": true }
`

// writeWorld is a project with papers, and one tool for each operation.
type writeWorld struct {
	*realProject
	t       *testing.T
	pool    *pgxpool.Pool
	schemas map[string]*jsonschema.Schema // compiled, by their text
}

func newWriteWorld(t *testing.T, more ...string) *writeWorld {
	t.Helper()
	p := startReal(t, paperTables+strings.Join(more, ""))
	pool, err := pgxpool.New(t.Context(), p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &writeWorld{realProject: p, t: t, pool: pool, schemas: map[string]*jsonschema.Schema{}}
}

// text is one value that the database's owner reads.
func (w *writeWorld) text(sql string, args ...any) string {
	w.t.Helper()
	var v *string
	if err := w.pool.QueryRow(w.t.Context(), sql, args...).Scan(&v); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	if v == nil {
		return "NULL"
	}
	return *v
}

// all is every row of the tables that writes may touch.
func (w *writeWorld) all() string {
	w.t.Helper()
	return w.text(`select coalesce((select string_agg(p::text, '|' order by id) from public.papers p), '') || (select string_agg(s::text, '|' order by hall, number) from public.seats s)`)
}

// paper makes a paper as the database's owner, and is its id.
func (w *writeWorld) paper(organization, more string) string {
	w.t.Helper()
	columns, values := "organization_id, title", "'"+organization+"', 'A paper'"
	if more != "" {
		name, value, _ := strings.Cut(more, "=")
		columns, values = columns+", "+name, values+", "+value
	}
	return w.text("insert into public.papers (" + columns + ") values (" + values + ") returning id::text")
}

func (w *writeWorld) compiled(src string) map[string]*surfaces.Tool {
	w.t.Helper()
	compiled := compileFor(w.t, w.realProject, src)
	tools := map[string]*surfaces.Tool{}
	for i := range compiled.Tools {
		tools[strings.TrimPrefix(compiled.Tools[i].Name, "papers_")] = &compiled.Tools[i]
	}
	return tools
}

// valid runs a tool after its input schema took the arguments, and holds the
// structure against its output schema.
func (w *writeWorld) valid(t *testing.T, c *call, tool *surfaces.Tool, arguments string) ran {
	t.Helper()
	if err := validateArguments(w.schema(t, tool.Input), []byte(arguments)); err != nil {
		t.Fatalf("%s does not take %s: %v", tool.Name, arguments, err)
	}
	got := runTool(t, w.runner, c, tool, arguments)
	if got.structured != nil && tool.Output != nil {
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.structured))
		if err == nil {
			err = w.schema(t, tool.Output).Validate(instance)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", tool.Name, err, got.structured)
		}
	}
	return got
}

func (w *writeWorld) schema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	if w.schemas[string(text)] == nil {
		schema, err := compileSchema(text)
		if err != nil {
			t.Fatal(err)
		}
		w.schemas[string(text)] = schema
	}
	return w.schemas[string(text)]
}

func (r ran) member(name string) string {
	return string(memberOf(r.structured, name))
}

func TestWrittenValuesComeBackExactly(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	tools := w.compiled(paperTools)
	c := w.callAs(t, standin.AliceEmail)
	for _, v := range []struct{ column, given, want, sql string }{ // want empty: as given; sql: what the database holds, where that says more
		{"title", `"a \"b\" \\ , {c} 日本語 ' ; --"`, "", ""},
		{"title", `""`, "", ""}, {"title", `"null"`, "", ""}, {"title", `"NULL"`, "", ""}, {"title", `" "`, "", ""},
		{"mood", `"so \"so\", \\ or not"`, "", ""}, {"mood", `null`, "", "NULL"},
		{"labels", `["a,b","{c}","\"","\\","","null"," "]`, "", ""}, {"labels", `[]`, "", "{}"}, {"labels", `null`, "", "NULL"},
		{"numbers", `["9007199254740993",-9223372036854775808]`, `["9007199254740993","-9223372036854775808"]`, ""},
		{"moods", `["low","so \"so\", \\ or not"]`, "", ""},
		{"grid", `[1,2]`, "", ""},
		{"data", `{"b":1,"a":[null,{"x":"\u0001"}],"n":12345678901234567890.123456789}`, `{"a":[null,{"x":"\u0001"}],"b":1,"n":12345678901234567890.123456789}`, ""},
		{"data", `null`, "", "NULL"}, {"data", `"null"`, "", `"null"`}, {"data", `[]`, "", ""}, {"data", `false`, "", ""}, {"data", `0`, "", ""}, {"data", `""`, "", `""`},
		{"raw", `{"z":1.00,"a":[1, 2]}`, `{"z":1.00,"a":[1,2]}`, ""},
		{"blob", `"\\x00ff10"`, "", `\x00ff10`}, {"blob", `"\\x"`, "", `\x`},
		{"amount", `"12345678901234567890.1234567890"`, "", ""}, {"amount", `7`, `"7"`, ""}, {"amount", `"-0.10"`, "", ""},
		{"big", `"9223372036854775807"`, "", ""}, {"big", `9007199254740993`, `"9007199254740993"`, ""}, {"big", `0`, `"0"`, ""},
		{"small", `-32768`, "", ""}, {"ratio", `0.1`, "", ""}, {"ratio", `1e300`, "1e+300", ""}, {"flag", `false`, "", ""}, {"flag", `null`, "", "NULL"},
		{"at", `"2026-01-31T12:00:00.123456+02:00"`, `"2026-01-31T10:00:00.123456+00:00"`, ""}, {"at", `"infinity"`, "", ""},
		{"local", `"2026-01-31T12:00:00.123456"`, "", ""}, {"day", `"2026-02-28"`, "", ""}, {"clock", `"23:59:59.999999"`, "", ""},
		{"span", `"1 mon 2 days 03:00:00"`, "", ""},
		{"ints", `"[1,5)"`, "", ""}, {"ints", `"empty"`, "", ""}, {"period", `"[\"2026-01-01 00:00:00+00\",)"`, "", ""},
		{"ident", `"A11CE000-0000-4000-8000-00000000000A"`, `"a11ce000-0000-4000-8000-00000000000a"`, ""},
		{"address", `"10.0.0.1/8"`, "", ""}, {"code", `"abcd"`, "", ""}, {"nick", `"al"`, "", ""},
		{"fmt", `{"width":3,"height":9007199254740993}`, "", ""},
	} {
		want := v.want
		if want == "" {
			want = v.given
		}
		same := func(how, got string) {
			t.Helper()
			if got != want {
				t.Errorf("%s %s, %s: %s, want %s", v.column, v.given, how, got, want)
			}
		}
		arguments := `{"title":"x","` + v.column + `":` + v.given + `}`
		if v.column == "title" {
			arguments = `{"title":` + v.given + `}`
		}
		made := w.valid(t, c, tools["create"], arguments)
		if made.isError {
			t.Errorf("%s %s: %s", v.column, v.given, made.text)
			continue
		}
		id := made.member("id")
		same("created", made.member(v.column))
		if v.sql != "" {
			if got := w.text(`select (to_jsonb(p)->>$1) from (select id, `+v.column+`::text from public.papers) p where id = `+strings.Trim(id, `"`), v.column); got != v.sql {
				t.Errorf("%s %s: the database holds %s, want %s", v.column, v.given, got, v.sql)
			}
		}
		same("read", w.valid(t, c, tools["get"], `{"id":`+id+`}`).member(v.column))
		other := w.valid(t, c, tools["create"], `{"title":"x"}`).member("id")
		same("updated", w.valid(t, c, tools["update"], `{"id":`+other+`,"patch":{"`+v.column+`":`+v.given+`}}`).member(v.column))
		same("deleted", w.valid(t, c, tools["delete"], `{"id":`+other+`}`).member(v.column))
	}
	if n := w.text(`select count(*)::text from public.papers where organization_id <> $1`, acme); n != "0" {
		t.Errorf("%s papers of others", n)
	}
}

func TestWritesInEveryForm(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	c := w.callAs(t, standin.AliceEmail)
	const form = `
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: papers
    operations: [create, update, delete]
    columns: [id, title, big]
    write: { title: { max_length: 200000 }, big: { "null": true } }
    shorten: [title]
    budget: 1000
    guidance: { before: "Told before.", after: "Told after." }
`
	for name, more := range map[string]string{"hybrid": "", "structured": "    result: structured\n", "text": "    result: text\n    template: \"Paper {{id}}: {{title}}\"\n"} {
		t.Run(name, func(t *testing.T) {
			tools := w.compiled(form + more)
			made := w.valid(t, c, tools["create"], `{"title":"one","big":9007199254740993}`)
			id := w.text(`select max(id)::text from public.papers where title = 'one'`)
			row := func(title string) string {
				return `{"id":"` + id + `","title":"` + title + `","big":"9007199254740993"}`
			}
			fields := func(title string) string { return "id: " + id + "\ntitle: " + title + "\nbig: 9007199254740993" }
			check := func(got ran, outcome, title string) {
				t.Helper()
				text, structured := outcome+"\nTold before.\n"+fields(title)+"\nTold after.", row(title)
				switch name {
				case "structured":
					text = structured
				case "text":
					text, structured = outcome+"\nTold before.\nPaper "+id+": "+title+"\nTold after.", ""
				}
				if got.isError || got.text != text || string(got.structured) != structured {
					t.Errorf("%q\n%s\nwant %q\n%s", got.text, got.structured, text, structured)
				}
			}
			check(made, "Created.", "one")
			check(w.valid(t, c, tools["update"], `{"id":"`+id+`","patch":{"title":"two"}}`), "Updated.", "two")
			check(w.valid(t, c, tools["delete"], `{"id":"`+id+`"}`), "Deleted.", "two")

			// A row that no page holds: shortened, then its key, and never an error.
			long := w.valid(t, c, tools["create"], `{"title":"`+strings.Repeat("y", 100_000)+`"}`)
			if long.isError || len(long.text)+len(long.structured) > 1000 || !strings.Contains(long.text, "yyy…(100000 bytes)") {
				t.Errorf("%q %s", long.text, long.structured)
			}
			tools = w.compiled(strings.Replace(form, "    shorten: [title]\n", "", 1) + more)
			long = w.valid(t, c, tools["create"], `{"title":"`+strings.Repeat("z", 100_000)+`"}`)
			id = w.text(`select max(id)::text from public.papers where title like 'zzz%'`)
			text, structured := "Created. The row is too large to be shown here; this is its key.\nid: "+id, `{"id":"`+id+`"}`
			switch name {
			case "structured":
				text = structured
			case "text":
				structured = ""
			}
			if long.isError || long.text != text || string(long.structured) != structured {
				t.Errorf("%q %s", long.text, long.structured)
			}
		})
	}
	t.Run("nothing is read back", func(t *testing.T) {
		tools := w.compiled(`
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: marks
    operations: [create]
    write: [word]
`)
		got := w.valid(t, c, tools["marks_create"], `{"word":"x"}`)
		if got.isError || got.text != "Created." || string(got.structured) != `{"ok":true}` || w.text(`select count(*)::text from public.marks where word = 'x'`) != "1" {
			t.Errorf("%q %s", got.text, got.structured)
		}
	})
}

// TestAliceAndBobWriteTheirOwnRows: rows of others can neither be written nor
// told from rows that never were.
func TestAliceAndBobWriteTheirOwnRows(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	tools := w.compiled(`
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: papers
    operations: [create, update, delete]
    columns: [id, title, organization_id, version]
    write: [title, organization_id, email]
    guard: version
`)
	alice, bob := w.callAs(t, standin.AliceEmail), w.callAs(t, standin.BobEmail)
	id := w.paper(acme, "")
	before := w.all()
	for _, arguments := range []string{`{"id":%q,"version":1,"patch":{"title":"mine"}}`, `{"id":%q,"version":2,"patch":{"title":"mine"}}`, `{"id":%q,"version":1,"patch":{"organization_id":"` + globex + `"}}`} {
		hidden := runTool(t, w.runner, bob, tools["update"], fmt.Sprintf(arguments, id))
		missing := runTool(t, w.runner, bob, tools["update"], fmt.Sprintf(arguments, "999999999"))
		if hidden.kind() != "not_found" || hidden.text != missing.text {
			t.Errorf("%s\n%s", hidden.text, missing.text)
		}
	}
	for _, arguments := range []string{`{"id":%q,"version":1}`, `{"id":%q,"version":7}`} {
		hidden := runTool(t, w.runner, bob, tools["delete"], fmt.Sprintf(arguments, id))
		missing := runTool(t, w.runner, bob, tools["delete"], fmt.Sprintf(arguments, "999999999"))
		if hidden.kind() != "not_found" || hidden.text != missing.text {
			t.Errorf("%s\n%s", hidden.text, missing.text)
		}
	}
	for name, got := range map[string]ran{
		"into the other's organization": runTool(t, w.runner, bob, tools["create"], `{"title":"x","organization_id":"`+acme+`"}`),
		"into one that is not there":    runTool(t, w.runner, bob, tools["create"], `{"title":"x","organization_id":"00000000-0000-4000-8000-000000000000"}`),
		"moved away":                    runTool(t, w.runner, alice, tools["update"], `{"id":"`+id+`","version":1,"patch":{"organization_id":"`+globex+`"}}`),
	} {
		if got.kind() != "forbidden" || !strings.Contains(got.text, "Nothing was changed") {
			t.Errorf("%s: %s", name, got.text)
		}
	}
	if w.all() != before {
		t.Fatal("rows changed")
	}
	// One's own rows, of many callers at once.
	ids := map[string]string{standin.AliceEmail: id, standin.BobEmail: w.paper(globex, "")}
	var wait sync.WaitGroup
	for worker := range 4 {
		email := []string{standin.AliceEmail, standin.BobEmail}[worker%2]
		c := w.callAs(t, email)
		wait.Go(func() {
			for i := range 20 {
				other := ids[standin.AliceEmail]
				if email == standin.AliceEmail {
					other = ids[standin.BobEmail]
				}
				if got := runTool(t, w.runner, c, tools["update"], `{"id":"`+other+`","version":1,"patch":{"title":"stolen"}}`); got.kind() != "not_found" {
					t.Errorf("%s writes another's row: %s", email, got.text)
				}
				if got := runTool(t, w.runner, c, tools["create"], fmt.Sprintf(`{"title":"%s %d","organization_id":%q}`, email, i, map[string]string{standin.AliceEmail: acme, standin.BobEmail: globex}[email])); got.isError || !strings.Contains(got.text, email) {
					t.Errorf("%s: %s", email, got.text)
				}
			}
		})
	}
	wait.Wait()
	if got := w.text(`select string_agg(distinct organization_id || ' ' || split_part(title, ' ', 1), ', ' order by organization_id || ' ' || split_part(title, ' ', 1)) from public.papers where title like '%@%'`); got != globex+" "+standin.BobEmail+", "+acme+" "+standin.AliceEmail {
		t.Error(got)
	}
	if got := w.text(`select count(*)::text from public.papers where title = 'stolen'`); got != "0" {
		t.Errorf("%s rows stolen", got)
	}
}

func TestSeeingIsNotChanging(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	tools := w.compiled(paperTools)
	c := w.callAs(t, standin.AliceEmail)
	id := w.paper(acme, "locked=true")
	for name, arguments := range map[string]string{"update": `{"id":"` + id + `","patch":{"title":"x"}}`, "delete": `{"id":"` + id + `"}`} {
		got := w.valid(t, c, tools[name], arguments)
		if got.kind() != "forbidden" || !strings.Contains(got.text, "You may see this row, but not") {
			t.Errorf("%s: %s", name, got.text)
		}
	}
}

// TestField72_NothingBeyondTheOneRow tries every input that could name more than
// one row, past the schema that refuses most of it.
func TestField72_NothingBeyondTheOneRow(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	tools := w.compiled(`
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: papers
    operations: [update, delete]
    columns: [id, title, version]
    write: [title]
    guard: { delete: version }
  - table: seats
    operations: [update, delete]
    columns: [hall, number, holder]
    write: [holder]
`)
	c := w.callAs(t, standin.AliceEmail)
	for range 3 {
		w.paper(acme, "")
	}
	hostile := []string{
		`null`, `""`, `[]`, `[1]`, `["1","2"]`, `{}`, `{"gt":0}`, `true`, `"*"`, `"%"`, `"null"`, `"not.is.null"`, `"gt.0"`, `"1,2"`, `"(1,2)"`, `"{1,2}"`, `"1) or (true"`,
		`"1&or=(id.gt.0)"`, `"1 or 1=1"`, `"0"`, `"-1"`, `1.5`, `1e3`, `"1\u0000"`, `"\u00002"`, `"%31"`, `"1#"`, `"1;2"`, `"1\n2"`, `"99999999999999999999999999"`, `"NaN"`, `"eq.1"`,
	}
	before := w.all()
	refused := func(tool, arguments string) {
		t.Helper()
		res, err := w.runner.run(t.Context(), c, tools[tool], []byte(arguments))
		if err == nil && !res.IsError {
			t.Errorf("%s %s is done", tool, arguments)
		}
		if now := w.all(); now != before {
			t.Fatalf("%s %s changed rows", tool, arguments)
		}
	}
	for _, v := range hostile {
		refused("update", `{"id":`+v+`,"patch":{"title":"x"}}`)
		refused("delete", `{"id":`+v+`,"version":1}`)
		refused("update", `{"id":"1","patch":`+v+`}`)
		refused("seats_update", `{"hall":"a","number":`+v+`,"patch":{"holder":"x"}}`)
		refused("seats_delete", `{"hall":"a","number":`+v+`}`)
		if !slices.Contains([]string{`""`, `"null"`}, v) { // halls that are there
			refused("seats_update", `{"hall":`+v+`,"number":1,"patch":{"holder":"x"}}`)
			refused("seats_delete", `{"hall":`+v+`,"number":1}`)
		}
	}
	for _, arguments := range []string{
		`{}`, `null`, `[]`, `{"id":"1"}`, `{"patch":{"title":"x"}}`, `{"id":"1","patch":{}}`, `{"id":"1","patch":{"title":null}}`, `{"id":"1","patch":{"title":"x","title":"y"}}`,
		`{"id":"1","id":"2","patch":{"title":"x"}}`, `{"id":"1","patch":{"title":"x"},"title":"y"}`, `{"id":"1","patch":{"title":"x","id":"2"}}`, `{"id":"1","patch":{"title":"x","version":9}}`,
		`{"id":"1","patch":{"Title":"x"}}`, `{"ID":"1","patch":{"title":"x"}}`, `{"id":"1","patch":{"title":"x"},"or":"(id.gt.0)"}`, `{"id":"1","patch":{"title":"x","organization_id":"` + globex + `"}}`,
	} {
		refused("update", arguments)
	}
	for _, arguments := range []string{`{}`, `{"version":1}`, `{"id":"1"}`, `{"id":"1","version":null}`, `{"id":"1","version":[1]}`, `{"id":"1","version":1.5}`, `{"id":"1","version":"1 or true"}`, `{"id":"1","version":1,"or":"x"}`} {
		refused("delete", arguments)
	}
	for _, arguments := range []string{`{"hall":"a"}`, `{"number":1}`, `{}`, `{"hall":"a","number":null}`, `{"hall":null,"number":1}`, `{"hall":"a","number":[1,2]}`} {
		refused("seats_delete", arguments)
		refused("seats_update", arguments[:len(arguments)-1]+`,"patch":{"holder":"x"}}`)
	}
	// The strange keys that are there each name one row.
	for _, hall := range []string{``, `null`, `{a,b}`, `) or (true`} {
		key, _ := json.Marshal(hall)
		got := w.valid(t, c, tools["seats_update"], `{"hall":`+string(key)+`,"number":2,"patch":{"holder":"x"}}`)
		if n := w.text(`select count(*)::text from public.seats where holder = 'x'`); got.isError || n != "1" {
			t.Errorf("%q: %s rows, %s", hall, n, got.text)
		}
		got = w.valid(t, c, tools["seats_delete"], `{"hall":`+string(key)+`,"number":2}`)
		if n := w.text(`select count(*)::text from public.seats where hall = $1`, hall); got.isError || n != "3" || w.text(`select count(*)::text from public.seats where holder = 'x'`) != "0" {
			t.Errorf("%q: %s rows left, %s", hall, n, got.text)
		}
	}
	if n := w.text(`select count(*)::text from public.seats`); n != "20" {
		t.Errorf("%s seats left", n)
	}
	for _, r := range w.Requests() {
		if (r.Method == http.MethodPatch || r.Method == http.MethodDelete) && (!strings.Contains(r.Header.Get("Prefer"), "max-affected=1") || !strings.Contains(r.Header.Get("Prefer"), "handling=strict") || r.Header.Get("Accept") != "application/vnd.pgrst.object+json") {
			t.Fatalf("%s went out with %v", r.Method, r.Header)
		}
	}
}

func TestManyRowsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	tools := w.compiled(`
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: papers
    operations: [update, delete]
    columns: [id, title]
    filters:
      title: [eq, in, like, neq]
      id: [in]
      counted: { operators: [eq, gte], hidden_ok: true }
      labels: { operators: [cs], hidden_ok: true }
      mood: { operators: [is], hidden_ok: true }
    write: [title]
    max_affected: 3
    budget: 1000
  - table: seats
    operations: [delete]
    columns: [hall, number]
    filters: { number: [eq] }
    max_affected: 1
`)
	c := w.callAs(t, standin.AliceEmail)
	for i := range 8 {
		w.paper(acme, fmt.Sprintf("counted=%d", i))
	}
	w.paper(globex, "counted=100")
	before := w.all()
	for _, one := range []struct{ tool, arguments, kind, says string }{
		{"update", `{"patch":{"title":"x"}}`, "invalid", "at least one filter"},
		{"update", `{"title_like":"","patch":{"title":"x"}}`, "invalid", "at least one filter"},
		{"update", `{"labels_contains":[],"patch":{"title":"x"}}`, "invalid", "at least one filter"},
		{"update", `{"counted_gte":0,"patch":{}}`, "invalid", "/patch"},
		{"update", `{"counted_gte":0,"limit":1,"patch":{"title":"x"}}`, "invalid", "/limit"},
		{"delete", `{}`, "invalid", "at least one filter"}, {"delete", `{"patch":{"title":"x"}}`, "invalid", "/patch"},
		{"delete", `{"title_in":null}`, "invalid", "/title_in"}, {"delete", `{"counted":"1 or true"}`, "invalid", "/counted"},
		{"update", `{"counted_gte":0,"patch":{"title":"x"}}`, "too_many_rows", "Nothing was changed"},
		{"delete", `{"title_neq":"x"}`, "too_many_rows", "Nothing was changed"},
		{"delete", `{"mood_is":"not_null"}`, "too_many_rows", "Nothing was changed"},
		{"seats_delete", `{"number":1}`, "too_many_rows", "Nothing was changed"},
	} {
		got := runTool(t, w.runner, c, tools[one.tool], one.arguments)
		if got.kind() != one.kind || !strings.Contains(got.text, one.says) || w.all() != before {
			t.Errorf("%s %s: %s", one.tool, one.arguments, got.text)
		}
	}
	got := w.valid(t, c, tools["update"], `{"counted_gte":5,"patch":{"title":"new"}}`)
	if !strings.HasPrefix(got.text, "Updated 3 rows.\nid\ttitle\n") || strings.Count(got.text, "new") != 3 || got.member("affected") != "3" || got.member("truncated") != "false" || len(elements(memberOf(got.structured, "items"))) != 3 {
		t.Errorf("%q %s", got.text, got.structured)
	}
	got = w.valid(t, c, tools["update"], `{"title_in":[],"patch":{"title":"none"}}`)
	if got.text != "Updated 0 rows." || string(got.structured) != `{"affected":0,"items":[],"truncated":false}` {
		t.Errorf("%q %s", got.text, got.structured)
	}
	// Rows that no page holds are cut, and counted all the same.
	got = w.valid(t, c, tools["update"], `{"title":"new","patch":{"title":"`+strings.Repeat("n", 300)+`"}}`)
	if got.isError || got.member("affected") != "3" || got.member("truncated") != "true" || len(elements(memberOf(got.structured, "items"))) != 1 || !strings.Contains(got.text, "The first 1 of them are shown.") {
		t.Errorf("%q %s", got.text, got.structured)
	}
	got = w.valid(t, c, tools["update"], `{"title":"`+strings.Repeat("n", 300)+`","patch":{"title":"`+strings.Repeat("m", 900)+`"}}`)
	if got.isError || string(got.structured) != `{"affected":3,"items":[],"truncated":true}` || got.text != "Updated 3 rows. They are too large to be shown here." {
		t.Errorf("%q %s", got.text, got.structured)
	}
	got = w.valid(t, c, tools["delete"], `{"counted":2}`)
	if !strings.HasPrefix(got.text, "Deleted 1 row.\n") || got.member("affected") != "1" || w.text(`select count(*)::text from public.papers`) != "8" {
		t.Errorf("%q %s", got.text, got.structured)
	}
	if err := w.Exec(t.Context(), `delete from public.seats where number = 1 and hall <> 'a'`); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"affected":1,"items":[{"hall":"a","number":1}],"truncated":false}`, `{"affected":0,"items":[],"truncated":false}`} {
		if got := w.valid(t, c, tools["seats_delete"], `{"number":1}`); string(got.structured) != want {
			t.Errorf("%q %s, want %s", got.text, got.structured, want)
		}
	}
	// A Data API that does not know the bound: what happened is said.
	w.ForgetMaxAffectedNext("/rest/v1/papers")
	got = w.valid(t, c, tools["update"], `{"counted_gte":0,"patch":{"title":"all"}}`)
	if n := w.text(`select count(*)::text from public.papers where title = 'all'`); got.kind() != "too_many_rows" || !strings.Contains(got.text, "Updated "+n+" rows, although") || n != "7" {
		t.Errorf("%s rows, %s", n, got.text)
	}
	w.ForgetMaxAffectedNext("/rest/v1/papers")
	if got := w.valid(t, c, tools["update"], `{"counted":3,"patch":{"title":"few"}}`); got.isError || got.member("affected") != "1" {
		t.Errorf("within the bound: %s", got.text)
	}
}

// TestTheDatabasesRefusalsOfAWrite: each says that nothing was changed, and
// names the place in the arguments where it is known.
func TestTheDatabasesRefusalsOfAWrite(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	tools := w.compiled(paperTools)
	maps.Copy(tools, w.compiled(`
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: grouped
    operations: [create]
    key: [title]
    columns: [title]
    write: [title]
  - table: organizations
    operations: [get]
    columns: [id]
`))
	c := w.callAs(t, standin.AliceEmail)
	w.paper(acme, "email='taken@example.test'")
	id := w.paper(acme, "")
	before := w.all()
	update := func(patch string) string { return `{"id":"` + id + `","patch":` + patch + `}` }
	for _, one := range []struct{ tool, arguments, kind, says string }{
		{"create", `{"title":"x","email":"taken@example.test"}`, "conflict", "unique"}, {"update", update(`{"email":"taken@example.test"}`), "conflict", "unique"},
		{"create", `{"title":"forbidden"}`, "invalid", "breaks a rule"}, {"update", update(`{"title":"forbidden"}`), "invalid", "breaks a rule"},
		{"update", update(`{"nick":"far too long"}`), "invalid", "breaks a rule"},
		{"create", `{"title":"raise"}`, "refused", "No more papers today."}, {"update", update(`{"title":"raise"}`), "refused", "No more papers today."},
		{"create", `{"title":"dropped"}`, "refused", "nothing was created"},
		{"create", `{"title":"x","at":"tomorrowish"}`, "invalid", `"/at"`}, {"update", update(`{"at":"tomorrowish"}`), "invalid", `"/patch/at"`},
		{"update", update(`{"day":"2026-02-30"}`), "invalid", `"/patch/day"`}, {"update", update(`{"labels":[{"a":1}],"ints":"[5,1)"}`), "invalid", `/patch/ints`},
		{"update", update(`{"big":"9223372036854775808"}`), "invalid", `"/patch/big"`}, {"update", update(`{"numbers":["x"]}`), "invalid", `"/patch/numbers"`},
		{"update", update(`{"address":"nowhere"}`), "invalid", `"/patch/address"`}, {"update", update(`{"blob":"\\xzz"}`), "invalid", `/patch/blob`},
		{"update", update(`{"title":"a\u0000b"}`), "invalid", "not of the kind"}, {"update", update(`{"code":"abcde"}`), "invalid", "not of the kind"},
		{"update", `{"id":"9223372036854775808","patch":{"title":"x"}}`, "invalid", `"/id"`},
		{"grouped_create", `{"title":"x"}`, "upstream_error", "does not let this be written"},
	} {
		got := runTool(t, w.runner, c, tools[one.tool], one.arguments)
		if got.kind() != one.kind || !strings.Contains(got.text, one.says) {
			t.Errorf("%s %s: %s", one.tool, one.arguments, got.text)
		}
		for _, leak := range []string{"papers", "constraint", "syntax", "relation", "column", "tomorrowish", "Key (", "HINT", "select"} {
			if strings.Contains(got.text, leak) && one.says != "No more papers today." {
				t.Errorf("%s %s says %q: %s", one.tool, one.arguments, leak, got.text)
			}
		}
	}
	if w.all() != before {
		t.Error("rows changed")
	}
	if err := w.Exec(t.Context(), `update public.papers set email = id::text where email is null; alter table public.papers alter column email set not null`); err != nil {
		t.Fatal(err)
	}
	if got := runTool(t, w.runner, c, tools["update"], update(`{"email":null}`)); got.kind() != "invalid" || !strings.Contains(got.text, `"/patch/email"`) {
		t.Errorf("a value that is required: %s", got.text)
	}
	if got := runTool(t, w.runner, c, tools["create"], `{"title":"x"}`); got.kind() != "invalid" || !strings.Contains(got.text, `"/email"`) {
		t.Errorf("a value that is required: %s", got.text)
	}
	if err := w.Exec(t.Context(), `alter table public.papers alter column big drop not null, drop column big; alter table public.papers add column big bigint generated always as (1) stored`); err != nil {
		t.Fatal(err)
	}
	if got := runTool(t, w.runner, c, tools["update"], update(`{"big":"5"}`)); got.kind() != "out_of_date" {
		t.Errorf("a column that the database writes now: %s", got.text)
	}
}
