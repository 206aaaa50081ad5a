package connect_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// withoutScripts switches the pages' own scripts off.
func withoutScripts() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
}

// key presses one key as a keyboard does.
func key(name string) chromedp.Action[chromedp.Void] {
	text := map[string]string{"Enter": "\r"}[name]
	code := map[string]int64{"Enter": 13, "Tab": 9, "ArrowDown": 40}[name]
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for _, kind := range []input.DispatchKeyEventType{"keyDown", "keyUp"} {
			_, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: name, Code: name, Text: text, WindowsVirtualKeyCode: code})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// typed puts text where the caret is.
func typed(text string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
}

// tabTo moves by Tab until the focus is on what the selector names, which must
// show that it is.
func tabTo(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	for range 40 {
		act(t, ctx, key("Tab"))
		if see(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf("document.activeElement.matches(%q)", selector))) {
			if !see(t, ctx, chromedp.Evaluate[bool](`document.activeElement.matches(":focus-visible")`)) {
				t.Errorf("nothing shows that %s has the focus", selector)
			}
			return
		}
	}
	t.Fatalf("Tab does not lead to %s:\n%s", selector, page(t, ctx))
}

// TestPersonNeedsNeitherScriptsNorMouse: from the surface's page over sign-in
// and question to Connected apps on a telephone's width, by keyboard, without
// scripts; and no page takes a second.
func TestPersonNeedsNeitherScriptsNorMouse(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	w := newServed(t, standin.Options{OAuthOff: true, MailInterval: time.Nanosecond})
	quick := func(name string) {
		t.Helper()
		if wide := see(t, ctx, chromedp.Evaluate[string](sideways)); wide != "" {
			t.Errorf("%s scrolls sideways: %s", name, wide)
		}
		best := time.Duration(1 << 62) // of a few, for a machine that has other things to do
		for range 5 {
			took := see(t, ctx, chromedp.Evaluate[float64](`performance.getEntriesByType("navigation")[0].domComplete`))
			if took > 0 {
				best = min(best, time.Duration(took)*time.Millisecond)
			}
			if best < time.Second {
				return
			}
			act(t, ctx, chromedp.Navigate(address(t, ctx)), chromedp.Query("main"))
		}
		t.Errorf("%s takes %s", name, best)
	}
	to, verifier := w.authorizeURL(t)
	act(t, ctx, chromedp.EmulateViewport(390, 844), withoutScripts(), chromedp.Navigate(to), chromedp.Query(`[type="password"]`))
	quick("sign-in")
	tabTo(t, ctx, `[name="email"]`)
	act(t, ctx, typed(standin.AliceEmail))
	tabTo(t, ctx, `[name="password"]`)
	act(t, ctx, typed(standin.CRMPassword), key("Enter"), chromedp.Query(".consent"))
	quick("consent")
	says(t, page(t, ctx), "Allow Claude to use Acme CRM?", "unverified", w.back, standin.AliceEmail, "Read", "Change", "Only read", "90 days")
	tabTo(t, ctx, `[name="reach"]`)
	act(t, ctx, key("ArrowDown")) // to the next choice of the group
	tabTo(t, ctx, `[name="decision"][value="deny"]`)
	tabTo(t, ctx, `[name="decision"][value="allow"]`)
	act(t, ctx, key("Enter"), chromedp.Query("#back"))
	token := w.redeem(t, address(t, ctx), verifier)
	if got := w.tools(t, token); !slices.Equal(got, []string{"customers_list", "customers_get"}) {
		t.Errorf("allowed only to read, it sees %v", got)
	}

	// The surface's own page leads to Connected apps.
	act(t, ctx, chromedp.Navigate(w.connectedApps(t)), chromedp.Query(".grant"))
	quick("Connected apps")
	says(t, page(t, ctx), "1 app can use your account", "Claude", "only reads")
	tabTo(t, ctx, `form[action$="/revoke"] button`)
	act(t, ctx, key("Enter"), chromedp.Query(".grant-ended"))
	if got := w.tools(t, token); got != nil {
		t.Errorf("disconnected, it sees %v", got)
	}
}

// connectedApps is the link that the surface's page shows to browsers.
func (w *served) connectedApps(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.issuer, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(body), `href="`+w.pages+`/connect/apps/`)
	ref, _, _ := strings.Cut(after, `"`)
	if !found || ref == "" {
		t.Fatalf("no link to Connected apps: %s", body)
	}
	return w.pages + "/connect/apps/" + ref
}
