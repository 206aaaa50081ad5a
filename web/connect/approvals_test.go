package connect_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// fakeApprovals is approvals in memory, with the rules that the page relies on:
// nothing for anybody else, nothing twice.
type fakeApprovals struct {
	mu    sync.Mutex
	calls map[string]*fakeWaiting
}

type fakeWaiting struct {
	place approvals.Place
	who   approvals.Person
	approvals.Request
}

func (f *fakeApprovals) Find(_ context.Context, name string) (approvals.Place, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of := f.calls[name]; of != nil {
		return of.place, nil
	}
	return approvals.Place{}, approvals.Unknown(nil)
}

func (f *fakeApprovals) of(at approvals.Place, who approvals.Person) *fakeWaiting {
	if of := f.calls[at.Name]; of != nil && of.who == who && of.place == at {
		return of
	}
	return nil
}

func (f *fakeApprovals) Request(_ context.Context, at approvals.Place, who approvals.Person) (*approvals.Request, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.of(at, who)
	if of == nil {
		return nil, approvals.Unknown(nil)
	}
	r := of.Request
	return &r, nil
}

func (f *fakeApprovals) Decide(_ context.Context, at approvals.Place, who approvals.Person, approve bool) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.of(at, who)
	if of == nil || of.State != approvals.Pending {
		return false, nil
	}
	if of.State = approvals.Declined; approve {
		of.State = approvals.Approved
	}
	return true, nil
}

func (f *fakeApprovals) state(name string) approvals.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[name].State
}

// a call that waits for somebody at a project.
func (st *stage) waits(ep *tenants.Endpoint, email, name, arguments string) (page string) {
	name = strings.Repeat(name, 32)
	ep.Access.ApprovalPage = true
	who := st.person(ep, email)
	st.waiting.calls[name] = &fakeWaiting{
		place: approvals.Place{Name: name, Organization: ep.Organization, Surface: ep.Surface, Ref: ep.Resource.Ref}, who: approvals.Person{Issuer: who.Issuer, Subject: who.Subject},
		Request: approvals.Request{State: approvals.Pending, Client: "Claude", Expires: time.Now().Add(9*time.Minute + 30*time.Second), About: approvals.About{
			Tool: "crm_archive", Title: "Archive a customer", Surface: "Acme CRM", Question: `Archive customer "Ada's <Bakery>"?`, Arguments: json.RawMessage(arguments),
		}},
	}
	return "/connect/approvals/" + name
}

const archiveArguments = `{"id":9007199254740993,"note":"line one\nline two","evil":"<b>\u202eyes\u0000</b>","tags":["a","b"],"empty":"","none":null}`

func TestAPersonApprovesACallOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	page := st.waits(st.acme, "alice@example.test", "a", archiveArguments)
	alice := st.visiting(t, st.acme, "alice@example.test")
	a := alice.get(page)
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, textOf(a.body))
	}
	says(t, a.body, "Archive customer &#34;Ada&#39;s &lt;Bakery&gt;&#34;?", "9007199254740993", "line one\nline two", `&lt;b&gt;\u202eyes\u0000&lt;/b&gt;`, `[&#34;a&#34;,&#34;b&#34;]`, "empty text", "null")
	says(t, textOf(a.body), "Acme CRM", "Claude", "unverified", "Archive a customer", "crm_archive", "alice@example.test", "9 minutes", "Decline", "Approve")
	if strings.Contains(a.body, "<b>") || strings.Contains(a.body, "\u202e") {
		t.Error("an argument is part of the page")
	}
	name := page[strings.LastIndex(page, "/")+1:]
	if got := alice.submit(page, page, "decision", "maybe"); got.status != http.StatusBadRequest || st.waiting.state(name) != approvals.Pending {
		t.Errorf("neither: %d", got.status)
	}
	csrf := alice.csrf(page)
	send := func(decision string) answer {
		return alice.send(http.MethodPost, page, url.Values{"csrf": {csrf}, "decision": {decision}}, nil)
	}
	if got := send("approve"); got.status != http.StatusSeeOther || got.location != page {
		t.Fatalf("%d %s", got.status, textOf(got.body))
	}
	says(t, textOf(alice.get(page).body), "You approved this", "make the same call again", "UTC")
	if send("decline"); st.waiting.state(name) != approvals.Approved {
		t.Error("an answer was changed")
	}
	for state, want := range map[approvals.State]string{approvals.Used: "does not count again", approvals.Expired: "over", approvals.Declined: "You declined"} {
		st.waiting.calls[name].State = state
		says(t, textOf(alice.get(page).body), want)
	}
}

