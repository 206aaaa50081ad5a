package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	refreshBound = 2 * refreshLease       // one call waits at most, however often the lease changes hands
	refreshPoll  = 100 * time.Millisecond // between looks at a refresh of another server
	refreshAgain = 2 * time.Second        // after a refresh that failed, no other one of the session before
	rateLimited  = 30 * time.Second       // nor after one that the project found too much, at least
	releaseBound = 5 * time.Second        // signing out at the project
)

// Why a session is over, besides what the project says of it.
var (
	errNoClient    = errors.New("our client of the project is another one now") // nothing can refresh the session
	errOtherClient = errors.New("the token is of another client")
	errOtherUser   = errors.New("the token is of another user")
)

var errLostLease = errors.New("the lease of the refresh went to somebody else")

// freshToken finds the session's token in the database, and brings it up to
// date where needed: by a refresh of our own under the lease, or by waiting
// for whoever holds it.
func (s *Service) freshToken(ctx context.Context, p *tenants.ProjectRef, key upstreamKey, refused seal.Secret) (seal.Secret, error) {
	seen := int32(0) // version at the first look
	for {
		mark := s.cfg.Watch.Mark(tenants.ScopeUpstream + key.session.UUID().String())
		row, lease, err := s.lookOrLease(ctx, key, seen, refused)
		if err != nil {
			return s.tokenMeanwhile(key, refused, err)
		}
		access, err := s.upstreams.open(key, "access_token", row.AccessToken)
		switch {
		case err != nil:
			return seal.Secret{}, err
		case lease != uuid.Nil:
			token, err := s.refresh(ctx, p, key, row, lease, access, refused)
			if !errors.Is(err, errLostLease) {
				return token, err
			}
		case s.serves(row, seen, access, refused):
			s.keepWarm(key, access, row.RefreshedAt, row.AccessUntil, mark)
			return access, nil
		default:
			if err := pause(ctx, refreshPoll); err != nil {
				return seal.Secret{}, upstreamBusy(err, 0)
			}
		}
		if seen == 0 {
			seen = row.Version
		}
	}
}

// serves reports whether a stored token answers the call: it is not the one
// refused, and it is far from its end or has just been brought up to date.
func (s *Service) serves(row db.GetUpstreamRow, seen int32, access, refused seal.Secret) bool {
	if access == refused {
		return false
	}
	now := s.cfg.Now()
	return now.Before(row.AccessUntil.Add(-margin(row.RefreshedAt, row.AccessUntil))) || seen != 0 && row.Version != seen && now.Before(row.AccessUntil)
}

// margin is how long before its end a token is refreshed. Tokens that live
// shorter than a few times that are used for most of their life all the same.
func margin(from, until time.Time) time.Duration {
	return min(warmBefore, max(until.Sub(from)/4, 0))
}

// lookOrLease reads the session, and takes the lease when its token must be
// refreshed and nobody else does: then the id is not zero.
func (s *Service) lookOrLease(ctx context.Context, key upstreamKey, seen int32, refused seal.Secret) (db.GetUpstreamRow, uuid.UUID, error) {
	var row db.GetUpstreamRow
	var lease uuid.UUID
	err := s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.GetUpstream(ctx, db.GetUpstreamParams{OrganizationID: key.organization, ProjectID: key.project, ID: key.session})
		if err != nil || row.EndedAt != nil || !key.isOf(row.Issuer, row.APIOrigin) {
			return err
		}
		access, err := s.upstreams.open(key, "access_token", row.AccessToken)
		if err != nil || s.serves(row, seen, access, refused) {
			return err
		}
		mine, now := uuid.New(), s.cfg.Now()
		until := now.Add(refreshLease)
		n, err := q.LeaseUpstream(ctx, db.LeaseUpstreamParams{
			Until: &until, RefreshBy: &mine, OrganizationID: key.organization, ProjectID: key.project, ID: key.session, Version: row.Version, Now: &now,
		})
		if n == 1 {
			lease = mine
		}
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return row, lease, sessionEnded()
	case err != nil:
		return row, lease, away(fmt.Errorf("load upstream session: %w", err))
	case row.EndedAt != nil, !key.isOf(row.Issuer, row.APIOrigin):
		s.upstreams.warm.Invalidate(key)
		return row, lease, sessionEnded()
	}
	return row, lease, nil
}

