package dashboard_test

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

var shownSQL = regexp.MustCompile(`(?s)aria-label="SQL of chumbo_[a-z]+"[^>]*><pre[^>]*><code>(.*?)</code>`)

// sqlOf is the SQL that the page shows.
func sqlOf(t *testing.T, page string) string {
	t.Helper()
	match := shownSQL.FindStringSubmatch(page)
	if match == nil {
		t.Fatalf("the page shows no SQL: %s", textOf(page))
	}
	return html.UnescapeString(match[1])
}

// TestFromSetupToAProvenProjectWithoutScripts walks what a builder does first,
// by forms alone.
func TestFromSetupToAProvenProjectWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	visitor := w.browser(t)
	if a := visitor.open("/"); a.status != http.StatusOK || !strings.Contains(a.body, "Setup code") {
		t.Fatalf("a new server shows %d %s", a.status, textOf(a.body))
	}
	alice := w.setUp(t)
	if a := alice.open("/app"); !strings.Contains(textOf(a.body), "Register a project") {
		t.Errorf("no project yet: %s", textOf(a.body))
	}
	path := alice.register("acme-crm")
	if text := textOf(alice.page); !strings.Contains(text, "The project is registered.") || !strings.Contains(text, "Not proven yet") {
		t.Fatalf("after registering: %s", text)
	}
	if a := alice.open(path); !strings.Contains(textOf(a.body), "Acme CRM") {
		t.Errorf("the finished registration does not lead to its project: %s", textOf(a.body))
	}
	const project = "/app/projects/acme-crm"
	if text := textOf(alice.open(project).body); !strings.Contains(text, "Not served: prove that the project is yours.") {
		t.Errorf("unproven: %s", text)
	}
	if a := alice.post(project + "/ownership/check"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `role="alert"`) {
		t.Errorf("a proof that is not there: %d %s", a.status, textOf(a.body))
	}
	ctx := context.Background()
	if err := w.project.Exec(ctx, sqlOf(t, alice.open(project+"/ownership").body)); err != nil {
		t.Fatal(err)
	}
	if err := w.project.ReloadSchema(ctx); err != nil {
		t.Fatal(err)
	}
	alice.submit(project + "/ownership/check")
	if text := textOf(alice.page); !strings.Contains(text, "Ownership is proven.") || strings.Contains(text, "Not served") {
		t.Errorf("proven: %s", text)
	}

	made := alice.post(project+"/schema/catalog", "relations", "public.customers\npublic.notes\r\n")
	if made.status != http.StatusOK {
		t.Fatalf("catalog: %d %s", made.status, textOf(made.body))
	}
	if a := alice.post(project + "/schema/import"); a.status == http.StatusSeeOther {
		t.Error("a schema is imported before the function is there")
	}
	if err := w.project.Exec(ctx, sqlOf(t, made.body)); err != nil {
		t.Fatal(err)
	}
	if err := w.project.ReloadSchema(ctx); err != nil {
		t.Fatal(err)
	}
	alice.submit(project + "/schema/import")
	if text := textOf(alice.page); !strings.Contains(text, "The schema is imported.") || !strings.Contains(text, "by chumbo_catalog()") {
		t.Errorf("imported: %s", text)
	}
	alice.submit(project + "/check")
	if text := textOf(alice.page); !strings.Contains(text, "The project was checked again.") {
		t.Errorf("checked: %s", text)
	}

	alice.submit(project+"/settings/name", "name", "Acme Customers")
	alice.submit(project+"/settings/slug", "slug", "acme-customers")
	alice.submit("/app/projects/acme-customers/settings/key", "publishable_key", w.project.AnonKey())
	if a := alice.post("/app/projects/acme-customers/settings/delete", "confirm", "acme-crm"); a.status != http.StatusBadRequest {
		t.Errorf("deleted by another name: %d", a.status)
	}
	alice.submit("/app/projects/acme-customers/settings/delete", "confirm", "acme-customers")
	if text := textOf(alice.page); !strings.Contains(text, "The project is deleted.") {
		t.Errorf("deleted: %s", text)
	}
	if strings.Contains(w.log.String(), `"level":"ERROR"`) {
		t.Errorf("errors were logged: %s", w.log.String())
	}
}

// TestLookingAgainRegistersNoOtherClient: the check's OAuth client at the
// project is one, however often it is looked at.
func TestLookingAgainRegistersNoOtherClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	alice := w.setUp(t)
	begun := alice.post("/app/register", "url", w.project.URL()).location
	stream := func(r *http.Request) { r.Header.Set("Accept", "text/event-stream") }
	for range 2 {
		alice.submit(begun + "/check")
		alice.submit(begun+"/check", "live", "1")
		if text := textOf(alice.page); !strings.Contains(text, "Looking at") || strings.Contains(text, "Name it") {
			t.Errorf("begun anew: %s", text)
		}
		if a := alice.send(http.MethodGet, begun+"/events", nil, stream); !strings.Contains(a.body, "event: next") {
			t.Errorf("events: %d %s", a.status, a.body)
		}
	}
	alice.submit(begun, "publishable_key", w.project.PublishableKey(), "name", "Acme CRM", "slug", "acme-crm")
	if made := w.project.RequestsTo("/auth/v1/oauth/clients/register"); len(made) != 1 {
		t.Errorf("%d clients were registered at the project", len(made))
	}
}

// TestRefusedRegistrationsSayWhichFieldIsWrong and keep what was typed.
func TestRefusedRegistrationsSayWhichFieldIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	alice := w.setUp(t)
	for _, typed := range []string{"", "postgres://u:p@db.example.test/x", strings.Repeat("x", 5000)} {
		a := alice.post("/app/register", "url", typed)
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, `id="url-wrong"`) || len(a.body) > maxPage {
			t.Errorf("url %.40q: %d %s", typed, a.status, textOf(a.body))
		}
	}
	begun := alice.post("/app/register", "url", w.project.URL()).location
	alice.submit(begun + "/check")
	for name, tc := range map[string]struct{ key, name, slug, wrong string }{
		"no key":        {"", "Acme CRM", "acme-crm", "publishable_key"},
		"a wrong key":   {"sb_publishable_" + strings.Repeat("z", 20), "Acme CRM", "acme-crm", ""},
		"two lines":     {w.project.PublishableKey(), "Acme\nCRM", "acme-crm", "name"},
		"a taken word":  {w.project.PublishableKey(), "Acme CRM", "claude", "slug"},
		"upper case":    {w.project.PublishableKey(), "Acme CRM", "Acme", "slug"},
		"markup inside": {w.project.PublishableKey(), "Acme CRM", "<b>acme</b>", "slug"},
	} {
		a := alice.post(begun, "publishable_key", tc.key, "name", tc.name, "slug", tc.slug)
		if a.status < 400 || a.status >= 500 || strings.Contains(a.body, "<b>acme") || !strings.Contains(a.body, `role="alert"`) {
			t.Errorf("%s: %d %s", name, a.status, textOf(a.body))
		}
		if tc.wrong != "" && !strings.Contains(a.body, `id="`+tc.wrong+`-wrong"`) {
			t.Errorf("%s is not said at %s: %s", name, tc.wrong, textOf(a.body))
		}
		if tc.wrong == "slug" && !strings.Contains(a.body, `value="Acme CRM"`) {
			t.Errorf("%s: what was typed is gone", name)
		}
	}
}
