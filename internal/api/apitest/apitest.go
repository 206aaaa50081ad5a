// Package apitest gives a test a control API of its own: a real handler over a
// fresh control plane, a stand-in project, and builders of two organizations.
// It is for tests only.
package apitest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/api"
	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/apikeys"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/oauth/directclients"
	"github.com/chumbo-dev/chumbo/internal/oauth/issuers"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// PublicURL is the server's public URL: what surface URLs start with.
const PublicURL = "https://mcp.example.test"

// Options change a World. The zero value has a CRM project and a server that
// serves unproven projects.
type Options struct {
	Project          standin.Options
	AllowSplitIssuer bool
	RequireOwnership bool
	TrustedProxies   []netip.Prefix
}

// World is one control API with everything behind it.
type World struct {
	URL     string // where the API listens
	Project *standin.Project

	// Management stands in for Supabase's Management API, in front of Project:
	// a project registered by Hosted is the one it knows.
	Management *standin.Management
	DB         *dbtest.Database
	Log        *Log
	client     *http.Client

	// The services behind the API, for what a test cannot do through it.
	Tenants  *tenants.Service
	Surfaces *surfaces.Service
	Builders *builders.Service
	Bridge   *bridge.Service
	Keys     *apikeys.Service
	Clients  *directclients.Service
	Issuers  *issuers.Service

	// API tokens: Alice owns Acme, Vera may only look at it, Bob owns Globex.
	Alice, Vera, Bob string
}

