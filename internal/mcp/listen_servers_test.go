package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// listenWorld is a database with one published surface, which anybody may call.
type listenWorld struct {
	*dbtest.Database
	organization, project, surface string
}

func newListenWorld(t *testing.T) *listenWorld {
	t.Helper()
	w := &listenWorld{Database: dbtest.NewDatabase(t)}
	org, project, surface := id.New[id.OrganizationKind](), id.New[id.ProjectKind](), id.New[id.SurfaceKind]()
	w.organization, w.project, w.surface = org.UUID().String(), project.UUID().String(), surface.UUID().String()
	w.Exec(t, "insert into organizations values ($1, 'acme', 'acme', now())", org.UUID())
	w.Exec(t, "insert into projects values ($1, $2, 'acme', 'acme', 'u', 'https://db.example.test', 'https://db.example.test/auth/v1', 'https://db.example.test/jwks', 'k', 'asymmetric', true, '{}', null, now(), now())", org.UUID(), project.UUID())
	w.Exec(t, "insert into surfaces values ($1, $2, $3, 'main', 'live', null, null, now(), now())", org.UUID(), surface.UUID(), project.UUID())
	w.Exec(t, "insert into surface_urls values ($1, gen_random_uuid(), $2, '', '/acme/mcp', true, false, now())", org.UUID(), surface.UUID())
	w.publish(t, 1, "one")
	return w
}

// publish makes a revision with these tools, and a prompt, the live one.
func (w *listenWorld) publish(t *testing.T, number int, tools ...string) {
	t.Helper()
	c := surfaces.Compiled{Format: surfaces.Format, Title: "Acme CRM", Access: surfaces.Access{Modes: []surfaces.Mode{surfaces.ModePublic}}}
	for _, name := range tools {
		tool := testTool(name)
		tool.Public = true
		c.Tools = append(c.Tools, tool)
	}
	c.Prompts = []surfaces.Prompt{{Name: "p", Title: "P", Budget: 1000, Messages: []surfaces.PromptMessage{{Role: "user", Text: "Hello"}}}}
	compiled, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	access, err := json.Marshal(c.Access)
	if err != nil {
		t.Fatal(err)
	}
	w.Exec(t, `insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_at)
		values ($1, $2, $3, sha256($4), '', 'Acme CRM', $5, $6, $7, '', now())`, w.organization, w.surface, number, []byte{byte(number)}, access, surfaces.Format, compiled)
	w.Exec(t, "update surfaces set live_revision = $2 where id = $1", w.surface, number)
}

// server is one more server of the database, whose streams ask by themselves
// once an hour.
func (w *listenWorld) server(t *testing.T) *httptest.Server {
	t.Helper()
	d, err := tenants.NewDirectory(tenants.DirectoryConfig{Store: w.Store, Hosts: tenants.Hosts{PublicURL: "https://" + testHost}, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHandler(Config{
		Directory: d, Changes: d.Watch(), Hosts: anyAddress{}, Authenticator: &memoryAuth{callers: map[string]*oauth.Caller{}}, Recorder: &memoryRecorder{},
		Limiter: &memoryLimiter{left: map[ratelimit.Bound]int{}}, Connect: http.NotFoundHandler(), Logger: slog.New(slog.DiscardHandler), Now: time.Now, Version: "1",
	}, &scriptedRunner{})
	if err != nil {
		t.Fatal(err)
	}
	h.listeners.check = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = d.Run(ctx) }()
	server := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); server.Close(); cancel(); <-done })
	return server
}

// anyAddress gives every connection an address of its own, so that none fills
// the others' places.
type anyAddress struct{ sentHost }

func (anyAddress) ClientAddress(r *http.Request) string {
	if a := r.Header.Get("X-Test-Address"); a != "" {
		return a
	}
	return "203.0.113.1"
}

// listening opens a stream that asks for every notice, and returns its lines.
func listening(t *testing.T, server *httptest.Server) <-chan string {
	t.Helper()
	q := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/acme/mcp", strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range q.header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := server.Client().Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	lines := make(chan string, 100)
	go func() {
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			if strings.HasPrefix(s.Text(), "data:") {
				lines <- s.Text()
			}
		}
		close(lines)
	}()
	return lines
}

// next is the next event of a stream.
func next(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case line := <-lines:
		return line
	case <-time.After(20 * time.Second):
		t.Fatal("nothing comes")
	}
	return ""
}

func TestAPublishIsHeardOnEveryServerAtOnce(t *testing.T) {
	t.Parallel()
	w := newListenWorld(t)
	one, other := listening(t, w.server(t)), listening(t, w.server(t))
	for _, stream := range []<-chan string{one, other} {
		if got := next(t, stream); !strings.Contains(got, `"notifications":{"toolsListChanged":true,"promptsListChanged":true}`) {
			t.Fatalf("acknowledged: %s", got)
		}
	}
	w.publish(t, 2, "one", "two")
	for _, stream := range []<-chan string{one, other} {
		if got := next(t, stream); !strings.Contains(got, "notifications/tools/list_changed") || !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":7`) {
			t.Errorf("a publish: %s", got)
		}
	}
	w.publish(t, 3, "one", "two") // changes no list
	w.Exec(t, "update surfaces set state = 'read_only' where id = $1", w.surface)
	for _, stream := range []<-chan string{one, other} {
		for _, kind := range []string{"tools", "prompts"} {
			if got := next(t, stream); !strings.Contains(got, "notifications/"+kind+"/list_changed") {
				t.Errorf("the switch, %s: %s", kind, got)
			}
		}
	}
	w.Exec(t, "delete from surface_urls where surface_id = $1", w.surface)
	for _, stream := range []<-chan string{one, other} {
		if got := next(t, stream); !strings.Contains(got, `"resultType":"complete"`) {
			t.Errorf("the surface is gone: %s", got)
		}
	}
}

// TestHalfClosedListenersLeaveNothing: clients that stop sending and never read
// are gone at once, with everything that stood for them.
func TestHalfClosedListenersLeaveNothing(t *testing.T) { //nolint:paralleltest // it counts goroutines
	w := newListenWorld(t)
	server := w.server(t)
	handler, ok := server.Config.Handler.(*Handler)
	if !ok {
		t.Fatal("no handler")
	}
	if first := listening(t, server); !strings.Contains(next(t, first), "acknowledged") {
		t.Fatal("no stream")
	}
	open := func() int {
		handler.listeners.mu.Lock()
		defer handler.listeners.mu.Unlock()
		return handler.listeners.total
	}
	before := runtime.NumGoroutine()
	q := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`)
	var list []*net.TCPConn
	for i := range 200 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		tcp, ok := conn.(*net.TCPConn)
		if !ok {
			t.Fatal("no TCP")
		}
		list = append(list, tcp)
		head := fmt.Sprintf("POST /acme/mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Test-Address: 198.51.100.%d\r\n", testHost, len(q.body), i)
		for name, value := range q.header {
			head += name + ": " + value + "\r\n"
		}
		if _, err := io.WriteString(conn, head+"\r\n"+q.body); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range list[:100] { // some have begun to read
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q %v", line, err)
		}
	}
	for _, conn := range list {
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the streams end", func() bool { return open() == 1 })
	for _, conn := range list {
		_ = conn.Close()
	}
	eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before+5 })
	handler.listeners.mu.Lock()
	defer handler.listeners.mu.Unlock()
	for scope, ears := range handler.listeners.ears {
		if len(ears) != 1 {
			t.Errorf("%d ears are left for %s", len(ears), scope)
		}
	}
}

// eventually asks again until ok, with a moment between.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 20 s", what)
		}
		<-tick.C
	}
}
