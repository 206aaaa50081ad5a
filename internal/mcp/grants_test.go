package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// memoryGrants is a bridge's registry of running calls, and notes first calls.
type memoryGrants struct {
	mu      sync.Mutex
	next    int
	running map[id.Grant]map[int]func()
	gone    map[id.Grant]bool // taken away without a word to the running calls
	firsts  []string
}

func (m *memoryGrants) Running(_ id.Organization, grant id.Grant, cancel func()) func() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	n := m.next
	if m.running[grant] == nil {
		m.running[grant] = map[int]func(){}
	}
	m.running[grant][n] = cancel
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.running[grant], n)
		return m.gone[grant]
	}
}

func (m *memoryGrants) revoke(grant id.Grant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone[grant] = true
	for _, cancel := range m.running[grant] {
		cancel()
	}
}

func (m *memoryGrants) count() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, calls := range m.running {
		n += len(calls)
	}
	return n
}

func (m *memoryGrants) FirstCall(_ context.Context, ep *tenants.Endpoint, c *oauth.Caller, name, version string, v bridge.Visitor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.firsts = append(m.firsts, fmt.Sprintf("%s %s %q %q %s", ep.Resource.Path, c.Key.Subject, name, version, v.Address))
}

func (m *memoryGrants) first() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.firsts)
}

type memorySteps struct {
	mu   sync.Mutex
	list []events.Step
}

func (m *memorySteps) Record(s events.Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, s)
}

func (m *memorySteps) of(kind events.StepKind) []events.Step {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []events.Step
	for _, s := range m.list {
		if s.Kind == kind {
			list = append(list, s)
		}
	}
	return list
}

// memorySession hands out one token after the other.
type memorySession struct {
	mu     sync.Mutex
	tokens []string
	err    error // of Token
	renew  error // of Renew
	asked  []string
	took   func()

	claims    json.RawMessage
	claimsErr error
}

func (s *memorySession) Token(context.Context) (seal.Secret, error) { return s.give("token", s.err) }

// Claims implements oauth.Session.
func (s *memorySession) Claims(context.Context) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, "claims")
	return s.claims, s.claimsErr
}

func (s *memorySession) Renew(_ context.Context, refused seal.Secret) (seal.Secret, error) {
	return s.give("renew "+refused.Reveal(), s.renew)
}

func (s *memorySession) give(what string, err error) (seal.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what)
	if s.took != nil {
		s.took()
	}
	if err != nil {
		return seal.Secret{}, err
	}
	token := s.tokens[0]
	s.tokens = s.tokens[1:]
	return seal.NewSecret(token), nil
}

// bridged registers a bridge surface with a tool that reads, two that write
// under one scope each and one that destroys.
func (b *bundle) bridged(slug string) *tenants.Endpoint {
	b.t.Helper()
	return b.surface(slug, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		writing := func(name string, destructive bool, scopes ...string) surfaces.Tool {
			t := testTool(name)
			t.Annotations, t.Scopes = surfaces.Annotations{Destructive: destructive}, scopes
			t.RPC = &surfaces.RPCPlan{Relation: surfaces.Relation{Schema: "public", Name: name}}
			return t
		}
		c.Access.Authorization = surfaces.AuthorizationBridge
		c.Access.Scopes = []string{"app.read", "app.write"}
		c.Tools = []surfaces.Tool{testTool("customers_list"), writing("rename", false, "app.write"), writing("archive", true)}
	})
}

// grant makes the token admit a bridge caller, limited by what is allowed.
func (b *bundle) grant(ep *tenants.Endpoint, token, subject, client string, allowed *oauth.Allowed, scopes ...string) id.Grant {
	grant := id.New[id.GrantKind]()
	b.auth.admit(token, &oauth.Caller{
		Key:     oauth.CallerKey{Surface: ep.Surface, Mode: oauth.ModeBridge, Issuer: ep.Project.Issuer, Subject: subject, Client: client},
		Expires: time.Now().Add(10 * time.Minute), Scopes: scopes, Role: "authenticated",
		Grant: grant, Allowed: allowed, Session: &memorySession{tokens: []string{"project-token-of-" + subject}},
	})
	return grant
}

func everything() *oauth.Allowed {
	return &oauth.Allowed{Writes: []string{"rename rpc public.rename", "archive rpc public.archive destructive"}}
}

