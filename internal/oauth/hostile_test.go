package oauth

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

type panickingSource struct{}

func (panickingSource) KeySet(context.Context, string, string) ([]byte, error) {
	panic("eyJhbGciOiJFUzI1NiJ9.secret")
}

// TestPanicWhileReadingKeysEndsNothingElse: keys are read on a goroutine of
// their own, where a panic over one project's bytes would end the process.
func TestPanicWhileReadingKeysEndsNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	auth, err := New(Config{Keys: panickingSource{}, Now: b.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err = auth.Authenticate(t.Context(), b.ep, bearerHeader(b.token(nil)), "")
		if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "secret") {
			t.Fatalf("got %v, want unavailable", err)
		}
	}
}

// TestWhatOpensMoreIsShownToNobody: keys of a whole project, and tokens of users
// that somebody spoilt on the way, are no app's keys and no issuer's tokens,
// whoever takes any other string there.
func TestWhatOpensMoreIsShownToNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.doorsOf()
	users := b.token(nil)
	parts := strings.Split(users, ".")
	header, payload := parts[0], parts[1]
	for _, access := range []surfaces.Access{
		{Modes: []surfaces.Mode{surfaces.ModeAPIKey, surfaces.ModePublic}, Keys: &surfaces.KeyCheck{}},
		{
			Modes: []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModePublic}, Authorization: surfaces.AuthorizationExternal,
			Issuer: &surfaces.ExternalIssuer{URL: otherIssuer, Introspection: &surfaces.Introspection{}},
		},
	} {
		ep := *b.ep
		ep.Access = access
		for _, key := range []string{
			"sb_secret_0123456789abcdefghijkl_01234567", "SB_SECRET_0123456789", "x.sb_secret_0123456789", "sbp_0123456789abcdef0123456789abcdef01234567",
			"chr_0123456789", "chc_0123456789", "cht_0123456789",
		} {
			b.refuses(&ep, key, reasonOtherKind)
		}
		for _, spoilt := range []string{
			users + ".", users + ".x", users + "~", users + "/", header + "." + payload, header + "." + payload + ".", header + "." + payload + ".~",
			users + "." + users,
		} {
			if caller, err := b.try(&ep, spoilt); caller != nil || !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%+v %v", caller, err)
			}
		}
		if asked := f.questions(); len(asked) != 0 {
			t.Errorf("asked %q", asked)
		}
		// What is encrypted has nobody's claims to read, and is its issuer's to judge.
		encrypted := header + ".c2VjcmV0.aXY.dGV4dA.dGFn"
		if _, err := b.try(&ep, encrypted); err != nil || len(f.questions()) != 1 {
			t.Errorf("encrypted: %v", err)
		}
	}
}

// TestTricksWithTheIssuer: iss is compared byte for byte, and read once.
func TestTricksWithTheIssuer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.doorsOf()
	ep := *b.ep
	ep.Access = surfaces.Access{
		Modes:         []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModeBearer, surfaces.ModeAPIKey, surfaces.ModePublic},
		Authorization: surfaces.AuthorizationExternal, Issuer: &surfaces.ExternalIssuer{URL: otherIssuer, Introspection: &surfaces.Introspection{}},
	}
	project := ep.Project.Issuer
	for _, iss := range []any{
		otherIssuer + "/", strings.ToUpper(otherIssuer), otherIssuer + " ", "\t" + otherIssuer, otherIssuer + "\x00", otherIssuer + ":443", otherIssuer + "#", otherIssuer + "?",
		strings.Replace(otherIssuer, "login", "l\u00f6gin", 1), strings.Replace(otherIssuer, "https", "http", 1),
		project + "/", strings.ToUpper(project), project + "\u200b", ep.Resource.URL() + "/", []any{otherIssuer}, map[string]any{"iss": otherIssuer}, 1, true, "",
	} {
		token := b.signed(b.key, b.claimsOf(&ep, map[string]any{"iss": iss, "client_id": nil, "scope": nil}))
		if caller, err := b.try(&ep, token); caller != nil || !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%q: %+v %v", iss, caller, err)
		}
	}
	for _, payload := range []string{
		`{"iss":"` + otherIssuer + `","iss":"` + project + `","sub":"a","exp":9999999999}`,
		`{"ISS":"` + otherIssuer + `","Iss":"` + project + `","sub":"a","exp":9999999999}`,
		`{"iss":"` + otherIssuer + `","sub":"a","exp":9999999999}{}`, `[{"iss":"` + otherIssuer + `"}]`, `"` + b.token(nil) + `"`, b.token(nil), ``, `null`,
	} {
		if caller, err := b.try(&ep, forged(`{"alg":"ES256","kid":"k1"}`, payload, "s")); caller != nil || !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %+v %v", payload, caller, err)
		}
	}
	if asked := f.questions(); len(asked) != 0 {
		t.Errorf("asked %q", asked)
	}
}

// TestMemoCountsWhatManyScopesTake: whoever may write tokens of one project must
// not fill the memory of the process with them.
func TestMemoCountsWhatManyScopesTake(t *testing.T) {
	t.Parallel()
	payload := `{"iss":"i","sub":"a","exp":9999999999,"scope":"` + strings.Repeat("a ", 5000) + `"}`
	c, err := parseClaims([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	if takes := 16 * cap(c.scopes); len(c.scopes) != 5000 || int(weightOf(c)) < len(c.rest)+takes {
		t.Errorf("%d scopes take %d bytes and count as %d", len(c.scopes), takes, weightOf(c))
	}
}

// FuzzKeySet: whatever a project publishes as its keys, nothing panics, and
// what is accepted can be used.
func FuzzKeySet(f *testing.F) {
	key := newES256(f, "k1")
	public, err := json.Marshal(key.Public())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"keys":[` + string(public) + `]}`)
	for _, seed := range []string{
		`{"kty":"EC","kid":"k","crv":"P-256","x":"","y":""}`,
		`{"kty":"EC","kid":"k","crv":"P-256","x":"AAAA","y":"AAAA"}`,
		`{"kty":"EC","kid":"k","crv":"P-256","x":"_____________________________________________w","y":"AAAA"}`,
		`{"kty":"OKP","kid":"k","crv":"Ed25519","x":"AA"}`,
		`{"kty":"OKP","kid":"k","crv":"Ed25519","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`,
		`{"kty":"RSA","kid":"k","n":"AA","e":"AQAB"}`,
		`{"kty":"RSA","kid":"k","n":"` + strings.Repeat("A", 342) + `","e":"AA"}`,
		`{"kty":"RSA","kid":"k","n":"gA` + strings.Repeat("A", 342) + `","e":"_____________w"}`,
		`{"kty":"oct","kid":"k","k":"AAAA"}`,
	} {
		f.Add(`{"keys":[` + seed + `]}`)
	}
	token := forged(`{"alg":"RS256","kid":"k"}`, `{"iss":"x","sub":"a","exp":1}`, strings.Repeat("s", 256))
	f.Fuzz(func(t *testing.T, document string) {
		keys, err := parseKeySet([]byte(document))
		if err != nil {
			return
		}
		for kid, k := range keys {
			if kid == "" || k.public == nil {
				t.Fatalf("accepted %q: %+v", kid, k)
			}
			signed, err := jose.ParseSignedCompact(token, algorithms)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := signed.Verify(k.public); err == nil {
				t.Fatalf("the key %s verifies what it never signed: %s", kid, document)
			}
		}
	})
}
