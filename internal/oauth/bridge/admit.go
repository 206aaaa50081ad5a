package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

var _ oauth.Bridge = (*Service)(nil)

// denial is why a token of ours is not let in: code and text of the challenge.
// The text is ASCII without quotes and says what to do (RFC 6750 section 3).
type denial struct{ code, text string }

// Error implements error.
func (d denial) Error() string { return d.code }

var (
	denyKind      = denial{"token_kind", "This kind of token is not accepted here. Sign in again."}
	denyKey       = denial{"token_key_unknown", "The access token is signed with a key that is not in use any more. Refresh it or sign in again."}
	denySignature = denial{"token_signature", "The signature of the access token is wrong. Sign in again."}
	denyExpired   = denial{"token_expired", "The access token has expired. Refresh it or sign in again."}
	denySurface   = denial{"token_surface", "The access token is for another server. Sign in to this one."}
	denyIssuer    = denial{"token_issuer", "The access token was issued by another service. Sign in to this one."}
	denyAudience  = denial{"token_audience", "The access token is meant for another server. Sign in to this one."}
	denyRevoked   = denial{"token_revoked", "The access was taken away. Sign in again to ask for it anew."}
	denyOver      = denial{"grant_expired", "The time this connection was allowed for is over. Sign in again."}
	denySession   = denial{"session_ended", "The session at the app has ended. Sign in again."}
	denyRole      = denial{"token_role", "The role of this account is not accepted here. Sign in with another account."}
	denyAnonymous = denial{"token_anonymous_user", "Anonymous users are not accepted here. Sign in with an account."}
	denyPersonal  = denial{"token_unknown", "The personal token is not known here, or was revoked. Make another one under Connected apps."}
)

// Admit implements oauth.Bridge: an access token of ours (RFC 9068), issued by
// one of the surface's URLs, for this surface (srf) and one of its URLs (aud),
// whose grant and chain stand.
func (s *Service) Admit(ctx context.Context, ep *tenants.Endpoint, token string) (*oauth.Caller, error) {
	claims, err := s.readAccessToken(ctx, token)
	if err != nil {
		return nil, refuse(ep, denialOf(err))
	}
	if err := meantFor(ep, claims); err != nil {
		return nil, refuse(ep, err)
	}
	key := grantKey{ep.Organization, claims.Grant}
	state, err := s.standingOf(ctx, key, nil)
	if err == nil && !state.knows(claims.Chain) {
		state, err = s.standingOf(ctx, key, state) // a chain begun since
	}
	if err == nil {
		err = s.stands(ep, state, grantOfClient)
	}
	switch {
	case err != nil:
		return nil, refuse(ep, err)
	case state.row.Subject != claims.Subject, state.row.ClientID != claims.ClientID, !state.live(claims.Chain):
		return nil, refuse(ep, denyRevoked)
	}
	return s.caller(ep, state, claims.Scopes, claims.Expires)
}

// AdmitPersonal implements oauth.Bridge for chp_ tokens.
func (s *Service) AdmitPersonal(ctx context.Context, ep *tenants.Endpoint, token string) (*oauth.Caller, error) {
	if !strings.HasPrefix(token, personalPrefix) || len(token) != personalLength {
		return nil, refuse(ep, denyPersonal)
	}
	grant, err := s.personalGrant(ctx, personalKey{ep.Organization, ep.Surface, sha256.Sum256([]byte(token))})
	if errors.Is(err, errNoGrant) {
		return nil, refuse(ep, denyPersonal)
	}
	var state *grantState
	if err == nil {
		state, err = s.standingOf(ctx, grantKey{ep.Organization, grant}, nil)
	}
	if err == nil {
		err = s.stands(ep, state, grantOfPersonal)
	}
	if err != nil {
		return nil, refuse(ep, err)
	}
	return s.caller(ep, state, state.row.Scopes, state.row.ExpiresAt)
}

// refuse turns a denial into the surface's challenge. What could not be judged
// stays what it is.
func refuse(ep *tenants.Endpoint, err error) error {
	if errors.Is(err, errNoGrant) {
		err = denyRevoked
	}
	var why denial
	if errors.As(err, &why) {
		return oauth.InvalidToken(ep, why.code, why.text)
	}
	return err
}

