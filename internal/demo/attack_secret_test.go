package demo

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// find names the tables of the whole database, River's too, that hold one of
// the texts in any column of any row, as text or as its bytes.
func (w *world) find(t *testing.T, texts ...string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.database.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), `select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and not c.relispartition order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		t.Fatalf("tables %v: %v", tables, err)
	}
	var found []string
	for _, table := range tables {
		for _, text := range texts {
			var n int
			err := conn.QueryRow(t.Context(), fmt.Sprintf("select count(*) from %s r where position($1 in r::text) > 0 or position($2 in r::text) > 0", table),
				text, hex.EncodeToString([]byte(text))).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				found = append(found, table)
			}
		}
	}
	return found
}

// secrets are what opens a project past Row Level Security, in each form.
func (p *tenant) secrets() map[string]string {
	return map[string]string{
		"secret key": p.SecretKey(), "service_role key": p.ServiceRoleKey(), "access token": "sbp_" + strings.Repeat("0123456789", 4),
		"person's session": p.token(standin.AliceEmail, standin.TokenOptions{}),
	}
}

// nowhere fails if a secret is in the log, in any table, or on any page.
func (w *world) nowhere(t *testing.T, p *tenant, pages map[string]reply) {
	t.Helper()
	for kind, secret := range p.secrets() {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the %s is in the log", kind)
		}
		if found := w.find(t, secret); len(found) > 0 {
			t.Errorf("the %s is in %v", kind, found)
		}
		for path, page := range pages {
			if strings.Contains(page.body, secret) {
				t.Errorf("the %s is on %s", kind, path)
			}
		}
	}
}

// TestAttack_SecretInAnyRoute goes through every route that docs/api.md lists
// (a test of package api keeps that complete), with a key in the body, the
// path, the query and Authorization.
func TestAttack_SecretInAnyRoute(t *testing.T) {
	t.Parallel()
	w, p := newDashboard(t)
	reference, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	routes := regexp.MustCompile(`(?m)^### ([A-Z]+) (/\S+)$`).FindAllStringSubmatch(string(reference), -1)
	if len(routes) < 40 {
		t.Fatalf("only %d routes were found", len(routes))
	}
	own := regexp.MustCompile(`/ownership/(secret|management)$|/schema/import/management$`)
	before := w.state(t)
	notice := p.must(http.MethodGet, "/notices", nil)["notices"].([]any)[0].(map[string]any)["id"].(string)
	example := strings.NewReplacer(":project", "acme", ":surface", "main", ":number", "1", ":token", "tok_"+strings.Repeat("0", 32), ":notice", notice)
	for kind, secret := range p.secrets() {
		for _, route := range routes {
			method, path := route[1], example.Replace(route[2])
			tries := map[string]reply{"query": p.raw(method, path+"?tables="+secret, "")}
			for _, name := range regexp.MustCompile(`:[a-z]+`).FindAllString(route[2], -1) {
				tries["path "+name] = p.raw(method, strings.Replace(route[2], name, secret, 1), "")
			}
			if method != http.MethodGet && !own.MatchString(path) {
				for _, body := range []string{`{"name":%q}`, `{"a":{"b":[%q]}}`, `{%q:1}`, `%q`, `[1,%q`} {
					tries["body "+body] = p.raw(method, path, fmt.Sprintf(body, secret))
				}
				tries["escaped"] = p.raw(method, path, fmt.Sprintf(`{"name":"\u%04x%s"}`, secret[0], secret[1:]))
			}
			for where, answer := range tries {
				if answer.status != http.StatusBadRequest || strings.Contains(answer.body, secret) || !strings.Contains(answer.body, `"secret_key"`) {
					t.Errorf("%s in %s of %s %s: %d %s", kind, where, method, route[2], answer.status, answer.body)
				}
			}
			other := *p
			other.builder.token = seal.NewSecret(secret)
			if answer := other.raw(method, path, "{}"); !strings.HasPrefix(path, "/device/") && answer.status/100 != 4 || strings.Contains(answer.body, secret) {
				t.Errorf("%s as the token of %s %s: %d %s", kind, method, route[2], answer.status, answer.body)
			}
			if where := own.FindString(path); where != "" { // as the wrong member
				if answer := p.raw(method, path, fmt.Sprintf(`{"name":%q}`, secret)); answer.status != http.StatusBadRequest || strings.Contains(answer.body, secret) {
					t.Errorf("%s in another member of %s: %d %s", kind, where, answer.status, answer.body)
				}
			}
		}
	}
	if after := w.state(t); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
	// Where a key is asked for it is used, and then it is nowhere either.
	p.must(http.MethodPost, "/projects/acme/ownership/secret", map[string]string{"secret_key": p.SecretKey()})
	p.must(http.MethodPost, "/projects/acme/ownership/secret", map[string]string{"secret_key": p.ServiceRoleKey()})
	p.refused(http.MethodPost, "/projects/acme/ownership/secret", map[string]string{"secret_key": p.secrets()["person's session"]})
	p.refused(http.MethodPost, "/projects/acme/ownership/management", map[string]string{"access_token": p.secrets()["access token"]})
	for _, secret := range p.secrets() {
		for _, era := range eras[:1] { // nor at a surface, as a token
			if answer := call(t, p.mcp, secret, era, "customers_list", nil); strings.HasPrefix(secret, "sb") && answer.status != http.StatusUnauthorized {
				t.Errorf("a surface answers a key %d %s", answer.status, answer.body)
			}
		}
	}
	_, pages, _ := w.everyPage(t)
	w.nowhere(t, p, pages)
}

