package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const otherIssuer = "https://login.example.test"

// fakeDoors admits everything that it is asked about, as a careless
// implementation would, and notes every question: door, credential.
type fakeDoors struct {
	mu    sync.Mutex
	asked []string
	err   error         // of every door, where set
	bend  func(*Caller) // spoils every caller
	ended bool
	apart error // of Clients
}

func (f *fakeDoors) doors() Doors {
	return Doors{Bridge: fakeDoor{f}, Keys: fakeKeys{f}, Issuers: fakeIssuers{f}, Clients: fakeClients{f}, Sessions: fakeSessions{f}}
}

func (f *fakeDoors) note(door, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, door+" "+what)
}

// questions empties what was asked so far.
func (f *fakeDoors) questions() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func (f *fakeDoors) admit(door string, ep *tenants.Endpoint, token string, c Caller) (*Caller, error) {
	f.note(door, token)
	if f.err != nil {
		return nil, f.err
	}
	c.Key.Surface = ep.Surface
	if f.bend != nil {
		f.bend(&c)
	}
	return &c, nil
}

type (
	fakeDoor     struct{ *fakeDoors }
	fakeKeys     struct{ *fakeDoors }
	fakeIssuers  struct{ *fakeDoors }
	fakeClients  struct{ *fakeDoors }
	fakeSessions struct{ *fakeDoors }
)

func (f fakeDoor) Admit(_ context.Context, ep *tenants.Endpoint, token string) (*Caller, error) {
	return f.admit("bridge", ep, token, Caller{Key: CallerKey{Mode: ModeBridge, Issuer: ep.Project.Issuer, Subject: "alice"}, Session: fakeSession("alice")})
}

func (f fakeDoor) AdmitPersonal(_ context.Context, ep *tenants.Endpoint, token string) (*Caller, error) {
	return f.admit("personal", ep, token, Caller{Key: CallerKey{Mode: ModeBridge, Issuer: ep.Project.Issuer, Subject: "alice"}, Session: fakeSession("alice")})
}

func (f fakeKeys) Admit(_ context.Context, ep *tenants.Endpoint, key string) (*Caller, error) {
	return f.admit("key", ep, key, Caller{Key: CallerKey{Mode: ModeAPIKey, Issuer: KeyIssuer, Subject: "key_1", Client: "key_1"}, Role: "anon"})
}

func (f fakeKeys) AdmitChecked(_ context.Context, ep *tenants.Endpoint, key, from string) (*Caller, error) {
	return f.admit("checked from "+from, ep, key, Caller{Key: CallerKey{Mode: ModeAPIKey, Issuer: ep.Project.Issuer, Subject: "robot"}, Role: "anon"})
}

func (f fakeIssuers) Admit(_ context.Context, ep *tenants.Endpoint, token string) (*Caller, error) {
	return f.admit("issuer", ep, token, externalCaller(ep))
}

func (f fakeIssuers) AdmitOpaque(_ context.Context, ep *tenants.Endpoint, token, from string) (*Caller, error) {
	return f.admit("introspection from "+from, ep, token, externalCaller(ep))
}

func externalCaller(ep *tenants.Endpoint) Caller {
	return Caller{
		Key: CallerKey{Mode: ModeExternal, Issuer: ep.Access.Issuer.URL, Subject: "alice", Client: "client-9"}, Role: "anon",
		Scopes: []string{"crm.read"}, Claims: json.RawMessage(`{"crm":{"scopes":["crm.write"]}}`),
	}
}

func (f fakeClients) Admit(_ context.Context, _ *tenants.Endpoint, c *Caller) error {
	f.note("client", c.Key.Client)
	return f.apart
}

func (f fakeSessions) Ended(_ context.Context, _ *tenants.Endpoint, c *Caller) bool {
	f.note("session", string(c.Key.Mode))
	return f.ended
}

// doorsOf opens all doors of a bundle.
func (b *bundle) doorsOf() *fakeDoors {
	f := &fakeDoors{}
	b.auth = b.auth.With(f.doors())
	return f
}

