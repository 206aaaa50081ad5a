package events_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// story makes the steps of one attempt, a few seconds apart.
type story struct {
	at    time.Time
	steps []events.StoredStep
}

func (s *story) add(kind events.StepKind, change func(*events.Step)) *story {
	step := events.StoredStep{ID: id.New[id.StepKind](), Step: events.Step{Kind: kind, At: s.at}}
	if change != nil {
		change(&step.Step)
	}
	s.steps = append(s.steps, step)
	s.at = s.at.Add(3 * time.Second)
	return s
}

func from(address byte, client string) func(*events.Step) {
	return func(s *events.Step) { s.Address, s.Client = [32]byte{address}, client }
}

func failing(code string, change func(*events.Step)) func(*events.Step) {
	return func(s *events.Step) {
		change(s)
		s.Failed, s.Code = true, code
	}
}

// desktop is a whole attempt of a client and a browser on one machine.
func desktop(at time.Time, address byte, client string) *story {
	signIn, grant := id.New[id.SignInKind](), id.New[id.GrantKind]()
	s := &story{at: at}
	s.add(events.StepChallenge, from(address, "")).add(events.StepMetadata, from(address, "")).add(events.StepMetadata, from(address, ""))
	s.add(events.StepRegistration, from(address, client))
	browser := func(st *events.Step) { from(address, client)(st); st.SignIn = signIn }
	s.add(events.StepAuthorize, browser).add(events.StepSignIn, browser)
	s.add(events.StepConsent, func(st *events.Step) { browser(st); st.Grant = grant })
	s.add(events.StepToken, func(st *events.Step) { from(address, client)(st); st.Grant = grant })
	return s.add(events.StepFirstCall, func(st *events.Step) {
		from(address, client)(st)
		st.Grant, st.ClientName, st.ClientVersion = grant, "Desk", "1.2.3"
	})
}

// hosted is one of a client whose requests come from its own servers.
func hosted(at time.Time, server, browser byte, client string) *story {
	signIn, grant := id.New[id.SignInKind](), id.New[id.GrantKind]()
	s := &story{at: at}
	s.add(events.StepChallenge, from(server, "")).add(events.StepMetadata, from(server, ""))
	s.add(events.StepRegistration, from(server, client))
	person := func(st *events.Step) { from(browser, client)(st); st.SignIn = signIn }
	s.add(events.StepAuthorize, person).add(events.StepSignIn, person)
	s.add(events.StepConsent, func(st *events.Step) { person(st); st.Grant = grant })
	s.add(events.StepToken, func(st *events.Step) { from(server+100, client)(st); st.Grant, st.SignIn = grant, signIn })
	return s.add(events.StepFirstCall, func(st *events.Step) { from(server+100, client)(st); st.Grant = grant })
}

func attempts(now time.Time, stories ...*story) []events.Attempt {
	var steps []events.StoredStep
	for _, s := range stories {
		steps = append(steps, s.steps...)
	}
	return events.Attempts(steps, now)
}

// one is the only attempt of a story.
func one(t *testing.T, now time.Time, s *story) events.Attempt {
	t.Helper()
	list := attempts(now, s)
	if len(list) != 1 {
		t.Fatalf("%d attempts, want one: %+v", len(list), list)
	}
	if len(list[0].Steps) != len(s.steps) {
		t.Fatalf("%d steps of %d", len(list[0].Steps), len(s.steps))
	}
	return list[0]
}

func TestAWholeConnectionIsOneAttempt(t *testing.T) {
	t.Parallel()
	a := one(t, noon, desktop(noon, 1, "client-a"))
	if a.State != events.AttemptConnected || a.Broke != nil || a.Client != "client-a" || a.ClientName != "Desk" || a.ClientVersion != "1.2.3" || a.Grant.IsZero() {
		t.Errorf("desktop: %+v", a)
	}
	if a := one(t, noon, hosted(noon, 1, 2, "client-a")); a.State != events.AttemptConnected {
		t.Errorf("hosted: %+v", a)
	}
}

