package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
)

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

// eachLook opens a page in each look, checks it, and keeps a picture.
func eachLook(t *testing.T, ctx context.Context, name, url string, check func(t *testing.T)) {
	t.Helper()
	for _, look := range browsertest.Looks {
		act(t, ctx, chromedp.EmulateViewport(look.Width, 900), browsertest.Theme(look.Scheme), chromedp.Navigate(url))
		if check != nil {
			check(t)
		}
		picture := fmt.Sprintf("%s-%s-%d", name, look.Scheme, look.Width)
		wellMade(t, ctx, picture)
		screenshot(t, ctx, picture)
	}
}

// audit lists what of the page shown falls short of WCAG 2.2 AA in ways a
// program can tell: contrast of text (1.4.3) and of field borders (1.4.11),
// fields without a label (3.3.2), headings out of order, small targets
// (2.5.8), and a page that scrolls sideways (1.4.10).
const audit = `(() => {
  const problems = [];
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const luminance = ([r, g, b]) => [r, g, b].map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; })
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const canvas = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; } return canvas; };
  const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const name = e => e.tagName.toLowerCase() + " " + (e.textContent || e.id).trim().slice(0, 40);
  for (const e of document.body.querySelectorAll("*")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility()) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize);
    const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
    const r = ratio(parse(style.color), behind(e));
    if (r < (large ? 3 : 4.5)) problems.push("contrast " + r.toFixed(2) + ": " + name(e));
  }
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!e.labels.length) problems.push("no label: " + name(e));
    const r = ratio(parse(getComputedStyle(e).borderTopColor), behind(e.parentElement));
    if (r < 3) problems.push("border contrast " + r.toFixed(2) + ": " + name(e));
  }
  for (const e of document.querySelectorAll("button, input:not([type=hidden]), .button")) {
    // A label is part of its box's or choice's target; what stands in a line of
    // text may be as high as the line, 24 px at least.
    const target = /^(radio|checkbox)$/.test(e.type) && e.labels.length ? e.labels[0] : e, box = target.getBoundingClientRect();
    const least = e.matches(".button-small") ? 24 : 44;
    if (e.checkVisibility() && (box.height < least || box.width < least)) problems.push("small target: " + name(e));
  }
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map(h => +h.tagName[1]);
  if (levels.filter(l => l === 1).length !== 1 || levels.some((l, i) => l > (levels[i - 1] || 0) + 1)) problems.push("headings: " + levels);
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) problems.push("scrolls sideways");
  if (!document.documentElement.lang || !document.querySelector("main")) problems.push("no language or no main landmark");
  return problems.join("; ");
})()`

func wellMade(t *testing.T, ctx context.Context, page string) {
	t.Helper()
	if problems := look(t, ctx, chromedp.Evaluate[string](audit)); problems != "" {
		t.Errorf("%s: %s", page, problems)
	}
}

func TestConnectPageFitsEveryWidthInBothThemes(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	eachLook(t, ctx, "connect", running.MCPURL, func(t *testing.T) {
		heading, shown := look(t, ctx, chromedp.Text("h1")), look(t, ctx, chromedp.Text(".copyable-value"))
		if !strings.HasPrefix(heading, "Connect ") || shown != running.MCPURL {
			t.Errorf("page says %q and shows %q", heading, shown)
		}
		if !look(t, ctx, chromedp.Evaluate[bool](`document.querySelector("[data-copy]").hidden === false`)) {
			t.Error("the copy button does not appear: the script did not run")
		}
	})
	eachLook(t, ctx, "connect-public", running.ConformanceURL, func(t *testing.T) {
		if lead := look(t, ctx, chromedp.Text(".lead")); !strings.Contains(lead, "No sign-in is needed") {
			t.Errorf("a public surface says %q", lead)
		}
	})
}

// TestOwnerOfTheDemoSignsInToTheDashboard: with what the demo prints.
func TestOwnerOfTheDemoSignsInToTheDashboard(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	eachLook(t, ctx, "sign-in", running.DashboardURL, nil)
	act(t, ctx, chromedp.Query("[name=password]"), fill("email", running.Owner.Email), fill("password", running.Owner.Password))
	press(t, ctx, "Sign in", `a[href="/app/projects/crm"]`)
	eachLook(t, ctx, "projects", running.DashboardURL, nil)
	eachLook(t, ctx, "overview", running.DashboardURL+"/projects/crm/surfaces/main", func(t *testing.T) {
		if page := look(t, ctx, chromedp.Text("main")); !strings.Contains(page, running.MCPURL) {
			t.Errorf("the surface's page does not show %s:\n%s", running.MCPURL, page)
		}
	})
}

// TestCopyButtonIsReachedAndShownByKeyboard moves by Tab alone.
func TestCopyButtonIsReachedAndShownByKeyboard(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	act(t, ctx, chromedp.Navigate(running.MCPURL), chromedp.KeyEvent("\t"))
	if focused := look(t, ctx, chromedp.Evaluate[string](`document.activeElement.textContent`)); focused != "Copy" {
		t.Fatalf("the first Tab leads to %q", focused)
	}
	if outline := look(t, ctx, chromedp.Evaluate[string](`getComputedStyle(document.activeElement).outline`)); !strings.Contains(outline, "2px") {
		t.Errorf("focus is not seen: %s", outline)
	}
}

// TestPersonSignsInWithTheKeyboardAlone walks the app's sign-in and consent
// pages in a real browser.
func TestPersonSignsInWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
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
	eachLook(t, ctx, "standin-sign-in", start, nil)
	act(t, ctx, chromedp.EmulateViewport(390, 844), browsertest.Theme("light"), chromedp.Navigate(start), chromedp.Query("input[type=email]"))
	act(t, ctx, chromedp.SendKeys("input[type=email]", alice.email), chromedp.SendKeys("input[type=password]", alice.password+"\r"),
		chromedp.Query("button[value=approve]"))
	wellMade(t, ctx, "consent at 390")
	screenshot(t, ctx, "standin-consent-390")
	consent := look(t, ctx, chromedp.Text("body"))
	if !strings.Contains(consent, "Browser end-to-end") || !strings.Contains(consent, alice.email) {
		t.Errorf("the consent page does not say who asks and as whom: %s", consent)
	}
	act(t, ctx, chromedp.EmulateViewport(1440, 900), browsertest.Theme("dark"))
	wellMade(t, ctx, "consent in the dark")
	screenshot(t, ctx, "standin-consent-dark-1440")
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