// The kinds of credentials there are, for project and surface of ep.
func (b *bundle) credentials(ep *tenants.Endpoint) map[string]string {
	firstParty := map[string]any{"client_id": nil, "scope": nil, "amr": []any{map[string]any{"method": "password"}}}
	sign := func(with map[string]any) string { return b.signed(b.key, b.claimsOf(ep, with)) }
	return map[string]string{
		"none": "", "key": "chk_0123456789", "personal": "chp_0123456789", "other ours": "cht_0123456789", "unknown ours": "chz_" + sign(nil),
		"bridge": ourToken(ep, "alice"), "bridge by alias": sign(map[string]any{"iss": ep.URLs[1].URL()}),
		"delegated": sign(nil), "session": sign(firstParty), "lost client": sign(map[string]any{"client_id": nil, "scope": nil}),
		"external": sign(map[string]any{"iss": otherIssuer}), "unknown issuer": sign(map[string]any{"iss": "https://nobody.example.test"}),
		"no issuer": sign(map[string]any{"iss": nil}), "broken JWT": forged(`{"alg":"ES256"}`, `{"iss":`, "x"), "opaque": "0123456789abcdef", "opaque in three": "a.b.c",
	}
}

// TestDoors is the table of design section 5: every kind of credential, at
// surfaces that list every mode alone and several of them.
func TestDoors(t *testing.T) {
	t.Parallel()
	const (
		pointing = `Bearer resource_metadata="https://mcp.example.test/.well-known/oauth-protected-resource/acme/mcp"`
		bare     = "Bearer"
	)
	oauth, bearer, key, public := surfaces.ModeOAuth, surfaces.ModeBearer, surfaces.ModeAPIKey, surfaces.ModePublic
	type outcome map[string]string // credential → mode of the caller, then the doors asked; all others are refused
	project := outcome{"delegated": "direct: client client-1"}
	session := outcome{"session": "bearer:"}
	keys := outcome{"key": "api-key: key"}
	bridge := outcome{"bridge": "bridge: bridge", "bridge by alias": "bridge: bridge", "personal": "bridge: personal"}
	external := outcome{"external": "external: issuer"}
	checked := outcome{"opaque": "api-key: checked from 192.0.2.1", "opaque in three": "api-key: checked from 192.0.2.1"}
	introspected := outcome{"opaque": "external: introspection from 192.0.2.1", "opaque in three": "external: introspection from 192.0.2.1"}
	nobody := outcome{"none": "public:"}
	all := func(list ...outcome) outcome {
		sum := outcome{}
		for _, one := range list {
			for k, v := range one {
				sum[k] = v
			}
		}
		return sum
	}
	cases := []struct {
		name          string
		modes         []surfaces.Mode
		authorization string
		keys, opaque  bool // access.keys; introspection
		want          outcome
		start         string // of a challenge
	}{
		{"direct", []surfaces.Mode{oauth}, "direct", false, false, project, pointing},
		{"bridge", []surfaces.Mode{oauth}, "bridge", false, false, bridge, pointing},
		{"external", []surfaces.Mode{oauth}, "external", false, false, external, pointing},
		{"external with introspection", []surfaces.Mode{oauth}, "external", false, true, all(external, introspected), pointing},
		{"bearer", []surfaces.Mode{bearer}, "", false, false, session, bare},
		{"api-key", []surfaces.Mode{key}, "", false, false, keys, bare},
		{"api-key, checked", []surfaces.Mode{key}, "", true, false, all(keys, checked), bare},
		{"public", []surfaces.Mode{public}, "", false, false, nobody, bare},
		{"nothing", nil, "", false, false, nil, bare},
		{"direct, bearer", []surfaces.Mode{oauth, bearer}, "direct", false, false, all(project, session), pointing},
		{"bridge, bearer, key", []surfaces.Mode{bearer, oauth, key}, "bridge", true, false, all(bridge, session, keys, checked), pointing},
		{"external, bearer, public", []surfaces.Mode{public, oauth, bearer}, "external", false, true, all(external, introspected, session, nobody), pointing},
		{"key, public", []surfaces.Mode{key, public}, "", true, false, all(keys, checked, nobody), bare},
		{"all, direct", []surfaces.Mode{public, key, bearer, oauth}, "direct", true, false, all(project, session, keys, checked, nobody), pointing},
		// What is configured beside the modes listed opens nothing.
		{"public, all configured", []surfaces.Mode{public}, "external", true, true, nobody, bare},
		{"bearer, all configured", []surfaces.Mode{bearer}, "direct", true, true, session, bare},
		{"direct, all configured", []surfaces.Mode{oauth}, "direct", true, true, project, pointing},
		{"external, all configured", []surfaces.Mode{oauth}, "external", true, true, all(external, introspected), pointing},
		{"bridge, all configured", []surfaces.Mode{oauth}, "bridge", true, true, bridge, pointing},
	}
	// Why the others are refused.
	codes := map[string]reason{"none": reasonNoToken, "unknown issuer": reasonIssuer, "no issuer": reasonIssuer, "broken JWT": reasonMalformed}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			f := b.doorsOf()
			ep := *b.ep
			ep.Access = surfaces.Access{Modes: c.modes, Authorization: c.authorization, Issuer: &surfaces.ExternalIssuer{URL: otherIssuer}}
			if c.keys {
				ep.Access.Keys = &surfaces.KeyCheck{}
			}
			if c.opaque {
				ep.Access.Issuer.Introspection = &surfaces.Introspection{}
			}
			for name, text := range b.credentials(&ep) {
				h := http.Header{}
				if text != "" {
					h = bearerHeader(text)
				}
				for range 2 { // the second time from memory
					caller, err := b.auth.Authenticate(t.Context(), &ep, h, "192.0.2.1")
					asked := f.questions()
					if want, in := c.want[name]; in {
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						got := string(caller.Key.Mode) + ":"
						for _, question := range asked {
							got += " " + strings.TrimSuffix(question, " "+text)
						}
						if got != want || caller.Key.Surface != ep.Surface {
							t.Errorf("%s: %s, want %s", name, got, want)
						}
						if caller.Key.Mode.User() != (!caller.Token.IsZero() || caller.Session != nil) {
							t.Errorf("%s: a token of the project's for %s", name, caller.Key.Mode)
						}
						continue
					}
					if len(asked) != 0 {
						t.Errorf("%s: asked %q", name, asked)
					}
					want := codes[name]
					if want == "" {
						want = reasonOtherKind
					}
					if name == "lost client" && takesDirect(&ep) {
						want = reasonNoClient
					}
					if name == "external" && !slices.Contains(c.modes, oauth) {
						want = reasonOtherKind
					}
					challenge := b.challengeIn(caller, err, want)
					checkHeader(t, name, challenge, c.start)
				}
			}
		})
	}
}

