package dashboard_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// looked registers a project up to the checks, without scripts, and returns
// the page's text.
func looked(t *testing.T, o standin.Options) (w *world, text string) {
	t.Helper()
	w = newWorld(t, worldOptions{project: o})
	alice := w.setUp(t)
	begun := alice.post("/app/register", "url", w.project.URL())
	if begun.status != http.StatusSeeOther {
		t.Fatalf("register: %d", begun.status)
	}
	alice.submit(begun.location + "/check")
	return w, html.UnescapeString(textOf(alice.page))
}

func says(t *testing.T, page string, sentences ...string) {
	t.Helper()
	for _, want := range sentences {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %s", want, page)
		}
	}
}

// TestField04_PageShowsTheIssuerWhole: the tail /auth/v1 is part of it. Clients
// build every discovery URL from it, so a page that tidied it away would have
// people compare the wrong thing.
func TestField04_PageShowsTheIssuerWhole(t *testing.T) {
	t.Parallel()
	w, page := looked(t, standin.Options{})
	says(t, page, "Issuer "+w.project.URL()+"/auth/v1 ok", "All is well. It can be registered.")
}

// TestField08_PageNamesTheRoutesToOpen where a gateway swallows discovery, and
// does not take it for a switched-off OAuth server.
func TestField08_PageNamesTheRoutesToOpen(t *testing.T) {
	t.Parallel()
	_, page := looked(t, standin.Options{SelfHosted: true})
	says(t, page, "What to do", "kong.yml", "/auth/v1/.well-known/", "/auth/v1/oauth/")
	if strings.Contains(page, "The OAuth server is off.") {
		t.Errorf("the gateway is taken for the OAuth server: %s", page)
	}
}

// TestField25_PageSaysWhereTheConsentPageMustBe and what to allow to have it
// elsewhere.
func TestField25_PageSaysWhereTheConsentPageMustBe(t *testing.T) {
	t.Parallel()
	w, page := looked(t, standin.Options{})
	says(t, page, "Consent page "+w.project.URL()+"/oauth/consent", "The page must be served from "+w.project.URL(), "add the other origin itself", "Calls from a server send no Origin")
}

// TestField26_PageSaysWhatHalfConfiguredMeans and how both halves are set at
// once.
func TestField26_PageSaysWhatHalfConfiguredMeans(t *testing.T) {
	t.Parallel()
	_, page := looked(t, standin.Options{NoConsentPath: true})
	says(t, page, "The OAuth server is on, but has no consent page", "chumbo link --configure does both at once", "Authorization Path", "warning")
}
