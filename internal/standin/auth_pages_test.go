package standin

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browser goes through the app's pages as a person would, without following
// redirects to the client.
type browser struct {
	t      *testing.T
	client *http.Client
	site   string
}

func newBrowser(t *testing.T, site string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, site: site, client: &http.Client{Jar: jar, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// page is what the browser shows, or where it is sent.
type page struct {
	status int
	to     string
	html   string
}

func (b *browser) open(path string) page {
	b.t.Helper()
	res, err := b.client.Get(b.site + path)
	return b.read(res, err)
}

func (b *browser) submit(path string, fields url.Values) page {
	b.t.Helper()
	res, err := b.client.PostForm(b.site+path, fields)
	return b.read(res, err)
}

func (b *browser) read(res *http.Response, err error) page {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return page{res.StatusCode, res.Header.Get("Location"), string(raw)}
}

func (b *browser) signIn(email, password, next string) page {
	b.t.Helper()
	return b.submit("/sign-in", url.Values{"email": {email}, "password": {password}, "next": {next}})
}

// newPages starts the pages of a world on a loopback port.
func newPages(t *testing.T) (w *authWorld, client, site string) {
	t.Helper()
	w, client = newPeopledWorld(t, nil)
	server := httptest.NewServer(w.auth.pages())
	t.Cleanup(server.Close)
	return w, client, server.URL
}

func TestPersonSignsInAndAllowsAClient(t *testing.T) {
	t.Parallel()
	w, client, site := newPages(t)
	b := newBrowser(t, site)
	f := exampleFlow(client, "v")
	id := w.authorize(f)
	consent := "/oauth/consent?authorization_id=" + id

	signIn := b.open(consent)
	if signIn.status != http.StatusSeeOther || !strings.HasPrefix(signIn.to, "/sign-in?next=") {
		t.Fatalf("a stranger is sent to %q (%d)", signIn.to, signIn.status)
	}
	form := b.open(signIn.to)
	if !strings.Contains(form.html, `name="next" value="`+consent+`"`) {
		t.Fatalf("the sign-in page forgot where to go:\n%s", form.html)
	}
	if wrong := b.signIn(alice, "nope", consent); wrong.status != http.StatusBadRequest || !strings.Contains(wrong.html, "Invalid login credentials.") {
		t.Fatalf("wrong password: %d", wrong.status)
	}
	if done := b.signIn(alice, "alice-password", consent); done.to != consent {
		t.Fatalf("signed in and sent to %q", done.to)
	}
	asked := b.open(consent)
	for _, want := range []string{"Example wants to use your account", alice, "http://127.0.0.1:33418", "openid, email"} {
		if !strings.Contains(asked.html, want) {
			t.Errorf("the consent page does not show %q", want)
		}
	}
	if regexp.MustCompile(`(?i)<script|javascript:`).MatchString(asked.html) {
		t.Error("the page needs a script")
	}
	allowed := b.submit("/oauth/consent", url.Values{"authorization_id": {id}, "action": {"approve"}})
	to, err := url.Parse(allowed.to)
	if err != nil || !strings.HasPrefix(allowed.to, loopbackCallback+"?") || to.Query().Get("state") != "s" {
		t.Fatalf("allowed and sent to %q", allowed.to)
	}
	got := w.exchange(f, to.Query().Get("code"))
	if user := w.must("GET", "/user", got.access, nil); user["email"] != alice {
		t.Fatalf("the token is of %v", user["email"])
	}
	if again := b.open(consent); again.status != http.StatusNotFound || !strings.Contains(again.html, "start again") {
		t.Fatalf("the page after the answer: %d", again.status)
	}
}

func TestConsentGivenBeforeIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	w, client, site := newPages(t)
	w.connect(exampleFlow(client, "v"), w.signIn(alice, "alice-password").access)
	b := newBrowser(t, site)
	b.signIn(alice, "alice-password", "/")
	if got := b.open("/oauth/consent?authorization_id=" + w.authorize(exampleFlow(client, "v"))); !strings.HasPrefix(got.to, loopbackCallback+"?code=") {
		t.Fatalf("sent to %q (%d)", got.to, got.status)
	}
}

func TestDenialGoesBackToTheClient(t *testing.T) {
	t.Parallel()
	w, client, site := newPages(t)
	b := newBrowser(t, site)
	b.signIn(alice, "alice-password", "/")
	id := w.authorize(exampleFlow(client, "v"))
	b.open("/oauth/consent?authorization_id=" + id)
	if got := b.submit("/oauth/consent", url.Values{"authorization_id": {id}, "action": {"deny"}}); !strings.Contains(got.to, "error=access_denied") {
		t.Fatalf("sent to %q", got.to)
	}
}

func TestBobCannotAnswerForAlice(t *testing.T) {
	t.Parallel()
	w, client, site := newPages(t)
	a, b := newBrowser(t, site), newBrowser(t, site)
	a.signIn(alice, "alice-password", "/")
	b.signIn(bob, "bob-password", "/")
	id := w.authorize(exampleFlow(client, "v"))
	a.open("/oauth/consent?authorization_id=" + id)
	if got := b.open("/oauth/consent?authorization_id=" + id); got.status != http.StatusNotFound {
		t.Errorf("bob opens it: %d", got.status)
	}
	if got := b.submit("/oauth/consent", url.Values{"authorization_id": {id}, "action": {"approve"}}); got.status != http.StatusNotFound {
		t.Errorf("bob allows it: %d %s", got.status, got.to)
	}
	if got := a.submit("/oauth/consent", url.Values{"authorization_id": {id}, "action": {"approve"}}); got.status != http.StatusSeeOther {
		t.Errorf("alice allows it: %d", got.status)
	}
}

func TestPagesRefuseOtherSites(t *testing.T) {
	t.Parallel()
	_, _, site := newPages(t)
	b := newBrowser(t, site)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+"/oauth/consent", strings.NewReader("action=approve"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if got := b.read(b.client.Do(r)); got.status != http.StatusForbidden {
		t.Errorf("a post from another site: %d", got.status)
	}
	for _, next := range []string{"https://evil.example.test/", "//evil.example.test/", `/\evil.example.test/`, "/\t/evil.example.test"} {
		if got := b.signIn(alice, "alice-password", next); got.to != "/" {
			t.Errorf("next %q leads to %q", next, got.to)
		}
	}
}

func TestSignOutEndsTheVisitOnly(t *testing.T) {
	t.Parallel()
	w, _, site := newPages(t)
	elsewhere := w.signIn(alice, "alice-password")
	b := newBrowser(t, site)
	b.signIn(alice, "alice-password", "/")
	if home := b.open("/"); !strings.Contains(home.html, "Signed in as "+alice) {
		t.Fatal("not signed in")
	}
	b.submit("/sign-out", nil)
	if home := b.open("/"); !strings.Contains(home.html, "Nobody is signed in") {
		t.Fatal("still signed in")
	}
	w.must("GET", "/user", elsewhere.access, nil)
}