// raw sends a body of JSON with the builder's token.
func (p *tenant) raw(method, path, body string) reply {
	p.t.Helper()
	return sendRaw(p.t, method, p.builder.base+path, p.builder.token.Reveal(), nil, body)
}

// TestAttack_SecretInAnyForm fills a key into every field of every form of the
// dashboard.
func TestAttack_SecretInAnyForm(t *testing.T) {
	t.Parallel()
	w, p := newDashboard(t)
	owner, _, forms := w.everyPage(t)
	own := map[string]string{"/ownership/secret": "key", "/ownership/management": "token", "/schema/management": "token"}
	before, tried := w.state(t), 0
	for kind, secret := range p.secrets() {
		for _, f := range forms {
			for _, field := range slices.Concat(f.free, []string{"none_such", "csrf"}) {
				if i := strings.LastIndex(strings.TrimSuffix(f.action, "/"), "/acme"); i >= 0 && own[f.action[i+len("/acme"):]] == field {
					continue
				}
				tried++
				values := maps.Clone(f.values)
				values[field] = []string{"a note, and " + secret}
				answer := owner.post(f.action, values, sameSite(w.url))
				if answer.status != http.StatusBadRequest || strings.Contains(answer.body+fmt.Sprint(answer.header), secret) {
					t.Errorf("%s in %s of %s: %d to %s", kind, field, f.action, answer.status, answer.header.Get("Location"))
				}
			}
			if answer := owner.get(f.action + "?done=" + secret); answer.status != http.StatusBadRequest || strings.Contains(answer.body, secret) {
				t.Errorf("%s in the address of %s: %d", kind, f.action, answer.status)
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d fields were tried", tried)
	}
	visitor := w.visitor(t)
	for _, path := range []string{"/app/sign-in", "/app/setup"} {
		for _, field := range []string{"email", "code", "organization", "password"} {
			answer := visitor.post(path, url.Values{field: {p.SecretKey()}}, sameSite(w.url))
			if answer.status/100 != 4 || strings.Contains(answer.body, p.SecretKey()) {
				t.Errorf("a key in %s of %s: %d", field, path, answer.status)
			}
		}
	}
	if after := w.state(t); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
	_, pages, _ := w.everyPage(t)
	w.nowhere(t, p, pages)
}

// TestAttack_SecretAtTheCommandLine: what a builder types, keeps in files or
// wrote into the database goes no further than their machine. (Flags and
// variables are walked by the tests of package cli.)
func TestAttack_SecretAtTheCommandLine(t *testing.T) {
	t.Parallel()
	w, owner := newOwnedWorld(t)
	p := w.project(t, standin.Options{})
	c := w.newEmptyRepository(t, p, owner)
	c.chumbo(t, 0, "login --server "+w.url)
	c.chumbo(t, 0, "link --yes")
	c.env["SUPABASE_DB_URL"] = p.DSN()
	c.chumbo(t, 0, "import")
	file := "version: 1\ntitle: %s\naccess: { mode: oauth, authorization: direct }\ntools:\n  - table: customers\n    operations: [list]\n    columns: [id, name]\n"
	for kind, secret := range p.secrets() {
		said := func(exit int, args string, texts ...string) {
			t.Helper()
			if out := c.chumbo(t, exit, args, texts...); strings.Contains(out, secret) {
				t.Errorf("%s: chumbo %s repeats it", kind, args)
			}
			c.typed = ""
		}
		c.write(t, "supabase/chumbo/main.yaml", fmt.Sprintf(file, "CRM "+secret))
		for _, command := range []string{"push --yes", "push --dry-run", "diff"} {
			said(1, command, "evoke")
		}
		c.write(t, "supabase/chumbo/main.yaml", fmt.Sprintf(file, "CRM"))
		if err := p.Exec(t.Context(), "comment on table public.customers is '"+secret+"'"); err != nil {
			t.Fatal(err)
		}
		said(1, "import", "evoke")
		if err := p.Exec(t.Context(), "comment on table public.customers is 'Customers.'"); err != nil {
			t.Fatal(err)
		}
		c.typed = secret + "\n"
		said(2, "init another")
		c.typed = "public.customers " + secret + "\n"
		said(1, "import --catalog")
		if kind != "access token" {
			c.env["SUPABASE_ACCESS_TOKEN"] = secret
			said(1, "import --management")
			delete(c.env, "SUPABASE_ACCESS_TOKEN")
		}
	}
	c.chumbo(t, 0, "push --yes", "revision 1 is live")
	w.nowhere(t, p, nil)
}
