package mcp

import (
	"fmt"
	"strings"
)

// trickyRows are answers that say less than they seem to.
func trickyRows() []trickyRow {
	return []trickyRow{
		{
			number: 16, input: "a view without a key",
			tools: `
  - table: names
    operations: [list, get]
    columns: [id, label]
    key: [id]
    filters: { id: [lt] }`,
			refused: []trickyRefusal{{"  - table: names\n    columns: [id, label]", 1, "has no known key"}},
			asks: []trickyAsk{
				{
					tool: "names_list", arguments: `{"id_lt":3}`,
					wire: wire("GET /rest/v1/names", `select="id","label"`, `"id"=lt.3`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"label":"Beta, Inc"},{"id":2,"label":"(x)"}`),
				},
				{
					tool: "names_get", arguments: `{"id":10}`,
					wire: wire("GET /rest/v1/names", `select="id","label"`, `"id"=eq.10`, "Accept: object"), fails: "not_found",
				},
			},
		},
		{
			number: 17, input: "rows that policies hide",
			tools: `
  - table: private_rows
    operations: [list, get]
    columns: [id, body]
  - table: owned
    operations: [list, get]
    columns: [id, body]
  - table: dropbox
    operations: [create]
    write: [id, body]
  - table: dropbox
    name: reading_dropbox
    operations: [create]
    columns: [id]
    write: [id, body]`,
			asks: []trickyAsk{
				{
					tool: "private_rows_list",
					wire: wire("GET /rest/v1/private_rows", `select="id","body"`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(``), text: "0 rows",
				},
				{
					tool: "private_rows_get", arguments: `{"id":1}`,
					wire: wire("GET /rest/v1/private_rows", `select="id","body"`, `"id"=eq.1`, "Accept: object"), fails: "not_found",
				},
				{
					tool: "owned_list",
					wire: wire("GET /rest/v1/owned", `select="id","body"`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"body":"mine"}`),
				},
				{ // what may be inserted and not read back
					tool: "dropbox_create", arguments: `{"id":1,"body":"in"}`, once: true,
					wire: wire("POST /rest/v1/dropbox", oneObject, "Prefer: handling=strict, return=minimal", `{"body":"in","id":1}`),
					gets: `{"ok":true}`, text: "Created.",
				},
				{
					tool: "reading_dropbox_create", arguments: `{"id":2,"body":"in"}`, once: true,
					wire:  wire("POST /rest/v1/dropbox", `select="id"`, oneObject, oneCreated, `{"id":2,"body":"in"}`),
					fails: "forbidden", told: "Nothing was changed",
				},
			},
			then: func(w *trickyWorld) { // a row of Bob's and one that is not there
				hidden, missing := w.send(version20260728, "owned_get", `{"id":2}`), w.send(version20260728, "owned_get", `{"id":999}`)
				_, told := hidden.outcome()
				if kind, said := missing.outcome(); kind != "not_found" || told != said {
					w.t.Errorf("%s\n%s", hidden.raw, missing.raw)
				}
			},
		},
		{
			number: 22, input: "a statement that takes too long",
			tools: `
  - table: slow
    operations: [list]
    columns: [id, slept]
    key: [id]
  - table: sleepy
    operations: [update]
    columns: [id, body]
    write: [body]
  - tool: takes_long
    description: Takes long.
    rpc: takes_long`,
			asks: []trickyAsk{{tool: "takes_long", wire: wire("POST /rest/v1/rpc/takes_long", "{}"), fails: "timeout"}},
			then: func(w *trickyWorld) {
				if got := w.value(`select body from public.owned where id = 1`); got != "mine" {
					w.t.Errorf("it wrote %q", got)
				}
				defer w.roleSetting("statement_timeout", "50ms")()
				w.ask(trickyAsk{
					tool:  "slow_list",
					wire:  wire("GET /rest/v1/slow", `select="id","slept"`, `order="id".asc.nullslast`, "limit=21"),
					fails: "timeout", // asked once, not again
				})
				w.ask(trickyAsk{
					tool: "sleepy_update", arguments: `{"id":1,"patch":{"body":"awake"}}`, once: true,
					wire:  wire("PATCH /rest/v1/sleepy", `select="id","body"`, `"id"=eq.1`, oneObject, onlyOne, `{"body":"awake"}`),
					fails: "timeout", told: "Nothing was changed",
				})
			},
		},
		{
			number: 29, input: "more rows than db-max-rows",
			tools: `
  - table: many
    operations: [list]
    columns: [id]
    limit: { default: 25, max: 100 }`,
			asks: []trickyAsk{
				{tool: "many_list", arguments: `{"limit":30}`, fails: "invalid /limit"}, // one row must be left to see whether there are others
			},
			then: func(w *trickyWorld) {
				w.forget()
				var want []string
				for n := range 75 {
					want = append(want, fmt.Sprint(n+1))
				}
				w.pagesThrough("many_list", `{"limit":29}`, "id", strings.Join(want, " "))
				if seen := w.requests(); len(seen) == 0 || !onWire(wire("GET /rest/v1/many", `select="id"`, `order="id".asc.nullslast`, "limit=30"), seen[:4]) {
					w.t.Errorf("%q", seen)
				}
			},
		},
		{
			number: 30, input: "an embed with more rows than db-max-rows",
			tools: `
  - table: accounts
    operations: [list, get]
    columns: [id]
    embed: { messages: { table: messages, columns: [id], order: [-id], limit: 50 } }
  - table: messages
    operations: [list]
    columns: [id]
    filters: { id: [lt] }
    embed:
      account: { table: accounts, columns: [email] }
      replied: { table: messages, columns: [body], kind: one }
      replies: { table: messages, columns: [id], kind: many, limit: 2 }`,
			refused: []trickyRefusal{
				{"  - table: messages\n    columns: [id]\n    embed: { other: { table: messages, columns: [id] } }", 3, "kind"},
				{"  - table: names\n    key: [id]\n    columns: [id]\n    embed: { labels: { table: labels, columns: [id] } }", 4, "view"},
			},
			asks: []trickyAsk{
				{
					tool: "accounts_get", arguments: `{"id":1}`,
					wire: wire("GET /rest/v1/accounts", `select="id"::text,"messages":"messages"!"messages_account_id_fkey"("id")`, `"id"=eq.1`,
						`"messages".order="id".desc.nullsfirst`, `"messages".limit=30`, "Accept: object"),
					gets: `{"id":"1","messages":{"items":[` + countdown(149, 29) + `],"truncated":true}}`,
				},
				{
					tool: "messages_list", arguments: `{"id_lt":4}`,
					wire: wire("GET /rest/v1/messages", `select="id","account":"accounts"!"messages_account_id_fkey"("email"),"replied":"parent"("body"),"replies":"messages"!"parent"("id")`,
						`"id"=lt.4`, `"replies".order="id".asc.nullslast`, `"replies".limit=3`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"account":{"email":"alice@example.test"},"replied":null,"replies":{"items":[{"id":2}],"truncated":false}},` +
						`{"id":2,"account":{"email":"alice@example.test"},"replied":{"body":"first"},"replies":{"items":[{"id":3}],"truncated":false}},` +
						`{"id":3,"account":{"email":"bob@example.test"},"replied":{"body":"second"},"replies":{"items":[{"id":100},{"id":101}],"truncated":true}}`),
				},
			},
		},
		{
			number: 31, input: "a row that is too large",
			tools: `
  - table: big
    operations: [list, get]
    columns: [id, body]
    filters: { id: [eq, in] }
  - table: big
    name: noted
    operations: [update]
    columns: [id, body, note]
    write: [note]
  - table: big
    name: cut
    operations: [list, get]
    columns: [id, body]
    shorten: [body]`,
			asks: []trickyAsk{
				{
					tool: "big_get", arguments: `{"id":1}`,
					wire: wire("GET /rest/v1/big", `select="id","body"`, `"id"=eq.1`, "Accept: object"), fails: kindRowTooLarge, told: "16384 bytes",
				},
				{
					tool: "big_list", arguments: `{"id":1}`,
					wire: wire("GET /rest/v1/big", `select="id","body"`, `"id"=eq.1`, `order="id".asc.nullslast`, "limit=21"), fails: kindRowTooLarge, told: "big_get",
				},
				{
					tool: "big_get", arguments: `{"id":3}`, // more than is read at all
					wire: wire("GET /rest/v1/big", `select="id","body"`, `"id"=eq.3`, "Accept: object"), fails: "too_large",
				},
				{ // a change that was made is no error
					tool: "noted_update", arguments: `{"id":1,"patch":{"note":"seen"}}`, once: true,
					wire: wire("PATCH /rest/v1/big", `select="id","body","note"`, `"id"=eq.1`, oneObject, onlyOne, `{"note":"seen"}`),
					gets: `{"id":1}`, text: "Updated.",
				},
				{
					tool: "cut_get", arguments: `{"id":1}`,
					wire: wire("GET /rest/v1/big", `select="id","body"`, `"id"=eq.1`, "Accept: object"),
					gets: `{"id":1,"body":"` + strings.Repeat("x", 512) + `…(40000 bytes)"}`,
				},
			},
		},
		{
			number: 32, input: "a table that the project's schema cache does not know yet",
			refused: []trickyRefusal{{"  - table: fresh\n    columns: [id]", 1, "there is no table or view"}},
			then: func(w *trickyWorld) {
				w.exec(`create table public.fresh (id int primary key, body text); insert into public.fresh values (1, 'new');
					create function public.new_one() returns int language sql stable as 'select 1';
					grant select, insert on public.fresh to authenticated; grant execute on function public.new_one() to authenticated`)
				w.importSchema()
				w.publish("  - table: fresh\n    columns: [id, body]\n    operations: [list]\n  - tool: new_one\n    description: New.\n    rpc: new_one", "")
				list := trickyAsk{
					tool:  "fresh_list",
					wire:  wire("GET /rest/v1/fresh", `select="id","body"`, `order="id".asc.nullslast`, "limit=21"),
					fails: kindOutOfDate, told: "try again then",
				}
				call := trickyAsk{tool: "new_one", wire: wire("POST /rest/v1/rpc/new_one", "{}"), fails: kindOutOfDate, told: "try again then"}
				w.ask(list)
				w.ask(call)
				w.exec(`revoke select on public.fresh from authenticated`)
				w.reload()
				list.fails, list.told, call.fails, call.told, call.gets = "forbidden", "not allowed", "", "", `{"result":1}`
				w.ask(list)
				w.ask(call)
				w.exec(`grant select on public.fresh to authenticated`)
				list.fails, list.told, list.gets = "", "", lastPage(`{"id":1,"body":"new"}`)
				w.ask(list)
				// A column that the cache does not know.
				w.exec(`alter table public.fresh add column more text`)
				w.importSchema()
				w.publish("  - table: fresh\n    operations: [create]\n    columns: [id]\n    write: [id, more]", "")
				create := trickyAsk{
					tool: "fresh_create", arguments: `{"id":2,"more":"m"}`, once: true,
					wire:  wire("POST /rest/v1/fresh", `select="id"`, oneObject, oneCreated, `{"id":2,"more":"m"}`),
					fails: kindOutOfDate, told: "try again then",
				}
				w.ask(create)
				w.reload()
				create.fails, create.told, create.gets = "", "", `{"id":2}`
				w.ask(create)
			},
		},
	}
}

// countdown is n rows by id, from the highest down.
func countdown(from, n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":%d}`, from-i)
	}
	return strings.Join(rows, ",")
}
