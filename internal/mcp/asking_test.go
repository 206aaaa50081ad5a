package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// memoryApprovals keeps what is used once in memory.
type memoryApprovals struct {
	mu    sync.Mutex
	used  map[string]bool
	asked []approvals.Call
	ready map[string]approvals.State // by subject, client and digest
	away  error
}

func (m *memoryApprovals) Use(_ context.Context, org id.Organization, name []byte, _ time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := org.String() + string(name)
	if m.away != nil || m.used[key] {
		return false, m.away
	}
	m.used[key] = true
	return true, nil
}

func keyOfApproval(c approvals.Call) string {
	return c.Caller.Key.Subject + " " + c.Caller.Key.Client + " " + string(c.Digest)
}

func (m *memoryApprovals) Ask(_ context.Context, c approvals.Call) (approvals.Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, c)
	if state := m.ready[keyOfApproval(c)]; state != "" {
		delete(m.ready, keyOfApproval(c))
		return approvals.Answer{State: state}, m.away
	}
	return approvals.Answer{State: approvals.Pending, URL: "https://pages.example.test/connect/approvals/x"}, m.away
}

// decides is the person's answer to what was asked last.
func (m *memoryApprovals) decides(state approvals.State) approvals.Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.asked[len(m.asked)-1]
	m.ready[keyOfApproval(last)] = state
	return last
}

// askingBundle is a bundle whose tools ask: archive to confirm, close after a
// question and to confirm, interview as its function likes, plain nothing.
type askingBundle struct {
	*bundle
	ep       *tenants.Endpoint
	compiled *surfaces.Compiled
	once     *memoryApprovals
	clock    *clocktest.Clock
	mu       sync.Mutex
	ran      []string // subject, tool and arguments
}

func setupAsking(t *testing.T, edit func(*tenants.Endpoint, *surfaces.Compiled)) *askingBundle {
	t.Helper()
	b := &askingBundle{bundle: setup(t), once: &memoryApprovals{used: map[string]bool{}, ready: map[string]approvals.State{}}, clock: clocktest.New(time.Now())}
	b.handler.revisions.asking.once, b.handler.revisions.asking.now = b.once, b.clock.Now
	b.runner.do(func(_ context.Context, c *call, tool *surfaces.Tool, arguments []byte) (*mcp.CallToolResult, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ran = append(b.ran, c.caller.Key.Subject+" "+tool.Name+" "+string(arguments))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	b.ep = b.surface("acme", func(ep *tenants.Endpoint, c *surfaces.Compiled) {
		b.compiled = c
		tool := func(name, input string) surfaces.Tool {
			spec := testTool(name)
			spec.Input, spec.Output, spec.Annotations = json.RawMessage(input), nil, surfaces.Annotations{Destructive: true}
			return spec
		}
		archive := tool("archive", `{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"string"},"confirm":{"type":"boolean"}},"required":["id"],"additionalProperties":false}`)
		archive.Confirm = "Archive customer {{id}} ({{note}})?"
		closing := tool("close", `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}`)
		closing.Confirm = "Close {{id}} because of {{reason}}?"
		closing.Questions = []surfaces.Question{{
			Key: "why", Message: "Why close {{id}}?", Arguments: []string{"reason", "day"},
			Schema: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string","pattern":"^[a-z ]+$"},"day":{"type":"string","format":"date"}},"required":["reason"],"additionalProperties":false}`),
			Form:   json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string","title":"Reason"},"day":{"type":"string","format":"date","title":"Day"}},"required":["reason"]}`),
		}}
		interview := tool("interview", `{"type":"object","additionalProperties":false}`)
		interview.Function = &surfaces.FunctionPlan{Slug: "interview", Timeout: 10, Asks: true}
		c.Tools = []surfaces.Tool{archive, closing, interview, tool("plain", `{"type":"object","properties":{"id":{"type":"integer"}}}`)}
		if edit != nil {
			edit(ep, c)
		}
	})
	for _, subject := range []string{"alice", "bob"} {
		b.caller(b.ep, subject, subject)
	}
	return b
}

func (b *askingBundle) calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.ran...)
}

// formClient can show forms.
const formClient = `{"elicitation":{}}`

