package oauth

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	strict "github.com/go-jose/go-jose/v4/json"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// userMetadata is the claim that users can write themselves, and which must
// therefore decide nothing: no caller's claims hold it.
const userMetadata = "user_metadata"

// actorDepth bounds the chain of actors of one token.
const actorDepth = 8

// ErrActor is what ReadActor returns for an act claim that cannot be read. The
// answer to such a token is InvalidActor.
var ErrActor error = reasonActor

// ReadActor returns who acts for the subject of a token: the sub of the
// outermost act claim (RFC 8693 section 4.1), or "" where nobody does. claims
// is the JSON object of the token's claims. Every level of the chain must be an
// object with a sub that is a string and not empty, and there are at most eight;
// else ErrActor.
func ReadActor(claims json.RawMessage) (string, error) {
	o, err := parseObject(claims)
	if err != nil {
		return "", ErrActor
	}
	return o.actor()
}

// InvalidActor is the challenge for a token whose act claim cannot be read.
func InvalidActor(ep *tenants.Endpoint) *Challenge { return invalidToken(ep, reasonActor) }

// actor reads the chain of actors. A null is not taken as absent here: whoever
// writes the claim means somebody.
func (o *object) actor() (string, error) {
	outermost := ""
	members := o.Members
	for depth := 0; ; depth++ {
		value, there := members["act"]
		if !there {
			return outermost, nil
		}
		act, ok := value.(map[string]any)
		sub, isText := act["sub"].(string)
		if !ok || !isText || sub == "" || len(sub) > maxSubject || depth == actorDepth {
			return "", reasonActor
		}
		if outermost == "" {
			outermost = sub
		}
		members = act
	}
}

// StripClaims reads a JSON object of claims as strictly as those of any token
// (case-sensitive, no name twice, at any level) and writes it again without
// user_metadata: what policy may read.
func StripClaims(claims []byte) (json.RawMessage, error) {
	o, err := parseObject(claims)
	if err != nil {
		return nil, err
	}
	return o.stripped()
}

func (o *object) stripped() (json.RawMessage, error) {
	delete(o.Members, userMetadata)
	rest, err := strict.Marshal(o.Members)
	if err != nil {
		return nil, reasonMalformed
	}
	return rest, nil
}

// TokenClaims returns the claims of a JWT, strictly read and without
// user_metadata. It verifies nothing: the token must be one that is known to be
// good.
func TokenClaims(token string) (json.RawMessage, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, reasonOtherKind
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, reasonMalformed
	}
	return StripClaims(payload)
}

// ClaimWords returns the words that a claim holds: those of a string, split at
// blanks, or the members of an array of strings, each once. path leads from the
// claims object to the claim, such as app_metadata, scopes. claims must have
// been read strictly before, as all claims of a Caller have. It is false where
// the claim is missing, null or of another type, and for every path through
// user_metadata.
func ClaimWords(claims json.RawMessage, path []string) ([]string, bool) {
	if len(path) == 0 || slices.Contains(path, userMetadata) {
		return nil, false
	}
	at := claims
	for _, name := range path {
		var members map[string]json.RawMessage
		if json.Unmarshal(at, &members) != nil || members[name] == nil {
			return nil, false
		}
		at = members[name]
	}
	var one *string
	if json.Unmarshal(at, &one) == nil {
		if one == nil { // null
			return nil, false
		}
		return once(strings.Fields(*one)), true
	}
	var list []*string
	if json.Unmarshal(at, &list) != nil || list == nil || slices.Contains(list, nil) {
		return nil, false
	}
	words := make([]string, 0, len(list))
	for _, word := range list {
		words = append(words, *word)
	}
	return once(words), true
}

// once drops repetitions, and keeps the order.
func once(words []string) []string {
	seen := make(map[string]struct{}, len(words))
	return slices.DeleteFunc(words, func(word string) bool {
		_, again := seen[word]
		seen[word] = struct{}{}
		return again
	})
}
