package demo

import (
	"context"
	"fmt"
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
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR="+t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(func() { stop(); stopAllocator() })
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // the first run starts the browser
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	return limited
}

// screenshot keeps a picture of the page where CHUMBO_TEST_SCREENSHOTS names a
// folder.
func screenshot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	folder := os.Getenv("CHUMBO_TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	png := look(t, ctx, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}

// look runs an action that answers something.
func look[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// act runs actions one after the other.
func act(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func TestConnectPageFitsEveryWidthInBothThemes(t *testing.T) {
	t.Parallel()
	ctx := newBrowser(t)
	for _, width := range []int64{1440, 390} {
		for _, scheme := range []string{"light", "dark"} {
			act(t, ctx, chromedp.EmulateViewport(width, 900), colourScheme(scheme), chromedp.Navigate(running.MCPURL))
			heading, shown := look(t, ctx, chromedp.Text("h1")), look(t, ctx, chromedp.Text(".copyable-value"))
			if !strings.HasPrefix(heading, "Connect ") || shown != running.MCPURL {
				t.Errorf("page says %q and shows %q", heading, shown)
			}
			if look(t, ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`)) {
				t.Errorf("at %d px the page scrolls sideways", width)
			}
			if !look(t, ctx, chromedp.Evaluate[bool](`document.querySelector("[data-copy]").hidden === false`)) {
				t.Error("the copy button does not appear: the script did not run")
			}
			screenshot(t, ctx, fmt.Sprintf("connect-%s-%d", scheme, width))
		}
	}
}

func colourScheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
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
	act(t, ctx, chromedp.EmulateViewport(390, 844), chromedp.Navigate(start), chromedp.Query("input[type=email]"))
	screenshot(t, ctx, "standin-sign-in-390")
	act(t, ctx, chromedp.SendKeys("input[type=email]", alice.email), chromedp.SendKeys("input[type=password]", alice.password+"\r"),
		chromedp.Query("button[value=approve]"))
	screenshot(t, ctx, "standin-consent-390")
	consent := look(t, ctx, chromedp.Text("body"))
	if !strings.Contains(consent, "Browser end-to-end") || !strings.Contains(consent, alice.email) {
		t.Errorf("the consent page does not say who asks and as whom: %s", consent)
	}
	act(t, ctx, chromedp.EmulateViewport(1440, 900))
	screenshot(t, ctx, "standin-consent-1440")
	act(t, ctx, chromedp.SendKeys("button[value=approve]", "\r"))
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
