package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Where the tests' instance is reached.
const (
	publicURL     = "https://chumbo.example.test"
	surfaceDomain = "mcp.example.test"
)

// world is one instance with a project in it, whose people are Alice and Bob:
// organization Acme, project acme, bridge surface main. Replicas share all of
// it but the servers' own memory.
type world struct {
	*dbtest.Database
	clock   *clocktest.Clock // of the instance and of the project
	hosts   tenants.Hosts
	keys    *seal.Keyset
	project *standin.Project
	tenants *tenants.Service
	builder tenants.Principal // owner of Acme
	ep      *tenants.Endpoint // surface main by its primary URL
	steps   *stepLog
	logs    *lockedBuffer

	projects  *supabase.Client
	documents *egress.Client
	directory *tenants.Directory
	verifier  *oauth.Authenticator
	service   *Service
}

// worldOptions shape a world.
type worldOptions struct {
	project  func(*standin.Options)
	compiled func(*surfaces.Compiled) // of surface main
	instance func(*Config)            // of every replica
}

// newWorld makes a world; each option may be set by a func.
func newWorld(t testing.TB, change ...func(*worldOptions)) *world {
	t.Helper()
	var o worldOptions
	for _, f := range change {
		f(&o)
	}
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		Database: dbtest.NewDatabase(t), clock: clocktest.New(time.Now().Truncate(time.Second)), keys: keys,
		hosts: tenants.Hosts{PublicURL: publicURL, SurfaceDomain: surfaceDomain}, steps: &stepLog{}, logs: &lockedBuffer{},
	}
	w.tenants, err = tenants.NewService(tenants.ServiceConfig{
		Store: w.Store, Hosts: w.hosts, Keys: keys, Now: w.clock.Now, Passwords: tenants.PasswordCost{MemoryKiB: 8, Passes: 1, Lanes: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.project = w.standin(t, o.project)
	w.start(t, o.instance)
	w.builder = w.member(t, "owner@example.test", "Acme")
	w.ep = w.surface(t, w.builder, w.project, "acme", "main", o.compiled)
	return w
}

// start gives the world its server.
func (w *world) start(t testing.TB, change func(*Config)) {
	t.Helper()
	policy := egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}
	w.documents = egress.New(policy)
	w.projects = supabase.New(egress.New(policy))
	logger := slog.New(slog.NewJSONHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	w.directory, err = tenants.NewDirectory(tenants.DirectoryConfig{
		Store: w.Store, Hosts: w.hosts, StaleMax: time.Minute, Now: w.clock.Now, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.verifier, err = oauth.New(oauth.Config{Keys: w.projects, Now: w.clock.Now}); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Store: w.Store, Keys: w.keys, Directory: w.directory, Watch: w.directory.Watch(), Hosts: w.hosts,
		Projects: w.projects, Documents: w.documents, Verifier: w.verifier, Steps: w.steps,
		PagesURL: publicURL, Logger: logger, Now: w.clock.Now,
	}
	if change != nil {
		change(&cfg)
	}
	if w.service, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.directory.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// replica is another server over the same database.
func (w *world) replica(t testing.TB) *world {
	t.Helper()
	other := *w
	other.start(t, nil)
	return &other
}

// standin starts a project with Alice and Bob in it.
func (w *world) standin(t testing.TB, change func(*standin.Options)) *standin.Project {
	t.Helper()
	o := standin.Options{Postgres: localpg.Shared(t), Users: standin.CRMUsers(), Now: w.clock.Now}
	if change != nil {
		change(&o)
	}
	p, err := standin.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// member makes an organization and its owner.
func (w *world) member(t testing.TB, email, organization string) tenants.Principal {
	t.Helper()
	_, _, token, err := w.tenants.CreateOrganization(t.Context(), email, organization)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.tenants.VerifyToken(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// surface makes a published bridge surface, and the project where there is
// none, and returns it by its primary URL.
func (w *world) surface(t testing.TB, p tenants.Principal, project *standin.Project, projectSlug, slug string, change func(*surfaces.Compiled)) *tenants.Endpoint {
	t.Helper()
	if _, err := w.tenants.Project(t.Context(), p, projectSlug); err != nil {
		_, err := w.tenants.CreateProject(t.Context(), p, tenants.NewProject{Slug: projectSlug, ProjectFacts: tenants.ProjectFacts{
			TypedURL: project.URL(), APIOrigin: project.URL(), Issuer: project.Issuer(),
			JWKSURI: project.Issuer() + "/.well-known/jwks.json", PublishableKey: project.PublishableKey(),
			Signing: tenants.SigningAsymmetric, OAuthEnabled: true, ScopesSupported: []string{"openid", "email"},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.tenants.EnsureSurface(t.Context(), p, projectSlug, slug)
	if err != nil {
		t.Fatal(err)
	}
	w.publish(t, s.Organization, s.ID, change)
	return w.endpoint(t, s.URLs[0].URL())
}

// endpoint looks a surface up by one of its URLs.
func (w *world) endpoint(t testing.TB, surfaceURL string) *tenants.Endpoint {
	t.Helper()
	u, err := url.Parse(surfaceURL)
	if err != nil {
		t.Fatal(err)
	}
	ep, err := w.directory.Lookup(t.Context(), u.Host, u.Path)
	if err != nil {
		t.Fatal(err)
	}
	return ep
}

// published is the revision that surfaces of a world have: it knows the scopes
// crm.read and crm.write, has a tool that reads, one that needs a scope, one
// that writes and one that destroys.
func published() *surfaces.Compiled {
	tool := func(name, title string, a surfaces.Annotations, scopes ...string) surfaces.Tool {
		return surfaces.Tool{
			Name: name, Title: title, Description: title + ".", Annotations: a, Gate: surfaces.Gate{Scopes: scopes}, Result: surfaces.ResultStructured,
			Input: json.RawMessage(`{"type":"object"}`), Budget: 1 << 14,
		}
	}
	rpc := func(t surfaces.Tool, function string) surfaces.Tool {
		t.RPC = &surfaces.RPCPlan{Relation: surfaces.Relation{Schema: "public", Name: function}, Returns: surfaces.Returns{Kind: "void"}}
		return t
	}
	read := tool("customers_list", "Look for customers", surfaces.Annotations{ReadOnly: true, Idempotent: true})
	read.List = &surfaces.ListPlan{Relation: surfaces.Relation{Schema: "public", Name: "customers"}}
	notes := tool("notes_list", "Read notes", surfaces.Annotations{ReadOnly: true, Idempotent: true}, "crm.read")
	notes.List = &surfaces.ListPlan{Relation: surfaces.Relation{Schema: "public", Name: "notes"}}
	return &surfaces.Compiled{
		Format: surfaces.Format, Title: "Acme CRM",
		Access: surfaces.Access{
			Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: surfaces.AuthorizationBridge,
			Advertise: []string{"crm.read"}, Scopes: []string{"crm.read", "crm.write"},
		},
		Tools: []surfaces.Tool{
			read, notes,
			rpc(tool("customer_rename", "Rename a customer", surfaces.Annotations{}, "crm.write"), "rename_customer"),
			rpc(tool("customer_archive", "Archive a customer", surfaces.Annotations{Destructive: true}), "archive_customer"),
		},
	}
}

// publish makes the changed standard revision the live one.
func (w *world) publish(t testing.TB, org id.Organization, surface id.Surface, change func(*surfaces.Compiled)) {
	t.Helper()
	c := published()
	if change != nil {
		change(c)
	}
	access, err := json.Marshal(c.Access)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	w.Exec(t, `insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_at)
		select $1, $2, coalesce(max(number), 0) + 1, sha256($5 || coalesce(max(number), 0)::text::bytea), '', $3, $4, $6, $5, '', now() from revisions where surface_id = $2`,
		org.UUID(), surface.UUID(), c.Title, access, compiled, c.Format)
	w.Exec(t, "update surfaces set live_revision = (select max(number) from revisions where surface_id = $1) where id = $1", surface.UUID())
}

// query reads one value as the owner of the cluster, past every rule.
func (w *world) query(t testing.TB, into any, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "set search_path = chumbo"); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(into); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// session signs a person in at the project with email and password.
func (w *world) session(t testing.TB, ep *tenants.Endpoint, email string) supabase.Tokens {
	t.Helper()
	tokens, err := w.projects.SignInPassword(t.Context(), projectOf(ep), email, seal.NewSecret(standin.CRMPassword), "")
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// projectOf is an endpoint's project as package supabase reaches it.
func projectOf(ep *tenants.Endpoint) supabase.Project {
	return supabase.Project{ID: ep.Project.ID, APIOrigin: ep.Project.APIOrigin, PublishableKey: ep.Project.PublishableKey}
}

// signedIn is a person who signed in at ep's project, and whose session is
// kept.
func (w *world) signedIn(t testing.TB, ep *tenants.Endpoint, email string) *Person {
	t.Helper()
	who, err := w.service.keepUpstream(t.Context(), ep, upstreamSession, "", w.session(t, ep, email))
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// client registers a public client at ep, past the registration endpoint.
func (w *world) client(t testing.TB, ep *tenants.Endpoint, name string, redirectURIs ...string) *Client {
	t.Helper()
	c := &Client{ID: "client-" + name, Name: name, RedirectURIs: redirectURIs, AuthMethods: []string{"none"}}
	w.Exec(t, `insert into oauth_clients (organization_id, surface_id, client_id, kind, name, redirect_uris, auth_methods, metadata, created_at, last_used_at)
		values ($1, $2, $3, 'registered', $4, $5, '{none}', '{}', $6, $6)`,
		ep.Organization.UUID(), ep.Surface.UUID(), c.ID, name, redirectURIs, w.clock.Now())
	return c
}

// oauthTokens signs a person in by way (a): our confidential client of the
// project, its consent page and all.
func (w *world) oauthTokens(t testing.TB, ep *tenants.Endpoint, cl supabase.OAuthClient, email string) supabase.Tokens {
	t.Helper()
	verifier := supabase.NewVerifier()
	redirect := publicURL + CallbackPath
	to := w.redirectOf(t, http.MethodGet, ep.Project.Issuer+"/oauth/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {cl.ID}, "redirect_uri": {redirect}, "scope": {"email"}, "state": {"s"},
		"code_challenge": {supabase.Challenge(verifier)}, "code_challenge_method": {"S256"},
	}.Encode(), "", nil)
	authorization := ep.Project.Issuer + "/oauth/authorizations/" + to.Query().Get("authorization_id")
	bearer := w.session(t, ep, email).Access.Reveal()
	back := w.redirectOf(t, http.MethodGet, authorization, bearer, nil)
	if back.Query().Get("code") == "" {
		back = w.redirectOf(t, http.MethodPost, authorization+"/consent", bearer, strings.NewReader(`{"action":"approve"}`))
	}
	tokens, err := w.projects.ExchangeCode(t.Context(), projectOf(ep), cl, back.Query().Get("code"), redirect, verifier)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// redirectOf is where an answer sends the browser: its Location, or its
// redirect_url.
func (w *world) redirectOf(t testing.TB, method, to, bearer string, body io.Reader) *url.URL {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, to, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Apikey", w.project.PublishableKey())
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	place := res.Header.Get("Location")
	if place == "" {
		var answer struct {
			URL string `json:"redirect_url"`
		}
		_ = json.NewDecoder(res.Body).Decode(&answer)
		place = answer.URL
	}
	u, err := url.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// eventually asks again until ok, without more than a moment between.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
		<-tick.C
	}
}

// stepLog keeps the steps recorded.
type stepLog struct {
	mu    sync.Mutex
	steps []events.Step
}

func (l *stepLog) Record(s events.Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, s)
}

// of lists the steps of a kind at a surface.
func (l *stepLog) of(surface id.Surface, kind events.StepKind) []events.Step {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []events.Step
	for _, s := range l.steps {
		if s.Surface == surface && s.Kind == kind {
			list = append(list, s)
		}
	}
	return list
}

// lockedBuffer is where the servers log.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