func TestAnAttemptSaysWhereItStands(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Hour)
	whole := desktop(noon, 1, "c")
	for name, c := range map[string]struct {
		now   time.Time
		steps int // of a whole connection
		then  func(*story)
		state events.AttemptState
		broke events.StepKind
	}{
		"only challenged":              {later, 1, nil, events.AttemptAbandoned, events.StepChallenge},
		"metadata read, a minute ago":  {noon.Add(time.Minute), 3, nil, events.AttemptWaiting, ""},
		"metadata read, an hour ago":   {later, 3, nil, events.AttemptAbandoned, events.StepMetadata},
		"no browser came":              {later, 4, nil, events.AttemptAbandoned, events.StepRegistration},
		"left the page":                {later, 5, nil, events.AttemptAbandoned, events.StepAuthorize},
		"did not answer":               {later, 6, nil, events.AttemptAbandoned, events.StepSignIn},
		"code never exchanged":         {later, 7, nil, events.AttemptAbandoned, events.StepConsent},
		"token":                        {later, 8, nil, events.AttemptConnected, ""},
		"registration refused":         {later, 3, fail(events.StepRegistration, "invalid_redirect_uri"), events.AttemptFailed, events.StepRegistration},
		"refused, then registered":     {later, 3, both(fail(events.StepRegistration, "invalid_redirect_uri"), ok(events.StepRegistration)), events.AttemptAbandoned, events.StepRegistration},
		"wrong password":               {later, 5, sameSignIn(events.StepSignIn, "wrong_credentials"), events.AttemptFailed, events.StepSignIn},
		"wrong, then right":            {later, 5, both(sameSignIn(events.StepSignIn, "wrong_credentials"), sameSignIn(events.StepSignIn, "")), events.AttemptAbandoned, events.StepSignIn},
		"wrong, and metadata again":    {later, 5, both(sameSignIn(events.StepSignIn, "wrong_credentials"), ok(events.StepMetadata)), events.AttemptFailed, events.StepSignIn},
		"denied":                       {later, 6, sameSignIn(events.StepConsent, "access_denied"), events.AttemptFailed, events.StepConsent},
		"revoked":                      {later, 9, end("by_user"), events.AttemptEnded, ""},
		"revoked, then refresh":        {later, 9, both(end("by_user"), sameGrant(events.StepRefresh, "invalid_grant")), events.AttemptEnded, ""},
		"ended at the project":         {later, 9, end("upstream_ended"), events.AttemptFailed, events.StepEnded},
		"refresh: project away":        {later, 9, sameGrant(events.StepRefresh, "temporarily_unavailable"), events.AttemptConnected, ""},
		"refresh: refused":             {later, 9, sameGrant(events.StepRefresh, "invalid_grant"), events.AttemptFailed, events.StepRefresh},
		"token refused, then given":    {later, 7, both(sameGrant(events.StepToken, "invalid_request"), sameGrant(events.StepToken, "")), events.AttemptConnected, ""},
		"token refused":                {later, 7, sameGrant(events.StepToken, "invalid_grant"), events.AttemptFailed, events.StepToken},
		"code that nobody has told of": {later, 7, sameGrant(events.StepToken, "a_new_code"), events.AttemptFailed, events.StepToken},
	} {
		s := &story{at: whole.steps[c.steps-1].At.Add(3 * time.Second), steps: slices.Clone(whole.steps[:c.steps])}
		if c.then != nil {
			c.then(s)
		}
		a := one(t, c.now, s)
		if a.State != c.state {
			t.Errorf("%s: %s, want %s", name, a.State, c.state)
		}
		switch {
		case c.broke == "" && a.Broke != nil:
			t.Errorf("%s: broke at %+v", name, a.Broke)
		case c.broke != "" && (a.Broke == nil || a.Broke.Kind != c.broke || a.Broke.Why == ""):
			t.Errorf("%s: broke at %+v, want %s", name, a.Broke, c.broke)
		}
	}
}

func fail(kind events.StepKind, code string) func(*story) {
	return func(s *story) { s.add(kind, failing(code, from(1, ""))) }
}

func ok(kind events.StepKind) func(*story) {
	return func(s *story) { s.add(kind, from(1, "")) }
}

func both(a, b func(*story)) func(*story) { return func(s *story) { a(s); b(s) } }

func end(code string) func(*story) {
	return func(s *story) {
		grant := grantOf(s)
		s.add(events.StepEnded, func(st *events.Step) { st.Grant, st.Code = grant, code })
	}
}

func sameGrant(kind events.StepKind, code string) func(*story) {
	return func(s *story) {
		grant := grantOf(s)
		s.add(kind, func(st *events.Step) { from(1, "c")(st); st.Grant, st.Code, st.Failed = grant, code, code != "" })
	}
}

func sameSignIn(kind events.StepKind, code string) func(*story) {
	return func(s *story) {
		signIn := s.steps[4].SignIn
		s.add(kind, func(st *events.Step) { from(1, "c")(st); st.SignIn, st.Code, st.Failed = signIn, code, code != "" })
	}
}