// TestNothingOfACallIsUnseen: what leaves no mark, or moves what stands around
// it, is spelled out; a value that runs from right to left stays in its place.
func TestNothingOfACallIsUnseen(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	page := st.waits(st.acme, "alice@example.test", "a", `{"to":"bob\u200b\u3164\ufe00\u115f\u2800\u034f\udb40\udd01@example.test","love":"\u2764\ufe0f"}`)
	st.waiting.calls[strings.Repeat("a", 32)].Question = "Move \"\u2068\u05d0\u2069\" \"5\u3164\u202e\"?" + strings.Repeat(" and more", 300) + " to Mallory?"
	a := st.visiting(t, st.acme, "alice@example.test").get(page)
	says(t, a.body, `bob\u200b\u3164\ufe00\u115f\u2800\u034f\U000e0101@example.test`, "\u2764\ufe0f", "\u2068\u05d0\u2069&#34; &#34;5\\u3164\\u202e&#34;?", " to Mallory?")
	for _, c := range "\u200b\u3164\ufe00\u115f\u2800\u034f\U000e0101\u202e" {
		if strings.ContainsRune(a.body, c) {
			t.Errorf("%U is on the page as it is", c)
		}
	}
}

func TestAPersonDeclinesACall(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	page := st.waits(st.acme, "alice@example.test", "a", `{}`)
	alice := st.visiting(t, st.acme, "alice@example.test")
	says(t, textOf(alice.get(page).body), "it takes no values")
	if a := alice.submit(page, page, "decision", "decline"); a.status != http.StatusSeeOther || st.waiting.state(strings.Repeat("a", 32)) != approvals.Declined {
		t.Fatalf("%d", a.status)
	}
}

func TestAnApprovalIsForItsPersonOnly(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	page := st.waits(st.acme, "alice@example.test", "a", archiveArguments)
	globex := st.waits(st.globex, "carol@example.test", "b", `{}`)
	alice := st.visiting(t, st.acme, "alice@example.test")
	bob := st.visiting(t, st.acme, "bob@example.test")
	carol := st.visiting(t, st.globex, "carol@example.test")
	unknown := bob.get("/connect/approvals/" + strings.Repeat("z", 32))
	forget := func(a answer) string { // ids of requests differ
		return csrfValue.ReplaceAllString(strings.ReplaceAll(a.body, a.header.Get("Chumbo-Request-Id"), ""), "")
	}
	for what, a := range map[string]answer{
		"Bob on Alice's page":         bob.get(page),
		"Bob answers on Alice's page": bob.send(http.MethodPost, page, url.Values{"csrf": {alice.csrf(page)}, "decision": {"approve"}}, nil),
		"a name that is none":         bob.get("/connect/approvals/x"),
		"a page that was switched off": func() answer {
			st.globex.Access.ApprovalPage = false
			defer func() { st.globex.Access.ApprovalPage = true }()
			return carol.get(globex)
		}(),
	} {
		if a.status != http.StatusNotFound || forget(a) != forget(unknown) {
			t.Errorf("%s: %d, and not the answer to an unknown name:\n%s", what, a.status, textOf(a.body))
		}
		if strings.Contains(a.body, "Acme") || strings.Contains(a.body, "Bakery") {
			t.Errorf("%s learns of it", what)
		}
	}
	if carolAt := carol.get(page); !strings.HasPrefix(carolAt.location, "/connect/sign-in/") {
		t.Errorf("somebody of another project: %d %s", carolAt.status, carolAt.location)
	}
	// A form of Alice's own for another call, and one of her Connected apps.
	other := st.waits(st.acme, "alice@example.test", "c", `{}`)
	for what, csrf := range map[string]string{"another call's": alice.csrf(other), "Connected apps'": alice.csrf("/connect/apps/acme-ref"), "none": ""} {
		if a := alice.send(http.MethodPost, page, url.Values{"csrf": {csrf}, "decision": {"approve"}}, nil); a.status != http.StatusForbidden {
			t.Errorf("%s form: %d", what, a.status)
		}
	}
	csrf := alice.csrf(page)
	a := alice.send(http.MethodPost, page, url.Values{"csrf": {csrf}, "decision": {"approve"}}, func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Origin", "https://evil.example.test")
	})
	if a.status != http.StatusForbidden {
		t.Errorf("from another site: %d", a.status)
	}
	if a := alice.send(http.MethodGet, page+"?decision=approve&csrf="+csrf, nil, nil); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
	if got := st.waiting.state(strings.Repeat("a", 32)); got != approvals.Pending {
		t.Fatalf("it is %s", got)
	}
	for _, secret := range []string{"Bakery", "alice@example.test", strings.Repeat("a", 32)} {
		if strings.Contains(st.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestWhoeverIsNotSignedInSignsInAndComesBack(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	page := st.waits(st.acme, "alice@example.test", "a", archiveArguments)
	b := st.browser(t)
	if a := b.send(http.MethodPost, page, url.Values{"decision": {"approve"}}, nil); a.status != http.StatusUnauthorized || strings.Contains(a.body, "Bakery") {
		t.Fatalf("nobody answers: %d", a.status)
	}
	signIn := b.get(page).location
	if !strings.HasPrefix(signIn, "/connect/sign-in/") {
		t.Fatalf("led to %s", signIn)
	}
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{EmailCode: true}
	says(t, textOf(b.get(signIn).body), "to answer for a call that waits for you")
	st.bridge.outcome = bridge.Outcome{Person: st.person(st.acme, "alice@example.test")}
	a := b.get("/connect/callback?state=" + signIn[strings.LastIndex(signIn, "/")+1:])
	if a.location != page {
		t.Fatalf("came back to %s", a.location)
	}
	says(t, textOf(b.get(page).body), "Approve this?")
	// The way back is that sign-in's only.
	apps := st.browser(t)
	in := apps.get("/connect/apps/acme-ref").location
	plain := in[strings.LastIndex(in, "/")+1:]
	a = apps.send(http.MethodGet, "/connect/callback?state="+plain, nil, func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: "__Host-after-" + plain, Value: "//evil.example.test/aaaaaaaaaaaa"})
	})
	if a.location != "/connect/apps/acme-ref" {
		t.Errorf("led to %q", a.location)
	}
}

