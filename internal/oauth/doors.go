package oauth

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Doors are the ways in that need more than the project's key set. A nil one is
// shut: what it would admit is refused as a token of the wrong kind, and so is
// every token of a surface that wants Clients (access.isolation) or Sessions
// (access.session_check) asked.
type Doors struct {
	Bridge   Bridge
	Keys     Keys
	Issuers  Issuers
	Clients  Clients
	Sessions Sessions
}

// Bridge admits what Chumbo itself issued: access tokens and personal tokens
// of bridge surfaces. *bridge.Service is one. Errors as Authenticate's.
type Bridge interface {
	Admit(ctx context.Context, ep *tenants.Endpoint, token string) (*Caller, error)
	AdmitPersonal(ctx context.Context, ep *tenants.Endpoint, token string) (*Caller, error)
}

// Keys admits keys of applications, at surfaces that list api-key.
// *apikeys.Service is one. Errors as Authenticate's.
type Keys interface {
	// Admit is asked about a chk_ key.
	Admit(ctx context.Context, ep *tenants.Endpoint, key string) (*Caller, error)
	// AdmitChecked is asked about any other string, where access.keys says
	// which function of the app knows its keys.
	AdmitChecked(ctx context.Context, ep *tenants.Endpoint, key, from string) (*Caller, error)
}

// Issuers admits tokens of the issuer that a surface names (authorization:
// external). *issuers.Service is one. Errors as Authenticate's.
type Issuers interface {
	// Admit is asked about a JWT whose iss is the issuer's.
	Admit(ctx context.Context, ep *tenants.Endpoint, token string) (*Caller, error)
	// AdmitOpaque is asked about any other string, where introspection is
	// configured (RFC 7662).
	AdmitOpaque(ctx context.Context, ep *tenants.Endpoint, token, from string) (*Caller, error)
}

// Clients knows the OAuth clients of projects whose tokens are verified in
// direct mode. *directclients.Service is one.
type Clients interface {
	// Admit notes that the caller's client is in use at ep. With
	// access.isolation: client it refuses one that belongs to another surface.
	// Errors as Authenticate's.
	Admit(ctx context.Context, ep *tenants.Endpoint, c *Caller) error
}

// Sessions asks projects whether sessions still live (access.session_check).
// *directclients.Service is one.
type Sessions interface {
	// Ended reports whether the project said that the session of the caller's
	// token is over. It never waits: it sees to it that the project is asked
	// often enough in the background.
	Ended(ctx context.Context, ep *tenants.Endpoint, c *Caller) bool
}

// errOtherCaller is our own mistake: whoever is asked about a credential must
// answer for the very surface it was presented at, in the mode asked for.
var errOtherCaller = errors.New("a door admitted a caller who is not of this surface and mode")

// throughBridge admits what Chumbo issued for a bridge surface.
func (a *Authenticator) throughBridge(ctx context.Context, ep *tenants.Endpoint, k kind, text string) (*Caller, error) {
	if a.doors.Bridge == nil || !ep.Access.Bridged() {
		return nil, reasonOtherKind
	}
	door := a.doors.Bridge.Admit
	if k == kindPersonal {
		door = a.doors.Bridge.AdmitPersonal
	}
	c, err := door(ctx, ep, text)
	if err != nil {
		return nil, err
	}
	if c == nil || c.Session == nil || !c.Token.IsZero() || !isFrom(ep, c, ModeBridge, ep.Project.Issuer) {
		return nil, errOtherCaller
	}
	return c, nil
}

// throughKeys admits a key made here, and any other string that is no JWT as one
// that the app itself checks; or, where an issuer introspects, as a token of
// that one.
func (a *Authenticator) throughKeys(ctx context.Context, ep *tenants.Endpoint, k kind, text, from string) (*Caller, error) {
	listed := ep.Access.Has(surfaces.ModeAPIKey)
	var c *Caller
	var err error
	issuer := KeyIssuer
	switch {
	case k == kindOpaque && (!listed || ep.Access.Keys == nil):
		return a.throughIssuers(ctx, ep, k, text, from)
	case !listed, a.doors.Keys == nil:
		return nil, reasonOtherKind
	case k == kindKey:
		c, err = a.doors.Keys.Admit(ctx, ep, text)
	default:
		issuer = ep.Project.Issuer
		c, err = a.doors.Keys.AdmitChecked(ctx, ep, text, from)
	}
	if err != nil {
		return nil, err
	}
	if !isNoUser(c) || c.Claims != nil || !isFrom(ep, c, ModeAPIKey, issuer) {
		return nil, errOtherCaller
	}
	return c, nil
}

// throughIssuers admits a token of the issuer that the surface names: a JWT, or
// an opaque one where the issuer introspects.
func (a *Authenticator) throughIssuers(ctx context.Context, ep *tenants.Endpoint, k kind, text, from string) (*Caller, error) {
	if a.doors.Issuers == nil || !takesExternal(ep) || k == kindOpaque && ep.Access.Issuer.Introspection == nil {
		return nil, reasonOtherKind
	}
	var c *Caller
	var err error
	if k == kindOpaque {
		c, err = a.doors.Issuers.AdmitOpaque(ctx, ep, text, from)
	} else {
		c, err = a.doors.Issuers.Admit(ctx, ep, text)
	}
	if err != nil {
		return nil, err
	}
	if !isNoUser(c) || !isFrom(ep, c, ModeExternal, ep.Access.Issuer.URL) {
		return nil, errOtherCaller
	}
	c = withClaimScopes(ep, c)
	if err := RequireScopes(ep, c); err != nil {
		return nil, err
	}
	return c, nil
}

// isNoUser reports whether there is a caller, and nothing with it that would make
// its calls those of a user of the project.
func isNoUser(c *Caller) bool { return c != nil && c.Session == nil && c.Token.IsZero() }

// isFrom reports whether the caller is somebody of the surface, in that mode, and
// vouched for by the issuer.
func isFrom(ep *tenants.Endpoint, c *Caller, m Mode, issuer string) bool {
	k := c.Key
	return k.Surface == ep.Surface && k.Mode == m && k.Issuer == issuer && k.Issuer != "" && k.Subject != ""
}
