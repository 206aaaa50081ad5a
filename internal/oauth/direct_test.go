package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func TestDelegatedTokenBecomesACaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.token(nil)
	for _, name := range []string{"first", "from the memo"} {
		c := b.accepts(b.ep, token)
		want := CallerKey{
			Surface: b.ep.Surface, Mode: ModeDirect, Issuer: b.ep.Project.Issuer,
			Subject: "00000000-0000-4000-8000-00000000a11c", Client: "client-1",
		}
		if c.Key != want {
			t.Errorf("%s: key %+v, want %+v", name, c.Key, want)
		}
		if c.Token.Reveal() != token || c.Role != "authenticated" || !c.Expires.Equal(b.clock.Now().Add(time.Hour)) {
			t.Errorf("%s: got role %q, expires %s", name, c.Role, c.Expires)
		}
		if len(c.Missing([]string{"openid", "email"})) != 0 || len(c.Missing([]string{"profile"})) != 1 {
			t.Errorf("%s: scopes %v", name, c.Scopes)
		}
	}
	if got := b.sources.count(b.ep.Project.JWKSURI); got != 1 {
		t.Errorf("keys were read %d times", got)
	}
}

func TestClaimsForPolicyLeaveOutUserMetadata(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.accepts(b.ep, b.token(map[string]any{"big": json.Number("12345678901234567890")}))
	var claims map[string]json.RawMessage
	if err := json.Unmarshal(c.Claims, &claims); err != nil {
		t.Fatalf("read claims: %v", err)
	}
	if _, ok := claims["user_metadata"]; ok {
		t.Error("user_metadata is there")
	}
	if string(claims["app_metadata"]) != `{"provider":"email"}` || string(claims["big"]) != "12345678901234567890" {
		t.Errorf("claims changed on the way: %s", c.Claims)
	}
}