// checkHeader wants exactly the scheme, the pointer where there is one, and the
// error where a credential was presented.
func checkHeader(t *testing.T, name string, c *Challenge, start string) {
	t.Helper()
	want := start
	if c.Code != string(reasonNoToken) {
		if start != "Bearer" {
			want += ","
		}
		want += ` error="invalid_token", error_description="` + c.fault.Message + `"`
	}
	if c.Status != http.StatusUnauthorized || c.Header() != want || strings.Contains(c.Header(), "scope=") {
		t.Errorf("%s: %d %s, want %s", name, c.Status, c.Header(), want)
	}
}

// TestField19_DefaultChallengeCarriesNoScope: a client that is told scopes asks
// for exactly those, and Supabase refuses what it does not know.
func TestField19_DefaultChallengeCarriesNoScope(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Access.Advertise, b.ep.Access.Require = []string{"email"}, []string{"email"}
	for _, h := range []http.Header{{}, bearerHeader("nope")} {
		_, err := b.auth.Authenticate(t.Context(), b.ep, h, "")
		var challenge *Challenge
		if !asChallenge(err, &challenge) || strings.Contains(challenge.Header(), "scope") || strings.Contains(challenge.Header(), "email") {
			t.Errorf("got %v", err)
		}
	}
}

// TestDelegatedTokenThatLostItsClient: after a second factor a client's token
// names no client any more. It is not taken for a session of the app's own.
func TestDelegatedTokenThatLostItsClient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.doorsOf()
	b.ep.Access.Modes = []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModeBearer, surfaces.ModePublic}
	factor := []any{map[string]any{"method": "oauth_provider/authorization_code"}, map[string]any{"method": "totp"}}
	for _, with := range []map[string]any{
		{"client_id": nil, "scope": nil, "amr": factor, "aal": "aal2"},
		{"client_id": nil, "amr": []any{}},
		{"client_id": "", "scope": nil, "amr": factor},
	} {
		got := b.refusal(b.ep, b.token(with), reasonNoClient)
		if got.Status != http.StatusUnauthorized || !strings.Contains(got.Header(), `error="invalid_token"`) {
			t.Errorf("got %d %s", got.Status, got.Header())
		}
	}
	if asked := f.questions(); len(asked) != 0 {
		t.Errorf("asked %q", asked)
	}
}

