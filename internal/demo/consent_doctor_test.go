package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// TestField23_DoctorTriesEveryWayAndRegistersOnce runs the command in a linked
// folder: the project's list of clients is the builder's.
func TestField23_DoctorTriesEveryWayAndRegistersOnce(t *testing.T) {
	t.Parallel()
	w, p := newTenant(t)
	c := newCheckout(t, "crm", p.Project)
	c.home = t.TempDir()
	c.env["CHUMBO_URL"], c.env["CHUMBO_TOKEN"] = w.url, p.builder.token.Reveal()
	c.chumbo(t, 0, "link --slug crm --yes --project-url "+p.URL(), "Linked to crm.")

	p.ForgetRequests()
	c.chumbo(t, 0, "doctor", "Ways to sign in: All 8 ways", "Scopes and staying signed in")
	registrations := func() int { return len(p.RequestsTo("/auth/v1/oauth/clients/register")) }
	if n := registrations(); n != 1 { // the public one is the server's own check's
		t.Errorf("%d clients were registered", n)
	}
	kept, err := os.ReadFile(filepath.Join(c.home, ".config/chumbo/check-clients.toml"))
	if err != nil || !strings.Contains(string(kept), p.Issuer()) || strings.Contains(strings.ReplaceAll(string(kept), "no secrets", ""), "secret") {
		t.Errorf("kept: %v\n%s", err, kept)
	}
	c.chumbo(t, 0, "doctor "+p.mcp, "All 8 ways")
	if n := registrations(); n != 1 {
		t.Errorf("%d clients after a second run", n)
	}
	for _, r := range p.Requests() {
		if r.Bearer != "" || strings.Contains(r.Path, "/authorizations/") {
			t.Errorf("somebody was signed in: %s", r.Path)
		}
	}

	// Somebody else's folder, and none at all: nothing is registered there.
	other := w.tenant(t, "Bob's builders", "other", standin.Options{})
	for name, d := range map[string]*checkout{"nobody's": {dir: t.TempDir(), home: t.TempDir()}, "Bob's": newCheckout(t, "other", other.Project)} {
		if name == "Bob's" {
			d.home = t.TempDir()
			d.env["CHUMBO_URL"], d.env["CHUMBO_TOKEN"] = w.url, other.builder.token.Reveal()
			d.chumbo(t, 0, "link --slug other --yes --project-url "+other.URL(), "Linked to other.")
		}
		p.ForgetRequests()
		d.chumbo(t, 0, "doctor "+p.mcp, "not linked to it")
		if n := registrations(); n != 0 {
			t.Errorf("%s: %d clients were registered at somebody else's project", name, n)
		}
	}

	// A home that nothing can be kept in: nothing is registered for each run.
	c.home = ""
	c.chumbo(t, 0, "doctor", "without a home directory")
}
