package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

const (
	maxKeys    = 64 // of one set
	minRSABits = 2048
	maxRSABits = 8192
)

// SigningKey names a key of a project that tokens may be signed with.
type SigningKey struct {
	ID        string
	Algorithm string // ES256, RS256 or EdDSA
}

// SigningKeys lists the keys of a JWKS document (RFC 7517) that direct mode
// accepts. An empty list without an error is what a project shows that signs
// with a shared secret (HS256) only.
func SigningKeys(document []byte) ([]SigningKey, error) {
	keys, err := parseKeySet(document)
	if err != nil {
		return nil, err
	}
	list := make([]SigningKey, 0, len(keys))
	for kid, key := range keys {
		list = append(list, SigningKey{ID: kid, Algorithm: string(key.alg)})
	}
	slices.SortFunc(list, func(a, b SigningKey) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return list, nil
}

// signingKey is a public key that may verify tokens of one algorithm.
type signingKey struct {
	alg    jose.SignatureAlgorithm
	public crypto.PublicKey
	thumb  [32]byte // RFC 7638, SHA-256
}

// publicJWK holds the public members of a key and nothing else: whatever else
// a document carries (private parts, certificates, URLs) is dropped unread.
type publicJWK struct {
	KeyType    string   `json:"kty"`
	KeyID      string   `json:"kid,omitempty"`
	Use        string   `json:"use,omitempty"`
	Operations []string `json:"key_ops,omitempty"`
	Algorithm  string   `json:"alg,omitempty"`
	Curve      string   `json:"crv,omitempty"`
	X          string   `json:"x,omitempty"`
	Y          string   `json:"y,omitempty"`
	N          string   `json:"n,omitempty"`
	E          string   `json:"e,omitempty"`
}

// parseKeySet returns the usable keys by their id. A key that cannot be used
// is left out and the others stay; of two keys with one id the first counts.
func parseKeySet(document []byte) (map[string]signingKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("parse key set: %w", err)
	}
	if set.Keys == nil {
		return nil, errors.New("parse key set: no keys member")
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("parse key set: %d keys, at most %d are read", len(set.Keys), maxKeys)
	}
	keys := make(map[string]signingKey, len(set.Keys))
	for _, raw := range set.Keys {
		var jwk publicJWK
		if json.Unmarshal(raw, &jwk) != nil || jwk.KeyID == "" || len(jwk.KeyID) > maxKeyID {
			continue
		}
		key, ok := usable(jwk)
		if _, taken := keys[jwk.KeyID]; ok && !taken {
			keys[jwk.KeyID] = key
		}
	}
	return keys, nil
}

// usable builds the key if it may verify signatures of one of the accepted
// algorithms. The algorithm follows from the key, never from a token.
func usable(jwk publicJWK) (signingKey, bool) {
	if jwk.Use != "" && jwk.Use != "sig" {
		return signingKey{}, false
	}
	if jwk.Operations != nil && !slices.Contains(jwk.Operations, "verify") {
		return signingKey{}, false
	}
	minimal := jwk
	minimal.Operations = nil
	raw, err := json.Marshal(minimal)
	if err != nil {
		return signingKey{}, false
	}
	var parsed jose.JSONWebKey
	if err := parsed.UnmarshalJSON(raw); err != nil || !parsed.Valid() || !parsed.IsPublic() {
		return signingKey{}, false
	}
	alg, ok := algorithmOf(parsed.Key)
	if !ok || jwk.Algorithm != "" && jwk.Algorithm != string(alg) {
		return signingKey{}, false
	}
	thumb, err := parsed.Thumbprint(crypto.SHA256)
	if err != nil {
		return signingKey{}, false
	}
	return signingKey{alg: alg, public: parsed.Key, thumb: [32]byte(thumb)}, true
}

func algorithmOf(key any) (jose.SignatureAlgorithm, bool) {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		return jose.ES256, k.Curve.Params().BitSize == 256
	case *rsa.PublicKey:
		bits := k.N.BitLen()
		return jose.RS256, bits >= minRSABits && bits <= maxRSABits
	case ed25519.PublicKey:
		return jose.EdDSA, true
	}
	return "", false
}
