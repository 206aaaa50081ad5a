package events

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/chumbo-dev/chumbo/internal/db"
)

// retentionBatch is how many rows one statement deletes: few enough that no
// lock is held for long.
const retentionBatch = 5000

// RetentionArgs asks to delete invocations older than the worker's retention.
type RetentionArgs struct{}

// Kind implements river.JobArgs.
func (RetentionArgs) Kind() string { return "invocation_retention" }

// InsertOpts implements river.JobArgsWithInsertOpts: one a day, however many
// workers start.
func (RetentionArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 5, UniqueOpts: river.UniqueOpts{ByPeriod: 24 * time.Hour}}
}

// RetentionWorker deletes old invocations, in batches. Safe to run twice.
type RetentionWorker struct {
	river.WorkerDefaults[RetentionArgs]
	store *db.Store
	keep  time.Duration
	now   func() time.Time
	batch int32
}

// NewRetentionWorker keeps invocations for the given time.
func NewRetentionWorker(store *db.Store, keep time.Duration, now func() time.Time) (*RetentionWorker, error) {
	if store == nil || now == nil || keep <= 0 {
		return nil, fmt.Errorf("retention: a store, a clock and a positive time are needed")
	}
	return &RetentionWorker{store: store, keep: keep, now: now, batch: retentionBatch}, nil
}

// Timeout implements river.Worker: deleting a backlog may take a while.
func (w *RetentionWorker) Timeout(*river.Job[RetentionArgs]) time.Duration { return 30 * time.Minute }

// Work implements river.Worker.
func (w *RetentionWorker) Work(ctx context.Context, _ *river.Job[RetentionArgs]) error {
	before := w.now().Add(-w.keep)
	for {
		var deleted int64
		err := w.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
			var err error
			deleted, err = q.DeleteInvocationsBefore(ctx, db.DeleteInvocationsBeforeParams{Before: before, Batch: w.batch})
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old invocations: %w", err)
		}
		if deleted < int64(w.batch) {
			return nil
		}
	}
}