func TestBearerIsTheUserWithoutScopes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.doorsOf()
	b.ep.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeBearer}, Require: []string{"crm.read"}}
	mine := func(with map[string]any) string {
		all := map[string]any{"client_id": nil, "scope": nil, "amr": []any{map[string]any{"method": "password"}}}
		for k, v := range with {
			all[k] = v
		}
		return b.token(all)
	}
	token := mine(nil)
	c := b.accepts(b.ep, token)
	want := CallerKey{Surface: b.ep.Surface, Mode: ModeBearer, Issuer: b.ep.Project.Issuer, Subject: "00000000-0000-4000-8000-00000000a11c"}
	if c.Key != want || c.Token.Reveal() != token || len(c.Scopes) != 0 || len(c.Missing([]string{"crm.read"})) != 0 || c.Role != "authenticated" {
		t.Errorf("got %+v", c)
	}
	for name, bad := range map[string]struct {
		with map[string]any
		want reason
	}{
		"role":       {map[string]any{"role": "service_role"}, reasonRole},
		"anon role":  {map[string]any{"role": "anon"}, reasonRole},
		"anonymous":  {map[string]any{"is_anonymous": true}, reasonAnonymousUser},
		"audience":   {map[string]any{"aud": "https://other.example.test/mcp"}, reasonAudience},
		"expired":    {map[string]any{"exp": b.clock.Now().Unix() - 31}, reasonExpired},
		"delegated":  {map[string]any{"client_id": "client-1"}, reasonOtherKind},
		"other user": {map[string]any{"sub": ""}, reasonMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			bb := *b
			bb.t = t
			bb.refuses(b.ep, mine(bad.with), bad.want)
		})
	}
	forgedToken := b.signed(newES256(t, "k1"), b.claimsOf(b.ep, map[string]any{"client_id": nil, "scope": nil, "amr": nil}))
	b.refuses(b.ep, forgedToken, reasonSignature)
	b.ep.Access.AnonymousUsers = true
	b.accepts(b.ep, mine(map[string]any{"is_anonymous": true}))
	if got := b.auth.Refused(b.ep, c); got.Code != string(reasonRefused) {
		t.Errorf("refused late: %s", got.Code)
	}
	b.refuses(b.ep, token, reasonRefused)
}

// TestOneTokenAtTwoSurfaces: what was remembered at one surface decides nothing
// about the mode at another.
func TestOneTokenAtTwoSurfaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.doorsOf()
	sessions := *b.ep
	sessions.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeBearer, surfaces.ModePublic}}
	open := *b.ep
	open.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModePublic}}
	token := b.token(nil)
	for range 2 {
		b.accepts(b.ep, token)
		b.refuses(&sessions, token, reasonOtherKind)
		b.refuses(&open, token, reasonOtherKind)
	}
}

func TestDoorsThatAdmitSomebodyElseAreOurMistake(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.doorsOf()
	b.ep.Access = surfaces.Access{
		Modes: []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModeAPIKey}, Authorization: "external",
		Issuer: &surfaces.ExternalIssuer{URL: otherIssuer, Introspection: &surfaces.Introspection{}},
	}
	checked := *b.ep
	checked.Access.Authorization, checked.Access.Keys = "bridge", &surfaces.KeyCheck{}
	external := b.token(map[string]any{"iss": otherIssuer})
	at := map[string]*tenants.Endpoint{"chk_1": b.ep, external: b.ep, "opaque": b.ep, "opaque-key": &checked, ourToken(&checked, "alice"): &checked, "chp_1": &checked}
	for token, ep := range at {
		b.accepts(ep, token)
	}
	other := b.project("https://bob.example.test", "/bob/mcp")
	for name, bend := range map[string]func(*Caller){
		"surface":         func(c *Caller) { c.Key.Surface = other.Surface },
		"mode":            func(c *Caller) { c.Key.Mode = ModeDirect },
		"public":          func(c *Caller) { c.Key.Mode = ModePublic },
		"issuer":          func(c *Caller) { c.Key.Issuer = "https://evil.example.test" },
		"no issuer":       func(c *Caller) { c.Key.Issuer = "" },
		"subject":         func(c *Caller) { c.Key.Subject = "" },
		"project's token": func(c *Caller) { c.Token = seal.NewSecret("x") },
	} {
		f.bend = bend
		for token, ep := range at {
			if c, err := b.try(ep, token); c != nil || err == nil || fault.From(err).Kind != fault.Internal {
				t.Errorf("another %s of %s: %+v, %v", name, token, c, err)
			}
		}
	}
	f.bend = func(c *Caller) { c.Session = fakeSession("alice") }
	for _, token := range []string{"chk_1", external, "opaque"} {
		if c, err := b.try(b.ep, token); c != nil || fault.From(err).Kind != fault.Internal {
			t.Errorf("a session of %s: %+v, %v", token, c, err)
		}
	}
	f.bend = func(c *Caller) { c.Claims = json.RawMessage(`{}`) }
	if c, err := b.try(b.ep, "chk_1"); c != nil || fault.From(err).Kind != fault.Internal {
		t.Errorf("claims of a key: %+v, %v", c, err)
	}
}

func TestShutDoorsAdmitNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.auth = b.auth.With(Doors{})
	ep := *b.ep
	ep.Access = surfaces.Access{
		Modes: []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModeAPIKey}, Authorization: "external", Keys: &surfaces.KeyCheck{},
		Issuer: &surfaces.ExternalIssuer{URL: otherIssuer},
	}
	for _, token := range []string{"chk_1", "opaque", b.token(map[string]any{"iss": otherIssuer})} {
		b.refuses(&ep, token, reasonOtherKind)
	}
	ep.Access.Keys, ep.Access.Issuer.Introspection = nil, &surfaces.Introspection{}
	b.refuses(&ep, "opaque", reasonOtherKind)
	ep.Access.Issuer = nil
	b.refuses(&ep, "opaque", reasonOtherKind)
	b.accepts(b.ep, b.token(nil))
	for _, wants := range []surfaces.Access{{SessionCheck: 300}, {Isolation: surfaces.IsolationClient}} {
		ep := *b.ep
		ep.Access.SessionCheck, ep.Access.Isolation = wants.SessionCheck, wants.Isolation
		b.refuses(&ep, b.token(nil), reasonOtherKind)
	}
}

// TestWhatADoorCannotJudgeIsNoSignIn: whatever caused it.
func TestWhatADoorCannotJudgeIsNoSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.doorsOf()
	b.ep.Access = surfaces.Access{
		Modes: []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModeAPIKey, surfaces.ModePublic}, Authorization: "external",
		Issuer: &surfaces.ExternalIssuer{URL: otherIssuer, Introspection: &surfaces.Introspection{}},
	}
	f.err = fault.Wrap(reasonSignature, fault.Unavailable, "away", "Later.").WithRetryAfter(2 * time.Second)
	for _, token := range []string{"chk_1", "opaque", b.token(map[string]any{"iss": otherIssuer})} {
		b.undecided(b.ep, token)
	}
	f.err = InvalidToken(b.ep, "key_revoked", "The key was revoked. Ask for another one.")
	b.refuses(b.ep, "chk_1", "key_revoked")
	direct := *b.ep
	direct.Access.Authorization = "direct"
	f.apart = fault.New(fault.Unavailable, "away", "Later.").WithRetryAfter(2 * time.Second)
	b.undecided(&direct, b.token(nil))
}

func TestOrderOfDirect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.doorsOf()
	b.ep.Access.SessionCheck, b.ep.Access.Isolation = 300, surfaces.IsolationClient
	b.ep.Access.Modes = append(b.ep.Access.Modes, surfaces.ModeBearer)
	asked := func(want ...string) {
		t.Helper()
		if got := f.questions(); !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
	token := b.token(nil)
	b.accepts(b.ep, token)
	asked("session direct", "client client-1")
	b.refuses(b.ep, b.token(map[string]any{"role": "anon"}), reasonRole)
	b.refuses(b.ep, b.signed(newES256(t, "k1"), b.claimsOf(b.ep, nil)), reasonSignature)
	asked()
	b.accepts(b.ep, b.token(map[string]any{"client_id": nil, "scope": nil, "amr": nil}))
	asked("session bearer")
	f.ended = true
	got := b.refusal(b.ep, token, reasonSession)
	if got.Status != http.StatusUnauthorized || !strings.Contains(got.Header(), `error="invalid_token"`) {
		t.Errorf("got %s", got.Header())
	}
	asked("session direct")
	f.ended, f.apart = false, InvalidToken(b.ep, "client_isolated", "Elsewhere.")
	b.refuses(b.ep, token, "client_isolated")
	asked("session direct", "client client-1")
	b.ep.Access.SessionCheck = 0
	f.apart = nil
	b.accepts(b.ep, token)
	asked("client client-1")
}

