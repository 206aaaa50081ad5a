package issuers

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// issuer is an OpenID Connect provider of a test.
type issuer struct {
	*httptest.Server
	mu       sync.Mutex
	keys     []jose.JSONWebKey
	metadata map[string]any
	status   int            // of every document, where not 0
	redirect string         // where every document redirects to, where not empty
	answers  map[string]any // of introspection, by token; a string is sent as it is
	answered int            // status of introspection, where not 0
	asked    map[string]int // by path
	as       []string       // who introspected: id:secret
	hold     chan struct{}  // introspection waits for it, where not nil
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{asked: map[string]int{}, answers: map[string]any{}}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	i.metadata = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "introspection_endpoint": i.URL + "/introspect"}
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.asked[r.URL.Path]++
	hold := i.hold
	i.mu.Unlock()
	if r.URL.Path == "/introspect" && hold != nil {
		<-hold
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case r.URL.Path == "/introspect":
		i.introspect(w, r)
	case i.redirect != "":
		http.Redirect(w, r, i.redirect, http.StatusFound)
	case i.status != 0:
		w.WriteHeader(i.status)
	case r.URL.Path == "/.well-known/openid-configuration":
		write(w, i.metadata)
	case r.URL.Path == "/keys":
		write(w, jose.JSONWebKeySet{Keys: i.keys})
	default:
		http.NotFound(w, r)
	}
}

func (i *issuer) introspect(w http.ResponseWriter, r *http.Request) {
	name, secret, _ := r.BasicAuth()
	i.as = append(i.as, name+":"+secret)
	if i.answered != 0 {
		w.WriteHeader(i.answered)
		return
	}
	if r.FormValue("token_type_hint") != "access_token" || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch answer := i.answers[r.PostFormValue("token")].(type) {
	case nil:
		write(w, map[string]any{"active": false})
	case string:
		_, _ = w.Write([]byte(answer))
	default:
		write(w, answer)
	}
}

func write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// set changes the issuer.
func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuer) count(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

// key makes a key that the issuer publishes, or not.
func (i *issuer) key(t testing.TB, kid string, publish bool) jose.JSONWebKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := jose.JSONWebKey{Key: private, KeyID: kid, Algorithm: "ES256", Use: "sig"}
	if publish {
		i.set(func() { i.keys = append(i.keys, key.Public()) })
	}
	return key
}

// signed is a JWT with those claims (any JSON text), signed with ES256 unless
// the key says otherwise.
func signed(t testing.TB, key jose.JSONWebKey, claims any, header ...string) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("at+jwt")
	for n := 0; n+1 < len(header); n += 2 {
		o = o.WithHeader(jose.HeaderKey(header[n]), header[n+1])
	}
	alg := jose.SignatureAlgorithm(key.Algorithm)
	if alg == "" {
		alg = jose.ES256
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	payload, isText := claims.(string)
	if !isText {
		b, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		payload = string(b)
	}
	jws, err := signer.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	text, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// limits counts, and refuses where it is told to.
type limits struct {
	mu     sync.Mutex
	taken  []ratelimit.Bound
	refuse func(b ratelimit.Bound) error
}

func (l *limits) Take(_ context.Context, n int, bounds ...ratelimit.Bound) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.taken = append(l.taken, bounds...)
	}
	for _, b := range bounds {
		if l.refuse != nil {
			if err := l.refuse(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// deaf is a Watch for tests without a database.
type deaf struct{}

func (deaf) Mark(...string) tenants.Mark { return tenants.Mark{} }
func (deaf) Fresh(tenants.Mark) bool     { return true }
func (deaf) Usable(tenants.Mark) bool    { return true }

// world is a Service with an issuer, and a surface that names it.
type world struct {
	*Service
	clock  *clocktest.Clock
	issuer *issuer
	key    jose.JSONWebKey
	ep     *tenants.Endpoint
	limits *limits
	logs   *logs
}

// logs are what a Service logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	w := &world{clock: clocktest.New(time.Now().Truncate(time.Second)), issuer: newIssuer(t), limits: &limits{}, logs: &logs{}}
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Store: db.NewStore(nil), Keys: keys, Watch: deaf{}, Limits: w.limits, Now: w.clock.Now,
		Out:    egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}),
		Logger: slog.New(slog.NewJSONHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&cfg)
	}
	if w.Service, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	w.key = w.issuer.key(t, "one", true)
	w.ep = endpoint(w.issuer.URL)
	return w
}

// endpoint is a surface that names an issuer and expects the audience crm-api.
func endpoint(issuerURL string) *tenants.Endpoint {
	at := tenants.Resource{Base: "https://acme.mcp.example.test", Path: "/mcp"}
	return &tenants.Endpoint{
		Organization: id.New[id.OrganizationKind](), Surface: id.New[id.SurfaceKind](), Resource: at, URLs: []tenants.Resource{at},
		Project: tenants.ProjectRef{Issuer: "https://project.example.test/auth/v1"},
		Access: surfaces.Access{
			Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: surfaces.AuthorizationExternal,
			Issuer: &surfaces.ExternalIssuer{URL: issuerURL, Audience: []string{"crm-api"}},
		},
	}
}

// changed is an endpoint that differs from another in its access.
func changed(ep *tenants.Endpoint, change func(a *surfaces.Access, i *surfaces.ExternalIssuer)) *tenants.Endpoint {
	other, issuer := *ep, *ep.Access.Issuer
	other.Access.Issuer = &issuer
	change(&other.Access, &issuer)
	return &other
}

