package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// library is a project whose tables refer to each other in every way, with rows
// of Alice and of Bob.
const library = `
create table public.shelves (id bigint primary key, label text not null, owner uuid not null);
create table public.books (
  id bigint primary key, shelf_id bigint references public.shelves, parent_id bigint references public.books,
  title text not null, blurb text, tags text[], numbers int8[], extra jsonb, owner uuid not null,
  words tsvector generated always as (to_tsvector('english', title || ' ' || coalesce(blurb, ''))) stored);
create table public.reviews (
  id bigint primary key, book_id bigint not null references public.books, other_id bigint references public.books,
  body text, stars numeric, at timestamptz, owner uuid not null);
create table public.covers (book_id bigint primary key references public.books, "Colour" text, owner uuid not null);
do $$ declare t text; begin
  foreach t in array array['shelves', 'books', 'reviews', 'covers'] loop
    execute format('alter table public.%I enable row level security', t);
    execute format('create policy own on public.%I to authenticated using (owner = (select auth.uid()))', t);
    execute format('grant select on public.%I to authenticated', t);
  end loop;
end $$;
insert into public.shelves values (9007199254740993, 'Alice''s "best", (1)', 'a11ce000-0000-4000-8000-000000000001'), (2, 'Bob''s', 'b0b00000-0000-4000-8000-000000000002');
insert into public.books (id, shelf_id, parent_id, title, blurb, tags, numbers, extra, owner) values
  (1, 9007199254740993, null, 'Moby Dick', 'A whale of a tale, 100% true', '{sea,"a\"b,c","{x}"}', '{1,9007199254740993}', '{"genre": "novel", "n": [1, 2]}', 'a11ce000-0000-4000-8000-000000000001'),
  (2, 2, 1, 'Sea Wolf', null, '{sea}', '{}', '["sea"]', 'a11ce000-0000-4000-8000-000000000001'),
  (3, null, 1, 'Cooking with_whales*', 'back\slash', '{}', null, 'null', 'a11ce000-0000-4000-8000-000000000001'),
  (4, null, 1, 'Nothing', '', null, '{-1}', null, 'a11ce000-0000-4000-8000-000000000001'),
  (5, 2, 1, 'Bob''s whale', 'Moby', '{sea}', '{1}', '{"genre": "novel"}', 'b0b00000-0000-4000-8000-000000000002');
insert into public.reviews values
  (9007199254740991, 1, 2, 'first', 4.50, '2026-01-01 00:00:00.123456+00', 'a11ce000-0000-4000-8000-000000000001'), (9007199254740992, 1, null, E'tab\t"quoted"', 12345678901234567890.10, '2026-01-02', 'a11ce000-0000-4000-8000-000000000001'),
  (9007199254740993, 1, null, null, null, null, 'a11ce000-0000-4000-8000-000000000001'), (4, 1, 1, 'Bob''s own words', 1, null, 'b0b00000-0000-4000-8000-000000000002'),
  (5, 5, 1, 'Bob on Bob', 5, null, 'b0b00000-0000-4000-8000-000000000002');
insert into public.covers values (1, 'blue', 'a11ce000-0000-4000-8000-000000000001'), (2, 'Bob''s red', 'b0b00000-0000-4000-8000-000000000002');
`

const librarySurface = `
version: 1
title: Library
access: { mode: oauth, authorization: direct }
tools:
  - table: books
    description: Books.
    operations: [list, get]
    columns: [id, title, blurb, tags, numbers, extra]
    filters: { title: [eq, isdistinct], blurb: [isdistinct], tags: [cs, cd, ov], numbers: [cs, cd, ov], extra: [cs, cd] }
    search: [title, blurb]
    order: [id, -title]
    embed:
      shelf: { table: shelves, columns: [label, id] }
      reviews: { table: reviews, columns: [id, body, stars, at], order: [-id], limit: 2, via: book_id }
      mentions: { table: reviews, columns: [id], via: reviews_other_id_fkey }
      parent: { table: books, columns: [title], kind: one }
      parts: { table: books, columns: [id, title], kind: many, limit: 2 }
      cover: { table: covers, columns: [Colour] }
  - table: books
    name: words
    description: Books by words.
    operations: [list]
    columns: [id, title]
    search: { columns: [words], mode: web, config: english, hidden_ok: true }
  - table: books
    name: texts
    description: Books by words of texts.
    operations: [list]
    columns: [id, title, blurb]
    search: { columns: [title, blurb], mode: web }
`

