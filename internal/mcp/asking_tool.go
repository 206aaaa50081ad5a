package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// questions are what a tool asks a person before it runs, ready to ask.
type questions struct {
	list    []askedQuestion
	confirm template // nil: nothing to confirm
}

// askedQuestion is one of them.
type askedQuestion struct {
	spec    *surfaces.Question
	message template
	schema  *jsonschema.Schema
}

// questionsOf makes a tool's questions ready.
func questionsOf(spec *surfaces.Tool) (*questions, error) {
	if len(spec.Questions) == 0 && spec.Confirm == "" {
		return nil, nil
	}
	q := &questions{}
	seen := map[string]bool{}
	for i := range spec.Questions {
		one := askedQuestion{spec: &spec.Questions[i]}
		if one.spec.Key == "" || seen[one.spec.Key] || len(one.spec.Arguments) == 0 || !json.Valid(one.spec.Form) {
			return nil, errors.New("a question without a key, arguments or a form")
		}
		seen[one.spec.Key] = true
		var err error
		if one.message, err = askedTemplate(one.spec.Message); err != nil {
			return nil, fmt.Errorf("read question: %w", err)
		}
		if one.schema, err = compileSchema(one.spec.Schema); err != nil {
			return nil, fmt.Errorf("question: %w", err)
		}
		q.list = append(q.list, one)
	}
	if spec.Confirm != "" {
		var err error
		if q.confirm, err = askedTemplate(spec.Confirm); err != nil {
			return nil, fmt.Errorf("read confirm: %w", err)
		}
	}
	return q, nil
}

// bytes estimates the memory that questions hold.
func (q *questions) bytes() int {
	if q == nil {
		return 0
	}
	n := 0
	for _, one := range q.list {
		n += perSchemaBytes*len(one.spec.Schema) + 2*len(one.spec.Form) + 1024
	}
	return n
}

// askedCall is a call of a tool on its way through what it asks.
type askedCall struct {
	r       *revision
	c       *call
	t       *tool
	binding binding
	state   keptState
}

// withAsking runs a tool whose arguments are valid and permitted, once every
// question of it has its answer. given are the arguments as the model wrote
// them: what a state belongs to.
func (r *revision) withAsking(ctx context.Context, c *call, t *tool, given, arguments []byte) (*mcp.CallToolResult, error) {
	a := &askedCall{r: r, c: c, t: t}
	asks := t.questions != nil || t.spec.Function != nil && t.spec.Function.Asks
	if !asks && !c.brought.stated {
		return a.run(ctx, arguments)
	}
	if asks && (r.asking == nil || r.asking.once == nil || r.asking.states == nil) {
		return nil, fault.New(fault.Unavailable, "no_asking", "Nothing was called: this server keeps no questions.")
	}
	var err error
	if a.binding, err = c.bind(methodCallTool, t.spec.Name, given); err != nil {
		return nil, err
	}
	if a.state, err = r.asking.open(ctx, c, a.binding); err != nil {
		return nil, err
	}
	return a.next(ctx, arguments)
}

// next keeps the order of the questions, and ends in the run or in the next
// thing to ask.
func (a *askedCall) next(ctx context.Context, arguments []byte) (*mcp.CallToolResult, error) {
	if q := a.t.questions; q != nil {
		if len(q.list) > 0 {
			if res, err := a.ask(q.list, arguments); res != nil || err != nil {
				return res, err
			}
			filled, res, err := a.fill(ctx, q.list, arguments)
			if res != nil || err != nil {
				return res, err
			}
			arguments = filled
		}
		if q.confirm != nil {
			if res, err := a.agreed(ctx, q.confirm, arguments); res != nil || err != nil {
				return res, err
			}
		}
	}
	if a.state.Stage == stageFunction {
		again, err := a.r.asking.answered(a.c, a.binding, a.state)
		if err != nil {
			return nil, err
		}
		if again != nil {
			return &mcp.CallToolResult{InputRequests: again.requests, RequestState: again.state}, nil
		}
	}
	return a.run(ctx, arguments)
}

// ask asks the questions that have no answer yet: nil, nil when all have one.
func (a *askedCall) ask(list []askedQuestion, arguments []byte) (*mcp.CallToolResult, error) {
	asking := a.state.Stage == stageQuestions
	requests := mcp.InputRequestMap{}
	filled := map[string]json.RawMessage{}
	for key, content := range a.state.Filled {
		filled[key] = content
	}
	for _, one := range list {
		key := one.spec.Key
		if filled[key] != nil {
			continue
		}
		why := ""
		if asking {
			reply := a.c.brought.replyTo(key)
			if reply.refused() {
				return a.declined(), nil
			}
			content, misfit := reply.form(one.schema, one.spec.Arguments)
			if misfit == "" {
				filled[key] = content
				continue
			}
			why = misfit
		}
		requests[key] = elicit(wrong(questionText(a.c, one.message.asked(arguments)), why), one.spec.Form)
	}
	a.state.Filled = filled
	if len(requests) == 0 {
		return nil, nil
	}
	return a.input(stageQuestions, asking, requests)
}

