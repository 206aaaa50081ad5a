package bridge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/maypok86/otter/v2"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	touchEvery = time.Minute     // how exact grants.last_used_at is
	touchBatch = 2 * time.Second // how long uses are gathered before they are written
	touchWait  = 5 * time.Second
)

// touches gathers which grants were used, and writes that in batches: a call
// never waits for it, and nothing is notified.
type touches struct {
	last *otter.Cache[id.Grant, time.Time] // noted

	mu    sync.Mutex
	due   map[id.Organization]map[id.Grant]struct{}
	armed bool
}

func newTouches() (*touches, error) {
	last, err := otter.New(&otter.Options[id.Grant, time.Time]{MaximumSize: standingGrants})
	if err != nil {
		return nil, err
	}
	return &touches{last: last, due: map[id.Organization]map[id.Grant]struct{}{}}, nil
}

// note says that the grant is in use now.
func (t *touches) note(s *Service, org id.Organization, grant id.Grant) {
	now := s.cfg.Now()
	if at, ok := t.last.GetIfPresent(grant); ok && now.Sub(at) < touchEvery {
		return
	}
	t.last.Set(grant, now)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.due[org] == nil {
		t.due[org] = map[id.Grant]struct{}{}
	}
	t.due[org][grant] = struct{}{}
	if !t.armed {
		t.armed = true
		time.AfterFunc(touchBatch, s.writeTouches)
	}
}

// take empties what is gathered.
func (t *touches) take() map[id.Organization]map[id.Grant]struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := t.due
	t.due, t.armed = map[id.Organization]map[id.Grant]struct{}{}, false
	return due
}

// writeTouches writes what is gathered. What cannot be written is forgotten:
// the next use says it again.
func (s *Service) writeTouches() {
	ctx, cancel := context.WithTimeout(context.Background(), touchWait)
	defer cancel()
	now := s.cfg.Now()
	for org, grants := range s.touches.take() {
		ids := make([]uuid.UUID, 0, len(grants))
		for grant := range grants {
			ids = append(ids, grant.UUID())
		}
		err := s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
			return q.TouchGrants(ctx, db.TouchGrantsParams{OrganizationID: org, Now: &now, Ids: ids})
		})
		if err != nil {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "last uses were not written", slog.Int("grants", len(ids)), slog.String("error", err.Error()))
		}
	}
}

// FirstCall notes that a grant was used for a call for the first time, with
// what the client says of itself. It may be called at every call: it asks the
// database once per grant. A failure is logged, not told.
func (s *Service) FirstCall(ctx context.Context, ep *tenants.Endpoint, c *oauth.Caller, clientName, clientVersion string, v Visitor) {
	if c.Grant.IsZero() {
		return
	}
	key := grantKey{ep.Organization, c.Grant}
	if _, noted := s.firstCalls.GetIfPresent(key); noted {
		return
	}
	if known, ok := s.standing.grants.GetIfPresent(key); ok && known.row.FirstCallAt != nil {
		s.firstCalls.Set(key, struct{}{})
		return
	}
	now, first := s.cfg.Now(), false
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), touchWait)
	defer cancel()
	err := s.cfg.Store.AsOrganization(bounded, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		n, err := q.NoteFirstCall(bounded, db.NoteFirstCallParams{OrganizationID: ep.Organization, ID: c.Grant, Now: &now})
		first = n == 1
		return err
	})
	if err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "a first call was not noted", slog.String("grant", c.Grant.String()), slog.String("error", err.Error()))
		return
	}
	s.firstCalls.Set(key, struct{}{})
	if first {
		s.step(ep, v, events.Step{
			Kind: events.StepFirstCall, Client: c.Key.Client, ClientName: cut(clientName, nameLength), ClientVersion: cut(clientVersion, nameLength), Grant: c.Grant,
		})
	}
}

// nameLength bounds what is kept of a name that a client gave itself.
const nameLength = 120

func newFirstCalls() (*otter.Cache[grantKey, struct{}], error) {
	return otter.New(&otter.Options[grantKey, struct{}]{MaximumSize: standingGrants})
}
