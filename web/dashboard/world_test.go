package dashboard_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	setupCode      = "plumb-line-to-trust"
	alicePassword  = "a heavy lead weight"
	bobPassword    = "another lead weight"
	viewerPassword = "only looking around"
)

// world is a whole server on loopback, with a stand-in project.
type world struct {
	db      *dbtest.Database
	server  *app.Server
	base    string
	project *standin.Project
	log     *logBook
}

// worldOptions change a world. The zero value needs proofs of ownership.
type worldOptions struct {
	project  standin.Options
	unproven bool // unproven projects are served
	now      func() time.Time
}

// newWorld starts a server that nobody owns yet.
func newWorld(t testing.TB, o worldOptions) *world {
	t.Helper()
	w := &world{db: dbtest.NewDatabase(t), log: &logBook{}}
	o.project.Postgres = localpg.Shared(t)
	if o.project.Schema == "" {
		o.project.Schema, o.project.Users = standin.CRM, standin.CRMUsers()
	}
	var err error
	if w.project, err = standin.Start(context.Background(), o.project); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.project.Close() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	w.base = "http://localhost:" + port
	environ := []string{
		"CHUMBO_PUBLIC_URL=" + w.base, "CHUMBO_DATABASE_URL=" + w.db.ServerDSN, "CHUMBO_MASTER_KEY=" + seal.GenerateKey().Reveal(),
		"CHUMBO_ALLOW_PRIVATE_HOSTS=true", "CHUMBO_SETUP_CODE=" + setupCode,
	}
	if o.unproven {
		environ = append(environ, "CHUMBO_REQUIRE_OWNERSHIP=false")
	}
	cfg, err := app.LoadConfig(environ)
	if err != nil {
		t.Fatal(err)
	}
	if w.server, err = app.NewServer(context.Background(), cfg, app.Options{Logger: newLogger(w.log), Version: "test", Now: o.now, Aliases: []string{"http://127.0.0.1:" + port}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.server.Setup(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.server.Run(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("server ended with %v", err)
		}
		_ = w.server.Close(context.Background())
	})
	return w
}

// logBook keeps what the server logged.
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

// browser is one person's browser without scripts.
type browser struct {
	t    testing.TB
	w    *world
	jar  http.CookieJar
	page string // HTML of the last answer
}

func (w *world) browser(t testing.TB) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, w: w, jar: jar}
}

// answer is what came back.
type answer struct {
	status   int
	header   http.Header
	location string // where a redirect leads
	body     string
}

// send makes one request as a browser on our own page would.
func (b *browser) send(method, path string, form url.Values, change func(*http.Request)) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, b.w.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		req.Header.Set("Sec-Fetch-Mode", "navigate")
		req.Header.Set("Origin", b.w.base)
	}
	if change != nil {
		change(req)
	}
	client := &http.Client{Jar: b.jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{status: res.StatusCode, header: res.Header, location: res.Header.Get("Location"), body: string(body)}
}

// open follows redirects, as a person does, and keeps the page.
func (b *browser) open(path string) answer {
	b.t.Helper()
	a := b.send(http.MethodGet, path, nil, nil)
	for n := 0; a.location != "" && n < 5; n++ {
		a = b.send(http.MethodGet, a.location, nil, nil)
	}
	b.page = a.body
	return a
}

var csrfValue = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf is what forms of this person's session carry, off any page.
func (b *browser) csrf() string {
	b.t.Helper()
	match := csrfValue.FindStringSubmatch(b.send(http.MethodGet, "/app/account", nil, nil).body)
	if match == nil {
		b.t.Fatal("the page has no form of the session")
	}
	return match[1]
}

// post sends a form with the session's value.
func (b *browser) post(path string, pairs ...string) answer {
	b.t.Helper()
	form := formOf(pairs...)
	form.Set("csrf", b.csrf())
	return b.send(http.MethodPost, path, form, nil)
}

