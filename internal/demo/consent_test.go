package demo

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// TestWrittenConsentPageLeadsFromSignInToRows walks what chumbo consent wrote
// in a real browser, in one project: its page is the app's, its function runs
// as written.
func TestWrittenConsentPageLeadsFromSignInToRows(t *testing.T) {
	t.Parallel()
	w := newConsentWorld(t)
	act(t, w.browser, chromedp.EmulateViewport(390, 844), browsertest.Theme("light"))
	t.Run("allow by keyboard", w.allowsByKeyboard)
	t.Run("TestField24_SecondAuthorizationOfTheSameClientGoesStraightBack", w.secondAuthorization)
	t.Run("deny", w.denies)
	t.Run("reload before the answer", w.reloads)
	t.Run("wrong password, then a mailed code", w.mailedCode)
	t.Run("somebody else's request", w.somebodyElse)
	t.Run("not you", w.notYou)
	t.Run("the function is away", w.functionAway)
	t.Run("hostile client", w.hostileClient)
	t.Run("nothing asked, and framed", w.nothingAsked)
	t.Run("what the function refuses", w.functionRefuses)
	t.Run("every look", w.everyLook)
}

func (w *consentWorld) allowsByKeyboard(t *testing.T) {
	w.open(t, w.client.begin())
	if at := w.focused(t); at != "email" {
		t.Errorf("the page begins at %q", at)
	}
	wellMade(t, w.browser, "sign-in at 390")
	w.ForgetRequests()
	w.signsIn(t, standin.AliceEmail, standin.CRMPassword)
	asked := w.shows(t, "question")
	wellMade(t, w.browser, "question at 390")
	screenshot(t, w.browser, "consent-written-390")
	u, _ := url.Parse(w.client.config.RedirectURL)
	for _, part := range []string{"Claude", "unverified", u.Host, w.client.config.RedirectURL, standin.AliceEmail, "See your email address", "Know that it is you", "it will act as you"} {
		if !strings.Contains(asked, part) {
			t.Errorf("the question does not say %q:\n%s", part, asked)
		}
	}
	same := `(() => { const [a, b] = ["allow", "deny"].map((id) => document.getElementById(id).getBoundingClientRect()); return a.width === b.width && a.height === b.height && a.top === b.top; })()`
	if !look(t, w.browser, chromedp.Evaluate[bool](same)) {
		t.Error("Allow and Deny are not equal in reach")
	}
	if stored := look(t, w.browser, chromedp.Evaluate[int](`localStorage.length + sessionStorage.length + document.cookie.length`)); stored != 0 {
		t.Error("the page stored something")
	}
	w.tabTo(t, "allow")
	act(t, w.browser, chromedp.KeyEvent("\r"))
	token := w.client.exchange(t, w.client.answer(t))
	for _, r := range w.RequestsTo("/auth/v1/oauth/authorizations/") {
		if r.Header.Get("Origin") != "" {
			t.Errorf("%s %s was sent with an Origin", r.Method, r.Path)
		}
	}
	if n := w.detailsAsked(); n != 1 {
		t.Errorf("Auth was asked %d times what is asked", n)
	}
	if n := len(w.RequestsTo("/auth/v1/logout")); n != 2 { // preflight and request
		t.Errorf("the page's own session was not ended: %d requests", n)
	}
	for _, item := range call(t, w.mcp, token.AccessToken, eras[0], "customers_list", map[string]any{"limit": 5}).page(t).Items {
		requireOwner(t, item, "Acme")
	}
	if status, _ := w.refreshed(token); status != http.StatusOK {
		t.Errorf("what was allowed ended with the page's session: refresh %d", status)
	}
}

