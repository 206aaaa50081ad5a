package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	riverConns  = 5                // of River's own pool: handlers cannot starve it
	maxJobs     = 10               // running at once in one worker
	stopGrace   = 20 * time.Second // for running jobs when the worker ends
	retainEvery = 24 * time.Hour
)

// WorkerConfig is what a Worker needs.
type WorkerConfig struct {
	Store               *db.Store   // for the jobs themselves
	RiverDSN            seal.Secret // chumbo_river's, for fetching jobs; not a transaction pooler
	Logger              *slog.Logger
	InvocationRetention time.Duration    // how long invocations are kept
	Now                 func() time.Time // nil for the machine's clock
	Tenants             *tenants.Service // whose proofs of ownership are repeated
	Prover              tenants.Prover   // asks the projects for them
	Bridge              *bridge.Service  // cleans up after itself here, and rotates its signing keys
}

// Worker runs River's jobs. Every process that can become River's leader is
// one of these and knows every kind of job, so no leader discards a job as
// unknown.
type Worker struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
}

// NewWorker connects River's pool and registers every kind of job. Run starts
// it, and closes the pool when it ends.
func NewWorker(ctx context.Context, c WorkerConfig) (*Worker, error) {
	if c.Store == nil || c.Logger == nil {
		return nil, errors.New("worker: Store and Logger are needed")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	workers := river.NewWorkers()
	retention, err := events.NewRetentionWorker(c.Store, c.InvocationRetention, c.Now)
	if err != nil {
		return nil, err
	}
	if err := river.AddWorkerSafely(workers, retention); err != nil {
		return nil, fmt.Errorf("register retention: %w", err)
	}
	recheck, err := tenants.NewRecheckWorker(c.Tenants, c.Prover, c.Logger)
	if err != nil {
		return nil, err
	}
	if err := river.AddWorkerSafely(workers, recheck); err != nil {
		return nil, fmt.Errorf("register re-check: %w", err)
	}
	sweep, err := bridge.NewSweepWorker(c.Bridge)
	if err != nil {
		return nil, err
	}
	if err := river.AddWorkerSafely(workers, sweep); err != nil {
		return nil, fmt.Errorf("register sweep: %w", err)
	}
	rates, err := ratelimit.NewSweepWorker(c.Store, c.Now)
	if err != nil {
		return nil, err
	}
	if err := river.AddWorkerSafely(workers, rates); err != nil {
		return nil, fmt.Errorf("register rate sweep: %w", err)
	}
	if err := db.CheckPooler(ctx, c.RiverDSN.Reveal()); err != nil {
		return nil, fmt.Errorf("check River's database URL: %w", err)
	}
	pool, err := db.OpenSized(ctx, c.RiverDSN.Reveal(), riverConns)
	if err != nil {
		return nil, fmt.Errorf("open River's pool: %w", err)
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema:              db.RiverSchema,
		Logger:              c.Logger,
		Queues:              map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxJobs}},
		Workers:             workers,
		PeriodicJobs:        periodicJobs(),
		ReindexerIndexNames: []string{}, // River's role owns no table, so it cannot reindex
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("make River's client: %w", err)
	}
	return &Worker{pool: pool, client: client}, nil
}

func periodicJobs() []*river.PeriodicJob {
	return []*river.PeriodicJob{
		river.NewPeriodicJob(river.PeriodicInterval(retainEvery),
			func() (river.JobArgs, *river.InsertOpts) { return events.RetentionArgs{}, nil },
			&river.PeriodicJobOpts{ID: events.RetentionArgs{}.Kind(), RunOnStart: true}),
		river.NewPeriodicJob(river.PeriodicInterval(tenants.RecheckPeriod()),
			func() (river.JobArgs, *river.InsertOpts) { return tenants.RecheckArgs{}, nil },
			&river.PeriodicJobOpts{ID: tenants.RecheckArgs{}.Kind(), RunOnStart: true}),
		river.NewPeriodicJob(river.PeriodicInterval(bridge.SweepPeriod()),
			func() (river.JobArgs, *river.InsertOpts) { return bridge.SweepArgs{}, nil },
			&river.PeriodicJobOpts{ID: bridge.SweepArgs{}.Kind(), RunOnStart: true}),
		river.NewPeriodicJob(river.PeriodicInterval(ratelimit.SweepPeriod()),
			func() (river.JobArgs, *river.InsertOpts) { return ratelimit.SweepArgs{}, nil },
			&river.PeriodicJobOpts{ID: ratelimit.SweepArgs{}.Kind(), RunOnStart: true}),
	}
}

// Run works until ctx ends, then lets running jobs finish for a while. It
// returns nil after an orderly end.
func (w *Worker) Run(ctx context.Context) error {
	defer w.pool.Close()
	if err := w.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start River: %w", err)
	}
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := w.client.Stop(stopping); err == nil {
		return nil
	}
	cancelling, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := w.client.StopAndCancel(cancelling); err != nil {
		return fmt.Errorf("stop River: %w", err)
	}
	return nil
}

// Inserter is River as the server sees it: jobs can be inserted inside a
// transaction of ours, and nothing else. It holds no connection, fetches
// nothing and is never elected.
type Inserter struct{ client *river.Client[pgx.Tx] }

// NewInserter returns an Inserter.
func NewInserter(logger *slog.Logger) (*Inserter, error) {
	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Schema: db.RiverSchema, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("make River's inserting client: %w", err)
	}
	return &Inserter{client: client}, nil
}

// Insert enqueues a job as part of tx, a transaction of Store.AsOrganization
// or AsSystem. It is for jobs without unique options: River's insert for those
// rewrites the row that is there, and our roles may only add rows. A second
// job of the same unique key fails, and the transaction with it.
func (i *Inserter) Insert(ctx context.Context, tx pgx.Tx, args river.JobArgs) error {
	if _, err := i.client.InsertManyFastTx(ctx, tx, []river.InsertManyParams{{Args: args}}); err != nil {
		return fmt.Errorf("insert job %s: %w", args.Kind(), err)
	}
	return nil
}
