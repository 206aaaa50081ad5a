package connect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
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

// fill types into a field as a person would, over what stood there.
func fill(name, text string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		field := `[name="` + name + `"]:not([type=hidden])`
		selected := chromedp.Evaluate[chromedp.Void]("document.querySelector(" + strconv.Quote(field) + ").select()")
		return chromedp.Do(ctx, chromedp.Query(field), selected, chromedp.SendKeys(field, text))
	})
}

// press presses the button or link that says so, and waits for a page that has
// what it leads to.
func press(t *testing.T, ctx context.Context, says, leadsTo string) {
	t.Helper()
	found := see(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
	  const b = [...document.querySelectorAll("button, a")].find(b => b.checkVisibility() && b.textContent.trim().startsWith(%q));
	  window.pressed = true; // gone with this page
	  if (b) setTimeout(() => b.click());
	  return !!b;
	})()`, says)))
	if !found {
		t.Fatalf("no button says %q:\n%s", says, page(t, ctx))
	}
	arrive(t, ctx, leadsTo)
}

// arrive waits for a page other than the one that was left, which has what the
// selector names.
func arrive(t *testing.T, ctx context.Context, leadsTo string) {
	t.Helper()
	arrived := fmt.Sprintf("!window.pressed && document.readyState === 'complete' && !!document.querySelector(%q)", leadsTo)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(20 * time.Second); ; <-tick.C {
		// Between two pages there is nothing to ask: that is no failure.
		if there, err := chromedp.Run(ctx, chromedp.Evaluate[bool](arrived)); err == nil && there {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("there is no %s here:\n%s", leadsTo, page(t, ctx))
		}
	}
}

// inPlaceOf answers requests to addresses elsewhere with a script.
func inPlaceOf(t *testing.T, ctx context.Context, pattern, script string) {
	t.Helper()
	act(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: pattern}}})
		return err
	}))
	if err := chromedp.Listen(ctx, func(event any) {
		if paused, ok := event.(*fetch.EventRequestPaused); ok {
			go func() { // a listener runs no command itself
				_, _ = chromedp.Call(ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
					RequestID: paused.RequestID, ResponseCode: 200, Body: []byte(script),
					ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/javascript"}},
				})
			}()
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// page is where the browser is, and what it says.
func page(t *testing.T, ctx context.Context) string {
	t.Helper()
	return see(t, ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
}

// maxPage is the size no page may reach.
const maxPage = 100 << 10

// wellMade looks at the page as it stands, in each look. It
// must be without serious findings of axe, scroll in one direction only, and
// stay small. A picture of each is kept where CHUMBO_TEST_SCREENSHOTS names a
// folder.
func wellMade(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	for _, look := range browsertest.Looks {
		act(t, ctx, chromedp.EmulateViewport(look.Width, 900), browsertest.Theme(look.Scheme))
		at := fmt.Sprintf("people-%s-%s-%d", name, look.Scheme, look.Width)
		if folder := os.Getenv("CHUMBO_TEST_SCREENSHOTS"); folder != "" {
			if err := os.WriteFile(filepath.Join(folder, at+".png"), see(t, ctx, chromedp.FullScreenshot(100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if wide := see(t, ctx, chromedp.Evaluate[string](sideways)); wide != "" {
			t.Errorf("%s scrolls sideways: %s", at, wide)
		}
		axe(t, ctx, at)
	}
	if size := see(t, ctx, chromedp.Evaluate[int](`performance.getEntriesByType("navigation")[0]?.decodedBodySize ?? 0`)); size > maxPage {
		t.Errorf("%s has %d bytes", name, size)
	}
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
	found := see(t, ctx, chromedp.Evaluate[string](source+`;axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(
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
