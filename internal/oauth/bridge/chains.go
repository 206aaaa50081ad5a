package bridge

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// A refresh token is chr_ + base64url(chain id, generation, MAC). The MAC
// (purpose seal.Refresh) covers organization, surface, grant, chain and
// generation, so that a token can be made again, is nowhere stored, and is of
// no use elsewhere.
const (
	refreshPrefix = "chr_"
	refreshBytes  = 16 + 4 + 32
	chainsOfGrant = 50 // live ones; the longest idle end first
)

// refreshName is what a refresh token says of itself.
type refreshName struct {
	chain      id.Chain
	generation int32
	mac        []byte
}

func readRefreshToken(token seal.Secret) (refreshName, bool) {
	text, ok := strings.CutPrefix(token.Reveal(), refreshPrefix)
	if !ok {
		return refreshName{}, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != refreshBytes {
		return refreshName{}, false
	}
	n := refreshName{chain: id.Chain(raw[:16]), generation: int32(binary.BigEndian.Uint32(raw[16:20])), mac: raw[20:]}
	return n, n.generation > 0
}

// refreshToken makes the token of a generation: always the same.
func (s *Service) refreshToken(ep *tenants.Endpoint, grant id.Grant, chain id.Chain, generation int32) seal.Secret {
	raw := make([]byte, 0, refreshBytes)
	key := chain.UUID()
	raw = append(raw, key[:]...)
	raw = binary.BigEndian.AppendUint32(raw, uint32(generation))
	raw = append(raw, s.cfg.Keys.MAC(seal.Refresh, refreshMessage(ep, grant, chain, generation))...)
	return seal.NewSecret(refreshPrefix + base64.RawURLEncoding.EncodeToString(raw))
}

func refreshMessage(ep *tenants.Endpoint, grant id.Grant, chain id.Chain, generation int32) []byte {
	return seal.AD(ep.Organization.String(), ep.Surface.String(), grant.String(), chain.String(), fmt.Sprint(generation))
}

// beginChain starts the chain of refresh tokens that a code gives, inside the
// redemption of the code (see redeem).
func (s *Service) beginChain(ctx context.Context, q *db.Queries, ep *tenants.Endpoint, grant id.Grant, chain id.Chain, until time.Time) error {
	now := s.cfg.Now()
	err := q.InsertChain(ctx, db.InsertChainParams{OrganizationID: ep.Organization, ID: chain, GrantID: grant, Now: now, IdleUntil: idleUntil(now, until)})
	if err != nil {
		return fmt.Errorf("insert chain: %w", err)
	}
	err = q.EndChainsBeyond(ctx, db.EndChainsBeyondParams{OrganizationID: ep.Organization, GrantID: grant, Bound: chainsOfGrant, Now: &now})
	if err != nil {
		return fmt.Errorf("end chains beyond the bound: %w", err)
	}
	return nil
}

// idleUntil is until when a refresh token is good if nobody uses it.
func idleUntil(now, absolute time.Time) time.Time {
	if idle := now.Add(refreshIdle); idle.Before(absolute) {
		return idle
	}
	return absolute
}

// The descriptions of invalid_grant: what to do.
const (
	sayUnknown = "The refresh token is not known here. Sign in again."
	sayIdle    = "The connection was not used for too long. Sign in again."
	sayExpired = "The time this connection was allowed for is over. Sign in again."
	sayRevoked = "The access was taken away. Sign in again to ask for it anew."
	saySession = "The session at the app has ended. Sign in again."
	sayReused  = "The refresh token was used before, so the access was taken away for safety. Sign in again."
)

// whyOf are the words of the story for what a client is told.
var whyOf = map[string]string{
	sayUnknown: "refresh_unknown", sayIdle: "idle", sayExpired: revokedExpired, sayRevoked: "revoked", saySession: "session_ended",
	sayReused: revokedReused, sayCode: "code_unknown", sayCodeOver: "code_expired",
}

// rotate answers a refresh token presented by a client at ep: the next one, or
// within retryWindow the same again. An older generation revokes the grant.
// The session at the project is brought up to date first, so that one which
// ended there is told. Errors: *tokenError invalid_grant, or fault.Unavailable
// with everything kept; the grant is known with an error, too, once the token
// is known to be right.
func (s *Service) rotate(ctx context.Context, ep *tenants.Endpoint, client *Client, presented seal.Secret) (issued, error) {
	name, ok := readRefreshToken(presented)
	if !ok {
		return issued{}, invalidGrant(sayUnknown)
	}
	synced := false
	for range 4 { // each turn but the last lost against another rotation
		row, err := s.chainOf(ctx, ep, client, name)
		if err != nil {
			return issued{}, err
		}
		known := issued{grant: row.GrantID}
		if say := s.chainOver(row); say != "" {
			return known, invalidGrant(say)
		}
		now := s.cfg.Now()
		again := name.generation == row.Generation-1 && now.Sub(row.RotatedAt) <= retryWindow
		if name.generation != row.Generation && !again {
			return known, s.reused(ctx, ep, row)
		}
		if !synced {
			if err := s.syncUpstream(ctx, ep, row.UpstreamSessionID); err != nil {
				return known, err
			}
			synced = true
			continue // that took its time: look again
		}
		next := name.generation + 1
		if !again {
			rotated, err := s.advance(ctx, ep, row, now)
			if err != nil {
				return known, err
			}
			if !rotated {
				continue
			}
		}
		return issued{
			grant: row.GrantID, chain: row.ID, subject: row.Subject, client: row.ClientID, scopes: row.Scopes,
			refresh: s.refreshToken(ep, row.GrantID, row.ID, next),
		}, nil
	}
	return issued{}, away(errors.New("rotate: lost against others each time"))
}

// chainOf finds the chain of a refresh token that is right: made by us, for
// this surface and this client. Everything else is not told apart.
func (s *Service) chainOf(ctx context.Context, ep *tenants.Endpoint, client *Client, name refreshName) (db.GetChainRow, error) {
	var row db.GetChainRow
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.GetChain(ctx, db.GetChainParams{OrganizationID: ep.Organization, ID: name.chain})
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return row, invalidGrant(sayUnknown)
	case err != nil:
		return row, away(fmt.Errorf("load chain: %w", err))
	case row.SurfaceID != ep.Surface, row.ProjectID != ep.Project.ID, row.ClientID != client.ID, row.Kind != grantOfClient,
		name.generation > row.Generation,
		!s.cfg.Keys.VerifyMAC(seal.Refresh, refreshMessage(ep, row.GrantID, name.chain, name.generation), name.mac):
		return row, invalidGrant(sayUnknown)
	}
	return row, nil
}

