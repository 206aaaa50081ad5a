package standin

import (
	"net/url"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
)

// TestOpenIDClientTrustsTheProject: a client library that knows nothing of us
// reads the project's discovery document and verifies what it issues.
func TestOpenIDClientTrustsTheProject(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	provider, err := oidc.NewProvider(t.Context(), p.Issuer())
	if err != nil {
		t.Fatal(err)
	}
	answer := connectClient(t, p, url.Values{"scope": {"openid email"}, "nonce": {"n-1"}})
	raw, _ := answer["id_token"].(string)
	access, _ := answer["access_token"].(string)
	verify := func(raw, audience string) (*oidc.IDToken, error) {
		return provider.Verifier(&oidc.Config{ClientID: audience, SupportedSigningAlgs: []string{oidc.ES256}}).Verify(t.Context(), raw)
	}
	accessToken, err := verify(access, "authenticated")
	if err != nil {
		t.Fatalf("access token: %v", err)
	}
	var claims struct {
		ClientID string `json:"client_id"`
		Role     string `json:"role"`
		Email    string `json:"email"`
	}
	if err := accessToken.Claims(&claims); err != nil || claims.Role != "authenticated" || claims.Email != alice {
		t.Errorf("access token claims %+v, %v", claims, err)
	}
	identity, err := verify(raw, claims.ClientID)
	if err != nil {
		t.Fatalf("id token: %v", err)
	}
	if identity.Subject != accessToken.Subject || identity.Nonce != "n-1" || identity.Issuer != p.Issuer() {
		t.Errorf("id token %+v", identity)
	}
	if _, err := verify(raw, "another-client"); err == nil {
		t.Error("an id token counts for another client")
	}
	head, rest, _ := strings.Cut(raw, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	if _, err := verify(head+"."+payload+"."+signature[1:]+signature[:1], claims.ClientID); err == nil {
		t.Error("a forged signature counts")
	}

	p.RotateKey()
	if _, err := verify(raw, claims.ClientID); err != nil {
		t.Errorf("a token of the key before: %v", err)
	}
	fresh, _ := connectClient(t, p, url.Values{"scope": {"openid email"}})["access_token"].(string)
	if _, err := verify(fresh, "authenticated"); err != nil {
		t.Errorf("a token of the new key: %v", err)
	}
}
