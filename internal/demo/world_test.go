package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// The two ways of speaking, newest first.
var eras = []string{"2026-07-28", "2025-11-25"}

func newClock() *clocktest.Clock { return clocktest.New(time.Now().Truncate(time.Second)) }

// world is a service of its own, for what the running demo cannot show: time
// that passes, several projects, projects that fail.
type world struct {
	clock    *clocktest.Clock
	server   *app.Server
	url      string
	config   app.Config
	database *dbtest.Database
	log      *logBook
}

// newWorld starts the service over a fresh database. It serves projects that
// nobody has proven, and ends with the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, "CHUMBO_REQUIRE_OWNERSHIP=false")
}

// newWorldWith is newWorld with the settings that an operator made, and no
// others.
func newWorldWith(t *testing.T, settings ...string) *world {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	listener, err := listen(ctx, AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{clock: newClock(), url: "http://" + listener.Addr().String(), database: dbtest.NewDatabase(t), log: &logBook{}}
	settings = append(settings, "CHUMBO_PUBLIC_URL="+w.url, "CHUMBO_ALLOW_PRIVATE_HOSTS=true")
	if w.config, err = app.LoadConfig(settings); err != nil {
		t.Fatal(err)
	}
	w.config.DatabaseURL, w.config.MasterKey = seal.NewSecret(w.database.ServerDSN), seal.GenerateKey()
	if w.server, err = w.replica(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.server.Run(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := w.server.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

// replica is another server of the same instance, not listening yet.
func (w *world) replica(ctx context.Context) (*app.Server, error) {
	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return app.NewServer(ctx, w.config, app.Options{Logger: log, Version: "test", Now: w.clock.Now})
}

// logBook keeps what a server logged.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// tenant is an organization of builders with one project.
type tenant struct {
	*standin.Project

	t       *testing.T
	clock   *clocktest.Clock // the project's own
	builder builder
	slug    string
	mcp     string // URL of the surface published last
}

// tenant makes an organization, starts a project for it and registers it. The
// project's clock begins at the world's.
func (w *world) tenant(t *testing.T, organization, slug string, o standin.Options) *tenant {
	t.Helper()
	p := w.project(t, o)
	p.slug = slug
	p.builder = w.organization(t, slug+"@example.test", organization)
	p.must(http.MethodPost, "/projects", registration(p, p.URL(), slug))
	return p
}

// project starts a project that no builder has registered yet.
func (w *world) project(t *testing.T, o standin.Options) *tenant {
	t.Helper()
	p := &tenant{t: t, clock: clocktest.New(w.clock.Now())}
	o.Postgres, o.Schema, o.Users, o.Now = localpg.Shared(t), standin.CRM+o.Schema, standin.CRMUsers(), p.clock.Now
	var err error
	if p.Project, err = standin.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// organization makes a builder with an organization of their own.
func (w *world) organization(t *testing.T, email, name string) builder {
	t.Helper()
	_, _, token, err := w.server.Tenants.CreateOrganization(t.Context(), email, name)
	if err != nil {
		t.Fatal(err)
	}
	return builder{base: w.url + "/api/v1", token: token}
}

// registration is what a builder says of a project that they reach at a URL.
func registration(p *tenant, url, slug string) map[string]string {
	return map[string]string{"url": url, "publishable_key": p.PublishableKey(), "slug": slug, "name": slug}
}

func (p *tenant) must(method, path string, body any) map[string]any {
	p.t.Helper()
	var answer map[string]any
	if err := p.builder.send(p.t.Context(), method, path, body, &answer); err != nil {
		p.t.Fatal(err)
	}
	return answer
}

// importSchema puts the project's schema as it is now.
func (p *tenant) importSchema() {
	p.t.Helper()
	snapshot, err := importSchema(p.t.Context(), p.Project)
	if err != nil {
		p.t.Fatal(err)
	}
	p.must(http.MethodPut, "/projects/"+p.slug+"/schema", snapshot)
}

// publish publishes a surface file as the main surface and returns its URL.
func (p *tenant) publish(file string) string {
	p.t.Helper()
	answer := p.must(http.MethodPost, "/projects/"+p.slug+"/surfaces/main/publish", map[string]string{"file": file})
	p.mcp = answer["urls"].([]any)[0].(string)
	return p.mcp
}

// demoFile is the demo's own surface.
func demoFile(t testing.TB) string {
	t.Helper()
	b, err := surfaceFile("main")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// newTenant is a world with one project whose demo surface is published.
func newTenant(t *testing.T) (*world, *tenant) {
	t.Helper()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{})
	p.importSchema()
	p.publish(demoFile(t))
	return w, p
}

// signIn walks a person through the project's pages and returns the tokens of
// a client that registered itself.
func (p *tenant) signIn(email string) *oauth2.Token {
	p.t.Helper()
	var client struct {
		ClientID string `json:"client_id"`
	}
	postJSON(p.t, p.Issuer()+"/oauth/clients/register", map[string]any{
		"client_name": "End-to-end", "redirect_uris": []string{callbackURL}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"},
	}, &client)
	config := oauth2.Config{
		ClientID: client.ClientID, RedirectURL: callbackURL, Scopes: []string{"email"},
		Endpoint: oauth2.Endpoint{
			AuthURL: p.Issuer() + "/oauth/authorize", TokenURL: p.Issuer() + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	who := personOf(p.t, email, standin.CRMPassword)
	verifier := oauth2.GenerateVerifier()
	back, err := who.authorize(p.t.Context(), config.AuthCodeURL("s-1", oauth2.S256ChallengeOption(verifier)))
	if err != nil {
		p.t.Fatal(err)
	}
	token, err := config.Exchange(p.t.Context(), back.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

// refreshed asks the project's token endpoint for the next tokens.
func (p *tenant) refreshed(token *oauth2.Token) (int, map[string]any) {
	p.t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.RefreshToken}, "client_id": {claim(p.t, token.AccessToken, "client_id")}}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.Issuer()+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, body := send(p.t, req)
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		p.t.Fatalf("refresh: %d %s", status, body)
	}
	return status, answer
}

// token is one of the project's Auth, as issued to a client of the person.
func (p *tenant) token(email string, o standin.TokenOptions) string {
	p.t.Helper()
	if o.ClientID == "" {
		o.ClientID = "00000000-0000-4000-8000-0000000000c1"
	}
	token, err := p.AccessToken(email, o)
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

// reply is the answer to one MCP request.
type reply struct {
	status int
	header http.Header
	body   string
}

// speak sends one MCP request in the manner of a protocol version.
func speak(t testing.TB, target, token, era, method string, params map[string]any) reply {
	t.Helper()
	return speakWith(t, http.Header{}, target, token, era, method, params)
}

// speakWith is speak with headers beside those that every request has.
func speakWith(t testing.TB, h http.Header, target, token, era, method string, params map[string]any) reply {
	t.Helper()
	h.Set("Mcp-Protocol-Version", era)
	if params == nil {
		params = map[string]any{}
	}
	if era == "2026-07-28" {
		h.Set("Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			h.Set("Mcp-Name", name)
		}
		if uri, ok := params["uri"].(string); ok {
			h.Set("Mcp-Name", uri)
		}
		meta := map[string]any{
			"io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo": map[string]string{"name": "end-to-end", "version": "1"},
		}
		if own, ok := params["_meta"].(map[string]any); ok {
			maps.Copy(meta, own)
		}
		params["_meta"] = meta
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	return sendRaw(t, http.MethodPost, target, token, h, string(body))
}

// call runs a tool.
func call(t testing.TB, target, token, era, tool string, arguments map[string]any) reply {
	t.Helper()
	return speak(t, target, token, era, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// sendRaw sends a request as it is. The header Host goes to the request line.
func sendRaw(t testing.TB, method, target, token string, h http.Header, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, values := range h {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: res.StatusCode, header: res.Header, body: string(text)}
}

// toolResult is what a tool answered.
type toolResult struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func (r reply) result(t testing.TB) toolResult {
	t.Helper()
	var answer struct {
		Result *toolResult `json:"result"`
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil || answer.Result == nil || len(answer.Result.Content) == 0 {
		t.Fatalf("no tool result: %d %s", r.status, r.body)
	}
	return *answer.Result
}

// failed is the text of a tool error, which carries nothing else.
func (r reply) failed(t testing.TB) string {
	t.Helper()
	result := r.result(t)
	if r.status != http.StatusOK || !result.IsError || result.Structured != nil {
		t.Fatalf("no tool error: %d %s", r.status, r.body)
	}
	return result.Content[0].Text
}

// pageOf is the structure of a list tool's answer.
type pageOf struct {
	Items      []map[string]any `json:"items"`
	HasMore    bool             `json:"has_more"`
	NextCursor *string          `json:"next_cursor"`
}

func (r reply) page(t testing.TB) pageOf {
	t.Helper()
	result := r.result(t)
	var p pageOf
	if err := json.Unmarshal(result.Structured, &p); err != nil || result.IsError {
		t.Fatalf("no page: %d %s", r.status, r.body)
	}
	return p
}

// challenged fails unless the answer is a 401 with one challenge that leads to
// the metadata of target.
func (r reply) challenged(t testing.TB, target, kind string) {
	t.Helper()
	values := r.header.Values("WWW-Authenticate")
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	want := `Bearer resource_metadata="` + u.Scheme + "://" + u.Host + "/.well-known/oauth-protected-resource" + u.Path + `"`
	if r.status != http.StatusUnauthorized || len(values) != 1 || !strings.HasPrefix(values[0], want) ||
		strings.Contains(values[0], "error=") != (kind != "") || !strings.Contains(values[0], kind) {
		t.Fatalf("not the challenge %q: %d %q %s", kind, r.status, values, r.body)
	}
}

const invalidToken = `error="invalid_token"`