// tokenMeanwhile serves from memory while the database is away, for as long as
// anything may.
func (s *Service) tokenMeanwhile(key upstreamKey, refused seal.Secret, err error) (seal.Secret, error) {
	known, ok := s.upstreams.warm.GetIfPresent(key)
	if ok && fault.Is(err, fault.Unavailable) && known.token != refused && s.cfg.Watch.Usable(known.mark) && s.cfg.Now().Before(known.until) {
		return known.token, nil
	}
	return seal.Secret{}, err
}

// refresh asks the project for new tokens, under the lease and with no
// connection held, and stores them before anybody uses them. What is lost
// between the two is not lost for good: Auth takes the direct predecessor of a
// refresh token again.
func (s *Service) refresh(ctx context.Context, p *tenants.ProjectRef, key upstreamKey, row db.GetUpstreamRow, lease uuid.UUID, access, refused seal.Secret) (seal.Secret, error) {
	tokens, token, err := s.refreshed(ctx, p, key, row)
	switch why := endOf(err); {
	case why != "":
		return seal.Secret{}, s.endUpstream(ctx, key, row, lease, why)
	case err != nil:
		s.giveLeaseBack(ctx, key, lease)
		// What there is serves to its end: the person need not wait for Auth.
		if access != refused && s.cfg.Now().Before(row.AccessUntil) {
			return access, nil
		}
		return seal.Secret{}, err
	}
	mark := s.cfg.Watch.Mark(tenants.ScopeUpstream + key.session.UUID().String())
	now := s.cfg.Now()
	var stored int64
	err = s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
		stored, err = q.StoreUpstream(ctx, db.StoreUpstreamParams{
			AccessToken: s.upstreams.seal(key, "access_token", tokens.Access), RefreshToken: s.upstreams.seal(key, "refresh_token", tokens.Refresh),
			AccessUntil: token.Expires, Role: token.Role, Anonymous: token.Anonymous, Now: now,
			OrganizationID: key.organization, ProjectID: key.project, ID: key.session, Version: row.Version, RefreshBy: &lease,
		})
		return err
	})
	switch {
	case err != nil:
		return seal.Secret{}, away(fmt.Errorf("store refreshed session: %w", err))
	case stored == 0:
		return seal.Secret{}, errLostLease
	}
	s.keepWarm(key, tokens.Access, now, token.Expires, mark)
	return tokens.Access, nil
}

func (s *Service) keepWarm(key upstreamKey, token seal.Secret, from, until time.Time, mark tenants.Mark) {
	s.upstreams.warm.Set(key, warmToken{token: token, claims: sync.OnceValues(claimsReader(token)), until: until.Add(-margin(from, until)), mark: mark})
}

// refreshed is what the project gave for the session's refresh token, checked:
// the same person's, and of the same client. Its errors are fault.Unavailable
// where nothing is lost, and else what endOf knows.
func (s *Service) refreshed(ctx context.Context, p *tenants.ProjectRef, key upstreamKey, row db.GetUpstreamRow) (supabase.Tokens, oauth.ProjectToken, error) {
	var none oauth.ProjectToken
	if until, ok := s.upstreams.paused.GetIfPresent(key); ok && s.cfg.Now().Before(until) {
		return supabase.Tokens{}, none, upstreamBusy(nil, until.Sub(s.cfg.Now()))
	}
	refresh, err := s.upstreams.open(key, "refresh_token", row.RefreshToken)
	if err != nil {
		return supabase.Tokens{}, none, err
	}
	tokens, err := s.refreshAt(ctx, p, key.organization, upstreamKind(row.Kind), row.ClientID, refresh)
	if err == nil {
		var token oauth.ProjectToken
		token, err = s.checkUpstream(ctx, p, upstreamKind(row.Kind), row.ClientID, tokens)
		switch {
		case err == nil && (token.Subject != row.Subject || !userRole(token.Role)):
			err = errOtherUser
		case err == nil:
			return tokens, token, nil
		}
	}
	return tokens, none, s.refreshFailed(ctx, key, err)
}

// refreshAt asks the endpoint that the session belongs to.
func (s *Service) refreshAt(ctx context.Context, p *tenants.ProjectRef, org id.Organization, kind upstreamKind, client string, refresh seal.Secret) (supabase.Tokens, error) {
	if kind == upstreamSession {
		return s.cfg.Projects.RefreshSession(ctx, upstreamProject(p), refresh)
	}
	ours, err := s.oauthClient(ctx, p, org)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return supabase.Tokens{}, err
	}
	if err != nil || ours.ID != client {
		return supabase.Tokens{}, errNoClient
	}
	tokens, err := s.cfg.Projects.RefreshOAuth(ctx, upstreamProject(p), ours, refresh)
	if supabase.IsRefusal(err, supabase.ClientGone) {
		if err := s.forgetOAuthClient(ctx, p, org, client); err != nil { // the next sign-in finds out too
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "a client that is gone was not forgotten", slog.String("error", err.Error()))
		}
	}
	return tokens, err
}

