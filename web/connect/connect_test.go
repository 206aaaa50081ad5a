package connect_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
)

func directive(t *testing.T, a answer, name string) []string {
	t.Helper()
	for _, d := range strings.Split(a.header.Get("Content-Security-Policy"), "; ") {
		if fields := strings.Fields(d); len(fields) > 0 && fields[0] == name {
			return fields[1:]
		}
	}
	return nil
}

func TestAuthorizeGivesACookieOfThisSignInOnly(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	a := st.browser(t).get("/connect/authorize/acme-ref?redirect_uri=" + url.QueryEscape(claudeCallback))
	set := a.header.Get("Set-Cookie")
	name, _, _ := strings.Cut(set, "=")
	if !strings.HasPrefix(name, "__Host-txn-") || a.location != "/connect/sign-in/"+strings.TrimPrefix(name, "__Host-txn-") {
		t.Errorf("cookie %s, then %s", set, a.location)
	}
	for _, want := range []string{"Path=/", "Max-Age=600", "HttpOnly", "Secure", "SameSite=Lax"} {
		if !strings.Contains(set, want) {
			t.Errorf("%s lacks %s", set, want)
		}
	}
	if strings.Contains(set, "Domain") {
		t.Errorf("%s names a domain", set)
	}
	if plain := newStageAt(t, "http://localhost:8080").browser(t); plain != nil {
		plain.at = "http://localhost:8080"
		if set := plain.get("/connect/authorize/acme-ref").header.Get("Set-Cookie"); !strings.HasPrefix(set, "txn-") || strings.Contains(set, "Secure") {
			t.Errorf("on loopback: %s", set)
		}
	}
}

func TestErrorsBeforeTheRedirectIsKnownStayHere(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	b := st.browser(t)
	st.bridge.refuse["Authorize"] = fault.New(fault.Invalid, "unknown_client", "This client is not known. Remove the app and add it again.")
	a := b.get("/connect/authorize/acme-ref?redirect_uri=" + url.QueryEscape(claudeCallback))
	if a.status != http.StatusBadRequest || a.location != "" || a.header.Get("Set-Cookie") != "" {
		t.Errorf("%d %s %s", a.status, a.location, a.header.Get("Set-Cookie"))
	}
	says(t, textOf(a.body), "Acme CRM", "This connection is not known here", "Remove the app and add it again")
	st.bridge.refuse["Authorize"] = &bridge.BackToClient{URL: claudeCallback + "?error=invalid_scope", Code: "invalid_scope"}
	if a := b.get("/connect/authorize/acme-ref"); a.status != http.StatusSeeOther || a.location != claudeCallback+"?error=invalid_scope" {
		t.Errorf("%d %s", a.status, a.location)
	}
	for _, ref := range []string{"nobody", "direct-ref", "A", strings.Repeat("a", 200), "%2e%2e"} {
		if a := b.get("/connect/authorize/" + ref); a.status != http.StatusNotFound || a.location != "" {
			t.Errorf("%s: %d %s", ref, a.status, a.location)
		}
	}
}

func TestAuthorizeTakesAForm(t *testing.T) {
	t.Parallel()
	b := newStage(t).browser(t)
	a := b.send(http.MethodPost, "/connect/authorize/acme-ref?state=1", formOf("client_id", "c", "redirect_uri", claudeCallback), func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Origin", "https://claude.ai")
	})
	u, err := url.Parse(a.location)
	if err != nil || a.status != http.StatusSeeOther || u.Host != "" || u.Path != "/connect/authorize/acme-ref" || u.Query().Get("redirect_uri") != claudeCallback || u.Query().Get("state") != "1" {
		t.Errorf("%d %s", a.status, a.location)
	}
}

