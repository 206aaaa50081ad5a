package dashboard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/mcp"
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
	"github.com/chumbo-dev/chumbo/web"
	"github.com/chumbo-dev/chumbo/web/dashboard"
)

// surfaceStage is a dashboard on loopback with a project of Acme whose schema
// is imported, and people who are signed in.
type surfaceStage struct {
	url      string
	db       *dbtest.Database
	log      *lockedLog
	tenants  *tenants.Service
	surfaces *surfaces.Service
	builders *builders.Service
	steps    *events.Steps

	project tenants.Project
	// Alice owns Acme, Vera may only look at it, Bob owns Globex.
	alice, vera, bob *builderAtWork
}

type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var crm struct {
	once sync.Once
	json []byte
	err  error
}

// crmSnapshot is the schema of the example, imported once for all tests.
func crmSnapshot(t testing.TB) *surfaces.Snapshot {
	t.Helper()
	crm.once.Do(func() {
		ctx := context.Background()
		project, err := standin.Start(ctx, standin.Options{Postgres: localpg.Shared(t), Schema: standin.CRM, Users: standin.CRMUsers()})
		if err != nil {
			crm.err = err
			return
		}
		defer func() { _ = project.Close() }()
		conn, err := pgx.Connect(ctx, project.DSN())
		if err != nil {
			crm.err = err
			return
		}
		defer func() { _ = conn.Close(ctx) }()
		snapshot, err := surfaces.ImportPostgres(ctx, conn, surfaces.ImportOptions{})
		if err != nil {
			crm.err = err
			return
		}
		crm.json, crm.err = json.Marshal(snapshot)
	})
	if crm.err != nil {
		t.Fatalf("import the example's schema: %v", crm.err)
	}
	var own surfaces.Snapshot
	must(t, json.Unmarshal(crm.json, &own))
	return &own
}

// setSurfaceStage starts one.
func setSurfaceStage(t testing.TB) *surfaceStage {
	t.Helper()
	s := &surfaceStage{db: dbtest.NewDatabase(t), log: &lockedLog{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + listener.Addr().String()
	s.compose(t, listener)
	s.people(t)
	s.registerProject(t)
	return s
}

func (s *surfaceStage) compose(t testing.TB, listener net.Listener) {
	t.Helper()
	hosts := tenants.Hosts{PublicURL: s.url}
	var err error
	s.tenants, err = tenants.NewService(tenants.ServiceConfig{Store: s.db.Store, Hosts: hosts, Passwords: tenants.PasswordCost{MemoryKiB: 64, Passes: 1, Lanes: 1}, Now: time.Now})
	must(t, err)
	s.surfaces, err = surfaces.NewService(s.db.Store, time.Now)
	must(t, err)
	out := egress.New(egress.Policy{}) // no page calls a project
	projects, logger := supabase.New(out), slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.builders, err = builders.New(builders.Config{Tenants: s.tenants, Surfaces: s.surfaces, Supabase: projects, Management: supabase.NewManagement(out)})
	must(t, err)
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	must(t, err)
	directory, err := tenants.NewDirectory(tenants.DirectoryConfig{Store: s.db.Store, Hosts: hosts, StaleMax: time.Minute, Now: time.Now, Logger: logger})
	must(t, err)
	verifier, err := oauth.New(oauth.Config{Keys: projects, Now: time.Now})
	must(t, err)
	s.steps = events.NewSteps(s.db.Store, logger)
	t.Cleanup(func() { _ = s.steps.Close(context.Background()) })
	people, err := bridge.New(bridge.Config{
		Store: s.db.Store, Keys: keys, Directory: directory, Watch: directory.Watch(), Hosts: hosts, Projects: projects, Documents: out,
		Verifier: verifier, Steps: s.steps, PagesURL: s.url, Logger: logger, Now: time.Now,
	})
	must(t, err)
	limits, err := ratelimit.New(ratelimit.Config{Store: s.db.Store, Keys: keys, Now: time.Now, Logger: logger})
	must(t, err)
	callers, err := apikeys.New(apikeys.Config{Store: s.db.Store, Watch: directory.Watch(), Projects: projects, Limits: limits, Logger: logger, Now: time.Now})
	must(t, err)
	clients, err := directclients.New(directclients.Config{Store: s.db.Store, Watch: directory.Watch(), Projects: projects, Logger: logger, Now: time.Now})
	must(t, err)
	others, err := issuers.New(issuers.Config{Store: s.db.Store, Keys: keys, Watch: directory.Watch(), Out: out, Limits: limits, Logger: logger, Now: time.Now})
	must(t, err)
	usage, err := events.NewReader(s.db.Store)
	must(t, err)
	handler, err := dashboard.New(dashboard.Config{
		Tenants: s.tenants, Surfaces: s.surfaces, Builders: s.builders, Usage: usage, Bridge: people, Keys: callers, Clients: clients, Introspection: others, Connections: usage, Hosts: hosts, Preview: func(c *surfaces.Compiled) dashboard.Preview { return dashboard.Preview(mcp.PreviewOf(c)) },
		Logger: logger, Version: "test", Now: time.Now,
	})
	must(t, err)
	mux := http.NewServeMux()
	mux.Handle("/app", handler)
	mux.Handle("/app/", handler)
	mux.Handle(web.AssetsPath, web.Assets())
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux}}
	server.Start()
	t.Cleanup(server.Close)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *surfaceStage) people(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	acme, _, _, err := s.tenants.CreateOwner(ctx, "alice@example.test", "Acme Corp")
	must(t, err)
	_, _, _, err = s.tenants.CreateOrganization(ctx, "bob@example.test", "Globex Corp")
	must(t, err)
	vera := uuid.Must(uuid.NewV7())
	s.db.Exec(t, "insert into builders (id, email, created_at) values ($1, 'vera@example.test', now())", vera)
	s.db.Exec(t, "insert into members (organization_id, builder_id, role, created_at) values ($1, $2, 'viewer', now())", acme.ID.UUID(), vera)
	s.alice, s.vera, s.bob = s.signIn(t, "alice"), s.signIn(t, "vera"), s.signIn(t, "bob")
}

