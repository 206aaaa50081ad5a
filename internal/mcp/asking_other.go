package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// asks is the middleware of what prompts and resources ask, inside of policy's:
// whoever may not know of them is asked nothing. Tools have a way of their own,
// since their arguments are checked first.
func asks(r *revision) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			c := callOf(ctx)
			name, arguments, known := whatAsks(req)
			if !known {
				return next(ctx, method, req)
			}
			b, err := c.bind(method, name, arguments)
			if err != nil {
				return nil, err
			}
			s, err := r.asking.open(ctx, c, b)
			if err != nil {
				return nil, err
			}
			if s.Stage == stageFunction {
				again, err := r.asking.answered(c, b, s)
				if err != nil {
					return nil, err
				}
				if again != nil {
					return again.result(method), nil
				}
			}
			res, err := next(ctx, method, req)
			if err != nil {
				return nil, err
			}
			return r.asking.other(c, b, s, method, res)
		}
	}
}

// whatAsks names a call of a prompt or a resource.
func whatAsks(req mcp.Request) (name string, arguments []byte, known bool) {
	switch p := req.GetParams().(type) {
	case *mcp.GetPromptParams:
		if p == nil {
			return "", nil, false
		}
		arguments, err := json.Marshal(p.Arguments) // texts by name
		return p.Name, arguments, err == nil
	case *mcp.ReadResourceParams:
		if p == nil {
			return "", nil, false
		}
		return p.URI, nil, true
	}
	return "", nil, false
}

// other passes a result, with the function's questions made ours.
func (a *asking) other(c *call, b binding, s keptState, method string, res mcp.Result) (mcp.Result, error) {
	requests, state := mcp.InputRequestMap(nil), ""
	switch res := res.(type) {
	case *mcp.GetPromptResult:
		requests, state, res.RequestState = res.InputRequests, res.RequestState, ""
	case *mcp.ReadResourceResult:
		requests, state, res.RequestState = res.InputRequests, res.RequestState, ""
	}
	if requests == nil {
		return res, nil
	}
	if a.once == nil || a.states == nil {
		return nil, fault.New(fault.Unavailable, "no_asking", "This server keeps no questions.")
	}
	asked, told, err := a.functionAsks(c, b, s, requests, state)
	switch {
	case err != nil:
		return nil, err
	case told != nil:
		c.outcome.errorKind = told.kind
		return nil, told.refusal(c.requestID)
	}
	return asked.result(method), nil
}

// result is the answer that asks.
func (q *asked) result(method string) mcp.Result {
	if method == methodGetPrompt {
		return &mcp.GetPromptResult{InputRequests: q.requests, RequestState: q.state}
	}
	return &mcp.ReadResourceResult{InputRequests: q.requests, RequestState: q.state}
}

// refusal is what is told of a tool, as the error of a method that has no place
// for it in its result.
func (e *toolError) refusal(traceID string) error {
	data, err := json.Marshal(fault.RPCData{Kind: e.kind, Code: e.code, Issues: e.issues, TraceID: traceID})
	if err != nil { // strings always marshal
		data = nil
	}
	return &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: e.detail, Data: data}
}
