package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const (
	maxFunctionBytes = 4 << 20 // of an answer, or of all events of a stream
	functionGrace    = 3       // seconds after the deadline until the answer is given up, whatever the way there says
)

// acceptAnswers is every form of answer that is understood, the one that says
// most first.
const acceptAnswers = mediaResult + ", application/json, " + mediaEvents + ", */*;q=0.5"

// invoke calls an Edge Function as the caller with the arguments, a JSON object,
// and returns its answer whole. What its stream tells on the way goes to the
// call's notices. reads says that the function changes nothing, so that calling
// it again does no harm.
//
// Errors are *toolError, which may be shown, the context's, or our own failure.
// Where the token's time is over, or the session has ended, the call is marked
// unauthorized.
func (t *asker) invoke(ctx context.Context, plan *surfaces.FunctionPlan, arguments []byte, reads bool) (functionAnswer, error) {
	body, contentType := arguments, "application/json"
	if plan.Asks {
		body, contentType = t.callEnvelope(arguments), mediaCall
	}
	second := t.runner.second
	if second == 0 {
		second = time.Second
	}
	deadline := time.Now().Add(time.Duration(plan.Timeout) * second)
	within, cancel := context.WithDeadline(ctx, deadline.Add(functionGrace*second))
	defer cancel()
	parent, state := t.call.trace.under(t.call.requestID)
	// The same for both attempts: the function can tell that it is one call.
	q := supabase.Invoke{
		Slug: plan.Slug, Body: body, ContentType: contentType, Accept: acceptAnswers,
		IdempotencyKey: uuid.NewString(), RequestID: t.call.requestID, TraceParent: parent, TraceState: state,
		Deadline: deadline, MaxBytes: maxFunctionBytes,
	}
	answer, err := attempt(within, t, func(s supabase.Session) (supabase.FunctionAnswer, error) {
		a, err := t.runner.services.Invoke(within, s, q)
		t.noted(a.Took, a.Upstream)
		return a, err
	}, func(_ seal.Secret, err error) bool {
		// The platform judges the token before any code runs.
		var refused *supabase.FunctionError
		return errors.As(err, &refused) && refused.TokenRefused()
	})
	if err != nil {
		return functionAnswer{}, t.functionFailed(ctx, err, reads)
	}
	defer func() { _ = answer.Body.Close() }() // ends what a stream has beyond its result
	began := time.Now()
	got, err := readAnswer(answer, plan, t.call.notices)
	t.noted(time.Since(began), "")
	if err != nil {
		return functionAnswer{}, t.functionFailed(ctx, err, reads)
	}
	return got, nil
}

// readAnswer reads an answer to its end, or to the result of its stream.
func readAnswer(answer supabase.FunctionAnswer, plan *surfaces.FunctionPlan, to notices) (functionAnswer, error) {
	if answer.ContentType == mediaEvents && plan.Stream {
		result, err := readStream(answer.Body, to)
		return functionAnswer{media: mediaResult, body: result}, err
	}
	body, err := io.ReadAll(answer.Body)
	return functionAnswer{media: answer.ContentType, body: body}, err
}

// callEnvelope is the body for a function that asks (see surfaces.FunctionPlan).
func (t *asker) callEnvelope(arguments []byte) []byte {
	out := append([]byte(`{"arguments":`), arguments...)
	if len(t.call.round.answers) > 0 {
		out = append(append(out, `,"inputResponses":`...), t.call.round.answers...)
	}
	if t.call.round.kept != "" {
		out = appendString(append(out, `,"requestState":`...), t.call.round.kept)
	}
	out = append(out, `,"clientCapabilities":`...)
	if raw := bytes.TrimSpace(t.call.client.raw); len(raw) > 0 {
		out = append(out, raw...)
	} else {
		out = append(out, "{}"...)
	}
	return append(out, '}')
}

// function calls the tool's Edge Function and makes a result of its answer.
func (t *toolCall) function(ctx context.Context, plan *surfaces.FunctionPlan, raw []byte) (*ready, error) {
	reads := t.tool.Annotations.ReadOnly
	answer, err := t.invoke(ctx, plan, raw, reads)
	if err != nil {
		return nil, err
	}
	r, err := t.functionResult(plan, answer)
	if errors.Is(err, errShape) {
		return nil, functionMisfit(reads)
	}
	return r, err
}

