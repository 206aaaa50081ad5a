package apikeys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	rememberedKeys = 20_000
	unknownKeys    = 16_384
	unknownFor     = 2 * time.Second // how long "no such key" is remembered: a new one is not notified
	databaseWait   = 3 * time.Second
	awayFor        = 500 * time.Millisecond // pause between tries of a database that does not answer
)

// standing is what a server remembers of keys made here: how each one stands,
// for as long as that is known to be right.
type standing struct {
	keys    *otter.Cache[madeKey, *keyState]
	unknown *otter.Cache[madeKey, time.Time] // none of the surface's, until then
	loading singleflight.Group
	away    atomic.Int64 // Unix nanoseconds until which the database is not asked again
}

// madeKey is a key as presented at a surface, without the key.
type madeKey struct {
	organization id.Organization
	surface      id.Surface
	hash         [sha256.Size]byte
}

func (k madeKey) flight() string {
	return string(seal.AD(k.organization.String(), k.surface.String(), hex.EncodeToString(k.hash[:])))
}

// keyState is how a key stands. Immutable once stored.
type keyState struct {
	row  db.GetAPIKeyByHashRow
	mark tenants.Mark
}

func newStanding() (*standing, error) {
	keys, err := otter.New(&otter.Options[madeKey, *keyState]{MaximumSize: rememberedKeys})
	if err != nil {
		return nil, err
	}
	unknown, err := otter.New(&otter.Options[madeKey, time.Time]{MaximumSize: unknownKeys})
	if err != nil {
		return nil, err
	}
	return &standing{keys: keys, unknown: unknown}, nil
}

// errNoKey is that the surface has no such key.
var errNoKey = errors.New("no such key")

// standingOf tells how a key stands: from memory while nothing can have
// changed, else from the database. Errors: errNoKey; fault.Unavailable while
// the database is away and memory is too old.
func (s *Service) standingOf(ctx context.Context, key madeKey) (*keyState, error) {
	known, ok := s.standing.keys.GetIfPresent(key)
	if ok && s.cfg.Watch.Fresh(known.mark) {
		return known, nil
	}
	if until, gone := s.standing.unknown.GetIfPresent(key); !ok && gone && s.cfg.Now().Before(until) {
		return nil, errNoKey
	}
	state, err := s.loadStanding(ctx, key)
	if err != nil && !errors.Is(err, errNoKey) {
		if ok && ctx.Err() == nil && s.cfg.Watch.Usable(known.mark) {
			return known, nil
		}
		return nil, err
	}
	return state, err
}

// loadStanding asks once for all who wait, and not on behalf of one of them.
func (s *Service) loadStanding(ctx context.Context, key madeKey) (*keyState, error) {
	flight := s.standing.loading.DoChan(key.flight(), func() (any, error) {
		state, err := s.askDatabase(ctx, key)
		switch {
		case errors.Is(err, errNoKey):
			s.standing.keys.Invalidate(key) // gone with its surface
			s.standing.unknown.Set(key, s.cfg.Now().Add(unknownFor))
			return nil, err
		case err != nil:
			return nil, err
		}
		s.standing.keys.Set(key, state)
		return state, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-flight:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*keyState), nil
	}
}

// askDatabase reads how a key stands. While the database is away most callers
// are told at once.
func (s *Service) askDatabase(ctx context.Context, key madeKey) (*keyState, error) {
	if s.cfg.Now().UnixNano() < s.standing.away.Load() {
		return nil, away(errors.New("the database did not answer a moment ago"))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), databaseWait)
	defer cancel()
	state := new(keyState)
	err := s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
		which := db.GetAPIKeyByHashParams{OrganizationID: key.organization, SurfaceID: key.surface, KeyHash: key.hash[:]}
		var marked id.Key
		if known, ok := s.standing.keys.GetIfPresent(key); ok {
			marked = known.row.ID
		}
		for {
			// The mark comes before the query whose answer it is about. Which key
			// a hash is never changes, so that one more query tells the first time.
			state.mark = s.cfg.Watch.Mark(tenants.ScopeKey + marked.UUID().String())
			var err error
			if state.row, err = q.GetAPIKeyByHash(ctx, which); err != nil || state.row.ID == marked {
				return err
			}
			marked = state.row.ID
		}
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, errNoKey
	case err != nil:
		s.standing.away.Store(s.cfg.Now().Add(awayFor).UnixNano())
		return nil, away(fmt.Errorf("load key: %w", err))
	}
	state.row.Scopes = slices.Clip(state.row.Scopes) // shared: who appends gets a copy
	return state, nil
}

func away(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, "database_away", "The key cannot be checked right now. Try again shortly.").WithRetryAfter(2 * time.Second)
}
