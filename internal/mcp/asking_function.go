package mcp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Bounds of what a function asks in one round.
const (
	maxRequests     = 10
	maxRequestBytes = 16 << 10
	maxFormFields   = 32
)

// needs are capabilities of clients that a round asks for.
type needs struct{ form, url, sampling, roots bool }

// missing are those that the client did not declare.
func (n needs) missing(can clientCapabilities) needs {
	return needs{form: n.form && !can.form, url: n.url && !can.url, sampling: n.sampling && !can.sampling, roots: n.roots && !can.roots}
}

// object is what -32021 names (MCP 2026-07-28, MissingRequiredClientCapability).
func (n needs) object() map[string]any {
	none := struct{}{}
	object := map[string]any{}
	modes := map[string]any{}
	if n.form {
		modes["form"] = none
	}
	if n.url {
		modes["url"] = none
	}
	if len(modes) > 0 {
		object["elicitation"] = modes
	}
	if n.sampling {
		object["sampling"] = none
	}
	if n.roots {
		object["roots"] = none
	}
	return object
}

// cannotAsk is the answer to a client that cannot be asked for a form, before
// anything was called.
func (c *call) cannotAsk() (*mcp.CallToolResult, error) {
	if c.protocol >= version20260728 {
		return nil, c.missingCapability(needs{form: true}, "Nothing was called: this asks the user a question, and your client did not declare that it can show one.")
	}
	return c.cannot(errNeedsPerson)
}

// cannot tells the model that a call needs a person.
func (c *call) cannot(told *toolError) (*mcp.CallToolResult, error) {
	c.outcome.errorKind = told.kind
	return told.result(c.requestID), nil
}

var (
	errNeedsPerson = &toolError{kind: kindNeedsPerson, detail: "Nothing was called: this asks the user a question first, and the program you run in cannot show it. Nothing you send stands for the user's answer. Tell the user to do this in the app itself, or with a program that can show questions (MCP 2026-07-28, elicitation)."}
	errStopsHalf   = &toolError{kind: kindNeedsPerson, detail: "The call is not finished: the app asks for something first that the program you run in cannot give, such as an answer of the user. Nothing you send stands for it. Tell the user to do this in the app itself, or with a program that can show questions (MCP 2026-07-28)."}
)

// missingCapability refuses with what the client would have to declare.
func (c *call) missingCapability(n needs, message string) error {
	c.outcome.errorKind = kindNeedsPerson
	data, err := json.Marshal(map[string]any{"requiredCapabilities": n.object()})
	if err != nil { // our own maps always marshal
		data = nil
	}
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Data: data, Message: message}
}

// textMissing is for what a function asks of a client that cannot.
const textMissing = "The call is not finished: the app asks for something that your client did not declare it can give."

// asked is a round's questions, and the state that belongs to them.
type asked struct {
	requests mcp.InputRequestMap
	state    string
}

var (
	errAsksUndeclared = &toolError{kind: kindOutOfDate, detail: "The app's function asked the user something, and its surface does not say that it may. The call was made. The app's owner must correct one of them; trying again does not help."}
	errAsksBadly      = &toolError{kind: kindOutOfDate, detail: "The app's function asked the user something in a way that no client can show. The call was made, and is not finished. The app's owner must correct the function; trying again does not help."}
	errAsksTooOften   = &toolError{kind: kindOutOfDate, detail: "The app's function went on asking. The call was made, and is not finished. The app's owner must correct the function; trying again does not help."}
)

