package connect_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// serveStage puts the stage on a port, with what its pages load. It returns the
// pages' URL and that of Acme's own host.
func serveStage(t *testing.T) (st *stage, pages, own string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	pages, own = "http://localhost:"+port, "http://acme.surfaces.localhost:"+port
	st = newStageAt(t, pages)
	st.bridge.pages, st.bridge.ownDomain = pages, ".surfaces.localhost:"+port
	st.acme.Project.Logo = "acme"
	mux := http.NewServeMux()
	mux.Handle(web.AssetsPath, web.Assets())
	mux.Handle("/connect/", st.handler)
	mux.HandleFunc(tenants.LogoPrefix, func(w http.ResponseWriter, _ *http.Request) {
		picture := image.NewRGBA(image.Rect(0, 0, 80, 80))
		for i := range 80 * 80 {
			if x, y := i%80-40, i/80-40; x*x+y*y < 1500 {
				picture.Set(i%80, i/80, color.RGBA{30, 64, 175, 255})
			}
		}
		var b bytes.Buffer
		_ = png.Encode(&b, picture)
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(b.Bytes())
	})
	mux.HandleFunc("/callback", func(w http.ResponseWriter, r *http.Request) { // a client's
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!DOCTYPE html><title>Client</title><p id="back">` + r.URL.RawQuery))
	})
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}}
	server.Start()
	t.Cleanup(server.Close)
	return st, pages, own
}

// TestPagesAreWellMade looks at each page of a sign-in.
func TestPagesAreWellMade(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	st, pages, own := serveStage(t)
	st.bridge.question = bridge.Question{
		ClientName: "Claude", ClientHost: "claude.ai", Lifetimes: []time.Duration{90 * 24 * time.Hour, 30 * 24 * time.Hour, 7 * 24 * time.Hour, 24 * time.Hour},
		Reads: []bridge.QuestionTool{
			{Title: "List customers", Description: "Lists customers of your organization, newest first. Use the filters."}, {Title: "Get a customer", Description: "One customer with contacts."},
			{Title: "Search deals"}, {Title: "List deals", Description: "Deals by stage."}, {Title: "Get a deal"}, {Title: "List activities"}, {Title: "Get an activity"}, {Title: "Weekly report", Description: "Figures of the week."},
		},
		Writes: []bridge.QuestionTool{{Title: "Add a note", Description: "Adds a note to a customer."}, {Title: "Move a deal"}, {Title: "Delete a customer", Description: "Deletes a customer and all that belongs to it.", Destructive: true}},
	}
	methods := bridge.Methods{Password: true, EmailCode: true, SignUp: true, OwnHost: own, Providers: []string{"github", "google"}}
	st.bridge.methods[st.acme.Project.ID] = methods
	authorize := pages + "/connect/authorize/acme-ref?" + url.Values{"client_id": {"c"}, "redirect_uri": {"http://127.0.0.1:33418/callback"}, "scope": {"crm.read crm.write"}}.Encode()

	act(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(authorize), chromedp.Query(`[type="password"]`))
	wellMade(t, ctx, "password")
	st.bridge.refuse["Password"] = fault.New(fault.Unprocessable, "wrong", "The email or the password is wrong. Try again, or have a code mailed to you.")
	act(t, ctx, fill("email", "alice@example.test"), fill("password", "not this"))
	press(t, ctx, "Sign in", ".field-wrong")
	wellMade(t, ctx, "password-wrong")
	press(t, ctx, "Make an account", `[autocomplete="new-password"]`)
	wellMade(t, ctx, "sign-up")
	press(t, ctx, "Other ways", `[autocomplete="username"]`)
	wellMade(t, ctx, "ways")
	st.bridge.outcome = bridge.Outcome{Mailed: true}
	act(t, ctx, fill("email", "alice@example.test"))
	press(t, ctx, "Email me a code", `[name="code"]`)
	wellMade(t, ctx, "code")
	st.bridge.outcome = bridge.Outcome{Factor: true}
	act(t, ctx, fill("code", "123456"))
	press(t, ctx, "Sign in", `form[action$="/factor"]`)
	wellMade(t, ctx, "factor")
	st.bridge.outcome = bridge.Outcome{Person: st.person(st.acme, "alice@example.test")}
	act(t, ctx, fill("code", "123456"))
	press(t, ctx, "Sign in", ".consent")
	wellMade(t, ctx, "consent")
	act(t, ctx, chromedp.Click(`.consent details summary`), chromedp.Click(`[value="read"]`))
	wellMade(t, ctx, "consent-read")
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{OAuth: true}
	press(t, ctx, "Not you?", ".people-way")
	wellMade(t, ctx, "switch")

	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{}
	act(t, ctx, chromedp.Navigate(authorize), chromedp.Query(".note-warn"))
	wellMade(t, ctx, "no-way")
	st.bridge.refuse["Methods"] = fault.New(fault.Unavailable, "project_away", "You cannot sign in right now: Acme CRM does not answer. Try again in a moment.")
	act(t, ctx, chromedp.Navigate(authorize), chromedp.Query(".people-trace"))
	wellMade(t, ctx, "away")
	delete(st.bridge.refuse, "Methods")
	act(t, ctx, chromedp.Navigate(pages+"/connect/consent/nothing"), chromedp.Query(".people-trace"))
	wellMade(t, ctx, "start-again")
}

// TestConnectedAppsAreWellMade looks at the list, empty and full.
func TestConnectedAppsAreWellMade(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	st, pages, _ := serveStage(t)
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{EmailCode: true}
	st.bridge.outcome = bridge.Outcome{Mailed: true}
	act(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(pages+"/connect/apps/acme-ref"), fill("email", "alice@example.test"))
	wellMade(t, ctx, "apps-sign-in")
	press(t, ctx, "Email me a code", `[name="code"]`)
	st.bridge.outcome = bridge.Outcome{Person: st.person(st.acme, "alice@example.test")}
	act(t, ctx, fill("code", "123456"))
	press(t, ctx, "Sign in", ".people-top")
	wellMade(t, ctx, "apps-empty")
	st.grantFor(st.acme, "alice@example.test", "Claude")
	cursor := st.grantFor(st.acme, "alice@example.test", "Cursor")
	other := st.grantFor(st.acme, "alice@example.test", strings.Repeat("A client with a very long name ", 4))
	st.bridge.mu.Lock()
	used, ended := time.Now().Add(-3*time.Hour), time.Now().Add(-48*time.Hour)
	g := st.bridge.grants[cursor]
	g.LastUsedAt, g.ReadOnly, g.MoreNow, g.More, g.SurfaceTitle, g.Surface = &used, true, false, nil, "Reports", st.globex.Surface
	st.bridge.grants[cursor] = g
	g = st.bridge.grants[other]
	g.RevokedAt, g.RevokedWhy = &ended, "upstream_ended"
	st.bridge.grants[other] = g
	st.bridge.mu.Unlock()
	act(t, ctx, chromedp.Navigate(pages+"/connect/apps/acme-ref"), chromedp.Query(".grant"), chromedp.Click(".grant-make summary"), fill("name", "my script"))
	press(t, ctx, "Make the token", ".once")
	wellMade(t, ctx, "apps")
	press(t, ctx, "Only let it read", ".toast")
	press(t, ctx, "Disconnect", ".toast")
	act(t, ctx, chromedp.Click(".grant-ended summary"), chromedp.Click(".grant-make summary"))
	wellMade(t, ctx, "apps-ended")
	press(t, ctx, "Sign out of this page", ".people-way")
	wellMade(t, ctx, "apps-out")
}

// TestBrowserLetsTheAnswerLeave: a policy that admits too little shows only in
// a browser that follows it, and through every redirect.
func TestBrowserLetsTheAnswerLeave(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	st, pages, own := serveStage(t)
	port := pages[strings.LastIndex(pages, ":"):]
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{Password: true, OwnHost: own}
	st.bridge.outcome = bridge.Outcome{Person: st.person(st.acme, "alice@example.test")}
	redirect := url.Values{"redirect_uri": {"http://127.0.0.1" + port + "/callback"}}.Encode()
	for _, decision := range []string{"Allow", "Deny"} {
		act(t, ctx, chromedp.Navigate(pages+"/connect/authorize/acme-ref?prompt=login&"+redirect), fill("email", "alice@example.test"), fill("password", "secret words"))
		press(t, ctx, "Sign in", ".consent")
		press(t, ctx, decision, "#back")
	}
	// Asked nothing, a password leads straight to the client, over three hosts.
	st.bridge.question.Skip = true
	act(t, ctx, chromedp.Navigate(pages+"/connect/authorize/acme-ref?prompt=login&"+redirect), fill("email", "alice@example.test"), fill("password", "secret words"))
	press(t, ctx, "Sign in", "#back")
	act(t, ctx, chromedp.Navigate(pages+"/connect/authorize/acme-ref?prompt=login&"+redirect), chromedp.Query(`[type="password"]`))
	press(t, ctx, "Other ways", ".people-foot")
	press(t, ctx, "Cancel", "#back")
	if at := page(t, ctx); !strings.Contains(at, "error=access_denied") {
		t.Errorf("cancelled: %s", at)
	}
}

// TestCaptchaWidgetFillsTheForm has a script in the provider's place.
func TestCaptchaWidgetFillsTheForm(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	st, pages, _ := serveStage(t)
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{EmailCode: true, Captcha: bridge.Captcha{Provider: "turnstile", SiteKey: "site-key", Needed: true}}
	st.bridge.outcome = bridge.Outcome{Mailed: true}
	inPlaceOf(t, ctx, "https://challenges.cloudflare.com/*", `for (const at of document.querySelectorAll(".cf-turnstile")) {
	  const answer = document.createElement("input");
	  answer.type = "hidden"; answer.name = "cf-turnstile-response"; answer.value = "solved for " + at.dataset.sitekey;
	  at.append(answer);
	}`)
	act(t, ctx, chromedp.Navigate(pages+"/connect/authorize/acme-ref?redirect_uri=http://127.0.0.1:1/"), chromedp.Query(`[name="cf-turnstile-response"]`, chromedp.NodeReady), fill("email", "alice@example.test"))
	press(t, ctx, "Email me a code", `[name="code"]`)
	st.bridge.mu.Lock()
	defer st.bridge.mu.Unlock()
	if got := strings.Join(st.bridge.calls, ", "); !strings.Contains(got, "captcha solved for site-key") {
		t.Error(got)
	}
}
