package mcp

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// toolError is what a model is told when its call did not work and it, or its
// user, may do something about it. Every text in it may be shown.
type toolError struct {
	kind   string // a fault kind's name, or one of the kinds below
	detail string // the outcome first, then the next step
	code   string // stable word of a refusal by policy; may be empty
	issues []fault.Issue

	current []byte // of a conflict: the row as it is now, JSON
}

// Kinds of tool errors that are no fault kind.
const (
	kindInvalidCursor   = "invalid_cursor"
	kindRowTooLarge     = "row_too_large"
	kindUnauthenticated = "unauthenticated" // the fault kind, for a token whose time is over
	kindRefused         = "refused"         // by a rule the app's author wrote
	kindOutOfDate       = "out_of_date"     // the surface no longer matches the project
	kindUpstream        = "upstream_error"
	kindTooManyRows     = "too_many_rows"   // a write matched more rows than it may touch
	kindOutcomeUnknown  = "outcome_unknown" // a write that may have been done all the same
)

func (e *toolError) Error() string { return "tool error " + e.kind }

// result renders the error as text of RFC 9457's kind. A result with IsError
// never carries structured content.
func (e *toolError) result(traceID string) *mcp.CallToolResult {
	b, err := json.Marshal(struct {
		Kind    string          `json:"kind"`
		Detail  string          `json:"detail"`
		Code    string          `json:"code,omitempty"`
		Issues  []fault.Issue   `json:"issues,omitempty"`
		Current json.RawMessage `json:"current,omitempty"`
		TraceID string          `json:"trace_id,omitempty"`
	}{e.kind, e.detail, e.code, e.issues, e.current, traceID})
	if err != nil { // strings always marshal
		b = []byte(`{"kind":"internal"}`)
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}}
}
