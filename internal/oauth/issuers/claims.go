package issuers

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/claimset"
)

const maxName = 512 // bytes of a subject or client

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
		issuer: o.Text("iss"), subject: o.Text("sub"), audience: o.Texts("aud"), expires: o.Moment("exp"), notBefore: o.Moment("nbf"),
		scopes: o.words("scope", "scp"),
	}
	if issued := o.Moment("iat"); issued.After(c.notBefore) {
		c.notBefore = issued
	}
	client, party := o.Text("client_id"), o.Text("azp")
	c.client = client
	if client == "" {
		c.client = party
	}
	switch {
	case o.Wrong, !isName(c.subject), c.client != "" && !isName(c.client), c.expires.IsZero():
		return nil, nil, denyMalformed
	case client != "" && party != "" && client != party:
		return nil, nil, denyClient
	case o.Has("cnf"): // RFC 7800: of use only with a proof that nobody asks for here
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

// object is a token's header or claims, or an answer about one.
type object struct{ *claimset.Object }

func parseObject(raw []byte) (*object, error) {
	o, err := claimset.Parse(raw)
	if err != nil {
		return nil, denyMalformed
	}
	return &object{o}, nil
}

// words reads scopes: a string of words (RFC 8693 section 4.2) or an array, of
// whichever names the issuer uses, each once.
func (o *object) words(names ...string) []string {
	var out []string
	for _, name := range names {
		for _, text := range o.Texts(name) {
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

// otherKinds are what issuers call tokens that are no access tokens.
var otherKinds = []string{"id", "id_token", "refresh", "refresh_token", "offline", "logout"}

// otherThanAccess reports whether the issuer says that this is no access token:
// an ID token (OpenID Connect Core 1.0 section 2) or a refresh token, by the
// claims that are in use for it.
func (o *object) otherThanAccess() bool {
	for _, name := range []string{"typ", "token_use", "token_type"} {
		if kind, _ := o.Members[name].(string); slices.Contains(otherKinds, strings.ToLower(kind)) {
			return true
		}
	}
	return false
}

// isIDToken reports whether a JWT has what only ID tokens have, or security
// event tokens (RFC 8417).
func (o *object) isIDToken() bool {
	return o.Has("nonce") || o.Has("at_hash") || o.Has("c_hash") || o.Has("events")
}
