package connect_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// forgetful makes the browser one that was never here.
func forgetful() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, network.ClearBrowserCookies, cdp.Empty{})
		return err
	})
}

func address(t *testing.T, ctx context.Context) string {
	t.Helper()
	return see(t, ctx, chromedp.Evaluate[string]("location.href"))
}

// TestPersonConnectsThroughTheAppsOwnPages: sign-in at the project's OAuth
// server, the question, and what Connected apps does with the answer.
func TestPersonConnectsThroughTheAppsOwnPages(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	w := newServed(t, standin.Options{})
	to, verifier := w.authorizeURL(t)
	act(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(to), fill("email", standin.AliceEmail), fill("password", standin.CRMPassword))
	if at := address(t, ctx); !strings.HasPrefix(at, w.project.URL()) {
		t.Fatalf("the password is asked for at %s", at)
	}
	press(t, ctx, "Sign in", `[name="authorization_id"]`)
	press(t, ctx, "Allow", ".consent")
	wellMade(t, ctx, "flow-consent")
	says(t, page(t, ctx), "Allow Claude to use Acme CRM?", "unverified", standin.AliceEmail, w.back, "Archive", "crm.read")
	act(t, ctx, chromedp.Click(`[value="read"]`))
	press(t, ctx, "Allow", "#back")
	token := w.redeem(t, address(t, ctx), verifier)
	if got := w.tools(t, token); !slices.Equal(got, []string{"customers_list", "customers_get"}) {
		t.Errorf("allowed only to read, it sees %v", got)
	}

	// Known for a while, and asked again: the client is on this computer.
	to, _ = w.authorizeURL(t)
	act(t, ctx, chromedp.Navigate(to), chromedp.Query(".consent"))
	press(t, ctx, "Deny", "#back")
	if at := address(t, ctx); !strings.Contains(at, "error=access_denied") || !strings.Contains(at, "iss=") {
		t.Errorf("denied: %s", at)
	}

	ref := to[strings.LastIndex(to, "/")+1 : strings.Index(to, "?")]
	act(t, ctx, chromedp.Navigate(w.base+"/connect/apps/"+ref), chromedp.Query(".grant"))
	says(t, page(t, ctx), "1 app can use your account", "Claude", "only reads")
	wellMade(t, ctx, "flow-apps")
	act(t, ctx, chromedp.Click(".grant-make summary"), fill("name", "my script"))
	press(t, ctx, "Make the token", ".once")
	personal := see(t, ctx, chromedp.Text(".once code"))
	if got := w.tools(t, personal); !slices.Equal(got, []string{"customers_list", "customers_get"}) {
		t.Errorf("a personal token that only reads sees %v", got)
	}
	press(t, ctx, "Disconnect", ".toast")
	if got := w.tools(t, token); got != nil {
		t.Errorf("disconnected, it sees %v", got)
	}
	press(t, ctx, "Revoke", ".toast")
	if got := w.tools(t, personal); got != nil {
		t.Errorf("revoked, the token sees %v", got)
	}
	says(t, page(t, ctx), "No app can use your account", "Ended in the last 30 days (2)")
	press(t, ctx, "Sign out of this page", ".people-way")

	// Not you? The app's own page knows Alice still, and says so.
	to, _ = w.authorizeURL(t)
	act(t, ctx, chromedp.Navigate(to), chromedp.Query(".consent"))
	press(t, ctx, "Not you?", ".people-way")
	says(t, page(t, ctx), "Continue to Acme CRM")
	press(t, ctx, "Cancel", "#back")
	for _, secret := range []string{standin.CRMPassword, token, personal, standin.AliceEmail} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("logged: %s", secret)
		}
	}
}

