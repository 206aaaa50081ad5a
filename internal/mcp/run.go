package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// projects is the part of supabase.Client the runner uses.
type projects interface {
	Select(ctx context.Context, s supabase.Session, q supabase.Select) (supabase.Answer, error)
	Call(ctx context.Context, s supabase.Session, q supabase.Call) (supabase.Answer, error)
	Insert(ctx context.Context, s supabase.Session, q supabase.Insert) (supabase.Answer, error)
	Update(ctx context.Context, s supabase.Session, q supabase.Change) (supabase.Answer, error)
	Delete(ctx context.Context, s supabase.Session, q supabase.Change) (supabase.Answer, error)
}

// toolRunner runs declared tools: one plan, one request to the project (two
// when a cursor holds only a key, and up to two reads more to say why a write
// found nothing to do), one rendered result. It keeps nothing of a caller
// between calls. Safe for concurrent use.
type toolRunner struct {
	projects projects
	services services
	cursors  *seal.Sealer
	creates  Creates          // nil: tools with a dedupe column refuse
	now      func() time.Time // tells whether a refused token's time is over
	second   time.Duration    // of the time limits of functions; zero: a second
}

var _ runner = (*toolRunner)(nil)

// newRunner returns a runner over the client. Cursors are sealed by keys.
func newRunner(client *supabase.Client, keys *seal.Keyset) *toolRunner {
	return &toolRunner{projects: client, services: client, cursors: keys.Sealer(seal.Cursor), now: time.Now}
}

// withClock is the runner on another clock.
func (r *toolRunner) withClock(now func() time.Time) *toolRunner {
	other := *r
	other.now = now
	return &other
}

// withCreates is the runner with something that remembers creates; nil for
// nothing.
func (r *toolRunner) withCreates(creates Creates) *toolRunner {
	other := *r
	other.creates = creates
	return &other
}

// run implements runner.
func (r *toolRunner) run(ctx context.Context, c *call, tool *surfaces.Tool, arguments []byte) (*mcp.CallToolResult, error) {
	t := &toolCall{asker: asker{runner: r, call: c}, tool: tool}
	done, err := t.result(ctx, arguments)
	if err == nil {
		c.outcome.resultBytes, c.outcome.errorKind = done.size, done.kind
		return done.result, nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, err
	}
	told := r.explain(c, t, err)
	if told == nil {
		return nil, err
	}
	c.outcome.toolError, c.outcome.errorKind = true, told.kind
	res := told.result(c.requestID)
	c.outcome.resultBytes = len(res.Content[0].(*mcp.TextContent).Text)
	return res, nil
}

// toolCall is one run of one tool.
type toolCall struct {
	asker
	tool      *surfaces.Tool
	arguments arguments
	patched   arguments // those inside the patch of an update
	filled    []string  // values that the tool filled in itself (see set)
}

// ask implements runner.
func (r *toolRunner) ask(ctx context.Context, c *call, fn *surfaces.Function, argument []byte) ([]byte, error) {
	body := []byte("{}")
	if fn.Argument != "" {
		body = append(append(appendString([]byte{'{'}, fn.Argument), ':'), argument...)
		body = append(body, '}')
	}
	t := &asker{runner: r, call: c}
	a, err := t.ask(ctx, func(s supabase.Session) (supabase.Answer, error) {
		return r.projects.Call(ctx, s, supabase.Call{Profile: fn.Profile, Function: fn.Name, Arguments: body})
	})
	if err == nil {
		return a.Body, nil
	}
	var answer *supabase.Error
	if errors.As(err, &answer) && answer.TokenRefused() {
		_ = r.explainToken(c) // a token whose time is over ends in a challenge
	}
	return nil, err
}

// ready is a result and what is recorded of it.
type ready struct {
	result *mcp.CallToolResult
	size   int    // bytes, about
	kind   string // of the error that it is; empty for none
}

// ready is the page as the tool's result.
func (t *toolCall) ready(p *page) *ready {
	return &ready{result: p.result(t.tool.Result), size: p.size()}
}

// result runs the tool's plan.
func (t *toolCall) result(ctx context.Context, raw []byte) (*ready, error) {
	args, err := readArguments(raw)
	if err != nil {
		return nil, err
	}
	t.arguments = args
	switch {
	case t.tool.Function != nil:
		return t.function(ctx, t.tool.Function, raw)
	case t.tool.ReadFile != nil:
		return t.file(ctx, t.tool.ReadFile)
	case t.tool.Upload != nil:
		return t.upload(ctx, t.tool.Upload)
	}
	p, err := t.page(ctx)
	if err != nil {
		return nil, err
	}
	return t.ready(p), nil
}

// page runs a plan whose answer is rows.
func (t *toolCall) page(ctx context.Context) (*page, error) {
	switch {
	case t.tool.Files != nil:
		return t.files(ctx, t.tool.Files)
	case t.tool.List != nil:
		return t.list(ctx, t.tool.List)
	case t.tool.Get != nil:
		return t.get(ctx, t.tool.Get)
	case t.tool.Create != nil:
		return t.create(ctx, t.tool.Create)
	case t.tool.Update != nil:
		return t.update(ctx, t.tool.Update)
	case t.tool.Delete != nil:
		return t.remove(ctx, t.tool.Delete)
	case t.tool.RPC != nil:
		return t.rpc(ctx, t.tool.RPC)
	}
	return nil, errors.New("tool has no plan")
}

func (t *toolCall) query(ctx context.Context, q supabase.Select) ([]byte, error) {
	a, err := t.ask(ctx, func(s supabase.Session) (supabase.Answer, error) { return t.runner.projects.Select(ctx, s, q) })
	if err != nil {
		return nil, err
	}
	if a.Body == nil {
		return nil, errShape
	}
	return a.Body, nil
}

// arguments are the caller's, as tokens in the order given.
type arguments []argument

type argument struct {
	name  string
	value token
}

// readArguments reads the arguments object. They have passed the tool's input
// schema; a name given twice is refused, since the schema's reader and this
// one could each have looked at another.
func readArguments(raw []byte) (arguments, error) {
	if len(raw) == 0 || isNull(raw) {
		return nil, nil
	}
	clean, err := cleanJSON(raw)
	if err != nil || clean[0] != '{' {
		return nil, invalid("", "arguments must be a JSON object")
	}
	var args arguments
	for _, m := range members(clean, 0) {
		if args.get(m.key) != nil {
			return nil, invalid(m.key, "is given twice; give it once")
		}
		args = append(args, argument{name: m.key, value: clean[m.start:m.end]})
	}
	return args, nil
}

// get is the argument's value, or nil.
func (a arguments) get(name string) token {
	for _, arg := range a {
		if arg.name == name {
			return arg.value
		}
	}
	return nil
}

// invalid is the error of an argument the model can mend.
func invalid(name, message string) *toolError {
	if name == "" {
		return invalidAt(message)
	}
	return invalidAt(message, name)
}

// invalidAt is invalid for a place inside the arguments.
func invalidAt(message string, path ...string) *toolError {
	issue := fault.Issue{Path: pointer(path), Message: message}
	return &toolError{kind: fault.Invalid.String(), detail: "An argument is not accepted. Change it and call again.", issues: []fault.Issue{issue}}
}
