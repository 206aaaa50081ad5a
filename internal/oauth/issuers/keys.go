package issuers

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
	maxTried   = 8  // for a token that names none
	maxKeyID   = 256
	minRSABits = 2048
	maxRSABits = 8192
)

// algorithms are the signatures accepted: the asymmetric ones of go-oidc. A
// shared secret is never one: who can check such a token can also make it.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA,
}

// signingKey is a public key that may verify tokens of some algorithms.
type signingKey struct {
	kid        string // may be empty
	algorithms []jose.SignatureAlgorithm
	public     crypto.PublicKey
	thumb      [32]byte // RFC 7638, SHA-256
}

// keySet is one reading of an issuer's keys. Immutable.
type keySet struct{ keys []signingKey }

// find lists the keys that may have signed a token: those of its kid, or, where
// it names none, a few that fit its algorithm.
func (s *keySet) find(kid string, alg jose.SignatureAlgorithm) []signingKey {
	var found []signingKey
	for _, key := range s.keys {
		if (kid == "" || key.kid == kid) && slices.Contains(key.algorithms, alg) {
			found = append(found, key)
		}
	}
	return found[:min(len(found), maxTried)]
}

// holds reports whether the key that verified a token is still there.
func (s *keySet) holds(v *verified) bool {
	return slices.ContainsFunc(s.keys, func(key signingKey) bool {
		return key.thumb == v.thumb && (v.kid == "" || key.kid == v.kid) && slices.Contains(key.algorithms, v.alg)
	})
}

// publicJWK holds the public members of a key and nothing else: whatever else a
// document carries (private parts, certificates, URLs) is dropped unread.
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

// parseKeySet reads a JWKS document. Keys that cannot be used are left out.
func parseKeySet(document []byte) (*keySet, error) {
	var read struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &read); err != nil {
		return nil, errors.New("parse key set: no JSON object with keys")
	}
	if read.Keys == nil {
		return nil, errors.New("parse key set: no keys member")
	}
	if len(read.Keys) > maxKeys {
		return nil, fmt.Errorf("parse key set: %d keys, at most %d are read", len(read.Keys), maxKeys)
	}
	set := &keySet{}
	for _, raw := range read.Keys {
		var jwk publicJWK
		if json.Unmarshal(raw, &jwk) != nil || len(jwk.KeyID) > maxKeyID {
			continue
		}
		if key, ok := usable(jwk); ok {
			set.keys = append(set.keys, key)
		}
	}
	return set, nil
}

// usable builds the key if it may verify signatures. The algorithms follow from
// the key, never from a token.
func usable(jwk publicJWK) (signingKey, bool) {
	if jwk.Use != "" && jwk.Use != "sig" || jwk.Operations != nil && !slices.Contains(jwk.Operations, "verify") {
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
	fits := algorithmsOf(parsed.Key)
	if jwk.Algorithm != "" {
		fits = slices.DeleteFunc(fits, func(a jose.SignatureAlgorithm) bool { return string(a) != jwk.Algorithm })
	}
	thumb, err := parsed.Thumbprint(crypto.SHA256)
	if err != nil || len(fits) == 0 {
		return signingKey{}, false
	}
	return signingKey{kid: jwk.KeyID, algorithms: fits, public: parsed.Key, thumb: [32]byte(thumb)}, true
}

func algorithmsOf(key any) []jose.SignatureAlgorithm {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		switch k.Curve.Params().BitSize {
		case 256:
			return []jose.SignatureAlgorithm{jose.ES256}
		case 384:
			return []jose.SignatureAlgorithm{jose.ES384}
		case 521:
			return []jose.SignatureAlgorithm{jose.ES512}
		}
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits >= minRSABits && bits <= maxRSABits {
			return []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512}
		}
	case ed25519.PublicKey:
		return []jose.SignatureAlgorithm{jose.EdDSA}
	}
	return nil
}