// TestPersonConnectsThroughTheHostedPages by every way there is.
func TestPersonConnectsThroughTheHostedPages(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	w := newServed(t, standin.Options{OAuthOff: true, Providers: []string{"github"}, MailInterval: time.Nanosecond})
	begin := func(landsOn string) (verifier string) {
		t.Helper()
		to, verifier := w.authorizeURL(t)
		act(t, ctx, forgetful(), chromedp.Navigate(to), chromedp.Query(landsOn))
		return verifier
	}
	allow := func(verifier, email string) {
		t.Helper()
		says(t, page(t, ctx), "Allow Claude to use Acme CRM?", email)
		press(t, ctx, "Allow", "#back")
		if got := w.tools(t, w.redeem(t, address(t, ctx), verifier)); !slices.Contains(got, "archive_customer") {
			t.Errorf("%s's client sees %v", email, got)
		}
	}
	act(t, ctx, chromedp.EmulateViewport(1440, 900))

	// A password, on the project's own host.
	verifier := begin(`[type="password"]`)
	if at := address(t, ctx); !strings.HasPrefix(at, strings.Replace(w.base, "localhost", "acme.surfaces.localhost", 1)+"/connect/sign-in/t/") {
		t.Fatalf("the password is asked for at %s", at)
	}
	wellMade(t, ctx, "flow-password")
	act(t, ctx, fill("email", standin.BobEmail), fill("password", "not this one"))
	press(t, ctx, "Sign in", `[role="alert"]`)
	act(t, ctx, fill("password", standin.CRMPassword))
	press(t, ctx, "Sign in", ".consent")
	if at := address(t, ctx); !strings.HasPrefix(at, w.base+"/connect/consent/") {
		t.Errorf("the question is asked at %s", at)
	}
	allow(verifier, standin.BobEmail)

	// A new account there.
	verifier = begin(`[type="password"]`)
	press(t, ctx, "Make an account", `[autocomplete="new-password"]`)
	act(t, ctx, fill("email", "carol@example.test"), fill("password", "a long new password"))
	press(t, ctx, "Make the account", ".consent")
	allow(verifier, "carol@example.test")

	// A code by mail, then its link.
	verifier = begin(`[type="password"]`)
	press(t, ctx, "Email me a code instead", `form[action$="/email"]`)
	act(t, ctx, fill("email", standin.BobEmail))
	press(t, ctx, "Email me a code", `[name="code"]`)
	act(t, ctx, fill("code", "000000"))
	press(t, ctx, "Sign in", `[role="alert"]`)
	act(t, ctx, fill("code", w.mail(t, standin.BobEmail).Code))
	press(t, ctx, "Sign in", ".consent")
	allow(verifier, standin.BobEmail)
	verifier = begin(`[type="password"]`)
	press(t, ctx, "Email me a code instead", `form[action$="/email"]`)
	act(t, ctx, fill("email", standin.AliceEmail))
	press(t, ctx, "Email me a code", `[name="code"]`)
	act(t, ctx, chromedp.Navigate(w.mail(t, standin.AliceEmail).Link), chromedp.Query(".consent"))
	allow(verifier, standin.AliceEmail)

	// A social provider.
	verifier = begin(`[type="password"]`)
	press(t, ctx, "Continue with GitHub", `[name="email"][value]`)
	press(t, ctx, "Continue as "+standin.BobEmail, ".consent")
	allow(verifier, standin.BobEmail)

	// A second factor.
	secret, err := w.project.EnrollTOTP(t.Context(), standin.AliceEmail)
	if err != nil {
		t.Fatal(err)
	}
	verifier = begin(`[type="password"]`)
	act(t, ctx, fill("email", standin.AliceEmail), fill("password", standin.CRMPassword))
	press(t, ctx, "Sign in", `[name="code"]`)
	says(t, page(t, ctx), "One more code")
	act(t, ctx, fill("code", "000000"))
	press(t, ctx, "Sign in", `[role="alert"]`)
	act(t, ctx, fill("code", code(secret)))
	press(t, ctx, "Sign in", ".consent")
	allow(verifier, standin.AliceEmail)
	for _, private := range []string{standin.CRMPassword, "a long new password", standin.BobEmail, secret} {
		if strings.Contains(w.log.String(), private) {
			t.Errorf("logged: %s", private)
		}
	}
}

// TestProjectThatDemandsACaptcha shows the check once the project has asked
// for it, with a script in the provider's place.
func TestProjectThatDemandsACaptcha(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 4*time.Minute)
	w := newServed(t, standin.Options{OAuthOff: true, MailInterval: time.Nanosecond, Captcha: func(token string) bool { return strings.HasPrefix(token, "solved") }})
	to, _ := w.authorizeURL(t)
	act(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(to), fill("email", standin.AliceEmail), fill("password", standin.CRMPassword))
	press(t, ctx, "Sign in", `[role="alert"]`)
	wellMade(t, ctx, "flow-captcha-not-set-up")
	says(t, page(t, ctx), "captcha", "Its owner")
	w.db.Exec(t, "update chumbo.sign_in_settings set captcha_provider = 'turnstile', captcha_site_key = 'site-key'")
	inPlaceOf(t, ctx, "https://challenges.cloudflare.com/*", `for (const at of document.querySelectorAll(".cf-turnstile")) {
	  const answer = document.createElement("input");
	  answer.type = "hidden"; answer.name = "cf-turnstile-response"; answer.value = "solved " + Math.random();
	  at.append(answer);
	}`)
	to, _ = w.authorizeURL(t)
	act(t, ctx, chromedp.Navigate(to), chromedp.Query(`[name="cf-turnstile-response"]`, chromedp.NodeReady), fill("email", standin.AliceEmail), fill("password", standin.CRMPassword))
	press(t, ctx, "Sign in", ".consent")
}
