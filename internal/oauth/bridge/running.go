package bridge

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// runningWait bounds one look at how the grants of calls under way stand.
const runningWait = 5 * time.Second

// running are the calls under way, by their grants.
type running struct {
	mu    sync.Mutex
	calls map[id.Grant]map[*call]struct{}
}

// call is one of them.
type call struct {
	cancel  func()
	revoked atomic.Bool
}

// Running registers a call under way of an organization's grant. cancel is
// called when the grant is taken away, or was since the call was admitted; the
// returned func ends the registration and reports whether it was.
func (s *Service) Running(org id.Organization, grant id.Grant, cancel func()) (done func() (revoked bool)) {
	c := &call{cancel: cancel}
	r := s.running
	r.mu.Lock()
	if r.calls[grant] == nil {
		r.calls[grant] = map[*call]struct{}{}
	}
	r.calls[grant][c] = struct{}{}
	r.mu.Unlock()
	// What was heard before we listened. While the database is away nobody is
	// asked: hearing begins anew when it is back.
	if !s.stillStands(grantKey{org, grant}) && !s.databaseAway() {
		go s.endRevoked([]uuid.UUID{grant.UUID()})
	}
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls[grant], c)
		if len(r.calls[grant]) == 0 {
			delete(r.calls, grant)
		}
		return c.revoked.Load()
	}
}

// stillStands reports whether memory is known to be right that a grant stands.
func (s *Service) stillStands(key grantKey) bool {
	known, ok := s.standing.grants.GetIfPresent(key)
	return ok && known.row.RevokedAt == nil && known.row.UpstreamEndedAt == nil && s.cfg.Watch.Fresh(known.mark)
}

// heard is called, on the listening connection's goroutine, when something of
// a grant changed; with "" when anything may have.
func (r *running) heard(s *Service, scope string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var grants []uuid.UUID
	if scope == "" {
		for grant := range r.calls {
			grants = append(grants, grant.UUID())
		}
	} else if key, err := uuid.Parse(strings.TrimPrefix(scope, tenants.ScopeGrant)); err == nil && len(r.calls[id.Grant(key)]) > 0 {
		grants = append(grants, key)
	}
	if len(grants) > 0 {
		go s.endRevoked(grants)
	}
}

// endRevoked cancels the calls of those grants that do not stand. While the
// database is away they go on: hearing begins anew when it is back.
func (s *Service) endRevoked(grants []uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.Background(), runningWait)
	defer cancel()
	var stand []id.Grant
	err := s.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		stand, err = q.StandingGrants(ctx, db.StandingGrantsParams{Ids: grants, Now: s.cfg.Now()})
		return err
	})
	if err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "calls under way were not checked", slog.Int("grants", len(grants)), slog.String("error", err.Error()))
		return
	}
	gone := map[id.Grant]bool{}
	for _, grant := range grants {
		gone[id.Grant(grant)] = true
	}
	for _, grant := range stand {
		delete(gone, grant)
	}
	s.running.end(gone)
}

func (r *running) end(gone map[id.Grant]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for grant := range gone {
		for c := range r.calls[grant] {
			if !c.revoked.Swap(true) {
				go c.cancel()
			}
		}
	}
}