// claims are those of Alice's good token, changed by what is given; nil takes a
// claim away.
func (w *world) claims(change map[string]any) map[string]any {
	now := w.clock.Now()
	c := map[string]any{
		"iss": w.issuer.URL, "sub": "alice", "aud": "crm-api", "client_id": "client-a", "scope": "crm.read",
		"exp": now.Add(time.Hour).Unix(), "iat": now.Unix(),
	}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// token is Alice's token with claims changed.
func (w *world) token(t testing.TB, change map[string]any) string {
	t.Helper()
	return signed(t, w.key, w.claims(change))
}

// code is what a request was answered with: the status and code of a challenge
// or fault, or "in".
func code(err error) string {
	var c *oauth.Challenge
	if errors.As(err, &c) {
		return fmt.Sprint(c.Status, " ", c.Code)
	}
	if err != nil {
		return fmt.Sprint(kindOf(err))
	}
	return "in"
}

// stored is a world with a database, where Acme (Alice's) and Globex (Bob's)
// have a surface each that introspects at the same issuer.
type stored struct {
	*world
	*dbtest.Database
	directory  *tenants.Directory
	deafen     func() // ends the listening
	alice, bob tenants.Principal
	globex     *tenants.Endpoint // Bob's; ep is Alice's
}

func newStored(t testing.TB) *stored {
	t.Helper()
	s := &stored{Database: dbtest.NewDatabase(t)}
	s.world = newWorld(t, func(c *Config) {
		c.Store = s.Store
		var err error
		s.directory, err = tenants.NewDirectory(tenants.DirectoryConfig{
			Store: s.Store, Hosts: tenants.Hosts{PublicURL: "https://mcp.example.test"}, StaleMax: time.Minute, Now: c.Now, Logger: c.Logger,
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Watch = s.directory.Watch()
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.directory.Run(ctx) }()
	s.deafen = func() { cancel(); <-done }
	t.Cleanup(s.deafen)
	service, err := tenants.NewService(tenants.ServiceConfig{Store: s.Store, Hosts: tenants.Hosts{PublicURL: "https://mcp.example.test"}, Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	s.alice, s.ep = s.surface(t, service, "alice@example.test", "Acme Corp", "acme")
	s.bob, s.globex = s.surface(t, service, "bob@example.test", "Globex Corp", "globex")
	return s
}

func (s *stored) surface(t testing.TB, service *tenants.Service, email, organization, slug string) (tenants.Principal, *tenants.Endpoint) {
	t.Helper()
	_, _, token, err := service.CreateOrganization(t.Context(), email, organization)
	if err != nil {
		t.Fatal(err)
	}
	p, err := service.VerifyToken(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	origin := "https://" + strings.Repeat(slug[:1], 20) + ".supabase.co"
	_, err = service.CreateProject(t.Context(), p, tenants.NewProject{Slug: slug, ProjectFacts: tenants.ProjectFacts{
		TypedURL: origin, APIOrigin: origin, Issuer: origin + "/auth/v1", JWKSURI: origin + "/auth/v1/.well-known/jwks.json",
		PublishableKey: "sb_publishable_0123456789abcdefghijkl_01234567", Signing: tenants.SigningAsymmetric,
	}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := service.EnsureSurface(t.Context(), p, slug, "main")
	if err != nil {
		t.Fatal(err)
	}
	ep := endpoint(s.issuer.URL)
	ep.Organization, ep.Surface = p.Organization.ID, made.ID
	ep.Access.Issuer.Introspection = &surfaces.Introspection{ClientID: "chumbo", Endpoint: s.issuer.URL + "/introspect"}
	return p, ep
}

// knows makes the issuer answer about a token.
func (w *world) knows(token string, change map[string]any) {
	answer := w.claims(map[string]any{"active": true})
	maps.Copy(answer, change)
	maps.DeleteFunc(answer, func(_ string, v any) bool { return v == nil })
	w.issuer.set(func() { w.issuer.answers[token] = answer })
}

// keeps sets a secret, and waits until this server has heard of it.
func (s *stored) keeps(t testing.TB, p tenants.Principal, ep *tenants.Endpoint, secret string) {
	t.Helper()
	defer s.hears(t)
	if err := s.SetSecret(t.Context(), p, ep.Surface, seal.NewSecret(secret)); err != nil {
		t.Fatal(err)
	}
}

const address = "192.0.2.7"

// text is the one value of a query, as the owner of the cluster sees it.
func (s *stored) text(t testing.TB, query string, args ...any) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var value string
	if _, err := conn.Exec(t.Context(), "set search_path to chumbo"); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// hears waits until this server was notified of all that was changed so far:
// what it read before it hears of that counts no longer than until then.
func (s *stored) hears(t testing.TB) {
	t.Helper()
	watch, scope := s.directory.Watch(), tenants.ScopeIntrospection+id.New[id.SurfaceKind]().UUID().String()
	eventually(t, func() bool { return watch.Fresh(watch.Mark(scope)) })
	before := watch.Mark(scope)
	s.Exec(t, "select pg_notify('chumbo_directory', $1)", scope)
	eventually(t, func() bool { return !watch.Usable(before) })
}

// eventually waits until something is so.
func eventually(t testing.TB, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came to be")
		}
	}
}
