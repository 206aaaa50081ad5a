package issuers

import (
	"slices"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// skew is the clock difference allowed.
const skew = 30 * time.Second

// external is the issuer that a surface names, or nil.
func external(ep *tenants.Endpoint) *surfaces.ExternalIssuer {
	if !ep.Access.Has(surfaces.ModeOAuth) || ep.Access.Authorization != surfaces.AuthorizationExternal {
		return nil
	}
	return ep.Access.Issuer
}

// judge checks issuer and time, on every request.
func (c *claims) judge(issuer string, now time.Time) error {
	switch {
	case c.issuer != issuer:
		return denyIssuer
	case now.After(c.expires.Add(skew)):
		return denyExpired
	case c.notBefore.After(now.Add(skew)):
		return denyNotYet
	}
	return nil
}

// caller applies the surface's own rules to claims that are known to be the
// issuer's, on every request.
func caller(ep *tenants.Endpoint, c *claims) (*oauth.Caller, error) {
	issuer := ep.Access.Issuer
	if err := admitted(ep, issuer, c); err != nil {
		return nil, err
	}
	who := &oauth.Caller{
		Key: oauth.CallerKey{
			Surface: ep.Surface, Mode: oauth.ModeExternal, Issuer: issuer.URL, Subject: c.subject, Client: c.client,
		},
		Expires: c.expires, Scopes: scopesOf(ep, c), Role: "anon", Claims: c.rest, Actor: c.actor,
	}
	if err := oauth.RequireScopes(ep, who); err != nil {
		return nil, err
	}
	return who, nil
}

// admitted checks whom the token is for and whose it is. The audience is the
// one that the surface file expects, which need not be the surface's URL. Where
// it expects none, the token must name its client, and may not be for the URL
// of another server.
func admitted(ep *tenants.Endpoint, issuer *surfaces.ExternalIssuer, c *claims) error {
	switch {
	case len(issuer.Audience) > 0 && !slices.ContainsFunc(issuer.Audience, func(want string) bool { return slices.Contains(c.audience, want) }):
		return denyAudience
	case len(issuer.Audience) == 0 && slices.ContainsFunc(c.audience, func(entry string) bool { return looksLikeURL(entry) && !ep.HasURL(entry) }):
		return denyAudience
	case c.client == "" && (len(issuer.Audience) == 0 || len(issuer.Clients) > 0):
		return denyNoClient
	case len(issuer.Clients) > 0 && !slices.Contains(issuer.Clients, c.client):
		return denyClient
	}
	return nil
}

// scopesOf are the token's own scopes, and those of the claim that
// access.scopes_from names. A claim that cannot be read brings none.
func scopesOf(ep *tenants.Endpoint, c *claims) []string {
	from := ep.Access.ScopesFrom
	if from == nil || len(from.Claim) == 0 {
		return c.scopes
	}
	more, _ := oauth.ClaimWords(c.rest, from.Claim)
	return once(slices.Concat(c.scopes, more))
}

func looksLikeURL(s string) bool { return strings.Contains(s, "://") }
