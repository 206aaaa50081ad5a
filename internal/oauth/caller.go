package oauth

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/policy"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Mode is how a caller was admitted.
type Mode string

// The modes of CallerKey. A personal token is bridge, with its own id as the
// client.
const (
	ModeDirect   Mode = "direct"   // a delegated token of the project's Auth
	ModeBridge   Mode = "bridge"   // a token that Chumbo issued
	ModeBearer   Mode = "bearer"   // a session of the app's own
	ModeAPIKey   Mode = "api-key"  // an application's key
	ModeExternal Mode = "external" // a token of another issuer
	ModePublic   Mode = "public"   // nobody
)

// User reports whether callers of the mode are users of the project: their
// calls carry a token of the project's own, and are refused without it. Calls
// of all others run as anon.
func (m Mode) User() bool { return m == ModeDirect || m == ModeBridge || m == ModeBearer }

// CallerKey identifies a caller for everything that is kept by caller. It is
// always used whole: two callers that differ in any field share nothing.
type CallerKey struct {
	Surface id.Surface
	Mode    Mode
	Issuer  string // who vouches for Subject: the project's issuer for direct, bridge, bearer and keys the app checks; KeyIssuer; access.issuer; empty for public
	Subject string // empty for public
	Client  string // OAuth client id; of a key made here its id; empty where nobody says
}

// Caller is the verified identity of one request.
type Caller struct {
	Key     CallerKey
	Token   seal.Secret     // the project's own token, for calls to that project only; zero for bridge (see Session) and whoever is no user of the project
	Expires time.Time       // of the credential; zero where it does not expire, and for public
	Scopes  []string        // granted to the credential, and those of the claim of access.scopes_from
	Role    string          // role claim; "anon" for whoever is no user of the project
	Claims  json.RawMessage // of direct, bearer and external, without user_metadata; see RuleClaims
	Rules   *policy.Claims  // the same, where they are remembered with the token

	Actor string // who acts for the subject: the outermost act.sub (RFC 8693 section 4.1); empty without one

	Grant   id.Grant // of bridge; zero otherwise
	Allowed *Allowed // what the grant allows; nil where nothing but scopes limits
	Session Session  // of bridge: where Token comes from; nil otherwise
}

// Allowed is what an end user agreed to when they allowed a client: it never
// widens by itself.
type Allowed struct {
	ReadOnly bool     // no tool that writes
	Writes   []string // effects of the tools that may write (surfaces.Tool.Effect)
}

// Session hands out the project's own token of a caller whose session at the
// project is kept by us. Nothing is asked of the project until a call needs
// it. Errors: fault.Unauthenticated when the session has ended there (the
// client must sign in again), fault.Unavailable when that cannot be told now.
type Session interface {
	// Token is the project's access token, good for 30 s at least as a rule.
	Token(ctx context.Context) (seal.Secret, error)
	// Renew is called with the token that the project refused, and returns
	// another one.
	Renew(ctx context.Context, refused seal.Secret) (seal.Secret, error)
	// Claims are those of the project's access token, without user_metadata:
	// a JSON object, never to be changed.
	Claims(ctx context.Context) (json.RawMessage, error)
}

// KeyIssuer vouches for keys made here (CallerKey.Issuer).
const KeyIssuer = "urn:chumbo:keys"

// PolicyClaims are the claims that policy may read, a JSON object without
// user_metadata; nil for callers without claims (api-key, public). Errors as
// Session's.
func (c *Caller) PolicyClaims(ctx context.Context) (json.RawMessage, error) {
	if c.Session != nil {
		return c.Session.Claims(ctx)
	}
	return c.Claims, nil
}

// RuleClaims are PolicyClaims for rules, parsed once for a token that is
// remembered.
func (c *Caller) RuleClaims(ctx context.Context) (*policy.Claims, error) {
	if c.Session == nil && c.Rules != nil {
		return c.Rules, nil
	}
	claims, err := c.PolicyClaims(ctx)
	if err != nil || claims == nil {
		return nil, err
	}
	return policy.NewClaims(claims), nil
}

// ProjectToken is the project's own token for calls as this caller. Errors as
// Session's; an anonymous caller has none and must not ask.
func (c *Caller) ProjectToken(ctx context.Context) (seal.Secret, error) {
	if c.Session != nil {
		return c.Session.Token(ctx)
	}
	return c.Token, nil
}

// Missing returns the named scopes the caller does not hold. A session of the
// app's own is not limited by scopes.
func (c *Caller) Missing(scopes []string) []string {
	if c.Key.Mode == ModeBearer {
		return nil
	}
	return missing(scopes, c.Scopes)
}

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