func grantOf(s *story) id.Grant {
	for _, step := range s.steps {
		if !step.Grant.IsZero() {
			return step.Grant
		}
	}
	return id.Grant{}
}

func TestConnectingAgainIsAnotherAttempt(t *testing.T) {
	t.Parallel()
	first := desktop(noon, 1, "c")
	again := desktop(noon.Add(48*time.Hour), 1, "c")
	grant := grantOf(first)
	for i := range again.steps { // the same person and client: the same grant
		if !again.steps[i].Grant.IsZero() {
			again.steps[i].Grant = grant
		}
	}
	ended := &story{at: noon.Add(72 * time.Hour)}
	ended.add(events.StepEnded, func(s *events.Step) { s.Grant, s.Code = grant, "by_user" })
	list := attempts(noon.Add(96*time.Hour), first, again, ended)
	if len(list) != 2 || list[0].State != events.AttemptEnded || list[1].State != events.AttemptConnected || len(list[0].Steps) != len(again.steps)+1 {
		t.Errorf("attempts: %+v", list)
	}
}

func TestADirectSurfaceSeesChallengeMetadataAndCalls(t *testing.T) {
	t.Parallel()
	s := &story{at: noon}
	s.add(events.StepChallenge, from(7, "")).add(events.StepMetadata, from(7, "")).add(events.StepFirstCall, from(7, "a-client"))
	s.at = noon.Add(2 * time.Hour)
	s.add(events.StepFirstCall, from(7, "a-client"))
	if a := one(t, noon.Add(3*time.Hour), s); a.State != events.AttemptConnected || a.Client != "a-client" {
		t.Errorf("attempt: %+v", a)
	}
}

func TestNoHashMeansNoAddress(t *testing.T) {
	t.Parallel()
	s := (&story{at: noon}).add(events.StepChallenge, nil).add(events.StepChallenge, nil)
	if list := attempts(noon, s); len(list) != 2 {
		t.Errorf("%d attempts of two requests from nowhere", len(list))
	}
}

// TestTwoPeopleOfOneSharedClientAreNeverMixed: everybody's Claude has the same
// client id, and fails without a sign-in.
func TestTwoPeopleOfOneSharedClientAreNeverMixed(t *testing.T) {
	t.Parallel()
	const shared = "https://claude.example.test/client.json"
	alice := (&story{at: noon}).add(events.StepAuthorize, failing("invalid_target", from(1, shared)))
	bob := (&story{at: noon.Add(time.Second)}).add(events.StepAuthorize, failing("invalid_target", from(2, shared)))
	hers, his := hosted(noon.Add(time.Minute), 3, 1, shared), hosted(noon.Add(time.Minute+time.Second), 4, 2, shared)
	list := attempts(noon.Add(time.Hour), alice, bob, hers, his)
	for _, a := range list {
		owner := map[int]bool{}
		for _, v := range a.Steps {
			for n, s := range []*story{alice, bob, hers, his} {
				if slices.ContainsFunc(s.steps, func(st events.StoredStep) bool { return st.ID == v.ID }) {
					owner[n%2] = true
				}
			}
		}
		if len(owner) != 1 {
			t.Errorf("an attempt of two people: %+v", a)
		}
	}
}

// TestAttemptsOfManyNeverMix plays many attempts at once, in any order, cut off
// anywhere: every step is in exactly one attempt, of one actor, and the order
// in which they are given changes nothing.
func TestAttemptsOfManyNeverMix(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		owner := map[id.Step]int{}
		var steps []events.StoredStep
		for n := range 2 + r.IntN(8) {
			at := noon.Add(time.Duration(r.IntN(1800)) * time.Second)
			address, client := byte(1+2*n), fmt.Sprintf("client-%d", n)
			s := desktop(at, address, client)
			if r.IntN(2) == 0 {
				s = hosted(at, address, address+1, client)
			}
			if r.IntN(3) == 0 { // somewhere it fails
				i := r.IntN(len(s.steps))
				s.steps[i].Failed, s.steps[i].Code = true, "invalid_request"
			}
			s.steps = s.steps[:1+r.IntN(len(s.steps))]
			for i := range s.steps {
				s.steps[i].At = s.steps[i].At.Add(time.Duration(r.IntN(2)) * time.Second)
				owner[s.steps[i].ID] = n
			}
			steps = append(steps, s.steps...)
		}
		want := events.Attempts(steps, noon.Add(20*time.Minute))
		seen := map[id.Step]bool{}
		for _, a := range want {
			for _, v := range a.Steps {
				if seen[v.ID] {
					t.Fatalf("seed %d: a step is in two attempts", seed)
				}
				seen[v.ID] = true
				if owner[v.ID] != owner[a.ID] {
					t.Fatalf("seed %d: an attempt of two: %+v", seed, a)
				}
			}
		}
		if len(seen) != len(steps) {
			t.Fatalf("seed %d: %d of %d steps", seed, len(seen), len(steps))
		}
		r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		if got := events.Attempts(steps, noon.Add(20*time.Minute)); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: another order gives other attempts", seed)
		}
	}
}

