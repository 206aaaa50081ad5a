package mcp

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// gate decides whether a caller with claims may use the surface at all: its
// second factor and its roles. It refuses plainly, with no challenge that a
// client could not fulfil.
func (x *exchange) gate(ctx context.Context, c *call) error {
	access := &c.endpoint.Access
	if access.AAL == "" && access.RequiredRoles == nil || !hasClaims(c.caller.Key.Mode) {
		return nil
	}
	if err := c.needClaims(ctx, x.h.cfg.Logger); err != nil && !errors.Is(err, errUndecided) {
		return err
	}
	if access.AAL != "" && !c.hasSecondFactor(access.AAL) {
		return fault.New(fault.Forbidden, codeAAL2, "%s", textAAL2)
	}
	if access.RequiredRoles != nil && !c.hasRole(access.RequiredRoles) {
		return fault.New(fault.Forbidden, "role_required", "Your account does not have a role that may use this. Ask whoever gives roles in the app.")
	}
	return nil
}

const (
	codeAAL2 = "aal2_required"
	textAAL2 = "This needs a sign-in with a second factor, and yours has none. Sign in to the app again with your second factor."
)

// hasSecondFactor reads claims that were made readable; without them nobody
// has.
func (c *call) hasSecondFactor(level string) bool {
	return level == surfaces.AAL2 && c.facts.read.Claim("aal") == surfaces.AAL2
}

// hasRole reports whether the claim is one of the roles, or a list with one.
func (c *call) hasRole(required *surfaces.RequiredRoles) bool {
	switch held := c.facts.read.Claim(required.Claim...).(type) {
	case string:
		return slices.Contains(required.Roles, held)
	case []any:
		return slices.ContainsFunc(held, func(one any) bool {
			role, ok := one.(string)
			return ok && slices.Contains(required.Roles, role)
		})
	}
	return false
}

// Rates of a surface that was published before they had to be stated.
const (
	defaultPublicCalls = 60
	defaultPublicPer   = time.Minute
)

// countPublic counts the requests of a body that came without a credential:
// those of the address first, then those of everybody together.
func (x *exchange) countPublic(c *call, list []message) error {
	n := 0
	for i := range list {
		if list[i].isCall() {
			n++
		}
	}
	if n == 0 || c.caller.Key.Mode != oauth.ModePublic {
		return nil
	}
	surface := c.endpoint.Surface.String()
	own := ratelimit.Rate{N: defaultPublicCalls, Per: defaultPublicPer}
	total := ratelimit.Rate{}
	if stated := c.endpoint.Access.Public; stated != nil {
		own = ratelimit.Rate{N: stated.Calls, Per: time.Duration(stated.Seconds) * time.Second}
		total = ratelimit.Rate{N: stated.Total, Per: own.Per}
	}
	bounds := []ratelimit.Bound{{
		Name: "public call", Key: surface + " " + ratelimit.AddressKey(x.h.cfg.Hosts.ClientAddress(x.r)), Rate: own,
	}}
	if total.N > 0 {
		bounds = append(bounds, ratelimit.Bound{Name: "public total", Key: surface, Rate: total})
	}
	return x.h.cfg.Limiter.Take(x.r.Context(), n, bounds...)
}
