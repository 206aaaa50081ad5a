// Package events owns what is recorded of use: one Invocation per capability
// call, batched to Postgres, and how long they are kept.
//
// It never records arguments, rows, tokens or anything a user typed.
package events

import (
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
)

// Outcome says how a call ended.
type Outcome string

// The outcomes of a call.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeToolError Outcome = "tool_error" // the tool answered isError
	OutcomeRefused   Outcome = "refused"    // by access or policy, before the project
	OutcomeError     Outcome = "error"      // a JSON-RPC or HTTP error
)

// Invocation is one capability call as recorded for usage and audit.
type Invocation struct {
	Organization id.Organization
	Surface      id.Surface
	Revision     int
	At           time.Time
	Method       string // JSON-RPC method
	Capability   string // tool name; empty for lists
	Mode         string
	Client       string // OAuth client id
	Protocol     string // MCP version
	Outcome      Outcome
	ErrorKind    string // fault kind or SQLSTATE class; empty for ok
	Duration     time.Duration
	Project      time.Duration // time spent waiting for the project
	ResultBytes  int
	RequestID    string // Chumbo-Request-Id
	Upstream     string // sb-request-id
	Actor        string // who acted for the subject (RFC 8693 act); empty without one
}
