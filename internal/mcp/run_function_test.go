package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func TestFunctionsAnswerInEveryForm(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		media, body      string
		text, structured string
	}{
		"an object":       {"application/json", `{ "n": 9007199254740993, "d": 1.10 }`, `{"n":9007199254740993,"d":1.10}`, `{"n":9007199254740993,"d":1.10}`},
		"a list":          {"application/json", `[1, 2]`, `[1,2]`, `{"result":[1,2]}`},
		"a text in JSON":  {"application/json", `"a\nb"`, "a\nb", `{"result":"a\nb"}`},
		"null":            {"application/problem+json", `null`, `null`, `{"result":null}`},
		"text":            {"text/plain", "a\r\nb\u202Ec", "a\nbc", ``},
		"html":            {"text/html", "<b>", "<b>", ``},
		"nothing":         {"", "", "Done.", `{"ok":true}`},
		"nothing of JSON": {"application/json", "", "Done.", `{"ok":true}`},
	} {
		got := runTool(t, newServicesRunner(t, answers(k.media, k.body)), runCall(), functionTool(), `{}`)
		if got.isError || got.text != k.text || string(got.structured) != k.structured {
			t.Errorf("%s: %q %s", name, got.text, got.structured)
		}
		if got.call.outcome.resultBytes == 0 || got.call.upstream != "up-1" {
			t.Errorf("%s: %+v", name, got.call.outcome)
		}
	}
	for media, body := range map[string]string{
		"application/json": `{"a":1,"a":2}`, "application/x-json": `{}`, "application/pdf": "x", mediaEvents: "event: result\ndata: {\"content\":[]}\n\n",
		mediaResult: `{"content":[{"type":"video"}]}`, "application/vnd.acme+json": `{`,
	} {
		got := runTool(t, newServicesRunner(t, answers(media, body)), runCall(), functionTool(), `{}`)
		if got.kind() != kindOutOfDate || !strings.Contains(got.text, "The call was made, and its effects stand") || !strings.Contains(got.text, "answered something else than it declares") {
			t.Errorf("%s: %s", media, got.text)
		}
	}
}

func TestFunctionsAnswerImagesAndWholeResults(t *testing.T) {
	t.Parallel()
	res := runResult(t, newServicesRunner(t, answers("image/png", "png")), runCall(), functionTool(), `{}`)
	if img, ok := res.Content[0].(*mcp.ImageContent); !ok || img.MIMEType != "image/png" || string(img.Data) != "png" {
		t.Errorf("%+v", res.Content[0])
	}
	res = runResult(t, newServicesRunner(t, answers("audio/wav", "wav")), runCall(), functionTool(), `{}`)
	if _, ok := res.Content[0].(*mcp.AudioContent); !ok {
		t.Errorf("%+v", res.Content[0])
	}
	r := newServicesRunner(t, answers(mediaResult, `{"content":[{"type":"text","text":"a"},{"type":"resource_link","uri":"acme://c","name":"c"}],"structuredContent":{"n":1.0},"isError":false}`))
	res = runResult(t, r, runCall(), functionTool(), `{}`)
	if raw, _ := json.Marshal(res); string(raw) != `{"content":[{"type":"text","text":"a"},{"type":"resource_link","uri":"acme://c","name":"c"}],"structuredContent":{"n":1.0}}` {
		t.Errorf("%s", raw)
	}
	old := runCall()
	old.protocol = version20250326
	if raw, _ := json.Marshal(runResult(t, r, old, functionTool(), `{}`).Content); string(raw) != `[{"type":"text","text":"a"},{"type":"text","text":"c: acme://c"}]` {
		t.Errorf("before links: %s", raw)
	}
	failed := runResult(t, newServicesRunner(t, answers(mediaResult, `{"content":[{"type":"text","text":"no"}],"structuredContent":{"a":1},"isError":true}`)), runCall(), functionTool(), `{}`)
	if !failed.IsError || failed.StructuredContent != nil {
		t.Errorf("%+v", failed)
	}
	only := runResult(t, newServicesRunner(t, answers(mediaResult, `{"structuredContent":{"a":1}}`)), runCall(), functionTool(), `{}`)
	if raw, _ := json.Marshal(only); string(raw) != `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}` {
		t.Errorf("%s", raw)
	}
}

func TestFunctionsAnswerWhatTheyDeclare(t *testing.T) {
	t.Parallel()
	tool := functionTool()
	tool.Output = json.RawMessage(`{"type":"object","properties":{"rows":{"type":"integer"}},"required":["rows"]}`)
	for body, fits := range map[string]bool{`{"rows":1}`: true, `{"rows":1,"more":2}`: true, `{"rows":"1"}`: false, `{}`: false, `[1]`: false, `{"rows":1e999999}`: false} {
		if got := runTool(t, newServicesRunner(t, answers("application/json", body)), runCall(), tool, `{}`); (got.kind() != kindOutOfDate) != fits {
			t.Errorf("%s: %s", body, got.text)
		}
		whole := `{"content":[{"type":"text","text":"x"}],"structuredContent":` + body + `}`
		if got := runTool(t, newServicesRunner(t, answers(mediaResult, whole)), runCall(), tool, `{}`); (got.kind() != kindOutOfDate) != fits {
			t.Errorf("%s: %s", whole, got.text)
		}
	}
	for _, media := range []string{"text/plain", "image/png", mediaResult} {
		if got := runTool(t, newServicesRunner(t, answers(media, `{"content":[]}`)), runCall(), tool, `{}`); got.kind() != kindOutOfDate {
			t.Errorf("%s without structure: %s", media, got.text)
		}
	}
	if got := runTool(t, newServicesRunner(t, answers(mediaResult, `{"content":[{"type":"text","text":"no"}],"isError":true}`)), runCall(), tool, `{}`); !got.isError || got.text != "no" {
		t.Errorf("an error needs no structure: %s", got.text)
	}
}