// asks is a call of a client with those capabilities; more are members of
// params.
func (b *askingBundle) asks(who, tool, arguments, client, more string) heard {
	b.t.Helper()
	if more != "" {
		more = "," + more
	}
	q := modern("tools/call", tool, `"name":"`+tool+`","arguments":`+arguments+more)
	q.body = strings.Replace(q.body, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":`+client, 1)
	return b.read(q.as(who))
}

// heard is one answer on the wire.
type heard struct {
	status int
	body   string
	Result *struct {
		ResultType    string
		Content       []struct{ Type, Text, URI string }
		IsError       bool
		RequestState  string
		InputRequests map[string]struct {
			Method string
			Params struct {
				Mode, Message   string
				RequestedSchema json.RawMessage
			}
		}
	}
	Error *struct {
		Code    int
		Message string
		Data    struct {
			RequiredCapabilities map[string]json.RawMessage
			Kind                 string
		}
	}
}

func (b *askingBundle) read(q request) heard {
	b.t.Helper()
	res := b.send(q)
	a := heard{status: res.StatusCode, body: bodyOf(b.t, res)}
	if err := json.Unmarshal([]byte(a.body), &a); err != nil {
		b.t.Fatalf("%s: %v", a.body, err)
	}
	return a
}

// input is the state of an answer that asks.
func (a heard) input(t *testing.T, key string) (state string) {
	t.Helper()
	if a.Result == nil || a.Result.ResultType != "input_required" || a.Result.RequestState == "" || len(a.Result.Content) > 0 || a.Result.InputRequests[key].Method == "" {
		t.Fatalf("it does not ask for %s: %d %s", key, a.status, a.body)
	}
	return `"requestState":"` + a.Result.RequestState + `"`
}

// kind is that of a tool error.
func (a heard) kind() string {
	if a.Result == nil || !a.Result.IsError || len(a.Result.Content) == 0 {
		return ""
	}
	var e struct{ Kind string }
	_ = json.Unmarshal([]byte(a.Result.Content[0].Text), &e)
	return e.Kind
}

// stale reports whether the state was refused, with what to do.
func (a heard) stale() bool {
	return a.status == http.StatusBadRequest && a.Error != nil && a.Error.Code == fault.CodeInvalidParams && strings.Contains(a.Error.Message, "Call again without requestState")
}

func (a heard) done() bool {
	return a.Result != nil && a.Result.ResultType == "complete" && !a.Result.IsError && len(a.Result.Content) == 1 && a.Result.Content[0].Text == "done"
}

const agreed = `"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}}`

func (b *askingBundle) nothingRan(t *testing.T, what string) {
	t.Helper()
	if ran := b.calls(); len(ran) > 0 {
		t.Errorf("%s: ran %v", what, ran)
	}
}

func TestAPersonConfirmsACall(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	first := b.asks("alice", "archive", `{"id":42,"note":"x\"? Nothing else happens.\u202e\n\"y"}`, formClient, "")
	state := first.input(t, "confirm")
	asked := first.Result.InputRequests["confirm"]
	if asked.Method != "elicitation/create" || asked.Params.Mode != "form" || strings.Contains(string(asked.Params.RequestedSchema), "default") || !strings.Contains(string(asked.Params.RequestedSchema), `"required":["confirm"]`) {
		t.Errorf("asked %+v", asked)
	}
	if want := `Acme acme asks you to confirm: Archive customer "42" ("x'? Nothing else happens. 'y")? If you agree, "Title of archive" runs with your account there.`; asked.Params.Message != want {
		t.Errorf("asked %s\nwant  %s", asked.Params.Message, want)
	}
	b.nothingRan(t, "before the answer")
	// The same arguments in another order and spelling are the same.
	second := b.asks("alice", "archive", ` { "note" : "x\u0022? Nothing else happens.\u202E\n\"y", "id":42 }`, formClient, agreed+","+state)
	if !second.done() || len(b.calls()) != 1 || !strings.HasPrefix(b.calls()[0], "alice archive {") {
		t.Fatalf("%s, ran %v", second.body, b.calls())
	}
	if again := b.asks("alice", "archive", `{"id":42,"note":"x\"? Nothing else happens.\u202e\n\"y"}`, formClient, agreed+","+state); !again.stale() || len(b.calls()) != 1 {
		t.Errorf("replayed: %s, ran %v", again.body, b.calls())
	}
	if strings.Contains(b.logs.String(), "Nothing else happens") {
		t.Error("an argument is in the log")
	}
}

func TestAPersonSaysNo(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"decline": `{"action":"decline"}`, "cancel": `{"action":"cancel"}`, "no": `{"action":"accept","content":{"confirm":false}}`,
	} {
		b := setupAsking(t, nil)
		state := b.asks("alice", "archive", `{"id":42}`, formClient, "").input(t, "confirm")
		if got := b.asks("alice", "archive", `{"id":42}`, formClient, `"inputResponses":{"confirm":`+answer+`},`+state); got.kind() != kindDeclined {
			t.Errorf("%s: %s", name, got.body)
		}
		b.nothingRan(t, name)
	}
}

func TestAnAnswerThatDoesNotFitIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	state := b.asks("alice", "archive", `{"id":42}`, formClient, "").input(t, "confirm")
	for i, answer := range []string{
		"", `"inputResponses":{},`, `"inputResponses":{"confirm":{"action":"accept","content":{"confirm":"yes"}}},`, `"inputResponses":{"confirm":{"action":"accept"}},`,
	} {
		got := b.asks("alice", "archive", `{"id":42}`, formClient, answer+state)
		state = got.input(t, "confirm")
		if !strings.Contains(got.Result.InputRequests["confirm"].Params.Message, "did not fit") {
			t.Errorf("%d: %s", i, got.body)
		}
	}
	if got := b.asks("alice", "archive", `{"id":42}`, formClient, state); got.kind() != "invalid" {
		t.Errorf("after five: %s", got.body)
	}
	b.nothingRan(t, "without an answer")
}

func TestQuestionsFillArgumentsThatModelsCannotSet(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Tools[1].Allow = &surfaces.Allow{Rule: `!has(args.reason) || args.reason != "revenge"`, Reason: "Not for that."}
	})
	why := func(content string) string {
		return `"inputResponses":{"why":{"action":"accept","content":` + content + `},"other":{"action":"accept"}},`
	}
	if got := b.asks("alice", "close", `{"id":7,"reason":"mine"}`, formClient, ""); got.kind() != "invalid" {
		t.Errorf("a model sets it: %s", got.body)
	}
	first := b.asks("alice", "close", `{"id":7}`, formClient, "")
	state := first.input(t, "why")
	if got := first.Result.InputRequests["why"].Params; got.Message != `Acme acme asks: Why close "7"?` || !strings.Contains(string(got.RequestedSchema), `"title":"Reason"`) || len(first.Result.InputRequests) != 1 {
		t.Errorf("asked %+v", got)
	}
	for _, content := range []string{`{"reason":"NO"}`, `{"reason":"fine","day":"yesterday"}`, `{"day":"2026-01-01"}`} {
		again := b.asks("alice", "close", `{"id":7}`, formClient, why(content)+state)
		state = again.input(t, "why")
	}
	second := b.asks("alice", "close", `{"id":7}`, formClient, why(`{"reason":"no more money","day":"2026-01-31","id":8,"admin":true}`)+state)
	state = second.input(t, "confirm")
	if got := second.Result.InputRequests["confirm"].Params.Message; !strings.Contains(got, `Close "7" because of "no more money"?`) {
		t.Errorf("asked %s", got)
	}
	b.nothingRan(t, "before it is confirmed")
	if got := b.asks("alice", "close", `{"id":7}`, formClient, agreed+","+state); !got.done() {
		t.Fatal(got.body)
	}
	if ran := b.calls(); len(ran) != 1 || ran[0] != `alice close {"id":7,"reason":"no more money","day":"2026-01-31"}` {
		t.Errorf("ran %v", ran)
	}
	// Policy sees what the person filled in.
	state = b.asks("alice", "close", `{"id":7}`, formClient, "").input(t, "why")
	if got := b.asks("alice", "close", `{"id":7}`, formClient, why(`{"reason":"revenge"}`)+state); got.kind() != "forbidden" || len(b.calls()) != 1 {
		t.Errorf("%s, ran %v", got.body, b.calls())
	}
}

