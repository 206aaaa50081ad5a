package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/web/dashboard"
)

// places fills in the parameters of a route with things of Acme.
type places struct{ registration, token, notice string }

// acme is a world where Alice's Acme has one of everything a route names.
func acme(t *testing.T) (w *world, alice *browser, at places) {
	t.Helper()
	w = newWorld(t, worldOptions{unproven: true})
	alice = w.setUp(t)
	alice.register("acme-crm")
	p := w.principal(t, "alice@example.test", alicePassword)
	w.importSchema(t, p, "acme-crm")
	w.publish(t, p, "acme-crm", "main", surfaceYAML)
	begun := alice.post("/app/register", "url", w.project.URL()).location
	at.registration = begun[strings.LastIndex(begun, "/")+1:]
	alice.post("/app/tokens", "name", "CI", "scope", "read", "days", "30")
	tokens, err := w.server.Tenants.Tokens(context.Background(), p)
	if err != nil || len(tokens) != 1 {
		t.Fatalf("tokens: %v %v", tokens, err)
	}
	at.token = tokens[0].ID.String()
	w.db.Exec(t, `insert into notices (organization_id, id, kind, text, created_at) values ($1, '01890000-0000-7000-8000-000000000001', 'ownership.missed', 'Look here.', now())`, p.Organization.ID.UUID())
	at.notice = "ntc_01890000000070008000000000000001"
	return w, alice, at
}

func (p places) fill(path string) string {
	return strings.NewReplacer(":project", "acme-crm", ":surface", "main", ":registration", p.registration, ":token", p.token, ":notice", p.notice,
		":grant", "grt_01890000000070008000000000000001", ":key", "key_01890000000070008000000000000001", ":revision", "1", ":digest", "0123456789ab").Replace(path)
}

// nowhere fills in names of nothing.
func nowhere(path string) string {
	return strings.NewReplacer(":project", "none-such", ":surface", "main", ":registration", "reg_01890000000070008000000000000009",
		":token", "tok_01890000000070008000000000000009", ":notice", "ntc_01890000000070008000000000000009", ":grant", "grt_01890000000070008000000000000001", ":key", "key_01890000000070008000000000000001", ":revision", "1", ":digest", "0123456789ab").Replace(path)
}

// routesOf are the routes of a method, without those of the router itself.
func routesOf(method string) []string {
	var list []string
	for _, r := range dashboard.Routes() {
		if r.Method == method && r.Path != echo.RouteNotFound {
			list = append(list, r.Path)
		}
	}
	slices.Sort(list)
	return list
}

// beforeSignIn are routes for people who are nobody yet.
var beforeSignIn = []string{"/app/setup", "/app/sign-in"}

// TestEveryFormNeedsItsSessionsValue sends every form without it, with another
// session's, and from another site.
func TestEveryFormNeedsItsSessionsValue(t *testing.T) {
	t.Parallel()
	w, alice, at := acme(t)
	bob := w.bob(t)
	posts := routesOf(http.MethodPost)
	if len(posts) < 25 {
		t.Fatalf("only %d forms: %v", len(posts), posts)
	}
	for _, route := range posts {
		path, before := at.fill(route), slices.Contains(beforeSignIn, route)
		form := formOf("confirm", "acme-crm", "decision", "approve", "organization", "acme", "name", "x")
		for name, value := range map[string]string{"none": "", "another session's": bob.csrf(), "nonsense": "x"} {
			form.Set("csrf", value)
			if a := alice.send(http.MethodPost, path, form, nil); !before && (a.status != http.StatusForbidden || !strings.Contains(a.body, "not made for your session")) {
				t.Errorf("%s with %s: %d %s", route, name, a.status, textOf(a.body))
			}
		}
		form.Set("csrf", alice.csrf())
		for name, change := range map[string]func(*http.Request){
			"another site": func(r *http.Request) {
				r.Header.Set("Sec-Fetch-Site", "cross-site")
				r.Header.Set("Origin", "https://evil.example.test")
			},
			"a neighbour of the site": func(r *http.Request) {
				r.Header.Set("Sec-Fetch-Site", "same-site")
				r.Header.Set("Origin", "http://localhost:1")
			},
			"a page without an origin": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site"); r.Header.Set("Origin", "null") },
			"another origin, old ways": func(r *http.Request) {
				r.Header.Del("Sec-Fetch-Site")
				r.Header.Set("Origin", "https://evil.example.test")
			},
		} {
			if a := alice.send(http.MethodPost, path, form, change); a.status != http.StatusForbidden || !strings.Contains(a.body, "another site") {
				t.Errorf("%s from %s: %d %s", route, name, a.status, textOf(a.body))
			}
		}
	}
	if text := textOf(alice.open("/app/projects/acme-crm").body); !strings.Contains(text, "1 surface live") {
		t.Errorf("something was done all the same: %s", text)
	}
}

