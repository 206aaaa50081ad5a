package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
)

// TestChecksArriveOneByOne registers with scripts: the page renders before the
// project was asked, and each check takes its own line.
func TestChecksArriveOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	alice := w.setUp(t)
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, w.base, alice.cookies())
	act(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(w.base+"/app/register"))
	follow(t, ctx, chromedp.SendKeys("[name=url]", w.project.URL()+"\r"))
	await(t, ctx, `!!document.querySelector("#next [name=slug]")`)
	if signs := see(t, ctx, chromedp.Evaluate[string](`[...document.querySelectorAll(".progress > li")].map(l => l.className).join(" ")`)); strings.Contains(signs, "wait") || strings.Count(signs, "step-pass") < 6 {
		t.Errorf("the checks: %s", signs)
	}
	if verdict := see(t, ctx, chromedp.Text("#verdict")); !strings.Contains(verdict, "It can be registered") {
		t.Errorf("the verdict: %s", verdict)
	}
	if left := see(t, ctx, chromedp.Evaluate[int](`[...document.querySelectorAll("[data-without-events]")].filter(f => !f.hidden).length`)); left != 0 {
		t.Error("the button for browsers without scripts stays")
	}
	wellMadeAsItIs(t, ctx, "registration-live")
	see(t, ctx, chromedp.Evaluate[string](`document.querySelector("#next [name=publishable_key]").value = "`+w.project.PublishableKey()+`"`))
	see(t, ctx, chromedp.Evaluate[string](`document.querySelector("#next [name=name]").value = "Acme CRM"`))
	see(t, ctx, chromedp.Evaluate[string](`document.querySelector("#next [name=slug]").value = "acme-crm"`))
	follow(t, ctx, chromedp.Click("#next form.stack .button"))
	if at := see(t, ctx, chromedp.Evaluate[string](`location.pathname`)); at != "/app/projects/acme-crm/ownership" {
		t.Fatalf("registering leads to %s: %s", at, see(t, ctx, chromedp.Text("main")))
	}
	act(t, ctx, chromedp.Navigate(w.base+"/app/projects/acme-crm"))
	follow(t, ctx, chromedp.Click(".check-again .button"))
	await(t, ctx, `!!document.querySelector("#verdict .badge")`)
	if at := see(t, ctx, chromedp.Evaluate[string](`location.search`)); at != "?checking=1" {
		t.Errorf("checking leads to %q", at)
	}
	if verdict := see(t, ctx, chromedp.Text("#verdict")); !strings.Contains(verdict, "all checks pass") {
		t.Errorf("checked again: %s", verdict)
	}
}

// TestOrganizationIsMadeInADialog: the link leads to a page, and scripts show
// the same form in place.
func TestOrganizationIsMadeInADialog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	alice := w.setUp(t)
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, w.base, alice.cookies())
	act(t, ctx, chromedp.EmulateViewport(390, 844), chromedp.Navigate(w.base+"/app"), chromedp.Click(".switcher summary"))
	wellMadeAsItIs(t, ctx, "switcher-390")
	act(t, ctx, chromedp.Click("[data-dialog]"), chromedp.Query("dialog[open] input[name=organization]"))
	wellMadeAsItIs(t, ctx, "dialog-390")
	follow(t, ctx, chromedp.SendKeys("dialog[open] input[name=organization]", "Initech\r"))
	if text := see(t, ctx, chromedp.Text(".switcher-name")); text != "Initech" {
		t.Errorf("one works in %q", text)
	}
}
