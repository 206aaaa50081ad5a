package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// fakeBridge admits what ourToken makes and chp_subject.surface-id, as any other
// implementation would: for the surface named and no other.
type fakeBridge struct {
	mu   sync.Mutex
	seen []string
	err  error
	bend func(*Caller)
}

type fakeSession string

func (s fakeSession) Token(context.Context) (seal.Secret, error) {
	return seal.NewSecret("token of " + string(s)), nil
}

func (s fakeSession) Claims(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{}`), nil
}

func (s fakeSession) Renew(context.Context, seal.Secret) (seal.Secret, error) {
	return seal.NewSecret("another token of " + string(s)), nil
}

// ourToken is a token as the bridge would issue it for ep.
func ourToken(ep *tenants.Endpoint, subject string) string {
	return forged(`{"alg":"ES256"}`, `{"iss":"`+ep.Resource.URL()+`","sub":"`+subject+`","srf":"`+ep.Surface.UUID().String()+`"}`, "s")
}

func (f *fakeBridge) Admit(_ context.Context, ep *tenants.Endpoint, token string) (*Caller, error) {
	var c struct{ Sub, Srf string }
	if claims, err := TokenClaims(token); err != nil || json.Unmarshal(claims, &c) != nil {
		return nil, errors.New("the bridge was shown what is no token of ours")
	}
	return f.admit(ep, c.Sub+"."+c.Srf, "client-1")
}

func (f *fakeBridge) AdmitPersonal(_ context.Context, ep *tenants.Endpoint, token string) (*Caller, error) {
	return f.admit(ep, strings.TrimPrefix(token, "chp_"), "grt_1")
}

func (f *fakeBridge) admit(ep *tenants.Endpoint, token, client string) (*Caller, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, token)
	if f.err != nil {
		return nil, f.err
	}
	subject, surface, _ := strings.Cut(token, ".")
	if surface != ep.Surface.UUID().String() {
		return nil, InvalidToken(ep, "token_surface", "The access token is for another surface. Sign in again.")
	}
	c := &Caller{
		Key:   CallerKey{Surface: ep.Surface, Mode: ModeBridge, Issuer: ep.Project.Issuer, Subject: subject, Client: client},
		Grant: id.New[id.GrantKind](), Session: fakeSession(subject),
	}
	if f.bend != nil {
		f.bend(c)
	}
	return c, nil
}

func (b *bundle) bridged() (*fakeBridge, *tenants.Endpoint) {
	f := &fakeBridge{}
	b.auth = b.auth.With(Doors{Bridge: f})
	ep := *b.ep
	ep.Surface = id.New[id.SurfaceKind]()
	ep.Access.Authorization = surfaces.AuthorizationBridge
	ep.Access.Advertise, ep.Access.Scopes = []string{"crm.read"}, []string{"crm.read", "crm.write"}
	return f, &ep
}

func TestBridgeSurfaceTakesWhatTheBridgeIssuedAndNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f, ep := b.bridged()
	token, personal := ourToken(ep, "alice"), "alice."+ep.Surface.UUID().String()
	if c := b.accepts(ep, token); c.Key.Mode != ModeBridge || c.Key.Subject != "alice" || c.Key.Client != "client-1" {
		t.Errorf("caller %+v", c.Key)
	}
	if c := b.accepts(ep, "chp_"+personal); c.Key.Client != "grt_1" {
		t.Errorf("caller of the personal token %+v", c.Key)
	}
	f.seen = nil
	for _, other := range []string{"chk_" + token, "chr_" + token, "cht_" + token, "chx_" + token, "alice", b.token(nil)} {
		b.refuses(ep, other, reasonOtherKind)
	}
	b.refuses(ep, b.token(map[string]any{"iss": "https://mcp.example.test/acme/other/mcp"}), reasonIssuer)
	if len(f.seen) != 0 {
		t.Errorf("the bridge was shown %v", f.seen)
	}
	other := *ep
	other.Surface = id.New[id.SurfaceKind]()
	b.refuses(&other, token, "token_surface")
	alias := *ep
	alias.Resource = ep.URLs[1]
	b.accepts(&alias, token)
}

func TestDirectSurfaceNeverAsksTheBridge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f, ep := b.bridged()
	ours := b.signedRaw(newES256(t, "ours"), []byte(`{"iss":"`+ep.Resource.URL()+`","sub":"alice","exp":9999999999,"srf":"x"}`), nil)
	b.refuses(b.ep, ours, reasonOtherKind)
	b.refuses(b.ep, "chp_alice."+b.ep.Surface.UUID().String(), reasonOtherKind)
	public := *ep
	public.Access.Modes = []surfaces.Mode{surfaces.ModePublic} // authorization says nothing without oauth
	b.refuses(&public, ourToken(ep, "alice"), reasonOtherKind)
	if len(f.seen) != 0 {
		t.Errorf("the bridge was shown %v", f.seen)
	}
}

func TestBridgeSurfaceWithoutABridgeAdmitsNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ep := b.bridged()
	b.auth = b.auth.With(Doors{})
	for _, token := range []string{ourToken(ep, "alice"), "chp_x", b.token(nil)} {
		b.refuses(ep, token, reasonOtherKind)
	}
}

func TestCallerOfAnotherSurfaceIsNeverTakenFromTheBridge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f, ep := b.bridged()
	for name, bend := range map[string]func(*Caller){
		"surface": func(c *Caller) { c.Key.Surface = b.ep.Surface },
		"mode":    func(c *Caller) { c.Key.Mode = ModeDirect },
		"issuer":  func(c *Caller) { c.Key.Issuer = ep.Resource.URL() },
		"subject": func(c *Caller) { c.Key.Subject = "" },
		"session": func(c *Caller) { c.Session = nil },
	} {
		f.bend = bend
		if c, err := b.try(ep, ourToken(ep, "alice")); c != nil || err == nil || fault.From(err).Kind != fault.Internal {
			t.Errorf("another %s: %+v, %v", name, c, err)
		}
	}
}

func TestBridgeErrorsPassAsTheyAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f, ep := b.bridged()
	f.err = fault.New(fault.Unavailable, "database_away", "Later.").WithRetryAfter(2e9)
	b.undecided(ep, ourToken(ep, "alice"))
	f.err = InvalidToken(ep, "token_revoked", "Access was taken away. Sign in again.")
	got := b.refusal(ep, ourToken(ep, "alice"), "token_revoked")
	if got.Status != http.StatusUnauthorized || !strings.Contains(got.Header(), `error="invalid_token", error_description="Access was taken away. Sign in again."`) ||
		!strings.HasPrefix(got.Header(), `Bearer resource_metadata="https://mcp.example.test/`) {
		t.Errorf("challenge %s", got.Header())
	}
}