func TestScopesFromAClaim(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.doorsOf()
	b.ep.Access.ScopesFrom = &surfaces.ScopesFrom{Claim: []string{"app_metadata", "scopes"}}
	b.ep.Access.Require = []string{"crm.read"}
	with := func(scopes any) string {
		return b.token(map[string]any{"app_metadata": map[string]any{"scopes": scopes}})
	}
	for _, scopes := range []any{"crm.read crm.write email", []any{"crm.read", "crm.write"}} {
		for range 2 {
			if c := b.accepts(b.ep, with(scopes)); !slices.Equal(c.Scopes, []string{"openid", "email", "crm.read", "crm.write"}) {
				t.Errorf("%v: %q", scopes, c.Scopes)
			}
		}
	}
	// A sign-in brings none of these, so nobody is sent to one.
	for _, scopes := range []any{nil, 7, "crm.write", []any{"crm.read", 7}} {
		c, err := b.try(b.ep, with(scopes))
		var challenge *Challenge
		if c != nil || !fault.Is(err, fault.Forbidden) || asChallenge(err, &challenge) {
			t.Errorf("%v: %v, %v", scopes, c, err)
		}
	}
	// What the claim brought is not missing, so what is can be asked for.
	both := *b.ep
	both.Access.Require = []string{"crm.read", "phone"}
	challenge := b.refusal(&both, with("crm.read"), reasonScope)
	if challenge.Status != http.StatusForbidden || !strings.Contains(challenge.Header(), ` scope="phone",`) {
		t.Errorf("a scope that a sign-in brings: %d %s", challenge.Status, challenge.Header())
	}
	// Neither has the bearer mode any, nor does what users write themselves count.
	bearer := *b.ep
	bearer.Access.Modes = []surfaces.Mode{surfaces.ModeBearer}
	mine := b.token(map[string]any{"client_id": nil, "scope": nil, "amr": nil, "app_metadata": map[string]any{"scopes": "crm.read"}})
	if c := b.accepts(&bearer, mine); len(c.Scopes) != 0 {
		t.Errorf("bearer: %q", c.Scopes)
	}
	b.ep.Access.ScopesFrom.Claim = []string{"user_metadata", "scopes"}
	if c, err := b.try(b.ep, b.token(map[string]any{"user_metadata": map[string]any{"scopes": "crm.read"}})); c != nil || !fault.Is(err, fault.Forbidden) {
		t.Errorf("user_metadata: %+v, %v", c, err)
	}
	// Those of a function are not known here.
	b.ep.Access.ScopesFrom = &surfaces.ScopesFrom{Function: &surfaces.Function{}}
	c := b.accepts(b.ep, b.token(nil))
	if err := RequireScopes(b.ep, c); !fault.Is(err, fault.Forbidden) {
		t.Errorf("afterwards: %v", err)
	}
	c.Scopes = append(c.Scopes, "crm.read")
	if err := RequireScopes(b.ep, c); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestScopesOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.doorsOf()
	b.ep.Access = surfaces.Access{
		Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: "external", Issuer: &surfaces.ExternalIssuer{URL: otherIssuer},
		ScopesFrom: &surfaces.ScopesFrom{Claim: []string{"crm", "scopes"}}, Require: []string{"crm.read", "crm.write"},
	}
	token := b.token(map[string]any{"iss": otherIssuer})
	if c := b.accepts(b.ep, token); !slices.Equal(c.Scopes, []string{"crm.read", "crm.write"}) {
		t.Errorf("scopes %q", c.Scopes)
	}
	f.bend = func(c *Caller) { c.Claims = nil }
	if _, err := b.try(b.ep, token); !fault.Is(err, fault.Forbidden) {
		t.Errorf("no claim: %v", err)
	}
	b.ep.Access.Advertise = []string{"crm.read", "crm.write", "crm.admin"}
	got := b.refusal(b.ep, token, reasonScope)
	if got.Status != http.StatusForbidden || !strings.Contains(got.Header(), `scope="crm.read crm.write"`) {
		t.Errorf("got %d %s", got.Status, got.Header())
	}
}

