package bridge

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func titles(tools []QuestionTool) string {
	var list []string
	for _, t := range tools {
		list = append(list, t.Title)
	}
	return strings.Join(list, ", ")
}

func (w *world) question(t testing.TB, in *SignIn) *Question {
	t.Helper()
	q, err := w.service.Question(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestTheQuestionNamesWhatTheScopesReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who, client := w.signedIn(t, w.ep, alice), w.client(t, w.ep, "claude", callback)
	for scopes, want := range map[string][2]string{
		"":                   {"Look for customers", "Archive a customer"},
		"crm.read":           {"Look for customers, Read notes", "Archive a customer"},
		"crm.read crm.write": {"Look for customers, Read notes", "Rename a customer, Archive a customer"},
	} {
		q := w.question(t, w.asking(t, w.ep, client, who, callback, strings.Fields(scopes)...))
		if titles(q.Reads) != want[0] || titles(q.Writes) != want[1] {
			t.Errorf("%q: reads %s, writes %s", scopes, titles(q.Reads), titles(q.Writes))
		}
		if q.Surface != "Acme CRM" || q.ClientName != "claude" || q.ClientHost != "" || q.Redirect != callback || q.Email != alice || q.Skip ||
			q.Lifetimes[0] != grantLifetime || len(q.Lifetimes) != 4 || !q.Writes[len(q.Writes)-1].Destructive {
			t.Errorf("question %+v", q)
		}
	}
	document := *client
	document.ID, document.Document = "https://client.example.test/oauth/metadata.json", true
	if q := w.question(t, w.asking(t, w.ep, &document, who, callback)); q.ClientHost != "client.example.test" {
		t.Errorf("host %q", q.ClientHost)
	}
	if _, err := w.service.Question(t.Context(), w.asking(t, w.ep, client, nil, callback)); fault.From(err).Code != "start_again" {
		t.Errorf("without a person: %v", err)
	}
	staff := w.surface(t, w.builder, w.project, "acme", "staff", func(c *surfaces.Compiled) { c.Access.Roles = []string{"staff"} })
	in := w.asking(t, staff, w.client(t, staff, "claude", callback), who, callback)
	if _, err := w.service.Question(t.Context(), in); !fault.Is(err, fault.Forbidden) {
		t.Errorf("at a surface for other roles: %v", err)
	}
	if _, err := w.service.Decide(t.Context(), in, allow, visitor); !fault.Is(err, fault.Forbidden) {
		t.Errorf("answering there: %v", err)
	}
}

func TestOnlyTheSameIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := "https://app.example.test/other"
	who, client := w.signedIn(t, w.ep, alice), w.client(t, w.ep, "claude", callback, second, loopback, "cursor://anysphere.cursor-mcp/callback")
	ask := func(redirectURI string, scopes ...string) *SignIn {
		return w.asking(t, w.ep, client, who, redirectURI, scopes...)
	}
	w.allowing(t, ask(callback, everything...), allow)
	for _, redirect := range []string{loopback, "cursor://anysphere.cursor-mcp/callback"} {
		w.allowing(t, ask(redirect, everything...), allow)
	}
	prompted := ask(callback, everything...)
	prompted.Ask = true
	other := w.client(t, w.ep, "other", callback)
	bobs := w.signedIn(t, w.ep, bob)
	for name, test := range map[string]struct {
		in   *SignIn
		skip bool
	}{
		"the same":                {ask(callback, everything...), true},
		"in another order":        {ask(callback, "crm.write", "crm.read"), true},
		"another redirect":        {ask(second, everything...), false},
		"a loopback redirect":     {ask(loopback, everything...), false},
		"a private scheme":        {ask("cursor://anysphere.cursor-mcp/callback", everything...), false},
		"fewer scopes":            {ask(callback, "crm.read"), false},
		"prompt=consent":          {prompted, false},
		"another client":          {w.asking(t, w.ep, other, who, callback, everything...), false},
		"somebody else":           {w.asking(t, w.ep, client, bobs, callback, everything...), false},
		"the person, as they are": {w.asking(t, w.ep, client, w.signedIn(t, w.ep, alice), callback, everything...), true},
	} {
		if q := w.question(t, test.in); q.Skip != test.skip {
			t.Errorf("%s: skip %v", name, q.Skip)
		}
		if test.skip {
			w.allowing(t, test.in, Answer{Allow: true, Skipped: true})
			continue
		}
		if _, err := w.service.Decide(t.Context(), test.in, Answer{Allow: true, Skipped: true}, visitor); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: skipped all the same: %v", name, err)
		}
	}
	// A second redirect adds up; other scopes begin anew.
	w.allowing(t, ask(second, everything...), allow)
	if !w.question(t, ask(callback, everything...)).Skip || !w.question(t, ask(second, everything...)).Skip {
		t.Error("approved redirects do not add up")
	}
	w.allowing(t, ask(second, "crm.read"), allow)
	if w.question(t, ask(callback, "crm.read")).Skip || !w.question(t, ask(second, "crm.read")).Skip {
		t.Error("a redirect was approved for other scopes")
	}
	grants, err := w.service.Connected(t.Context(), who)
	if err != nil || len(grants) != 1 {
		t.Fatalf("%d grants, %v", len(grants), err)
	}
	if err := w.service.Revoke(t.Context(), who, grants[0].ID); err != nil {
		t.Fatal(err)
	}
	again := w.signedIn(t, w.ep, alice)
	if w.question(t, w.asking(t, w.ep, client, again, second, "crm.read")).Skip {
		t.Error("what was taken away is not asked again")
	}
}

func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who, client := w.signedIn(t, w.ep, alice), w.client(t, w.ep, "claude", callback)
	in := w.asking(t, w.ep, client, who, callback, everything...)
	w.question(t, in)
	if _, err := w.service.Decide(t.Context(), in, Answer{Allow: true, Lifetime: 365 * 24 * time.Hour}, visitor); !fault.Is(err, fault.Invalid) {
		t.Errorf("for a year: %v", err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := 0
	for i := range 6 {
		wg.Go(func() {
			a := allow
			if i == 5 {
				a = Answer{}
			}
			to, err := w.service.Decide(t.Context(), in, a, visitor)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				codes++
				if !strings.HasPrefix(to, callback+"?") {
					t.Errorf("sent to %s", to)
				}
			case fault.From(err).Code != "start_again":
				t.Errorf("answer %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if codes != 1 {
		t.Errorf("%d answers counted", codes)
	}
	late := w.asking(t, w.ep, client, w.signedIn(t, w.ep, alice), callback)
	w.question(t, late)
	w.clock.Advance(signInLifetime)
	if _, err := w.service.Decide(t.Context(), late, allow, visitor); fault.From(err).Code != "start_again" {
		t.Errorf("after its time: %v", err)
	}
}

// Somebody else signing in between question and answer does not answer for
// whoever was asked.
func TestAnAnswerIsOfWhoeverWasAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client(t, w.ep, "claude", callback)
	in := w.asking(t, w.ep, client, w.signedIn(t, w.ep, alice), callback)
	w.question(t, in)
	now := *in
	if err := w.service.setPerson(t.Context(), &now, w.signedIn(t, w.ep, bob)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Decide(t.Context(), in, allow, visitor); err == nil {
		t.Error("Alice's answer counts for Bob")
	}
	var n int
	if w.query(t, &n, "select count(*) from grants"); n != 0 {
		t.Errorf("%d grants", n)
	}
}

func TestDenyingSendsTheClientAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who := w.signedIn(t, w.ep, alice)
	before := w.project.Sessions(alice)
	in := w.asking(t, w.ep, w.client(t, w.ep, "claude", callback), who, callback)
	to, err := w.service.Decide(t.Context(), in, Answer{}, visitor)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(to)
	if q := u.Query(); q.Get("error") != "access_denied" || q.Get("state") != "xyz" || q.Get("iss") != w.ep.Resource.URL() || q.Get("code") != "" {
		t.Errorf("sent to %s", to)
	}
	if w.project.Sessions(alice) != before-1 {
		t.Error("the session at the project goes on")
	}
	steps := w.steps.of(w.ep.Surface, events.StepConsent)
	if len(steps) != 1 || !steps[0].Failed || steps[0].Code != "access_denied" || steps[0].SignIn != in.ID || steps[0].Address == ([32]byte{}) {
		t.Errorf("steps %+v", steps)
	}
}

// What is published later, and writes more, waits for its person to agree.
func TestGrantsNeverWidenByThemselves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	reading := &connection{who: c.who, client: w.client(t, w.ep, "reader", callback), ep: w.ep}
	reading.issued = w.exchanged(t, reading, Answer{Allow: true, ReadOnly: true, Lifetime: grantLifetime})
	token, readers := w.access(t, c), w.access(t, reading)
	first := effects(published(), everything)
	in := w.asking(t, w.ep, w.client(t, w.ep, "late", callback), c.who, callback, everything...)
	w.question(t, in) // asked before the new tool was there
	w.publish(t, w.ep.Organization, w.ep.Surface, func(c *surfaces.Compiled) {
		more := c.Tools[3]
		more.Name, more.Title = "customer_delete", "Delete a customer"
		c.Tools = append(c.Tools, more)
	})
	eventually(t, "the revision is live", func() bool { return w.endpoint(t, w.ep.Resource.URL()).Revision == 2 })
	w.ep = w.endpoint(t, w.ep.Resource.URL())
	in.Endpoint = w.ep
	if q := w.question(t, in); strings.Contains(titles(q.Writes), "Delete") {
		t.Error("the question changed while it was asked")
	}
	w.allowing(t, in, allow)
	again := w.asking(t, w.ep, c.client, c.who, callback, everything...)
	if !w.question(t, again).Skip {
		t.Error("asked again")
	}
	w.allowing(t, again, Answer{Allow: true, Skipped: true})
	grants, err := w.service.Connected(t.Context(), c.who)
	if err != nil || len(grants) != 3 {
		t.Fatalf("%d grants, %v", len(grants), err)
	}
	for _, g := range grants {
		if g.MoreNow == g.ReadOnly || g.SurfaceTitle != "Acme CRM" {
			t.Errorf("%s: more now %v", g.ClientName, g.MoreNow)
		}
		if g.MoreNow && (len(g.More) != 1 || g.More[0].Title != "Delete a customer") {
			t.Errorf("%s: more now are %v", g.ClientName, g.More)
		}
	}
	if got := w.admitted(t, w.ep, token).Allowed.Writes; !slices.Equal(got, first) {
		t.Errorf("writes %v", got)
	}
	if got := w.admitted(t, w.ep, readers).Allowed; !got.ReadOnly || len(got.Writes) != 0 {
		t.Errorf("a reader %+v", got)
	}
	bobs := w.signedIn(t, w.ep, bob)
	if err := w.service.Widen(t.Context(), bobs, c.issued.grant); !fault.Is(err, fault.NotFound) {
		t.Errorf("Bob agrees for Alice: %v", err)
	}
	if err := w.service.Widen(t.Context(), c.who, c.issued.grant); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is wider", func() bool { return len(w.admitted(t, w.ep, token).Allowed.Writes) == len(first)+1 })
	if got := w.admitted(t, w.ep, readers).Allowed; !got.ReadOnly {
		t.Error("agreeing for one client agreed for another")
	}
	if grants, _ = w.service.Connected(t.Context(), c.who); slices.ContainsFunc(grants, func(g AccessGrant) bool { return g.ID == c.issued.grant && g.MoreNow }) {
		t.Error("more than everything")
	}
}

func TestANewApprovalReplacesTheOldOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	before := w.project.Sessions(alice)
	old := c.who
	c.who = w.signedIn(t, w.ep, alice)
	next := w.exchanged(t, c, Answer{Allow: true, ReadOnly: true, Lifetime: 24 * time.Hour})
	if next.grant != c.issued.grant {
		t.Error("two live grants of one caller")
	}
	got := w.admitted(t, w.ep, w.access(t, c))
	if !got.Allowed.ReadOnly || got.Session.(*callerSession).upstream != c.who.Upstream {
		t.Errorf("caller %+v", got.Allowed)
	}
	if w.project.Sessions(alice) != before {
		t.Errorf("%d sessions, %d before: the former one was not signed out", w.project.Sessions(alice), before)
	}
	if _, err := w.upstream(t, old, seal.Secret{}); err == nil {
		t.Error("the former session lives")
	}
	w.clock.Advance(24 * time.Hour)
	c.who = w.signedIn(t, w.ep, alice)
	if after := w.exchanged(t, c, allow); after.grant == next.grant {
		t.Error("a grant whose time was over lives again")
	}
	_, err := w.refreshed(t, c, next.refresh)
	wantInvalidGrant(t, err, sayExpired)
}

func TestParallelApprovalsMakeOneGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who, client := w.signedIn(t, w.ep, alice), w.client(t, w.ep, "claude", callback)
	var wg sync.WaitGroup
	for range 6 {
		in := w.asking(t, w.ep, client, who, callback, everything...)
		w.question(t, in)
		wg.Go(func() {
			if _, err := w.service.Decide(t.Context(), in, allow, visitor); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var n int
	if w.query(t, &n, "select count(*) from grants"); n != 1 {
		t.Errorf("%d grants", n)
	}
}
