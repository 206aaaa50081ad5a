package oauth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	strict "github.com/go-jose/go-jose/v4/json"
)

// algorithms are the signatures accepted. A shared secret is never one: who
// can check such a token can also make it.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.EdDSA}

const (
	maxHeader    = 2 << 10
	maxKeyID     = 256
	maxSubject   = 512
	latestMoment = 253402300799 // 9999-12-31T23:59:59Z
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
	rest json.RawMessage
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
		if h.has(name) {
			return nil, reasonMalformed
		}
	}
	typ := h.text("typ")
	alg := h.text("alg")
	kid := h.text("kid")
	if h.wrong || typ != "" && !strings.EqualFold(typ, "JWT") && !strings.EqualFold(typ, "at+jwt") {
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
		issuer: o.text("iss"), subject: o.text("sub"), role: o.text("role"), client: o.text("client_id"),
		scopes: strings.Fields(o.text("scope")), audience: o.texts("aud"), anonymous: o.flag("is_anonymous"),
		expires: o.moment("exp"), notBefore: o.moment("nbf"),
	}
	if issued := o.moment("iat"); issued.After(c.notBefore) {
		c.notBefore = issued
	}
	c.delegated = o.delegatedMethod() || o.has("client_id") || o.has("scope")
	if o.wrong || c.subject == "" || len(c.subject) > maxSubject || c.expires.IsZero() {
		return nil, reasonMalformed
	}
	if c.actor, err = o.actor(); err != nil {
		return nil, err
	}
	c.rest, err = o.stripped()
	return c, err
}

// object is a JSON object with typed access. A member of the wrong type sets
// wrong: a claim that cannot be read is never taken as absent. null counts as
// absent.
type object struct {
	members map[string]any
	wrong   bool
}

func parseObject(raw []byte) (*object, error) {
	var members map[string]any
	decoder := strict.NewDecoder(strings.NewReader(string(raw)))
	decoder.SetNumberType(strict.UnmarshalJSONNumber)
	if err := decoder.Decode(&members); err != nil || members == nil {
		return nil, reasonMalformed
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) { // something follows
		return nil, reasonMalformed
	}
	return &object{members: members}, nil
}

func (o *object) has(name string) bool { return o.members[name] != nil }

func (o *object) text(name string) string {
	s, ok := o.members[name].(string)
	o.wrong = o.wrong || !ok && o.has(name)
	return s
}

func (o *object) flag(name string) bool {
	b, ok := o.members[name].(bool)
	o.wrong = o.wrong || !ok && o.has(name)
	return b
}

// texts reads a string or an array of strings (RFC 7519 section 4.1.3).
func (o *object) texts(name string) []string {
	switch v := o.members[name].(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []any:
		out := make([]string, 0, len(v))
		for _, item := range v {
			s, ok := item.(string)
			o.wrong = o.wrong || !ok
			out = append(out, s)
		}
		return out
	}
	o.wrong = true
	return nil
}

// moment reads a NumericDate (RFC 7519 section 2), fractions cut off.
func (o *object) moment(name string) time.Time {
	if !o.has(name) {
		return time.Time{}
	}
	number, ok := o.members[name].(strict.Number)
	if !ok {
		o.wrong = true
		return time.Time{}
	}
	seconds, err := number.Float64()
	if err != nil || math.IsNaN(seconds) || seconds < 1 || seconds > latestMoment {
		o.wrong = true
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// delegatedMethod reports whether the session began as an OAuth client's:
// amr names oauth_provider/…. It outlives client_id, which a token loses when
// the client verifies a second factor.
func (o *object) delegatedMethod() bool {
	entries, ok := o.members["amr"].([]any)
	o.wrong = o.wrong || !ok && o.has("amr")
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