func TestField21_AudienceAndMarksDecide(t *testing.T) {
	t.Parallel()
	none := map[string]any{"client_id": nil, "scope": nil, "amr": []any{map[string]any{"method": "password"}}}
	with := func(base map[string]any, name string, value any) map[string]any {
		c := map[string]any{name: value}
		for k, v := range base {
			if k != name {
				c[k] = v
			}
		}
		return c
	}
	oauthMark := []any{map[string]any{"method": "totp"}, map[string]any{"method": "oauth_provider/authorization_code"}}
	cases := []struct {
		name string
		with map[string]any
		want reason // "" for accepted
	}{
		{"as issued", nil, ""},
		{"own URL", map[string]any{"aud": "https://mcp.example.test/acme/mcp"}, ""},
		{"alias URL", map[string]any{"aud": []any{"https://acme.example.test/mcp"}}, ""},
		{"authenticated and own URL", map[string]any{"aud": []any{"authenticated", "https://mcp.example.test/acme/mcp"}}, ""},
		{"authenticated and a word", map[string]any{"aud": []any{"authenticated", "mobile"}}, ""},
		{"foreign URL", map[string]any{"aud": "https://other.example.test/mcp"}, reasonAudience},
		{"authenticated and foreign URL", map[string]any{"aud": []any{"authenticated", "https://other.example.test/mcp"}}, reasonAudience},
		{"own URL with slash", map[string]any{"aud": "https://mcp.example.test/acme/mcp/"}, reasonAudience},
		{"another word", map[string]any{"aud": "mobile"}, reasonAudience},
		{"no audience", map[string]any{"aud": nil}, reasonAudience},
		{"empty audience", map[string]any{"aud": []any{}}, reasonAudience},
		{"audience of another type", map[string]any{"aud": 7}, reasonMalformed},
		{"first-party session", none, reasonOtherKind},
		{"client only", with(none, "client_id", "client-1"), ""},
		{"scope only", with(none, "scope", "email"), reasonNoClient},
		{"amr only, after a second factor", with(none, "amr", oauthMark), reasonNoClient},
		{"amr of plain strings", with(none, "amr", []any{"oauth_provider/authorization_code"}), reasonNoClient},
		{"empty client", with(none, "client_id", ""), reasonNoClient},
		{"client of another type", map[string]any{"client_id": 7}, reasonMalformed},
		{"amr of another type", map[string]any{"amr": "password"}, reasonMalformed},
		{"role anon", map[string]any{"role": "anon"}, reasonRole},
		{"role service_role", map[string]any{"role": "service_role"}, reasonRole},
		{"no role", map[string]any{"role": nil}, reasonRole},
		{"another role", map[string]any{"role": "clerk"}, reasonRole},
		{"anonymous user", map[string]any{"is_anonymous": true}, reasonAnonymousUser},
		{"anonymous as text", map[string]any{"is_anonymous": "true"}, reasonMalformed},
		{"no subject", map[string]any{"sub": nil}, reasonMalformed},
		{"no expiry", map[string]any{"exp": nil}, reasonMalformed},
		{"expiry as text", map[string]any{"exp": "9999999999"}, reasonMalformed},
		{"expiry beyond time", map[string]any{"exp": 1e300}, reasonMalformed},
		{"no issuer", map[string]any{"iss": nil}, reasonIssuer},
		{"issuer with slash", map[string]any{"iss": "https://ref.example.test/auth/v1/"}, reasonIssuer},
		{"issuer in other case", map[string]any{"iss": "https://REF.example.test/auth/v1"}, reasonIssuer},
		{"not yet", map[string]any{"nbf": time.Date(2026, 7, 28, 12, 0, 31, 0, time.UTC).Unix()}, reasonNotYet},
		{"a little early", map[string]any{"nbf": time.Date(2026, 7, 28, 12, 0, 29, 0, time.UTC).Unix()}, ""},
		{"issued in the future", map[string]any{"iat": time.Date(2026, 7, 28, 12, 1, 0, 0, time.UTC).Unix()}, reasonNotYet},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			token := b.token(c.with)
			for range 2 { // verified, then from the memo
				if c.want == "" {
					b.accepts(b.ep, token)
					continue
				}
				b.refuses(b.ep, token, c.want)
			}
		})
	}
}

func TestDeclaredRolesAndAnonymousUsersAreAdmitted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Access.Roles = []string{"clerk", "service_role", "anon"}
	b.ep.Access.AnonymousUsers = true
	b.accepts(b.ep, b.token(map[string]any{"role": "clerk", "is_anonymous": true}))
	b.refuses(b.ep, b.token(nil), reasonRole)
	b.refuses(b.ep, b.token(map[string]any{"role": "service_role"}), reasonRole)
	b.refuses(b.ep, b.token(map[string]any{"role": "anon"}), reasonRole)
}

func TestField52_ExpiryHasTheDataAPIsSkew(t *testing.T) {
	t.Parallel()
	for _, warm := range []bool{false, true} {
		for _, c := range []struct {
			past time.Duration
			ok   bool
		}{{time.Second, true}, {29 * time.Second, true}, {30 * time.Second, true}, {31 * time.Second, false}} {
			t.Run(fmt.Sprintf("warm=%t/%s", warm, c.past), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				token := b.token(map[string]any{"exp": b.clock.Now().Add(time.Minute).Unix()})
				if warm {
					b.accepts(b.ep, token)
				}
				b.clock.Advance(time.Minute + c.past)
				if c.ok {
					b.accepts(b.ep, token)
					return
				}
				challenge := b.refusal(b.ep, token, reasonExpired)
				if challenge.Status != http.StatusUnauthorized || !strings.Contains(challenge.Header(), `error="invalid_token"`) {
					t.Fatalf("got %d %s", challenge.Status, challenge.Header())
				}
			})
		}
	}
}

