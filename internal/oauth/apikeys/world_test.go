package apikeys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const publicURL = "https://chumbo.example.test"

// visitor is the address most guesses of these tests come from.
const visitor = "192.0.2.7"

// checkKey is what a builder writes: the app's own keys, and the function that
// knows them.
const checkKey = `
	create table partner_keys (secret text primary key, answer jsonb);
	alter table partner_keys enable row level security;
	create function check_key(key text) returns jsonb language sql stable security definer set search_path = ''
		as $$ select answer from public.partner_keys where secret = key $$;
	revoke execute on function check_key(text) from public;
	grant execute on function check_key(text) to anon;
	insert into partner_keys values
		('partner-acme', '{"subject": "acme", "client_id": "backend", "scopes": ["crm.read"], "expires_at": null}'),
		('partner-bare', '{"subject": "bare"}'),
		('partner-odd', '{"name": "odd"}');`

// world is one instance: organization Acme of Alice with surfaces main and sales
// of project acme, organization Globex of Bob with main of project globex, which
// is the same project at Supabase. Replicas share all of it but the servers' own
// memory.
type world struct {
	*dbtest.Database
	clock     *clocktest.Clock
	keys      *seal.Keyset
	project   *standin.Project
	tenants   *tenants.Service
	directory *tenants.Directory
	logs      *lockedBuffer
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
	w := &world{Database: dbtest.NewDatabase(t), clock: clocktest.New(time.Now().Truncate(time.Second)), keys: keys, logs: &lockedBuffer{}}
	w.tenants, err = tenants.NewService(tenants.ServiceConfig{
		Store: w.Store, Hosts: w.hosts(), Keys: keys, Now: w.clock.Now, Passwords: tenants.PasswordCost{MemoryKiB: 8, Passes: 1, Lanes: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.project, err = standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t), Schema: checkKey, Now: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.project.Close() })
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
	w.directory, err = tenants.NewDirectory(tenants.DirectoryConfig{
		Store: w.Store, Hosts: w.hosts(), StaleMax: time.Minute, Now: w.clock.Now, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	limits, err := ratelimit.New(ratelimit.Config{Store: w.Store, Keys: w.keys, Now: w.clock.Now, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	projects := supabase.New(egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}))
	w.service, err = New(Config{Store: w.Store, Watch: w.directory.Watch(), Projects: projects, Limits: limits, Logger: logger, Now: w.clock.Now})
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

// surface makes a published surface that takes both kinds of keys.
func (w *world) surface(t testing.TB, p tenants.Principal, project, slug string) *tenants.Endpoint {
	t.Helper()
	if _, err := w.tenants.Project(t.Context(), p, project); err != nil {
		_, err := w.tenants.CreateProject(t.Context(), p, tenants.NewProject{Slug: project, ProjectFacts: tenants.ProjectFacts{
			TypedURL: w.project.URL(), APIOrigin: w.project.URL(), Issuer: w.project.Issuer(), JWKSURI: w.project.Issuer() + "/.well-known/jwks.json",
			PublishableKey: w.project.PublishableKey(), Signing: tenants.SigningAsymmetric,
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.tenants.EnsureSurface(t.Context(), p, project, slug)
	if err != nil {
		t.Fatal(err)
	}
	compiled := surfaces.Compiled{Format: surfaces.Format, Title: "Acme CRM", Access: surfaces.Access{
		Modes: []surfaces.Mode{surfaces.ModeAPIKey},
		Keys:  &surfaces.KeyCheck{Function: surfaces.Function{Relation: surfaces.Relation{Schema: "public", Name: "check_key"}, Argument: "key"}},
	}}
	access, _ := json.Marshal(compiled.Access)
	form, _ := json.Marshal(compiled)
	w.Exec(t, `insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_at)
		values ($1, $2, 1, sha256($5), '', $3, $4, $6, $5, '', now())`, s.Organization.UUID(), s.ID.UUID(), compiled.Title, access, form, compiled.Format)
	w.Exec(t, "update surfaces set live_revision = 1 where id = $1", s.ID.UUID())
	u, err := url.Parse(s.URLs[0].URL())
	if err != nil {
		t.Fatal(err)
	}
	ep, err := w.directory.Lookup(t.Context(), u.Host, u.Path)
	if err != nil {
		t.Fatal(err)
	}
	return ep
}

// made is a key of ep, made by its owner.
func (w *world) made(t testing.TB, ep *tenants.Endpoint, n NewKey) (Key, string) {
	t.Helper()
	p := w.alice
	if ep.Organization == w.bob.Organization.ID {
		p = w.bob
	}
	if n.Name == "" {
		n.Name = "backend"
	}
	key, secret, err := w.service.Create(t.Context(), p, ep.Surface, n)
	if err != nil {
		t.Fatal(err)
	}
	return key, secret.Reveal()
}

func (w *world) admitted(t testing.TB, ep *tenants.Endpoint, key string) *oauth.Caller {
	t.Helper()
	c, err := w.admit(t, ep, key, visitor)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// admit asks as the authenticator does.
func (w *world) admit(t testing.TB, ep *tenants.Endpoint, key, from string) (*oauth.Caller, error) {
	t.Helper()
	if ours(key) {
		return w.service.Admit(t.Context(), ep, key)
	}
	return w.service.AdmitChecked(t.Context(), ep, key, from)
}

// wantDenied wants a challenge of that code.
func wantDenied(t testing.TB, w *world, ep *tenants.Endpoint, key, code string) {
	t.Helper()
	c, err := w.admit(t, ep, key, visitor)
	var challenge *oauth.Challenge
	if !errors.As(err, &challenge) || challenge.Code != code || challenge.Status != 401 || c != nil {
		t.Errorf("%v, %v; want a challenge %s", c, err, code)
	}
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

// audited counts lines of the audit log.
func (w *world) audited(t testing.TB, action, outcome, target string) (n int) {
	t.Helper()
	w.query(t, &n, "select count(*) from audit_events where action = $1 and outcome = $2 and ($3 = '' or target = $3)", action, outcome, target)
	return n
}

// app runs SQL in the project's database.
func (w *world) app(t testing.TB, sql string) {
	t.Helper()
	if err := w.project.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// hears waits until the server answers from memory about a key: it listens.
func (w *world) hears(t testing.TB, ep *tenants.Endpoint, key string) *keyState {
	t.Helper()
	var known *keyState
	eventually(t, "the server listens", func() bool {
		w.admitted(t, ep, key)
		before, _ := w.service.standing.keys.GetIfPresent(madeKey{ep.Organization, ep.Surface, hashOf(key)})
		w.admitted(t, ep, key)
		known, _ = w.service.standing.keys.GetIfPresent(madeKey{ep.Organization, ep.Surface, hashOf(key)})
		return known != nil && known == before
	})
	return known
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

func newKeyID() id.Key { return id.New[id.KeyKind]() }

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
