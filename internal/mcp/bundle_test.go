package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// testHost is the host every test surface lives on.
const testHost = "mcp.example.test"

// bundle is the edge over in-memory neighbours.
type bundle struct {
	t         testing.TB
	handler   *Handler
	directory *memoryDirectory
	auth      *memoryAuth
	recorder  *memoryRecorder
	runner    *scriptedRunner
	grants    *memoryGrants
	limiter   *memoryLimiter
	clients   *memoryClients
	steps     *memorySteps
	logs      *lockedBuffer
	server    *httptest.Server
}

func setup(t testing.TB) *bundle {
	t.Helper()
	return setupOver(t, nil)
}

// setupOver is setup over another runner than the scripted one.
func setupOver(t testing.TB, run runner) *bundle {
	t.Helper()
	b := &bundle{
		t: t, directory: newMemoryDirectory(), auth: &memoryAuth{callers: map[string]*oauth.Caller{}},
		recorder: &memoryRecorder{}, runner: &scriptedRunner{}, logs: &lockedBuffer{},
		grants: &memoryGrants{running: map[id.Grant]map[int]func(){}, gone: map[id.Grant]bool{}}, steps: &memorySteps{},
		limiter: &memoryLimiter{left: map[ratelimit.Bound]int{}}, clients: &memoryClients{names: map[oauth.CallerKey][]string{}},
	}
	cfg := Config{
		Directory: b.directory, Hosts: sentHost{}, Authenticator: b.auth, Recorder: b.recorder, Keys: testKeys(t), Bridge: b.grants, Steps: b.steps, Limiter: b.limiter, Clients: b.clients,
		Connect: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ep, ok := EndpointOf(r.Context())
			if !ok {
				t.Error("connect page without an endpoint")
				return
			}
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<h1>"+ep.Title+"</h1>")
			for _, tool := range ToolsOf(r.Context()) {
				_, _ = io.WriteString(w, "<li>"+tool.Name+"</li>")
			}
		}),
		Logger: slog.New(slog.NewJSONHandler(b.logs, nil)), Now: time.Now, Version: "1.2.3",
	}
	if run == nil {
		run = b.runner
	}
	h, err := newHandler(cfg, run)
	if err != nil {
		t.Fatal(err)
	}
	b.handler = h
	b.server = httptest.NewServer(h)
	t.Cleanup(b.server.Close)
	t.Cleanup(h.Close)
	return b
}

// surface registers a surface at /{slug}/mcp.
func (b *bundle) surface(slug string, edit func(*tenants.Endpoint, *surfaces.Compiled)) *tenants.Endpoint {
	b.t.Helper()
	compiled := &surfaces.Compiled{
		Format: surfaces.Format, Title: "Acme " + slug, Instructions: "Customers of Acme.",
		Access: surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: "direct"},
		Tools:  []surfaces.Tool{testTool("zebra_list"), testTool("customers_list")},
	}
	ep := &tenants.Endpoint{
		Organization: id.New[id.OrganizationKind](), Surface: id.New[id.SurfaceKind](), SurfaceSlug: "main",
		Project: tenants.ProjectRef{ID: id.New[id.ProjectKind](), Slug: slug, Issuer: "https://" + slug + ".example.test/auth/v1", ScopesSupported: []string{"crm.read", "crm.write"}},
		Title:   compiled.Title, State: tenants.StateLive, Revision: 1, Digest: strings.Repeat("a", 64),
		Resource: tenants.Resource{Base: "https://" + testHost, Path: "/" + slug + "/mcp"},
	}
	ep.URLs = []tenants.Resource{ep.Resource}
	if edit != nil {
		edit(ep, compiled)
	}
	ep.Access = compiled.Access
	b.directory.put(ep, compiled)
	return ep
}

// caller makes the token admit a caller to the endpoint.
func (b *bundle) caller(ep *tenants.Endpoint, token, subject string, scopes ...string) {
	b.auth.admit(token, &oauth.Caller{
		Key:   oauth.CallerKey{Surface: ep.Surface, Mode: oauth.ModeDirect, Issuer: ep.Project.Issuer, Subject: subject, Client: "client-" + subject},
		Token: seal.NewSecret(token), Expires: time.Now().Add(time.Hour), Scopes: scopes, Role: "authenticated",
	})
}

func testTool(name string) surfaces.Tool {
	return surfaces.Tool{
		Name: name, Title: "Title of " + name, Description: "Description of " + name,
		Annotations: surfaces.Annotations{ReadOnly: true, Idempotent: true},
		Input:       json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","maxLength":40},"limit":{"type":"integer","minimum":1,"maximum":100},"when":{"type":"string","format":"date-time"}},"additionalProperties":false}`),
		Output:      json.RawMessage(`{"type":"object","properties":{"who":{"type":"string"}}}`),
		Result:      surfaces.ResultStructured, Budget: 16 << 10,
	}
}

