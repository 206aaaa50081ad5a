package mcp

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// What a state waits for.
const (
	stageQuestions = "questions"
	stageConfirm   = "confirm"
	stageFunction  = "function"
)

// keptState is what a call has come to, as it is sealed. What it belongs to is
// no part of it: it cannot be opened for anything else.
type keptState struct {
	Name    []byte `json:"i"` // random: what is used once
	Expires int64  `json:"e"` // Unix seconds
	Stage   string `json:"s"`
	Tries   int    `json:"t,omitempty"` // how often what is asked now was asked
	Rounds  int    `json:"n,omitempty"` // how often the function asked

	Filled  map[string]json.RawMessage `json:"a,omitempty"` // answers to questions, by key
	Asked   json.RawMessage            `json:"k,omitempty"` // what the function asks: its inputRequests
	Answers map[string]json.RawMessage `json:"r,omitempty"` // results for it so far, by key
	Kept    string                     `json:"f,omitempty"` // the function's own state
}

// binding is the one call that a state belongs to: the same capability,
// arguments, caller and revision.
type binding struct{ ad []byte }

// bind binds to a call. name is a tool's, a prompt's or the URI of a resource;
// arguments are as the client gave them.
func (c *call) bind(method, name string, arguments []byte) (binding, error) {
	same, err := sameArguments(arguments)
	if err != nil {
		return binding{}, fmt.Errorf("read arguments: %w", err)
	}
	key := c.caller.Key
	return binding{seal.AD("request state 1", c.endpoint.Surface.String(), method, name, string(same),
		key.Surface.String(), string(key.Mode), key.Issuer, key.Subject, key.Client,
		strconv.Itoa(c.endpoint.Revision), c.endpoint.Digest)}, nil
}

// errState is all that is told of a state that does not count: which part of it
// is wrong is nobody's business.
var errState = &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: "Nothing was called: this requestState does not belong to this call, was used before, or is too old. Call again without requestState and inputResponses; the questions are asked anew."}

// seal makes the state that the client carries. Errors: errTooMuch.
func (a *asking) seal(b binding, s keptState) (string, error) {
	s.Name, s.Expires = make([]byte, 16), a.now().Add(stateLife).Unix()
	_, _ = rand.Read(s.Name) // never fails (crypto/rand)
	plain, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("write state: %w", err)
	}
	const sealedOverhead = 32
	if base64.RawURLEncoding.EncodedLen(len(plain)+sealedOverhead) > maxState {
		return "", errTooMuch
	}
	return base64.RawURLEncoding.EncodeToString(a.states.Seal(plain, b.ad)), nil
}

// errTooMuch is for what was answered and does not fit a state.
var errTooMuch = fault.New(fault.TooLarge, "answers_too_long", "The call is not finished: the answers are too long. Call again without requestState, and answer in fewer words.")

// open reads the state that a call brings, and takes it: it never opens again.
// The zero state is of a call that brings none.
func (a *asking) open(ctx context.Context, c *call, b binding) (keptState, error) {
	var s keptState
	if !c.brought.stated {
		return s, nil
	}
	if a.states == nil || a.once == nil || len(c.brought.state) > maxState {
		return s, errState
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(c.brought.state)
	if err != nil {
		return s, errState
	}
	plain, err := a.states.Open(sealed, b.ad)
	if err != nil || json.Unmarshal(plain, &s) != nil || len(s.Name) == 0 {
		return keptState{}, errState
	}
	until := time.Unix(s.Expires, 0)
	if !a.now().Before(until) {
		return keptState{}, errState
	}
	first, err := a.once.Use(ctx, c.endpoint.Organization, s.Name, until)
	switch {
	case err != nil:
		return keptState{}, err
	case !first:
		return keptState{}, errState
	}
	return s, nil
}
