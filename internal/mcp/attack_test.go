package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestNobodyFillsTheStreamsOfASurface: one address has as many as any caller,
// and all those without a credential leave room to the others.
func TestNobodyFillsTheStreamsOfASurface(t *testing.T) {
	t.Parallel()
	l := newListeners(newMemoryDirectory(), listsSpelled)
	surface := id.New[id.SurfaceKind]()
	nobody := oauth.CallerKey{Surface: surface, Mode: oauth.ModePublic}
	open := func(from string) (n int) {
		for l.enter(listener{CallerKey: nobody, from: from}) == nil {
			n++
		}
		return n
	}
	if n := open("a"); n != maxCallerListeners {
		t.Errorf("one address has %d streams", n)
	}
	all := maxCallerListeners
	for i := range 2 * maxSurfaceListener {
		all += open(fmt.Sprint(i))
	}
	if all != maxPublicListeners {
		t.Errorf("the public has %d streams", all)
	}
	alice := listener{CallerKey: oauth.CallerKey{Surface: surface, Mode: oauth.ModeBridge, Subject: "alice"}}
	if err := l.enter(alice); err != nil {
		t.Errorf("Alice finds no place: %v", err)
	}
	l.leave(alice)
	for key, n := range l.callers {
		for range n {
			l.leave(key)
		}
	}
	if l.total != 0 || len(l.callers) != 0 || len(l.surfaces) != 0 || len(l.public) != 0 {
		t.Errorf("left behind: %+v", l)
	}
}

