package demo

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// newOwnedWorld is a world that serves only what is proven. Its first owner
// has set it up in the dashboard and is signed in there.
func newOwnedWorld(t *testing.T, settings ...string) (*world, tenants.Session) {
	t.Helper()
	w := newWorldWith(t, append(settings, "CHUMBO_SETUP_CODE="+setupCode)...)
	if _, _, err := w.server.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	owner, err := w.server.Tenants.CompleteSetup(t.Context(), tenants.Setup{
		Code: seal.NewSecret(setupCode), Email: ownerEmail, Password: seal.NewSecret(ownerPassword), Organization: "Acme", Address: "192.0.2.1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, owner
}

// newEmptyRepository is an app's folder before Chumbo: a Supabase folder with
// config.toml and migrations. Nothing of Chumbo is set in the shell.
func (w *world) newEmptyRepository(t *testing.T, p *tenant, owner tenants.Session) *checkout {
	t.Helper()
	c := &checkout{dir: t.TempDir(), home: t.TempDir(), env: map[string]string{"SUPABASE_PUBLISHABLE_KEY": p.PublishableKey()}}
	const example = "../../examples/crm/supabase"
	if err := os.CopyFS(filepath.Join(c.dir, "supabase/migrations"), os.DirFS(example+"/migrations")); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(example + "/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, "supabase/config.toml", strings.Replace(string(config), "port = 54321", "port = "+u.Port(), 1))
	// The person reads the code in the terminal and approves it in the dashboard.
	c.after = func(shown string) {
		code := regexp.MustCompile(`[A-Z]{4}-[A-Z]{4}`).FindString(shown)
		if err := w.server.Tenants.DecideDevice(t.Context(), owner.Current, code, true); err != nil {
			t.Errorf("approve %q: %v", code, err)
		}
	}
	return c
}

// migrations names the folder's migrations that hold a text.
func (c *checkout) migrations(t *testing.T, text string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(c.dir, "supabase/migrations/*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(c.read(t, name), text) })
}

func (c *checkout) read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// apply brings the one migration that holds a text to the project, as
// supabase migration up does.
func (c *checkout) apply(t *testing.T, p *tenant, text string) {
	t.Helper()
	names := c.migrations(t, text)
	if len(names) != 1 {
		t.Fatalf("migrations with %s: %v", text, names)
	}
	if err := p.Exec(t.Context(), c.read(t, names[0])); err != nil {
		t.Fatal(err)
	}
	if err := p.ReloadSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// statuses is what a surface's URLs answer somebody without a token: the
// endpoint, its page and its metadata.
func statuses(t *testing.T, surface string) []int {
	t.Helper()
	u, err := url.Parse(surface)
	if err != nil {
		t.Fatal(err)
	}
	metadata := u.Scheme + "://" + u.Host + "/.well-known/oauth-protected-resource" + u.Path
	return []int{
		speak(t, surface, "", eras[0], "tools/list", nil).status,
		sendRaw(t, http.MethodGet, surface, "", http.Header{"Accept": {"text/html"}}, "").status,
		sendRaw(t, http.MethodGet, metadata, "", nil, "").status,
	}
}

// wantStatuses waits until a change has reached the surface's URLs.
func wantStatuses(t *testing.T, surface string, want ...int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%s answers %v", surface, want), func() bool { return slices.Equal(statuses(t, surface), want) })
}

// waitFor asks until something is so: a server hears of a change a moment
// after it was made, and within 5 s.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !so(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within 5 s: %s", what)
		}
	}
}

// acmeOnly calls customers_list as Alice through the Go client and fails
// unless she gets all of Acme's customers and nobody else's.
func acmeOnly(t *testing.T, surface string) *mcp.ClientSession {
	t.Helper()
	session, _, _ := goClientAt(t, surface, personOf(t, standin.AliceEmail, standin.CRMPassword), "2026-07-28")
	items := listAll(t, session)
	if len(items) != 60 {
		t.Fatalf("Alice sees %d customers", len(items))
	}
	for _, item := range items {
		requireOwner(t, item, organizations[standin.AliceEmail])
	}
	return session
}

// title is what a surface calls itself to a client that connects anew.
func title(t *testing.T, surface, token string) string {
	t.Helper()
	return speak(t, surface, token, eras[1], "initialize", map[string]any{
		"protocolVersion": eras[1], "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "end-to-end", "version": "1"},
	}).body
}

// TestWalk_FromAnEmptyRepositoryToAToolCall: a folder with a Supabase project
// and nothing of Chumbo, the command line alone, and at the end a user of the
// app who calls a tool through the Go client.
func TestWalk_FromAnEmptyRepositoryToAToolCall(t *testing.T) {
	t.Parallel()
	w, owner := newOwnedWorld(t)
	p := w.project(t, standin.Options{})
	c := w.newEmptyRepository(t, p, owner)
	surface := w.url + "/crm/mcp"
	main := filepath.Join(c.dir, "supabase/chumbo/main.yaml")

	c.chumbo(t, 0, "login --server "+w.url, "/app/device", "signed in at "+w.url+" as "+ownerEmail+" of Acme, scope write", "Next: chumbo link")
	c.chumbo(t, 0, "link", "Next: chumbo link --yes")
	c.chumbo(t, 0, "link --yes", "ok    Project answers", "_chumbo_ownership.sql", "Next: supabase migration up, then chumbo link")
	wantStatuses(t, surface, 404, 404, 404)
	c.apply(t, p, "function public.chumbo_ownership(")
	c.chumbo(t, 0, "link --verify", "proven to be yours by chumbo_ownership()", "Next: chumbo import")

	c.env["SUPABASE_DB_URL"] = p.DSN()
	c.chumbo(t, 0, "import", "ok    imported", "Next: chumbo init")
	delete(c.env, "SUPABASE_DB_URL")
	c.chumbo(t, 0, "init --tables customers,notes", "with 2 tables", "chumbo push --dry-run")
	c.chumbo(t, 0, "push --dry-run", "would be published")
	wantStatuses(t, surface, 404, 404, 404)
	c.chumbo(t, 0, "push --yes", "revision 1 is live", "claude mcp add --transport http", surface)
	wantStatuses(t, surface, 401, 200, 200)
	c.chumbo(t, 0, "status", "organization Acme", "project crm at "+p.URL(), "surface main: live, revision 1, "+surface)
	c.chumbo(t, 0, "doctor", surface)
	session := acmeOnly(t, surface)

	// A change that clients notice, and back.
	first := c.read(t, main)
	alice := signedIn(t, w, surface, standin.AliceEmail).access
	c.chumbo(t, 0, "diff", "is what is live, revision 1")
	c.write(t, "supabase/chumbo/main.yaml", first+"  - tool: customer_summary\n    description: Customers by status.\n    rpc: customer_summary\n")
	c.chumbo(t, 0, "diff", "differs from revision 1", "customer_summary")
	c.chumbo(t, 0, "push --yes", "revision 2 is live")
	lists := func() bool { // the Go client keeps a list for as long as it was told
		return strings.Contains(speak(t, surface, alice, eras[0], "tools/list", nil).body, `"customer_summary"`)
	}
	waitFor(t, "what was pushed is listed", lists)
	summary, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "customer_summary"})
	if err != nil || summary.IsError {
		t.Errorf("the connected client cannot call what was pushed: %v %+v", err, summary)
	}
	c.chumbo(t, 1, "rollback --to 1", "nothing was changed", "chumbo rollback main --to 1 --yes")
	c.chumbo(t, 0, "rollback --to 1 --yes", "revision 1 is live again", "chumbo pull main")
	waitFor(t, "what was rolled back is gone", func() bool { return !lists() })
	c.chumbo(t, 1, "pull", "main.yaml")
	c.chumbo(t, 0, "pull --yes", "main.yaml")
	if text := c.read(t, main); text != first {
		t.Errorf("pulled:\n%s\nbut pushed first was:\n%s", text, first)
	}
	c.chumbo(t, 0, "diff", "is what is live, revision 1")
	acmeOnly(t, surface)

	token := regexp.MustCompile(`cht_[A-Za-z0-9_-]+`).FindString(c.read(t, filepath.Join(c.home, ".config/chumbo/config")))
	c.chumbo(t, 0, "logout --server "+w.url)
	if who := sendRaw(t, http.MethodGet, w.url+"/api/v1/me", token, nil, ""); token == "" || who.status != http.StatusUnauthorized {
		t.Errorf("after logging out the token %.4s… answers %d", token, who.status)
	}
	if log := w.log.String(); strings.Contains(log, token) || strings.Contains(log, alice) {
		t.Error("a token is in the log")
	}
}

