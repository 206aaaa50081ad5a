package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func newClock() *clocktest.Clock { return clocktest.New(time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)) }

// keyring is a project's signing keys, in the order they were made.
type keyring struct {
	mu   sync.Mutex
	keys []jose.JSONWebKey
}

func newES256(t testing.TB, kid string) jose.JSONWebKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("make key: %v", err)
	}
	return jose.JSONWebKey{Key: private, KeyID: kid, Algorithm: "ES256", Use: "sig"}
}

func (k *keyring) rotate(key jose.JSONWebKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = append(k.keys, key)
}

func (k *keyring) drop(kid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, key := range k.keys {
		if key.KeyID == kid {
			k.keys = append(k.keys[:i:i], k.keys[i+1:]...)
			return
		}
	}
}

func (k *keyring) document(t testing.TB) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range k.keys {
		set.Keys = append(set.Keys, key.Public())
	}
	b, err := json.Marshal(set)
	if err != nil {
		t.Errorf("marshal keys: %v", err)
	}
	return b
}

// sources serves the key sets of several projects and counts the reads.
type sources struct {
	t     testing.TB
	mu    sync.Mutex
	rings map[string]*keyring // by jwks URI
	fail  map[string]error
	block map[string]chan struct{} // reads wait until it is closed
	reads map[string]int
	lanes map[string]bool
	ended chan string // gets the URI of each read that ended, if not nil
}

func newSources(t testing.TB) *sources {
	return &sources{
		t: t, rings: map[string]*keyring{}, fail: map[string]error{}, block: map[string]chan struct{}{},
		reads: map[string]int{}, lanes: map[string]bool{},
	}
}

func (s *sources) KeySet(ctx context.Context, lane, uri string) ([]byte, error) {
	s.mu.Lock()
	s.reads[uri]++
	s.lanes[lane] = true
	ring, fail, block, ended := s.rings[uri], s.fail[uri], s.block[uri], s.ended
	s.mu.Unlock()
	if ended != nil {
		defer func() { ended <- uri }()
	}
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if fail != nil {
		return nil, fail
	}
	if ring == nil {
		return nil, errors.New("no such document")
	}
	return ring.document(s.t), nil
}

func (s *sources) count(uri string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[uri]
}

func (s *sources) setFail(uri string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[uri] = err
}

// bundle is an authenticator with one project and one surface.
type bundle struct {
	t       testing.TB
	clock   *clocktest.Clock
	sources *sources
	auth    *Authenticator
	key     jose.JSONWebKey
	ring    *keyring
	ep      *tenants.Endpoint
}

func setup(t testing.TB) *bundle {
	t.Helper()
	b := &bundle{t: t, clock: newClock(), sources: newSources(t), key: newES256(t, "k1")}
	auth, err := New(Config{Keys: b.sources, Now: b.clock.Now})
	if err != nil {
		t.Fatalf("new authenticator: %v", err)
	}
	b.auth = auth
	b.ep = b.project("https://ref.example.test", "/acme/mcp")
	b.ring = b.sources.rings[b.ep.Project.JWKSURI]
	b.ring.rotate(b.key)
	return b
}

// project makes another project with its own keys, and its surface.
func (b *bundle) project(origin, path string) *tenants.Endpoint {
	ep := &tenants.Endpoint{
		Organization: id.New[id.OrganizationKind](),
		Surface:      id.New[id.SurfaceKind](),
		Title:        "Acme CRM",
		State:        tenants.StateLive,
		Project: tenants.ProjectRef{
			ID: id.New[id.ProjectKind](), APIOrigin: origin, Issuer: origin + "/auth/v1",
			JWKSURI:         origin + "/auth/v1/.well-known/jwks.json",
			ScopesSupported: []string{"openid", "profile", "email", "phone", "offline_access"},
		},
		Access:   surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: "direct"},
		Resource: tenants.Resource{Base: "https://mcp.example.test", Path: path},
	}
	ep.URLs = []tenants.Resource{ep.Resource, {Base: "https://acme.example.test", Path: "/mcp", Root: true}}
	if b.sources.rings[ep.Project.JWKSURI] == nil {
		b.sources.rings[ep.Project.JWKSURI] = &keyring{}
	}
	return ep
}