// endOf is why the session is over, or "" when it is not.
func endOf(err error) string {
	switch {
	case supabase.IsRefusal(err, supabase.SessionEnded):
		return endedSession
	case supabase.IsRefusal(err, supabase.ClientGone), errors.Is(err, errNoClient):
		return endedClient
	case errors.Is(err, errOtherClient), errors.Is(err, errOtherUser):
		return endedSubject
	}
	return ""
}

// refreshFailed leaves what ends the session as it is, and makes everything
// else a passing failure. Nobody asks again for a moment.
func (s *Service) refreshFailed(ctx context.Context, key upstreamKey, err error) error {
	if endOf(err) != "" {
		return err
	}
	after := refreshAgain
	var refusal *supabase.AuthRefusal
	if errors.As(err, &refusal) && refusal.Kind == supabase.RateLimited {
		after = max(refusal.RetryAfter, rateLimited)
	}
	s.upstreams.paused.Set(key, s.cfg.Now().Add(after))
	s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "a session could not be refreshed, it is kept",
		slog.String("project", key.project.String()), slog.String("upstream", key.session.String()), slog.String("error", err.Error()))
	return upstreamBusy(err, after)
}

// endUpstream notes that a session is over and takes its grants away, unless
// somebody else refreshed it meanwhile.
func (s *Service) endUpstream(ctx context.Context, key upstreamKey, row db.GetUpstreamRow, lease uuid.UUID, why string) error {
	var ended int64
	var grants []db.RevokeGrantsOfUpstreamRow
	err := s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
		now := s.cfg.Now()
		var err error
		ended, err = q.EndUpstreamUnderLease(ctx, db.EndUpstreamUnderLeaseParams{
			Now: &now, Why: why, OrganizationID: key.organization, ProjectID: key.project, ID: key.session, Version: row.Version, RefreshBy: &lease,
		})
		if err != nil || ended == 0 {
			return err
		}
		grants, err = q.RevokeGrantsOfUpstream(ctx, db.RevokeGrantsOfUpstreamParams{
			Now: &now, Why: revokedUpstream, OrganizationID: key.organization, UpstreamSessionID: key.session,
		})
		return err
	})
	switch {
	case err != nil:
		return away(fmt.Errorf("end upstream session: %w", err))
	case ended == 0:
		return errLostLease
	}
	s.upstreams.warm.Invalidate(key)
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "upstream session ended", slog.String("upstream", key.session.String()), slog.String("why", why))
	for _, g := range grants {
		s.ended(ctx, Visitor{}, key.organization, g.SurfaceID, g.ID, g.ClientID, g.ClientName, revokedUpstream)
	}
	return sessionEnded()
}

func (s *Service) giveLeaseBack(ctx context.Context, key upstreamKey, lease uuid.UUID) {
	err := s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
		return q.ReleaseUpstreamLease(ctx, db.ReleaseUpstreamLeaseParams{
			OrganizationID: key.organization, ProjectID: key.project, ID: key.session, RefreshBy: &lease,
		})
	})
	if err != nil { // it ends by itself
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "a refresh lease was not given back", slog.String("error", err.Error()))
	}
}

// ended records that a grant was taken away: for the story of the connection,
// and as the one log line that a restore can be checked against.
func (s *Service) ended(ctx context.Context, v Visitor, org id.Organization, surface id.Surface, grant id.Grant, client, clientName, why string) {
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "access taken away", slog.String("organization", org.String()),
		slog.String("surface", surface.String()), slog.String("grant", grant.String()), slog.String("why", why))
	s.record(v, events.Step{
		Organization: org, Surface: surface, Kind: events.StepEnded, Code: why, Client: client, ClientName: clientName, Grant: grant,
	})
}

// sessionEnded tells that the person must sign in again.
func sessionEnded() *fault.Error {
	return fault.New(fault.Unauthenticated, "session_ended", "Your session at the app has ended. Sign in again from your AI app.")
}

// upstreamBusy is a failure that leaves everything as it was.
func upstreamBusy(cause error, after time.Duration) *fault.Error {
	if after <= 0 {
		after = 5 * time.Second
	}
	return fault.Wrap(cause, fault.Unavailable, "sign_in_unavailable",
		"The app's sign-in cannot renew your session right now. Nothing is lost: try again in a moment.").WithRetryAfter(after)
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
