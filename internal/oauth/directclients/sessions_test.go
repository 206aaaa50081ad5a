package directclients

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

var sessionEnded = &supabase.AuthRefusal{Kind: supabase.SessionEnded, Status: 403, Code: "session_not_found"}

// checked is ep with access.session_check of five minutes.
func checked(ep *tenants.Endpoint) *tenants.Endpoint {
	other := *ep
	other.Access.SessionCheck = 300
	return &other
}

// ended asks, and waits until the question that follows is answered.
func (w *world) ended(t testing.TB, ep *tenants.Endpoint, c *oauth.Caller) bool {
	t.Helper()
	over := w.service.Ended(t.Context(), ep, c)
	w.service.sessions.done.Wait()
	return over
}

func (w *world) asked(t testing.TB, c *oauth.Caller, want int) {
	t.Helper()
	if got := w.projects.count(c.Token.Reveal()); got != want {
		t.Fatalf("asked %d times, want %d", got, want)
	}
}

func TestSessionsAreAskedAboutAsOftenAsTheSurfaceWants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep, c := checked(w.main), w.caller(w.main, "client-1")
	if w.ended(t, w.main, c) {
		t.Error("ended where nobody asks")
	}
	w.asked(t, c, 0)
	for range 3 {
		if w.ended(t, ep, c) {
			t.Error("ended")
		}
		w.asked(t, c, 1)
	}
	w.clock.Advance(299 * time.Second)
	w.ended(t, ep, c)
	w.asked(t, c, 1)
	w.clock.Advance(time.Second)
	w.ended(t, ep, c)
	w.asked(t, c, 2)
	if lane := w.projects.lanes[0]; lane == "" || lane == ep.Project.ID.String() {
		t.Errorf("asked in lane %q", lane)
	}
	bearer := *c
	bearer.Key.Mode, bearer.Token = oauth.ModeBearer, seal.NewSecret("another token")
	w.ended(t, ep, &bearer)
	w.asked(t, &bearer, 1)
	w.ended(t, ep, &oauth.Caller{}) // no token: nothing to ask
}

func TestASessionThatEndedStaysEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep, c, other := checked(w.main), w.caller(w.main, "client-1"), w.caller(w.main, "client-2")
	w.projects.answer(c.Token.Reveal(), sessionEnded)
	if w.ended(t, ep, c) {
		t.Error("the first request waited")
	}
	w.projects.answer(c.Token.Reveal(), nil)
	for _, wait := range []time.Duration{0, 10 * time.Minute, 49 * time.Minute, time.Minute, 30 * time.Second} {
		w.clock.Advance(wait) // to the very end of what is accepted
		if !w.ended(t, ep, c) || w.ended(t, ep, other) {
			t.Fatalf("after %s more: not ended, or another's is", wait)
		}
	}
	w.asked(t, c, 1)
	if w.service.Ended(t.Context(), w.main, c) {
		t.Error("a surface that does not ask knows")
	}
	if !w.service.Ended(t.Context(), checked(w.sales), c) {
		t.Error("it is one session at every surface of the project")
	}
}

// TestAliceAndBobsSessions: the same token at two organizations' projects is two
// sessions, and so is one at a project that has moved.
func TestAliceAndBobsSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.caller(w.main, "client-1")
	w.projects.answer(c.Token.Reveal(), sessionEnded)
	w.ended(t, checked(w.main), c)
	if !w.ended(t, checked(w.main), c) {
		t.Fatal("not ended")
	}
	moved := checked(w.main)
	moved.Project.APIOrigin = "https://moved.example.test"
	w.projects.answer(c.Token.Reveal(), nil)
	for _, ep := range []*tenants.Endpoint{checked(w.globex), moved} {
		for range 2 {
			if w.ended(t, ep, c) {
				t.Errorf("ended at %s of %s", ep.Resource.Path, ep.Project.APIOrigin)
			}
		}
	}
	w.asked(t, c, 3)
}

func TestWhatIsNoAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := checked(w.main)
	for i, err := range []error{
		errors.New("network"), fault.New(fault.Unavailable, "away", "Later."), errPanic,
		&supabase.AuthRefusal{Kind: supabase.Other, Status: 403, Code: "bad_jwt"},
		&supabase.AuthRefusal{Kind: supabase.RateLimited, Status: 429, RetryAfter: 5 * time.Second},
		&supabase.AuthRefusal{Kind: supabase.NotAvailable, Status: 403, Code: "x_disabled"},
	} {
		c := w.caller(ep, fmt.Sprint("client-", i))
		w.projects.answer(c.Token.Reveal(), err)
		for range 3 {
			if w.ended(t, ep, c) {
				t.Errorf("%v: ended", err)
			}
		}
		w.asked(t, c, 1)
		w.clock.Advance(questionAgain) // not five minutes
		w.ended(t, ep, c)
		w.asked(t, c, 2)
		w.projects.answer(c.Token.Reveal(), sessionEnded)
		w.clock.Advance(questionAgain)
		w.ended(t, ep, c)
		if !w.ended(t, ep, c) {
			t.Errorf("%v: the answer afterwards does not count", err)
		}
	}
	busy := w.caller(ep, "busy")
	w.projects.answer(busy.Token.Reveal(), &supabase.AuthRefusal{Kind: supabase.RateLimited, Status: 429, RetryAfter: time.Minute})
	w.ended(t, ep, busy)
	w.clock.Advance(59 * time.Second)
	w.ended(t, ep, busy)
	w.asked(t, busy, 1)
	if strings.Contains(w.logs.String(), "token of") {
		t.Error("a token is in the log")
	}
}

func TestQuestionsAreFewAtOnceAndNobodyWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := make(chan struct{})
	w.projects.block(hold)
	ep, c := checked(w.main), w.caller(w.main, "client-0")
	var wg sync.WaitGroup
	for range 50 { // at once: one question
		wg.Go(func() { w.service.Ended(t.Context(), ep, c) })
	}
	wg.Wait()
	eventually(t, "the project is asked", func() bool { return w.projects.count(c.Token.Reveal()) == 1 })
	for i := range 50 {
		w.service.Ended(t.Context(), ep, w.caller(w.main, fmt.Sprint("client-", i)))
	}
	eventually(t, "as many as may be", func() bool { return w.projects.total() == questionsOfProject })
	// Another project's are not kept waiting by these.
	his := w.caller(w.globex, "his")
	w.service.Ended(t.Context(), checked(w.globex), his)
	eventually(t, "Bob's project is asked", func() bool { return w.projects.count(his.Token.Reveal()) == 1 })
	close(hold)
	w.service.sessions.done.Wait()
	if got := w.projects.total(); got != questionsOfProject+1 {
		t.Errorf("asked %d times", got)
	}
	w.projects.block(nil)
	last := w.caller(w.main, "client-49") // whose turn did not come
	w.ended(t, ep, last)
	w.asked(t, last, 1)
	if w.service.sessions.running != 0 || len(w.service.sessions.of) != 0 {
		t.Error("places are not given back")
	}
}

// TestSigningOutAtTheProjectEndsTheSession, against a project as Supabase has
// them.
func TestSigningOutAtTheProjectEndsTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	project, err := standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t), Users: standin.CRMUsers(), Now: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = project.Close() })
	client := supabase.New(egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}))
	w.service.cfg.Projects = client
	ep := checked(w.main)
	ep.Project.APIOrigin, ep.Project.PublishableKey = project.URL(), project.PublishableKey()
	at := supabase.Project{ID: ep.Project.ID, APIOrigin: project.URL(), PublishableKey: project.PublishableKey()}
	callers := map[string]*oauth.Caller{}
	for _, email := range []string{"alice@example.test", "bob@example.test"} {
		tokens, err := client.SignInPassword(t.Context(), at, email, seal.NewSecret(standin.CRMPassword), "")
		if err != nil {
			t.Fatal(err)
		}
		c := w.caller(ep, email)
		c.Token = tokens.Access
		callers[email] = c
		for range 2 {
			if w.ended(t, ep, c) {
				t.Fatal("ended")
			}
		}
	}
	if err := project.EndSessions(t.Context(), "alice@example.test"); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(5 * time.Minute)
	for _, c := range callers {
		w.ended(t, ep, c)
	}
	if !w.ended(t, ep, callers["alice@example.test"]) || w.ended(t, ep, callers["bob@example.test"]) {
		t.Error("Alice's has not ended, or Bob's has")
	}
}