func TestRequiredScopes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Access.Require = []string{"email", "profile"}
	b.accepts(b.ep, b.token(map[string]any{"scope": "profile openid email"}))
	challenge := b.refusal(b.ep, b.token(nil), reasonScope)
	want := `Bearer resource_metadata="https://mcp.example.test/.well-known/oauth-protected-resource/acme/mcp", ` +
		`error="insufficient_scope", scope="email profile", error_description="The access token lacks a scope that is needed here."`
	if challenge.Status != http.StatusForbidden || challenge.Header() != want {
		t.Errorf("got %d %s", challenge.Status, challenge.Header())
	}
}

func TestScopeNoSignInCanBringIsForbiddenWithoutAChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Access.Require = []string{"email", "crm.read"}
	_, err := b.try(b.ep, b.token(nil))
	var challenge *Challenge
	if !fault.Is(err, fault.Forbidden) || asChallenge(err, &challenge) {
		t.Fatalf("got %v, want a plain refusal", err)
	}
}

func TestAcceptedAlgorithms(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatalf("make key: %v", err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatalf("make key: %v", err)
	}
	b := setup(t)
	for _, key := range []jose.JSONWebKey{
		{Key: rsaKey, KeyID: "rsa", Algorithm: "RS256"},
		{Key: edKey, KeyID: "ed", Algorithm: "EdDSA"},
	} {
		b.ring.rotate(key)
		b.accepts(b.ep, b.signed(key, b.claimsOf(b.ep, nil)))
		b.clock.Advance(keysCooldown)
	}
}

func TestRefusedAlgorithmsAndHeaders(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatalf("make key: %v", err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatalf("make key: %v", err)
	}
	b := setup(t)
	b.ring.rotate(jose.JSONWebKey{Key: rsaKey, KeyID: "pss", Algorithm: "RS256"})
	b.ring.rotate(jose.JSONWebKey{Key: p384, KeyID: "p384", Algorithm: "ES384"})
	b.ring.rotate(jose.JSONWebKey{Key: b.key.Key, KeyID: "enc", Algorithm: "ES256", Use: "enc"})
	payload, err := json.Marshal(b.claimsOf(b.ep, nil))
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	header := func(name string, value any) string {
		return b.signedRaw(b.key, payload, map[jose.HeaderKey]any{jose.HeaderKey(name): value})
	}
	cases := map[string]struct {
		token string
		want  reason
	}{
		"PS256 with an RS256 key":          {b.signedRaw(jose.JSONWebKey{Key: rsaKey, KeyID: "pss", Algorithm: "PS256"}, payload, nil), reasonAlgorithm},
		"ES384":                            {b.signedRaw(jose.JSONWebKey{Key: p384, KeyID: "p384", Algorithm: "ES384"}, payload, nil), reasonAlgorithm},
		"ES256 named with an RSA key's id": {b.signedRaw(jose.JSONWebKey{Key: b.key.Key, KeyID: "pss", Algorithm: "ES256"}, payload, nil), reasonAlgorithm},
		"none":                             {forged(`{"alg":"none","kid":"k1"}`, string(payload), ""), reasonAlgorithm},
		"NONE":                             {forged(`{"alg":"None","kid":"k1"}`, string(payload), "x"), reasonAlgorithm},
		"no alg":                           {forged(`{"kid":"k1"}`, string(payload), "x"), reasonAlgorithm},
		"key for encryption":               {b.signedRaw(jose.JSONWebKey{Key: b.key.Key, KeyID: "enc", Algorithm: "ES256"}, payload, nil), reasonUnknownKey},
		"no kid":                           {b.signedRaw(jose.JSONWebKey{Key: b.key.Key, Algorithm: "ES256"}, payload, nil), reasonUnknownKey},
		"crit":                             {header("crit", []string{"exp"}), reasonMalformed},
		"another typ":                      {header("typ", "dpop+jwt"), reasonMalformed},
		"nested":                           {header("cty", "JWT"), reasonMalformed},
		"double alg":                       {forged(`{"alg":"ES256","alg":"none","kid":"k1"}`, string(payload), "x"), reasonMalformed},
		"ALG in capitals":                  {forged(`{"ALG":"ES256","kid":"k1"}`, string(payload), "x"), reasonAlgorithm},
		"kid of another type":              {forged(`{"alg":"ES256","kid":1}`, string(payload), "x"), reasonMalformed},
		"header not JSON":                  {forged(`nope`, string(payload), "x"), reasonOtherKind},
		"text after header":                {forged(`{"alg":"ES256","kid":"k1"} {}`, string(payload), "x"), reasonOtherKind},
		"embedded key":                     {b.signedRaw(newES256(t, "k1"), payload, map[jose.HeaderKey]any{"jwk": b.key.Public()}), reasonSignature},
		"two parts":                        {"abc.def", reasonOtherKind},
		"opaque":                           {"0123456789abcdef", reasonOtherKind},
		"JWE":                              {"a.b.c.d.e", reasonOtherKind},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := *b
			b.t = t
			b.refuses(b.ep, c.token, c.want)
		})
	}
	b.accepts(b.ep, b.signedRaw(b.key, payload, map[jose.HeaderKey]any{"typ": "at+jwt"}))
}