// sentHost takes the Host header; an address of the test server counts as the
// test host.
type sentHost struct{}

func (sentHost) EffectiveHost(r *http.Request) string {
	if strings.HasPrefix(r.Host, "127.0.0.1:") || strings.HasPrefix(r.Host, "localhost:") {
		return testHost
	}
	return r.Host
}

func (sentHost) ClientAddress(r *http.Request) string {
	if address := r.Header.Get("X-Test-Address"); address != "" {
		return address
	}
	return "203.0.113.1"
}

type memoryDirectory struct {
	mu        sync.Mutex
	endpoints map[string]*tenants.Endpoint
	compiled  map[revisionKey]*surfaces.Compiled
	lookup    error // answered instead, when set
	load      func(*tenants.Endpoint) error
	loads     int
}

func newMemoryDirectory() *memoryDirectory {
	return &memoryDirectory{endpoints: map[string]*tenants.Endpoint{}, compiled: map[revisionKey]*surfaces.Compiled{}}
}

func (d *memoryDirectory) put(ep *tenants.Endpoint, compiled *surfaces.Compiled) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endpoints[ep.Resource.Path] = ep
	d.compiled[revisionKey{ep.Surface, ep.Revision, ep.Digest}] = compiled
}

func (d *memoryDirectory) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookup = err
}

func (d *memoryDirectory) Lookup(_ context.Context, host, path string) (*tenants.Endpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lookup != nil {
		return nil, d.lookup
	}
	if host != testHost {
		return nil, fault.New(fault.Misdirected, "", "This host is not served here.")
	}
	if ep := d.endpoints[path]; ep != nil {
		return ep, nil
	}
	if ep := d.endpoints[strings.TrimSuffix(path, "/")]; ep != nil {
		return nil, fault.New(fault.NotFound, "", "There is nothing here. The URL is %s, without a slash at its end.", ep.Resource.URL())
	}
	return nil, fault.New(fault.NotFound, "", "There is nothing here.")
}

func (d *memoryDirectory) Compiled(_ context.Context, ep *tenants.Endpoint) (*surfaces.Compiled, error) {
	d.mu.Lock()
	d.loads++
	load, compiled := d.load, d.compiled[revisionKey{ep.Surface, ep.Revision, ep.Digest}]
	d.mu.Unlock()
	if load != nil {
		if err := load(ep); err != nil {
			return nil, err
		}
	}
	return compiled, nil
}

// memoryAuth admits known tokens on the surface they were made for.
type memoryAuth struct {
	mu      sync.Mutex
	callers map[string]*oauth.Caller
	refused []string // subjects
	err     error
}

func (a *memoryAuth) admit(token string, c *oauth.Caller) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.callers["Bearer "+token] = c
}

func (a *memoryAuth) Authenticate(_ context.Context, ep *tenants.Endpoint, h http.Header, _ string) (*oauth.Caller, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return nil, a.err
	}
	if len(h.Values("Authorization")) == 0 && ep.Access.Has(surfaces.ModePublic) {
		return &oauth.Caller{Key: oauth.CallerKey{Surface: ep.Surface, Mode: oauth.ModePublic}, Role: "anon"}, nil
	}
	c := a.callers[h.Get("Authorization")]
	if c == nil || c.Key.Surface != ep.Surface {
		return nil, oauth.SignIn(ep)
	}
	return c, nil
}

func (a *memoryAuth) Refused(ep *tenants.Endpoint, c *oauth.Caller) *oauth.Challenge {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = append(a.refused, c.Key.Subject)
	return oauth.SignIn(ep)
}

type memoryRecorder struct {
	mu   sync.Mutex
	list []events.Invocation
}

func (r *memoryRecorder) Record(inv events.Invocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, inv)
}

func (r *memoryRecorder) all() []events.Invocation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]events.Invocation(nil), r.list...)
}

// scriptedRunner answers with the caller's subject unless told otherwise.
type scriptedRunner struct {
	mu     sync.Mutex
	script func(ctx context.Context, c *call, tool *surfaces.Tool, arguments []byte) (*mcp.CallToolResult, error)
	answer func(ctx context.Context, c *call, fn *surfaces.Function, argument []byte) ([]byte, error)
	asked  []string
	calls  int
}

