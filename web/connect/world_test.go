package connect_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web/connect"
)

const pagesURL = "https://pages.example.test"

// stage is the pages over a bridge in memory, with two projects of two
// organizations.
type stage struct {
	handler http.Handler
	bridge  *fakeBridge
	waiting *fakeApprovals
	acme    *tenants.Endpoint
	globex  *tenants.Endpoint
	log     *logBook
}

type fakeDirectory map[string]*tenants.Endpoint

func (d fakeDirectory) ByRef(_ context.Context, ref string) (*tenants.Endpoint, error) {
	if ep, known := d[ref]; known {
		return ep, nil
	}
	return nil, fault.New(fault.NotFound, "unknown_surface", "There is no published surface at this URL.")
}

func endpointOf(slug, title, ref string) *tenants.Endpoint {
	return &tenants.Endpoint{
		Organization: id.New[id.OrganizationKind](), Surface: id.New[id.SurfaceKind](), SurfaceSlug: "main", Title: title,
		Project:  tenants.ProjectRef{ID: id.New[id.ProjectKind](), Slug: slug, Name: title},
		Access:   surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: surfaces.AuthorizationBridge},
		Resource: tenants.Resource{Base: "https://mcp.example.test", Path: "/" + slug + "/mcp", Ref: ref},
	}
}

func newStage(t testing.TB) *stage { return newStageAt(t, pagesURL) }

func newStageAt(t testing.TB, pages string) *stage {
	t.Helper()
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{bridge: newFake(), waiting: &fakeApprovals{calls: map[string]*fakeWaiting{}}, acme: endpointOf("acme", "Acme CRM", "acme-ref"), globex: endpointOf("globex", "Globex", "globex-ref"), log: &logBook{}}
	st.bridge.question = bridge.Question{ClientName: "Claude", Lifetimes: []time.Duration{90 * 24 * time.Hour, 24 * time.Hour},
		Reads: []bridge.QuestionTool{{Title: "List customers", Description: "Lists customers. Page by page."}}, Writes: []bridge.QuestionTool{{Title: "Delete a customer", Destructive: true}}}
	direct := endpointOf("direct", "Direct", "direct-ref")
	direct.Access.Authorization = surfaces.AuthorizationDirect
	st.handler, err = connect.New(connect.Config{
		Bridge: st.bridge, Approvals: st.waiting, Directory: fakeDirectory{"acme-ref": st.acme, "globex-ref": st.globex, "direct-ref": direct},
		Hosts: tenants.Hosts{PublicURL: "https://mcp.example.test", SurfaceDomain: "apps.example.test", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}, Keys: keys,
		Logger: slog.New(slog.NewJSONHandler(st.log, nil)), Now: time.Now, PagesURL: pages,
	})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// logBook keeps what was logged.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// browser is one person's browser without scripts.
type browser struct {
	t   testing.TB
	st  *stage
	jar http.CookieJar
	at  string // scheme://host of the page it is on
}

func (st *stage) browser(t testing.TB) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, st: st, jar: jar, at: pagesURL}
}

// answer is what came back.
type answer struct {
	status   int
	header   http.Header
	location string
	body     string
}

