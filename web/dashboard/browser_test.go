package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
)

// see runs an action that answers something.
func see[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
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

// follow runs what leads to another page, and waits for that page.
func follow(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if _, err := chromedp.RunResponse(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// await waits until an expression is true of the page.
func await(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression)); err != nil {
		page, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
		t.Fatalf("%s: %v\n%s", expression, err, page)
	}
}

// enter signs the browser in with the cookie of somebody's session.
func enter(t *testing.T, ctx context.Context, base string, cookies []*http.Cookie) {
	t.Helper()
	for _, c := range cookies {
		act(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: base})
			return err
		}))
	}
}

// maxPage is the size no page may reach.
const maxPage = 100 << 10

// wellMade opens a page in each look. Each must be without
// serious findings of axe, scroll in one direction only, and stay small. A
// picture of each is kept where CHUMBO_TEST_SCREENSHOTS names a folder.
func wellMade(t *testing.T, ctx context.Context, name, url string) {
	t.Helper()
	for _, look := range browsertest.Looks {
		act(t, ctx, chromedp.EmulateViewport(look.Width, 900), browsertest.Theme(look.Scheme), chromedp.Navigate(url))
		wellMadeAsItIs(t, ctx, fmt.Sprintf("%s-%s-%d", name, look.Scheme, look.Width))
	}
}

// wellMadeAsItIs is wellMade for the page as it stands in the browser.
func wellMadeAsItIs(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if folder := os.Getenv("CHUMBO_TEST_SCREENSHOTS"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, name+".png"), see(t, ctx, chromedp.FullScreenshot(100)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if wide := see(t, ctx, chromedp.Evaluate[string](sideways)); wide != "" {
		t.Errorf("%s scrolls sideways: %s", name, wide)
	}
	if size := see(t, ctx, chromedp.Evaluate[int](`performance.getEntriesByType("navigation")[0]?.decodedBodySize ?? 0`)); size > maxPage {
		t.Errorf("%s has %d bytes", name, size)
	}
	axe(t, ctx, name)
}

// sideways names what is wider than the page, where it scrolls sideways.
const sideways = `(() => {
  const page = document.documentElement;
  if (page.scrollWidth <= page.clientWidth) return "";
  return [...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > page.clientWidth + 1)
    .slice(0, 5).map(e => e.tagName + "." + e.className).join(" ") || "the page";
})()`

var axeSource = sync.OnceValues(func() (string, error) {
	b, err := os.ReadFile("../../test/node/node_modules/axe-core/axe.min.js")
	return string(b), err
})

// axe fails the test for every serious or critical finding of axe-core. Where
// it is not installed the check is left out on a developer's machine, and
// fails in CI.
func axe(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	source, err := axeSource()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("axe-core is not installed: %v", err)
		}
		t.Log("npm install --no-save --prefix test/node installs axe-core, which looks at the pages")
		return
	}
	act(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](source+";true"))
		return err
	}))
	found := see(t, ctx, chromedp.Evaluate[string](`axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(
		r.violations.filter(v => v.impact === "serious" || v.impact === "critical")
			.map(v => ({rule: v.id, help: v.help, nodes: v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "").slice(0, 160))}))))`, chromedp.EvalAwaitPromise))
	var violations []struct {
		Rule, Help string
		Nodes      []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Errorf("%s: %s: %s\n  %s", name, v.Rule, v.Help, strings.Join(v.Nodes, "\n  "))
	}
}
