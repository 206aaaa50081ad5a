package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// signingKey signs the one token of a run.
type signingKey struct {
	private *ecdsa.PrivateKey
	jwks    []byte
}

const keyID = "bench"

func newSigningKey() (*signingKey, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	jwks, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &private.PublicKey, KeyID: keyID, Algorithm: string(jose.ES256), Use: "sig"}}})
	return &signingKey{private: private, jwks: jwks}, err
}

// token is an OAuth client's access token as Supabase Auth issues it.
func (k *signingKey) token(issuer string) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: k.private, KeyID: keyID}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", err
	}
	now := time.Now()
	return jwt.Signed(signer).Claims(map[string]any{
		"iss": issuer, "sub": "00000000-0000-4000-8000-000000000002", "aud": "authenticated", "role": "authenticated",
		"exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "email": "alice@example.test", "session_id": "00000000-0000-4000-8000-000000000004",
		"is_anonymous": false, "client_id": "00000000-0000-4000-8000-000000000008", "scope": "email", "aal": "aal1",
		"app_metadata": map[string]any{"provider": "email", "providers": []string{"email"}, "tier": "pro", "teams": []string{"support", "sales"}},
		"amr":          []map[string]any{{"method": "oauth_provider/authorization_code", "timestamp": now.Unix()}},
	}).Serialize()
}

// projectHandler is a project that answers at once: a key set, one row for a
// singular read, twenty otherwise.
type projectHandler struct {
	jwks, one, page []byte
}

func standinProject(key *signingKey) http.Handler {
	row := func(i int) string {
		return fmt.Sprintf(`{"id":"%d","name":"Customer %d","status":"active","amount":"12345.67","updated_at":"2026-11-30T12:00:00+00:00"}`, i, i)
	}
	var rows []string
	for i := range 20 {
		rows = append(rows, row(i+1))
	}
	return &projectHandler{jwks: key.jwks, one: []byte(row(1)), page: []byte("[" + strings.Join(rows, ", \n ") + "]")}
}

func (p *projectHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := p.page
	switch {
	case strings.HasSuffix(r.URL.Path, "jwks.json"):
		body = p.jwks
	case strings.Contains(r.Header.Get("Accept"), "vnd.pgrst.object"), strings.Contains(r.URL.Path, "/rpc/"):
		body = p.one
	case strings.Contains(r.URL.RawQuery, "id=eq."):
		body = append(append([]byte("["), p.one...), ']')
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(body)
}

func encode(c *surfaces.Compiled) (compiled, access []byte, err error) {
	if compiled, err = json.Marshal(c); err != nil {
		return nil, nil, err
	}
	access, err = json.Marshal(c.Access)
	return compiled, access, err
}
