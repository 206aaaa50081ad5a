package supabase

import (
	"encoding/json"
	"errors"
	"sort"
)

// SigningKind says how a project signs its tokens, as far as its key set shows.
type SigningKind string

// The kinds of signing. An HS256-only project publishes an empty key set.
const (
	SigningAsymmetric SigningKind = "asymmetric"
	SigningHS256      SigningKind = "hs256"
	SigningUnknown    SigningKind = "unknown"
)

// Signing is what a key set shows of a project's signing keys.
type Signing struct {
	Kind       SigningKind
	Algorithms []string // sorted, without repeats: ES256, RS256, EdDSA, …
	Keys       int      // published keys
}

// SigningOf summarises a key set (RFC 7517). Algorithms come from the keys
// themselves: the list in Auth's metadata is fixed text.
func SigningOf(keySet []byte) (Signing, error) {
	var set struct {
		Keys []struct {
			Type      string `json:"kty"`
			Algorithm string `json:"alg"`
			Curve     string `json:"crv"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(keySet, &set); err != nil || set.Keys == nil {
		return Signing{Kind: SigningUnknown}, errors.New("not a key set")
	}
	s := Signing{Kind: SigningHS256, Keys: len(set.Keys)}
	seen := map[string]bool{}
	for _, k := range set.Keys {
		alg := algorithmOf(k.Type, k.Algorithm, k.Curve)
		if alg == "" || seen[alg] {
			continue
		}
		seen[alg] = true
		s.Algorithms = append(s.Algorithms, alg)
	}
	sort.Strings(s.Algorithms)
	if len(s.Algorithms) > 0 {
		s.Kind = SigningAsymmetric
	}
	return s, nil
}

func algorithmOf(kty, alg, crv string) string {
	switch {
	case kty == "oct":
		return ""
	case alg != "":
		return alg
	case kty == "EC" && crv == "P-256":
		return "ES256"
	case kty == "EC" && crv == "P-521":
		return "ES512"
	case kty == "RSA":
		return "RS256"
	case kty == "OKP" && crv == "Ed25519":
		return "EdDSA"
	}
	return ""
}
