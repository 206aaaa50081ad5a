package oauth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// skew is the clock difference allowed, the Data API's own: a token it would
// still serve is not refused here.
const skew = 30 * time.Second

const (
	defaultRole     = "authenticated"
	defaultAudience = "authenticated"
)

// direct admits a token of the project's own Supabase Auth (design section 5,
// authorization: direct). Errors as Authenticate's, with a bare reason where a
// challenge is due.
func (a *Authenticator) direct(ctx context.Context, ep *tenants.Endpoint, text string) (*Caller, error) {
	key := keyOf(ep.Project.ID, text)
	if why := a.memo.rejection(key); why != "" {
		return nil, why
	}
	v, err := a.remembered(ctx, ep, key)
	if v == nil && err == nil {
		v, err = a.verify(ctx, ep, key, text)
	}
	if err != nil {
		return nil, err
	}
	if err := admit(ep, v.claims); err != nil {
		return nil, err
	}
	return &Caller{
		Key: CallerKey{
			Surface: ep.Surface, Mode: ModeDirect, Issuer: v.claims.issuer,
			Subject: v.claims.subject, Client: v.claims.client,
		},
		Token:   seal.NewSecret(text),
		Expires: v.claims.expires,
		Scopes:  v.claims.scopes,
		Role:    v.claims.role,
		Claims:  v.claims.rest,
	}, nil
}

// remembered returns what the memo holds of the token, or nil when it holds
// nothing that still stands.
func (a *Authenticator) remembered(ctx context.Context, ep *tenants.Endpoint, key tokenKey) (*verified, error) {
	v := a.memo.get(key)
	if v == nil {
		return nil, nil
	}
	if err := a.judge(ep, v.claims); err != nil {
		a.memo.forget(key)
		return nil, err
	}
	signer, err := a.keys.lookup(ctx, &ep.Project, v.kid)
	if err == nil && signer.thumb == v.thumb {
		return v, nil
	}
	if !fault.Is(err, fault.Unavailable) { // the key is gone or replaced
		a.memo.forget(key)
	}
	return nil, err
}

// verify reads the token, checks what needs no key first, then the signature,
// and remembers the outcome.
func (a *Authenticator) verify(ctx context.Context, ep *tenants.Endpoint, key tokenKey, text string) (*verified, error) {
	t, err := parseToken(text)
	if err != nil {
		return nil, err
	}
	if err := a.judge(ep, t.claims); err != nil {
		return nil, err
	}
	signer, err := a.keys.lookup(ctx, &ep.Project, t.kid)
	if err != nil {
		return nil, err
	}
	if signer.alg != t.alg {
		return nil, reasonAlgorithm
	}
	if _, err := t.signed.Verify(signer.public); err != nil {
		a.memo.reject(key, reasonSignature)
		return nil, reasonSignature
	}
	v := &verified{claims: t.claims, kid: t.kid, thumb: signer.thumb}
	a.memo.put(key, v)
	return v, nil
}

// judge checks issuer and time, on every request.
func (a *Authenticator) judge(ep *tenants.Endpoint, c *claims) error {
	if c.issuer == "" || c.issuer != ep.Project.Issuer {
		return reasonIssuer
	}
	now := a.now()
	if now.After(c.expires.Add(skew)) {
		return reasonExpired
	}
	if c.notBefore.After(now.Add(skew)) {
		return reasonNotYet
	}
	return nil
}

// admit applies the surface's own rules to verified claims, on every request.
func admit(ep *tenants.Endpoint, c *claims) error {
	switch {
	case !roleAllowed(ep, c.role):
		return reasonRole
	case c.anonymous && !ep.Access.AnonymousUsers:
		return reasonAnonymousUser
	case !audienceAllowed(ep, c.audience):
		return reasonAudience
	case !c.delegated:
		return reasonNotDelegated
	case c.client == "":
		return reasonNoClient
	case len(missing(ep.Access.Require, c.scopes)) > 0:
		return errMissingScope
	}
	return nil
}

// errMissingScope is turned into a challenge or a plain refusal by the caller.
var errMissingScope = errors.New("required scope missing")

// roleAllowed accepts the declared roles, but never those that are not a
// user's, whatever a surface file says.
func roleAllowed(ep *tenants.Endpoint, role string) bool {
	switch role {
	case "", "anon", "service_role", "supabase_admin":
		return false
	}
	if len(ep.Access.Roles) == 0 {
		return role == defaultRole
	}
	return slices.Contains(ep.Access.Roles, role)
}

// audienceAllowed wants authenticated or one of the surface's URLs, and no URL
// that is not the surface's: such a token was meant for another server.
func audienceAllowed(ep *tenants.Endpoint, audience []string) bool {
	meant := false
	for _, entry := range audience {
		own := entry == defaultAudience || ownURL(ep, entry)
		if !own && looksLikeURL(entry) {
			return false
		}
		meant = meant || own
	}
	return meant
}

func ownURL(ep *tenants.Endpoint, entry string) bool {
	if !looksLikeURL(entry) {
		return false
	}
	if entry == ep.Resource.URL() {
		return true
	}
	return slices.ContainsFunc(ep.URLs, func(r tenants.Resource) bool { return r.URL() == entry })
}

func looksLikeURL(s string) bool { return strings.Contains(s, "://") }
