package connect_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// TestPagesHaveAHostOfTheirOwn (CHUMBO_PAGES_URL): people sign in and answer
// there by either way, the surface and its issuer stay where they are, and
// neither host has what is the other's.
func TestPagesHaveAHostOfTheirOwn(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	for name, way := range map[string]struct {
		options standin.Options
		steps   func(t *testing.T)
	}{
		"the app's own pages": {standin.Options{}, func(t *testing.T) {
			press(t, ctx, "Sign in", `[name="authorization_id"]`)
			press(t, ctx, "Allow", ".consent")
		}},
		"hosted pages": {standin.Options{OAuthOff: true}, func(t *testing.T) { press(t, ctx, "Sign in", ".consent") }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newServedAt(t, way.options, "127.0.0.1")
			to, verifier := w.authorizeURL(t)
			if !strings.HasPrefix(to, w.pages+"/connect/authorize/") {
				t.Fatalf("people are sent to %s", to)
			}
			act(t, ctx, forgetful(), chromedp.EmulateViewport(1440, 900), chromedp.Navigate(to), chromedp.Query(`[type="password"]`), fill("email", standin.AliceEmail), fill("password", standin.CRMPassword))
			if at := address(t, ctx); strings.HasPrefix(at, w.pages) || strings.HasPrefix(at, w.base) {
				t.Errorf("the password is asked for at %s", at)
			}
			way.steps(t)
			if at := address(t, ctx); !strings.HasPrefix(at, w.pages+"/connect/consent/") {
				t.Errorf("the question is asked at %s", at)
			}
			press(t, ctx, "Allow", "#back")
			if got := w.tools(t, w.redeem(t, address(t, ctx), verifier)); !slices.Contains(got, "archive_customer") {
				t.Errorf("the client sees %v", got)
			}
			act(t, ctx, chromedp.Navigate(w.connectedApps(t)), chromedp.Query(".grant"))
			if at := address(t, ctx); !strings.HasPrefix(at, w.pages+"/connect/apps/") {
				t.Errorf("Connected apps are at %s", at)
			}
			for _, elsewhere := range []string{
				strings.Replace(to, w.pages, w.base, 1), strings.Replace(address(t, ctx), w.pages, w.base, 1),
				strings.Replace(w.issuer, w.base, w.pages, 1), w.pages + "/.well-known/oauth-authorization-server/acme/mcp", w.pages + "/api/v1/projects", w.pages + "/app",
			} {
				if status := w.status(t, elsewhere); status < http.StatusBadRequest {
					t.Errorf("%s: %d", elsewhere, status)
				}
			}
		})
	}
}

// status asks without following anything.
func (w *served) status(t *testing.T, to string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
