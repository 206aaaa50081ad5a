package oauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// ErrUnknownKey is returned for a signature by a key that is not in the set.
var ErrUnknownKey = errors.New("signed with a key that is not in the set")

// PublicKeys are the keys of a JWKS document (RFC 7517) that may verify
// signatures: ES256, RS256 or EdDSA, each with an id. The zero value has none.
type PublicKeys struct{ keys map[string]signingKey }

// ParsePublicKeys reads a JWKS document. Keys that cannot be used are left out;
// a document without usable ones is an error.
func ParsePublicKeys(document []byte) (PublicKeys, error) {
	keys, err := parseKeySet(document)
	if err != nil {
		return PublicKeys{}, err
	}
	maps.DeleteFunc(keys, func(kid string, _ signingKey) bool { return strings.ContainsFunc(kid, notPrintable) })
	if len(keys) == 0 {
		return PublicKeys{}, errors.New("parse key set: no key that can be used")
	}
	return PublicKeys{keys: keys}, nil
}

// Document is the set as a JWKS document of public members only, whatever else
// the one that was read held.
func (k PublicKeys) Document() ([]byte, error) {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, kid := range slices.Sorted(maps.Keys(k.keys)) {
		key := k.keys[kid]
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.public, KeyID: kid, Algorithm: string(key.alg), Use: "sig"})
	}
	document, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encode key set: %w", err)
	}
	return document, nil
}

// Verify checks a compact JWS (RFC 7515) by the key its header names, and
// returns what was signed. The algorithm follows from the key. Errors:
// ErrUnknownKey, or what is wrong with the text.
func (k PublicKeys) Verify(compact string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(compact, algorithms)
	if err != nil {
		return nil, fmt.Errorf("read signed text: %w", err)
	}
	header := signed.Signatures[0].Protected
	key, ok := k.keys[header.KeyID]
	switch {
	case !ok:
		return nil, ErrUnknownKey
	case header.Algorithm != string(key.alg):
		return nil, errors.New("signed with another algorithm than the key's")
	}
	payload, err := signed.Verify(key.public)
	if err != nil {
		return nil, fmt.Errorf("verify signature: %w", err)
	}
	return payload, nil
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }
