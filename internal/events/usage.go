package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Usage is what one surface's invocations since a moment add up to.
type Usage struct {
	Calls   int // of capabilities
	Errors  int // of Calls: the tool or the request failed
	Refused int // of Calls: by access or policy
	Clients int // distinct OAuth clients, those that only listed too
	P50     time.Duration
	P95     time.Duration
	LastAt  time.Time // zero: nothing in that time
}

// Reader reads what Recorders wrote, one organization at a time.
type Reader struct {
	store *db.Store
	span  int // of steps that are joined at once
}

// NewReader returns a Reader.
func NewReader(store *db.Store) (*Reader, error) {
	if store == nil {
		return nil, errors.New("events: a reader needs a store")
	}
	return &Reader{store, maxSteps}, nil
}

// Usage adds up a surface's invocations since a moment. Those of another
// organization's surface are none.
func (r *Reader) Usage(ctx context.Context, org id.Organization, surface id.Surface, since time.Time) (Usage, error) {
	var u Usage
	err := r.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		row, err := q.SumInvocations(ctx, db.SumInvocationsParams{OrganizationID: org, SurfaceID: surface, Since: since})
		if err != nil {
			return fmt.Errorf("sum invocations: %w", err)
		}
		u = Usage{
			Calls: int(row.Calls), Errors: int(row.Errors), Refused: int(row.Refused), Clients: int(row.Clients),
			P50: time.Duration(row.P50Us) * time.Microsecond, P95: time.Duration(row.P95Us) * time.Microsecond,
		}
		if row.LastAt.After(since) {
			u.LastAt = row.LastAt
		}
		return nil
	})
	return u, err
}