func TestRelatedRowsAsTheProjectHasThem(t *testing.T) {
	t.Parallel()
	p := startReal(t, library)
	compiled := compileFor(t, p, librarySurface)
	t.Run("embeds", func(t *testing.T) {
		t.Parallel()
		relatedRows(t, p, compiled)
	})
	t.Run("search", func(t *testing.T) {
		t.Parallel()
		searches(t, p, compiled)
	})
	t.Run("lists and JSON", func(t *testing.T) {
		t.Parallel()
		containments(t, p, compiled)
	})
}

func relatedRows(t *testing.T, p *realProject, compiled *surfaces.Compiled) {
	list, get := toolNamed(t, compiled, "books_list"), toolNamed(t, compiled, "books_get")
	alice := p.callAs(t, standin.AliceEmail)
	// Of Alice's first book: Bob's review of it is not hers to see, though the
	// book is, and neither is Bob's book that names it as its parent.
	const first = `{"id":"1","title":"Moby Dick","blurb":"A whale of a tale, 100% true","tags":["sea","a\"b,c","{x}"],"numbers":["1","9007199254740993"],"extra":{"n":[1,2],"genre":"novel"},` +
		`"cover":{"Colour":"blue"},"mentions":{"items":[],"truncated":false},"parent":null,` +
		`"parts":{"items":[{"id":"2","title":"Sea Wolf"},{"id":"3","title":"Cooking with_whales*"}],"truncated":true},` +
		`"reviews":{"items":[{"id":"9007199254740993","body":null,"stars":null,"at":null},{"id":"9007199254740992","body":"tab\t\"quoted\"","stars":"12345678901234567890.10","at":"2026-01-02T00:00:00+00:00"}],"truncated":true},` +
		`"shelf":{"label":"Alice's \"best\", (1)","id":"9007199254740993"}}`
	// Of her second: the shelf and the cover it has are Bob's.
	const second = `{"id":"2","title":"Sea Wolf","blurb":null,"tags":["sea"],"numbers":[],"extra":["sea"],` +
		`"cover":null,"mentions":{"items":[{"id":"9007199254740991"}],"truncated":false},"parent":{"title":"Moby Dick"},` +
		`"parts":{"items":[],"truncated":false},"reviews":{"items":[],"truncated":false},"shelf":null}`
	for id, want := range map[string]string{"1": first, "2": second} {
		got := runTool(t, p.runner, alice, get, `{"id":"`+id+`"}`)
		if string(got.structured) != want {
			t.Errorf("got  %s %s\nwant %s", got.structured, got.text, want)
		}
		if err := matches(t, get.Output, got.structured); err != nil {
			t.Error(err)
		}
	}
	got := runTool(t, p.runner, alice, list, `{"limit":2}`)
	if !strings.HasPrefix(string(got.structured), `{"items":[`+first+","+second+`],"has_more":true`) {
		t.Errorf("list: %s %s", got.structured, got.text)
	}
	if err := matches(t, list.Output, got.structured); err != nil {
		t.Error(err)
	}
	if paged := all(t, p.runner, alice, list, `{"limit":1,"order":"-title"}`, "id"); !slices.Equal(paged, []string{"2", "4", "1", "3"}) {
		t.Errorf("paged: %v", paged)
	}
	bob := runTool(t, p.runner, p.callAs(t, standin.BobEmail), list, `{}`)
	if !strings.HasPrefix(string(bob.structured), `{"items":[{"id":"5",`) || strings.Contains(string(bob.structured)+bob.text, "Alice") || strings.Contains(string(bob.structured), "Moby Dick") {
		t.Errorf("Bob: %s %s", bob.structured, bob.text)
	}
}

