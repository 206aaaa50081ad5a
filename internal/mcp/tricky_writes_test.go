package mcp

import (
	"strings"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// Headers of a change: of one row, and the row itself or nothing back.
const (
	onlyOne    = "Prefer: handling=strict, max-affected=1, return=representation"
	oneCreated = "Prefer: handling=strict, return=representation"
	oneObject  = "Accept: object"
)

// trickyWrites are changes that hit nothing, too much, or a rule.
func trickyWrites() []trickyRow {
	accounts := `
  - table: accounts
    operations: [create, update, delete]
    columns: [id, email, age]
    write: { email: {}, age: { null: true } }`
	// count is how many accounts there are, and what they are.
	count := func(w *trickyWorld, want string) {
		w.t.Helper()
		if got := w.value(`select string_agg(concat_ws(' ', id, email, age), ', ' order by id) from public.accounts`); got != want {
			w.t.Errorf("the accounts are %s; want %s", got, want)
		}
	}
	const before = "1 alice@example.test 30, 2 bob@example.test 31"
	return []trickyRow{
		{
			number: 15, input: "columns that are generated, or always identity",
			tools: `
  - table: computed
    operations: [create, update]
    columns: [id, n, doubled]
    write: [n]`,
			refused: []trickyRefusal{
				{"  - table: computed\n    operations: [create]\n    columns: [id]\n    write: [n, doubled]", 4, "doubled"},
				{"  - table: computed\n    operations: [create]\n    columns: [id]\n    write: [n, id]", 4, "id"},
				{"  - table: computed\n    operations: [update]\n    columns: [id]\n    write: [doubled]", 4, "doubled"},
			},
			asks: []trickyAsk{
				{
					tool: "computed_create", arguments: `{"n":5}`, once: true,
					wire: wire("POST /rest/v1/computed", `select="id"::text,"n","doubled"`, oneObject, oneCreated, `{"n":5}`),
					gets: `{"id":"2","n":5,"doubled":10}`, text: "Created.",
				},
				{
					tool: "computed_update", arguments: `{"id":2,"patch":{"n":6}}`, once: true,
					wire: wire("PATCH /rest/v1/computed", `select="id"::text,"n","doubled"`, `"id"=eq.2`, oneObject, onlyOne, `{"n":6}`),
					gets: `{"id":"2","n":6,"doubled":12}`, text: "Updated.",
				},
				{tool: "computed_create", arguments: `{"n":5,"doubled":7}`, fails: "invalid "},
				{tool: "computed_create", arguments: `{"n":5,"id":7}`, fails: "invalid "},
				{tool: "computed_update", arguments: `{"id":2,"patch":{"id":7}}`, fails: "invalid /patch"},
			},
			then: func(w *trickyWorld) { // identity since the surface was published
				w.exec(`alter table public.computed alter column n add generated always as identity`)
				defer w.exec(`alter table public.computed alter column n drop identity`)
				w.ask(trickyAsk{
					tool: "computed_create", arguments: `{"n":5}`, once: true,
					wire:  wire("POST /rest/v1/computed", `select="id"::text,"n","doubled"`, oneObject, oneCreated, `{"n":5}`),
					fails: kindOutOfDate,
				})
			},
		},
		{
			number: 16, input: "a view that cannot be written",
			tools: `
  - table: halves
    operations: [create, delete]
    columns: [half, n]
    key: [half]
    write: [half]`,
			refused: []trickyRefusal{{"  - table: labels\n    operations: [upsert]\n    columns: [id]", 2, "offer create and update"}},
			asks: []trickyAsk{
				{
					tool: "halves_create", arguments: `{"half":1000}`, once: true,
					wire:  wire("POST /rest/v1/halves", `select="half","n"::text`, oneObject, oneCreated, `{"half":1000}`),
					fails: kindUpstream, told: "Nothing was changed. The app's database does not let this be written",
				},
				{
					tool: "halves_delete", arguments: `{"half":1}`, once: true,
					wire:  wire("DELETE /rest/v1/halves", `select="half","n"::text`, `"half"=eq.1`, oneObject, onlyOne),
					fails: kindUpstream, told: "Nothing was changed. The app's database does not let this be written",
				},
			},
		},
		{
			number: 18, input: "a change that hits no row",
			tools: `
  - table: owned
    operations: [update, delete]
    columns: [id, body]
    write: [body]
  - table: readable
    operations: [update, delete]
    columns: [id, body]
    write: [body]`,
			asks: []trickyAsk{
				{
					tool: "owned_update", arguments: `{"id":2,"patch":{"body":"mine now"}}`, once: true, // Bob's
					wire: append(wire("PATCH /rest/v1/owned", `select="id","body"`, `"id"=eq.2`, oneObject, onlyOne, `{"body":"mine now"}`),
						wire("GET /rest/v1/owned", `select="id","body"`, `"id"=eq.2`, oneObject)...),
					fails: "not_found",
				},
				{
					tool: "owned_delete", arguments: `{"id":2}`, once: true,
					wire: append(wire("DELETE /rest/v1/owned", `select="id","body"`, `"id"=eq.2`, oneObject, onlyOne),
						wire("GET /rest/v1/owned", `select="id","body"`, `"id"=eq.2`, oneObject)...),
					fails: "not_found",
				},
				{
					tool: "readable_update", arguments: `{"id":1,"patch":{"body":"written"}}`, once: true,
					wire: append(wire("PATCH /rest/v1/readable", `select="id","body"`, `"id"=eq.1`, oneObject, onlyOne, `{"body":"written"}`),
						wire("GET /rest/v1/readable", `select="id","body"`, `"id"=eq.1`, oneObject)...),
					fails: "forbidden",
				},
				{
					tool: "readable_delete", arguments: `{"id":1}`, once: true,
					wire: append(wire("DELETE /rest/v1/readable", `select="id","body"`, `"id"=eq.1`, oneObject, onlyOne),
						wire("GET /rest/v1/readable", `select="id","body"`, `"id"=eq.1`, oneObject)...),
					fails: "forbidden",
				},
				{
					tool: "owned_update", arguments: `{"id":1,"patch":{"body":"changed"}}`, once: true,
					wire: wire("PATCH /rest/v1/owned", `select="id","body"`, `"id"=eq.1`, oneObject, onlyOne, `{"body":"changed"}`),
					gets: `{"id":1,"body":"changed"}`,
				},
				{
					tool: "owned_update", arguments: `{"id":1,"patch":{"body":"mine"}}`, once: true,
					wire: wire("PATCH /rest/v1/owned", `select="id","body"`, `"id"=eq.1`, oneObject, onlyOne, `{"body":"mine"}`),
					gets: `{"id":1,"body":"mine"}`,
				},
				// PATCH {} changes nothing and answers 204: it is never sent.
				{tool: "owned_update", arguments: `{"id":1,"patch":{}}`, fails: "invalid /patch"},
				// Without a key, every row would be hit.
				{tool: "owned_update", arguments: `{"patch":{"body":"all"}}`, fails: "invalid "},
				{tool: "owned_delete", arguments: `{}`, fails: "invalid "},
				{tool: "owned_delete", arguments: `{"id":null}`, fails: "invalid /id"},
				{tool: "owned_delete", arguments: `{"id":"in.(1,2)"}`, fails: "invalid /id"},
			},
			then: func(w *trickyWorld) {
				same := func(tool, hidden, missing string) {
					w.t.Helper()
					a, b := w.send(version20260728, tool, hidden), w.send(version20260728, tool, missing)
					kind, told := a.outcome()
					if other, said := b.outcome(); kind != other || told != said || kind != "not_found" {
						w.t.Errorf("%s tells a row of another from none:\n%s\n%s", tool, a.raw, b.raw)
					}
				}
				same("owned_update", `{"id":2,"patch":{"body":"x"}}`, `{"id":999,"patch":{"body":"x"}}`)
				same("owned_delete", `{"id":2}`, `{"id":999}`)
				got := w.value(`select string_agg(body, ', ' order by id) from public.owned`)
				if got += ", " + w.value(`select string_agg(body, ', ') from public.readable`); got != "mine, the secret of Bob, to read only" {
					w.t.Errorf("the rows are %s", got)
				}
				w.token = standin.BobEmail
				w.ask(trickyAsk{
					tool: "owned_delete", arguments: `{"id":1}`, once: true,
					wire: append(wire("DELETE /rest/v1/owned", `select="id","body"`, `"id"=eq.1`, oneObject, onlyOne),
						wire("GET /rest/v1/owned", `select="id","body"`, `"id"=eq.1`, oneObject)...),
					fails: "not_found",
				})
			},
		},
		{
			number: 19, input: "a value that must be unique, twice", tools: accounts,
			asks: []trickyAsk{
				{
					tool: "accounts_create", arguments: `{"email":"bob@example.test"}`, once: true,
					wire:  wire("POST /rest/v1/accounts", `select="id"::text,"email","age"`, oneObject, oneCreated, `{"email":"bob@example.test"}`),
					fails: "conflict", told: "unique",
				},
				{
					tool: "accounts_update", arguments: `{"id":1,"patch":{"email":"bob@example.test"}}`, once: true,
					wire: wire("PATCH /rest/v1/accounts", `select="id"::text,"email","age"`, `"id"=eq.1`, oneObject, onlyOne,
						`{"email":"bob@example.test"}`),
					fails: "conflict", told: "unique",
				},
			},
			then: func(w *trickyWorld) { count(w, before) },
		},
		{
			number: 20, input: "a reference to nothing, and one that holds",
			tools: accounts + `
  - table: messages
    operations: [create]
    columns: [id]
    write: [id, account_id]`,
			asks: []trickyAsk{
				{
					tool: "messages_create", arguments: `{"id":7,"account_id":"999"}`, once: true,
					wire:  wire("POST /rest/v1/messages", `select="id"`, oneObject, oneCreated, `{"id":7,"account_id":"999"}`),
					fails: "conflict", told: "refer",
				},
				{
					tool: "accounts_delete", arguments: `{"id":2}`, once: true,
					wire:  wire("DELETE /rest/v1/accounts", `select="id"::text,"email","age"`, `"id"=eq.2`, oneObject, onlyOne),
					fails: "conflict", told: "refer",
				},
			},
			then: func(w *trickyWorld) { count(w, before) },
		},
		{
			number: 21, input: "CHECK and NOT NULL", tools: accounts,
			asks: []trickyAsk{
				{
					tool: "accounts_create", arguments: `{"email":"carol@example.test","age":200}`, once: true,
					wire: wire("POST /rest/v1/accounts", `select="id"::text,"email","age"`, oneObject, oneCreated,
						`{"email":"carol@example.test","age":200}`),
					fails: "invalid", told: "rule",
				},
				{tool: "accounts_create", arguments: `{"age":20}`, fails: "invalid "},
				{tool: "accounts_update", arguments: `{"id":1,"patch":{"email":null}}`, fails: "invalid /patch/email"},
				{
					tool: "accounts_update", arguments: `{"id":1,"patch":{"age":null}}`, once: true,
					wire: wire("PATCH /rest/v1/accounts", `select="id"::text,"email","age"`, `"id"=eq.1`, oneObject, onlyOne, `{"age":null}`),
					gets: `{"id":"1","email":"alice@example.test","age":null}`,
				},
				{
					tool: "accounts_update", arguments: `{"id":1,"patch":{"age":30}}`, once: true,
					wire: wire("PATCH /rest/v1/accounts", `select="id"::text,"email","age"`, `"id"=eq.1`, oneObject, onlyOne, `{"age":30}`),
					gets: `{"id":"1","email":"alice@example.test","age":30}`,
				},
			},
			then: func(w *trickyWorld) { // required since the surface was published
				w.exec(`alter table public.accounts alter column age set not null`)
				defer w.exec(`alter table public.accounts alter column age drop not null`)
				w.ask(trickyAsk{
					tool: "accounts_create", arguments: `{"email":"carol@example.test"}`, once: true,
					wire:  wire("POST /rest/v1/accounts", `select="id"::text,"email","age"`, oneObject, oneCreated, `{"email":"carol@example.test"}`),
					fails: "invalid /age", told: "missing",
				})
				w.ask(trickyAsk{
					tool: "accounts_update", arguments: `{"id":1,"patch":{"age":null}}`, once: true,
					wire:  wire("PATCH /rest/v1/accounts", `select="id"::text,"email","age"`, `"id"=eq.1`, oneObject, onlyOne, `{"age":null}`),
					fails: "invalid /patch/age", told: "missing",
				})
				count(w, before)
			},
		},
		{
			number: 23, input: "a NUL character in a row",
			tools: `
  - table: owned
    operations: [create]
    columns: [id, body]
    write: [id, body]
    set: { owner: claims.sub }`,
			asks: []trickyAsk{{
				tool: "owned_create", arguments: `{"id":7,"body":"a\u0000b"}`, once: true,
				wire:  wire("POST /rest/v1/owned", `select="id","body"`, oneObject, oneCreated, `{"id":7,"body":"a\u0000b","owner":"`+standin.AliceID+`"}`),
				fails: "invalid /body",
			}},
		},
		{
			// Many rows are never inserted at once; several are changed at once
			// only where max_affected says so, all or none.
			number: 45, input: "many rows of which one is bad",
			tools: `
  - table: accounts
    operations: [create, update, delete]
    columns: [id, email, age]
    filters: { id: [in], email: [eq] }
    write: { email: {}, age: {} }
    max_affected: 2
  - table: many
    operations: [delete]
    columns: [id]
    filters: { half: { operators: [eq, gte], hidden_ok: true } }
    max_affected: 2`,
			asks: []trickyAsk{
				{tool: "accounts_create", arguments: `{"email":["carol@example.test","alice@example.test"]}`, fails: "invalid /email"},
				{
					tool: "accounts_update", arguments: `{"id_in":[1,2],"patch":{"email":"same@example.test"}}`, once: true,
					wire: wire("PATCH /rest/v1/accounts", `select="id"::text,"email","age"`, `"id"=in.("1","2")`,
						"Prefer: handling=strict, max-affected=2, return=representation", `{"email":"same@example.test"}`),
					fails: "conflict",
				},
				{tool: "accounts_update", arguments: `{"patch":{"age":1}}`, fails: "invalid"},
				{tool: "accounts_delete", fails: "invalid"},
				{
					tool: "many_delete", arguments: `{"half_gte":36}`, once: true,
					wire:  wire("DELETE /rest/v1/many", `select="id"`, `"half"=gte.36`, "Prefer: handling=strict, max-affected=2, return=representation, count=exact"),
					fails: "too_many_rows",
				},
				{
					tool: "many_delete", arguments: `{"half":37}`, once: true,
					wire: wire("DELETE /rest/v1/many", `select="id"`, `"half"=eq.37`, "Prefer: handling=strict, max-affected=2, return=representation, count=exact"),
					gets: `{"affected":2,"items":[{"id":74},{"id":75}],"truncated":false}`, text: "Deleted 2 rows.",
				},
			},
			then: func(w *trickyWorld) {
				w.forget()
				for _, era := range []string{version20260728, version20250618} {
					got := w.send(era, "accounts_create", `[{"email":"carol@example.test"},{"email":"alice@example.test"}]`)
					if got.structured != "" || !strings.Contains(got.raw, "error") && !got.failed || len(w.requests()) > 0 {
						w.t.Errorf("a list of rows (%s): %s; over the wire went %q", era, got.raw, w.requests())
					}
				}
				count(w, before)
				if got := w.value(`select count(*)::text from public.many`); got != "73" {
					w.t.Errorf("%s rows are left", got)
				}
			},
		},
		{
			number: 46, input: "a key that is no column",
			tools: accounts + `
  - table: owned
    operations: [create]
    columns: [id]
    write: [id, body]
    set: { owner: claims.sub }`,
			asks: []trickyAsk{
				{tool: "accounts_create", arguments: `{"email":"carol@example.test","role":"admin"}`, fails: "invalid "},
				{tool: "accounts_create", arguments: `{"email":"carol@example.test","Age":3}`, fails: "invalid "},
				{tool: "accounts_update", arguments: `{"id":1,"patch":{"role":"admin"}}`, fails: "invalid /patch"},
				// Whom a row belongs to is not the caller's to say.
				{tool: "owned_create", arguments: `{"id":9,"owner":"` + standin.BobID + `"}`, fails: "invalid "},
			},
			then: func(w *trickyWorld) { // gone since the surface was published
				w.exec(`alter table public.accounts rename column age to years`)
				w.reload()
				w.ask(trickyAsk{
					tool: "accounts_create", arguments: `{"email":"carol@example.test","age":3}`, once: true,
					wire: wire("POST /rest/v1/accounts", `select="id"::text,"email","age"`, oneObject, oneCreated,
						`{"email":"carol@example.test","age":3}`),
					fails: kindOutOfDate,
				})
				w.exec(`alter table public.accounts rename column years to age`)
				w.reload()
				count(w, before)
			},
		},
	}
}
