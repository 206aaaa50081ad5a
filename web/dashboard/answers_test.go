package dashboard_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
)

// TestPagesThatFormsLeadToAreWellMade looks at pages that only a form shows:
// what is shown once, what was refused, what somebody else did meanwhile.
func TestPagesThatFormsLeadToAreWellMade(t *testing.T) {
	t.Parallel()
	w, alice, _ := acme(t)
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, w.base, alice.cookies())
	const project, surface = "/app/projects/acme-crm", "/app/projects/acme-crm/surfaces/main"
	at := func(path string) {
		t.Helper()
		act(t, ctx, chromedp.Navigate(w.base+path))
	}
	both := func(name, shows string) {
		t.Helper()
		act(t, ctx, chromedp.Query(shows))
		for _, look := range browsertest.Looks {
			act(t, ctx, chromedp.EmulateViewport(look.Width, 900), browsertest.Theme(look.Scheme))
			wellMadeAsItIs(t, ctx, name)
		}
	}

	at("/app/tokens")
	act(t, ctx, chromedp.SendKeys("[name=name]", "laptop"))
	follow(t, ctx, chromedp.Click(`form[action="/app/tokens"] button`))
	both("token-made", ".once")

	at(project + "/schema")
	act(t, ctx, chromedp.Evaluate[chromedp.Void](`void document.querySelectorAll("details").forEach(d => d.open = true)`), chromedp.SendKeys("[name=relations]", "public.customers"))
	follow(t, ctx, chromedp.Click(`form[action$="/schema/catalog"] button`))
	both("schema-sql", `[aria-label="SQL of chumbo_catalog"]`)

	at(project + "/settings")
	act(t, ctx, chromedp.Evaluate[chromedp.Void](`void (document.querySelector("[name=slug]").value = "www")`))
	follow(t, ctx, chromedp.Click(`form[action$="/settings/slug"] button`))
	both("settings-refused", ".wrong, .note-bad")

	at(surface + "/capabilities")
	act(t, ctx, chromedp.Evaluate[chromedp.Void](`void (document.getElementById("file").value = document.getElementById("file").value.replace("Acme CRM", "Acme customers"))`))
	follow(t, ctx, chromedp.Click("[name=do][value=review]"))
	act(t, ctx, chromedp.Evaluate[chromedp.Void](`void (document.querySelector("[name=expect]").value = "0".repeat(64))`))
	follow(t, ctx, chromedp.Click(`form[action$="/publish"] .actions button`))
	both("publish-conflict", "h1")
}
