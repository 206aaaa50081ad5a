package issuers

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

const maxHeader = 2 << 10

// token is a JWT that has been read but not verified.
type token struct {
	alg    jose.SignatureAlgorithm
	kid    string // empty: it names no key
	claims *claims
}

// parseToken reads a compact JWS with the claims of an access token. Errors are
// denials.
func parseToken(text string) (*token, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, denyKind
	}
	t, err := parseHeader(parts[0])
	if err != nil {
		return nil, err
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, denyMalformed
	}
	c, o, err := readClaims(payload)
	if err != nil {
		return nil, err
	}
	if o.isIDToken() {
		return nil, denyIDToken
	}
	t.claims = c
	return t, nil
}

func parseHeader(part string) (*token, error) {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil || len(raw) > maxHeader {
		return nil, denyMalformed
	}
	h, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	// RFC 7515 section 4.1.11: what is critical and not understood is refused;
	// nothing is understood here. b64 and cty would change what is signed.
	for _, name := range []string{"crit", "b64", "cty"} {
		if h.Has(name) {
			return nil, denyMalformed
		}
	}
	typ, alg, kid := h.Text("typ"), jose.SignatureAlgorithm(h.Text("alg")), h.Text("kid")
	if h.Wrong || len(kid) > maxKeyID || !accessType(typ) {
		return nil, denyMalformed
	}
	switch {
	case alg == jose.HS256, alg == jose.HS384, alg == jose.HS512:
		return nil, denyShared
	case !slices.Contains(algorithms, alg):
		return nil, denyAlgorithm
	}
	return &token{alg: alg, kid: kid}, nil
}

// accessType reports whether typ may be an access token's (RFC 9068 section 4),
// with or without the prefix that RFC 7515 section 4.1.9 lets writers drop.
func accessType(typ string) bool {
	switch strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "", "jwt", "at+jwt":
		return true
	}
	return false
}
