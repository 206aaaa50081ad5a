package oauth

import (
	"slices"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// RequireScopes reports that a caller lacks a scope of access.require: the
// challenge for all of them where a sign-in can bring each that is missing, else
// fault.Forbidden. Only delegated callers (direct, bridge, external) need them.
//
// Authenticate has asked already, except of direct callers of a surface whose
// scopes come from a function of the project (access.scopes_from): whoever asks
// that function asks this afterwards, with what it said among c.Scopes.
func RequireScopes(ep *tenants.Endpoint, c *Caller) error {
	switch c.Key.Mode {
	case ModeDirect, ModeBridge, ModeExternal:
	default:
		return nil
	}
	lacking := missing(ep.Access.Require, c.Scopes)
	if len(lacking) == 0 {
		return nil
	}
	for _, scope := range lacking {
		if !ep.CanGrant(scope) { // a new sign-in would bring nothing
			return fault.New(fault.Forbidden, string(reasonScope), "%s", reasonScope.text())
		}
	}
	return InsufficientScope(ep, nil)
}

// scopesByFunction reports whether the scopes of direct callers are not known
// before the project was asked.
func scopesByFunction(a *surfaces.Access) bool {
	return a.ScopesFrom != nil && a.ScopesFrom.Function != nil
}

// withClaimScopes adds the scopes that stand in the claim of access.scopes_from.
// What the caller is made of may be shared, so neither is changed.
func withClaimScopes(ep *tenants.Endpoint, c *Caller) *Caller {
	if ep.Access.ScopesFrom == nil || len(ep.Access.ScopesFrom.Claim) == 0 {
		return c
	}
	words, ok := ClaimWords(c.Claims, ep.Access.ScopesFrom.Claim)
	if !ok || len(words) == 0 {
		return c
	}
	more := *c
	more.Scopes = once(slices.Concat(c.Scopes, words))
	return &more
}
