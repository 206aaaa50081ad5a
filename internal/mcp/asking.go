package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// A call that needs a person's word is answered with what to ask, and repeated
// by the client with the answers (MCP 2026-07-28, multi round-trip requests).
// Nothing of it is kept here in between: the state travels with the client,
// sealed, and counts once.
//
//	asking.go            what clients say and bring, what the parts stand on
//	asking_read.go       reading it from a message
//	asking_state.go      the sealed state and what it is bound to
//	asking_canonical.go  when arguments are the same
//	asking_answers.go    reading and checking answers
//	asking_text.go       what people read
//	asking_tool.go       the way of a tool: questions, confirm, run
//	asking_page.go       approval on a page, for clients that cannot ask
//	asking_function.go   what Edge Functions may ask, and of which client
//	asking_other.go      prompts and resources

// Bounds of asking.
const (
	stateLife      = 10 * time.Minute // of one round
	maxState       = 64 << 10         // of a sealed state, in bytes as it travels
	maxKept        = 8 << 10          // of a function's own state
	maxTries       = 5                // of one question, before it is given up
	maxRounds      = 10               // of one function's questions
	maxResponses   = 32               // answers of one round
	maxResponseKey = 128
	maxResponse    = 512 << 10 // bytes of all answers of one round
	maxRawClient   = 16 << 10  // bytes of what a client declares, for functions
)

// Kinds of tool errors of calls that need a person.
const (
	kindDeclined    = "declined"     // a person said no
	kindNeedsPerson = "needs_person" // and this client cannot ask one
)

// Approvals keeps what may be used once. *approvals.Service is one.
type Approvals interface {
	// Use takes the state of that name, good until the time given, and reports
	// whether nobody took it before. Errors: fault.Unavailable.
	Use(ctx context.Context, org id.Organization, name []byte, until time.Time) (bool, error)
	// Ask takes the answer that a person gave to the call on our page, once, or
	// makes the page. Errors: fault.RateLimited, fault.TooLarge,
	// fault.Unavailable.
	Ask(ctx context.Context, c approvals.Call) (approvals.Answer, error)
}

var _ Approvals = (*approvals.Service)(nil)

// asking is what every question stands on: the same for all revisions.
type asking struct {
	states *seal.Sealer
	once   Approvals // nil: whatever asks is refused
	now    func() time.Time
}

func newAsking(cfg Config) *asking {
	a := &asking{once: cfg.Approvals, now: cfg.Now}
	if cfg.Keys != nil {
		a.states = cfg.Keys.Sealer(seal.RequestState)
	}
	return a
}

// clientCapabilities is what a client said it can be asked (MCP 2026-07-28,
// _meta clientCapabilities).
type clientCapabilities struct {
	form     bool // elicitation of a form
	url      bool // elicitation by a URL
	sampling bool
	roots    bool

	raw json.RawMessage // as sent, for functions that ask; nil where none were
}

// brought is what a message brings back from the round before, unread.
type brought struct {
	state   string
	stated  bool   // there is a state
	answers []byte // an object of objects by key; nil for none
}

// round is what a client brings back from the questions of the round before, as
// it stood in the sealed state and passed every check. The zero round is the
// first.
type round struct {
	answers json.RawMessage // to what an Edge Function asked: an object by key; nil where it asked nothing
	kept    string          // the function's own requestState
}
