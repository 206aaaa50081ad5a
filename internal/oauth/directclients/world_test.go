package directclients

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	publicURL = "https://chumbo.example.test"
	issuer    = "https://ref.example.test/auth/v1"

	publishableKey = "sb_publishable_0123456789abcdef"
)

// world is one instance: organization Acme of Alice with surfaces main and sales
// of project acme, organization Globex of Bob with surface main of project
// globex, which is the same project at Supabase: one issuer, the same clients.
// Replicas share all of it but the servers' own memory.
type world struct {
	*dbtest.Database
	clock    *clocktest.Clock
	tenants  *tenants.Service
	projects *fakeProjects
	logs     *lockedBuffer

	directory *tenants.Directory
	store     *db.Store // of this server
	service   *Service

	alice, bob          tenants.Principal
	main, sales, globex *tenants.Endpoint
}

func newWorld(t testing.TB) *world {
	t.Helper()
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		Database: dbtest.NewDatabase(t), clock: clocktest.New(time.Now().Truncate(time.Second)), logs: &lockedBuffer{},
		projects: &fakeProjects{answers: map[string]error{}, asked: map[string]int{}},
	}
	w.tenants, err = tenants.NewService(tenants.ServiceConfig{
		Store: w.Store, Hosts: w.hosts(), Keys: keys, Now: w.clock.Now, Passwords: tenants.PasswordCost{MemoryKiB: 8, Passes: 1, Lanes: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.start(t)
	w.alice, w.bob = w.member(t, "alice@example.test", "Acme"), w.member(t, "bob@example.test", "Globex")
	w.main, w.sales = w.surface(t, w.alice, "acme", "main"), w.surface(t, w.alice, "acme", "sales")
	w.globex = w.surface(t, w.bob, "globex", "main")
	return w
}

func (w *world) hosts() tenants.Hosts { return tenants.Hosts{PublicURL: publicURL} }

// start gives the world its server.
func (w *world) start(t testing.TB) {
	t.Helper()
	logger := slog.New(slog.NewJSONHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	w.store = w.Store
	w.directory, err = tenants.NewDirectory(tenants.DirectoryConfig{
		Store: w.Store, Hosts: w.hosts(), StaleMax: time.Minute, Now: w.clock.Now, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.service, err = New(Config{Store: w.store, Watch: w.directory.Watch(), Projects: w.projects, Logger: logger, Now: w.clock.Now})
	if err != nil {
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
	other.start(t)
	return &other
}

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

// surface makes a direct surface that isolates clients.
func (w *world) surface(t testing.TB, p tenants.Principal, project, slug string) *tenants.Endpoint {
	t.Helper()
	made, err := w.tenants.Project(t.Context(), p, project)
	if err != nil {
		made, err = w.tenants.CreateProject(t.Context(), p, tenants.NewProject{Slug: project, ProjectFacts: tenants.ProjectFacts{
			TypedURL: "https://ref.example.test", APIOrigin: "https://ref.example.test", Issuer: issuer, JWKSURI: issuer + "/.well-known/jwks.json",
			PublishableKey: publishableKey, Signing: tenants.SigningAsymmetric,
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.tenants.EnsureSurface(t.Context(), p, project, slug)
	if err != nil {
		t.Fatal(err)
	}
	ep := &tenants.Endpoint{
		Organization: s.Organization, Surface: s.ID, SurfaceSlug: slug, Title: "Acme CRM",
		Project:  tenants.ProjectRef{ID: made.ID, APIOrigin: "https://ref.example.test", Issuer: issuer, PublishableKey: publishableKey},
		Access:   surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: surfaces.AuthorizationDirect, Isolation: surfaces.IsolationClient},
		Resource: tenants.Resource{Base: publicURL, Path: "/" + project + "/" + slug + "/mcp"},
	}
	return ep
}

// isolated is ep with or without access.isolation: client.
func isolated(ep *tenants.Endpoint, on bool) *tenants.Endpoint {
	other := *ep
	other.Access.Isolation = ""
	if on {
		other.Access.Isolation = surfaces.IsolationClient
	}
	return &other
}

// caller is somebody who came to ep by the client.
func (w *world) caller(ep *tenants.Endpoint, client string) *oauth.Caller {
	return &oauth.Caller{
		Key:   oauth.CallerKey{Surface: ep.Surface, Mode: oauth.ModeDirect, Issuer: issuer, Subject: "alice", Client: client},
		Token: seal.NewSecret("token of " + client), Expires: w.clock.Now().Add(time.Hour),
	}
}

func (w *world) admit(t testing.TB, ep *tenants.Endpoint, client string) error {
	t.Helper()
	return w.service.Admit(t.Context(), ep, w.caller(ep, client))
}

func (w *world) admits(t testing.TB, ep *tenants.Endpoint, client string) {
	t.Helper()
	if err := w.admit(t, ep, client); err != nil {
		t.Fatalf("%s at %s: %v", client, ep.Resource.Path, err)
	}
}

// refuses wants a challenge that names the reason.
func (w *world) refuses(t testing.TB, ep *tenants.Endpoint, client string) {
	t.Helper()
	err := w.admit(t, ep, client)
	var challenge *oauth.Challenge
	if !errors.As(err, &challenge) || challenge.Code != codeIsolated || challenge.Status != 401 {
		t.Fatalf("%q at %s: %v", client, ep.Resource.Path, err)
	}
}

// unknown wants a failure that sends nobody to sign in.
func (w *world) unknown(t testing.TB, ep *tenants.Endpoint, client string) {
	t.Helper()
	err := w.admit(t, ep, client)
	var challenge *oauth.Challenge
	if !fault.Is(err, fault.Unavailable) || errors.As(err, &challenge) || fault.From(err).RetryAfter < time.Second {
		t.Fatalf("%s at %s: %v", client, ep.Resource.Path, err)
	}
}

// clients are the project's as its builders see them.
func (w *world) clients(t testing.TB, p tenants.Principal, project id.Project) map[string]Client {
	t.Helper()
	list, err := w.service.List(t.Context(), p, project)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]Client{}
	for _, c := range list {
		byID[c.ID] = c
	}
	return byID
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

// hears waits until the server knows of changes, and so answers from memory.
func (w *world) hears(t testing.TB) {
	t.Helper()
	eventually(t, "the server listens", func() bool { return w.directory.Watch().Fresh(w.directory.Watch().Mark("client:x")) })
}

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

// fakeProjects answers for tokens, and counts the questions.
type fakeProjects struct {
	mu      sync.Mutex
	answers map[string]error
	asked   map[string]int
	lanes   []string
	hold    chan struct{} // answers wait until it is closed
}

func (f *fakeProjects) CurrentUser(ctx context.Context, p supabase.Project, access seal.Secret) (supabase.User, error) {
	f.mu.Lock()
	f.asked[access.Reveal()]++
	f.lanes = append(f.lanes, p.Lane)
	hold, err := f.hold, f.answers[access.Reveal()]
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return supabase.User{}, ctx.Err()
		}
	}
	if errors.Is(err, errPanic) {
		panic(access.Reveal())
	}
	return supabase.User{}, err
}

var errPanic = errors.New("panic")

func (f *fakeProjects) answer(token string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[token] = err
}

func (f *fakeProjects) block(hold chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = hold
}

func (f *fakeProjects) count(token string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[token]
}

func (f *fakeProjects) total() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := 0
	for _, n := range f.asked {
		sum += n
	}
	return sum
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
