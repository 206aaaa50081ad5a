package oauth

import (
	"context"
	"slices"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// skew is the clock difference allowed, the Data API's own: a token it would
// still serve is not refused here.
const skew = 30 * time.Second

const (
	defaultRole     = "authenticated"
	defaultAudience = "authenticated"
)

// user admits a token of the project's own Supabase Auth (design section 5): a
// client's (authorization: direct) or a session of the app's own (bearer).
// Errors as Authenticate's, with a bare reason where a challenge is due.
func (a *Authenticator) user(ctx context.Context, ep *tenants.Endpoint, key tokenKey, text string) (*Caller, error) {
	v, mode, err := a.verified(ctx, ep, key, text)
	if err != nil {
		return nil, err
	}
	if err := admit(ep, mode, v.claims); err != nil {
		return nil, err
	}
	c := &Caller{
		Key: CallerKey{
			Surface: ep.Surface, Mode: mode, Issuer: v.claims.issuer,
			Subject: v.claims.subject, Client: v.claims.client,
		},
		Token:   seal.NewSecret(text),
		Expires: v.claims.expires,
		Scopes:  v.claims.scopes,
		Role:    v.claims.role,
		Claims:  v.claims.rest,
		Rules:   v.claims.rules,
		Actor:   v.claims.actor,
	}
	if mode == ModeDirect {
		c = withClaimScopes(ep, c)
		if !scopesByFunction(&ep.Access) {
			if err := RequireScopes(ep, c); err != nil {
				return nil, err
			}
		}
	}
	if err := a.stillThere(ctx, ep, c); err != nil {
		return nil, err
	}
	return c, nil
}

// stillThere asks what was learnt elsewhere: whether the session has ended, and
// whose surface the client is. What the surface wants asked and nobody can
// answer, refuses.
func (a *Authenticator) stillThere(ctx context.Context, ep *tenants.Endpoint, c *Caller) error {
	if ep.Access.SessionCheck > 0 {
		if a.doors.Sessions == nil {
			return reasonOtherKind
		}
		if a.doors.Sessions.Ended(ctx, ep, c) {
			return reasonSession
		}
	}
	if c.Key.Mode != ModeDirect {
		return nil
	}
	if a.doors.Clients == nil {
		if ep.Access.Isolation == surfaces.IsolationClient {
			return reasonOtherKind
		}
		return nil
	}
	return a.doors.Clients.Admit(ctx, ep, c)
}

// verified returns what a token of the project says, once that is known to be
// right, and the mode it counts for at the surface.
func (a *Authenticator) verified(ctx context.Context, ep *tenants.Endpoint, key tokenKey, text string) (*verified, Mode, error) {
	var t *token
	v := a.memo.get(key)
	read := v
	if read == nil {
		var err error
		if t, err = parseToken(text); err != nil {
			return nil, "", err
		}
		read = &verified{claims: t.claims}
	}
	mode, err := modeOf(ep, read.claims)
	if err != nil {
		return nil, "", err
	}
	if why := a.memo.rejection(key); why != "" {
		return nil, "", why
	}
	if v != nil {
		if v, err = a.stands(ctx, ep, key, v); v == nil && err == nil {
			t, err = parseToken(text)
		}
	}
	if v == nil && err == nil {
		v, err = a.verify(ctx, ep, key, t)
	}
	return v, mode, err
}

// modeOf tells which mode takes a token of the project, by the three marks of
// what an OAuth client got. The error is a challenge.
func modeOf(ep *tenants.Endpoint, c *claims) (Mode, error) {
	switch {
	case c.delegated && takesDirect(ep):
		return ModeDirect, nil
	case !c.delegated && ep.Access.Has(surfaces.ModeBearer):
		return ModeBearer, nil
	case !c.delegated && takesDirect(ep):
		return "", InvalidToken(ep, string(reasonOtherKind), "The access token belongs to the app itself. Sign in from this client to get one of its own.")
	case c.delegated && ep.Access.Has(surfaces.ModeBearer):
		return "", InvalidToken(ep, string(reasonOtherKind), "The access token was given to a client. Only sessions of the app itself are accepted here.")
	}
	return "", reasonOtherKind
}

// stands returns what the memo holds of the token, or nil when that does not
// stand any more.
func (a *Authenticator) stands(ctx context.Context, ep *tenants.Endpoint, key tokenKey, v *verified) (*verified, error) {
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

// verify checks of a token what needs no key first, then the signature, and
// remembers the outcome.
func (a *Authenticator) verify(ctx context.Context, ep *tenants.Endpoint, key tokenKey, t *token) (*verified, error) {
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
func admit(ep *tenants.Endpoint, mode Mode, c *claims) error {
	switch {
	case !roleAllowed(ep, c.role):
		return reasonRole
	case c.anonymous && !ep.Access.AnonymousUsers:
		return reasonAnonymousUser
	case !audienceAllowed(ep, c.audience):
		return reasonAudience
	case mode == ModeDirect && c.client == "":
		return reasonNoClient
	}
	return nil
}

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
