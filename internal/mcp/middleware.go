package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// listTTL is how long a client may keep a list, in milliseconds. Hiding acts
// at once all the same: visibility is decided again on every call.
const listTTL = 300_000

// setPrivate keeps every cacheable result with the one client that asked: the
// protocol's default is public, and lists depend on who asks.
// What a resource holds is stale at once, unless it never changes (see
// revision.read).
func setPrivate(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	c.CacheScope = "private"
	if _, reads := req.(*mcp.ReadResourceRequest); !reads {
		c.TTLMs = listTTL
	}
}

// guard is the outermost middleware. The SDK runs methods on goroutines of its
// own, where a panic would end the process; it sends a plain error's text to
// the client; and it cancels only requests of the newest version when their
// client has gone. All three end here.
func guard(log *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			c := callOf(ctx)
			if c == nil {
				return nil, wireError(fault.New(fault.Internal, "", "The call has no caller."), "")
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(c.http, cancel)() // the HTTP request may end before the method does
			defer func() {
				if p := recover(); p != nil {
					// The value of a panic may hold what a user typed.
					log.Error("panic in method", slog.String("request", c.requestID), slog.String("method", method),
						slog.String("panic", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
					res, err = nil, errors.New("panic in method")
				}
				if err != nil {
					res, err = nil, c.failed(log, err)
				}
			}()
			return next(ctx, method, req)
		}
	}
}

// failed turns an error of a method into the one the SDK sends.
func (c *call) failed(log *slog.Logger, err error) error {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		if c.outcome.errorKind == "" {
			c.outcome.errorKind = fault.Invalid.String()
		}
		return wire
	}
	e := fault.From(err)
	if e.Kind == fault.Internal && !errors.Is(err, context.Canceled) {
		log.Error("call failed", slog.String("request", c.requestID), slog.Any("error", err))
	}
	c.outcome.errorKind = e.Kind.String()
	return wireError(e, c.requestID)
}

// decides is policy's middleware: it decides what this caller sees and may
// call, again after the edge. The edge and the SDK read the same bytes, and a
// difference between the two must not open anything.
func decides(r *revision) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			c := callOf(ctx)
			ctx, res, err := r.stopped(ctx, c, method, req)
			if res != nil || err != nil {
				return res, err
			}
			if res, err = next(ctx, method, req); err != nil {
				return nil, err
			}
			if err := r.shownTo(ctx, c, res); err != nil {
				return nil, err
			}
			if err := keptPrivate(res); err != nil {
				return nil, err
			}
			return res, nil
		}
	}
}

// shownTo makes a result the caller's: a list of what they see, in declared
// order and in slices of this result's own.
func (r *revision) shownTo(ctx context.Context, c *call, res mcp.Result) error {
	switch res := res.(type) {
	case *mcp.ListToolsResult:
		list, err := visible(ctx, r, c, r.order)
		res.Tools = wires(list, func(t *tool) *mcp.Tool { return t.wire(c.protocol) })
		return err
	case *mcp.ListPromptsResult:
		list, err := visible(ctx, r, c, r.promptOrder)
		res.Prompts = wires(list, func(p *prompt) *mcp.Prompt { return p.wire })
		return err
	case *mcp.ListResourcesResult:
		list, err := visible(ctx, r, c, r.resourcesThat(func(one *resource) bool { return one.plain != nil }))
		res.Resources = wires(list, func(one *resource) *mcp.Resource { return one.plain })
		return err
	case *mcp.ListResourceTemplatesResult:
		list, err := visible(ctx, r, c, r.resourcesThat(func(one *resource) bool { return one.template != nil }))
		res.ResourceTemplates = wires(list, func(one *resource) *mcp.ResourceTemplate { return one.template })
		return err
	case *mcp.CallToolResult:
		c.outcome.toolError = res.IsError
		return lowerResult(res, c.protocol)
	}
	return nil
}

// stopped is the answer to a call that policy refuses: none lets it pass, with
// the context to go on with.
func (r *revision) stopped(ctx context.Context, c *call, method string, req mcp.Request) (context.Context, mcp.Result, error) {
	var k *capability
	name := ""
	switch params := req.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		if params != nil && r.tools[params.Name] != nil {
			k = &r.tools[params.Name].capability
		}
	case *mcp.GetPromptParams:
		if params != nil && r.prompts[params.Name] != nil {
			k = &r.prompts[params.Name].capability
		}
	case *mcp.ReadResourceParams:
		if params == nil {
			break
		}
		name = params.URI
		if t := r.resolve(params.URI); t != nil {
			k = &t.res.capability
			ctx = context.WithValue(ctx, targetKey{}, t)
		}
	case *mcp.CompleteParams:
		if !r.completes {
			return ctx, nil, nil // the SDK says that there is no such method
		}
		if params != nil {
			k, _, _ = r.referred(params.Ref, params.Argument.Name)
		}
	default:
		if !isUse(method) {
			return ctx, nil, nil
		}
	}
	j := judgement{}
	if k != nil {
		j = r.judge(ctx, c, k)
	}
	switch {
	case j.err != nil:
		return ctx, nil, j.err
	case j.verdict == allowed:
		return ctx, nil, nil
	case j.verdict == forbidden && method == methodCallTool:
		return ctx, c.refused(j.told), nil
	case j.verdict == forbidden && method != methodComplete:
		c.refused(j.told)
		c.outcome.toolError = false
		return ctx, nil, j.told.rpc(c.requestID)
	}
	c.outcome.refused = true
	return ctx, nil, unknownOf(method, name, c.protocol)
}

// dispatches hands every read of a resource that was found to the one handler
// there is, innermost: until here a request has the URI that was asked for.
func dispatches(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if params, ok := req.GetParams().(*mcp.ReadResourceParams); ok && params != nil && ctx.Value(targetKey{}) != nil {
			params.URI = anyResource
		}
		return next(ctx, method, req)
	}
}

// refused is the result that tells the model why policy refuses its call.
func (c *call) refused(told *toolError) *mcp.CallToolResult {
	c.outcome.refused, c.outcome.toolError, c.outcome.errorKind = true, true, told.kind
	return told.result(c.requestID)
}

// keptPrivate fails a cacheable result that another caller might be served.
func keptPrivate(res mcp.Result) error {
	cacheable, ok := res.(mcp.CacheableResult)
	if !ok || cacheable.GetCacheScope() == "private" {
		return nil
	}
	return fmt.Errorf("cacheable %T is not private", res)
}

// lowerResult drops structured content that versions before 2026-07-28 cannot
// carry: there it is an object. Content that is not JSON fails here: the SDK
// could not write it and would never answer.
func lowerResult(res *mcp.CallToolResult, version string) error {
	raw, ok := res.StructuredContent.(json.RawMessage)
	if !ok {
		return nil
	}
	if !json.Valid(raw) {
		return errors.New("structured content is not JSON")
	}
	if version < version20260728 && raw[0] != '{' {
		res.StructuredContent = nil
	}
	return nil
}
