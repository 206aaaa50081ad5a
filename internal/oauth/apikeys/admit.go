package apikeys

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// anon is the role that every call of a key runs as.
const anon = "anon"

// denial is why a key is not let in: code and text of the challenge. The text
// is ASCII without quotes and says what to do (RFC 6750 section 3).
type denial struct{ code, text string }

var (
	denyKind    = denial{"token_kind", "Keys of this kind are not accepted here. Use what the owner of this server says."}
	denyUnknown = denial{"key_unknown", "The key is not known here. Check that it was copied whole and is one of this very server."}
	denyRevoked = denial{"key_revoked", "The key was revoked. Ask the owner of this server for another one."}
	denyExpired = denial{"key_expired", "The key has expired. Ask the owner of this server for another one."}
)

func deny(ep *tenants.Endpoint, why denial) error { return oauth.InvalidToken(ep, why.code, why.text) }

// Admit implements oauth.Keys: a key of this very surface that was neither
// revoked nor has expired.
func (s *Service) Admit(ctx context.Context, ep *tenants.Endpoint, key string) (*oauth.Caller, error) {
	if !ep.Access.Has(surfaces.ModeAPIKey) {
		return nil, deny(ep, denyKind)
	}
	if !keyShaped(key) {
		return nil, deny(ep, denyUnknown) // nobody need be asked
	}
	known, err := s.standingOf(ctx, madeKey{ep.Organization, ep.Surface, hashOf(key)})
	switch {
	case errors.Is(err, errNoKey):
		return nil, deny(ep, denyUnknown)
	case err != nil:
		return nil, err
	case known.row.RevokedAt != nil:
		return nil, deny(ep, denyRevoked)
	case known.row.ExpiresAt != nil && !s.cfg.Now().Before(*known.row.ExpiresAt):
		return nil, deny(ep, denyExpired)
	}
	row := &known.row
	s.used.Note(ep.Organization, row.ID)
	c := &oauth.Caller{
		Key: oauth.CallerKey{
			Surface: ep.Surface, Mode: oauth.ModeAPIKey, Issuer: oauth.KeyIssuer, Subject: row.ID.String(), Client: row.ID.String(),
		},
		Scopes: row.Scopes,
		Role:   anon,
	}
	if row.ExpiresAt != nil {
		c.Expires = *row.ExpiresAt
	}
	return c, nil
}
