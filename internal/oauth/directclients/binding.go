package directclients

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	rememberedClients = 50_000
	databaseWait      = 3 * time.Second
	awayFor           = 500 * time.Millisecond // pause between tries of a database that does not answer
)

// bindings is what a server remembers of whose clients are.
type bindings struct {
	known    *otter.Cache[clientKey, binding]
	settling singleflight.Group
	away     atomic.Int64 // Unix nanoseconds until which the database is not asked again
}

// binding is the surface that a client was first seen at.
type binding struct {
	surface id.Surface
	mark    tenants.Mark
}

func newBindings() (*bindings, error) {
	known, err := otter.New(&otter.Options[clientKey, binding]{MaximumSize: rememberedClients})
	if err != nil {
		return nil, err
	}
	return &bindings{known: known}, nil
}

// errTooMany is that the project has as many clients as are kept.
var errTooMany = errors.New("the project has as many clients as are kept")

// surfaceOf tells whose the client is: from memory while nothing can have
// changed, else from the database, which makes it here's when it is nobody's
// yet. Errors: errTooMany; fault.Unavailable while the database is away and
// memory is too old.
func (s *Service) surfaceOf(ctx context.Context, key clientKey, here id.Surface) (id.Surface, error) {
	known, ok := s.bindings.known.GetIfPresent(key)
	if ok && s.cfg.Watch.Fresh(known.mark) {
		return known.surface, nil
	}
	surface, err := s.settled(ctx, key, here)
	if err != nil && !errors.Is(err, errTooMany) && ok && ctx.Err() == nil && s.cfg.Watch.Usable(known.mark) {
		return known.surface, nil
	}
	return surface, err
}

// settled asks once for all who wait, and not on behalf of one of them. When
// several surfaces of the project wait, one of them is the first.
func (s *Service) settled(ctx context.Context, key clientKey, here id.Surface) (id.Surface, error) {
	name := string(seal.AD(key.organization.String(), key.project.String(), key.client))
	flight := s.bindings.settling.DoChan(name, func() (any, error) {
		b, err := s.settle(ctx, key, here)
		if err != nil {
			return nil, err
		}
		s.bindings.known.Set(key, b)
		return b.surface, nil
	})
	select {
	case <-ctx.Done():
		return id.Surface{}, ctx.Err()
	case r := <-flight:
		if r.Err != nil {
			return id.Surface{}, r.Err
		}
		return r.Val.(id.Surface), nil
	}
}

// settle finds the client's row or makes it. While the database is away most
// callers are told at once.
func (s *Service) settle(ctx context.Context, key clientKey, here id.Surface) (binding, error) {
	if s.cfg.Now().UnixNano() < s.bindings.away.Load() {
		return binding{}, unavailable(errors.New("the database did not answer a moment ago"))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), databaseWait)
	defer cancel()
	b := binding{mark: s.cfg.Watch.Mark(tenants.ScopeClient + key.project.UUID().String())} // before the query whose answer it is about
	err := s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		b.surface, err = s.record(ctx, q, key, here)
		return err
	})
	switch {
	case errors.Is(err, errTooMany):
		return binding{}, err
	case err != nil:
		var answered *pgconn.PgError // such as for a surface that is being deleted
		if !errors.As(err, &answered) {
			s.bindings.away.Store(s.cfg.Now().Add(awayFor).UnixNano())
		}
		return binding{}, unavailable(fmt.Errorf("settle client: %w", err))
	}
	return b, nil
}

// record notes that the client is in use, at here when it is new, and tells
// whose it is. Errors: errTooMany, or the database's.
func (s *Service) record(ctx context.Context, q *db.Queries, key clientKey, here id.Surface) (id.Surface, error) {
	now := s.cfg.Now()
	surface, err := q.TouchDirectClient(ctx, db.TouchDirectClientParams{
		Now: now, OrganizationID: key.organization, ProjectID: key.project, ClientID: key.client,
	})
	if !errors.Is(err, pgx.ErrNoRows) {
		return surface, err
	}
	known, err := q.CountDirectClients(ctx, db.CountDirectClientsParams{OrganizationID: key.organization, ProjectID: key.project, Most: mostClients})
	if err != nil {
		return id.Surface{}, err
	}
	if known >= mostClients {
		return id.Surface{}, errTooMany
	}
	return q.NoteDirectClient(ctx, db.NoteDirectClientParams{
		OrganizationID: key.organization, ProjectID: key.project, ClientID: key.client, SurfaceID: here, Now: now,
	})
}

// unavailable is a failure that leaves the question open: 503, never a reason to
// sign in again.
func unavailable(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, codeUnavailable, "%s", textUnavailable).WithRetryAfter(2 * time.Second)
}
