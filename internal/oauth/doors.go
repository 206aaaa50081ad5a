package oauth

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Doors are the ways in that need more than the project's key set. A nil one is
// shut: what it would admit is refused as a token of the wrong kind.
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
