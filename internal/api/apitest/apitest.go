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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/api"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/localpg"
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
}

// World is one control API with everything behind it.
type World struct {
	URL     string // where the API listens
	Project *standin.Project
	DB      *dbtest.Database
	Log     *Log
	client  *http.Client

	// API tokens: Alice owns Acme, Vera may only look at it, Bob owns Globex.
	Alice, Vera, Bob string
}

// New starts a world that ends with the test. The package needs
// localpg.TestMain as its TestMain.
func New(t testing.TB, o Options) *World {
	t.Helper()
	w := &World{DB: dbtest.NewDatabase(t), Log: &Log{}, Project: NewProject(t, o.Project)}
	config := w.config(t, o)
	handler, err := api.New(config)
	if err != nil {
		t.Fatalf("make api: %v", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", handler)
	mux.Handle("/schema/", api.Schemas())
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.URL, w.client = server.URL, server.Client()

	w.people(t, config.Tenants)
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
	builders, err := tenants.NewService(tenants.ServiceConfig{Store: w.DB.Store, Hosts: tenants.Hosts{PublicURL: PublicURL}, Now: time.Now})
	if err != nil {
		t.Fatalf("make tenants: %v", err)
	}
	published, err := surfaces.NewService(w.DB.Store, time.Now)
	if err != nil {
		t.Fatalf("make surfaces: %v", err)
	}
	out := egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true})
	return api.Config{
		Tenants: builders, Surfaces: published, Supabase: supabase.New(out),
		Logger:           slog.New(slog.NewJSONHandler(w.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		AllowSplitIssuer: o.AllowSplitIssuer, RequireOwnership: o.RequireOwnership,
	}
}

// people makes the builders. Vera is written straight into the tables: there is
// no way to invite anybody yet.
func (w *World) people(t testing.TB, builders *tenants.Service) {
	t.Helper()
	ctx := context.Background()
	acme, _, alice, err := builders.CreateOwner(ctx, "alice@example.test", "Acme Corp")
	if err != nil {
		t.Fatalf("make first owner: %v", err)
	}
	_, _, bob, err := builders.CreateOrganization(ctx, "bob@example.test", "Globex Corp")
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
	req, err := http.NewRequestWithContext(context.Background(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatalf("make request: %v", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
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
