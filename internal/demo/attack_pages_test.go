package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const bobsPassword = "a second plumb line"

// newDashboard is a world with a proven and published project of the owner's,
// a waiting machine and something to read, so that every page has something on
// it.
func newDashboard(t *testing.T) (*world, *tenant) {
	t.Helper()
	w, owner := newOwnedWorld(t)
	p := w.project(t, standin.Options{})
	p.slug = "acme"
	_, token, err := w.server.Tenants.CreateToken(t.Context(), owner.Current, tenants.NewAPIToken{Name: "laptop", Scope: tenants.ScopeAdmin})
	if err != nil {
		t.Fatal(err)
	}
	p.builder = builder{base: w.url + "/api/v1", token: token}
	p.must(http.MethodPost, "/projects", registration(p, p.URL(), "acme"))
	p.prove()
	p.importSchema()
	p.publish(demoFile(t))
	p.publish(strings.Replace(demoFile(t), "title: Demo CRM", "title: Another CRM", 1))
	w.database.Exec(t, `insert into notices (organization_id, id, kind, text, created_at)
		select organization_id, gen_random_uuid(), 'ownership.missed', 'A notice.', now() from projects`)
	return w, p
}

// everyPage visits all of the dashboard as its owner.
func (w *world) everyPage(t *testing.T) (*visitor, map[string]reply, []form) {
	t.Helper()
	v := w.signedIn(t, ownerEmail, ownerPassword)
	device, err := w.server.Tenants.BeginDevice(t.Context(), tenants.DeviceRequest{ClientName: "laptop", Address: "192.0.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	pages, forms := v.pages("/app", "/app/device?user_code="+device.UserCode, "/app/register", "/app/projects/acme/surfaces/main/revisions/1/rollback")
	if len(pages) < 15 || len(forms) < 15 {
		t.Fatalf("only %d pages and %d forms were found", len(pages), len(forms))
	}
	for _, action := range []string{
		"/app/sign-out", "/app/tokens", "/app/account/password", "/app/register", "/app/device",
		"/app/projects/acme/settings/delete", "/app/projects/acme/ownership/secret", "/app/projects/acme/schema/catalog",
	} {
		if !slices.ContainsFunc(forms, func(f form) bool { return f.action == action }) {
			t.Errorf("no form of %s was found", action)
		}
	}
	return v, pages, forms
}

// TestAttack_Framing: no page can be put into a frame of another site, where
// people would click on it unawares.
func TestAttack_Framing(t *testing.T) {
	t.Parallel()
	w, p := newDashboard(t)
	_, pages, _ := w.everyPage(t)
	visitor := w.visitor(t)
	for _, path := range []string{"/app/sign-in", "/app/none-such", "/app", "/app/setup"} {
		pages["signed out "+path] = visitor.get(path)
	}
	pages["refused"] = visitor.post("/app/sign-in", url.Values{}, http.Header{"Sec-Fetch-Site": {"cross-site"}})
	fresh := newWorldWith(t, "CHUMBO_SETUP_CODE="+setupCode)
	if pages["first run"] = fresh.visitor(t).get("/app/setup"); pages["first run"].status != http.StatusOK {
		t.Errorf("the first page answers %d", pages["first run"].status)
	}
	for path, page := range pages {
		if page.header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s may be framed by old browsers: %q", path, page.header.Get("X-Frame-Options"))
		}
		if page.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept: %q", path, page.header.Get("Cache-Control"))
		}
		if page.status < 300 || page.status >= 400 {
			strictPolicy(t, path, page)
		}
	}
	strictPolicy(t, "connect page", sendRaw(t, http.MethodGet, p.mcp, "", http.Header{"Accept": {"text/html"}}, ""))
}

func strictPolicy(t *testing.T, path string, page reply) {
	t.Helper()
	policy := page.header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'", "script-src 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy of %s lacks %s: %q", path, want, policy)
		}
	}
	for _, loose := range []string{"unsafe", "*", "data:", "http"} {
		if strings.Contains(policy, loose) {
			t.Errorf("the policy of %s has %s: %q", path, loose, policy)
		}
	}
	if strings.Contains(page.body, " onclick=") || strings.Contains(page.body, "javascript:") {
		t.Errorf("%s has a script in its markup", path)
	}
}