// TestNobodyFramesOrKeepsAPage looks at what every answer carries.
func TestNobodyFramesOrKeepsAPage(t *testing.T) {
	t.Parallel()
	w, alice, at := acme(t)
	for _, b := range []*browser{alice, w.browser(t)} {
		for _, route := range append(routesOf(http.MethodGet), "/app/nowhere") {
			a := b.send(http.MethodGet, at.fill(route), nil, nil)
			if a.status >= http.StatusInternalServerError {
				t.Errorf("%s answers %d: %s", route, a.status, textOf(a.body))
			}
			if a.header.Get("X-Frame-Options") != "DENY" || a.header.Get("Cache-Control") != "no-store" || a.header.Get("Chumbo-Request-Id") == "" {
				t.Errorf("%s: %v", route, a.header)
			}
			if a.location == "" && strings.HasPrefix(a.header.Get("Content-Type"), "text/html") && a.header.Get("Referrer-Policy") != "same-origin" {
				t.Errorf("%s: %v", route, a.header)
			}
			policy := a.header.Get("Content-Security-Policy")
			if a.location == "" && !strings.Contains(a.header.Get("Content-Type"), "event-stream") &&
				(!strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe")) {
				t.Errorf("%s has the policy %q", route, policy)
			}
			if strings.Contains(a.body, "<script>") || strings.Contains(a.body, " style=") || strings.Contains(a.body, " onclick=") {
				t.Errorf("%s has something inline", route)
			}
		}
	}
}

// TestBobFindsNothingOfAcme asks every route for Acme's things as Bob: each
// answer is the one for what does not exist.
func TestBobFindsNothingOfAcme(t *testing.T) {
	t.Parallel()
	w, alice, at := acme(t)
	bob := w.bob(t)
	asked := 0
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, route := range routesOf(method) {
			if !strings.Contains(route, ":") {
				continue
			}
			asked++
			form := url.Values{}
			if method == http.MethodPost {
				form = formOf("csrf", bob.csrf(), "confirm", "acme-crm", "slug", "globex-crm", "name", "Globex", "state", "paused", "relations", "public.customers",
					"publishable_key", w.project.PublishableKey(), "file", surfaceYAML)
				switch dashboard.Secrets()[route] {
				case "key":
					form.Set("key", w.project.SecretKey())
				case "token":
					form.Set("token", "sbp_0123456789abcdef0123456789abcdef01234567")
				}
			}
			stream := func(r *http.Request) { r.Header.Set("Accept", "text/event-stream") }
			of, none := bob.send(method, at.fill(route), form, stream), bob.send(method, nowhere(route), form, stream)
			if of.status != http.StatusNotFound || of.status != none.status || withoutTrace(of) != withoutTrace(none) {
				t.Errorf("%s %s: %d %s, and for nothing: %d %s", method, route, of.status, textOf(of.body), none.status, textOf(none.body))
			}
		}
	}
	if asked < 30 {
		t.Fatalf("only %d routes", asked)
	}
	for _, b := range []struct {
		who  *browser
		path string
	}{{bob, "/app"}, {bob, "/app/tokens"}, {bob, "/app/account"}} {
		if a := b.who.open(b.path); strings.Contains(a.body, "acme") || strings.Contains(a.body, "Acme") || strings.Contains(a.body, "alice") {
			t.Errorf("Bob's %s shows something of Acme: %s", b.path, textOf(a.body))
		}
	}
	if a := bob.post("/app/organization", "organization", "acme"); a.status != http.StatusNotFound {
		t.Errorf("Bob switches to Acme: %d", a.status)
	}
	if text := textOf(alice.open("/app/projects/acme-crm").body); !strings.Contains(text, "1 surface live") || !strings.Contains(text, "Acme CRM") {
		t.Errorf("Bob changed something: %s", text)
	}
}