// builderAtWork is somebody who is signed in with a browser that runs no
// scripts.
type builderAtWork struct {
	s         *surfaceStage
	session   tenants.Session
	principal tenants.Principal
	cookie    string
}

func (s *surfaceStage) signIn(t testing.TB, name string) *builderAtWork {
	t.Helper()
	email, password := name+"@example.test", seal.NewSecret(name+" knows this by heart")
	must(t, s.tenants.SetPassword(t.Context(), email, password))
	session, err := s.tenants.SignIn(t.Context(), tenants.SignIn{Email: email, Password: password, Address: "192.0.2.1", Agent: "test"})
	must(t, err)
	return &builderAtWork{s: s, session: session, principal: session.Current, cookie: session.Cookie.Reveal()}
}

// registerProject registers acme's project, proven, with its schema. Its
// origin answers nobody: no page may need it.
func (s *surfaceStage) registerProject(t testing.TB) {
	t.Helper()
	origin := "https://acme.example.test"
	project, err := s.tenants.CreateProject(t.Context(), s.alice.principal, tenants.NewProject{Slug: "acme", Name: "Acme", ProjectFacts: tenants.ProjectFacts{
		TypedURL: origin, APIOrigin: origin, Issuer: origin + "/auth/v1", JWKSURI: origin + "/auth/v1/.well-known/jwks.json", Registration: true,
		PublishableKey: "sb_publishable_" + strings.Repeat("a", 31), Signing: tenants.SigningAsymmetric, OAuthEnabled: true,
	}})
	must(t, err)
	_, err = s.surfaces.PutSnapshot(t.Context(), s.alice.principal.Actor(), project.ID, crmSnapshot(t), surfaces.SourcePostgres)
	must(t, err)
	s.project = project
}

// publish makes a file live, past the pages.
func (s *surfaceStage) publish(t testing.TB, surface, file string) surfaces.Revision {
	t.Helper()
	done, err := s.builders.Publish(t.Context(), s.alice.principal, "acme", surface, []byte(file), nil, nil)
	if err != nil {
		t.Fatalf("publish: %v", err)
	}
	return done.Revision
}

// page is an answer of the dashboard.
type page struct {
	status   int
	text     string
	location string
	header   http.Header
}

func (b *builderAtWork) send(t testing.TB, method, path string, form url.Values) page {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.s.url+path, strings.NewReader(form.Encode()))
	must(t, err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("Cookie", "chumbo="+b.cookie)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	return page{res.StatusCode, string(body), res.Header.Get("Location"), res.Header}
}

func (b *builderAtWork) open(t testing.TB, path string) page {
	t.Helper()
	return b.send(t, http.MethodGet, path, nil)
}

// post sends a form with the session's own value, pairs of name and value.
func (b *builderAtWork) post(t testing.TB, path string, pairs ...string) page {
	t.Helper()
	form := url.Values{"csrf": {b.session.CSRF}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return b.send(t, http.MethodPost, path, form)
}

// hidden is the value of a hidden field of a page.
func (p page) hidden(t testing.TB, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(p.text)
	if found == nil {
		t.Fatalf("the page has no field %s: %d %s", name, p.status, p.text)
	}
	return found[1]
}

// audited counts the rows of the audit log with an action and an outcome.
func (s *surfaceStage) audited(t testing.TB, action, outcome string) int {
	t.Helper()
	var n int
	err := s.db.Store.AsSystem(t.Context(), func(_ *db.Queries, tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), "select count(*) from audit_events where action = $1 and outcome = $2", action, outcome).Scan(&n)
	})
	must(t, err)
	return n
}
