package mcp

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// call is the state of one HTTP request, made by the edge and read by the
// middleware and the runner through its context. It belongs to one request
// only and is never kept.
type call struct {
	endpoint  *tenants.Endpoint
	caller    *oauth.Caller
	http      context.Context // of the HTTP request: ends when the client is gone
	requestID string
	protocol  string       // MCP version of the request
	trace     traceContext // of the client, for what is called on its behalf
	facts     *facts       // what policy knows of the caller, shared by the calls of a request

	// Of this message, set before the runner runs.
	client  clientCapabilities // what the client said it can be asked; nothing before 2026-07-28
	brought brought            // what the client brought back from questions, unread
	round   round              // of that, what the function asked for
	notices notices            // where progress and log messages go; nil: nowhere

	// Written by the runner, read by the edge after the SDK has answered.
	unauthorized bool // the project refused the token: the answer becomes a challenge
	projectTime  time.Duration
	upstream     string // sb-request-id of the last project answer
	outcome      outcome
}

// outcome is what the invocation record says of the call.
type outcome struct {
	refused     bool // by access or policy, before the project
	toolError   bool
	errorKind   string
	resultBytes int
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callOf returns the request's call, or nil outside of one.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// runner runs one declared tool for the caller of ctx. Arguments are already
// valid under the tool's input schema and hold exactly the caller's JSON; what
// the tool fills in itself has been made readable in the call's facts. A
// returned error is a *fault.Error or becomes internal; what the model can fix
// is a result with IsError.
type runner interface {
	run(ctx context.Context, c *call, tool *surfaces.Tool, arguments []byte) (*mcp.CallToolResult, error)

	// read reads a resource, whose variables are the arguments (JSON, typed). The
	// URI is that asked for. What may be told of an error is a *toolError;
	// fault.NotFound's stands for every reason why there is nothing.
	read(ctx context.Context, c *call, resource *surfaces.Resource, uri string, arguments []byte) (*mcp.ReadResourceResult, error)

	// prompt asks the function of a prompt for its messages. What may be told of
	// an error is a *toolError.
	prompt(ctx context.Context, c *call, prompt *surfaces.Prompt, arguments []byte) (*mcp.GetPromptResult, error)

	// suggest reads values of a column that begin with what was typed, in any
	// case: distinct, in order, a little more than maxSuggestions at most, and
	// whether these are all.
	suggest(ctx context.Context, c *call, from *surfaces.ValueColumn, typed string) (values []string, all bool, err error)

	// ask calls one of the app's functions as the caller, with the argument if
	// the function takes one (JSON), and returns its answer; nil where it
	// returns nothing. When the project refused the token because its time is
	// over, or the session has ended, the call is marked unauthorized.
	ask(ctx context.Context, c *call, fn *surfaces.Function, argument []byte) ([]byte, error)
}