func TestAppsOwnPagesAreOneStepAway(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{OAuth: true}
	b := st.browser(t)
	page := b.authorize(claudeCallback)
	if a := b.get(page); a.status != http.StatusSeeOther || a.location != "https://project.example.test/auth/v1/oauth/authorize" {
		t.Fatalf("%d %s", a.status, a.location)
	}
	st.bridge.refuse["StartOAuth"] = fault.New(fault.Unavailable, "project_away", "Acme CRM does not answer. Try again in a moment.")
	a := b.get(page)
	if a.status != http.StatusServiceUnavailable || a.location != "" {
		t.Errorf("%d %s", a.status, a.location)
	}
	says(t, textOf(a.body), "Sign in to Acme CRM", "so that Claude can use it", "does not answer", "Continue to Acme CRM", "Cancel and go back to Claude")
}

func TestNothingWithoutTheCookie(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	alice, mallory := st.browser(t), st.browser(t)
	question := alice.signedIn(claudeCallback, "alice@example.test")
	at := question[strings.LastIndex(question, "/")+1:]
	mallory.authorize(claudeCallback)
	for _, page := range []string{question, "/connect/sign-in/" + at, "/connect/callback?state=" + at, "/connect/complete/" + at + "?h=x", "/connect/sign-in/" + at + "/provider/github", "/connect/consent/nonsense"} {
		a := mallory.get(page)
		if a.status != http.StatusNotFound {
			t.Errorf("%s: %d", page, a.status)
		}
		if text := textOf(a.body); !strings.Contains(text, "Please start again") || strings.Contains(text, "Acme") || strings.Contains(text, "alice") {
			t.Errorf("%s: %s", page, text)
		}
	}
	if a := alice.get(question); a.status != http.StatusOK {
		t.Errorf("Alice's sign-in was spent: %d", a.status)
	}
}

func TestSignInByMailedCode(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{EmailCode: true, SignUp: true, Providers: []string{"github", "evil/../x"}}
	b := st.browser(t)
	page := b.authorize(claudeCallback)
	a := b.get(page)
	says(t, textOf(a.body), "Sign in to Acme CRM", "Email me a code", "If you are new, it makes your account", "Continue with GitHub")
	if strings.Contains(a.body, "evil") || strings.Contains(a.body, `type="password"`) {
		t.Errorf("the page has what it must not: %s", a.body)
	}
	if !strings.Contains(a.body, `href="`+pagesURL+page+`/provider/github"`) {
		t.Error("no link to GitHub")
	}
	st.bridge.refuse["SendCode"] = fault.New(fault.RateLimited, "too_many", "Too many tries. Try again in 30 s.").WithRetryAfter(30 * time.Second)
	if a := b.submit(page, page+"/email", "email", "alice@example.test"); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "30" ||
		!strings.Contains(a.body, "Try again in 30 s") || !strings.Contains(a.body, `value="alice@example.test"`) {
		t.Errorf("%d %s", a.status, textOf(a.body))
	}
	delete(st.bridge.refuse, "SendCode")
	st.bridge.outcome = bridge.Outcome{Mailed: true}
	if a := b.submit(page, page+"/email", "email", "alice@example.test"); a.status != http.StatusSeeOther || a.location != page {
		t.Fatalf("%d %s", a.status, a.location)
	}
	a = b.get(page)
	says(t, textOf(a.body), "Check your mail", "alice@example.test", "in this browser", "Send it again", "Use another address")
	says(t, a.body, `autocomplete="one-time-code"`, `inputmode="numeric"`)
	says(t, textOf(b.get(page+"?ways=other").body), "Email me a code")
	st.bridge.outcome = bridge.Outcome{Factor: true}
	b.submit(page, page+"/code", "code", " 123-456 ")
	if !slices.Contains(st.bridge.calls, "VerifyEmailCode 123456") {
		t.Errorf("calls: %v", st.bridge.calls)
	}
	says(t, textOf(b.get(page).body), "One more code", "authenticator app")
	st.bridge.refuse["VerifyFactor 000000"] = fault.New(fault.Unprocessable, "wrong_code", "The code is wrong. Type the newest one.")
	a = b.submit(page, page+"/factor", "code", "000000")
	if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `aria-invalid="true"`) || strings.Contains(a.body, "000000") {
		t.Errorf("%d %s", a.status, a.body)
	}
	st.bridge.outcome = bridge.Outcome{Person: st.person(st.acme, "alice@example.test")}
	if a := b.submit(page, page+"/factor", "code", "123456"); a.status != http.StatusSeeOther || !strings.HasPrefix(a.location, "/connect/consent/") {
		t.Errorf("%d %s", a.status, a.location)
	}
}

