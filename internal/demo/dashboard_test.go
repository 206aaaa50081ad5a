package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

const setupCode = "plumb-bob-line"

// newInstance is a server that nobody owns yet, and that serves proven
// projects only.
func newInstance(t *testing.T) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	listener, err := listen(ctx, AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	cfg, err := app.LoadConfig([]string{"CHUMBO_PUBLIC_URL=" + url, "CHUMBO_ALLOW_PRIVATE_HOSTS=true", "CHUMBO_SETUP_CODE=" + setupCode})
	if err != nil {
		t.Fatal(err)
	}
	cfg.DatabaseURL, cfg.MasterKey = seal.NewSecret(dbtest.NewDatabase(t).ServerDSN), seal.GenerateKey()
	server, err := app.NewServer(ctx, cfg, app.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := server.Setup(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := server.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return url
}

// fill types into a field as a person would, over what stood there.
func fill(name, text string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		field := `[name="` + name + `"]:not([type=hidden])`
		selected := chromedp.Evaluate[chromedp.Void]("document.querySelector(" + strconv.Quote(field) + ").select()")
		return chromedp.Do(ctx, chromedp.Query(field), selected, chromedp.SendKeys(field, text))
	})
}

// press presses the button that says so, and waits for the next page to show
// what it leads to.
func press(t *testing.T, ctx context.Context, says, leadsTo string) {
	t.Helper()
	found := look(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
	  const b = [...document.querySelectorAll("main button, main a.button")].find(b => b.checkVisibility() && b.textContent.trim() === %q);
	  window.pressed = true; // gone with this page
	  if (b) setTimeout(() => b.click());
	  return !!b;
	})()`, says)))
	if !found {
		t.Fatalf("no button says %q on %s:\n%s", says, where(t, ctx), look(t, ctx, chromedp.Text("main")))
	}
	arrived := fmt.Sprintf("!window.pressed && document.readyState === 'complete' && !!document.querySelector(%q)", leadsTo)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(20 * time.Second); ; <-tick.C {
		// Between two pages there is nothing to ask: that is no failure.
		if there, err := chromedp.Run(ctx, chromedp.Evaluate[bool](arrived)); err == nil && there {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%q leads to %s without %s:\n%s", says, where(t, ctx), leadsTo, look(t, ctx, chromedp.Text("main")))
		}
	}
}

func where(t *testing.T, ctx context.Context) string {
	t.Helper()
	return look(t, ctx, chromedp.Evaluate[string]("location.pathname"))
}

// bothWidths keeps a picture of the page as it stands at each width.
func bothWidths(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	for _, width := range []int64{390, 1440} {
		act(t, ctx, chromedp.EmulateViewport(width, 900))
		wellMade(t, ctx, fmt.Sprintf("%s at %d", name, width))
		screenshot(t, ctx, fmt.Sprintf("builder-%s-%d", name, width))
	}
}

func surfaceStatus(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestBuilderGoesFromFirstRunToARollback: nothing but the
// pages and the project's SQL editor.
func TestBuilderGoesFromFirstRunToARollback(t *testing.T) {
	t.Parallel()
	project, err := standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t), Schema: standin.CRM, Users: standin.CRMUsers()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = project.Close() })
	sqlOf := func(function string) string { return `[aria-label="SQL of ` + function + `"] code` }
	runSQL := func(ctx context.Context, function string) {
		t.Helper()
		if err := project.Exec(t.Context(), look(t, ctx, chromedp.Text(sqlOf(function)))); err != nil {
			t.Fatal(err)
		}
		if err := project.ReloadSchema(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	url := newInstance(t)
	mcpURL := url + "/acme/mcp"
	ctx := browsertest.Open(t, 4*time.Minute)

	act(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url), chromedp.Query(`[name="code"]`))
	bothWidths(t, ctx, "1-first-run")
	act(t, ctx, fill("code", setupCode), fill("email", "alice@example.test"), fill("password", "four words in a row"), fill("organization", "Acme"))
	press(t, ctx, "Begin", `[name="url"]`)

	bothWidths(t, ctx, "2-register")
	act(t, ctx, fill("url", project.URL()))
	press(t, ctx, "Look at it", `[name="publishable_key"]`)
	bothWidths(t, ctx, "3-checked")
	act(t, ctx, fill("publishable_key", project.PublishableKey()), fill("name", "Acme CRM"), fill("slug", "acme"))
	press(t, ctx, "Register the project", sqlOf("chumbo_ownership"))

	bothWidths(t, ctx, "4-proof")
	runSQL(ctx, "chumbo_ownership")
	press(t, ctx, "Check", ".fact")
	act(t, ctx, chromedp.Navigate(url+"/app/projects/acme/schema"), chromedp.Click(`details:has([name="relations"]) summary`), fill("relations", "public.customers\npublic.organizations"))
	press(t, ctx, "Make the SQL", sqlOf("chumbo_catalog"))
	runSQL(ctx, "chumbo_catalog")
	press(t, ctx, "Import now", ".fact")
	bothWidths(t, ctx, "5-schema")

	act(t, ctx, chromedp.Navigate(url+"/app/projects/acme/surfaces/new"), fill("slug", "main"), fill("title", "Acme CRM"))
	act(t, ctx, chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("[name=table]").forEach(b => b.checked = b.value.endsWith("customers"))`))
	bothWidths(t, ctx, "6-new-surface")
	press(t, ctx, "Make the draft", `[name="file"]`)
	bothWidths(t, ctx, "7-capabilities")
	if status := surfaceStatus(t, mcpURL); status != http.StatusNotFound {
		t.Errorf("a draft is served: %d", status)
	}
	press(t, ctx, "Review and publish", `[name="expect"]`)
	bothWidths(t, ctx, "8-review")
	press(t, ctx, "Publish", ".fact")
	bothWidths(t, ctx, "9-overview")
	if status := surfaceStatus(t, mcpURL); status != http.StatusUnauthorized {
		t.Errorf("published, the surface answers %d", status)
	}

	// Another revision that says something else, and back.
	act(t, ctx, chromedp.Navigate(url+"/app/projects/acme/surfaces/main/capabilities"), chromedp.Query(`[name="file"]`))
	file := look(t, ctx, chromedp.Evaluate[string](`document.querySelector("[name=file]").value`))
	act(t, ctx, chromedp.Evaluate[chromedp.Void]("document.querySelector('[name=file]').value = "+strconv.Quote(strings.Replace(file, "Acme CRM", "Acme customers", 1))))
	press(t, ctx, "Review and publish", `[name="expect"]`)
	bothWidths(t, ctx, "10-review-change")
	press(t, ctx, "Publish", ".fact")
	if title := connectTitle(t, ctx, mcpURL); title != "Connect Acme customers to your AI app" {
		t.Errorf("after the second publication the page says %q", title)
	}
	act(t, ctx, chromedp.Navigate(url+"/app/projects/acme/surfaces/main/revisions/1/rollback"))
	bothWidths(t, ctx, "11-rollback")
	press(t, ctx, "Make revision 1 live", ".fact")
	bothWidths(t, ctx, "12-revisions")
	if title := connectTitle(t, ctx, mcpURL); title != "Connect Acme CRM to your AI app" {
		t.Errorf("after rolling back the page says %q", title)
	}
	act(t, ctx, chromedp.Navigate(url+"/app"))
	bothWidths(t, ctx, "13-projects")
	act(t, ctx, chromedp.Navigate(url+"/app/projects/acme"))
	bothWidths(t, ctx, "14-project")
}

func connectTitle(t *testing.T, ctx context.Context, mcpURL string) string {
	t.Helper()
	act(t, ctx, chromedp.Navigate(mcpURL))
	return look(t, ctx, chromedp.Text("h1"))
}
