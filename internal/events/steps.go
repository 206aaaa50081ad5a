package events

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
)

const (
	maxAgent  = 120 // of a User-Agent
	maxClient = 500 // of a client id: that of a metadata document is its URL
)

// Steps writes the steps of attempts to connect in batches, in the background.
// What does not fit its queue is dropped and counted: nobody's sign-in waits
// for its story. Safe for concurrent use.
type Steps struct{ queue *queue[Step] }

// NewSteps starts Steps over the store. Close ends them.
func NewSteps(store *db.Store, logger *slog.Logger) *Steps {
	write := func(ctx context.Context, batch []Step) error { return insertSteps(ctx, store, batch) }
	return &Steps{newQueue("connection steps", write, logger, queueSize)}
}

// Record queues a step. It never blocks; after Close, and when the queue is
// full, the step is dropped and counted.
func (s *Steps) Record(step Step) { s.queue.put(step) }

// Dropped is how many steps were never written.
func (s *Steps) Dropped() int64 { return s.queue.dropped.Load() }

// Close writes what is queued and ends the Steps, or returns ctx's error when
// that takes too long.
func (s *Steps) Close(ctx context.Context) error { return s.queue.close(ctx) }

// insertSteps writes a batch in one statement.
func insertSteps(ctx context.Context, store *db.Store, batch []Step) error {
	var p db.InsertConnectionStepsParams
	for _, s := range batch {
		if s.Organization.IsZero() || s.Surface.IsZero() {
			continue // belongs to nobody
		}
		outcome := outcomeOK
		if s.Failed {
			outcome = outcomeFailed
		}
		p.OrganizationID = append(p.OrganizationID, s.Organization.UUID())
		p.ID = append(p.ID, id.New[id.StepKind]().UUID())
		p.At = append(p.At, s.At)
		p.SurfaceID = append(p.SurfaceID, s.Surface.UUID())
		p.Step = append(p.Step, string(s.Kind))
		p.Outcome = append(p.Outcome, outcome)
		p.Code = append(p.Code, clean(s.Code))
		p.Address = append(p.Address, addressBytes(s.Address))
		p.ClientID = append(p.ClientID, cleanTo(s.Client, maxClient))
		p.ClientName = append(p.ClientName, clean(s.ClientName))
		p.ClientVersion = append(p.ClientVersion, clean(s.ClientVersion))
		p.Agent = append(p.Agent, cleanTo(s.Agent, maxAgent))
		p.SignInID = append(p.SignInID, s.SignIn.UUID())
		p.GrantID = append(p.GrantID, s.Grant.UUID())
		p.RequestID = append(p.RequestID, clean(s.RequestID))
	}
	if len(p.ID) == 0 {
		return nil
	}
	err := store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error { return q.InsertConnectionSteps(ctx, p) })
	if err != nil {
		return fmt.Errorf("insert connection steps: %w", err)
	}
	return nil
}

// The outcomes of a step, as stored.
const (
	outcomeOK     = "ok"
	outcomeFailed = "failed"
)

// addressBytes is a keyed hash as stored: nothing where there is none.
func addressBytes(hash [32]byte) []byte {
	if hash == ([32]byte{}) {
		return []byte{}
	}
	return hash[:]
}

// stepOf reads a stored step of a surface back.
func stepOf(row db.ListConnectionStepsRow) StoredStep {
	s := StoredStep{ID: row.ID, Step: Step{
		At: row.At, Kind: StepKind(row.Step), Failed: row.Outcome == outcomeFailed, Code: row.Code,
		Client: row.ClientID, ClientName: row.ClientName, ClientVersion: row.ClientVersion, Agent: row.Agent, RequestID: row.RequestID,
	}}
	copy(s.Address[:], row.Address)
	if row.SignInID != nil {
		s.SignIn = *row.SignInID
	}
	if row.GrantID != nil {
		s.Grant = *row.GrantID
	}
	return s
}