func (w *consentWorld) secondAuthorization(t *testing.T) {
	w.ForgetRequests()
	w.open(t, w.client.begin())
	page := look(t, w.browser, chromedp.Location())
	w.signsIn(t, standin.AliceEmail, standin.CRMPassword)
	answer := w.client.answer(t)
	if n := w.detailsAsked(); n != 1 {
		t.Errorf("Auth was asked %d times", n)
	}
	again := func(part string) {
		w.open(t, page) // Back, or a reload, after the answer
		w.signsIn(t, standin.AliceEmail, standin.CRMPassword)
		if says := w.shows(t, "problem"); !strings.Contains(says, part) || !strings.Contains(says, "Start again from your AI app") {
			t.Errorf("a request that was used says:\n%s", says)
		}
	}
	again("already used")
	w.client.exchange(t, answer)
	again("answered already")
	screenshot(t, w.browser, "consent-written-used-390")
}

func (w *consentWorld) denies(t *testing.T) {
	client := newMCPClient(t, w.tenant, "Cursor")
	w.open(t, client.begin())
	w.signsIn(t, standin.BobEmail, standin.CRMPassword)
	w.shows(t, "question")
	w.tabTo(t, "deny")
	act(t, w.browser, chromedp.KeyEvent(" "))
	if q := client.answer(t); q.Get("error") != "access_denied" || q.Get("code") != "" {
		t.Errorf("Deny answers %v", q)
	}
}

func (w *consentWorld) reloads(t *testing.T) {
	client := newMCPClient(t, w.tenant, "VS Code")
	w.open(t, client.begin())
	w.signsIn(t, standin.BobEmail, standin.CRMPassword)
	w.shows(t, "question")
	act(t, w.browser, chromedp.Reload())
	w.shows(t, "sign-in")
	w.signsIn(t, standin.BobEmail, standin.CRMPassword)
	w.shows(t, "question")
	act(t, w.browser, chromedp.Click("#allow"))
	token := client.exchange(t, client.answer(t))
	for _, item := range call(t, w.mcp, token.AccessToken, eras[0], "customers_list", map[string]any{"limit": 5}).page(t).Items {
		requireOwner(t, item, "Globex")
	}
}

func (w *consentWorld) mailedCode(t *testing.T) {
	client := newMCPClient(t, w.tenant, "Goose")
	w.open(t, client.begin())
	w.signsIn(t, standin.AliceEmail, "not the password")
	w.says(t, "sign-in-error", "do not belong together")
	if at := w.focused(t); at != "password" {
		t.Errorf("after a wrong password the keyboard is at %q", at)
	}
	wellMade(t, w.browser, "wrong password")
	screenshot(t, w.browser, "consent-written-wrong-390")
	w.tabTo(t, "mail-code")
	act(t, w.browser, chromedp.KeyEvent("\r"))
	w.shows(t, "code")
	wellMade(t, w.browser, "code")
	act(t, w.browser, chromedp.KeyEvent("000000\r"))
	w.says(t, "code-error", "wrong, was used, or has expired")
	mails := w.Mails(standin.AliceEmail)
	act(t, w.browser, chromedp.Evaluate[chromedp.Void](`document.getElementById("otp").select()`), chromedp.KeyEvent(mails[len(mails)-1].Code+"\r"))
	w.shows(t, "question")
	act(t, w.browser, chromedp.Click("#allow"))
	client.exchange(t, client.answer(t))
	// Nobody learns from the page who has an account.
	w.open(t, newMCPClient(t, w.tenant, "Goose").begin())
	act(t, w.browser, chromedp.KeyEvent("nobody@example.test"), chromedp.Click("#mail-code"))
	if says := w.shows(t, "code"); !strings.Contains(says, "If nobody@example.test has an account") {
		t.Errorf("an address without an account says:\n%s", says)
	}
}

// says waits for a message.
func (w *consentWorld) says(t *testing.T, id, part string) {
	t.Helper()
	found := fmt.Sprintf(`(() => { const e = document.getElementById(%q); return !e.hidden && e.textContent.includes(%q); })()`, id, part)
	for range 400 {
		if look(t, w.browser, chromedp.Evaluate[bool](found)) {
			return
		}
		act(t, w.browser, chromedp.Sleep(browserTick))
	}
	t.Fatalf("%s does not say %q:\n%s", id, part, look(t, w.browser, chromedp.Text("body")))
}