func TestAnswersOverTheBudgetSayThatTheCallWasMade(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600)
	for name, p := range map[string]*scriptedServices{
		"JSON": answers("application/json", `{"a":"`+long+`"}`), "text": answers("text/plain", long), "whole": answers(mediaResult, `{"content":[{"type":"text","text":"`+long+`"}]}`),
		"blobs": answers("image/png", strings.Repeat("x", maxBlobs+1)), "structure": answers(mediaResult, `{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":"`+long+`"}}`),
	} {
		tool := functionTool()
		tool.Budget = 512
		got := runTool(t, newServicesRunner(t, p), runCall(), tool, `{}`)
		if got.kind() != "too_large" || !strings.Contains(got.text, "The call was made") {
			t.Errorf("%s: %s", name, got.text)
		}
	}
	image := functionTool()
	image.Budget = 512
	if res := runResult(t, newServicesRunner(t, answers("image/png", strings.Repeat("x", 5000))), runCall(), image, `{}`); res.IsError {
		t.Error("an image counts against the budget of text")
	}
}

// TestWhatAPromptsFunctionSaysIsWithinItsBudget, images and sounds counted.
func TestWhatAPromptsFunctionSaysIsWithinItsBudget(t *testing.T) {
	t.Parallel()
	spec := &surfaces.Prompt{Name: "review", Budget: 1000, Function: &surfaces.FunctionPlan{Slug: "review", Timeout: 30}}
	for name, k := range map[string]struct {
		media, body string
		fits        bool
	}{
		"a text":        {"text/plain", strings.Repeat("x", 900), true},
		"a long text":   {"text/plain", strings.Repeat("x", 1001), false},
		"an image":      {"image/png", strings.Repeat("x", 700), true},
		"a large image": {"image/png", strings.Repeat("x", 800), false},
		"both": {"application/json", `{"messages":[{"role":"user","content":{"type":"text","text":"` + strings.Repeat("x", 600) +
			`"}},{"role":"user","content":{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", 150) + `"}}]}`, false},
	} {
		res, err := newServicesRunner(t, answers(k.media, k.body)).prompt(t.Context(), runCall(), spec, []byte(`{}`))
		var told *toolError
		if k.fits != (err == nil && len(res.Messages) == 1) || !k.fits && (!errors.As(err, &told) || told.kind != "too_large") {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

func TestGuidanceAndTemplatesApplyToFunctions(t *testing.T) {
	t.Parallel()
	tool := functionTool()
	tool.Guidance = surfaces.Guidance{Before: "Before.", After: "After."}
	if got := runTool(t, newServicesRunner(t, answers("application/json", `{"a":1}`)), runCall(), tool, `{}`); got.text != "Before.\n{\"a\":1}\nAfter." {
		t.Errorf("%q", got.text)
	}
	if got := runTool(t, newServicesRunner(t, answers("text/plain", "x")), runCall(), tool, `{}`); got.text != "Before.\nx\nAfter." {
		t.Errorf("%q", got.text)
	}
	tool.Result, tool.Template = surfaces.ResultText, "a is {{a}}"
	if got := runTool(t, newServicesRunner(t, answers("application/json", `{"a":1.0}`)), runCall(), tool, `{}`); got.text != "Before.\na is 1.0\nAfter." || got.structured != nil {
		t.Errorf("%q %s", got.text, got.structured)
	}
}

func TestWhatAFunctionIsCalledWith(t *testing.T) {
	t.Parallel()
	p := answers("application/json", `{}`)
	c := runCall()
	c.trace = traceContext{parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", state: "a=b"}
	before := time.Now()
	runTool(t, newServicesRunner(t, p), c, functionTool(), `{"month":"2026-11","n":1.10}`)
	q := p.invoked[0]
	if q.Slug != "build-report" || string(q.Body) != `{"month":"2026-11","n":1.10}` || q.ContentType != "application/json" || q.RequestID != "req-test" || len(q.IdempotencyKey) != 36 {
		t.Errorf("%+v", q)
	}
	if !strings.HasPrefix(q.TraceParent, "00-0af7651916cd43dd8448eb211c80319c-") || q.TraceState != "a=b" {
		t.Errorf("trace %s %s", q.TraceParent, q.TraceState)
	}
	if q.MaxBytes != 4<<20 || !strings.Contains(q.Accept, mediaResult) || !strings.Contains(q.Accept, mediaEvents) {
		t.Errorf("at most %d bytes of %s", q.MaxBytes, q.Accept)
	}
	if left := q.Deadline.Sub(before); left < 29*time.Second || left > 31*time.Second {
		t.Errorf("deadline in %s", left)
	}
	runTool(t, newServicesRunner(t, p), c, functionTool(), `{}`)
	if p.invoked[1].IdempotencyKey == q.IdempotencyKey {
		t.Error("two calls have one key")
	}
}

func TestFunctionsThatAskGetTheEnvelope(t *testing.T) {
	t.Parallel()
	p := answers(mediaResult, `{"inputRequests":{"topic":{"method":"elicitation/create","params":{"message":"What?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s1"}`)
	tool := functionTool()
	tool.Function.Asks = true
	r := newServicesRunner(t, p)
	res := runResult(t, r, runCall(), tool, `{"a":1}`)
	if len(res.InputRequests) != 1 || res.RequestState != "s1" || res.Content != nil {
		t.Errorf("%+v", res)
	}
	if q := p.invoked[0]; q.ContentType != mediaCall || string(q.Body) != `{"arguments":{"a":1},"clientCapabilities":{}}` {
		t.Errorf("%s %s", q.ContentType, q.Body)
	}
	c := runCall()
	c.client.raw = json.RawMessage(`{"elicitation":{}}`)
	c.round = round{answers: json.RawMessage(`{"topic":{"action":"accept","content":{"n":1.0}}}`), kept: `s"1`}
	runResult(t, r, c, tool, `{"a":1}`)
	if got := string(p.invoked[1].Body); got != `{"arguments":{"a":1},"inputResponses":{"topic":{"action":"accept","content":{"n":1.0}}},"requestState":"s\"1","clientCapabilities":{"elicitation":{}}}` {
		t.Errorf("%s", got)
	}
	if got := toldBy(t, p, functionTool()); got != kindOutOfDate {
		t.Errorf("one that may not ask: %s", got)
	}
}

func TestFunctionsTokenIsRenewedOnceWithTheSameKey(t *testing.T) {
	t.Parallel()
	refused := &supabase.FunctionError{Status: 401, Code: "UNAUTHORIZED_ASYMMETRIC_JWT"}
	c, session := bridgeCall("old", "new")
	p := answers("application/json", `{}`)
	fine := p.onInvoke
	p.onInvoke = func(s supabase.Session, q supabase.Invoke) (supabase.FunctionAnswer, error) {
		if s == c.sessionOf("old") {
			return supabase.FunctionAnswer{}, refused
		}
		return fine(s, q)
	}
	if got := runTool(t, newServicesRunner(t, p), c, functionTool(), `{}`); got.isError || c.unauthorized {
		t.Errorf("%s", got.text)
	}
	if len(p.invoked) != 2 || p.invoked[0].IdempotencyKey != p.invoked[1].IdempotencyKey || strings.Join(session.asked, "|") != "token|renew old" {
		t.Errorf("%d calls, session asked %q", len(p.invoked), session.asked)
	}
	c, _ = bridgeCall("old", "new", "never")
	p = refuses(refused)
	if got := runTool(t, newServicesRunner(t, p), c, functionTool(), `{}`); got.kind() != kindUpstream || len(p.invoked) != 2 || c.unauthorized {
		t.Errorf("refused twice: %s after %d", got.text, len(p.invoked))
	}
	for _, err := range []error{&supabase.FunctionError{Status: 401, Own: true}, &supabase.FunctionError{Status: 500, Own: true}, &supabase.FunctionError{Status: 401, Code: "UNAUTHORIZED_NO_AUTH_HEADER"}} {
		c, _ = bridgeCall("old", "new")
		p = refuses(err)
		if runTool(t, newServicesRunner(t, p), c, functionTool(), `{}`); len(p.invoked) != 1 {
			t.Errorf("%v: called %d times", err, len(p.invoked))
		}
	}
}

func TestADirectTokenWhoseTimeIsOverIsAChallenge(t *testing.T) {
	t.Parallel()
	p := refuses(&supabase.FunctionError{Status: 401, Code: "UNAUTHORIZED_ASYMMETRIC_JWT"})
	c := runCall()
	c.caller.Expires = runNow
	if runTool(t, newServicesRunner(t, p), c, functionTool(), `{}`); !c.unauthorized || len(p.invoked) != 1 {
		t.Error("no challenge")
	}
	c = runCall()
	if got := runTool(t, newServicesRunner(t, p), c, functionTool(), `{}`); c.unauthorized || got.kind() != kindUpstream {
		t.Errorf("a good token: %s", got.text)
	}
	c = runCall()
	c.caller.Token = seal.Secret{}
	p = answers("application/json", `{}`)
	if _, err := newServicesRunner(t, p).run(t.Context(), c, functionTool(), []byte(`{}`)); err == nil || len(p.invoked) != 0 {
		t.Errorf("a user without a token: %v", err)
	}
}

func TestACanceledCallOfAFunctionIsNoToolError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newServicesRunner(t, refuses(context.Canceled)).run(ctx, runCall(), functionTool(), []byte(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