func (r *scriptedRunner) do(script func(ctx context.Context, c *call, tool *surfaces.Tool, arguments []byte) (*mcp.CallToolResult, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = script
}

func (r *scriptedRunner) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

func (r *scriptedRunner) run(ctx context.Context, c *call, tool *surfaces.Tool, arguments []byte) (*mcp.CallToolResult, error) {
	r.mu.Lock()
	r.calls++
	script := r.script
	r.mu.Unlock()
	if script != nil {
		return script(ctx, c, tool, arguments)
	}
	who, err := json.Marshal(map[string]string{"who": c.caller.Key.Subject})
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(who)}}, StructuredContent: json.RawMessage(who)}, nil
}

// read implements runner: it answers with the caller's subject and what was
// asked for.
func (r *scriptedRunner) read(_ context.Context, c *call, spec *surfaces.Resource, uri string, arguments []byte) (*mcp.ReadResourceResult, error) {
	r.mu.Lock()
	r.calls++
	r.mu.Unlock()
	return oneContents(&mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: spec.Name + " " + c.caller.Key.Subject + " " + string(arguments)}), nil
}

// prompt implements runner, as read does.
func (r *scriptedRunner) prompt(_ context.Context, c *call, spec *surfaces.Prompt, arguments []byte) (*mcp.GetPromptResult, error) {
	r.mu.Lock()
	r.calls++
	r.mu.Unlock()
	text := &mcp.TextContent{Text: spec.Name + " " + c.caller.Key.Subject + " " + string(arguments)}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text}}}, nil
}

// suggest implements runner: the one value is the caller's subject.
func (r *scriptedRunner) suggest(_ context.Context, c *call, _ *surfaces.ValueColumn, typed string) ([]string, bool, error) {
	if !beginsWith(c.caller.Key.Subject, typed) {
		return nil, true, nil
	}
	return []string{c.caller.Key.Subject}, true, nil
}

// ask implements runner: nobody answers unless told otherwise.
func (r *scriptedRunner) ask(ctx context.Context, c *call, fn *surfaces.Function, argument []byte) ([]byte, error) {
	r.mu.Lock()
	r.asked = append(r.asked, fn.Name+" "+c.caller.Key.Subject+" "+string(argument))
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return nil, errors.New("no function " + fn.Name)
	}
	return answer(ctx, c, fn, argument)
}

func (r *scriptedRunner) answers(answer func(ctx context.Context, c *call, fn *surfaces.Function, argument []byte) ([]byte, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer, r.asked = answer, nil
}

// questions are those asked since answers was set.
func (r *scriptedRunner) questions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// memoryLimiter grants what each bound says, in one endless window.
type memoryLimiter struct {
	mu    sync.Mutex
	left  map[ratelimit.Bound]int
	taken []string
	err   error
}

func (l *memoryLimiter) Take(_ context.Context, n int, bounds ...ratelimit.Bound) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	for _, b := range bounds {
		left, known := l.left[b]
		if !known {
			left = b.Rate.N
		}
		l.taken = append(l.taken, fmt.Sprintf("%d of %s for %s", n, b.Name, b.Key))
		if left < n {
			return fault.New(fault.RateLimited, "", "Too many requests.").WithRetryAfter(7 * time.Second)
		}
		l.left[b] = left - n
	}
	return nil
}

type memoryClients struct {
	mu    sync.Mutex
	names map[oauth.CallerKey][]string
}

func (m *memoryClients) Name(_ *tenants.Endpoint, c *oauth.Caller, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names[c.Key] = append(m.names[c.Key], name)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// request is one raw HTTP request to the edge.
type request struct {
	method string
	host   string
	path   string
	token  string
	header map[string]string
	body   string
}

func (b *bundle) send(q request) *http.Response {
	b.t.Helper()
	if q.method == "" {
		q.method = http.MethodPost
	}
	if q.path == "" {
		q.path = "/acme/mcp"
	}
	r := httptest.NewRequest(q.method, "http://"+testHost+q.path, strings.NewReader(q.body))
	if q.host != "" {
		r.Host = q.host
	}
	r.Header.Set("Content-Type", "application/json")
	if q.token != "" {
		r.Header.Set("Authorization", "Bearer "+q.token)
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t testing.TB, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// modern is the body and the headers of a request of protocol 2026-07-28.
func modern(method, name, params string) request {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}`
	if params != "" {
		params = "," + params
	}
	q := request{
		header: map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method},
		body:   `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + meta + params + `}}`,
	}
	if name != "" {
		q.header["Mcp-Name"] = name
	}
	return q
}

func (q request) as(token string) request {
	q.token = token
	return q
}

// named sets Mcp-Name, wrapped: any text can be one.
func (q request) named(name string) request {
	q.header["Mcp-Name"] = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
	return q
}

func legacy(version, method, params string) request {
	return request{
		header: map[string]string{"MCP-Protocol-Version": version},
		body:   `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`,
	}
}