// TestWalk_ByCatalogWithTheProofAtTheEnd: no connection string, a schema told
// by a function, and everything published before anything is proven.
func TestWalk_ByCatalogWithTheProofAtTheEnd(t *testing.T) {
	t.Parallel()
	w, owner := newOwnedWorld(t)
	p := w.project(t, standin.Options{})
	c := w.newEmptyRepository(t, p, owner)
	surface := w.url + "/crm/mcp"

	c.chumbo(t, 0, "login --server "+w.url, "Next: chumbo link")
	c.chumbo(t, 0, "link --yes", "_chumbo_ownership.sql")
	const catalog = "import --catalog --relations public.customers,public.notes,public.customer_summary"
	c.chumbo(t, 1, catalog, "nothing was changed: would write", "--yes")
	if names := c.migrations(t, "chumbo_catalog"); len(names) != 0 {
		t.Fatalf("written without a word: %v", names)
	}
	c.chumbo(t, 0, catalog+" --yes", "_chumbo_catalog.sql", "supabase migration up, then chumbo import --catalog")
	c.chumbo(t, 1, "import --catalog", "chumbo_catalog.sql")
	c.apply(t, p, "function public.chumbo_catalog(")
	c.chumbo(t, 0, "import --catalog", "imported 2 relations and 1 function", "Next: chumbo init")
	c.chumbo(t, 0, "init --tables customers --title Customers", "with 1 table")
	c.chumbo(t, 0, "push --yes", "revision 1 is live", "Nothing of this project is served until")
	wantStatuses(t, surface, 404, 404, 404)
	alice := p.signIn(standin.AliceEmail).AccessToken
	p.ForgetRequests()
	if answer := call(t, surface, alice, eras[0], "customers_list", nil); answer.status != http.StatusNotFound || len(p.Requests()) != 0 {
		t.Errorf("published without proof, a call with a token answers %d, and %d requests reached the project", answer.status, len(p.Requests()))
	}
	c.chumbo(t, 1, "doctor", "would turn AI apps away")
	c.chumbo(t, 1, "link --verify", "is not applied")

	c.apply(t, p, "function public.chumbo_ownership(")
	c.chumbo(t, 0, "link --verify", "proven to be yours by chumbo_ownership()")
	wantStatuses(t, surface, 401, 200, 200)
	c.chumbo(t, 0, "doctor", surface)
	acmeOnly(t, surface)
	alice = signedIn(t, w, surface, standin.AliceEmail).access // of the bridge, which nobody could reach before

	before := c.read(t, filepath.Join(c.dir, "supabase/chumbo/main.yaml"))
	c.write(t, "supabase/chumbo/main.yaml", regexp.MustCompile(`(?m)^title: .*`).ReplaceAllString(before, "title: Our customers"))
	c.chumbo(t, 0, "diff", "differs from revision 1")
	c.chumbo(t, 0, "push --yes", "revision 2 is live")
	waitFor(t, "the new title", func() bool { return strings.Contains(title(t, surface, alice), "Our customers") })
	c.chumbo(t, 0, "rollback --to 1 --yes", "revision 1 is live again")
	waitFor(t, "the old title", func() bool { return !strings.Contains(title(t, surface, alice), "Our customers") })
	c.chumbo(t, 0, "pull --yes")
	c.chumbo(t, 0, "diff", "is what is live, revision 1")
	acmeOnly(t, surface)
}