func TestBridgeMetadataNamesTheURLItselfAsTheIssuer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ep := b.bridged()
	for _, r := range ep.URLs {
		at := *ep
		at.Resource = r
		doc := document(t, serve(&at, http.MethodGet, nil))
		if servers := doc["authorization_servers"].([]any); len(servers) != 1 || servers[0] != r.URL() || doc["resource"] != r.URL() {
			t.Errorf("%s: %v", r.URL(), doc)
		}
		if scopes := doc["scopes_supported"].([]any); len(scopes) != 1 || scopes[0] != "crm.read" {
			t.Errorf("%s: scopes %v", r.URL(), scopes)
		}
	}
}

func TestBridgeChallengesNameTheSurfacesOwnScopes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ep := b.bridged()
	ep.Access.Require = []string{"crm.read"}
	got := InsufficientScope(ep, []string{"crm.write", "email", "other"}).Header()
	if !strings.Contains(got, `scope="crm.read crm.write"`) {
		t.Errorf("got %s", got)
	}
}

func TestRefusedOfABridgeCallerSaysThatTheSessionEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ep := b.bridged()
	token := ourToken(ep, "alice")
	caller := b.accepts(ep, token)
	if c := b.auth.Refused(ep, caller); c.Code != "session_ended" || c.Status != http.StatusUnauthorized {
		t.Errorf("got %d %s", c.Status, c.Code)
	}
	b.accepts(ep, token)
}