// TestPublicStreamsAreCountedByAddress over HTTP.
func TestPublicStreamsAreCountedByAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("open", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModePublic}}
	})
	for i := range maxCallerListeners + 1 {
		q := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL+ep.Resource.Path, strings.NewReader(q.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range q.header {
			req.Header.Set(name, value)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := b.server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		if stream := res.Header.Get("Content-Type") == "text/event-stream"; stream != (i < maxCallerListeners) {
			t.Fatalf("stream %d: %d %s", i, res.StatusCode, res.Header.Get("Content-Type"))
		}
	}
}

// TestEndlessScopesOfAnAppAreNoAnswer: each is looked for among the others.
func TestEndlessScopesOfAnAppAreNoAnswer(t *testing.T) {
	t.Parallel()
	var words []string
	for i := range 40_000 {
		words = append(words, fmt.Sprintf("s%d", i))
	}
	list, err := json.Marshal(words)
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{string(list), `"` + strings.Join(words, " ") + `"`} {
		b := setup(t)
		ep := b.policed(func(c *surfaces.Compiled, docs *surfaces.Tool) {
			c.Access.ScopesFrom, docs.Scopes = &surfaces.ScopesFrom{Function: function("my_scopes", "")}, []string{"s1"}
		})
		b.admitAs(ep, oauth.ModeDirect, "alice", `{}`)
		b.runner.answers(functions(map[string]string{"my_scopes": answer}))
		begun := time.Now()
		if got := b.call("docs", "alice", ""); got.ran() || !strings.Contains(got.body, "unavailable") || time.Since(begun) > 2*time.Second {
			t.Errorf("%s: %+v", time.Since(begun), got)
		}
	}
}

// TestTheConnectPageShowsStrangersNothingThatARuleHides.
func TestTheConnectPageShowsStrangersNothingThatARuleHides(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.policed(func(_ *surfaces.Compiled, docs *surfaces.Tool) { docs.Visible = `"staff" in claims.roles` })
	body := bodyOf(t, b.send(request{method: http.MethodGet, header: map[string]string{"Accept": "text/html"}}))
	if strings.Contains(body, "docs") || !strings.Contains(body, "open") {
		t.Errorf("the page: %s", body)
	}
	b = setup(t)
	b.policed(func(c *surfaces.Compiled, _ *surfaces.Tool) { c.Policy.Visible = `"staff" in claims.roles` })
	if body := bodyOf(t, b.send(request{method: http.MethodGet, header: map[string]string{"Accept": "text/html"}})); strings.Contains(body, "<li>") {
		t.Errorf("the page under a rule of the surface's: %s", body)
	}
}

// TestABatchAsksNoRuleAboutAnotherCallsArguments, and one refused call of a
// batch opens none of the others.
func TestABatchAsksNoRuleAboutAnotherCallsArguments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.policed(func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Policy.Authorizer, docs.Permission = function("auth", "checks"), "docs.read"
		docs.Allow = &surfaces.Allow{Rule: `args.limit < 3`}
		docs.Input = json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer"},"name":{"type":"string"}}}`)
	})
	b.admitAs(ep, oauth.ModeDirect, "alice", `{}`)
	b.runner.answers(func(_ context.Context, _ *call, _ *surfaces.Function, argument []byte) ([]byte, error) {
		return fmt.Appendf(nil, `[{"allowed":%v}]`, !strings.Contains(string(argument), "secret")), nil
	})
	var batch []string
	for i, arguments := range []string{`{"limit":1}`, `{"limit":9}`, `{}`, `{"limit":2,"name":"secret"}`, `{"limit":1}`, `null`} {
		batch = append(batch, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"docs","arguments":%s}}`, i, arguments))
	}
	body := bodyOf(t, b.send(request{body: "[" + strings.Join(batch, ",") + "]", header: map[string]string{"MCP-Protocol-Version": version20250326}}.as("alice")))
	var answers []struct {
		ID     int
		Result struct{ IsError bool }
		Error  any
	}
	if err := json.Unmarshal([]byte(body), &answers); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var ran []int
	for _, a := range answers {
		if a.Error == nil && !a.Result.IsError {
			ran = append(ran, a.ID)
		}
	}
	if !slices.Equal(ran, []int{0, 4}) || b.runner.count() != 2 {
		t.Errorf("ran %v, %d calls: %s", ran, b.runner.count(), body)
	}
}

// TestAskedArgumentsAreThoseThatRun: names twice, however they are written and
// however deep, are refused before anything is asked.
func TestAskedArgumentsAreThoseThatRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.policed(func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Policy.Authorizer, docs.Permission = function("auth", "checks"), "docs.read"
		docs.Input = json.RawMessage(`{"type":"object"}`)
	})
	b.admitAs(ep, oauth.ModeDirect, "alice", `{}`)
	b.runner.answers(func(context.Context, *call, *surfaces.Function, []byte) ([]byte, error) {
		t.Error("the app is asked")
		return []byte(`[{"allowed":true}]`), nil
	})
	for _, arguments := range []string{
		`{"id":1,"id":2}`, `{"id":1,"\u0069d":2}`, `{"a":{"id":1,"id":2}}`, `{"a":[{"id":1,"id":2}]}`, `{"a\ud800":1,"a\ud801":2}`, `[]`, `"x"`,
		`{"n":1e999999}`, strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200),
	} {
		if got := b.call("docs", "alice", arguments); got.ran() || b.runner.count() != 0 {
			t.Errorf("%.40s ran: %s", arguments, got.body)
		}
	}
}

// TestAClientThatGoesAwayLeavesNothingBehind: the calls of a batch share what
// is known of their caller, so none may go on when the next begins.
func TestAClientThatGoesAwayLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.policed(func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Policy.Context, docs.Visible, docs.Allow = function("ctx", ""), `context.ok && tool.name != ""`, &surfaces.Allow{Rule: `context.ok`}
	})
	b.admitAs(ep, oauth.ModeDirect, "alice", `{}`)
	b.runner.answers(func(ctx context.Context, _ *call, _ *surfaces.Function, _ []byte) ([]byte, error) {
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
		return []byte(`{"ok":true}`), ctx.Err()
	})
	var batch []string
	for i := range maxBatch {
		method, params := "tools/list", "{}"
		if i%2 == 1 {
			method, params = "tools/call", `{"name":"docs","arguments":{}}`
		}
		batch = append(batch, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params))
	}
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL+ep.Resource.Path, strings.NewReader("["+strings.Join(batch, ",")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer alice")
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("MCP-Protocol-Version", version20250326)
		if res, err := b.server.Client().Do(req); err == nil {
			_ = res.Body.Close()
		}
		cancel()
	}
	if got := b.call("docs", "alice", ""); !got.ran() {
		t.Errorf("afterwards: %+v", got)
	}
}

// TestAFullSurfaceSaysSo to callers of every kind.
func TestAFullSurfaceSaysSo(t *testing.T) {
	t.Parallel()
	l := newListeners(newMemoryDirectory(), listsSpelled)
	surface := id.New[id.SurfaceKind]()
	for i := range maxSurfaceListener {
		if err := l.enter(listener{CallerKey: oauth.CallerKey{Surface: surface, Mode: oauth.ModeBridge, Subject: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []oauth.Mode{oauth.ModeBridge, oauth.ModePublic} {
		if err := l.enter(listener{CallerKey: oauth.CallerKey{Surface: surface, Mode: mode, Subject: "x"}}); !fault.Is(err, fault.RateLimited) {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if err := l.enter(listener{CallerKey: oauth.CallerKey{Surface: id.New[id.SurfaceKind](), Mode: oauth.ModePublic}}); err != nil {
		t.Errorf("another surface: %v", err)
	}
}

// TestIntegersThatClientsSendAsFloatsReachTheDatabaseAsDigits: JSON has one
// kind of number, and 10.0 is an integer by JSON Schema; the database refuses
// it as the text of one.
func TestIntegersThatClientsSendAsFloatsReachTheDatabaseAsDigits(t *testing.T) {
	t.Parallel()
	small := surfaces.Column{Name: "small", SQLType: "int4", JSON: surfaces.JSONInteger}
	p := answering(`[]`)
	p.onChange = func(change) (supabase.Answer, error) {
		return supabase.Answer{Status: 201, Body: []byte(`{"id":"1"}`)}, nil
	}
	b := setupOver(t, newTestRunner(t, p))
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		list := listTool()
		list.List.Filters = []surfaces.Filter{
			{Argument: "small", Column: small, Operator: "eq"}, {Argument: "small_in", Column: small, Operator: "in"},
			{Argument: "id_gt", Column: idColumn, Operator: "gt"}, {Argument: "status", Column: statusColumn, Operator: "eq"},
		}
		list.Input = []byte(`{"type":"object","properties":{"small":{"type":"integer"},"small_in":{"type":"array","items":{"type":"integer"}},"id_gt":{"anyOf":[{"type":"integer"},{"type":"string"}]},"status":{"type":"string"}}}`)
		update := &surfaces.Tool{Name: "update", Budget: 4096, Result: surfaces.ResultHybrid, Update: &surfaces.UpdatePlan{
			Relation: list.List.Relation, Columns: []surfaces.Column{idColumn}, Key: []surfaces.Column{idColumn}, Patch: "patch",
			Values: writes(small, statusColumn, surfaces.Column{Name: "data", SQLType: "jsonb", JSON: surfaces.JSONAny}),
		}}
		update.Input = []byte(`{"type":"object","properties":{"id":{"anyOf":[{"type":"integer"},{"type":"string"}]},"patch":{"type":"object","properties":{"small":{"type":"integer"},"status":{"type":"string"},"data":{}}}}}`)
		c.Tools = []surfaces.Tool{*list, *update}
	}), "alice", "alice")
	call := func(tool, arguments string) {
		t.Helper()
		if body := bodyOf(t, b.send(modern("tools/call", tool, `"name":"`+tool+`","arguments":`+arguments).as("alice"))); strings.Contains(body, `"isError":true`) {
			t.Errorf("%s: %s", arguments, body)
		}
	}
	call("customers_list", `{"small":10.0,"small_in":[1e1, 2, -3.00],"id_gt":9007199254740993.0,"status":"1.0"}`)
	got := fmt.Sprint(p.selects[0].Where[0].Value, p.selects[0].Where[1].Values, p.selects[0].Where[2].Value, " ", p.selects[0].Where[3].Value)
	if got != "10[10 2 -3]9007199254740993 1.0" {
		t.Errorf("asked for %s", got)
	}
	call("update", `{"id":7.0,"patch":{"small":1.0E+2,"status":"1.0","data":{"small":1.0}}}`)
	if q := p.changes[0].change; q.Where[0].Value != "7" || string(q.Patch) != `{"small":100,"status":"1.0","data":{"small":1.0}}` {
		t.Errorf("changed %+v to %s", q.Where, q.Patch)
	}
	for given, want := range map[string]string{
		`10`: `10`, `10.0`: `10`, `-0.0`: `0`, `1.5`: `1.5`, `"10.0"`: `"10.0"`, `null`: `null`, `true`: `true`, `1e-400`: `1e-400`, `0e5`: `0`, `{"a":1.0}`: `{"a":1.0}`,
	} {
		if got := string(wholeNumber([]byte(given))); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

// TestFiltersTooLongForAnAddress: they travel in one, which what stands before
// a project bounds. A model that is told to try again in a moment does so for
// ever.
func TestFiltersTooLongForAnAddress(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge} {
		p := failing(&supabase.Error{Status: status, Gateway: true, Rows: -1})
		if got := runTool(t, newTestRunner(t, p), runCall(), listTool(), `{"status":"x"}`); got.kind() != "invalid" || !strings.Contains(got.text, "shorter") {
			t.Errorf("%d: %s", status, got.text)
		}
	}
	p := answering(`[]`)
	long := `["` + strings.Repeat(strings.Repeat("n", 999)+`","`, 99) + `n"]`
	if got := runTool(t, newTestRunner(t, p), runCall(), listTool(), `{"status_in":`+long+`}`); got.kind() != "invalid" || len(p.selects) != 0 {
		t.Errorf("a list of a hundred long values: %s, asked %d times", got.text, len(p.selects))
	}
	ids := `["` + strings.Repeat(`a11ce000-0000-4000-8000-00000000000a","`, 99) + `x"]`
	if got := runTool(t, newTestRunner(t, p), runCall(), listTool(), `{"status_in":`+ids+`}`); got.isError || len(p.selects) != 1 {
		t.Errorf("a list of a hundred ids: %s", got.text)
	}
}