func (w *consentWorld) somebodyElse(t *testing.T) {
	client := newMCPClient(t, w.tenant, "Zed")
	w.open(t, client.begin())
	page := look(t, w.browser, chromedp.Location())
	w.signsIn(t, standin.AliceEmail, standin.CRMPassword)
	w.shows(t, "question")
	w.open(t, page)
	w.signsIn(t, standin.BobEmail, standin.CRMPassword)
	if says := w.shows(t, "problem"); !strings.Contains(says, "another account") || strings.Contains(says, "Zed") {
		t.Errorf("Bob is told of Alice's request:\n%s", says)
	}
}

func (w *consentWorld) notYou(t *testing.T) {
	w.open(t, newMCPClient(t, w.tenant, "Zed").begin())
	w.signsIn(t, standin.BobEmail, standin.CRMPassword)
	w.shows(t, "question")
	w.ForgetRequests()
	act(t, w.browser, chromedp.Click("#not-you"))
	if says := w.shows(t, "problem"); !strings.Contains(says, "Nothing was allowed") {
		t.Errorf("says:\n%s", says)
	}
	if len(w.RequestsTo("/auth/v1/logout")) == 0 {
		t.Error("Bob is still signed in")
	}
}

func (w *consentWorld) functionAway(t *testing.T) {
	client := newMCPClient(t, w.tenant, "Claude Code")
	w.open(t, client.begin())
	for range 2 { // the preflight, too, goes to the function
		w.FailNext("/functions/v1/chumbo-consent", http.StatusNotFound, "application/json", `{"code":"NOT_FOUND"}`)
	}
	w.signsIn(t, standin.BobEmail, standin.CRMPassword)
	says := w.shows(t, "problem")
	if !strings.Contains(says, "No answer") || !strings.Contains(look(t, w.browser, chromedp.Evaluate[string](`document.getElementById("problem-hint").textContent`)), w.site) {
		t.Errorf("says:\n%s", says)
	}
	wellMade(t, w.browser, "problem")
	screenshot(t, w.browser, "consent-written-away-390")
	for range 3 { // each failure left takes one try
		if look(t, w.browser, chromedp.Evaluate[bool](`document.getElementById("question").hidden`)) {
			act(t, w.browser, chromedp.Click("#again"), chromedp.Sleep(20*browserTick))
		}
	}
	w.shows(t, "question")
	act(t, w.browser, chromedp.Click("#allow"))
	client.exchange(t, client.answer(t))
}

// hostileClient has a name that would be markup, and turn text round.
func (w *consentWorld) hostileClient(t *testing.T) {
	client := newMCPClient(t, w.tenant, "<img src=x onerror=alert(1)>\u202eevil\n"+strings.Repeat("long ", 60))
	w.open(t, client.begin())
	w.signsIn(t, standin.BobEmail, standin.CRMPassword)
	asked := w.shows(t, "question")
	if strings.Contains(asked, "\u202e") || !strings.Contains(asked, "<img src=x") || strings.Contains(asked, strings.Repeat("long ", 30)) {
		t.Errorf("asks:\n%s", asked)
	}
	wellMade(t, w.browser, "a long name")
	screenshot(t, w.browser, "consent-written-hostile-390")
}

func (w *consentWorld) nothingAsked(t *testing.T) {
	act(t, w.browser, chromedp.Navigate(w.site+"/oauth/consent"))
	if says := w.shows(t, "problem"); !strings.Contains(says, "no question here") {
		t.Errorf("without a request it says:\n%s", says)
	}
	act(t, w.browser, chromedp.Navigate(w.site+"/framing?authorization_id=abc"), chromedp.Query("iframe"))
	framed := `(() => { const d = document.querySelector("iframe").contentDocument; return d?.querySelector("#title")?.textContent ?? ""; })()`
	for range 200 {
		if look(t, w.browser, chromedp.Evaluate[string](framed)) == "This page must stand alone" {
			return
		}
		act(t, w.browser, chromedp.Sleep(browserTick))
	}
	t.Error("the page works inside another one")
}