// withoutTrace is an answer without what differs between any two.
func withoutTrace(a answer) string {
	return strings.ReplaceAll(a.body, a.header.Get("Chumbo-Request-Id"), "ID")
}

// TestSecretKeyIsRefusedInEveryField pastes one into every field of every form
// but those made for it. It must be in no answer, no log and no table.
func TestSecretKeyIsRefusedInEveryField(t *testing.T) {
	t.Parallel()
	w, alice, at := acme(t)
	const mark = "Zq7Xw2Vb9Nm4Kp1"
	secret := "sb_secret_" + mark
	fields := []string{"code", "email", "password", "current", "organization", "next", "name", "scope", "days", "user_code", "decision", "url", "publishable_key", "slug",
		"relations", "confirm", "file", "title", "table", "state", "expect", "digest", "number", "key", "token", "method", "client_id", "client_secret", "captcha_provider",
		"captcha_site_key", "scopes", "anything"}
	for _, route := range routesOf(http.MethodPost) {
		for _, field := range fields {
			if dashboard.Secrets()[route] == field {
				continue
			}
			form := formOf("csrf", alice.csrf(), field, "look: "+secret)
			a := alice.send(http.MethodPost, at.fill(route), form, nil)
			if a.status != http.StatusBadRequest || !strings.Contains(a.body, "It was not stored.") {
				t.Errorf("%s, field %s: %d %s", route, field, a.status, textOf(a.body))
			}
			if strings.Contains(a.body, mark) || strings.Contains(a.location, mark) {
				t.Errorf("%s, field %s: the key is in the answer", route, field)
			}
		}
	}
	for _, route := range routesOf(http.MethodGet) {
		a := alice.send(http.MethodGet, at.fill(route)+"?after="+secret+"&user_code="+secret+"&next="+secret, nil, nil)
		if a.status != http.StatusBadRequest || strings.Contains(a.body, mark) {
			t.Errorf("%s with a key in its address: %d", route, a.status)
		}
	}
	for route, field := range dashboard.Secrets() { // where it may be: it goes no further
		a := alice.post(at.fill(route), field, secret)
		if a.status < http.StatusBadRequest || a.status >= http.StatusInternalServerError || strings.Contains(a.body, mark) {
			t.Errorf("%s with a wrong key: %d %s", route, a.status, textOf(a.body))
		}
	}
	if strings.Contains(w.log.String(), mark) {
		t.Error("the key is in the log")
	}
	if tables := w.tablesWith(t, mark); len(tables) > 0 {
		t.Errorf("the key is in %v", tables)
	}
	if n := w.audited(t, "dashboard.form", "refused"); n == 0 {
		t.Error("the audit log has no refusal of a pasted key")
	}
}

// tablesWith lists the tables of the control plane with a row that holds the
// text.
func (w *world) tablesWith(t *testing.T, text string) []string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, w.db.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, "select schemaname || '.' || tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 15 {
		t.Fatalf("tables: %v %v", names, err)
	}
	var found []string
	for _, name := range names {
		var n int
		if err := conn.QueryRow(ctx, "select count(*) from "+name+" t where t::text like '%' || $1 || '%'", text).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			found = append(found, name)
		}
	}
	return found
}

func (w *world) audited(t *testing.T, action, outcome string) (n int) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, w.db.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := conn.QueryRow(ctx, "select count(*) from chumbo.audit_events where action = $1 and outcome = $2", action, outcome).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSigningInLeadsOnlyToOurOwnPages(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/app/tokens": "/app/tokens", "/app/projects/acme-crm?after=x": "/app/projects/acme-crm?after=x", "/app": "/app", "": "/app",
		"https://evil.example.test": "/app", "//evil.example.test": "/app", "/\\evil.example.test": "/app", "/app/../../evil": "/app", "/app/..//evil.example.test": "/app",
		"/application": "/app", "/api/v1/me": "/app", "javascript:alert(1)": "/app", "/app\n/x": "/app", "/app/%2e%2e/x": "/app", "/app/%5cevil": "/app",
		"/app@evil.example.test": "/app", "http:/app": "/app", "/app/sign-in?next=/app": "/app", "/app//evil.example.test": "/app", " /app/tokens": "/app",
		"/app/" + strings.Repeat("x", 3000): "/app",
	} {
		if got := dashboard.LocalPath(next); got != want {
			t.Errorf("next=%q leads to %q, want %q", next, got, want)
		}
	}
	w := newWorld(t, worldOptions{})
	w.setUp(t)
	for next, want := range map[string]string{"//evil.example.test": "/app", "/app/tokens": "/app/tokens"} {
		b := w.browser(t)
		a := b.send(http.MethodPost, "/app/sign-in", formOf("email", "alice@example.test", "password", alicePassword, "next", next), nil)
		if a.status != http.StatusSeeOther || a.location != want {
			t.Errorf("next=%q: %d to %q", next, a.status, a.location)
		}
		if a := b.send(http.MethodGet, "/app/sign-in?next="+url.QueryEscape(next), nil, nil); a.location != want {
			t.Errorf("signed in, next=%q leads to %q", next, a.location)
		}
	}
}