// New starts a world that ends with the test. The package needs
// localpg.TestMain as its TestMain.
func New(t testing.TB, o Options) *World {
	t.Helper()
	w := &World{DB: dbtest.NewDatabase(t), Log: &Log{}, Project: NewProject(t, o.Project)}
	handler, err := api.New(w.config(t, o))
	if err != nil {
		t.Fatalf("make api: %v", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", handler)
	mux.Handle("/schema/", api.Schemas())
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.URL, w.client = server.URL, server.Client()

	w.people(t)
	return w
}

// NewProject starts a stand-in project, the CRM unless a schema is given.
func NewProject(t testing.TB, o standin.Options) *standin.Project {
	t.Helper()
	o.Postgres = localpg.Shared(t)
	if o.Schema == "" {
		o.Schema, o.Users = standin.CRM, standin.CRMUsers()
	}
	p, err := standin.Start(context.Background(), o)
	if err != nil {
		t.Fatalf("start stand-in project: %v", err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func (w *World) config(t testing.TB, o Options) api.Config {
	t.Helper()
	hosts := tenants.Hosts{PublicURL: PublicURL, TrustedProxies: o.TrustedProxies}
	var err error
	if w.Tenants, err = tenants.NewService(tenants.ServiceConfig{Store: w.DB.Store, Hosts: hosts, Now: time.Now}); err != nil {
		t.Fatalf("make tenants: %v", err)
	}
	if w.Surfaces, err = surfaces.NewService(w.DB.Store, time.Now); err != nil {
		t.Fatalf("make surfaces: %v", err)
	}
	if w.Management, err = standin.StartManagement(w.Project); err != nil {
		t.Fatalf("start stand-in Management API: %v", err)
	}
	t.Cleanup(func() { _ = w.Management.Close() })
	out := egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true})
	projects := supabase.New(out)
	w.Builders, err = builders.New(builders.Config{
		Tenants: w.Tenants, Surfaces: w.Surfaces, Supabase: projects, Management: supabase.NewManagementAt(out, w.Management.URL()),
		AllowSplitIssuer: o.AllowSplitIssuer, RequireOwnership: o.RequireOwnership,
	})
	if err != nil {
		t.Fatalf("make builders: %v", err)
	}
	logger := slog.New(slog.NewJSONHandler(w.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.callers(t, hosts, projects, out, logger)
	reader, err := events.NewReader(w.DB.Store)
	if err != nil {
		t.Fatalf("make reader: %v", err)
	}
	return api.Config{
		Tenants: w.Tenants, Surfaces: w.Surfaces, Builders: w.Builders, Bridge: w.Bridge, Keys: w.Keys, Clients: w.Clients, Introspection: w.Issuers,
		Connections: reader, Hosts: hosts, Logger: logger, Now: time.Now,
	}
}

// callers makes what builders see of callers: no surface is served here.
func (w *World) callers(t testing.TB, hosts tenants.Hosts, projects *supabase.Client, out *egress.Client, logger *slog.Logger) {
	t.Helper()
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatalf("make keys: %v", err)
	}
	directory, err := tenants.NewDirectory(tenants.DirectoryConfig{Store: w.DB.Store, Hosts: hosts, StaleMax: time.Minute, Now: time.Now, Logger: logger})
	if err != nil {
		t.Fatalf("make directory: %v", err)
	}
	verifier, err := oauth.New(oauth.Config{Keys: projects, Now: time.Now})
	if err != nil {
		t.Fatalf("make authenticator: %v", err)
	}
	steps := events.NewSteps(w.DB.Store, logger)
	t.Cleanup(func() { _ = steps.Close(context.Background()) })
	w.Bridge, err = bridge.New(bridge.Config{
		Store: w.DB.Store, Keys: keys, Directory: directory, Watch: directory.Watch(), Hosts: hosts, Projects: projects, Documents: out,
		Verifier: verifier, Steps: steps, PagesURL: PublicURL, Logger: logger, Now: time.Now,
	})
	if err != nil {
		t.Fatalf("make bridge: %v", err)
	}
	limits, err := ratelimit.New(ratelimit.Config{Store: w.DB.Store, Keys: keys, Now: time.Now, Logger: logger})
	if err != nil {
		t.Fatalf("make limits: %v", err)
	}
	w.Keys, err = apikeys.New(apikeys.Config{Store: w.DB.Store, Watch: directory.Watch(), Projects: projects, Limits: limits, Logger: logger, Now: time.Now})
	if err != nil {
		t.Fatalf("make keys: %v", err)
	}
	w.Clients, err = directclients.New(directclients.Config{Store: w.DB.Store, Watch: directory.Watch(), Projects: projects, Logger: logger, Now: time.Now})
	if err != nil {
		t.Fatalf("make clients: %v", err)
	}
	w.Issuers, err = issuers.New(issuers.Config{Store: w.DB.Store, Keys: keys, Watch: directory.Watch(), Out: out, Limits: limits, Logger: logger, Now: time.Now})
	if err != nil {
		t.Fatalf("make issuers: %v", err)
	}
}

// Grant writes a grant of the surface of that name straight into the tables, as
// if the subject had allowed a client, and returns its id.
func (w *World) Grant(t testing.TB, token, project, surface, subject string) id.Grant {
	t.Helper()
	ctx, p := context.Background(), w.Principal(t, token)
	of, err := w.Tenants.Project(ctx, p, project)
	if err != nil {
		t.Fatalf("load project: %v", err)
	}
	at, err := w.Tenants.Surface(ctx, p, project, surface)
	if err != nil {
		t.Fatalf("load surface: %v", err)
	}
	grant, session := id.New[id.GrantKind](), uuid.Must(uuid.NewV7())
	w.DB.Exec(t, `insert into upstream_sessions (organization_id, id, project_id, issuer, subject, email, kind, access_token, refresh_token, access_until, created_at, refreshed_at)
		values ($1, $2, $3, $4, $5, $5 || '@example.test', 'session', '', '', now(), now(), now())`, p.Organization.ID.UUID(), session, of.ID.UUID(), of.Issuer, subject)
	w.DB.Exec(t, `insert into grants (organization_id, id, surface_id, project_id, kind, issuer, subject, client_id, client_name, asked, scopes, read_only, writes,
			upstream_session_id, created_at, approved_at, expires_at)
		values ($1, $2, $3, $4, 'client', $5, $6, $8, 'Claude', '{}', '{crm.read}', true, '{}', $7, now(), now(), now() + interval '90 days')`,
		p.Organization.ID.UUID(), grant.UUID(), at.ID.UUID(), of.ID.UUID(), of.Issuer, subject, session, "client-of-"+grant.String())
	return grant
}

// DirectClient notes that an OAuth client of the project was seen at the surface
// of that name, straight in the tables.
func (w *World) DirectClient(t testing.TB, token, project, surface, client, name string) {
	t.Helper()
	at, err := w.Tenants.Surface(context.Background(), w.Principal(t, token), project, surface)
	if err != nil {
		t.Fatalf("load surface: %v", err)
	}
	w.DB.Exec(t, `insert into direct_clients (organization_id, project_id, client_id, surface_id, name, first_seen_at, last_used_at)
		values ($1, $2, $3, $4, $5, now() - interval '1 hour', now())`, at.Organization.UUID(), at.Project.UUID(), client, at.ID.UUID(), name)
}

// people makes the builders. Vera is written straight into the tables: there is
// no way to invite anybody yet.
func (w *World) people(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	acme, _, alice, err := w.Tenants.CreateOwner(ctx, "alice@example.test", "Acme Corp")
	if err != nil {
		t.Fatalf("make first owner: %v", err)
	}
	_, _, bob, err := w.Tenants.CreateOrganization(ctx, "bob@example.test", "Globex Corp")
	if err != nil {
		t.Fatalf("make second organization: %v", err)
	}
	w.Alice, w.Bob, w.Vera = alice.Reveal(), bob.Reveal(), "cht_"+strings.Repeat("v", 42)+"A"
	vera, hash := uuid.Must(uuid.NewV7()), sha256.Sum256([]byte(w.Vera))
	w.DB.Exec(t, "insert into builders (id, email, created_at) values ($1, 'vera@example.test', now())", vera)
	w.DB.Exec(t, "insert into members (organization_id, builder_id, role, created_at) values ($1, $2, 'viewer', now())", acme.ID.UUID(), vera)
	w.DB.Exec(t, "insert into api_tokens (organization_id, id, builder_id, name, token_hash, created_at) values ($1, $2, $3, 'test', $4, now())",
		acme.ID.UUID(), uuid.Must(uuid.NewV7()), vera, hash[:])
}

// Principal is who a token speaks for.
func (w *World) Principal(t testing.TB, token string) tenants.Principal {
	t.Helper()
	p, err := w.Tenants.VerifyToken(context.Background(), seal.NewSecret(token))
	if err != nil {
		t.Fatalf("verify token: %v", err)
	}
	return p
}

// Token makes another token of that scope for whom owner speaks for.
func (w *World) Token(t testing.TB, owner string, scope tenants.Scope) string {
	t.Helper()
	_, token, err := w.Tenants.CreateToken(context.Background(), w.Principal(t, owner), tenants.NewAPIToken{Name: "test", Scope: scope})
	if err != nil {
		t.Fatalf("make token: %v", err)
	}
	return token.Reveal()
}

// Decide approves or denies a waiting device by its user code, as Alice does in
// the dashboard.
func (w *World) Decide(t testing.TB, userCode string, approve bool) {
	t.Helper()
	if err := w.Tenants.DecideDevice(context.Background(), w.Principal(t, w.Alice), userCode, approve); err != nil {
		t.Fatalf("decide device: %v", err)
	}
}

// Prove puts chumbo_ownership into the stand-in project, for the project of
// that name of whom token speaks for.
func (w *World) Prove(t testing.TB, token, project string) {
	t.Helper()
	of, err := w.Tenants.Project(context.Background(), w.Principal(t, token), project)
	if err != nil {
		t.Fatalf("load project: %v", err)
	}
	w.Run(t, tenants.OwnershipSQL(of.Ownership.Token))
}

// Run runs SQL in the stand-in project's database, as a builder would, and
// waits until its Data API has seen what changed.
func (w *World) Run(t testing.TB, sql string) {
	t.Helper()
	if err := w.Project.Exec(context.Background(), sql); err != nil {
		t.Fatalf("run SQL: %v", err)
	}
	if err := w.Project.ReloadSchema(context.Background()); err != nil {
		t.Fatalf("reload schema: %v", err)
	}
}

// Hosted registers, for whom token speaks for, the project that Management
// knows, as one at *.supabase.co: nothing but Management answers for it.
func (w *World) Hosted(t testing.TB, token, slug string) tenants.Project {
	t.Helper()
	origin := "https://" + w.Management.Ref() + ".supabase.co"
	project, err := w.Tenants.CreateProject(context.Background(), w.Principal(t, token), tenants.NewProject{Slug: slug, ProjectFacts: tenants.ProjectFacts{
		TypedURL: origin, APIOrigin: origin, Issuer: origin + "/auth/v1", JWKSURI: origin + "/auth/v1/.well-known/jwks.json",
		PublishableKey: w.Project.PublishableKey(), Signing: tenants.SigningAsymmetric, OAuthEnabled: true, Registration: true,
	}})
	if err != nil {
		t.Fatalf("register hosted project: %v", err)
	}
	return project
}

// Snapshot imports the stand-in project's schema.
func (w *World) Snapshot(t testing.TB) *surfaces.Snapshot {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, w.Project.DSN())
	if err != nil {
		t.Fatalf("connect to the project: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	snapshot, err := surfaces.ImportPostgres(ctx, conn, surfaces.ImportOptions{})
	if err != nil {
		t.Fatalf("import schema: %v", err)
	}
	return snapshot
}

// Do sends one request with a token and returns status, headers and body.
func (w *World) Do(t testing.TB, token, method, path, contentType, body string) (int, http.Header, string) {
	t.Helper()
	return w.do(t, token, method, path, body, http.Header{"Content-Type": {contentType}})
}

// DoAs sends one request with JSON that a proxy says it forwards for an
// address.
func (w *World) DoAs(t testing.TB, token, method, path, body, forwardedFor string) (int, string) {
	t.Helper()
	status, _, answer := w.do(t, token, method, path, body, http.Header{"Content-Type": {"application/json"}, "X-Forwarded-For": {forwardedFor}})
	return status, answer
}

func (w *World) do(t testing.TB, token, method, path, body string, header http.Header) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatalf("make request: %v", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for name, values := range header {
		if values[0] != "" {
			req.Header[name] = values
		}
	}
	res, err := w.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read answer: %v", err)
	}
	return res.StatusCode, res.Header, string(b)
}

// Log keeps what a server logged.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is everything logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