// chainOver says why a chain gives nothing any more, or "".
func (s *Service) chainOver(row db.GetChainRow) string {
	now := s.cfg.Now()
	switch {
	case row.RevokedAt != nil && row.RevokedWhy == revokedUpstream:
		return saySession
	case row.RevokedAt != nil && row.RevokedWhy == revokedReused:
		return sayReused
	case row.RevokedAt != nil && row.RevokedWhy != revokedExpired, row.EndedAt != nil:
		return sayRevoked
	case row.RevokedAt != nil, !now.Before(row.ExpiresAt):
		return sayExpired
	case !now.Before(row.IdleUntil):
		return sayIdle
	}
	return ""
}

// syncUpstream sees that the session behind a grant stands.
func (s *Service) syncUpstream(ctx context.Context, ep *tenants.Endpoint, session id.Upstream) error {
	_, err := s.upstreamToken(ctx, &ep.Project, ep.Organization, session, seal.Secret{})
	if fault.Is(err, fault.Unauthenticated) {
		return invalidGrant(saySession)
	}
	return err
}

// advance makes the next generation the newest. False when another one was
// faster, or the chain ended.
func (s *Service) advance(ctx context.Context, ep *tenants.Endpoint, row db.GetChainRow, now time.Time) (bool, error) {
	var n int64
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		n, err = q.RotateChain(ctx, db.RotateChainParams{
			OrganizationID: ep.Organization, ID: row.ID, Generation: row.Generation, Now: now, IdleUntil: idleUntil(now, row.ExpiresAt),
		})
		return err
	})
	if err != nil {
		return false, away(fmt.Errorf("rotate chain: %w", err))
	}
	return n == 1, nil
}

// reused takes the grant away: somebody holds a token that was replaced long
// since, and one of the two is not the client (RFC 9700 section 4.14.2).
func (s *Service) reused(ctx context.Context, ep *tenants.Endpoint, row db.GetChainRow) error {
	if err := s.revoke(ctx, ep, Visitor{}, row.GrantID, revokedReused); err != nil {
		return err
	}
	return invalidGrant(sayReused)
}

// revokeToken takes away what a refresh token or access token of the client
// stands for (RFC 7009): its chain, and the grant when no other chain of it is
// left, so that one computer signing out leaves another one signed in. Unknown
// tokens are no error.
func (s *Service) revokeToken(ctx context.Context, ep *tenants.Endpoint, client *Client, token string) error {
	if name, ok := readRefreshToken(seal.NewSecret(token)); ok {
		row, err := s.chainOf(ctx, ep, client, name)
		var unknown *tokenError
		if errors.As(err, &unknown) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.endChain(ctx, ep, row.GrantID, row.ID, revokedByUser)
	}
	claims, err := s.readAccessToken(ctx, token)
	switch {
	case fault.Is(err, fault.Unavailable):
		return err
	case err != nil, claims.Surface != ep.Surface, claims.ClientID != client.ID:
		return nil //nolint:nilerr // what is no token of the client needs no revoking
	}
	return s.endChain(ctx, ep, claims.Grant, claims.Chain, revokedByUser)
}

