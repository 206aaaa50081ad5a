package demo

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/cli"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// checkout is a builder's repository and what is set in their shell.
type checkout struct {
	dir   string
	home  string
	env   map[string]string
	typed string             // at the terminal; empty: there is none
	after func(shown string) // what happens elsewhere while the command waits
}

// newCheckout is the repository of an app whose Supabase project runs on this
// machine, as supabase/config.toml says.
func newCheckout(t *testing.T, projectID string, project *standin.Project) *checkout {
	t.Helper()
	u, err := url.Parse(project.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := &checkout{dir: t.TempDir(), env: map[string]string{
		"CHUMBO_URL": running.ServerURL, "CHUMBO_TOKEN": running.APIToken,
		"SUPABASE_PUBLISHABLE_KEY": project.PublishableKey(), "SUPABASE_DB_URL": project.DSN(),
	}}
	c.write(t, "supabase/config.toml", fmt.Sprintf("project_id = %q\n[api]\nport = %s\nschemas = [\"public\", \"graphql_public\"]\nmax_rows = 500\n", projectID, u.Port()))
	return c
}

func (c *checkout) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// chumbo runs the command, expects an exit code and every one of the texts, and
// returns all it printed.
func (c *checkout) chumbo(t *testing.T, exit int, args string, texts ...string) string {
	t.Helper()
	var out bytes.Buffer
	got := cli.Main(t.Context(), cli.Environment{
		Args: strings.Fields(args), Getenv: func(name string) string { return c.env[name] }, Dir: c.dir, Home: c.home, Out: &out, Err: &out,
		In: strings.NewReader(c.typed), IsTerminal: c.typed != "",
		After: func(time.Duration) <-chan time.Time {
			fired := make(chan time.Time, 1)
			fired <- time.Now()
			if c.after != nil {
				c.after(out.String())
			}
			return fired
		},
	})
	if got != exit {
		t.Fatalf("chumbo %s exits with %d, want %d:\n%s", args, got, exit, out.String())
	}
	for _, text := range texts {
		if !strings.Contains(out.String(), text) {
			t.Errorf("chumbo %s does not say %q:\n%s", args, text, out.String())
		}
	}
	return out.String()
}

const shopFile = `version: 1
title: Corner shop
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    operations: [list]
    columns: [id, name, status]
`

// TestBuilderGoesFromARepositoryToServedCalls: the CLI against the running
// service, then a user of that app through the URL it printed.
func TestBuilderGoesFromARepositoryToServedCalls(t *testing.T) {
	t.Parallel()
	project, err := standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t), Schema: standin.CRM, Users: standin.CRMUsers()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = project.Close() })
	c := newCheckout(t, "Corner_Shop", project)

	c.chumbo(t, 1, "link --slug "+projectSlug, "pass another --slug")
	c.chumbo(t, 1, "link --slug connect", "reserved")
	c.chumbo(t, 1, "link --publishable-key "+project.SecretKey(), "Revoke")
	elsewhere := strings.Replace(project.URL(), "127.0.0.1", "localhost", 1)
	c.chumbo(t, 1, "link --project-url "+elsewhere, "GOTRUE_JWT_ISSUER", "Nothing was registered")
	c.chumbo(t, 0, "link", "ok    Project answers", "Linked to corner-shop. Next: chumbo import")

	c.write(t, "supabase/chumbo/main.yaml", shopFile)
	c.chumbo(t, 1, "push", "chumbo import")
	c.chumbo(t, 0, "import", "ok    imported", "Next: chumbo push")
	c.chumbo(t, 0, "push --dry-run", "1 tool, would be published")
	pushed := c.chumbo(t, 0, "push", "revision 1 is live", "claude mcp add --transport http")
	served := regexp.MustCompile(`http://\S+/corner-shop/mcp`).FindString(pushed)
	if served == "" {
		t.Fatalf("push prints no URL: %s", pushed)
	}
	c.chumbo(t, 0, "status", "organization Demo builders", "project corner-shop at "+project.URL(), "surface main: live, revision 1, "+served)

	p := &tenant{Project: project, t: t}
	alice := p.signIn(standin.AliceEmail).AccessToken
	for _, era := range eras {
		speak(t, served, "", era, "tools/list", nil).challenged(t, served, "")
		items := call(t, served, alice, era, "customers_list", nil).page(t).Items
		if len(items) == 0 {
			t.Fatal("Alice sees no customers")
		}
		for _, item := range items {
			requireOwner(t, item, organizations[standin.AliceEmail])
		}
	}

	c.write(t, "supabase/chumbo/main.yaml", strings.Replace(shopFile, "name, status", "nam, status", 1))
	c.chumbo(t, 1, "push", "supabase/chumbo/main.yaml:7:19: error: ", `"name"`, "nothing published")
	c.chumbo(t, 0, "status", "revision 1", "chumbo push")
	c.write(t, "supabase/chumbo/main.yaml", shopFile+"  - tool: customer_summary\n    description: Customers by status.\n    rpc: customer_summary\n")
	c.chumbo(t, 0, "push", "revision 2 is live")
	lists := func() bool {
		return strings.Contains(speak(t, served, alice, eras[0], "tools/list", nil).body, `"customer_summary"`)
	}
	for deadline := time.Now().Add(5 * time.Second); !lists(); {
		if time.Now().After(deadline) {
			t.Fatal("what was pushed is not served within 5 s")
		}
	}
}