func TestActors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.doorsOf()
	for range 2 {
		c := b.accepts(b.ep, b.token(map[string]any{"act": map[string]any{"sub": "agent-1", "act": map[string]any{"sub": "agent-0"}}}))
		if c.Actor != "agent-1" || c.Key.Subject != "00000000-0000-4000-8000-00000000a11c" || c.Key.Mode != ModeDirect {
			t.Errorf("got %+v", c)
		}
	}
	if c := b.accepts(b.ep, b.token(nil)); c.Actor != "" {
		t.Errorf("nobody acts: %q", c.Actor)
	}
	for _, act := range []any{"agent", map[string]any{}, map[string]any{"sub": ""}, []any{}, map[string]any{"sub": "a", "act": "b"}} {
		got := b.refusal(b.ep, b.token(map[string]any{"act": act}), reasonActor)
		if got.Status != http.StatusUnauthorized || !strings.Contains(got.Header(), `error="invalid_token"`) {
			t.Errorf("%v: %s", act, got.Header())
		}
	}
	// It changes no kind: a session that somebody acts in is a session.
	b.ep.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeBearer}}
	mine := b.token(map[string]any{"client_id": nil, "scope": nil, "amr": nil, "act": map[string]any{"sub": "agent-1"}})
	if c := b.accepts(b.ep, mine); c.Key.Mode != ModeBearer || c.Actor != "agent-1" {
		t.Errorf("got %+v", c)
	}
}

// TestEqualSubjectsAreDifferentCallers: the same word for a subject, vouched for
// by another, or let in by another mode, is somebody else.
func TestEqualSubjectsAreDifferentCallers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.doorsOf()
	f.bend = func(c *Caller) { c.Key.Subject, c.Key.Client = "alice", "client-1" }
	modes := []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModeBearer, surfaces.ModeAPIKey}
	at := func(authorization string, keys bool) *tenants.Endpoint {
		ep := *b.ep
		ep.Access = surfaces.Access{Modes: modes, Authorization: authorization, Issuer: &surfaces.ExternalIssuer{URL: otherIssuer}}
		if keys {
			ep.Access.Keys = &surfaces.KeyCheck{}
		}
		return &ep
	}
	bob := b.project("https://ref.example.test", "/bob/mcp") // another organization, the very same issuer
	b.sources.rings[bob.Project.JWKSURI] = b.ring
	seen := map[CallerKey]string{}
	for name, c := range map[string]*Caller{
		"direct":   b.accepts(at("direct", false), b.token(map[string]any{"sub": "alice"})),
		"bearer":   b.accepts(at("direct", false), b.token(map[string]any{"sub": "alice", "client_id": nil, "scope": nil, "amr": nil})),
		"bridge":   b.accepts(at("bridge", false), ourToken(b.ep, "alice")),
		"external": b.accepts(at("external", false), b.token(map[string]any{"iss": otherIssuer})),
		"key":      b.accepts(at("direct", false), "chk_1"),
		"checked":  b.accepts(at("direct", true), "opaque"),
		"bob's":    b.accepts(bob, b.token(map[string]any{"sub": "alice"})),
	} {
		if other, taken := seen[c.Key]; taken || c.Key.Subject != "alice" {
			t.Errorf("%s is %s: %+v", name, other, c.Key)
		}
		seen[c.Key] = name
	}
}

