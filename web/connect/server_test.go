package connect_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

// served is a whole server on loopback with the bridge surface of a stand-in
// project, and an AI app's callback.
type served struct {
	db      *dbtest.Database
	base    string // of the surface's path form
	pages   string // of the pages
	issuer  string
	project *standin.Project
	log     *logBook
	client  string // client id
	back    string // its redirect URI
}

const bridgeYAML = `version: 1
title: Acme CRM
access: { mode: oauth, authorization: bridge, advertise: [crm.read, crm.write] }
tools:
  - table: customers
    operations: [list, get]
    columns: [id, name, email, status, balance, tags, updated_at]
    scopes: { list: [crm.read], get: [crm.read] }
  - tool: archive_customer
    description: Archive one customer. The customer stays readable, with status archived.
    rpc: archive_customer
    scopes: [crm.write]
    annotations: { destructive: true, idempotent: true }
`

// newServed starts it all, with the pages on the shared host. Browsers know the
// project's own host as acme.surfaces.localhost.
func newServed(t *testing.T, o standin.Options) *served {
	t.Helper()
	return newServedAt(t, o, "localhost")
}

// newServedAt has the pages on a host of their own.
func newServedAt(t *testing.T, o standin.Options, pagesHost string) *served {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	w := &served{db: dbtest.NewDatabase(t), base: "http://localhost:" + port, log: &logBook{}}
	w.issuer, w.pages = w.base+"/acme/mcp", "http://"+pagesHost+":"+port
	o.Postgres, o.Schema, o.Users = localpg.Shared(t), standin.CRM, standin.CRMUsers()
	o.RedirectURLs = []string{w.pages + "/connect/callback**"}
	if w.project, err = standin.Start(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.project.Close() })
	w.run(t, listener)

	callback := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(rw, `<!DOCTYPE html><title>Client</title><p id="back">You can go back to your AI app.</p>`)
	}))
	t.Cleanup(callback.Close)
	w.back = callback.URL + "/callback"
	w.client = w.register(t, "Claude")
	return w
}

// run starts the server, and publishes the surface as a builder would.
func (w *served) run(t *testing.T, listener net.Listener) {
	t.Helper()
	ctx := context.Background()
	cfg, err := app.LoadConfig([]string{
		"CHUMBO_PUBLIC_URL=" + w.base, "CHUMBO_SURFACE_DOMAIN=surfaces.localhost", "CHUMBO_DATABASE_URL=" + w.db.ServerDSN, "CHUMBO_MASTER_KEY=" + seal.GenerateKey().Reveal(),
		"CHUMBO_ALLOW_PRIVATE_HOSTS=true", "CHUMBO_REQUIRE_OWNERSHIP=false", "CHUMBO_PAGES_URL=" + w.pages,
	})
	if err != nil {
		t.Fatal(err)
	}
	server, err := app.NewServer(ctx, cfg, app.Options{Logger: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(running, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("server ended with %v", err)
		}
		_ = server.Close(context.Background())
	})
	_, _, token, err := server.Tenants.CreateOwner(ctx, "owner@example.test", "Acme")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, w.project.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	snapshot, err := surfaces.ImportPostgres(ctx, conn, surfaces.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	api := func(method, path string, body any) {
		t.Helper()
		w.send(t, method, w.base+"/api/v1"+path, token.Reveal(), body)
	}
	api(http.MethodPost, "/projects", map[string]string{"url": w.project.URL(), "publishable_key": w.project.PublishableKey(), "slug": "acme", "name": "Acme CRM"})
	api(http.MethodPut, "/projects/acme/schema", snapshot)
	api(http.MethodPost, "/projects/acme/surfaces/main/publish", map[string]string{"file": bridgeYAML})
}

// send sends JSON and returns the JSON that comes back.
func (w *served) send(t *testing.T, method, to, token string, body any) map[string]any {
	t.Helper()
	payload, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, to, bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return w.answer(t, req)
}

func (w *served) answer(t *testing.T, req *http.Request) map[string]any {
	t.Helper()
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s: %s", req.Method, req.URL, res.Status, text)
	}
	var answer map[string]any
	_ = json.Unmarshal(text, &answer)
	return answer
}

// register registers a public client and returns its id.
func (w *served) register(t *testing.T, name string) string {
	t.Helper()
	answer := w.send(t, http.MethodPost, w.issuer+"/oauth/register", "", map[string]any{"client_name": name, "redirect_uris": []string{w.back}, "token_endpoint_auth_method": "none"})
	client, _ := answer["client_id"].(string)
	if client == "" {
		t.Fatalf("register: %v", answer)
	}
	return client
}

// authorizeURL is what the client opens, with the verifier of its code.
func (w *served) authorizeURL(t *testing.T) (address, verifier string) {
	t.Helper()
	metadata := w.send(t, http.MethodGet, w.base+"/.well-known/oauth-authorization-server/acme/mcp", "", nil)
	endpoint, _ := metadata["authorization_endpoint"].(string)
	verifier = rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	return endpoint + "?" + url.Values{
		"response_type": {"code"}, "client_id": {w.client}, "redirect_uri": {w.back}, "scope": {"crm.read crm.write"}, "state": {"st"}, "resource": {w.issuer},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode(), verifier
}

// redeem exchanges the code that came back to the client, and returns the
// scopes and the access token.
func (w *served) redeem(t *testing.T, at, verifier string) (token string) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("iss") != w.issuer || q.Get("state") != "st" || q.Get("code") == "" {
		t.Fatalf("the client was sent to %s", at)
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "client_id": {w.client}, "redirect_uri": {w.back}, "code_verifier": {verifier}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.issuer+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	token, _ = w.answer(t, req)["access_token"].(string)
	return token
}

// tools are the names of the tools that a token sees.
func (w *served) tools(t *testing.T, token string) []string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.issuer, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil
	}
	text, _ := io.ReadAll(res.Body)
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// mail is the newest mail to an address.
func (w *served) mail(t *testing.T, address string) standin.Mail {
	t.Helper()
	mails := w.project.Mails(address)
	if len(mails) == 0 {
		t.Fatalf("no mail to %s", address)
	}
	return mails[len(mails)-1]
}

// code is what an authenticator app shows now.
func code(secret string) string { return standin.TOTPCode(secret, time.Now()) }