// functionRefuses speaks to the function as a program would.
func (w *consentWorld) functionRefuses(t *testing.T) {
	w.signInURL(t) // an authorization that exists
	alice := w.firstParty(t, standin.AliceEmail)
	delegated := w.token(standin.AliceEmail, standin.TokenOptions{})
	for name, c := range map[string]struct {
		method, origin, token, body string
		status                      int
		code                        string
	}{
		"an AI app's token":   {"POST", w.site, delegated, `{"authorization_id":"abc"}`, 403, "delegated_token"},
		"no token":            {"POST", w.site, "", `{"authorization_id":"abc"}`, 401, "sign_in"},
		"the key as token":    {"POST", w.site, w.PublishableKey(), `{"authorization_id":"abc"}`, 401, "sign_in"},
		"anon":                {"POST", w.site, w.AnonKey(), `{"authorization_id":"abc"}`, 401, "sign_in"},
		"another origin":      {"POST", "https://evil.example.test", alice, `{"authorization_id":"abc"}`, 403, "wrong_origin"},
		"no origin":           {"POST", "", alice, `{"authorization_id":"abc"}`, 403, "wrong_origin"},
		"GET":                 {"GET", w.site, alice, "", 405, "wrong_method"},
		"no id":               {"POST", w.site, alice, `{}`, 400, "bad_request"},
		"an id that is a way": {"POST", w.site, alice, `{"authorization_id":"../../user"}`, 400, "bad_request"},
		"another action":      {"POST", w.site, alice, `{"authorization_id":"abc","action":"revoke"}`, 400, "bad_request"},
		"too long":            {"POST", w.site, alice, `{"authorization_id":"` + strings.Repeat("a", 5000) + `"}`, 400, "bad_request"},
		"no JSON":             {"POST", w.site, alice, `<`, 400, "bad_request"},
		"unknown":             {"POST", w.site, alice, `{"authorization_id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`, 404, "not_found"},
	} {
		w.ForgetRequests()
		h := http.Header{"Apikey": {w.PublishableKey()}}
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		r := sendRaw(t, c.method, w.URL()+"/functions/v1/chumbo-consent", c.token, h, c.body)
		if r.status != c.status || !strings.Contains(r.body, `"code":"`+c.code+`"`) || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
		if allowed := r.header.Get("Access-Control-Allow-Origin"); (allowed == w.site) != (c.origin == w.site) || allowed == "*" {
			t.Errorf("%s: allows %q", name, allowed)
		}
		if asked := w.RequestsTo("/auth/v1/"); len(asked) > 0 && c.code != "not_found" && name != "anon" {
			t.Errorf("%s: Auth was asked all the same: %s", name, asked[0].Path)
		}
	}
}

// signInURL begins a request that nobody opens.
func (w *consentWorld) signInURL(t *testing.T) {
	t.Helper()
	r := sendRaw(t, http.MethodGet, w.client.begin(), "", nil, "")
	if r.status != http.StatusFound {
		t.Fatalf("authorize: %d %s", r.status, r.body)
	}
}

// firstParty is a session of the app's own.
func (w *consentWorld) firstParty(t *testing.T, email string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.Issuer()+"/token?grant_type=password",
		strings.NewReader(fmt.Sprintf(`{"email":%q,"password":%q}`, email, standin.CRMPassword)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Apikey", w.PublishableKey())
	status, body := send(t, req)
	_, rest, found := strings.Cut(string(body), `"access_token":"`)
	token, _, _ := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("sign in: %d %s", status, body)
	}
	return token
}

func (w *consentWorld) everyLook(t *testing.T) {
	client := newMCPClient(t, w.tenant, "Claude")
	for _, look := range browsertest.Looks {
		act(t, w.browser, chromedp.EmulateViewport(look.Width, 900), browsertest.Theme(look.Scheme))
		w.open(t, client.begin())
		name := fmt.Sprintf("%s-%d", look.Scheme, look.Width)
		wellMade(t, w.browser, "sign-in "+name)
		screenshot(t, w.browser, "consent-written-sign-in-"+name)
		w.signsIn(t, standin.BobEmail, standin.CRMPassword)
		w.shows(t, "question")
		wellMade(t, w.browser, "question "+name)
		screenshot(t, w.browser, "consent-written-question-"+name)
	}
}
