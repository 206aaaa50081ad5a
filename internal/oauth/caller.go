package oauth

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Mode is how a caller was admitted.
type Mode string

// The modes of CallerKey. Only direct and public are served by this version.
const (
	ModeDirect Mode = "direct"
	ModePublic Mode = "public"
)

// CallerKey identifies a caller for everything that is kept by caller. It is
// always used whole: two callers that differ in any field share nothing.
type CallerKey struct {
	Surface id.Surface
	Mode    Mode
	Issuer  string // who vouches for Subject: the project's issuer for direct; empty for public
	Subject string // empty for public
	Client  string // OAuth client id; empty for public
}

// Caller is the verified identity of one request.
type Caller struct {
	Key     CallerKey
	Token   seal.Secret // the project's own token, for calls to that project only; zero for public
	Expires time.Time   // of the token; zero for public
	Scopes  []string    // granted to the token
	Role    string      // role claim; "anon" for public
	Claims  json.RawMessage
}

// Missing returns the named scopes the caller does not hold.
func (c *Caller) Missing(scopes []string) []string { return missing(scopes, c.Scopes) }

// missing returns those wanted that are not held, in order.
func missing(want, held []string) []string {
	var list []string
	for _, scope := range want {
		if !slices.Contains(held, scope) {
			list = append(list, scope)
		}
	}
	return list
}