// TestAliceAndBobInTwoOrganizations: one issuer, one client id, two projects that
// know nothing of one another, at once.
func TestAliceAndBobInTwoOrganizations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.doorsOf()
	alice := b.ep
	bob := b.project("https://bob.example.test", "/bob/mcp")
	bob.Project.Issuer = alice.Project.Issuer
	bobKey := newES256(t, "k1")
	b.sources.rings[bob.Project.JWKSURI].rotate(bobKey)
	for _, ep := range []*tenants.Endpoint{alice, bob} {
		ep.Access.Modes = []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModeBearer}
	}
	tokens := map[*tenants.Endpoint]string{alice: b.signed(b.key, b.claimsOf(alice, nil)), bob: b.signed(bobKey, b.claimsOf(bob, nil))}
	var wg sync.WaitGroup
	for ep, mine := range tokens {
		for of, theirs := range tokens {
			wg.Go(func() {
				for range 200 {
					if c, err := b.try(ep, mine); err != nil || c.Key.Surface != ep.Surface || c.Token.Reveal() != mine {
						t.Errorf("own token: %+v, %v", c, err)
						return
					}
					if of == ep {
						continue
					}
					var challenge *Challenge
					if c, err := b.try(ep, theirs); c != nil || !asChallenge(err, &challenge) || challenge.Code != string(reasonSignature) {
						t.Errorf("the other's token: %+v, %v", c, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

func TestMetadataOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Access.Authorization, b.ep.Access.Issuer = "external", &surfaces.ExternalIssuer{URL: otherIssuer}
	b.ep.Access.Advertise, b.ep.Access.Documentation = []string{"crm.read"}, "https://docs.example.test/crm"
	doc := document(t, serve(b.ep, http.MethodGet, nil))
	servers, scopes := doc["authorization_servers"].([]any), doc["scopes_supported"].([]any)
	if len(servers) != 1 || servers[0] != otherIssuer || len(scopes) != 1 || scopes[0] != "crm.read" || doc["resource_documentation"] != "https://docs.example.test/crm" {
		t.Errorf("got %v", doc)
	}
}

// TestTextsWhereNoClientSignsIn: nobody is told to sign in where nobody can.
func TestTextsWhereNoClientSignsIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for want, modes := range map[string][]surfaces.Mode{
		"key": {surfaces.ModeAPIKey}, "session of the app": {surfaces.ModeBearer}, "or a session of the app": {surfaces.ModeBearer, surfaces.ModeAPIKey},
	} {
		ep := *b.ep
		ep.Access = surfaces.Access{Modes: modes}
		for _, h := range []http.Header{{}, bearerHeader("nope"), bearerHeader(b.token(map[string]any{"iss": "https://nobody.example.test"}))} {
			_, err := b.auth.Authenticate(t.Context(), &ep, h, "")
			text := fault.From(err).Message
			if !strings.Contains(text, want) || strings.Contains(text, "Sign in") || !isQuotable(text) {
				t.Errorf("%v: %s", modes, text)
			}
		}
		problem := document(t, serve(&ep, http.MethodGet, nil))
		if text := problem["detail"].(string); problem["status"] != 404.0 || strings.Contains(text, "needs no sign-in") || !strings.Contains(text, "Bearer token") {
			t.Errorf("%v: %s", modes, text)
		}
	}
	if err := errors.Unwrap(SignIn(b.ep)); fault.From(err).Message != "Sign in to use this server." {
		t.Errorf("oauth: %v", err)
	}
}

// FuzzKind: what has the form of a JWT is never handed to anybody as an opaque
// string, however it is bent, and a credential of ours never at all.
func FuzzKind(f *testing.F) {
	s := setup(f)
	for _, seed := range []string{s.token(nil), "a.b.c", "e30.e30.", "e30.e30.=", "chk_1", "chp_1", "chz_a.b.c", "e30..", "..", "e30.e30.e30.e30", "bnVsbA.e30.x", " e30.e30.e30"} {
		f.Add(seed)
	}
	doors := &fakeDoors{}
	auth := s.auth.With(doors.doors())
	ep := *s.ep
	ep.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeAPIKey}, Keys: &surfaces.KeyCheck{}}
	f.Fuzz(func(t *testing.T, text string) {
		doors.questions()
		caller, err := auth.Authenticate(t.Context(), &ep, bearerHeader(text), "")
		asked := doors.questions()
		if (caller == nil) == (err == nil) || len(asked) > 1 || (len(asked) == 1) != (err == nil) {
			t.Fatalf("%q: %v, %v, asked %q", text, caller, err, asked)
		}
		trimmed := strings.Trim(text, " ")
		if _, isJWT := jwtPayload(trimmed); isJWT && len(asked) != 0 {
			t.Fatalf("%q: a JWT was shown to %q", text, asked)
		}
		if isChumboKey(trimmed) && len(asked) == 1 && !strings.HasPrefix(asked[0], "key chk_") {
			t.Fatalf("%q: a credential of ours was shown to %q", text, asked)
		}
	})
}