// functionResult is the answer as the tool's result; errShape where it is none.
func (t *toolCall) functionResult(plan *surfaces.FunctionPlan, answer functionAnswer) (*ready, error) {
	switch {
	case answer.media == mediaResult:
		return t.wholeResult(plan, answer.body)
	case len(answer.body) == 0 && !strings.HasPrefix(answer.media, "image/") && !strings.HasPrefix(answer.media, "audio/"):
		return t.jsonResult(token(`{"ok":true}`), func(dst []byte) []byte { return append(dst, "Done."...) })
	case isJSONMedia(answer.media):
		value, err := exactJSON(answer.body)
		if err != nil {
			return nil, err
		}
		structured := value
		if value[0] != '{' {
			structured = append(append(token(`{"result":`), value...), '}')
		}
		return t.jsonResult(structured, func(dst []byte) []byte { return appendProse(dst, value) })
	case answer.media == mediaEvents, len(t.tool.Output) > 0:
		return nil, errShape
	case strings.HasPrefix(answer.media, "text/"):
		return t.textResult(answer.plainText())
	}
	m := &mcpAnswer{}
	block := m.shows(answer.media, answer.body)
	switch {
	case block == nil:
		return nil, errShape
	case !m.fits(t.budget()):
		return nil, t.answerTooLarge()
	}
	return &ready{size: m.size(), result: &mcp.CallToolResult{Content: []mcp.Content{block}}}, nil
}

// exactJSON is a JSON value, compact, each number and text as it was written. A
// key that is given twice is errShape: readers differ in which one they see.
func exactJSON(body []byte) (token, error) {
	if checkJSON(body) != nil {
		return nil, errShape
	}
	return appendToken(nil, pairedText(bytes.TrimSpace(body))), nil
}

// jsonResult is a structured answer in the tool's form, within its budget.
func (t *toolCall) jsonResult(structured token, body func(dst []byte) []byte) (*ready, error) {
	if err := t.declared(structured); err != nil {
		return nil, err
	}
	p, err := t.within(t.finish(structured, body, nil))
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return nil, t.answerTooLarge()
	}
	return t.ready(p), nil
}

// textResult is a text answer between the tool's guidance, within its budget.
func (t *toolCall) textResult(said string) (*ready, error) {
	text := appendLine(nil, t.tool.Guidance.Before)
	text = append(text, said...)
	if t.tool.Guidance.After != "" {
		text = append(endLine(text), t.tool.Guidance.After...)
	}
	p := &page{text: string(text)}
	if p.size() > t.budget() {
		return nil, t.answerTooLarge()
	}
	return &ready{size: p.size(), result: p.result(surfaces.ResultText)}, nil
}

// wholeResult is an MCP result as the function said it, in its order.
func (t *toolCall) wholeResult(plan *surfaces.FunctionPlan, body []byte) (*ready, error) {
	m, err := readMCPAnswer(toolAnswer, body, "", plan.Asks)
	if err != nil {
		return nil, err
	}
	if m.requests == nil && !m.isError {
		if err := t.declared(m.structured); err != nil {
			return nil, err
		}
	}
	if !m.fits(t.budget()) {
		return nil, t.answerTooLarge()
	}
	res := &mcp.CallToolResult{Meta: m.meta, Content: t.forClient(m.content), IsError: m.isError, InputRequests: m.requests, RequestState: m.state}
	if m.structured != nil {
		res.StructuredContent = json.RawMessage(m.structured)
	}
	r := &ready{size: m.size(), result: res}
	if m.isError {
		r.kind = kindRefused
		if len(res.Content) == 0 {
			res.Content = []mcp.Content{&mcp.TextContent{Text: "The app says that this did not work."}}
		}
	}
	return r, nil
}

// declared checks a structured answer against what the tool declares; nil where
// there is no structure.
func (t *toolCall) declared(structured token) error {
	if len(t.tool.Output) == 0 {
		return nil
	}
	if structured == nil {
		return errShape
	}
	schema, err := compileSchema(t.tool.Output)
	if err != nil {
		return fmt.Errorf("compile output schema: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(structured))
	if err != nil || beyondReckoning(structured) != nil || schema.Validate(value) != nil {
		return errShape
	}
	return nil
}

// forClient is the content in the forms that the client's version knows: there
// were no links before 2025-06-18.
func (t *asker) forClient(content []mcp.Content) []mcp.Content {
	if t.call.protocol >= version20250618 || t.call.protocol == "" {
		return content
	}
	out := make([]mcp.Content, 0, len(content))
	for _, block := range content {
		if raw, ok := block.(*rawContent); ok && stringOf(memberOf(raw.raw, "type")) == "resource_link" {
			block = &mcp.TextContent{Text: stringOf(memberOf(raw.raw, "name")) + ": " + stringOf(memberOf(raw.raw, "uri"))}
		}
		if link, ok := block.(*mcp.ResourceLink); ok {
			block = &mcp.TextContent{Text: link.Name + ": " + link.URI}
		}
		out = append(out, block)
	}
	return out
}

func (t *toolCall) answerTooLarge() *toolError {
	if t.tool.Annotations.ReadOnly {
		return &toolError{kind: fault.TooLarge.String(), detail: "The call was made, but its answer is larger than this tool's limit of " + strconv.Itoa(t.budget()) +
			" bytes. Narrow it with the arguments, or ask the app's owner to raise the limit."}
	}
	return &toolError{kind: fault.TooLarge.String(), detail: callMade + "its answer is larger than this tool's limit of " + strconv.Itoa(t.budget()) +
		" bytes. Do not repeat it just to see the answer. Ask the app's owner to raise the limit."}
}