// TestAttack_ForgedForms sends every form of the dashboard as a page of
// another site would have it sent, by the browser of a builder who is signed
// in, and with what another builder's forms carry.
func TestAttack_ForgedForms(t *testing.T) {
	t.Parallel()
	w, _ := newDashboard(t)
	owner, _, forms := w.everyPage(t)
	if _, _, _, err := w.server.Tenants.CreateOrganization(t.Context(), "bob@example.test", "Globex"); err != nil {
		t.Fatal(err)
	}
	if err := w.server.Tenants.SetPassword(t.Context(), "bob@example.test", seal.NewSecret(bobsPassword)); err != nil {
		t.Fatal(err)
	}
	_, his := w.signedIn(t, "bob@example.test", bobsPassword).pages("/app/account")
	bobs := his[0].values.Get("csrf")
	if bobs == "" {
		t.Fatal("Bob's forms carry nothing")
	}
	evil := "https://evil.example.test"
	forgeries := map[string]struct {
		csrf   string // empty: the owner's own
		header http.Header
	}{
		"nothing of the session":       {"-", sameSite(w.url)},
		"another builder's value":      {bobs, sameSite(w.url)},
		"another site":                 {"", http.Header{"Origin": {evil}, "Sec-Fetch-Site": {"cross-site"}}},
		"another site, no origin":      {"", http.Header{"Sec-Fetch-Site": {"cross-site"}}},
		"a sibling host":               {"", http.Header{"Origin": {"https://tenant.example.test"}, "Sec-Fetch-Site": {"same-site"}}},
		"another site, an old browser": {"", http.Header{"Origin": {evil}}},
		"a page without an origin":     {"", http.Header{"Origin": {"null"}}},
	}
	before := w.state(t)
	for name, forged := range forgeries {
		for _, f := range forms {
			values := url.Values{}
			for field, v := range f.values {
				values[field] = v
			}
			switch {
			case forged.csrf == "-":
				values.Del("csrf")
			case forged.csrf != "":
				values.Set("csrf", forged.csrf)
			}
			if answer := owner.post(f.action, values, forged.header); answer.status != http.StatusForbidden {
				t.Errorf("%s: POST %s answered %d to %s", name, f.action, answer.status, answer.header.Get("Location"))
			}
		}
	}
	for _, f := range forms { // nor as a link or a picture
		if answer := owner.get(f.action + "?" + f.values.Encode()); answer.status >= 300 && answer.status < 400 {
			t.Errorf("GET %s answered %d to %s", f.action, answer.status, answer.header.Get("Location"))
		}
	}
	if after := w.state(t); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
	if answer := owner.get("/app/account"); answer.status != http.StatusOK {
		t.Errorf("the owner was signed out: %d", answer.status)
	}

	// Signing somebody in as the attacker is forging, too.
	victim := w.visitor(t)
	signIn := url.Values{"email": {"bob@example.test"}, "password": {bobsPassword}}
	for _, header := range []http.Header{{"Origin": {evil}, "Sec-Fetch-Site": {"cross-site"}}, {"Origin": {evil}}} {
		if answer := victim.post("/app/sign-in", signIn, header); answer.status != http.StatusForbidden || victim.cookie() != "" {
			t.Errorf("another site signed a visitor in: %d, cookie %q", answer.status, victim.cookie())
		}
	}
}

// state is a digest of every table but those that note each request.
func (w *world) state(t *testing.T) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.database.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var all strings.Builder
	for _, table := range []string{"organizations", "members", "builders", "api_tokens", "projects", "surfaces", "surface_urls", "revisions",
		"schema_snapshots", "registrations", "notices", "device_authorizations", "name_claims", "project_logos", "domains"} {
		var digest string
		hide := "'last_used_at'"
		err := conn.QueryRow(t.Context(), fmt.Sprintf("select coalesce(md5(string_agg((to_jsonb(r) - %s)::text, '|' order by to_jsonb(r)::text)), '-') from chumbo.%s r", hide, table)).Scan(&digest)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(table + " " + digest + "\n")
	}
	return all.String()
}