// send makes one request as a browser on our own page would. A form's fields
// come in pairs.
func (b *browser) send(method, to string, form url.Values, change func(*http.Request)) answer {
	b.t.Helper()
	base, err := url.Parse(b.at)
	if err != nil {
		b.t.Fatal(err)
	}
	u, err := base.Parse(to)
	if err != nil {
		b.t.Fatal(err)
	}
	r := httptest.NewRequest(method, u.String(), strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", u.Scheme+"://"+u.Host)
	}
	for _, c := range b.jar.Cookies(u) {
		r.AddCookie(c)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	b.st.handler.ServeHTTP(w, r)
	res := w.Result()
	b.jar.SetCookies(u, res.Cookies())
	return answer{status: res.StatusCode, header: res.Header, location: res.Header.Get("Location"), body: w.Body.String()}
}

func (b *browser) get(to string) answer { b.t.Helper(); return b.send(http.MethodGet, to, nil, nil) }

var csrfValue = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf is what the forms of a page carry.
func (b *browser) csrf(page string) string {
	b.t.Helper()
	a := b.get(page)
	match := csrfValue.FindStringSubmatch(a.body)
	if match == nil {
		b.t.Fatalf("%s has no form: %d %s", page, a.status, textOf(a.body))
	}
	return match[1]
}

var notMeValue = regexp.MustCompile(`id="again" hidden[^>]*>\s*<input[^>]*value="([^"]+)"`)

// notMe is what the "Not you?" form of a question carries.
func (b *browser) notMe(question string) string {
	b.t.Helper()
	match := notMeValue.FindStringSubmatch(b.get(question).body)
	if match == nil {
		b.t.Fatalf("%s has no way to say that it is not me", question)
	}
	return match[1]
}

// submit sends a form of a page to an address.
func (b *browser) submit(page, to string, pairs ...string) answer {
	b.t.Helper()
	form := formOf(pairs...)
	form.Set("csrf", b.csrf(page))
	return b.send(http.MethodPost, to, form, nil)
}

func formOf(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

var tags = regexp.MustCompile(`(?s)<(script|style|svg).*?</(script|style|svg)>|<[^>]*>`)

// textOf is roughly what a person reads of a page.
func textOf(html string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(html, " ")), " ")
}

const claudeCallback = "https://claude.ai/api/mcp/auth_callback"

// authorize begins a sign-in at acme for a client's redirect URI and returns
// the address of its page.
func (b *browser) authorize(redirect string) string {
	b.t.Helper()
	a := b.get("/connect/authorize/acme-ref?" + url.Values{"client_id": {"c"}, "redirect_uri": {redirect}, "scope": {"crm.read"}}.Encode())
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.location, "/connect/") {
		b.t.Fatalf("authorize: %d %s %s", a.status, a.location, textOf(a.body))
	}
	return a.location
}

// person is somebody at a project.
func (st *stage) person(ep *tenants.Endpoint, email string) *bridge.Person {
	return &bridge.Person{Organization: ep.Organization, Project: ep.Project.ID, Issuer: "https://project.example.test/auth/v1", Subject: "sub-" + email, Email: email}
}

// signedIn begins a sign-in at acme and ends it as somebody, by the callback.
// It returns the address of the question.
func (b *browser) signedIn(redirect, email string) string {
	b.t.Helper()
	page := b.authorize(redirect)
	b.st.bridge.outcome = bridge.Outcome{Person: b.st.person(b.st.acme, email)}
	a := b.get("/connect/callback?state=" + page[strings.LastIndex(page, "/")+1:])
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.location, "/connect/consent/") {
		b.t.Fatalf("callback: %d %s %s", a.status, a.location, textOf(a.body))
	}
	return a.location
}

// visiting is a browser whose person signed in to a project's Connected apps.
func (st *stage) visiting(t testing.TB, ep *tenants.Endpoint, email string) *browser {
	t.Helper()
	b := st.browser(t)
	page := b.get("/connect/apps/" + ep.Resource.Ref).location
	st.bridge.outcome = bridge.Outcome{Person: st.person(ep, email)}
	if a := b.get("/connect/callback?state=" + page[strings.LastIndex(page, "/")+1:]); a.location != "/connect/apps/"+ep.Resource.Ref {
		t.Fatalf("callback: %d %s %s", a.status, a.location, textOf(a.body))
	}
	return b
}

// grantFor gives somebody a connected app.
func (st *stage) grantFor(ep *tenants.Endpoint, email, name string) id.Grant {
	g := bridge.AccessGrant{ID: id.New[id.GrantKind](), Surface: ep.Surface, SurfaceTitle: ep.Title, ClientName: name, Scopes: []string{"crm.read"},
		CreatedAt: time.Now().Add(-time.Hour), ApprovedAt: time.Now().Add(-time.Hour), ExpiresAt: time.Now().Add(24 * time.Hour), MoreNow: true,
		More: []bridge.QuestionTool{{Title: "Delete a deal", Destructive: true}}}
	st.bridge.grants[g.ID] = fakeGrant{AccessGrant: g, who: *st.person(ep, email)}
	return g.ID
}

func says(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}
