package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// noticeBound is how late a change may show on another server while the
// database answers.
const noticeBound = 5 * time.Second

// replicas are two servers on one database, as behind a load balancer, and a
// stand-in project.
type replicas struct {
	db      *dbtest.Database
	project *standin.Project
	servers [2]*Server
	base    [2]string
	token   string
}

func startReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{db: dbtest.NewDatabase(t)}
	var err error
	r.project, err = standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t), Schema: standin.CRM, Users: standin.CRMUsers()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.project.Close() })
	cfg, err := LoadConfig([]string{
		"CHUMBO_PUBLIC_URL=http://localhost:8080", "CHUMBO_DATABASE_URL=" + r.db.ServerDSN, "CHUMBO_MASTER_KEY=" + seal.GenerateKey().Reveal(),
		"CHUMBO_REQUIRE_OWNERSHIP=false", "CHUMBO_ALLOW_PRIVATE_HOSTS=true",
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.servers {
		r.servers[i], r.base[i] = startServer(t, cfg)
	}
	_, _, token, err := r.servers[0].Tenants.CreateOwner(t.Context(), "alice@example.test", "Acme")
	if err != nil {
		t.Fatal(err)
	}
	r.token = token.Reveal()
	return r
}

func startServer(t *testing.T, cfg Config) (*Server, string) {
	t.Helper()
	server, err := NewServer(t.Context(), cfg, Options{Logger: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("server ended with %v", err)
		}
		if err := server.Close(context.Background()); err != nil {
			t.Errorf("close server: %v", err)
		}
	})
	return server, "http://" + listener.Addr().String()
}

// api calls the control API of one of the servers.
func (r *replicas) api(t *testing.T, server int, method, path string, body any) map[string]any {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := r.send(t, server, method, "/api/v1"+path, "Bearer "+r.token, b)
	if status >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %v", method, path, status, answer)
	}
	return answer
}

// tools are the names that the surface lists on one of the servers.
func (r *replicas) tools(t *testing.T, server int) (status int, names []string) {
	t.Helper()
	status, answer := r.send(t, server, http.MethodPost, "/acme/mcp", "", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	result, _ := answer["result"].(map[string]any)
	list, _ := result["tools"].([]any)
	for _, tool := range list {
		names = append(names, tool.(map[string]any)["name"].(string))
	}
	return status, names
}

func (r *replicas) send(t *testing.T, server int, method, path, authorization string, body []byte) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.base[server]+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "localhost:8080"
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{}
	if err := json.Unmarshal(text, &answer); err != nil && len(text) > 0 {
		t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	return resp.StatusCode, answer
}

// serves waits until a server lists exactly these tools, within the bound.
func (r *replicas) serves(t *testing.T, server int, what string, want ...string) {
	t.Helper()
	began, tick := time.Now(), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		status, names := r.tools(t, server)
		if slices.Equal(names, want) {
			return
		}
		if time.Since(began) > noticeBound {
			t.Fatalf("%s: %v later server %d answers %d and lists %v, want %v", what, noticeBound, server, status, names, want)
		}
		<-tick.C
	}
}

func (r *replicas) importSchema(t *testing.T) *surfaces.Snapshot {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.project.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	snapshot, err := surfaces.ImportPostgres(t.Context(), conn, surfaces.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

const openSurface = `version: 1
title: Announcements
access: { mode: public, public: { confirm: true, calls: 6000, per: 1m } }
tools:
  - table: announcements
    operations: [list]
    columns: [id, title]
    public: true
`

const greeting = `  - tool: greet
    description: Say hello to somebody by name.
    rpc: greet
    public: true
`

// TestServersOnOneDatabaseFollowEachOther: what one server publishes, rolls
// back or pauses, the other serves within the bound.
func TestServersOnOneDatabaseFollowEachOther(t *testing.T) {
	t.Parallel()
	r := startReplicas(t)
	const here, there = 0, 1
	if status, _ := r.tools(t, there); status != http.StatusNotFound { // remembered as nothing
		t.Fatalf("before there is a project: %d", status)
	}
	r.api(t, here, http.MethodPost, "/projects", map[string]string{
		"url": r.project.URL(), "publishable_key": r.project.PublishableKey(), "slug": "acme", "name": "Acme",
	})
	r.api(t, here, http.MethodPut, "/projects/acme/schema", r.importSchema(t))
	publish := func(server int, file string) {
		r.api(t, server, http.MethodPost, "/projects/acme/surfaces/main/publish", map[string]string{"file": file})
	}
	publish(here, openSurface)
	r.serves(t, there, "first publish", "announcements_list")
	r.serves(t, here, "first publish", "announcements_list")

	publish(here, openSurface+greeting)
	r.serves(t, there, "second publish", "announcements_list", "greet")

	r.api(t, there, http.MethodPost, "/projects/acme/surfaces/main/rollback", map[string]int{"revision": 1})
	r.serves(t, here, "roll back", "announcements_list")
	r.serves(t, there, "roll back", "announcements_list")

	r.api(t, here, http.MethodPost, "/projects/acme/surfaces/main/rollback", map[string]int{"revision": 2})
	r.serves(t, there, "roll forward", "announcements_list", "greet")
}

// TestCallsLeaveOneInvocationEachAndNothingOfWhatWasSaid: rows of usage hold
// who called what and how it went, never arguments or rows.
func TestCallsLeaveOneInvocationEachAndNothingOfWhatWasSaid(t *testing.T) {
	t.Parallel()
	r := startReplicas(t)
	r.api(t, 0, http.MethodPost, "/projects", map[string]string{
		"url": r.project.URL(), "publishable_key": r.project.PublishableKey(), "slug": "acme", "name": "Acme",
	})
	r.api(t, 0, http.MethodPut, "/projects/acme/schema", r.importSchema(t))
	r.api(t, 0, http.MethodPost, "/projects/acme/surfaces/main/publish", map[string]string{"file": openSurface + greeting})
	const calls = 3
	for range calls {
		_, answer := r.send(t, 0, http.MethodPost, "/acme/mcp", "",
			[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Zebulon"}}}`))
		if text, _ := json.Marshal(answer); !strings.Contains(string(text), "Zebulon") {
			t.Fatalf("call: %s", text)
		}
	}
	conn, err := pgx.Connect(t.Context(), r.db.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	deadline, tick := time.Now().Add(20*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	var rows []string
	for len(rows) < calls && time.Now().Before(deadline) {
		found, err := conn.Query(t.Context(), "select to_jsonb(i)::text from chumbo.invocations i where method = 'tools/call'")
		if err != nil {
			t.Fatal(err)
		}
		if rows, err = pgx.CollectRows(found, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
		<-tick.C
	}
	if len(rows) != calls {
		t.Fatalf("%d invocations of %d calls", len(rows), calls)
	}
	for _, row := range rows {
		if strings.Contains(row, "Zebulon") || !strings.Contains(row, `"capability": "greet"`) || !strings.Contains(row, `"outcome": "ok"`) || !strings.Contains(row, `"mode": "public"`) {
			t.Errorf("invocation %s", row)
		}
	}
}
