package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/chumbo-dev/chumbo/internal/db"
)

const (
	keepWindows = 24 * time.Hour // no window is longer
	sweepEvery  = time.Hour
	sweepBound  = 10 * time.Minute
	sweepBatch  = 1000
)

// Sweep deletes windows that are over for long, and those that lie as far
// ahead: a server whose clock was wrong made them, and they would count against
// everybody until their time comes. It returns how many.
func Sweep(ctx context.Context, store *db.Store, now time.Time) (deleted int64, err error) {
	for {
		var n int64
		err := store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
			var err error
			n, err = q.DeleteRateWindows(ctx, db.DeleteRateWindowsParams{Before: now.Add(-keepWindows), After: now.Add(keepWindows), Batch: sweepBatch})
			return err
		})
		if err != nil {
			return deleted, fmt.Errorf("delete rate windows: %w", err)
		}
		if deleted += n; n < sweepBatch {
			return deleted, nil
		}
	}
}

// SweepArgs asks for one sweep.
type SweepArgs struct{}

// Kind implements river.JobArgs.
func (SweepArgs) Kind() string { return "rate_sweep" }

// InsertOpts implements river.JobArgsWithInsertOpts: one an hour, however many
// workers start.
func (SweepArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 3, UniqueOpts: river.UniqueOpts{ByPeriod: sweepEvery}}
}

// SweepPeriod is how often sweeps begin.
func SweepPeriod() time.Duration { return sweepEvery }

// SweepWorker works SweepArgs.
type SweepWorker struct {
	river.WorkerDefaults[SweepArgs]
	store *db.Store
	now   func() time.Time
}

// NewSweepWorker returns one, or says what is missing.
func NewSweepWorker(store *db.Store, now func() time.Time) (*SweepWorker, error) {
	if store == nil || now == nil {
		return nil, errors.New("rate sweep: a store and a clock are needed")
	}
	return &SweepWorker{store: store, now: now}, nil
}

// Timeout implements river.Worker.
func (w *SweepWorker) Timeout(*river.Job[SweepArgs]) time.Duration { return sweepBound }

// Work implements river.Worker.
func (w *SweepWorker) Work(ctx context.Context, _ *river.Job[SweepArgs]) error {
	_, err := Sweep(ctx, w.store, w.now())
	return err
}