func TestApprovalsAreAwayTogetherWithTheirStore(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	page := st.waits(st.acme, "alice@example.test", "a", `[]`)
	alice := st.visiting(t, st.acme, "alice@example.test")
	if a := alice.get(page); a.status != http.StatusInternalServerError || strings.Contains(a.body, "no object") {
		t.Errorf("%d %s", a.status, textOf(a.body))
	}
	st.waiting.calls[strings.Repeat("a", 32)].State = approvals.Pending
	if !fault.Is(approvals.Unknown(nil), fault.NotFound) {
		t.Error("unknown is another error")
	}
}

// TestApprovalPageIsWellMade looks at the page in a browser.
func TestApprovalPageIsWellMade(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Open(t, 2*time.Minute)
	st, pages, _ := serveStage(t)
	long, err := json.Marshal(strings.Repeat("A long note that somebody wrote, over and over. ", 20) + "\n<script>alert(1)</script>")
	if err != nil {
		t.Fatal(err)
	}
	page := st.waits(st.acme, "alice@example.test", "a", `{"id":"6f2b9c0e-8f7a-4f7e-9d6a-0c1f2e3d4c5b","a_rather_long_name_of_an_argument":true,"note":`+string(long)+`,"evil":"Yes\u202e!\u0000","tags":["important","urgent"],"amount":1234567.89}`)
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{EmailCode: true}
	st.bridge.outcome = bridge.Outcome{Mailed: true}
	act(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(pages+page), fill("email", "alice@example.test"))
	press(t, ctx, "Email me a code", `[name="code"]`)
	st.bridge.outcome = bridge.Outcome{Person: st.person(st.acme, "alice@example.test")}
	act(t, ctx, fill("code", "123456"))
	press(t, ctx, "Sign in", ".approval")
	says(t, see(t, ctx, chromedp.Evaluate[string]("document.body.innerText")), "Approve this?", "show all")
	wellMade(t, ctx, "approval")
	if see(t, ctx, chromedp.Evaluate[bool](`!!document.querySelector("main script")`)) {
		t.Error("an argument is a script")
	}
	reach := see(t, ctx, chromedp.Evaluate[bool](`(() => { const [a, b] = [...document.querySelectorAll(".consent-answers button")].map(b => b.getBoundingClientRect());
		return Math.abs(a.width - b.width) < 2 && Math.abs(a.height - b.height) < 2 })()`))
	if !reach {
		t.Error("one answer is easier to reach than the other")
	}
	press(t, ctx, "Approve", ".people-lead")
	says(t, see(t, ctx, chromedp.Evaluate[string]("document.body.innerText")), "You approved this")
	wellMade(t, ctx, "approved")
}