// tools lists the names of the tools the token sees.
func (b *bundle) tools(path, token string) []string {
	b.t.Helper()
	q := modern("tools/list", "", "").as(token)
	q.path = path
	var body struct {
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(bodyOf(b.t, b.send(q))), &body); err != nil {
		b.t.Fatal(err)
	}
	names := []string{}
	for _, tool := range body.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func callTool(path, token, name string) request {
	q := modern("tools/call", name, `"name":"`+name+`","arguments":{}`).as(token)
	q.path = path
	return q
}

func TestGrantsLimitsAreItsOwnAndNobodyElses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.bridged("acme")
	b.grant(ep, "alice-claude", "alice", "claude", &oauth.Allowed{ReadOnly: true}, "app.read", "app.write")
	b.grant(ep, "alice-cursor", "alice", "cursor", everything(), "app.read", "app.write")
	b.grant(ep, "bob-claude", "bob", "claude", everything(), "app.read", "app.write")
	all := []string{"customers_list", "rename", "archive"}
	for token, want := range map[string][]string{
		"alice-claude": {"customers_list"}, "alice-cursor": all, "bob-claude": all,
	} {
		for range 2 {
			if got := b.tools("/acme/mcp", token); !slices.Equal(got, want) {
				t.Errorf("%s sees %v, want %v", token, got, want)
			}
		}
	}
	unknown := bodyOf(t, b.send(callTool("/acme/mcp", "alice-claude", "nothing_of_that_name")))
	for _, name := range []string{"rename", "archive"} {
		res := b.send(callTool("/acme/mcp", "alice-claude", name))
		if body := bodyOf(t, res); res.StatusCode != http.StatusBadRequest || body != unknown || res.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s of a read-only grant: %d %s", name, res.StatusCode, body)
		}
		if res := b.send(callTool("/acme/mcp", "bob-claude", name)); res.StatusCode != http.StatusOK {
			t.Errorf("%s as bob: %d", name, res.StatusCode)
		}
	}
	if n := b.runner.count(); n != 2 {
		t.Errorf("%d calls ran, want bob's two", n)
	}
}

func TestGrantNeverSeesWhatItsUserDidNotAgreeTo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.bridged("acme")
	// Agreed to before archive was destructive, and before rename was there.
	b.grant(ep, "old", "alice", "claude", &oauth.Allowed{Writes: []string{"archive rpc public.archive"}}, "app.write")
	b.grant(ep, "new", "bob", "claude", everything(), "app.write")
	if got := b.tools("/acme/mcp", "old"); !slices.Equal(got, []string{"customers_list"}) {
		t.Errorf("an old grant sees %v", got)
	}
	if res := b.send(callTool("/acme/mcp", "old", "archive")); res.StatusCode != http.StatusBadRequest {
		t.Errorf("it may call what it never agreed to: %d", res.StatusCode)
	}
	if got := b.tools("/acme/mcp", "new"); len(got) != 3 {
		t.Errorf("bob's grant sees %v", got)
	}
}

func TestMissingScopeOfABridgeSurfaceAsksForIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.bridged("acme")
	b.grant(ep, "reads", "alice", "claude", &oauth.Allowed{}, "app.read")
	b.grant(ep, "read-only", "bob", "claude", &oauth.Allowed{ReadOnly: true}, "app.read")
	res := b.send(callTool("/acme/mcp", "reads", "rename"))
	if header := res.Header.Get("WWW-Authenticate"); res.StatusCode != http.StatusForbidden || !strings.Contains(header, `scope="app.write app.read"`) {
		t.Errorf("%d %s", res.StatusCode, header)
	}
	if res := b.send(callTool("/acme/mcp", "read-only", "rename")); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a read-only grant is asked for more: %d", res.StatusCode)
	}
	// What the project itself can grant is nothing here.
	ep.Project.ScopesSupported = []string{"other"}
	caller := &oauth.Caller{Key: oauth.CallerKey{Mode: oauth.ModeBridge}}
	c := &call{endpoint: ep, caller: caller, facts: newFacts(caller, time.Now())}
	r := &revision{rules: &rules{}}
	other := toolCapability(&surfaces.Tool{Gate: surfaces.Gate{Scopes: []string{"other"}}, Annotations: surfaces.Annotations{ReadOnly: true}})
	got := r.judge(t.Context(), c, &other)
	if got.verdict != forbidden || got.told.code != "insufficient_scope" {
		t.Errorf("verdict %v for a scope the surface does not know", got.verdict)
	}
}

func TestRevocationEndsARunningCallWithAChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.bridged("acme")
	alice := b.grant(ep, "alice", "alice", "claude", everything(), "app.write")
	b.grant(ep, "bob", "bob", "claude", everything(), "app.write")
	started, release := make(chan struct{}, 2), make(chan struct{})
	ended := make(chan error, 1)
	b.runner.do(func(ctx context.Context, c *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
		started <- struct{}{}
		if c.caller.Key.Subject == "alice" {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}
		<-release
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "bob's rows"}}}, nil
	})
	answers := map[string]chan *http.Response{"alice": make(chan *http.Response, 1), "bob": make(chan *http.Response, 1)}
	for who, answer := range answers {
		go func() { answer <- b.send(callTool("/acme/mcp", who, "archive")) }()
	}
	<-started
	<-started
	b.grants.revoke(alice)
	res := <-answers["alice"]
	if body := bodyOf(t, res); res.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "token_revoked") || !strings.Contains(res.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("alice: %d %s", res.StatusCode, body)
	}
	if err := <-ended; err == nil {
		t.Error("the call itself was not ended")
	}
	close(release)
	res = <-answers["bob"]
	if body := bodyOf(t, res); res.StatusCode != http.StatusOK || !strings.Contains(body, "bob's rows") {
		t.Errorf("bob: %d %s", res.StatusCode, body)
	}
	if n := b.grants.count(); n != 0 {
		t.Errorf("%d calls are still registered", n)
	}
	for _, inv := range b.recorder.all() {
		if want := map[bool]events.Outcome{true: events.OutcomeError, false: events.OutcomeOK}[inv.ErrorKind == kindUnauthenticated]; inv.Outcome != want {
			t.Errorf("invocation %+v", inv)
		}
	}
	if got := b.grants.first(); len(got) != 1 || !strings.Contains(got[0], "bob") {
		t.Errorf("uses noted: %q", got)
	}
}

func TestRevocationBeforeTheAnswerIsWrittenWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.bridged("acme")
	alice := b.grant(ep, "alice", "alice", "claude", everything(), "app.write")
	b.runner.do(func(context.Context, *call, *surfaces.Tool, []byte) (*mcp.CallToolResult, error) {
		b.grants.mu.Lock()
		b.grants.gone[alice] = true // seen only by done
		b.grants.mu.Unlock()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "rows"}}}, nil
	})
	res := b.send(callTool("/acme/mcp", "alice", "archive"))
	if body := bodyOf(t, res); res.StatusCode != http.StatusUnauthorized || strings.Contains(body, "rows") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

func TestRevocationEndsAStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.bridged("acme")
	alice := b.grant(ep, "alice", "alice", "claude", everything())
	bob := b.grant(ep, "bob", "bob", "claude", everything())
	ended := make(chan string, 2)
	for _, who := range []string{"alice", "bob"} {
		go func() {
			ended <- who + " " + bodyOf(t, b.send(modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`).as(who)))
		}()
	}
	deadline := time.Now().Add(10 * time.Second)
	for b.grants.count() < 2 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	b.grants.revoke(alice)
	body := <-ended
	if !strings.HasPrefix(body, "alice ") || !strings.Contains(body, "resultType") && !strings.Contains(body, "token_revoked") {
		t.Errorf("the first to end: %s", body)
	}
	select {
	case body := <-ended:
		t.Errorf("bob's stream ended, too: %s", body)
	default:
	}
	b.grants.revoke(bob)
	<-ended
	if n := b.grants.count(); n != 0 {
		t.Errorf("%d streams are still registered", n)
	}
}

func TestFirstCallKnowsTheClient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.bridged("acme")
	b.grant(ep, "alice", "alice", "claude", everything())
	b.grant(ep, "bob", "bob", "claude", everything())
	initialize := request{token: "alice", body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-ai","version":"0.1\n"}}}`}
	if res := b.send(initialize); res.StatusCode != http.StatusOK {
		t.Fatalf("initialize: %d", res.StatusCode)
	}
	_ = b.send(legacy("2025-06-18", "ping", "{}").as("alice"))
	_ = b.send(callTool("/acme/mcp", "alice", "rename")) // refused: no use
	if got := b.grants.first(); len(got) != 0 {
		t.Errorf("a use was noted of none: %q", got)
	}
	_ = b.send(legacy("2025-06-18", "tools/list", "{}").as("alice"))
	_ = b.send(legacy("2025-06-18", "tools/list", "{}").as("bob"))
	_ = b.send(callTool("/acme/mcp", "bob", "customers_list"))
	want := []string{
		`/acme/mcp alice "claude-ai" "0.1 " 203.0.113.1`, `/acme/mcp bob "" "" 203.0.113.1`, `/acme/mcp bob "test" "1" 203.0.113.1`,
	}
	if got := b.grants.first(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if steps := b.steps.of(events.StepFirstCall); len(steps) != 0 {
		t.Errorf("the edge recorded %+v, which is the bridge's to do", steps)
	}
}

func TestStepsOfAnAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	clock := clocktest.New(time.Now())
	b.handler.story.now = clock.Now
	direct, bridged := b.surface("acme", nil), b.bridged("globex")
	b.caller(direct, "alice", "alice")
	b.caller(direct, "bob", "bob")
	ask := func(method, path, token, address string) {
		q := modern("tools/list", "", "")
		if method == http.MethodGet {
			q = request{method: method, header: map[string]string{}}
		}
		q.path, q.token = path, token
		q.header["X-Test-Address"], q.header["User-Agent"] = address, strings.Repeat("é", 100)
		_ = b.send(q)
	}
	const meta = "/.well-known/oauth-protected-resource"
	for range 3 {
		for _, address := range []string{"198.51.100.1", "198.51.100.2"} {
			ask(http.MethodPost, "/acme/mcp", "", address)
			ask(http.MethodPost, "/globex/mcp", "", address)
			ask(http.MethodGet, meta+"/acme/mcp", "", address)
			ask(http.MethodPost, "/acme/mcp", "wrong", address) // brought a credential
		}
		ask(http.MethodPost, "/acme/mcp", "alice", "198.51.100.1")
		ask(http.MethodPost, "/acme/mcp", "bob", "198.51.100.2")
	}
	challenges, reads, calls := b.steps.of(events.StepChallenge), b.steps.of(events.StepMetadata), b.steps.of(events.StepFirstCall)
	if len(challenges) != 4 || len(reads) != 2 || len(calls) != 2 {
		t.Fatalf("%d challenges, %d reads, %d first calls; want 4, 2, 2", len(challenges), len(reads), len(calls))
	}
	addresses := map[[32]byte]int{}
	for _, s := range challenges {
		addresses[s.Address]++
		if s.Failed || s.Client != "" || s.At.IsZero() || s.RequestID == "" || len(s.Agent) > maxAgent || s.Agent == "" || s.Surface != direct.Surface && s.Surface != bridged.Surface {
			t.Errorf("step %+v", s)
		}
	}
	if len(addresses) != 2 {
		t.Errorf("%d addresses, want two that differ", len(addresses))
	}
	if addresses[[32]byte(b.handler.cfg.Keys.MAC(seal.AddressHash, []byte("198.51.100.1")))] != 2 {
		t.Error("the address is not hashed as the bridge hashes it")
	}
	if calls[0].Client != "client-alice" || calls[0].ClientName != "test" || calls[0].ClientVersion != "1" || calls[1].Client != "client-bob" {
		t.Errorf("first calls %+v", calls)
	}
	clock.Advance(stepEvery)
	ask(http.MethodPost, "/acme/mcp", "", "198.51.100.1")
	ask(http.MethodPost, "/acme/mcp", "alice", "198.51.100.1")
	clock.Advance(callEvery)
	ask(http.MethodPost, "/acme/mcp", "alice", "198.51.100.1")
	if n, m := len(b.steps.of(events.StepChallenge)), len(b.steps.of(events.StepFirstCall)); n != 5 || m != 3 {
		t.Errorf("later: %d challenges and %d first calls, want 5 and 3", n, m)
	}
}