// denialOf says what is wrong with an access token.
func denialOf(err error) error {
	switch {
	case fault.Is(err, fault.Unavailable):
		return err
	case errors.Is(err, errTokenExpired):
		return denyExpired
	case errors.Is(err, errTokenKey):
		return denyKey
	case errors.Is(err, errTokenSignature):
		return denySignature
	case errors.Is(err, errTokenMalformed):
		return denyKind
	}
	return err
}

// meantFor reports what keeps a token from ep: a token is for one surface,
// and good at every URL of it.
func meantFor(ep *tenants.Endpoint, c accessClaims) error {
	switch {
	case c.Surface != ep.Surface:
		return denySurface
	case !ep.HasURL(c.Issuer):
		return denyIssuer
	case !slices.ContainsFunc(c.Audience, ep.HasURL):
		return denyAudience
	}
	return nil
}

// stands reports what keeps a grant from being used at ep now.
func (s *Service) stands(ep *tenants.Endpoint, state *grantState, kind string) error {
	row := &state.row
	switch {
	case row.SurfaceID != ep.Surface, row.ProjectID != ep.Project.ID, row.Issuer != ep.Project.Issuer, row.Kind != kind:
		return denyRevoked
	case row.RevokedAt != nil && row.RevokedWhy == revokedUpstream, row.UpstreamEndedAt != nil && row.RevokedAt == nil:
		return denySession
	case row.RevokedAt != nil && row.RevokedWhy != revokedExpired:
		return denyRevoked
	case row.RevokedAt != nil, !s.cfg.Now().Before(row.ExpiresAt):
		return denyOver
	case row.Anonymous && !ep.Access.AnonymousUsers:
		return denyAnonymous
	case !roleAllowed(ep.Access, row.Role):
		return denyRole
	}
	return nil
}

// caller is whom a grant that stands makes of a request, as far as the token
// goes.
func (s *Service) caller(ep *tenants.Endpoint, state *grantState, scopes []string, expires time.Time) (*oauth.Caller, error) {
	row := &state.row
	c := &oauth.Caller{
		Key: oauth.CallerKey{
			Surface: ep.Surface, Mode: oauth.ModeBridge, Issuer: row.Issuer, Subject: row.Subject, Client: row.ClientID,
		},
		Expires: expires,
		Scopes:  inBoth(scopes, row.Scopes),
		Role:    row.Role,
		Grant:   row.ID,
		Allowed: &oauth.Allowed{ReadOnly: row.ReadOnly, Writes: row.Writes},
		Session: &callerSession{service: s, project: &ep.Project, organization: ep.Organization, upstream: row.UpstreamSessionID},
	}
	s.touches.Note(ep.Organization, row.ID)
	if len(c.Missing(ep.Access.Require)) > 0 {
		return nil, oauth.InsufficientScope(ep, nil)
	}
	return c, nil
}

// inBoth keeps what is in both lists, in the order of the first: the scopes of
// a token that its grant still has.
func inBoth(some, others []string) []string {
	var both []string
	for _, one := range some {
		if slices.Contains(others, one) {
			both = append(both, one)
		}
	}
	return both
}

func (g *grantState) live(chain id.Chain) bool {
	return slices.Contains(g.row.Chains, uuid.UUID(chain))
}

// knows reports whether the state was read after the chain began.
func (g *grantState) knows(chain id.Chain) bool {
	return g.live(chain) || slices.Contains(g.row.Ended, uuid.UUID(chain))
}

// callerSession implements oauth.Session.
type callerSession struct {
	service      *Service
	project      *tenants.ProjectRef
	organization id.Organization
	upstream     id.Upstream
}

// Token implements oauth.Session.
func (c *callerSession) Token(ctx context.Context) (seal.Secret, error) {
	return c.Renew(ctx, seal.Secret{})
}

// Renew implements oauth.Session.
func (c *callerSession) Renew(ctx context.Context, refused seal.Secret) (seal.Secret, error) {
	return c.service.upstreamToken(ctx, c.project, c.organization, c.upstream, refused)
}

// Claims implements oauth.Session. The token was checked when it came: its
// signature, or by asking the project where that signs with a shared secret.
func (c *callerSession) Claims(ctx context.Context) (json.RawMessage, error) {
	token, err := c.Token(ctx)
	if err != nil {
		return nil, err
	}
	return c.service.upstreams.claimsOf(keyOfUpstream(c.project, c.organization, c.upstream), token)
}