// functionAsks makes a function's questions those of the call. Errors: what the
// model is told, or -32021.
func (a *asking) functionAsks(c *call, b binding, before keptState, requests mcp.InputRequestMap, kept string) (*asked, *toolError, error) {
	n, ok := readable(requests)
	switch {
	case !ok || len(kept) > maxKept:
		return nil, errAsksBadly, nil
	case c.protocol < version20260728:
		return nil, errStopsHalf, nil
	case n.missing(c.client) != needs{}:
		return nil, nil, c.missingCapability(n.missing(c.client), textMissing)
	case before.Rounds >= maxRounds:
		return nil, errAsksTooOften, nil
	}
	raw, err := json.Marshal(requests)
	if err != nil || len(raw) > maxRequestBytes {
		return nil, errAsksBadly, nil //nolint:nilerr // what the app sent, not our failure
	}
	next := keptState{Stage: stageFunction, Tries: 1, Rounds: before.Rounds + 1, Filled: before.Filled, Asked: raw, Kept: kept}
	state, err := a.seal(b, next)
	if fault.Is(err, fault.TooLarge) {
		return nil, &toolError{kind: fault.TooLarge.String(), detail: errTooMuch.Message}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return &asked{requests, state}, nil, nil
}

// foretold takes the answers that a call brought before it was asked anything,
// and reports whether there is one that fits for each request. They count only
// where the function keeps nothing between its rounds, as the protocol lets a
// client answer without a state then; never for questions and confirmations of
// the surface file.
func (c *call) foretold(before keptState, requests mcp.InputRequestMap, kept string) bool {
	if before.Stage != "" || kept != "" || len(requests) == 0 || c.brought.answers == nil {
		return false
	}
	if n, ok := readable(requests); !ok || n.missing(c.client) != (needs{}) {
		return false
	}
	results := map[string]json.RawMessage{}
	for key, request := range requests {
		reply := c.brought.replyTo(key)
		if reply.misfits(request) != "" {
			return false
		}
		results[key] = reply.raw
	}
	answers, err := json.Marshal(results)
	if err != nil {
		return false
	}
	c.round = round{answers: answers}
	return true
}

// readable reports whether clients can show what is asked, and what they have
// to be able to.
func readable(requests mcp.InputRequestMap) (needs, bool) {
	var n needs
	if len(requests) == 0 || len(requests) > maxRequests {
		return n, false
	}
	for key, request := range requests {
		if key == "" || len(key) > maxResponseKey {
			return n, false
		}
		switch request := request.(type) {
		case *mcp.ElicitParams:
			if !elicitable(request) {
				return n, false
			}
			n.url = n.url || request.Mode == "url"
			n.form = n.form || request.Mode != "url"
		case *mcp.CreateMessageWithToolsParams: //nolint:staticcheck // clients have it as long as the version lives
			if len(request.Messages) == 0 || request.MaxTokens <= 0 || len(request.Tools) > 0 {
				return n, false
			}
			n.sampling = true
		case *mcp.ListRootsParams: //nolint:staticcheck // likewise
			n.roots = true
		default:
			return n, false
		}
	}
	return n, true
}

// elicitable reports whether an elicitation can be shown, and writes its mode.
func elicitable(e *mcp.ElicitParams) bool {
	if e == nil || strings.TrimSpace(e.Message) == "" || len(e.Message) > maxAskedText {
		return false
	}
	e.Message = withoutHidden(e.Message)
	if e.Mode == "" && e.URL != "" {
		e.Mode = "url"
	}
	switch e.Mode {
	case "", "form":
		e.Mode = "form"
		form, err := json.Marshal(e.RequestedSchema)
		if err != nil || e.URL != "" || !flatForm(form) {
			return false
		}
		_, err = compileSchema(form)
		return err == nil
	case "url":
		u, err := url.Parse(e.URL)
		return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && len(e.URL) <= 2048 && e.RequestedSchema == nil
	}
	return false
}

// flatForm reports whether a schema is one that clients show as a form: an
// object of primitive members, without references.
func flatForm(schema []byte) bool {
	if checkJSON(schema) != nil || len(schema) > maxRequestBytes || bytes.Contains(schema, []byte(`"$`)) || !isType(schema, "object") {
		return false
	}
	fields := members(memberOf(schema, "properties"), 0)
	if len(fields) == 0 || len(fields) > maxFormFields {
		return false
	}
	properties := memberOf(schema, "properties")
	for _, f := range fields {
		property := properties[f.start:f.end]
		if !isType(property, "string", "number", "integer", "boolean") && !isChoice(property) {
			return false
		}
		if memberOf(property, "properties") != nil || isType(property, "string", "number", "integer", "boolean") && memberOf(property, "items") != nil {
			return false
		}
	}
	return true
}

func isType(schema []byte, types ...string) bool {
	named, ok := text(memberOf(schema, "type"))
	return ok && slices.Contains(types, named)
}

// isChoice reports whether a property takes several of some texts.
func isChoice(property []byte) bool {
	items := memberOf(property, "items")
	return isType(property, "array") && len(items) > 0 && items[0] == '{' &&
		(memberOf(items, "enum") != nil || memberOf(items, "anyOf") != nil || memberOf(items, "oneOf") != nil)
}

// answered reads the results for what a function asked. With all of them the
// call's round is set, for the function; else what is missing is asked again.
func (a *asking) answered(c *call, b binding, s keptState) (*asked, error) {
	var requests mcp.InputRequestMap
	if err := json.Unmarshal(s.Asked, &requests); err != nil {
		return nil, errState
	}
	results := map[string]json.RawMessage{}
	for key, result := range s.Answers {
		results[key] = result
	}
	again := mcp.InputRequestMap{}
	for key, request := range requests {
		if results[key] != nil {
			continue
		}
		reply := c.brought.replyTo(key)
		why := reply.misfits(request)
		if why == "" {
			results[key] = reply.raw
			continue
		}
		if e, ok := request.(*mcp.ElicitParams); ok {
			e.Message = wrong(e.Message, why)
		}
		again[key] = request
	}
	if len(again) == 0 {
		answers, err := json.Marshal(results)
		if err != nil {
			return nil, err
		}
		c.round = round{answers: answers, kept: s.Kept}
		return nil, nil
	}
	if s.Tries >= maxTries {
		return nil, &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: "The call is not finished: what was asked was answered several times with something that does not fit. Call again without requestState and inputResponses."}
	}
	n, _ := readable(again)
	if lacking := n.missing(c.client); lacking != (needs{}) {
		return nil, c.missingCapability(lacking, textMissing)
	}
	next := s
	next.Tries, next.Answers = s.Tries+1, results
	state, err := a.seal(b, next)
	if err != nil {
		return nil, err
	}
	return &asked{again, state}, nil
}

// misfits says what of a result does not answer the request; empty for nothing.
// To say no is an answer: the function asked, and decides.
func (r *reply) misfits(request mcp.InputRequest) string {
	if r == nil {
		return "there was none"
	}
	switch request := request.(type) {
	case *mcp.ElicitParams:
		switch {
		case r.refused():
			return ""
		case r.action != actionAccept:
			return "it was neither accepted nor declined"
		case request.Mode == "url":
			return ""
		}
		if len(r.content) == 0 || r.content[0] != '{' {
			return "it was not a filled form"
		}
		form, err := json.Marshal(request.RequestedSchema)
		if err != nil {
			return "its form cannot be read"
		}
		schema, err := compileSchema(form)
		if err != nil {
			return "its form cannot be read"
		}
		return misfits(schema, r.content)
	case *mcp.ListRootsParams: //nolint:staticcheck // likewise
		if roots := memberOf(r.raw, "roots"); len(roots) == 0 || roots[0] != '[' {
			return "it has no roots"
		}
		return ""
	}
	content := memberOf(r.raw, "content")
	if _, ok := text(memberOf(r.raw, "role")); !ok || !isContainer(content) {
		return "it is no message"
	}
	return ""
}
