package events

import (
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
)

// AttemptState says where an attempt to connect stands.
type AttemptState string

// The states of an attempt.
const (
	AttemptConnected AttemptState = "connected" // the client has its token, or called
	AttemptFailed    AttemptState = "failed"    // something went wrong, and nothing after it went right
	AttemptWaiting   AttemptState = "waiting"   // a client or a person is at it
	AttemptAbandoned AttemptState = "abandoned" // nothing went wrong, and nobody went on
	AttemptEnded     AttemptState = "ended"     // was connected until somebody took the access away, or its time was over
)

// AttemptStates lists every state.
func AttemptStates() []AttemptState {
	return []AttemptState{AttemptConnected, AttemptFailed, AttemptWaiting, AttemptAbandoned, AttemptEnded}
}

// Attempt is one attempt of a client to connect, from the first request that
// was told to sign in to the first call, and what became of it.
type Attempt struct {
	ID            id.Step // of its first step
	Started       time.Time
	Ended         time.Time // of its last step
	Client        string    // OAuth client id; empty where it never came so far
	ClientName    string    // unverified
	ClientVersion string
	Agent         string   // User-Agent of the client, or of the browser where nothing else came
	Grant         id.Grant // zero where none was given
	State         AttemptState
	Broke         *StepView // the step that failed, or after which nobody went on; nil otherwise
	Steps         []StepView
}

// StepView is one step of an attempt with its words.
type StepView struct {
	ID        id.Step
	At        time.Time
	Kind      StepKind
	Failed    bool
	Code      string
	Why       string // what happened; empty where the step says it all
	Do        string // what to do about it; may be empty
	RequestID string
}

// waitFor is how long an attempt on which nothing happens counts as under way:
// as long as a sign-in may take.
const waitFor = 10 * time.Minute

// stages is how far a step of a kind has come.
var stages = map[StepKind]int{
	StepChallenge: 0, StepMetadata: 1, StepRegistration: 2, StepAuthorize: 3, StepSignIn: 4, StepConsent: 5,
	StepToken: 6, StepRefresh: 6, StepFirstCall: 7, StepEnded: 8,
}

// attempt tells what the steps of one attempt, in their order, come to.
func attempt(steps []StoredStep, now time.Time) Attempt {
	first, last := steps[0], steps[len(steps)-1]
	a := Attempt{ID: first.ID, Started: first.At, Ended: last.At, Agent: agentOf(steps)}
	var broke *StoredStep
	connected, over := false, false
	for i := range steps {
		s := &steps[i]
		a.Steps = append(a.Steps, viewOf(*s))
		a.note(s)
		switch {
		case (s.Kind == StepEnded || s.Kind == StepRefresh) && peaceful[s.Code]:
			over, broke = true, nil
		case s.Kind == StepEnded:
			broke = s
		case s.Failed && over: // what was taken away is refused from then on
		case s.Failed && s.Kind == StepRefresh && passing[s.Code]: // kept, and tried again
			connected = true
		case s.Failed:
			broke = s
		default:
			connected = connected || s.Kind == StepToken || s.Kind == StepFirstCall
			if broke != nil && stages[s.Kind] >= stages[broke.Kind] {
				broke = nil
			}
		}
	}
	switch {
	case broke != nil:
		a.State = AttemptFailed
		view := viewOf(*broke)
		a.Broke = &view
	case over:
		a.State = AttemptEnded
	case connected:
		a.State = AttemptConnected
	case now.Sub(last.At) <= waitFor:
		a.State = AttemptWaiting
	default:
		a.State = AttemptAbandoned
		view := viewOf(furthest(steps))
		view.Why, view.Do = stopped[view.Kind].why, stopped[view.Kind].do
		a.Broke = &view
	}
	return a
}

// note takes over what a step says of the client: the latest word counts.
func (a *Attempt) note(s *StoredStep) {
	if s.Client != "" {
		a.Client = s.Client
	}
	if s.ClientName != "" {
		a.ClientName = s.ClientName
	}
	if s.ClientVersion != "" {
		a.ClientVersion = s.ClientVersion
	}
	if !s.Grant.IsZero() {
		a.Grant = s.Grant
	}
}

// furthest is the step that came furthest: clients read metadata again while a
// person signs in.
func furthest(steps []StoredStep) StoredStep {
	best := steps[0]
	for _, s := range steps {
		if stages[s.Kind] >= stages[best.Kind] {
			best = s
		}
	}
	return best
}

// byBrowser are the steps that a person's browser takes, not their client.
var byBrowser = map[StepKind]bool{StepAuthorize: true, StepSignIn: true, StepConsent: true}

func agentOf(steps []StoredStep) string {
	browser := ""
	for _, s := range steps {
		switch {
		case s.Agent == "":
		case !byBrowser[s.Kind]:
			return s.Agent
		case browser == "":
			browser = s.Agent
		}
	}
	return browser
}

func viewOf(s StoredStep) StepView {
	v := StepView{ID: s.ID, At: s.At, Kind: s.Kind, Failed: s.Failed, Code: s.Code, RequestID: s.RequestID}
	if s.Failed || s.Kind == StepEnded {
		v.Why, v.Do = Words(s.Kind, s.Code)
	}
	return v
}
