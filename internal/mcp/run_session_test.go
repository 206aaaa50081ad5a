package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// tokenProject answers those who bring a good token, and keeps who asked.
type tokenProject struct {
	mu   sync.Mutex
	good map[supabase.Session]bool
	seen []supabase.Session
}

func (p *tokenProject) answer(s supabase.Session, body string) (supabase.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, s)
	a := supabase.Answer{Status: 200, Body: []byte(body), Took: time.Millisecond}
	if !p.good[s] {
		return a, &supabase.Error{Status: 401, Code: "PGRST303", Rows: -1}
	}
	return a, nil
}

func (p *tokenProject) Select(_ context.Context, s supabase.Session, q supabase.Select) (supabase.Answer, error) {
	if q.Single {
		return p.answer(s, `{"id":"1","name":"Ada","status":"active"}`)
	}
	return p.answer(s, `[{"id":"1","name":"Ada","status":"active"}]`)
}

func (p *tokenProject) Call(_ context.Context, s supabase.Session, _ supabase.Call) (supabase.Answer, error) {
	return p.answer(s, `7`)
}

func (p *tokenProject) Insert(_ context.Context, s supabase.Session, _ supabase.Insert) (supabase.Answer, error) {
	return p.answer(s, `{"id":"1","name":"Ada","status":"active"}`)
}

func (p *tokenProject) Update(_ context.Context, s supabase.Session, _ supabase.Change) (supabase.Answer, error) {
	return p.answer(s, `{"id":"1","name":"Ada","status":"active"}`)
}

func (p *tokenProject) Delete(_ context.Context, s supabase.Session, _ supabase.Change) (supabase.Answer, error) {
	return p.answer(s, `{"id":"1","name":"Ada","status":"active"}`)
}

func writingTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "archive", Result: surfaces.ResultHybrid, Budget: 16 << 10, RPC: &surfaces.RPCPlan{
		Relation: surfaces.Relation{Schema: "public", Name: "archive"}, Returns: surfaces.Returns{Kind: surfaces.ReturnsScalar},
	}}
}

// bridgeCall is a call of a caller whose session gives these tokens.
func bridgeCall(tokens ...string) (*call, *memorySession) {
	c, s := runCall(), &memorySession{tokens: tokens}
	c.caller = &oauth.Caller{
		Key: oauth.CallerKey{Mode: oauth.ModeBridge, Subject: "alice"}, Expires: runNow.Add(-time.Second), Session: s,
	}
	return c, s
}

func (c *call) sessionOf(token string) supabase.Session {
	ref := c.endpoint.Project
	return supabase.AsUser(supabase.Project{ID: ref.ID, APIOrigin: ref.APIOrigin, PublishableKey: ref.PublishableKey}, seal.NewSecret(token))
}

var everyKind = map[string]struct {
	tool      func() *surfaces.Tool
	arguments string
}{
	"list": {listTool, `{}`}, "get": {getTool, `{"id":"1"}`}, "rpc that writes": {writingTool, `{}`},
	"create": {createTool, `{"name":"Ada"}`}, "update": {updateTool, `{"id":"1","patch":{"name":"Ada"}}`}, "delete": {deleteTool, `{"id":"1"}`},
}

func TestTokenTheProjectRefusesIsRenewedOnce(t *testing.T) {
	t.Parallel()
	for name, k := range everyKind {
		c, s := bridgeCall("old", "new")
		p := &tokenProject{good: map[supabase.Session]bool{c.sessionOf("new"): true}}
		got := runTool(t, newTestRunner(t, p), c, k.tool(), k.arguments)
		if got.isError || c.unauthorized {
			t.Errorf("%s: %s", name, got.text)
		}
		if want := []supabase.Session{c.sessionOf("old"), c.sessionOf("new")}; !slices.Equal(p.seen, want) {
			t.Errorf("%s: the project was asked %d times", name, len(p.seen))
		}
		if want := []string{"token", "renew old"}; !slices.Equal(s.asked, want) {
			t.Errorf("%s: the session was asked %q", name, s.asked)
		}
	}
}