// TestField93_NothingButAPersonsAnswerConfirms: whatever a model, another
// caller or another time brings, nothing runs.
func TestField93_NothingButAPersonsAnswerConfirms(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		other := c.Tools[0]
		other.Name = "archive_too"
		c.Tools = append(c.Tools, other)
	})
	second := b.surface("other", func(_ *tenants.Endpoint, c *surfaces.Compiled) { c.Tools = b.compiled.Tools })
	b.caller(second, "alice-there", "alice")
	phone := *b.auth.callers["Bearer alice"]
	phone.Key.Client = "another client"
	b.auth.admit("alice-phone", &phone)
	const arguments = `{"id":42}`
	fresh := func() string { return b.asks("alice", "archive", arguments, formClient, "").input(t, "confirm") }

	for what, got := range map[string]heard{
		"confirm as an argument":     b.asks("alice", "archive", `{"id":42,"confirm":true}`, formClient, ""),
		"answers without a question": b.asks("alice", "archive", arguments, formClient, agreed),
	} {
		got.input(t, "confirm")
		b.nothingRan(t, what)
	}
	flip := func(state string) string {
		i := len(state) / 2
		return state[:i] + map[bool]string{true: "B", false: "A"}[state[i] == 'A'] + state[i+1:]
	}
	for what, try := range map[string]func() heard{
		"a state made up": func() heard {
			return b.asks("alice", "archive", arguments, formClient, agreed+`,"requestState":"AAAAconfirmed"`)
		},
		"an empty state":  func() heard { return b.asks("alice", "archive", arguments, formClient, agreed+`,"requestState":""`) },
		"a state changed": func() heard { return b.asks("alice", "archive", arguments, formClient, agreed+","+flip(fresh())) },
		"a state with a tail": func() heard {
			return b.asks("alice", "archive", arguments, formClient, agreed+","+strings.TrimSuffix(fresh(), `"`)+`-TAMPERED"`)
		},
		"other arguments":  func() heard { return b.asks("alice", "archive", `{"id":43}`, formClient, agreed+","+fresh()) },
		"another spelling": func() heard { return b.asks("alice", "archive", `{"id":42.0}`, formClient, agreed+","+fresh()) },
		"one argument more": func() heard {
			return b.asks("alice", "archive", `{"id":42,"note":"x"}`, formClient, agreed+","+fresh())
		},
		"another tool":         func() heard { return b.asks("alice", "archive_too", arguments, formClient, agreed+","+fresh()) },
		"a tool that asks not": func() heard { return b.asks("alice", "plain", arguments, formClient, agreed+","+fresh()) },
		"Bob":                  func() heard { return b.asks("bob", "archive", arguments, formClient, agreed+","+fresh()) },
		"another client":       func() heard { return b.asks("alice-phone", "archive", arguments, formClient, agreed+","+fresh()) },
		"another surface": func() heard {
			q := modern("tools/call", "archive", `"name":"archive","arguments":`+arguments+","+agreed+","+fresh())
			q.path = "/other/mcp"
			return b.read(q.as("alice-there"))
		},
		"too late": func() heard {
			state := fresh()
			b.clock.Advance(stateLife)
			return b.asks("alice", "archive", arguments, formClient, agreed+","+state)
		},
		"used by another server": func() heard {
			state := fresh()
			b.once.mu.Lock()
			everything := b.once.used
			b.once.used = nil
			b.once.away = fault.New(fault.Unavailable, "", "away")
			b.once.mu.Unlock()
			if got := b.asks("alice", "archive", arguments, formClient, agreed+","+state); got.Error == nil || got.done() {
				t.Errorf("with the store away: %s", got.body)
			}
			b.once.mu.Lock()
			b.once.used, b.once.away = everything, nil
			b.once.mu.Unlock()
			b.asks("alice", "archive", arguments, formClient, `"inputResponses":{"confirm":{"action":"decline"}},`+state)
			return b.asks("alice", "archive", arguments, formClient, agreed+","+state)
		},
		"another revision": func() heard {
			state := fresh()
			next := *b.ep
			next.Revision, next.Digest = 2, strings.Repeat("b", 64)
			b.directory.put(&next, b.compiled)
			defer b.directory.put(b.ep, b.compiled)
			return b.asks("alice", "archive", arguments, formClient, agreed+","+state)
		},
	} {
		if got := try(); !got.stale() {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
		b.nothingRan(t, what)
	}
	for what, more := range map[string]string{
		"answers that are no object": `"inputResponses":[1]`, "an answer that is no object": `"inputResponses":{"confirm":12345}`, "no answers": `"inputResponses":null`,
		"a state that is no text": `"requestState":{"a":1}`, "a state without end": `"requestState":"` + strings.Repeat("A", maxState+1) + `"`,
		"too many answers": `"inputResponses":{` + strings.TrimSuffix(strings.Repeat(`"#":{},`, 0), ",") + manyAnswers(maxResponses+1) + `}`,
	} {
		got := b.asks("alice", "archive", arguments, formClient, more)
		if got.status != http.StatusBadRequest || got.Error == nil || got.Error.Code != fault.CodeInvalidParams {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
		b.nothingRan(t, what)
	}
	// Half of a batch's answers, and clients of before: nobody is asked, and
	// nothing that is sent stands for it.
	for _, version := range []string{version20250326, version20250618, version20251125} {
		got := b.read(legacy(version, "tools/call", `{"name":"archive","arguments":{"id":42,"confirm":true},`+agreed+`,"requestState":12}`).as("alice"))
		if got.kind() != kindNeedsPerson || got.status != http.StatusOK {
			t.Errorf("%s: %s", version, got.body)
		}
		b.nothingRan(t, version)
	}
}

func manyAnswers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = `"k` + string(rune('a'+i/26)) + string(rune('a'+i%26)) + `":{}`
	}
	return strings.Join(list, ",")
}

func TestAClientThatCannotBeAskedIsToldWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	for _, client := range []string{`{}`, `{"elicitation":{"url":{}}}`, `{"Elicitation":{}}`, `{"sampling":{}}`} {
		got := b.asks("alice", "archive", `{"id":42}`, client, "")
		if got.status != http.StatusBadRequest || got.Error == nil || got.Error.Code != mcp.CodeMissingRequiredClientCapabilities || string(got.Error.Data.RequiredCapabilities["elicitation"]) != `{"form":{}}` {
			t.Errorf("%s: %d %s", client, got.status, got.body)
		}
	}
	for _, client := range []string{`{"elicitation":{}}`, `{"elicitation":{"form":{}}}`, `{"elicitation":{"form":{},"url":{}}}`} {
		b.asks("alice", "archive", `{"id":42}`, client, "").input(t, "confirm")
	}
	if got := b.asks("alice", "archive", `{"id":42}`, `{"elicitation":true}`, ""); got.Error == nil {
		t.Errorf("elicitation that is no object: %s", got.body)
	}
	b.nothingRan(t, "unasked")
}

func TestWithoutAStoreWhatAsksRefuses(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	b.handler.revisions.asking.once = nil
	if got := b.asks("alice", "archive", `{"id":42}`, formClient, agreed); got.Error == nil {
		t.Errorf("%s", got.body)
	}
	b.nothingRan(t, "without a store")
	if got := b.asks("alice", "plain", `{"id":42}`, formClient, ""); !got.done() {
		t.Errorf("a tool that asks nothing: %s", got.body)
	}
}

// bridged makes the callers those of a bridge, with the page switched on.
func bridged(b *askingBundle, page bool) {
	ep := *b.ep
	ep.Access.Authorization, ep.Access.ApprovalPage = surfaces.AuthorizationBridge, page
	b.ep = &ep
	b.directory.put(&ep, b.compiled)
	for _, token := range []string{"alice", "bob"} {
		c := *b.auth.callers["Bearer "+token]
		c.Key.Mode, c.Grant = oauth.ModeBridge, id.New[id.GrantKind]()
		b.auth.admit(token, &c)
	}
}

func TestAClientThatCannotAskGetsThePage(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	bridged(b, true)
	old := func(who, arguments string) heard {
		return b.read(legacy(version20250618, "tools/call", `{"name":"archive","arguments":`+arguments+`}`).as(who))
	}
	pending := func(got heard) bool {
		return got.kind() == kindNeedsPerson && len(got.Result.Content) == 2 && got.Result.Content[1].Type == "resource_link" &&
			got.Result.Content[1].URI == "https://pages.example.test/connect/approvals/x" && strings.Contains(got.Result.Content[0].Text, got.Result.Content[1].URI)
	}
	for what, got := range map[string]heard{"2025": old("alice", `{"id":42}`), "2026 without a form": b.asks("alice", "archive", `{"id":42}`, `{}`, agreed)} {
		if !pending(got) {
			t.Errorf("%s: %s", what, got.body)
		}
	}
	b.nothingRan(t, "not approved")
	call := b.once.decides(approvals.Approved)
	if call.About.Question != `Archive customer "42" ((nothing))?` || string(call.About.Arguments) != `{"id":42}` || call.About.Surface != "Acme acme" || call.About.Title != "Title of archive" {
		t.Errorf("asked %+v", call.About)
	}
	for what, got := range map[string]heard{"Bob": old("bob", `{"id":42}`), "other arguments": old("alice", `{"id":43}`)} {
		if !pending(got) {
			t.Errorf("%s: %s", what, got.body)
		}
	}
	b.nothingRan(t, "approved for another call")
	if got := old("alice", `{"id":42}`); got.kind() != "" || got.Result == nil || len(b.calls()) != 1 {
		t.Fatalf("%s, ran %v", got.body, b.calls())
	}
	if got := old("alice", `{"id":42}`); !pending(got) || len(b.calls()) != 1 {
		t.Errorf("a second time: %s", got.body)
	}
	b.once.decides(approvals.Declined)
	if got := old("alice", `{"id":42}`); got.kind() != kindDeclined || len(b.calls()) != 1 {
		t.Errorf("declined: %s", got.body)
	}
	// Whoever can be asked is asked where they are.
	b.asks("alice", "archive", `{"id":42}`, formClient, "").input(t, "confirm")
	// A question has no page.
	if got := b.read(legacy(version20251125, "tools/call", `{"name":"close","arguments":{"id":1}}`).as("alice")); got.kind() != kindNeedsPerson || len(got.Result.Content) != 1 {
		t.Errorf("a question: %s", got.body)
	}
	bridged(b, false)
	if got := old("alice", `{"id":42}`); got.kind() != kindNeedsPerson || len(got.Result.Content) != 1 {
		t.Errorf("without the page: %s", got.body)
	}
	b.once.away = errors.New("hidden cause")
	bridged(b, true)
	if got := old("alice", `{"id":42}`); got.Error == nil || strings.Contains(got.body, "hidden") || len(b.calls()) != 1 {
		t.Errorf("with the store away: %s", got.body)
	}
}