func searches(t *testing.T, p *realProject, compiled *surfaces.Compiled) {
	c := p.callAs(t, standin.AliceEmail)
	for _, test := range []struct{ tool, text, want string }{
		{"books_list", `whale`, "1 3"}, {"books_list", `WHALE OF`, "1"}, {"books_list", `100%`, "1"}, {"books_list", `%`, "1"}, {"books_list", `_`, "3"},
		{"books_list", `\\`, "3"}, {"books_list", `whales*`, "3"}, {"books_list", `a*e`, "1 3"}, {"books_list", `tale,`, "1"}, {"books_list", `),id.gt.0,(`, ""},
		{"books_list", `\",title.not.is.null,x.eq.\"`, ""}, {"books_list", `x&role=eq.admin`, ""}, {"books_list", ` Wolf`, "2"}, {"books_list", `\u0000`, "invalid"},
		{"words_list", `whales`, "1 3"}, {"words_list", `whale -cooking`, "1"}, {"words_list", `\"whale of a tale\"`, "1"}, {"words_list", `wolf or tale`, "1 2"},
		{"words_list", `the`, ""}, {"words_list", `:* & ! ( \\ '`, ""}, {"words_list", `tale),id.gt.0`, ""}, {"words_list", `english).x`, ""},
		{"texts_list", `whale tale`, "1"}, {"texts_list", `moby tale`, ""}, {"texts_list", `sea or slash`, "2 3"}, {"texts_list", `\",id.gt.0,\"`, ""},
	} {
		tool := toolNamed(t, compiled, test.tool)
		got := runTool(t, p.runner, c, tool, `{"search":"`+test.text+`"}`)
		if got.isError {
			if got.kind() != test.want {
				t.Errorf("%s %s: %s", test.tool, test.text, got.text)
			}
			continue
		}
		if ids := idsOf(got.list(t)); ids != test.want {
			t.Errorf("%s %s: %q, want %q", test.tool, test.text, ids, test.want)
		}
	}
	paged := all(t, p.runner, c, toolNamed(t, compiled, "books_list"), `{"search":"whale","limit":1,"order":"-title"}`, "id")
	if !slices.Equal(paged, []string{"1", "3"}) {
		t.Errorf("paged: %v", paged)
	}
}

func containments(t *testing.T, p *realProject, compiled *surfaces.Compiled) {
	c, tool := p.callAs(t, standin.AliceEmail), toolNamed(t, compiled, "books_list")
	for arguments, want := range map[string]string{
		`{"tags_contains":["sea"]}`: "1 2", `{"tags_contains":["sea","{x}"]}`: "1", `{"tags_contains":["a\"b,c"]}`: "1", `{"tags_contains":["sea,{x}"]}`: "",
		`{"tags_contains":[]}`: "1 2 3", `{"tags_contains":[""]}`: "", `{"tags_contains":["NULL"]}`: "", `{"tags_contains":["sea\",\"{x}"]}`: "",
		`{"tags_contained_in":["sea"]}`: "2 3", `{"tags_contained_in":[]}`: "3", `{"tags_overlaps":["{x}","nope"]}`: "1", `{"tags_overlaps":[]}`: "",
		`{"tags_overlaps":["),id.gt.0,("]}`: "", `{"tags_overlaps":["\\"]}`: "", `{"tags_overlaps":["sea}"]}`: "",
		`{"numbers_contains":[9007199254740993]}`: "1", `{"numbers_contains":["9007199254740993",1]}`: "1", `{"numbers_contains":[9007199254740992]}`: "",
		`{"numbers_overlaps":[-1,1]}`: "1 4", `{"numbers_contained_in":[-1]}`: "2 4", `{"numbers_contains":["x"]}`: "invalid", `{"numbers_overlaps":["1,2"]}`: "invalid",
		`{"extra_contains":{"genre":"novel"}}`: "1", `{"extra_contains":{"genre":"no"}}`: "", `{"extra_contains":"sea"}`: "2", `{"extra_contains":{"n":[2]}}`: "1", `{"extra_contains":{}}`: "1",
		`{"extra_contains":[]}`: "2", `{"extra_contains":null}`: "3", `{"extra_contained_in":["sea","x"]}`: "2", `{"extra_contains":{"genre":"\"},id.gt.0,{\""}}`: "",
		`{"extra_contains":"\u0000"}`: "invalid", `{"tags_contains":["\u0000"]}`: "invalid",
		`{"title_isdistinct":"Moby Dick"}`: "2 3 4", `{"blurb_isdistinct":""}`: "1 2 3", `{"blurb_isdistinct":"back\\slash"}`: "1 2 4", `{"blurb_isdistinct":"null"}`: "1 2 3 4",
	} {
		got := runTool(t, p.runner, c, tool, arguments)
		if got.isError {
			if got.kind() != want {
				t.Errorf("%s: %s", arguments, got.text)
			}
			continue
		}
		if ids := idsOf(got.list(t)); ids != want {
			t.Errorf("%s: %q, want %q", arguments, ids, want)
		}
	}
}

func idsOf(l listResult) string {
	ids := make([]string, len(l.Items))
	for i, item := range l.Items {
		ids[i] = fmt.Sprint(item["id"])
	}
	return strings.Join(ids, " ")
}