// endChain ends one chain, and its grant too when that was the last one.
func (s *Service) endChain(ctx context.Context, ep *tenants.Endpoint, grant id.Grant, chain id.Chain, why string) error {
	last := false
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		now := s.cfg.Now()
		n, err := q.EndChain(ctx, db.EndChainParams{OrganizationID: ep.Organization, ID: chain, GrantID: grant, Now: &now})
		if err != nil || n == 0 {
			return err
		}
		live, err := q.HasLiveChain(ctx, db.HasLiveChainParams{OrganizationID: ep.Organization, GrantID: grant, Now: now})
		last = err == nil && !live
		return err
	})
	if err != nil {
		return away(fmt.Errorf("end chain: %w", err))
	}
	if !last {
		return nil
	}
	return s.revoke(ctx, ep, Visitor{}, grant, why)
}

// redeem exchanges a code, once. A second exchange revokes what the first one
// gave. verify is called with the sign-in's code challenge and redirect URI
// before anything is spent. Sign-in and grant are known with an error, too,
// once the code is known to be the client's.
func (s *Service) redeem(ctx context.Context, ep *tenants.Endpoint, client *Client, code seal.Secret, verify func(challenge, redirectURI string) error) (issued, error) {
	row, err := s.signInOfCode(ctx, ep, code)
	if err != nil {
		return issued{}, err
	}
	if row.ClientID != client.ID || row.GrantID == nil || row.CodeUntil == nil {
		return issued{}, invalidGrant(sayCode)
	}
	known := issued{signIn: row.ID, grant: *row.GrantID}
	if err := verify(row.CodeChallenge, row.RedirectUri); err != nil {
		return known, err
	}
	if row.CodeUsedAt != nil {
		return known, s.replayed(ctx, ep, client, row)
	}
	if !s.cfg.Now().Before(*row.CodeUntil) {
		return known, invalidGrant(sayCodeOver)
	}
	out, err := s.spend(ctx, ep, row)
	if errors.Is(err, errSpent) {
		if row, err = s.signInOfCode(ctx, ep, code); err != nil {
			return known, err
		}
		return known, s.replayed(ctx, ep, client, row)
	}
	if err != nil {
		return known, err
	}
	out.signIn = row.ID
	return out, nil
}

const (
	sayCode     = "The code is not known here, or was used before. Sign in again."
	sayCodeOver = "The code has expired: it is good for a minute. Sign in again."
)

var errSpent = errors.New("the code was spent meanwhile")

func (s *Service) signInOfCode(ctx context.Context, ep *tenants.Endpoint, code seal.Secret) (db.GetSignInOfCodeRow, error) {
	var row db.GetSignInOfCodeRow
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.GetSignInOfCode(ctx, db.GetSignInOfCodeParams{
			OrganizationID: ep.Organization, SurfaceID: ep.Surface, ProjectID: ep.Project.ID, CodeHash: hashOf(code),
		})
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return row, invalidGrant(sayCode)
	case err != nil:
		return row, away(fmt.Errorf("find code: %w", err))
	}
	return row, nil
}

// spend uses the code up and starts what it gives, in one transaction.
func (s *Service) spend(ctx context.Context, ep *tenants.Endpoint, row db.GetSignInOfCodeRow) (issued, error) {
	out := issued{grant: *row.GrantID, chain: id.New[id.ChainKind]()}
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		now := s.cfg.Now()
		n, err := q.SpendCode(ctx, db.SpendCodeParams{OrganizationID: ep.Organization, ID: row.ID, Now: &now, ChainID: &out.chain})
		if err != nil {
			return fmt.Errorf("spend code: %w", err)
		}
		if n == 0 {
			return errSpent
		}
		grant, err := q.GrantForCode(ctx, db.GrantForCodeParams{
			OrganizationID: ep.Organization, SurfaceID: ep.Surface, ProjectID: ep.Project.ID, ID: out.grant, Now: now,
		})
		if err != nil {
			return err
		}
		out.subject, out.client, out.scopes = grant.Subject, grant.ClientID, grant.Scopes
		return s.beginChain(ctx, q, ep, out.grant, out.chain, grant.ExpiresAt)
	})
	switch {
	case errors.Is(err, errSpent):
		return issued{}, err
	case errors.Is(err, pgx.ErrNoRows):
		return issued{}, invalidGrant(sayRevoked)
	case err != nil:
		return issued{}, away(err)
	}
	out.refresh = s.refreshToken(ep, out.grant, out.chain, 1)
	return out, nil
}

// replayed takes back what the first exchange of a code gave (RFC 6749 section
// 4.1.2): somebody else may have copied it.
func (s *Service) replayed(ctx context.Context, ep *tenants.Endpoint, client *Client, row db.GetSignInOfCodeRow) error {
	s.step(ep, Visitor{}, events.Step{
		Kind: events.StepToken, Failed: true, Code: revokedReplayed, Client: client.ID, ClientName: client.Name, SignIn: row.ID, Grant: *row.GrantID,
	})
	if row.ChainID != nil {
		if err := s.endChain(ctx, ep, *row.GrantID, *row.ChainID, revokedReplayed); err != nil {
			return err
		}
	}
	refused := invalidGrant(sayCode).because(revokedReplayed)
	refused.told = true
	return refused
}
