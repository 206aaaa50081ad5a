package bridge

import (
	"context"
	"time"
)

// Question is what a person is asked before a client gets access.
type Question struct {
	Surface    string   // title
	ClientName string   // as the client says: unverified
	ClientHost string   // of its metadata document; empty for a registered client
	Redirect   string   // where the answer goes, in full
	Email      string   // as whom the person is signed in; may be empty
	Scopes     []string // asked for
	Reads      []QuestionTool
	Writes     []QuestionTool
	Lifetimes  []time.Duration // to choose from; the default first
	Skip       bool            // already allowed, exactly this: no need to ask
}

// QuestionTool is one thing the client may do.
type QuestionTool struct {
	Title       string
	Description string
	Destructive bool
}

// Answer is what the person chose.
type Answer struct {
	Allow    bool
	ReadOnly bool
	Lifetime time.Duration // one of the question's
}

// Question is what to ask, once the person of the sign-in is known.
func (s *Service) Question(ctx context.Context, in *SignIn) (*Question, error) { panic("not built") }

// Decide carries the answer out once, and returns where to send the browser:
// to the client with a code or access_denied, state and iss. A second answer
// is start_again.
func (s *Service) Decide(ctx context.Context, in *SignIn, a Answer, v Visitor) (string, error) {
	panic("not built")
}
