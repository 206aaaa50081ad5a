package mcp

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestAPersonSaysNoToAQuestion: whichever way, nothing runs.
func TestAPersonSaysNoToAQuestion(t *testing.T) {
	t.Parallel()
	for _, action := range []string{actionDecline, actionCancel} {
		b := setupAsking(t, nil)
		state := b.asks("alice", "close", `{"id":7}`, formClient, "").input(t, "why")
		if got := b.asks("alice", "close", `{"id":7}`, formClient, `"inputResponses":{"why":{"action":"`+action+`"}},`+state); got.kind() != kindDeclined {
			t.Errorf("%s: %s", action, got.body)
		}
		b.nothingRan(t, action)
	}
}

// TestAConfirmedFunctionThatAsksIsConfirmedOnce: its own questions come after,
// and their rounds do not ask for the same word again.
func TestAConfirmedFunctionThatAsksIsConfirmedOnce(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, func(_ *tenants.Endpoint, c *surfaces.Compiled) { c.Tools[2].Confirm = "Begin?" })
	b.asksFor(func(r round) (mcp.InputRequestMap, string) {
		if r.answers != nil {
			return nil, ""
		}
		return requestsOf(t, `{`+asksName+`}`), "kept"
	})
	const named = `"inputResponses":{"name":{"action":"accept","content":{"name":"Alice"}},"confirm":{"action":"accept","content":{"confirm":true}}},`
	state := b.asks("alice", "interview", `{}`, formClient, strings.TrimSuffix(named, ",")).input(t, "confirm")
	b.nothingRan(t, "unconfirmed, with every answer that could be asked for")
	state = b.asks("alice", "interview", `{}`, formClient, agreed+","+state).input(t, "name")
	if got := b.asks("alice", "interview", `{}`, formClient, named+state); !got.done() || len(b.calls()) != 2 {
		t.Errorf("%s, ran %v", got.body, b.calls())
	}
}

// TestWhatDoesNotAnswerIsAskedForAgain, of every kind that a function may ask.
func TestWhatDoesNotAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	const asksURL = `"go":{"method":"elicitation/create","params":{"message":"Pay there.","url":"https://pay.example.test/x","elicitationId":"1"}}`
	for key, k := range map[string]struct {
		asks   string
		wrong  []string
		answer string
	}{
		"name":  {asksName, []string{`{}`, `{"action":"accept"}`, `{"action":"accept","content":{}}`}, `{"action":"accept","content":{"name":"Alice"}}`},
		"go":    {asksURL, []string{`{}`, `{"action":"later"}`}, `{"action":"accept"}`},
		"roots": {asksRoots, []string{`{}`, `{"roots":{}}`}, `{"roots":[]}`},
		"model": {asksModel, []string{`{}`, `{"role":"assistant","content":"Hello"}`}, `{"role":"assistant","content":{"type":"text","text":"Hello"},"model":"m"}`},
	} {
		b := setupAsking(t, nil)
		b.asksFor(func(r round) (mcp.InputRequestMap, string) {
			if r.answers != nil {
				return nil, ""
			}
			return requestsOf(t, `{`+k.asks+`}`), "kept"
		})
		state := b.asks("alice", "interview", `{}`, anyClient, "").input(t, key)
		for _, wrong := range k.wrong {
			state = b.asks("alice", "interview", `{}`, anyClient, `"inputResponses":{"`+key+`":`+wrong+`},`+state).input(t, key)
		}
		// A client that no longer says it can is not asked again.
		gone := b.asks("alice", "interview", `{}`, `{}`, state)
		if gone.Error == nil || gone.Error.Code != mcp.CodeMissingRequiredClientCapabilities || len(b.calls()) != 1 {
			t.Errorf("%s, asked of a client that cannot: %s, ran %v", key, gone.body, b.calls())
		}
		state = b.asks("alice", "interview", `{}`, anyClient, "").input(t, key)
		if got := b.asks("alice", "interview", `{}`, anyClient, `"inputResponses":{"`+key+`":`+k.answer+`},`+state); !got.done() {
			t.Errorf("%s: %s", key, got.body)
		}
	}
}

// TestACallThatNoPageShowsIsRefusedInWords: too long to be shown, or one of too
// many that wait.
func TestACallThatNoPageShowsIsRefusedInWords(t *testing.T) {
	t.Parallel()
	for kind, away := range map[string]error{
		"too_large":    fault.New(fault.TooLarge, "arguments_too_large", "Nothing was done: too long."),
		"rate_limited": fault.New(fault.RateLimited, "too_many_approvals", "Nothing was done: too many."),
	} {
		b := setupAsking(t, nil)
		bridged(b, true)
		b.handler.revisions.asking.once = refusingApprovals{b.once, away}
		got := b.read(legacy(version20251125, "tools/call", `{"name":"archive","arguments":{"id":42}}`).as("alice"))
		if got.kind() != kind || !strings.Contains(got.body, "Nothing was done") {
			t.Errorf("%s: %s", kind, got.body)
		}
		b.nothingRan(t, kind)
	}
}

// refusingApprovals makes no page.
type refusingApprovals struct {
	*memoryApprovals
	why error
}

func (r refusingApprovals) Ask(context.Context, approvals.Call) (approvals.Answer, error) {
	return approvals.Answer{}, r.why
}