// asksFor makes the function ask, until a round brings answers.
func (b *askingBundle) asksFor(rounds func(r round) (mcp.InputRequestMap, string)) {
	b.runner.do(func(_ context.Context, c *call, tool *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ran = append(b.ran, string(c.round.answers)+" "+c.round.kept)
		requests, kept := rounds(c.round)
		if requests != nil {
			return &mcp.CallToolResult{InputRequests: requests, RequestState: kept}, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}, RequestState: "left over"}, nil
	})
}

func requestsOf(t *testing.T, text string) mcp.InputRequestMap {
	t.Helper()
	var requests mcp.InputRequestMap
	if err := json.Unmarshal([]byte(text), &requests); err != nil {
		t.Fatal(err)
	}
	return requests
}

const (
	asksName  = `"name":{"method":"elicitation/create","params":{"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}}}`
	asksModel = `"model":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Greet."}}],"maxTokens":50}}`
	asksRoots = `"roots":{"method":"roots/list","params":{}}`
	anyClient = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`
)

func TestAFunctionAsksInRounds(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	b.asksFor(func(r round) (mcp.InputRequestMap, string) {
		switch r.kept {
		case "":
			return requestsOf(t, `{`+asksName+`,`+asksModel+`,`+asksRoots+`}`), "first"
		case "first":
			return requestsOf(t, `{"color":{"method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object","properties":{"color":{"type":"string","enum":["red","blue"]}}}}}}`), "second"
		}
		return nil, ""
	})
	// Answers to what was not asked reach no function.
	first := b.asks("alice", "interview", `{}`, anyClient, `"inputResponses":{"name":{"action":"accept","content":{"name":"Mallory"}}}`)
	state := first.input(t, "name")
	if strings.Contains(state, "first") || len(first.Result.InputRequests) != 3 {
		t.Fatal(first.body)
	}
	if got := b.asks("bob", "interview", `{}`, anyClient, state); !got.stale() {
		t.Errorf("Bob goes on: %s", got.body)
	}
	ran := len(b.calls())
	again := b.asks("alice", "interview", `{}`, anyClient, `"inputResponses":{"name":{"action":"accept","content":{"name":"A"}},"model":{"role":"assistant","content":{"type":"text","text":"Hello"},"model":"m"},"roots":{"roots":[]}},`+state)
	state = again.input(t, "name")
	if len(again.Result.InputRequests) != 1 || !strings.Contains(again.Result.InputRequests["name"].Params.Message, "What is your name? (The answer before did not fit: name:") || len(b.calls()) != ran {
		t.Fatalf("%s", again.body)
	}
	second := b.asks("alice", "interview", `{}`, anyClient, `"inputResponses":{"name":{"action":"accept","content":{"name":"Alice"}},"extra":{"action":"accept"}},`+state)
	state = second.input(t, "color")
	last := b.calls()[len(b.calls())-1]
	for _, want := range []string{`"name":{"action":"accept","content":{"name":"Alice"}}`, `"text":"Hello"`, `"roots":{"roots":[]}`, "} first"} {
		if !strings.Contains(last, want) {
			t.Errorf("the function got %s, without %s", last, want)
		}
	}
	if strings.Contains(last, "extra") || strings.Contains(strings.Join(b.calls(), ""), "Mallory") {
		t.Errorf("the function got what it did not ask for: %v", b.calls())
	}
	third := b.asks("alice", "interview", `{}`, anyClient, `"inputResponses":{"color":{"action":"decline"}},`+state)
	if !third.done() || third.Result.RequestState != "" || b.calls()[len(b.calls())-1] != `{"color":{"action":"decline"}} second` {
		t.Errorf("%s, ran %v", third.body, b.calls())
	}
}

// TestAnswersThatComeWithTheCall count where the function keeps nothing, and
// reach it only where it asks for them.
func TestAnswersThatComeWithTheCall(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	for kept, taken := range map[string]bool{"": true, "kept": false} {
		b.ran = nil
		b.asksFor(func(r round) (mcp.InputRequestMap, string) {
			if r.answers != nil {
				return nil, ""
			}
			return requestsOf(t, `{`+asksName+`}`), kept
		})
		got := b.asks("alice", "interview", `{}`, formClient, `"inputResponses":{"name":{"action":"accept","content":{"name":"Alice"}},"more":{}}`)
		if got.done() != taken || b.calls()[0] != " " || taken && b.calls()[1] != `{"name":{"action":"accept","content":{"name":"Alice"}}} ` {
			t.Errorf("kept %q: %s, ran %v", kept, got.body, b.calls())
		}
		b.asks("alice", "interview", `{}`, formClient, `"inputResponses":{"name":{"action":"accept","content":{"name":"A"}}}`).input(t, "name")
	}
}

func TestAFunctionMayAskOnlyWhatTheClientCan(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	for _, try := range []struct{ asks, client, missing string }{
		{asksName, `{}`, `{"elicitation":{"form":{}}}`},
		{asksModel, formClient, `{"sampling":{}}`},
		{asksName + "," + asksRoots + "," + asksModel, `{"sampling":{}}`, `{"elicitation":{"form":{}},"roots":{}}`},
		{`"go":{"method":"elicitation/create","params":{"mode":"url","message":"Pay there.","url":"https://pay.example.test/x","elicitationId":"1"}}`, formClient, `{"elicitation":{"url":{}}}`},
	} {
		b.asksFor(func(round) (mcp.InputRequestMap, string) { return requestsOf(t, `{`+try.asks+`}`), "" })
		got := b.asks("alice", "interview", `{}`, try.client, "")
		var data struct {
			Error struct{ Data json.RawMessage }
		}
		_ = json.Unmarshal([]byte(got.body), &data)
		if got.status != http.StatusBadRequest || got.Error == nil || got.Error.Code != -32021 || string(data.Error.Data) != `{"requiredCapabilities":`+try.missing+`}` {
			t.Errorf("%s: %d %s", try.asks, got.status, got.body)
		}
		if got := b.asks("alice", "interview", `{}`, anyClient, ""); got.Result == nil || got.Result.ResultType != "input_required" {
			t.Errorf("%s: %s", try.asks, got.body)
		}
		if got := b.read(legacy(version20251125, "tools/call", `{"name":"interview","arguments":{}}`).as("alice")); got.kind() != kindNeedsPerson {
			t.Errorf("a client of before: %s", got.body)
		}
	}
}

func TestAFunctionMayAskOnlyWhatClientsCanShow(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	form := func(schema string) string {
		return `"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":` + schema + `}}`
	}
	for _, asks := range []string{
		"", form(`{"type":"string"}`), form(`{"type":"object","properties":{}}`), form(`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`),
		form(`{"type":"object","properties":{"a":{"$ref":"https://evil.example.test"}}}`), form(`{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`),
		form(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`),
		`"k":{"method":"elicitation/create","params":{"message":" ","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
		`"k":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"javascript:alert(1)"}}`,
		`"k":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://user:password@pay.example.test"}}`,
		`"k":{"method":"elicitation/create","params":{"mode":"other","message":"m","url":"https://pay.example.test"}}`,
		`"k":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`,
		form(`{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("x", maxRequestBytes) + `"}}}`),
	} {
		b.asksFor(func(round) (mcp.InputRequestMap, string) { return requestsOf(t, `{`+asks+`}`), "" })
		if got := b.asks("alice", "interview", `{}`, anyClient, ""); got.kind() != kindOutOfDate {
			t.Errorf("%.120s: %.300s", asks, got.body)
		}
	}
	b.asksFor(func(round) (mcp.InputRequestMap, string) {
		return requestsOf(t, `{`+asksName+`}`), strings.Repeat("x", maxKept+1)
	})
	if got := b.asks("alice", "interview", `{}`, anyClient, ""); got.kind() != kindOutOfDate {
		t.Errorf("a large state: %.200s", got.body)
	}
	if got := b.asks("alice", "plain", `{}`, anyClient, ""); got.kind() != kindOutOfDate {
		t.Errorf("a tool that may not ask: %.200s", got.body)
	}
	// One that never ends.
	b.asksFor(func(round) (mcp.InputRequestMap, string) { return requestsOf(t, `{`+asksRoots+`}`), "" })
	got := b.asks("alice", "interview", `{}`, anyClient, "")
	for range maxRounds - 1 {
		got = b.asks("alice", "interview", `{}`, anyClient, `"inputResponses":{"roots":{"roots":[]}},`+got.input(t, "roots"))
	}
	if got := b.asks("alice", "interview", `{}`, anyClient, `"inputResponses":{"roots":{"roots":[]}},`+got.input(t, "roots")); got.kind() != kindOutOfDate {
		t.Errorf("after %d rounds: %s", maxRounds, got.body)
	}
}

func TestArgumentsAreTheSameHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	same := func(a, b string) bool {
		one, err := sameArguments([]byte(a))
		other, err2 := sameArguments([]byte(b))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return string(one) == string(other)
	}
	for _, pair := range [][2]string{
		{``, `{}`}, {`null`, ` { } `}, {`{"a":1,"b":[1, 2]}`, `{ "b":[1,2],"a":1}`}, {`{"a":"\u0041\/"}`, `{"a":"A/"}`}, {`{"é":{"z":1,"a":2}}`, `{"\u00e9":{"a":2,"z":1}}`},
	} {
		if !same(pair[0], pair[1]) {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{
		{`{"a":1}`, `{"a":2}`}, {`{"a":1}`, `{"a":1.0}`}, {`{"a":1}`, `{"a":"1"}`}, {`{"a":[1,2]}`, `{"a":[2,1]}`}, {`{"a":null}`, `{}`}, {`{"a":"x"}`, `{"a":"X"}`},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`}, {`{"a":"\ud800"}`, `{"a":"\ud801"}`}, {`{"a":"b\",\"c\":\"d"}`, `{"a":"b","c":"d"}`},
	} {
		if same(pair[0], pair[1]) {
			t.Errorf("%s and %s are the same", pair[0], pair[1])
		}
	}
}

// FuzzRound: whatever stands in params, nothing of it confirms a call, and the
// edge always answers.
func FuzzRound(f *testing.F) {
	for _, seed := range []string{
		agreed, agreed + `,"requestState":"x"`, `"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}},"a":{"roots":[]}},"requestState":"AAAA"`,
		`"inputResponses":null`, `"inputResponses":[],"requestState":1`, `"requestState":"\ud800","inputResponses":{"":{}}`, `"requeststate":"a","InputResponses":{}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, more string) {
		params := `{"name":"archive","arguments":{"id":1},` + more + `}`
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
		list, _, err := parseEnvelope([]byte(body), false)
		if err != nil || len(list) != 1 || list[0].params == nil {
			return
		}
		m := list[0]
		if checkJSON(m.params) != nil || strings.Contains(string(m.params), `"`+memberState+`":`) && memberOf(m.params, memberState) != nil || memberOf(m.params, memberResponses) != nil {
			t.Fatalf("the SDK gets %s", m.params)
		}
		if checkRound(&m, version20260728) != nil {
			return
		}
		a := &asking{states: testKeys(t).Sealer("request-state"), once: &memoryApprovals{used: map[string]bool{}}, now: time.Now}
		c := runCall()
		c.brought = m.round
		b, err := c.bind(methodCallTool, "archive", memberOf(m.params, "arguments"))
		if err != nil {
			return
		}
		if s, err := a.open(t.Context(), c, b); m.round.stated && err == nil || s.Stage != "" {
			t.Fatalf("opened %q", m.round.state)
		}
		m.round.replyTo("confirm").confirmed()
		_ = m.round.replyTo("a").misfits(&mcp.ElicitParams{RequestedSchema: json.RawMessage(confirmForm)})
	})
}

// FuzzState: a sealed state opens as it was, for its call and nothing else.
func FuzzState(f *testing.F) {
	f.Add("archive", `{"id":1}`, "alice", "kept", 3)
	f.Add("", ``, "", "", 0)
	f.Fuzz(func(t *testing.T, tool, arguments, subject, kept string, flip int) {
		if checkJSON([]byte(arguments)) != nil && arguments != "" || len(kept) > maxKept {
			return
		}
		a := &asking{states: testKeys(t).Sealer("request-state"), once: &memoryApprovals{used: map[string]bool{}}, now: time.Now}
		c := runCall()
		c.caller.Key.Subject = subject
		b, err := c.bind(methodCallTool, tool, []byte(arguments))
		if err != nil {
			return
		}
		state, err := a.seal(b, keptState{Stage: stageFunction, Kept: kept})
		if err != nil {
			t.Fatal(err)
		}
		other, err := c.bind(methodGetPrompt, tool, []byte(arguments))
		if err != nil {
			t.Fatal(err)
		}
		c.brought = brought{state: state, stated: true}
		if _, err := a.open(t.Context(), c, other); err == nil {
			t.Fatal("opened for another method")
		}
		broken := []byte(state)
		broken[max(flip, -flip)&0x7fffffff%len(broken)] ^= 1
		c.brought.state = string(broken)
		if _, err := a.open(t.Context(), c, b); err == nil {
			t.Fatal("opened though it was changed")
		}
		c.brought.state = state
		if s, err := a.open(t.Context(), c, b); err != nil || s.Kept != strings.ToValidUTF8(kept, "\uFFFD") || s.Stage != stageFunction {
			t.Fatalf("%+v %v", s, err)
		}
		if _, err := a.open(t.Context(), c, b); err == nil {
			t.Fatal("opened twice")
		}
	})
}