func TestClaimsAreReadStrictly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good, err := json.Marshal(b.claimsOf(b.ep, map[string]any{"role": nil}))
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	add := func(members string) string {
		return b.signedRaw(b.key, append(append([]byte{}, good[:len(good)-1]...), (","+members+"}")...), nil)
	}
	b.accepts(b.ep, add(`"role":"authenticated"`))
	b.refuses(b.ep, add(`"Role":"authenticated"`), reasonRole)
	b.refuses(b.ep, add(`"role":"anon","role":"authenticated"`), reasonMalformed)
	b.refuses(b.ep, add(`"role":"authenticated","ROLE":"anon","x":{"a":1,"a":2}`), reasonMalformed)
	b.refuses(b.ep, add(`"role":"authenticated","iss":"https://other.example.test/auth/v1"`), reasonMalformed)
	b.refuses(b.ep, b.signedRaw(b.key, []byte(`[]`), nil), reasonMalformed)
	b.refuses(b.ep, b.signedRaw(b.key, []byte(`null`), nil), reasonMalformed)
	b.refuses(b.ep, b.signedRaw(b.key, append(good, '{', '}'), nil), reasonMalformed)
}

func TestOversizedTokenIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses(b.ep, b.token(map[string]any{"user_metadata": strings.Repeat("x", maxToken)}), reasonTooLarge)
	b.accepts(b.ep, b.token(map[string]any{"user_metadata": strings.Repeat("x", 8<<10)}))
}

func TestField40_SharedSecretTokensAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	public, err := x509.MarshalPKIXPublicKey(&b.key.Key.(*ecdsa.PrivateKey).PublicKey)
	if err != nil {
		t.Fatalf("marshal key: %v", err)
	}
	for name, secret := range map[string][]byte{
		"public key bytes": public, "key set document": b.ring.document(t), "a secret": []byte("super-secret-jwt-token-with-at-least-32-characters"),
	} {
		key := jose.JSONWebKey{Key: secret, KeyID: "k1", Algorithm: "HS256"}
		challenge := b.refusal(b.ep, b.signed(key, b.claimsOf(b.ep, nil)), reasonSharedSecret)
		if !strings.Contains(challenge.Header(), "asymmetric signing key") {
			t.Errorf("%s: the challenge does not say what to do: %s", name, challenge.Header())
		}
	}
	// The project moves to an asymmetric key: the next token is accepted.
	b.accepts(b.ep, b.token(nil))
}

func TestField40_EmptyKeySetIsNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ring.drop("k1")
	b.refuses(b.ep, b.token(nil), reasonNoKeys)
	b.ring.rotate(b.key)
	b.clock.Advance(keysCooldown)
	b.accepts(b.ep, b.token(nil))
}