// submit is post for what has to work: the page that follows is kept.
func (b *browser) submit(path string, pairs ...string) answer {
	b.t.Helper()
	a := b.post(path, pairs...)
	if a.status != http.StatusSeeOther {
		b.t.Fatalf("POST %s answered %d: %s", path, a.status, textOf(a.body))
	}
	return b.open(a.location)
}

func formOf(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

var tags = regexp.MustCompile(`(?s)<(script|style|svg).*?</(script|style|svg)>|<[^>]*>`)

// textOf is roughly what a person reads of a page.
func textOf(html string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(html, " ")), " ")
}

// setUp makes Alice the first owner, in Acme, through the page.
func (w *world) setUp(t testing.TB) *browser {
	t.Helper()
	alice := w.browser(t)
	a := alice.send(http.MethodPost, "/app/setup", formOf("code", setupCode, "email", "alice@example.test", "password", alicePassword, "organization", "Acme"), nil)
	if a.status != http.StatusSeeOther || a.location != "/app/register" {
		t.Fatalf("setup: %d %s %s", a.status, a.location, textOf(a.body))
	}
	return alice
}

// bob owns Globex and signs in.
func (w *world) bob(t testing.TB) *browser {
	t.Helper()
	if _, _, _, err := w.server.Tenants.CreateOrganization(context.Background(), "bob@example.test", "Globex"); err != nil {
		t.Fatal(err)
	}
	if err := w.server.Tenants.SetPassword(context.Background(), "bob@example.test", seal.NewSecret(bobPassword)); err != nil {
		t.Fatal(err)
	}
	return w.signIn(t, "bob@example.test", bobPassword)
}

func (w *world) signIn(t testing.TB, email, password string) *browser {
	t.Helper()
	b := w.browser(t)
	if a := b.send(http.MethodPost, "/app/sign-in", formOf("email", email, "password", password), nil); a.status != http.StatusSeeOther {
		t.Fatalf("sign in: %d %s", a.status, textOf(a.body))
	}
	return b
}

// register registers the stand-in project by the pages, without scripts, and
// returns the path of the registration.
// publish makes a file live, past the pages.
func (w *world) publish(t testing.TB, p tenants.Principal, project, surface, file string) {
	t.Helper()
	ctx := context.Background()
	of, err := w.server.Tenants.Project(ctx, p, project)
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.server.Tenants.EnsureSurface(ctx, p, project, surface)
	if err != nil {
		t.Fatal(err)
	}
	facts := surfaces.ProjectFacts{Signing: string(of.Signing), ScopesSupported: of.ScopesSupported}
	if _, err := w.server.Surfaces.Publish(ctx, p.Actor(), made.ID, surfaces.PublishRequest{File: []byte(file), Facts: facts}); err != nil {
		t.Fatal(err)
	}
}

func (b *browser) register(slug string) (path string) {
	b.t.Helper()
	a := b.post("/app/register", "url", b.w.project.URL())
	if a.status != http.StatusSeeOther {
		b.t.Fatalf("register: %d %s", a.status, textOf(a.body))
	}
	path = a.location
	b.submit(path + "/check")
	b.submit(path, "publishable_key", b.w.project.PublishableKey(), "name", "Acme CRM", "slug", slug)
	return path
}

// principal is the owner of an organization, for what a test prepares past the
// pages.
func (w *world) principal(t testing.TB, email, password string) tenants.Principal {
	t.Helper()
	session, err := w.server.Tenants.SignIn(context.Background(), tenants.SignIn{Email: email, Password: seal.NewSecret(password)})
	if err != nil {
		t.Fatal(err)
	}
	return session.Current
}

// importSchema takes a snapshot of the stand-in's database.
func (w *world) importSchema(t testing.TB, p tenants.Principal, project string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, w.project.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	snapshot, err := surfaces.ImportPostgres(ctx, conn, surfaces.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	of, err := w.server.Tenants.Project(ctx, p, project)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.server.Surfaces.PutSnapshot(ctx, p.Actor(), of.ID, snapshot, surfaces.SourcePostgres); err != nil {
		t.Fatal(err)
	}
}

func newLogger(book *logBook) *slog.Logger {
	return slog.New(slog.NewJSONHandler(book, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
