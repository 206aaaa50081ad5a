package bridge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	standingGrants = 50_000                 // remembered
	standingWait   = 3 * time.Second        // for the database
	standingAway   = 500 * time.Millisecond // pause between tries of a database that does not answer
	unknownFor     = 10 * time.Second       // how long an unknown personal token is remembered
	unknownTokens  = 16_384
)

// standing is what a server remembers of grants: how each one stands, for as
// long as that is known to be right.
type standing struct {
	grants   *otter.Cache[grantKey, *grantState]
	personal *otter.Cache[personalKey, id.Grant]  // which grant a personal token is
	unknown  *otter.Cache[personalKey, time.Time] // tokens that are none, until then
	loading  singleflight.Group
	away     atomic.Int64 // Unix nanoseconds until which the database is not asked again
}

type grantKey struct {
	organization id.Organization
	grant        id.Grant
}

// personalKey is a personal token as presented at a surface, without the
// token.
type personalKey struct {
	organization id.Organization
	surface      id.Surface
	hash         [sha256.Size]byte
}

// grantState is how a grant stands. Immutable once stored.
type grantState struct {
	row  db.GetGrantStateRow
	mark tenants.Mark
}

func newStanding() (*standing, error) {
	grants, err := otter.New(&otter.Options[grantKey, *grantState]{MaximumSize: standingGrants})
	if err != nil {
		return nil, err
	}
	personal, err := otter.New(&otter.Options[personalKey, id.Grant]{MaximumSize: standingGrants})
	if err != nil {
		return nil, err
	}
	unknown, err := otter.New(&otter.Options[personalKey, time.Time]{MaximumSize: unknownTokens})
	if err != nil {
		return nil, err
	}
	return &standing{grants: grants, personal: personal, unknown: unknown}, nil
}

// errNoGrant is that a grant or personal token is not there.
var errNoGrant = errors.New("no such grant")

// standingOf tells how a grant stands: from memory while nothing can have
// changed, else from the database. newer asks for more than what memory had
// so far. Errors: errNoGrant; fault.Unavailable while the database is away
// and memory is too old.
func (s *Service) standingOf(ctx context.Context, key grantKey, newer *grantState) (*grantState, error) {
	known, ok := s.standing.grants.GetIfPresent(key)
	if ok && known != newer && s.cfg.Watch.Fresh(known.mark) {
		return known, nil
	}
	state, err := s.loadStanding(ctx, key)
	if err != nil && !errors.Is(err, errNoGrant) {
		if ok && ctx.Err() == nil && s.cfg.Watch.Usable(known.mark) {
			return known, nil
		}
		return nil, err
	}
	return state, err
}

// loadStanding asks once for all who wait, and not on behalf of one of them.
func (s *Service) loadStanding(ctx context.Context, key grantKey) (*grantState, error) {
	name := string(seal.AD(key.organization.String(), key.grant.String()))
	flight := s.standing.loading.DoChan(name, func() (any, error) {
		var state grantState
		err := s.askDatabase(ctx, func(ctx context.Context, q *db.Queries) error {
			upstream, err := q.GetGrantUpstream(ctx, db.GetGrantUpstreamParams{OrganizationID: key.organization, ID: key.grant})
			if err != nil {
				return err
			}
			// Before the query whose answer it is about.
			state.mark = s.cfg.Watch.Mark(tenants.ScopeGrant+key.grant.UUID().String(), tenants.ScopeUpstream+upstream.UUID().String())
			state.row, err = q.GetGrantState(ctx, db.GetGrantStateParams{
				OrganizationID: key.organization, ID: key.grant, Since: s.cfg.Now().Add(-accessLifetime - 2*clockSkew),
			})
			if err == nil && state.row.UpstreamSessionID != upstream {
				err = errors.New("the session of the grant changed meanwhile")
			}
			return err
		}, key.organization)
		if err != nil {
			return nil, err
		}
		s.standing.grants.Set(key, &state)
		return &state, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-flight:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*grantState), nil
	}
}

// databaseAway reports whether the database did not answer a moment ago.
func (s *Service) databaseAway() bool { return s.cfg.Now().UnixNano() < s.standing.away.Load() }

// askDatabase runs one quick reading. While the database is away most callers
// are told at once. No row is errNoGrant.
func (s *Service) askDatabase(ctx context.Context, fn func(ctx context.Context, q *db.Queries) error, org id.Organization) error {
	if s.databaseAway() {
		return away(errors.New("the database did not answer a moment ago"))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), standingWait)
	defer cancel()
	err := s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error { return fn(ctx, q) })
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return errNoGrant
	case err != nil:
		s.standing.away.Store(s.cfg.Now().Add(standingAway).UnixNano())
		return away(fmt.Errorf("load grant: %w", err))
	}
	return nil
}

// personalGrant tells which grant of the surface a personal token is, or
// errNoGrant. That never changes; how the grant stands is standingOf's.
func (s *Service) personalGrant(ctx context.Context, key personalKey) (id.Grant, error) {
	if grant, ok := s.standing.personal.GetIfPresent(key); ok {
		return grant, nil
	}
	if until, ok := s.standing.unknown.GetIfPresent(key); ok && s.cfg.Now().Before(until) {
		return id.Grant{}, errNoGrant
	}
	var grant id.Grant
	err := s.askDatabase(ctx, func(ctx context.Context, q *db.Queries) error {
		var err error
		grant, err = q.FindPersonalGrant(ctx, db.FindPersonalGrantParams{
			OrganizationID: key.organization, SurfaceID: key.surface, TokenHash: key.hash[:],
		})
		return err
	}, key.organization)
	switch {
	case errors.Is(err, errNoGrant):
		s.standing.unknown.Set(key, s.cfg.Now().Add(unknownFor))
		return id.Grant{}, err
	case err != nil:
		return id.Grant{}, err
	}
	s.standing.personal.Set(key, grant)
	return grant, nil
}
