package dashboard_test

import "testing"

// TestField47_PageSaysHowToLookFromOutside: a firewall that turns AI apps away
// leaves no trace here, so the page names the command that finds it.
func TestField47_PageSaysHowToLookFromOutside(t *testing.T) {
	t.Parallel()
	_, alice, _ := acme(t)
	says(t, textOf(alice.open("/app/projects/acme-crm/surfaces/main").body), "as AI apps do", "firewall", "chumbo doctor main")
}
