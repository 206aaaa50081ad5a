package demo

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// newBrowser is a real Chromium. Without one the test is skipped on a
// developer's machine, and fails in CI.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no Chromium on this machine")
		}
		t.Skip("no Chromium on this machine (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(func() { cancel(); stop(); stopAllocator() })
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("script error: %s", e.ExceptionDetails.Text)
		}
	})
	return ctx
}

// screenshot keeps a picture of the page where CHUMBO_TEST_SCREENSHOTS names a
// folder.
func screenshot(name string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		folder := os.Getenv("CHUMBO_TEST_SCREENSHOTS")
		if folder == "" {
			return nil
		}
		var png []byte
		if err := chromedp.FullScreenshot(&png, 100).Do(ctx); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600)
	})
}

// widths are the two sizes every page must fit.
var widths = []int64{1440, 390}

func TestConnectPageFitsEveryWidthAndCopies(t *testing.T) {
	t.Parallel()
	ctx := newBrowser(t)
	for _, width := range widths {
		for _, scheme := range []string{"light", "dark"} {
			var heading, shown string
			var overflow bool
			err := chromedp.Run(ctx,
				chromedp.EmulateViewport(width, 900),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.Navigate(running.MCPURL),
				chromedp.Text("h1", &heading, chromedp.ByQuery),
				chromedp.Text(".copyable-value", &shown, chromedp.ByQuery),
				chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &overflow),
				screenshot("connect-"+scheme+"-"+map[int64]string{1440: "1440", 390: "390"}[width]),
			)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(heading, "Connect ") || shown != running.MCPURL {
				t.Errorf("page says %q and shows %q", heading, shown)
			}
			if overflow {
				t.Errorf("at %d px the page scrolls sideways", width)
			}
		}
	}
}

// TestPersonSignsInWithTheKeyboardAlone walks the app's sign-in and consent
// pages in a real browser.
func TestPersonSignsInWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	ctx := newBrowser(t)
	back := make(chan url.Values, 1)
	callback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			select {
			case back <- r.URL.Query():
			default:
			}
		}
		_, _ = w.Write([]byte("You can close this window."))
	}))
	t.Cleanup(callback.Close)
	client := register(t, callback.URL+"/callback")
	start := running.ProjectURL + "/auth/v1/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {callback.URL + "/callback"}, "scope": {"email"}, "state": {"s-1"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
	}.Encode()
	alice := newPerson(t, "alice@example.test")
	var consent string
	err := chromedp.Run(ctx,
		chromedp.EmulateViewport(390, 844),
		chromedp.Navigate(start),
		chromedp.WaitVisible(`input[type=email]`, chromedp.ByQuery),
		screenshot("standin-sign-in-390"),
		chromedp.SendKeys(`input[type=email]`, alice.email, chromedp.ByQuery),
		chromedp.SendKeys(`input[type=password]`, alice.password+"\r", chromedp.ByQuery),
		chromedp.WaitVisible(`button[value=approve]`, chromedp.ByQuery),
		screenshot("standin-consent-390"),
		chromedp.Text("body", &consent, chromedp.ByQuery),
		chromedp.EmulateViewport(1440, 900),
		screenshot("standin-consent-1440"),
		chromedp.SendKeys(`button[value=approve]`, "\r", chromedp.ByQuery),
	)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(consent, "Browser end-to-end") || !strings.Contains(consent, alice.email) {
		t.Errorf("the consent page does not say who asks and as whom: %s", consent)
	}
	select {
	case q := <-back:
		if q.Get("code") == "" || q.Get("state") != "s-1" {
			t.Fatalf("callback: %v", q)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("no callback")
	}
}

// register makes an OAuth client at the project.
func register(t *testing.T, redirect string) (clientID string) {
	t.Helper()
	var answer struct {
		ClientID string `json:"client_id"`
	}
	postJSON(t, running.ProjectURL+"/auth/v1/oauth/clients/register", map[string]any{
		"client_name": "Browser end-to-end", "redirect_uris": []string{redirect}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"},
	}, &answer)
	return answer.ClientID
}
