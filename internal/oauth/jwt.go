package oauth

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/oauth/claimset"
	"github.com/chumbo-dev/chumbo/internal/policy"
)

// algorithms are the signatures accepted. A shared secret is never one: who
// can check such a token can also make it.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.EdDSA}

const (
	maxHeader  = 2 << 10
	maxKeyID   = 256
	maxSubject = 512
)

// token is a JWT that has been read but not verified.
type token struct {
	alg    jose.SignatureAlgorithm
	kid    string
	claims *claims
	signed *jose.JSONWebSignature
}

// claims are the claims that decide about admission, and the rest for policy.
type claims struct {
	issuer    string
	subject   string
	audience  []string
	role      string
	client    string
	actor     string // who acts for the subject; empty where nobody does
	scopes    []string
	delegated bool
	anonymous bool
	expires   time.Time
	notBefore time.Time // the later of nbf and iat; zero when neither is there
	// rest is the whole claims object without user_metadata, which users can
	// write themselves and which must therefore decide nothing.
	rest  json.RawMessage
	rules *policy.Claims // the same, for rules
}

// parseToken reads a compact JWS with JSON claims. Names are case-sensitive
// and duplicate ones are refused, at every level, so that no two readers of
// the same token see different claims.
func parseToken(text string) (*token, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, reasonOtherKind
	}
	t, err := parseHeader(parts[0])
	if err != nil {
		return nil, err
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, reasonMalformed
	}
	if t.claims, err = parseClaims(payload); err != nil {
		return nil, err
	}
	if t.signed, err = jose.ParseSignedCompact(text, algorithms); err != nil {
		return nil, reasonMalformed
	}
	return t, nil
}

func parseHeader(part string) (*token, error) {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil || len(raw) > maxHeader {
		return nil, reasonMalformed
	}
	h, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	// RFC 7515 section 4.1.11: what is critical and not understood is refused;
	// nothing is understood here. b64 and cty would change what is signed.
	for _, name := range []string{"crit", "b64", "cty"} {
		if h.Has(name) {
			return nil, reasonMalformed
		}
	}
	typ := h.Text("typ")
	alg := h.Text("alg")
	kid := h.Text("kid")
	if h.Wrong || typ != "" && !strings.EqualFold(typ, "JWT") && !strings.EqualFold(typ, "at+jwt") {
		return nil, reasonMalformed
	}
	switch jose.SignatureAlgorithm(alg) {
	case jose.HS256, jose.HS384, jose.HS512:
		return nil, reasonSharedSecret
	case jose.ES256, jose.RS256, jose.EdDSA:
	default:
		return nil, reasonAlgorithm
	}
	if kid == "" || len(kid) > maxKeyID {
		return nil, reasonUnknownKey
	}
	return &token{alg: jose.SignatureAlgorithm(alg), kid: kid}, nil
}

func parseClaims(payload []byte) (*claims, error) {
	o, err := parseObject(payload)
	if err != nil {
		return nil, err
	}
	c := &claims{
		issuer: o.Text("iss"), subject: o.Text("sub"), role: o.Text("role"), client: o.Text("client_id"),
		scopes: strings.Fields(o.Text("scope")), audience: o.Texts("aud"), anonymous: o.Flag("is_anonymous"),
		expires: o.Moment("exp"), notBefore: o.Moment("nbf"),
	}
	if issued := o.Moment("iat"); issued.After(c.notBefore) {
		c.notBefore = issued
	}
	c.delegated = o.delegatedMethod() || o.Has("client_id") || o.Has("scope")
	if o.Wrong || c.subject == "" || len(c.subject) > maxSubject || c.expires.IsZero() {
		return nil, reasonMalformed
	}
	if c.actor, err = o.actor(); err != nil {
		return nil, err
	}
	if c.rest, err = o.stripped(); err != nil {
		return nil, err
	}
	c.rules = policy.NewClaims(c.rest)
	return c, nil
}

// object is a token's header or claims.
type object struct{ *claimset.Object }

func parseObject(raw []byte) (*object, error) {
	o, err := claimset.Parse(raw)
	if err != nil {
		return nil, reasonMalformed
	}
	return &object{o}, nil
}

// delegatedMethod reports whether the session began as an OAuth client's:
// amr names oauth_provider/…. It outlives client_id, which a token loses when
// the client verifies a second factor.
func (o *object) delegatedMethod() bool {
	entries, ok := o.Members["amr"].([]any)
	o.Wrong = o.Wrong || !ok && o.Has("amr")
	for _, entry := range entries {
		method, _ := entry.(string)
		if e, ok := entry.(map[string]any); ok {
			method, _ = e["method"].(string)
		}
		if strings.HasPrefix(method, "oauth_provider/") {
			return true
		}
	}
	return false
}
