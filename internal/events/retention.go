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

// keepSteps is how long the story of an attempt to connect is kept, at most.
const keepSteps = 30 * 24 * time.Hour

// RetentionArgs asks to delete invocations and steps of attempts to connect
// that are older than the worker's retention.
type RetentionArgs struct{}

// Kind implements river.JobArgs.
func (RetentionArgs) Kind() string { return "invocation_retention" }

// InsertOpts implements river.JobArgsWithInsertOpts: one a day, however many
// workers start.
func (RetentionArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 5, UniqueOpts: river.UniqueOpts{ByPeriod: 24 * time.Hour}}
}

// RetentionWorker deletes old invocations and steps, in batches. Safe to run
// twice.
type RetentionWorker struct {
	river.WorkerDefaults[RetentionArgs]
	store *db.Store
	keep  time.Duration
	now   func() time.Time
	batch int32
}

// NewRetentionWorker keeps invocations for the given time, and steps as long,
// but no longer than 30 days.
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
	now := w.now()
	err := w.deleteOld(ctx, func(q *db.Queries) (int64, error) {
		return q.DeleteInvocationsBefore(ctx, db.DeleteInvocationsBeforeParams{Before: now.Add(-w.keep), Batch: w.batch})
	})
	if err != nil {
		return fmt.Errorf("delete old invocations: %w", err)
	}
	err = w.deleteOld(ctx, func(q *db.Queries) (int64, error) {
		return q.DeleteConnectionStepsBefore(ctx, db.DeleteConnectionStepsBeforeParams{Before: now.Add(-min(w.keep, keepSteps)), Batch: w.batch})
	})
	if err != nil {
		return fmt.Errorf("delete old connection steps: %w", err)
	}
	return nil
}

// deleteOld runs one batch after the other, until one is not full.
func (w *RetentionWorker) deleteOld(ctx context.Context, batch func(*db.Queries) (int64, error)) error {
	for {
		var deleted int64
		err := w.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
			var err error
			deleted, err = batch(q)
			return err
		})
		if err != nil || deleted < int64(w.batch) {
			return err
		}
	}
}
