package issuers

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	strict "github.com/go-jose/go-jose/v4/json"

	"github.com/chumbo-dev/chumbo/internal/oauth"
)

const (
	maxName      = 512          // bytes of a subject or client
	latestMoment = 253402300799 // 9999-12-31T23:59:59Z
)

// claims are what a token, or the answer about one, says.
type claims struct {
	issuer    string // empty only where an answer names none
	subject   string
	audience  []string
	client    string // client_id or azp; empty where it names none
	scopes    []string
	actor     string
	expires   time.Time
	notBefore time.Time // the later of nbf and iat; zero when neither is there
	// rest is the whole object without user_metadata, which in some systems
	// users can write themselves and which must therefore decide nothing.
	rest json.RawMessage
}

// readClaims reads a JSON object of claims: case-sensitive, no name twice, at
// any level. Errors are denials.
func readClaims(raw []byte) (*claims, *object, error) {
	o, err := parseObject(raw)
	if err != nil {
		return nil, nil, err
	}
	c := &claims{
		issuer: o.text("iss"), subject: o.text("sub"), audience: o.texts("aud"), expires: o.moment("exp"), notBefore: o.moment("nbf"),
		scopes: o.words("scope", "scp"),
	}
	if issued := o.moment("iat"); issued.After(c.notBefore) {
		c.notBefore = issued
	}
	client, party := o.text("client_id"), o.text("azp")
	c.client = client
	if client == "" {
		c.client = party
	}
	switch {
	case o.wrong, !isName(c.subject), c.client != "" && !isName(c.client), c.expires.IsZero():
		return nil, nil, denyMalformed
	case client != "" && party != "" && client != party:
		return nil, nil, denyClient
	case o.has("cnf"): // RFC 7800: of use only with a proof that nobody asks for here
		return nil, nil, denyBound
	case o.otherThanAccess():
		return nil, nil, denyIDToken
	}
	if c.rest, err = oauth.StripClaims(raw); err != nil {
		return nil, nil, denyMalformed
	}
	if c.actor, err = oauth.ReadActor(c.rest); err != nil {
		return nil, nil, denyActor
	}
	return c, o, nil
}

// isName reports whether text may name somebody: not empty, bounded, and
// without control characters.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
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
		return nil, denyMalformed
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) { // something follows
		return nil, denyMalformed
	}
	return &object{members: members}, nil
}

func (o *object) has(name string) bool { return o.members[name] != nil }

func (o *object) text(name string) string {
	s, ok := o.members[name].(string)
	o.wrong = o.wrong || !ok && o.has(name)
	return s
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

// words reads scopes: a string of words (RFC 8693 section 4.2) or an array, of
// whichever names the issuer uses, each once.
func (o *object) words(names ...string) []string {
	var out []string
	for _, name := range names {
		for _, text := range o.texts(name) {
			out = append(out, strings.Fields(text)...)
		}
	}
	return once(out)
}

// once drops repetitions, and keeps the order. Whoever sends a token nobody has
// verified yet says how many there are.
func once(words []string) []string {
	seen := make(map[string]struct{}, len(words))
	return slices.DeleteFunc(words, func(word string) bool {
		_, again := seen[word]
		seen[word] = struct{}{}
		return again
	})
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

// otherKinds are what issuers call tokens that are no access tokens.
var otherKinds = []string{"id", "id_token", "refresh", "refresh_token", "offline", "logout"}

// otherThanAccess reports whether the issuer says that this is no access token:
// an ID token (OpenID Connect Core 1.0 section 2) or a refresh token, by the
// claims that are in use for it.
func (o *object) otherThanAccess() bool {
	for _, name := range []string{"typ", "token_use", "token_type"} {
		if kind, _ := o.members[name].(string); slices.Contains(otherKinds, strings.ToLower(kind)) {
			return true
		}
	}
	return false
}

// isIDToken reports whether a JWT has what only ID tokens have, or security
// event tokens (RFC 8417).
func (o *object) isIDToken() bool {
	return o.has("nonce") || o.has("at_hash") || o.has("c_hash") || o.has("events")
}