func TestPasswordIsAskedForOnTheProjectsOwnHostOnly(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	own := "https://acme.apps.example.test"
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{Password: true, EmailCode: true, SignUp: true, OwnHost: own, Providers: []string{"github"}}
	b := st.browser(t)
	page := b.authorize(claudeCallback)
	a := b.get(page)
	ticket, ok := strings.CutPrefix(a.location, own)
	if !ok || !strings.HasPrefix(ticket, "/connect/sign-in/t/") {
		t.Fatalf("%d %s", a.status, a.location)
	}
	if other := b.get(page + "?ways=other"); strings.Contains(other.body, `type="password"`) || !strings.Contains(other.body, a.location) {
		t.Errorf("the shared host: %s", other.body)
	}
	for _, host := range []string{pagesURL, "https://mcp.example.test", "https://globex.apps.example.test"} {
		b.at = host
		if a := b.get(ticket); a.status != http.StatusNotFound || strings.Contains(a.body, `type="password"`) {
			t.Errorf("%s shows a password form: %d", host, a.status)
		}
	}
	b.at = own
	a = b.get(ticket)
	says(t, a.body, `type="password"`, `autocomplete="current-password"`, `autocomplete="username"`, `href="`+pagesURL+page+`?ways=other"`, `href="`+pagesURL+page+`/provider/github"`)
	if got := directive(t, a, "form-action"); !slices.Equal(got, []string{"'self'", pagesURL, "https://claude.ai"}) {
		t.Errorf("form-action %v", got)
	}
	says(t, b.get(ticket+"?new=1").body, `autocomplete="new-password"`, "Make the account")
	st.bridge.refuse["Password"] = fault.New(fault.Unprocessable, "wrong", "The email or the password is wrong. Try again.")
	a = b.submit(ticket, ticket, "do", "password", "email", "alice@example.test", "password", "not-this-one")
	if a.status != http.StatusUnprocessableEntity || strings.Contains(a.body, "not-this-one") || !strings.Contains(a.body, `value="alice@example.test"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	delete(st.bridge.refuse, "Password")
	st.bridge.outcome = bridge.Outcome{Person: st.person(st.acme, "alice@example.test")}
	a = b.submit(ticket, ticket, "do", "password", "email", "alice@example.test", "password", "secret words")
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.location, pagesURL+"/connect/complete/") || a.header.Get("Set-Cookie") != "" {
		t.Fatalf("%d %s %s", a.status, a.location, textOf(a.body))
	}
	// A stranger who was sent the address of the form, or who began the sign-in
	// and sent it to Alice, gets nowhere.
	mallory := st.browser(t)
	if got := mallory.get(a.location); got.status != http.StatusNotFound {
		t.Errorf("without the cookie: %d", got.status)
	}
	if got := b.get(pagesURL + page); got.location != own+ticket {
		t.Errorf("signed in before the browser is back: %d %s", got.status, got.location)
	}
	done := b.get(a.location)
	if done.status != http.StatusSeeOther || !strings.HasPrefix(done.location, "/connect/consent/") || !strings.Contains(strings.Join(done.header.Values("Set-Cookie"), " "), "__Host-app-") {
		t.Errorf("%d %s %v", done.status, done.location, done.header.Values("Set-Cookie"))
	}
	if strings.Contains(st.log.String(), "secret words") || strings.Contains(st.log.String(), "alice") || strings.Contains(st.log.String(), ticket) {
		t.Errorf("logged: %s", st.log)
	}
}

func TestOtherHostsHaveTheTicketOnly(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	b := st.browser(t)
	page := b.authorize(claudeCallback)
	for _, host := range []string{"https://acme.apps.example.test", "https://mcp.example.test", "https://evil.example.test"} {
		b.at = host
		for _, path := range []string{"/connect/authorize/acme-ref", page, "/connect/apps/acme-ref", "/connect/callback", "/connect/", "/connect/sign-in/t/nonsense"} {
			if a := b.get(path); a.status != http.StatusNotFound || a.header.Get("Set-Cookie") != "" {
				t.Errorf("%s%s: %d", host, path, a.status)
			}
		}
	}
}

func TestWhoIsKnownIsNotAskedToSignIn(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{OAuth: true}
	b := st.browser(t)
	b.signedIn(claudeCallback, "alice@example.test")
	if page := b.authorize(claudeCallback); !strings.HasPrefix(page, "/connect/consent/") {
		t.Errorf("asked to sign in again: %s", page)
	}
	if a := b.get("/connect/authorize/acme-ref?prompt=consent%20login"); !strings.HasPrefix(a.location, "/connect/sign-in/") {
		t.Errorf("prompt=login: %s", a.location)
	}
	// Signing in anew takes the place of the visit before.
	page := b.get("/connect/authorize/acme-ref?prompt=login").location
	st.bridge.outcome = bridge.Outcome{Person: st.person(st.acme, "alice@example.test")}
	if b.get("/connect/callback?state=" + page[strings.LastIndex(page, "/")+1:]); len(st.bridge.visits) != 1 {
		t.Errorf("%d visits", len(st.bridge.visits))
	}
	// Another project's visit says nothing here.
	if a := b.get("/connect/authorize/globex-ref"); !strings.HasPrefix(a.location, "/connect/sign-in/") {
		t.Errorf("Globex knows whoever signed in to Acme: %s", a.location)
	}
	// Not you?
	question := b.authorize(claudeCallback)
	at := strings.Replace(question, "consent", "sign-in", 1)
	a := b.send(http.MethodPost, at+"/again", formOf("csrf", b.notMe(question)), nil)
	if a.location != at+"?ways=switch" || len(st.bridge.visits) != 0 {
		t.Fatalf("%d %s, %d visits", a.status, a.location, len(st.bridge.visits))
	}
	says(t, textOf(b.get(a.location).body), "Continue to Acme CRM", "sign out there first")
	if page := b.authorize(claudeCallback); !strings.HasPrefix(page, "/connect/sign-in/") {
		t.Errorf("still known: %s", page)
	}
}

func TestConsentSaysWhoAsksAndForWhat(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.bridge.question.ClientName = "Cl\u202eaude <b>\x00" + strings.Repeat("x", 200)
	for range 10 {
		st.bridge.question.Reads = append(st.bridge.question.Reads, bridge.QuestionTool{Title: "List <i>orders</i>"})
	}
	b := st.browser(t)
	a := b.get(b.signedIn("https://claude.ai/api/mcp/auth_callback?x=1", "alice@example.test"))
	says(t, textOf(a.body), "to use Acme CRM?", "unverified", "claude.ai", "https://claude.ai/api/mcp/auth_callback?x=1", "alice@example.test", "Not you?",
		"List customers", "Lists customers.", "Delete a customer", "deletes or overwrites", "5 more", "crm.read", "Only read", "90 days", "1 day", "Deny", "Allow")
	if strings.Contains(a.body, "<b>") || strings.Contains(a.body, "<i>") || strings.Contains(a.body, "\u202e") || strings.Contains(a.body, strings.Repeat("x", 100)) {
		t.Error("the client's name is not cleaned")
	}
	if strings.Contains(a.body, "Page by page") {
		t.Error("more than the first sentence of a description")
	}
	if strings.Contains(a.body, "secret-") {
		t.Error("a cookie is in the page")
	}
}

func TestConsentFormsLeadToTheClientAndNowhereElse(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	for redirect, want := range map[string]string{
		"https://claude.ai/api/mcp/auth_callback":       "https://claude.ai",
		"http://127.0.0.1:33418/":                       "http://127.0.0.1:33418",
		"http://localhost:8787/callback":                "http://localhost:8787",
		"http://[::1]:9000/callback":                    "http:",
		"cursor://anysphere.cursor-mcp/oauth/callback":  "cursor:",
		"com.example.app:/callback":                     "com.example.app:",
		"https://vscode.dev/redirect":                   "https://vscode.dev http://127.0.0.1:* http://localhost:* vscode: vscode-insiders:",
		"https://exämple.test/callback":                 "https:",
		"https://claude.ai;script-src%20*/api/callback": "",
	} {
		b := st.browser(t)
		a := b.get(b.signedIn(redirect, "alice@example.test"))
		if got := strings.Join(directive(t, a, "form-action"), " "); got != strings.TrimSpace("'self' "+pagesURL+" "+want) {
			t.Errorf("%s: form-action %s", redirect, got)
		}
		if got := directive(t, a, "script-src"); !slices.Equal(got, []string{"'self'"}) {
			t.Errorf("%s: script-src %v", redirect, got)
		}
	}
}

func TestAnswersAreCarriedOutOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		form []string
		want bridge.Answer
		goes string
	}{
		"allow":         {[]string{"decision", "allow", "reach", "all", "lifetime", "7776000"}, bridge.Answer{Allow: true, Lifetime: 90 * 24 * time.Hour}, "?code=x"},
		"only read":     {[]string{"decision", "allow", "reach", "read", "lifetime", "86400"}, bridge.Answer{Allow: true, ReadOnly: true, Lifetime: 24 * time.Hour}, "?code=x"},
		"no lifetime":   {[]string{"decision", "allow"}, bridge.Answer{}, ""},
		"deny":          {[]string{"decision", "deny", "reach", "read", "lifetime", "1"}, bridge.Answer{}, "?error=access_denied"},
		"too long":      {[]string{"decision", "allow", "lifetime", "7776001"}, bridge.Answer{}, ""},
		"overflow":      {[]string{"decision", "allow", "lifetime", "99999999999999999999"}, bridge.Answer{}, ""},
		"no decision":   {nil, bridge.Answer{}, ""},
		"nonsense":      {[]string{"decision", "yes"}, bridge.Answer{}, ""},
		"denied by key": {[]string{"decision", "deny"}, bridge.Answer{}, "?error=access_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t)
			b := st.browser(t)
			question := b.signedIn(claudeCallback, "alice@example.test")
			csrf := b.csrf(question)
			form := formOf(append(test.form, "csrf", csrf)...)
			a := b.send(http.MethodPost, question, form, nil)
			if test.goes == "" {
				if a.status != http.StatusBadRequest || len(st.bridge.answers) != 0 {
					t.Errorf("%d, answers %v", a.status, st.bridge.answers)
				}
				return
			}
			if a.status != http.StatusSeeOther || a.location != claudeCallback+test.goes || !slices.Equal(st.bridge.answers, []bridge.Answer{test.want}) {
				t.Errorf("%d %s, answers %v", a.status, a.location, st.bridge.answers)
			}
			if a := b.send(http.MethodPost, question, form, nil); a.status != http.StatusNotFound || !strings.Contains(a.body, "Please start again") || len(st.bridge.answers) != 1 {
				t.Errorf("a second time: %d, answers %v", a.status, st.bridge.answers)
			}
		})
	}
}

func TestWhatWasAllowedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.bridge.question.Skip = true
	b := st.browser(t)
	if a := b.get(b.signedIn(claudeCallback, "alice@example.test")); a.status != http.StatusSeeOther || a.location != claudeCallback+"?code=x" {
		t.Errorf("%d %s", a.status, a.location)
	}
}

func TestCancelGoesBackToTheClient(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{EmailCode: true}
	b := st.browser(t)
	page := b.authorize(claudeCallback)
	if a := b.submit(page, page+"/cancel"); a.location != claudeCallback+"?error=access_denied" {
		t.Errorf("%d %s", a.status, a.location)
	}
	if a := b.get(page); a.status != http.StatusNotFound {
		t.Errorf("not over: %d", a.status)
	}
}

func TestFailedCallbackOffersAnotherTry(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	b := st.browser(t)
	page := b.authorize(claudeCallback)
	at := page[strings.LastIndex(page, "/")+1:]
	st.bridge.refuse["Callback"] = fault.New(fault.Unavailable, "project_away", "You are not signed in: Acme CRM does not answer. Try again in a moment.")
	a := b.get("/connect/callback?state=" + at)
	if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, page+"?ways=switch") {
		t.Errorf("%d %s", a.status, a.body)
	}
	st.bridge.refuse["Callback"] = &bridge.BackToClient{URL: claudeCallback + "?error=access_denied", Code: "access_denied"}
	if a := b.get("/connect/callback?state=" + at); a.location != claudeCallback+"?error=access_denied" {
		t.Errorf("%d %s", a.status, a.location)
	}
}

func TestCaptchaIsAdmittedOnlyWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{"turnstile": "https://challenges.cloudflare.com", "hcaptcha": "https://hcaptcha.com"} {
		st := newStage(t)
		methods := bridge.Methods{EmailCode: true, Captcha: bridge.Captcha{Provider: provider, SiteKey: `key"><script>`}}
		st.bridge.methods[st.acme.Project.ID] = methods
		b := st.browser(t)
		page := b.authorize(claudeCallback)
		if a := b.get(page); len(directive(t, a, "script-src")) != 1 || strings.Contains(a.body, want) {
			t.Errorf("%s before it is needed: %s", provider, a.header.Get("Content-Security-Policy"))
		}
		methods.Captcha.Needed = true
		st.bridge.methods[st.acme.Project.ID] = methods
		a := b.get(page)
		for _, name := range []string{"script-src", "frame-src", "connect-src"} {
			if !slices.Contains(directive(t, a, name), want) {
				t.Errorf("%s: %s", provider, a.header.Get("Content-Security-Policy"))
			}
		}
		if strings.Contains(a.body, "<script>") || !strings.Contains(a.body, "<noscript>") {
			t.Error(a.body)
		}
		says(t, textOf(a.body), "needs JavaScript")
		field := map[string]string{"turnstile": "cf-turnstile-response", "hcaptcha": "h-captcha-response"}[provider]
		b.submit(page, page+"/email", "email", "alice@example.test", field, "good")
		if !slices.Contains(st.bridge.calls, "captcha good") {
			t.Errorf("%s: %v", provider, st.bridge.calls)
		}
		methods.Captcha.Provider = ""
		st.bridge.methods[st.acme.Project.ID] = methods
		says(t, textOf(b.get(page).body), "its makers have not set up")
	}
}

func TestProjectThatDoesNotAnswerIsSaid(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.bridge.refuse["Methods"] = fault.New(fault.Unavailable, "project_away", "You cannot sign in right now: Acme CRM does not answer. Try again in a moment.").WithRetryAfter(5 * time.Second)
	b := st.browser(t)
	page := b.authorize(claudeCallback)
	a := b.get(page)
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "5" || !strings.Contains(a.body, `href="`+page+`"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	says(t, textOf(a.body), "Not possible right now", "does not answer", "Try again")
	st.bridge.refuse["Methods"] = nil
	says(t, textOf(b.get(page).body), "offers no way to sign in here")
}

func TestBrowserKeepsFewSignIns(t *testing.T) {
	t.Parallel()
	b := newStage(t).browser(t)
	for range 20 {
		b.authorize(claudeCallback)
	}
	u, _ := url.Parse(pagesURL)
	if n := len(b.jar.Cookies(u)); n > 8 {
		t.Errorf("%d cookies", n)
	}
	if a := b.get(b.authorize(claudeCallback)); a.status == http.StatusNotFound {
		t.Error("the newest is gone")
	}
}