// input asks, where this client can be asked.
func (a *askedCall) input(stage string, again bool, requests mcp.InputRequestMap) (*mcp.CallToolResult, error) {
	if !a.c.client.form {
		return a.c.cannotAsk()
	}
	next := keptState{Stage: stage, Tries: 1, Filled: a.state.Filled}
	if again {
		next.Tries = a.state.Tries + 1
	}
	if next.Tries > maxTries {
		return a.told(&toolError{kind: fault.Invalid.String(), detail: "Nothing was called: the question was answered " + strconv.Itoa(maxTries) + " times with something that does not fit. Ask the user what they want, and call again."}), nil
	}
	state, err := a.r.asking.seal(a.binding, next)
	if fault.Is(err, fault.TooLarge) {
		return a.told(&toolError{kind: fault.TooLarge.String(), detail: fault.From(err).Message}), nil
	}
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil
}

// fill puts the answers among the arguments, and asks policy again: it has not
// seen them.
func (a *askedCall) fill(ctx context.Context, list []askedQuestion, arguments []byte) ([]byte, *mcp.CallToolResult, error) {
	var asked []string
	for _, one := range list {
		asked = append(asked, one.spec.Arguments...)
	}
	filled := without(arguments, asked...) // what a model says of them counts nowhere
	filled = filled[:len(filled)-1]
	for _, one := range list {
		content := a.state.Filled[one.spec.Key]
		for _, name := range one.spec.Arguments {
			if value := memberOf(content, name); value != nil {
				filled = appendMember(filled, name, value)
			}
		}
	}
	filled = append(filled, '}')
	filled, spelt, told := a.t.spelled(filled)
	if told != nil {
		return nil, a.told(told), nil
	}
	told, err := a.r.permits(ctx, a.c, &a.t.capability, spelt)
	switch {
	case err != nil:
		return nil, nil, err
	case told != nil:
		return nil, a.c.refused(told), nil
	}
	return filled, nil, nil
}

// agreed makes sure that a person agreed to the call with these arguments:
// nil, nil when one did.
func (a *askedCall) agreed(ctx context.Context, confirm template, arguments []byte) (*mcp.CallToolResult, error) {
	why, again := "", a.state.Stage == stageConfirm
	switch a.state.Stage {
	case stageFunction: // before the function asked
		return nil, nil
	case stageConfirm:
		reply := a.c.brought.replyTo(confirmKey)
		yes, misfit := reply.confirmed()
		switch {
		case yes:
			return nil, nil
		case reply.refused():
			return a.declined(), nil
		}
		why = misfit
	}
	question := confirm.asked(arguments)
	if !a.c.client.form && a.c.hasPage() {
		return a.onPage(ctx, question, arguments)
	}
	text := confirmText(a.c, a.t.spec, question, confirm.also(arguments))
	return a.input(stageConfirm, again, mcp.InputRequestMap{confirmKey: elicit(wrong(text, why), json.RawMessage(confirmForm))})
}

// run runs the tool, and makes what its function asks questions of ours.
func (a *askedCall) run(ctx context.Context, arguments []byte) (*mcp.CallToolResult, error) {
	res, err := a.r.run.run(ctx, a.c, a.t.spec, arguments)
	if err != nil || res == nil {
		return res, err
	}
	if res.InputRequests == nil {
		res.RequestState = ""
		return res, nil
	}
	if a.t.spec.Function == nil || !a.t.spec.Function.Asks {
		return a.told(errAsksUndeclared), nil
	}
	if a.c.foretold(a.state, res.InputRequests, res.RequestState) {
		a.state.Stage = stageFunction // what came with the call has been used
		return a.run(ctx, arguments)
	}
	asked, told, err := a.r.asking.functionAsks(a.c, a.binding, a.state, res.InputRequests, res.RequestState)
	switch {
	case err != nil:
		return nil, err
	case told != nil && told.kind == kindNeedsPerson:
		return a.c.cannot(told)
	case told != nil:
		return a.told(told), nil
	}
	return &mcp.CallToolResult{InputRequests: asked.requests, RequestState: asked.state}, nil
}

// declined is the end of a call that a person said no to.
func (a *askedCall) declined() *mcp.CallToolResult { return a.told(errDeclined) }

var errDeclined = &toolError{kind: kindDeclined, detail: "Nothing was called: the user said no. Do not ask again by yourself; ask the user what they want instead."}

func (a *askedCall) told(told *toolError) *mcp.CallToolResult {
	a.c.outcome.errorKind = told.kind
	return told.result(a.c.requestID)
}

// hasPage reports whether a person can approve the caller's calls on our page.
func (c *call) hasPage() bool {
	return c.endpoint.Access.ApprovalPage && c.caller.Key.Mode == oauth.ModeBridge && !c.caller.Grant.IsZero()
}

// approvalOf names the call for the page.
func (a *askedCall) approvalOf(question string, arguments []byte) (approvals.Call, error) {
	same, err := sameArguments(arguments)
	if err != nil {
		return approvals.Call{}, fmt.Errorf("read arguments: %w", err)
	}
	return approvals.Call{
		Endpoint: a.c.endpoint, Caller: a.c.caller, Digest: append(same, a.binding.ad...),
		About: approvals.About{
			Tool: a.t.spec.Name, Title: a.t.spec.Title, Surface: a.c.endpoint.Title, Question: question, Arguments: arguments,
		},
	}, nil
}