// TestAttack_SessionFixation: a cookie that somebody else put into the browser
// is never the one that a person is signed in by.
func TestAttack_SessionFixation(t *testing.T) {
	t.Parallel()
	w, _ := newDashboard(t)
	if _, _, _, err := w.server.Tenants.CreateOrganization(t.Context(), "bob@example.test", "Globex"); err != nil {
		t.Fatal(err)
	}
	if err := w.server.Tenants.SetPassword(t.Context(), "bob@example.test", seal.NewSecret(bobsPassword)); err != nil {
		t.Fatal(err)
	}
	bob := w.signedIn(t, "bob@example.test", bobsPassword)
	for name, planted := range map[string]string{
		"made up":        strings.Repeat("A", 43),
		"Bob's own":      bob.cookie(),
		"not ours":       "x",
		"of an old time": w.signedOut(t),
	} {
		victim := w.visitor(t)
		victim.plant(planted)
		answer := victim.post("/app/sign-in", url.Values{"email": {ownerEmail}, "password": {ownerPassword}}, sameSite(w.url))
		if answer.status != http.StatusSeeOther || victim.cookie() == planted || victim.cookie() == "" {
			t.Errorf("%s: signed in by %q: %d", name, victim.cookie(), answer.status)
		}
		attacker := w.visitor(t)
		attacker.plant(planted)
		if page := attacker.get("/app/account"); strings.Contains(page.body, ownerEmail) {
			t.Errorf("%s: who planted the cookie is signed in as the owner", name)
		}
		if page := victim.get("/app/account"); !strings.Contains(page.body, ownerEmail) {
			t.Errorf("%s: the owner is not signed in: %d", name, page.status)
		}
	}

	// In an address the value counts for nothing, and what a session once was
	// is not given back.
	if page := w.visitor(t).get("/app/account?chumbo=" + bob.cookie()); page.status == http.StatusOK {
		t.Error("a session's value in the address signs in")
	}
	bob = w.signedIn(t, "bob@example.test", bobsPassword) // signing in over his cookie ended his session
	stolen := bob.cookie()
	_, forms := bob.pages("/app/account")
	i := slices.IndexFunc(forms, func(f form) bool { return f.action == "/app/sign-out" })
	if answer := bob.post("/app/sign-out", forms[i].values, sameSite(w.url)); answer.status != http.StatusSeeOther || bob.cookie() != "" {
		t.Errorf("sign out: %d, cookie %q", answer.status, bob.cookie())
	}
	thief := w.visitor(t)
	thief.plant(stolen)
	if page := thief.get("/app/account"); page.status == http.StatusOK {
		t.Error("a copied cookie outlives signing out")
	}
}

// signedOut is the cookie of a session of the owner's that has ended.
func (w *world) signedOut(t *testing.T) string {
	t.Helper()
	v := w.signedIn(t, ownerEmail, ownerPassword)
	value := v.cookie()
	if err := w.server.Tenants.SignOut(t.Context(), seal.NewSecret(value), "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestAttack_CookieThatCouldBePlantedOrRead: over https no other host and no
// page without TLS can set the cookie, and no script can read it.
func TestAttack_CookieThatCouldBePlantedOrRead(t *testing.T) {
	t.Parallel()
	w, _ := newOwnedWorld(t)
	w.config.PublicURL = "https://mcp.example.test"
	server, err := w.replica(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(t.Context()) })
	form := url.Values{"email": {ownerEmail}, "password": {ownerPassword}}
	r := httptest.NewRequest(http.MethodPost, "https://mcp.example.test/app/sign-in", strings.NewReader(form.Encode()))
	r.Header = sameSite(w.config.PublicURL)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	server.Handler().ServeHTTP(answer, r)
	cookies := answer.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("signing in sets %v: %d", cookies, answer.Code)
	}
	c := cookies[0]
	if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" || c.SameSite < http.SameSiteLaxMode {
		t.Errorf("the cookie is %s", c)
	}
	// One under the name of plain http is not taken.
	r = httptest.NewRequest(http.MethodGet, "https://mcp.example.test/app/account", nil)
	r.AddCookie(&http.Cookie{Name: "chumbo", Value: c.Value})
	answer = httptest.NewRecorder()
	if server.Handler().ServeHTTP(answer, r); answer.Code == http.StatusOK {
		t.Error("a cookie without the prefix signs in")
	}
}
