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
					return again.result(method)
				}
			}
			res, err := next(ctx, method, req)
			if err != nil {
				return nil, err
			}
			if requests, kept := askedBy(res); c.foretold(s, requests, kept) {
				if res, err = next(ctx, method, req); err != nil {
					return nil, err
				}
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

// answerable refuses what a function asks of a client from before 2026-07-28,
// inside of the SDK's own middleware: that would ask the client during the
// request, which no server without sessions can.
func (c *call) answerable(requests mcp.InputRequestMap) error {
	if requests == nil || c.protocol >= version20260728 {
		return nil
	}
	c.outcome.errorKind = errStopsHalf.kind
	return errStopsHalf.refusal(c.requestID)
}

// askedBy are what the result of a prompt or a resource asks, and what its
// function wants back with the answers.
func askedBy(res mcp.Result) (requests mcp.InputRequestMap, kept string) {
	switch res := res.(type) {
	case *mcp.GetPromptResult:
		return res.InputRequests, res.RequestState
	case *mcp.ReadResourceResult:
		return res.InputRequests, res.RequestState
	}
	return nil, ""
}

// other passes a result, with the function's questions made ours.
func (a *asking) other(c *call, b binding, s keptState, method string, res mcp.Result) (mcp.Result, error) {
	requests, kept := askedBy(res)
	if requests == nil {
		(&asked{}).into(res)
		return res, nil
	}
	if a.once == nil || a.states == nil {
		return nil, fault.New(fault.Unavailable, "no_asking", "This server keeps no questions.")
	}
	asked, told, err := a.functionAsks(c, b, s, requests, kept)
	switch {
	case err != nil:
		return nil, err
	case told != nil:
		c.outcome.errorKind = told.kind
		return nil, told.refusal(c.requestID)
	}
	asked.into(res)
	return res, nil
}

// into makes a result of the SDK's one that asks, or one that does not. The SDK
// marked it as such when it passed; a result made anew would lack the mark.
func (q *asked) into(res mcp.Result) {
	switch res := res.(type) {
	case *mcp.GetPromptResult:
		res.InputRequests, res.RequestState = q.requests, q.state
	case *mcp.ReadResourceResult:
		res.InputRequests, res.RequestState = q.requests, q.state
	}
}

// result is the answer that asks, before any method ran. Only what is read from
// JSON bears the SDK's mark.
func (q *asked) result(method string) (mcp.Result, error) {
	var prompt mcp.GetPromptResult
	var read mcp.ReadResourceResult
	res, empty := mcp.Result(&read), `{"resultType":"input_required","contents":[],"ttlMs":0,"cacheScope":"private"}`
	if method == methodGetPrompt {
		res, empty = &prompt, `{"resultType":"input_required","messages":[]}`
	}
	if err := json.Unmarshal([]byte(empty), res); err != nil {
		return nil, err
	}
	q.into(res)
	return res, nil
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
