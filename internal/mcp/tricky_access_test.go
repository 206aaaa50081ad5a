package mcp

import (
	"net/http"
	"time"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// trickyAccess are tokens that the project refuses, and rights it does not give.
func trickyAccess() []trickyRow {
	tools := `
  - table: owned
    operations: [list]
    columns: [id, body]`
	asked := wire("GET /rest/v1/owned", `select="id","body"`, `order="id".asc.nullslast`, "limit=21")
	return []trickyRow{
		{
			number: 42, input: "a token that expires in the middle of a session", tools: tools,
			then: func(w *trickyWorld) {
				ep := w.edge.directory.endpoints[w.path]
				old, err := w.project.AccessToken(standin.AliceEmail, standin.TokenOptions{ClientID: "c1", Lifetime: -time.Minute})
				if err != nil {
					w.t.Fatal(err)
				}
				c := w.admit(ep, standin.AliceEmail, standin.AliceID)
				c.Token, c.Expires = seal.NewSecret(old), time.Now().Add(-time.Minute)
				for _, era := range []string{version20260728, version20250618} {
					w.forget()
					got := w.send(era, "owned_list", `{}`)
					if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" || got.structured != "" || !onWire(asked, w.requests()) {
						w.t.Errorf("%s: %d %v %s", era, got.status, got.header, got.raw)
					}
				}
				// The project's clock alone is no reason to sign in again.
				c.Expires = time.Now().Add(time.Hour)
				w.ask(trickyAsk{tool: "owned_list", wire: asked, fails: kindUpstream})
			},
		},
		{
			number: 43, input: "a token of another project", tools: tools,
			then: func(w *trickyWorld) {
				// Its key is one that the project never had, or has no longer.
				w.project.RotateKey()
				w.project.DropOldKeys()
				w.ask(trickyAsk{tool: "owned_list", wire: asked, fails: kindUpstream})
				w.admit(w.edge.directory.endpoints[w.path], standin.AliceEmail, standin.AliceID)
				w.ask(trickyAsk{tool: "owned_list", wire: asked, gets: lastPage(`{"id":1,"body":"mine"}`)})
			},
		},
		{
			number: 44, input: "a role that lacks a grant, signed in and not",
			access: "{ mode: [oauth, public], authorization: direct, public: { confirm: true, calls: 60, per: 1m } }",
			tools: `
  - table: spelled
    operations: [list]
    columns: [Id]
    public: true`,
			refused: []trickyRefusal{{"  - table: labels\n    operations: [list]\n    columns: [id]\n    public: true", 1, "anon may not read labels"}},
			then: func(w *trickyWorld) {
				asked := wire("GET /rest/v1/spelled", `select="Id"`, `order="Id".asc.nullslast`, "limit=21")
				for _, one := range []struct {
					token, role string
					asked       []string
				}{{"", "anon", append(asked, "  without a token")}, {standin.AliceEmail, "authenticated", asked}} {
					w.token = one.token
					w.exec(`revoke select on public.spelled from ` + one.role)
					w.ask(trickyAsk{tool: "spelled_list", wire: one.asked, fails: "forbidden"}) // 401 to one, 403 to the other
					w.exec(`grant select on public.spelled to ` + one.role)
					w.ask(trickyAsk{tool: "spelled_list", wire: one.asked, gets: lastPage(`{"Id":1}`)})
				}
				w.publish(`
  - table: spelled
    operations: [create]
    columns: [Id]
    write: [Id]`, "")
				w.exec(`revoke insert on public.spelled from authenticated`)
				defer w.exec(`grant insert on public.spelled to authenticated`)
				w.ask(trickyAsk{
					tool: "spelled_create", arguments: `{"Id":2}`, once: true,
					wire:  wire("POST /rest/v1/spelled", `select="Id"`, oneObject, oneCreated, `{"Id":2}`),
					fails: "forbidden", told: "Nothing was changed",
				})
			},
		},
	}
}
