package bridge

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/maypok86/otter/v2"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/lastused"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const touchWait = 5 * time.Second // for the database, to note a first call

// newTouches gathers which grants were used.
func newTouches(cfg Config) (*lastused.Uses[id.Grant], error) {
	write := func(ctx context.Context, org id.Organization, used []id.Grant, now time.Time) error {
		ids := make([]uuid.UUID, 0, len(used))
		for _, grant := range used {
			ids = append(ids, grant.UUID())
		}
		return cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
			return q.TouchGrants(ctx, db.TouchGrantsParams{OrganizationID: org, Now: &now, Ids: ids})
		})
	}
	return lastused.New(lastused.Config[id.Grant]{What: "grants", Most: standingGrants, Write: write, Logger: cfg.Logger, Now: cfg.Now})
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
