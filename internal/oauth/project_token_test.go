package oauth

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func TestAProjectsTokenSaysWhoItIsOf(t *testing.T) {
	t.Parallel()
	b := setup(t)
	verify := func(text string) (ProjectToken, error) {
		return b.auth.VerifyProjectToken(t.Context(), &b.ep.Project, seal.NewSecret(text))
	}
	fresh := map[string]any{"client_id": nil, "scope": nil, "amr": []any{map[string]any{"method": "password"}}, "session_id": "s-1", "aal": "aal2", "email": "alice@example.test"}
	got, err := verify(b.signed(b.key, b.claimsOf(b.ep, fresh)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Subject == "" || got.Client != "" || got.Delegated || got.Session != "s-1" || got.AAL != "aal2" || got.Email != "alice@example.test" ||
		got.Role != "authenticated" || got.Anonymous || got.Shared || !got.Expires.After(b.clock.Now()) {
		t.Errorf("token %+v", got)
	}
	if got, err = verify(b.signed(b.key, b.claimsOf(b.ep, nil))); err != nil || got.Client == "" || !got.Delegated {
		t.Errorf("a client's token %+v, %v", got, err)
	}
	for name, mark := range map[string]map[string]any{
		"scope": {"client_id": nil, "scope": "email", "amr": nil}, "amr": {"client_id": nil, "scope": nil, "amr": []any{map[string]any{"method": "oauth_provider/authorization_code"}}},
	} {
		if got, err := verify(b.signed(b.key, b.claimsOf(b.ep, mark))); err != nil || !got.Delegated || got.Client != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestAProjectsTokenIsVerified(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.project("https://other.example.test", "/other/mcp")
	stranger := newES256(t, "k1")
	good := b.signed(b.key, b.claimsOf(b.ep, nil))
	for name, test := range map[string]struct{ text, code string }{
		"another key of that name":     {b.signed(stranger, b.claimsOf(b.ep, nil)), "token_signature"},
		"a key that is not published":  {b.signed(newES256(t, "k2"), b.claimsOf(b.ep, nil)), "token_key_unknown"},
		"another project's issuer":     {b.signed(b.key, b.claimsOf(other, nil)), "token_issuer"},
		"expired":                      {b.signed(b.key, b.claimsOf(b.ep, map[string]any{"exp": b.clock.Now().Add(-time.Hour).Unix()})), "token_expired"},
		"not a token":                  {"rubbish", "token_kind"},
		"nothing":                      {"", "token_kind"},
		"too large":                    {good + strings.Repeat("A", maxToken), "token_too_large"},
		"an email that is not text":    {b.signed(b.key, b.claimsOf(b.ep, map[string]any{"email": 1})), "token_malformed"},
		"a session_id that is no text": {b.signed(b.key, b.claimsOf(b.ep, map[string]any{"session_id": []any{}})), "token_malformed"},
		"without a signature":          {good[:strings.LastIndexByte(good, '.')+1], "token_signature"},
	} {
		_, err := b.auth.VerifyProjectToken(t.Context(), &b.ep.Project, seal.NewSecret(test.text))
		if fault.From(err).Code != test.code || !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.sources.setFail(other.Project.JWKSURI, errors.New("away"))
	if _, err := b.auth.VerifyProjectToken(t.Context(), &other.Project, seal.NewSecret(b.signed(b.key, b.claimsOf(other, nil)))); !fault.Is(err, fault.Unavailable) {
		t.Errorf("with the keys away: %v", err)
	}
}

// Nothing of such a token is verified but issuer and time; the flag says so.
func TestASharedSecretTokenIsReadAndMarked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shared := func(with map[string]any) seal.Secret {
		key := jose.JSONWebKey{Key: []byte(strings.Repeat("s", 32)), Algorithm: string(jose.HS256)}
		return seal.NewSecret(b.signed(key, b.claimsOf(b.ep, with)))
	}
	got, err := b.auth.VerifyProjectToken(t.Context(), &b.ep.Project, shared(nil))
	if err != nil || !got.Shared || got.Subject == "" {
		t.Errorf("token %+v, %v", got, err)
	}
	for name, with := range map[string]map[string]any{
		"issuer": {"iss": "https://other.example.test/auth/v1"}, "time": {"exp": b.clock.Now().Add(-time.Hour).Unix()}, "subject": {"sub": nil},
	} {
		if _, err := b.auth.VerifyProjectToken(t.Context(), &b.ep.Project, shared(with)); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	_, rest, _ := strings.Cut(shared(nil).Reveal(), ".")
	if _, err := b.auth.VerifyProjectToken(t.Context(), &b.ep.Project, seal.NewSecret(head+"."+rest)); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("alg none: %v", err)
	}
}