func TestTokenRefusedTwiceIsTheProjectsTrouble(t *testing.T) {
	t.Parallel()
	for name, k := range everyKind {
		c, s := bridgeCall("old", "new", "never")
		p := &tokenProject{}
		got := runTool(t, newTestRunner(t, p), c, k.tool(), k.arguments)
		if got.kind() != kindUpstream || c.unauthorized || len(p.seen) != 2 || len(s.asked) != 2 {
			t.Errorf("%s: %s after %d requests and %q", name, got.text, len(p.seen), s.asked)
		}
	}
}

func TestDirectTokenIsNeverTriedTwice(t *testing.T) {
	t.Parallel()
	c, p := runCall(), &tokenProject{}
	got := runTool(t, newTestRunner(t, p), c, listTool(), `{}`)
	if !got.isError || len(p.seen) != 1 {
		t.Errorf("%d requests, %s", len(p.seen), got.text)
	}
}

func TestEndedSessionMakesTheAnswerAChallenge(t *testing.T) {
	t.Parallel()
	ended := fault.New(fault.Unauthenticated, "session_ended", "The session has ended.")
	for name, k := range everyKind {
		c, s := bridgeCall()
		s.err = ended
		p := &tokenProject{}
		if got := runTool(t, newTestRunner(t, p), c, k.tool(), k.arguments); got.kind() != kindUnauthenticated || !c.unauthorized || len(p.seen) != 0 {
			t.Errorf("%s: %s", name, got.text)
		}
		c, s = bridgeCall("old")
		s.renew = ended
		if got := runTool(t, newTestRunner(t, p), c, k.tool(), k.arguments); got.kind() != kindUnauthenticated || !c.unauthorized || len(p.seen) != 1 {
			t.Errorf("%s, when renewing: %s", name, got.text)
		}
	}
}

func TestSessionThatCannotBeToldIsNoChallenge(t *testing.T) {
	t.Parallel()
	c, s := bridgeCall()
	s.err = fault.New(fault.Unavailable, "database_away", "secret detail").WithRetryAfter(3 * time.Second)
	got := runTool(t, newTestRunner(t, &tokenProject{}), c, listTool(), `{}`)
	if got.kind() != fault.Unavailable.String() || c.unauthorized || !strings.Contains(got.text, "in 3 seconds") || strings.Contains(got.text, "secret") {
		t.Errorf("%s", got.text)
	}
	c, s = bridgeCall()
	s.err = errors.New("broken")
	if _, err := newTestRunner(t, &tokenProject{}).run(t.Context(), c, listTool(), []byte(`{}`)); !errors.Is(err, s.err) {
		t.Errorf("our own failure: %v", err)
	}
	c, _ = bridgeCall("")
	if _, err := newTestRunner(t, &tokenProject{}).run(t.Context(), c, listTool(), []byte(`{}`)); err == nil {
		t.Error("a session without a token passes")
	}
}

func TestNothingIsAskedOfTheProjectBeforeItIsNeeded(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{"a bad limit": `{"limit":0}`, "a cursor of nobody": `{"cursor":"x"}`, "a bad order": `{"order":"x"}`} {
		c, s := bridgeCall("token")
		if got := runTool(t, newTestRunner(t, &tokenProject{}), c, listTool(), arguments); !got.isError || len(s.asked) != 0 {
			t.Errorf("%s: the session was asked %q", name, s.asked)
		}
	}
}

func TestWaitingForATokenIsTheProjectsTime(t *testing.T) {
	t.Parallel()
	c, s := bridgeCall("token")
	now := runNow
	s.took = func() { now = now.Add(40 * time.Millisecond) }
	r := newTestRunner(t, &tokenProject{good: map[supabase.Session]bool{c.sessionOf("token"): true}}).withClock(func() time.Time { return now })
	runTool(t, r, c, listTool(), `{}`)
	if c.projectTime != 41*time.Millisecond {
		t.Errorf("project time %v", c.projectTime)
	}
}