// claimsOf are the claims of a fresh token as Supabase Auth's OAuth server
// issues it. A nil value in with removes a claim.
func (b *bundle) claimsOf(ep *tenants.Endpoint, with map[string]any) map[string]any {
	now := b.clock.Now().Unix()
	c := map[string]any{
		"iss": ep.Project.Issuer, "sub": "00000000-0000-4000-8000-00000000a11c", "aud": "authenticated",
		"exp": now + 3600, "iat": now, "email": "alice@example.test", "phone": "",
		"app_metadata":  map[string]any{"provider": "email"},
		"user_metadata": map[string]any{"role": "admin"},
		"role":          "authenticated", "aal": "aal1",
		"amr":        []any{map[string]any{"method": "oauth_provider/authorization_code", "timestamp": now}},
		"session_id": "s", "is_anonymous": false, "client_id": "client-1", "scope": "openid email",
	}
	maps.Copy(c, with)
	for name, value := range with {
		if value == nil {
			delete(c, name)
		}
	}
	return c
}

func (b *bundle) token(with map[string]any) string {
	return b.signed(b.key, b.claimsOf(b.ep, with))
}

func (b *bundle) signed(key jose.JSONWebKey, claims map[string]any) string {
	payload, err := json.Marshal(claims)
	if err != nil {
		b.t.Fatalf("marshal claims: %v", err)
	}
	return b.signedRaw(key, payload, nil)
}

func (b *bundle) signedRaw(key jose.JSONWebKey, payload []byte, header map[jose.HeaderKey]any) string {
	b.t.Helper()
	options := (&jose.SignerOptions{ExtraHeaders: header})
	if header["typ"] == nil {
		options = options.WithType("JWT")
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, options)
	if err != nil {
		b.t.Fatalf("make signer: %v", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		b.t.Fatalf("sign: %v", err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		b.t.Fatalf("serialize: %v", err)
	}
	return text
}

// forged is a token with exactly these bytes in header, payload and signature.
func forged(header, payload, signature string) string {
	enc := base64.RawURLEncoding
	return enc.EncodeToString([]byte(header)) + "." + enc.EncodeToString([]byte(payload)) + "." + enc.EncodeToString([]byte(signature))
}

func bearerHeader(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}}
}

func (b *bundle) try(ep *tenants.Endpoint, token string) (*Caller, error) {
	return b.auth.Authenticate(b.t.Context(), ep, bearerHeader(token), "")
}

func (b *bundle) accepts(ep *tenants.Endpoint, token string) *Caller {
	b.t.Helper()
	caller, err := b.try(ep, token)
	if err != nil {
		b.t.Fatalf("refused: %v", err)
	}
	return caller
}

// refuses wants a challenge for the reason.
func (b *bundle) refuses(ep *tenants.Endpoint, token string, want reason) {
	b.t.Helper()
	_ = b.refusal(ep, token, want)
}

// refusal is refuses, for a look at the challenge.
func (b *bundle) refusal(ep *tenants.Endpoint, token string, want reason) *Challenge {
	b.t.Helper()
	caller, err := b.try(ep, token)
	return b.challengeIn(caller, err, want)
}

func (b *bundle) challengeIn(caller *Caller, err error, want reason) *Challenge {
	b.t.Helper()
	var challenge *Challenge
	if !errors.As(err, &challenge) || caller != nil {
		b.t.Fatalf("got caller %v, error %v; want the challenge %s", caller, err, want)
	}
	if challenge.Code != string(want) {
		b.t.Fatalf("challenge for %s, want %s", challenge.Code, want)
	}
	return challenge
}

// undecided wants 503 with RetryAfter.
func (b *bundle) undecided(ep *tenants.Endpoint, token string) {
	b.t.Helper()
	_ = b.outage(ep, token)
}

// outage is undecided, for a look at the error.
func (b *bundle) outage(ep *tenants.Endpoint, token string) *fault.Error {
	b.t.Helper()
	caller, err := b.try(ep, token)
	var challenge *Challenge
	if caller != nil || errors.As(err, &challenge) || !fault.Is(err, fault.Unavailable) {
		b.t.Fatalf("got caller %v, error %v; want unavailable", caller, err)
	}
	f := fault.From(err)
	if f.RetryAfter < time.Second {
		b.t.Fatalf("RetryAfter is %s", f.RetryAfter)
	}
	return f
}
