package standin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/chumbo-dev/chumbo/internal/localpg"
)

// authWorld is an Auth server under test, with a clock that tests move.
type authWorld struct {
	t    *testing.T
	auth *authServer
	pool *pgxpool.Pool
	anon string
	svc  string

	mu  sync.Mutex
	now time.Time
}

// newAuthWorld starts Auth over a database of its own; change the
// configuration before the first request.
func newAuthWorld(t *testing.T, change func(*authConfig)) *authWorld {
	t.Helper()
	ctx := t.Context()
	server := localpg.Shared(t)
	template, err := server.Template(ctx, "standin auth", func(ctx context.Context, dsn string) error {
		pool, err := pgxpool.New(ctx, dsn)
		if err != nil {
			return err
		}
		defer pool.Close()
		bootstrap, err := readSQL("roles", "bootstrap", "auth")
		if err != nil {
			return err
		}
		_, err = pool.Exec(ctx, bootstrap)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(ctx, server.Clone(t, template))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	keys, err := newKeyring(SigningES256)
	if err != nil {
		t.Fatal(err)
	}
	w := &authWorld{t: t, pool: pool, now: time.Date(2026, 11, 30, 0, 50, 0, 0, time.UTC)}
	cfg := authConfig{pool: pool, keys: keys, now: w.tick, baseURL: "https://ref.example.test",
		siteURL: "https://app.example.test", authorizationPath: "/oauth/consent"}
	if change != nil {
		change(&cfg)
	}
	if w.auth, err = newAuthServer(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	for role, into := range map[string]*string{"anon": &w.anon, "service_role": &w.svc} {
		*into, err = keys.signLegacy(map[string]any{"role": role, "iss": "supabase", "exp": w.now.AddDate(10, 0, 0).Unix()})
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// tick is the clock: it never shows the same time twice.
func (w *authWorld) tick() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(10 * time.Microsecond)
	return w.now
}

func (w *authWorld) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// send makes a request; a body that is no string or form goes as JSON.
func (w *authWorld) send(method, path, bearer string, body any) *http.Response {
	w.t.Helper()
	var reader io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case url.Values:
		reader, kind = strings.NewReader(b.Encode()), "application/x-www-form-urlencoded"
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		reader, kind = strings.NewReader(string(raw)), "application/json"
	}
	r := httptest.NewRequest(method, path, reader)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	rec := httptest.NewRecorder()
	w.auth.ServeHTTP(rec, r)
	return rec.Result()
}

// must is send for a step that has to succeed; it returns the JSON answer.
func (w *authWorld) must(method, path, bearer string, body any) map[string]any {
	w.t.Helper()
	res := w.send(method, path, bearer, body)
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if res.StatusCode >= 400 {
		w.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, raw)
	}
	var out map[string]any
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &out); err != nil {
			w.t.Fatal(err)
		}
	}
	return out
}

func (w *authWorld) signUp(email, password string) {
	w.t.Helper()
	w.must("POST", "/signup", "", map[string]string{"email": email, "password": password})
}

// tokens is what a sign-in or an exchange hands out.
type tokens struct{ access, refresh string }

func tokensOf(answer map[string]any) tokens {
	access, _ := answer["access_token"].(string)
	refresh, _ := answer["refresh_token"].(string)
	return tokens{access, refresh}
}

func (w *authWorld) signIn(email, password string) tokens {
	w.t.Helper()
	return tokensOf(w.must("POST", "/token?grant_type=password", "", map[string]string{"email": email, "password": password}))
}

// flow is an authorization request of a client.
type flow struct {
	client, redirect string
	scope            string // empty sends none
	state            string
	verifier         string
	extra            url.Values
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// authorize starts the flow and returns the authorization id.
func (w *authWorld) authorize(f flow) string {
	w.t.Helper()
	q := url.Values{"response_type": {"code"}, "client_id": {f.client}, "redirect_uri": {f.redirect},
		"code_challenge": {challengeOf(f.verifier)}, "code_challenge_method": {"S256"}}
	if f.scope != "" {
		q.Set("scope", f.scope)
	}
	if f.state != "" {
		q.Set("state", f.state)
	}
	for key, values := range f.extra {
		q[key] = values
	}
	res := w.send("GET", "/oauth/authorize?"+q.Encode(), "", nil)
	to, err := res.Location()
	if err != nil {
		w.t.Fatalf("authorize: %v (status %d)", err, res.StatusCode)
	}
	id := to.Query().Get("authorization_id")
	if id == "" {
		w.t.Fatalf("authorize went to %s", to)
	}
	return id
}

// allow takes an authorization to its code as the bearer's person.
func (w *authWorld) allow(id, bearer string) string {
	w.t.Helper()
	answer := w.must("GET", "/oauth/authorizations/"+id, bearer, nil)
	if answer["redirect_url"] == nil {
		answer = w.must("POST", "/oauth/authorizations/"+id+"/consent", bearer, map[string]string{"action": "approve"})
	}
	to, err := url.Parse(answer["redirect_url"].(string))
	if err != nil {
		w.t.Fatal(err)
	}
	return to.Query().Get("code")
}

// exchange trades the code of a public client's flow.
func (w *authWorld) exchange(f flow, code string) tokens {
	w.t.Helper()
	return tokensOf(w.must("POST", "/oauth/token", "", url.Values{"grant_type": {"authorization_code"}, "code": {code},
		"client_id": {f.client}, "code_verifier": {f.verifier}}))
}

// connect is a whole flow of a public client, as the bearer's person.
func (w *authWorld) connect(f flow, bearer string) tokens {
	w.t.Helper()
	return w.exchange(f, w.allow(w.authorize(f), bearer))
}

// refreshOAuth is one refresh at the OAuth token endpoint.
func (w *authWorld) refreshOAuth(client, token string) tokens {
	w.t.Helper()
	return tokensOf(w.must("POST", "/oauth/token", "", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {client}}))
}

func (w *authWorld) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.pool.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}