// TestTwoClientsBehindOneAddressAreNeverMixed: until they name themselves they
// cannot be told apart; from then on they are.
func TestTwoClientsBehindOneAddressAreNeverMixed(t *testing.T) {
	t.Parallel()
	for apart := range 40 {
		a, b := desktop(noon, 1, "client-a"), desktop(noon.Add(time.Duration(apart)*time.Second), 1, "client-b")
		list := attempts(noon.Add(time.Hour), a, b)
		for _, at := range list {
			clients := map[string]bool{}
			for _, v := range at.Steps {
				for _, s := range slices.Concat(a.steps, b.steps) {
					if s.ID == v.ID && s.Client != "" {
						clients[s.Client] = true
					}
				}
			}
			if len(clients) > 1 {
				t.Fatalf("%d s apart: an attempt of %v", apart, clients)
			}
		}
	}
}

// TestWhatMayBeOfTwoAttemptsIsOfNeither: registrations of the same public
// metadata share a client id, and so do all copies of a client with a metadata
// document.
func TestWhatMayBeOfTwoAttemptsIsOfNeither(t *testing.T) {
	t.Parallel()
	begun := func(address byte, client string) *story {
		return (&story{at: noon}).add(events.StepRegistration, from(address, client))
	}
	comes := func(address byte, client string) *story {
		signIn := id.New[id.SignInKind]()
		return (&story{at: noon.Add(time.Minute)}).add(events.StepAuthorize, func(s *events.Step) { from(address, client)(s); s.SignIn = signIn })
	}
	refused := func(address byte, client string) *story {
		return (&story{at: noon.Add(time.Minute)}).add(events.StepAuthorize, failing("invalid_target", from(address, client)))
	}
	const document = "https://claude.example.test/client.json"
	for name, c := range map[string]struct {
		stories []*story
		want    int
	}{
		"its only registration":                {[]*story{begun(1, "c"), comes(3, "c")}, 1},
		"one of two registrations":             {[]*story{begun(1, "c"), begun(2, "c"), comes(3, "c")}, 3},
		"of two, that of the same address":     {[]*story{begun(1, "c"), begun(2, "c"), comes(2, "c")}, 2},
		"a document read for somebody else":    {[]*story{begun(1, document), comes(3, document)}, 2},
		"a document read for them":             {[]*story{begun(3, document), comes(3, document)}, 1},
		"two browsers of one registration":     {[]*story{begun(1, "c"), refused(2, "c"), refused(3, "c")}, 2},
		"another browser where the client is":  {[]*story{begun(1, "c"), refused(2, "c"), refused(1, "c")}, 2},
		"a browser that tries again":           {[]*story{begun(1, "c"), refused(2, "c"), refused(2, "c")}, 1},
		"two sign-ins after one registration":  {[]*story{begun(1, "c"), comes(2, "c"), comes(2, "c")}, 2},
		"a registration long before":           {[]*story{{steps: at(begun(1, "c"), noon.Add(-time.Hour))}, comes(3, "c")}, 2},
		"a challenge of the same address":      {[]*story{(&story{at: noon}).add(events.StepChallenge, from(3, "")), comes(3, "c")}, 1},
		"a challenge of another address":       {[]*story{(&story{at: noon}).add(events.StepChallenge, from(4, "")), comes(3, "c")}, 2},
		"a challenge of that address long ago": {[]*story{{steps: at((&story{}).add(events.StepChallenge, from(3, "")), noon.Add(-time.Hour))}, comes(3, "c")}, 2},
	} {
		if list := attempts(noon.Add(2*time.Minute), c.stories...); len(list) != c.want {
			t.Errorf("%s: %d attempts, want %d", name, len(list), c.want)
		}
	}
}

// at is a story's steps at another time.
func at(s *story, when time.Time) []events.StoredStep {
	for i := range s.steps {
		s.steps[i].At = when
	}
	return s.steps
}