// TestSessionIsNeverOneThatTheBrowserBrought: a cookie planted before sign-in
// opens nothing after it, and the session it belonged to ends.
func TestSessionIsNeverOneThatTheBrowserBrought(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.setUp(t)
	mallory := w.bob(t)
	planted := mallory.cookies()[0].Value
	victim := w.browser(t)
	bring := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Cookie", "chumbo="+value) }
	}
	for _, value := range []string{planted, strings.Repeat("A", 43)} {
		a := victim.send(http.MethodPost, "/app/sign-in", formOf("email", "alice@example.test", "password", alicePassword), bring(value))
		if a.status != http.StatusSeeOther {
			t.Fatalf("sign in: %d", a.status)
		}
		if given := victim.cookies()[0].Value; given == value || given == "" {
			t.Error("the planted cookie became the session")
		}
		if a := w.browser(t).send(http.MethodGet, "/app/account", nil, bring(value)); a.status != http.StatusSeeOther {
			t.Errorf("the planted cookie opens %d %s", a.status, textOf(a.body))
		}
	}
	if a := victim.open("/app/account"); !strings.Contains(a.body, "alice@example.test") {
		t.Errorf("the new session: %s", textOf(a.body))
	}
}

// TestCookieKeepsItsPromises over https and on loopback.
func TestCookieKeepsItsPromises(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	cfg, err := app.LoadConfig([]string{"CHUMBO_PUBLIC_URL=https://mcp.example.test", "CHUMBO_SURFACE_DOMAIN=surfaces.example.test", "CHUMBO_DATABASE_URL=" + d.ServerDSN, "CHUMBO_MASTER_KEY=" + seal.GenerateKey().Reveal()})
	if err != nil {
		t.Fatal(err)
	}
	book := &logBook{}
	server, err := app.NewServer(t.Context(), cfg, app.Options{Logger: newLogger(book), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	page, code, err := server.Setup(t.Context())
	if err != nil || page != "https://mcp.example.test/app/setup" || code.IsZero() {
		t.Fatalf("setup at %q: %v", page, err)
	}
	send := func(method, host, path string, form url.Values) *http.Response {
		r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		rec := httptest.NewRecorder()
		server.Handler().ServeHTTP(rec, r)
		return rec.Result()
	}
	typed := formOf("code", code.Reveal(), "email", "alice@example.test", "password", alicePassword, "organization", "Acme")
	res := send(http.MethodPost, "mcp.example.test", "/app/setup", typed)
	if len(res.Cookies()) != 1 {
		t.Fatalf("setup: %d %v", res.StatusCode, res.Header)
	}
	c := res.Cookies()[0]
	if c.Name != "__Host-chumbo" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Expires.IsZero() {
		t.Errorf("cookie over https: %+v", c)
	}
	if strings.Contains(book.String(), code.Reveal()) || strings.Contains(book.String(), c.Value) || strings.Contains(book.String(), alicePassword) {
		t.Error("the log holds a secret")
	}
	// A stolen setup code opens nothing once there is an owner.
	typed.Set("email", "mallory@example.test")
	if res := send(http.MethodPost, "mcp.example.test", "/app/setup", typed); res.StatusCode != http.StatusConflict || len(res.Cookies()) != 0 {
		t.Errorf("the code a second time: %d %v", res.StatusCode, res.Header)
	}
	// The dashboard is on the shared host only.
	for _, host := range []string{"acme.surfaces.example.test", "evil.example.test"} {
		if res := send(http.MethodGet, host, "/app/sign-in", nil); res.StatusCode < http.StatusBadRequest {
			t.Errorf("the dashboard answers at %s: %d", host, res.StatusCode)
		}
	}
}

// TestWhoIsSignedOutIsAskedToSignIn, and comes back to where they were; a
// script is told instead.
func TestWhoIsSignedOutIsAskedToSignIn(t *testing.T) {
	t.Parallel()
	w, alice, at := acme(t)
	stranger := w.browser(t)
	for _, route := range routesOf(http.MethodGet) {
		if slices.Contains(beforeSignIn, route) {
			continue
		}
		a := stranger.send(http.MethodGet, at.fill(route), nil, nil)
		if a.status != http.StatusSeeOther || !strings.HasPrefix(a.location, "/app/sign-in") {
			t.Errorf("%s: %d to %q", route, a.status, a.location)
		}
	}
	for _, route := range routesOf(http.MethodPost) {
		if slices.Contains(beforeSignIn, route) {
			continue
		}
		if a := stranger.send(http.MethodPost, at.fill(route), formOf("csrf", alice.csrf()), nil); a.status != http.StatusSeeOther || a.location != "/app/sign-in" {
			t.Errorf("POST %s: %d to %q", route, a.status, a.location)
		}
	}
	if a := stranger.send(http.MethodGet, "/app/projects/acme-crm?after=x", nil, nil); a.location != "/app/sign-in?next="+url.QueryEscape("/app/projects/acme-crm?after=x") {
		t.Errorf("it leads to %q", a.location)
	}
	script := func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Mode", "cors")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if a := stranger.send(http.MethodGet, "/app/projects/acme-crm", nil, script); a.status != http.StatusUnauthorized {
		t.Errorf("a script is told %d", a.status)
	}
	alice.submit("/app/sign-out")
	if a := alice.send(http.MethodGet, "/app/account", nil, nil); a.status != http.StatusSeeOther {
		t.Errorf("signed out, and still %d", a.status)
	}
}

// TestEventsAreForOurOwnScripts: what makes the server call a project is
// started by no other site and by no address typed.
func TestEventsAreForOurOwnScripts(t *testing.T) {
	t.Parallel()
	_, alice, at := acme(t)
	for _, path := range []string{"/app/register/" + at.registration + "/events", "/app/projects/acme-crm/events"} {
		for _, tc := range []struct{ site, accept string }{{"cross-site", "text/event-stream"}, {"same-site", "text/event-stream"}, {"none", "text/html"}, {"", "text/html"}} {
			a := alice.send(http.MethodGet, path, nil, func(r *http.Request) {
				if tc.site != "" {
					r.Header.Set("Sec-Fetch-Site", tc.site)
				}
				r.Header.Set("Accept", tc.accept)
			})
			if a.status < http.StatusBadRequest || strings.Contains(a.body, "event: finding") {
				t.Errorf("%s for %v: %d", path, tc, a.status)
			}
		}
		a := alice.send(http.MethodGet, path, nil, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("Accept", "text/event-stream")
		})
		if a.status != http.StatusOK || strings.Count(a.body, "event: finding") < 8 || !strings.Contains(a.body, "event: said") || !strings.HasSuffix(a.body, "event: end\ndata: \"\"\n\n") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// TestCookieIsRotatedInUse: after an hour of use a request brings a new value,
// and the one before is good for requests already under way only.
func TestCookieIsRotatedInUse(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Now())
	w := newWorld(t, worldOptions{now: clock.Now})
	alice := w.setUp(t)
	first := alice.cookies()[0].Value
	alice.open("/app")
	if alice.cookies()[0].Value != first {
		t.Fatal("rotated at once")
	}
	clock.Advance(61 * time.Minute)
	alice.open("/app")
	second := alice.cookies()[0].Value
	if second == first {
		t.Fatal("not rotated")
	}
	old := func(r *http.Request) { r.Header.Set("Cookie", "chumbo="+first) }
	if a := w.browser(t).send(http.MethodGet, "/app/account", nil, old); a.status != http.StatusOK {
		t.Errorf("a request under way: %d", a.status)
	}
	clock.Advance(2 * time.Minute)
	if a := w.browser(t).send(http.MethodGet, "/app/account", nil, old); a.status != http.StatusSeeOther {
		t.Errorf("a copied cookie: %d", a.status)
	}
	if a := alice.send(http.MethodGet, "/app/account", nil, nil); a.status != http.StatusSeeOther {
		t.Errorf("the session of a copied cookie goes on: %d", a.status)
	}
}
