package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// How long things are kept, and how the worker goes about it.
const (
	keepSignIns   = 24 * time.Hour      // after they ran out: a replayed code is known so long
	keepLimits    = time.Hour           // no window of limits.go is longer
	keepApprovals = time.Hour           // after they ran out: their page says so for a while
	keepClients   = 7 * 24 * time.Hour  // unused, without a live grant
	keepChains    = 30 * 24 * time.Hour // after they ended
	keepUpstreams = 90 * 24 * time.Hour // after they ended, unless a grant names them
	unneededFor   = time.Hour           // before a session that nothing refers to is signed out
	sweepEvery    = time.Hour
	sweepBound    = 30 * time.Minute
	sweepBatch    = 1000
	signOutBatch  = 100
	signOutAtOnce = 8
)

// Swept is what one sweep did.
type Swept struct {
	Deleted   int64 // rows
	Expired   int64 // grants whose time was over
	SignedOut int64 // sessions at projects that nothing needed any more
}

// Sweep cleans up after everybody: it deletes what no longer counts, ends
// grants whose time is over, signs out at projects where nothing needs the
// session, and lets signing keys take turns. Any number may run at once.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	var done Swept
	errs := []error{s.RotateKeys(ctx), s.expireGrants(ctx, &done), s.endUnneededUpstreams(ctx, &done), s.deleteOld(ctx, &done)}
	return done, errors.Join(errs...)
}

// deleteOld deletes rows in batches, so that no lock is held for long.
func (s *Service) deleteOld(ctx context.Context, done *Swept) error {
	now := s.cfg.Now()
	before := func(keep time.Duration) *time.Time { at := now.Add(-keep); return &at }
	for _, old := range []struct {
		what   string
		delete func(q *db.Queries) (int64, error)
	}{
		{"sign-ins", func(q *db.Queries) (int64, error) {
			return q.DeleteOldSignIns(ctx, db.DeleteOldSignInsParams{Before: *before(keepSignIns), Batch: sweepBatch})
		}},
		{"visits", func(q *db.Queries) (int64, error) {
			return q.DeleteOldVisits(ctx, db.DeleteOldVisitsParams{Before: *before(keepSignIns), Batch: sweepBatch})
		}},
		{"limits", func(q *db.Queries) (int64, error) {
			return q.DeleteOldLimits(ctx, db.DeleteOldLimitsParams{Before: *before(keepLimits), Batch: sweepBatch})
		}},
		{"used states", func(q *db.Queries) (int64, error) {
			return q.DeleteExpiredStates(ctx, db.DeleteExpiredStatesParams{Now: now, Room: sweepBatch})
		}},
		{"approvals", func(q *db.Queries) (int64, error) {
			return q.DeleteOldApprovals(ctx, db.DeleteOldApprovalsParams{Before: *before(keepApprovals), Batch: sweepBatch})
		}},
		{"clients", func(q *db.Queries) (int64, error) {
			return q.DeleteUnusedOAuthClients(ctx, db.DeleteUnusedOAuthClientsParams{Before: *before(keepClients), Now: now, Room: sweepBatch})
		}},
		{"chains", func(q *db.Queries) (int64, error) {
			return q.DeleteOldChains(ctx, db.DeleteOldChainsParams{Before: before(keepChains), Batch: sweepBatch})
		}},
		{"upstream sessions", func(q *db.Queries) (int64, error) {
			return q.DeleteOldUpstreams(ctx, db.DeleteOldUpstreamsParams{Before: before(keepUpstreams), Batch: sweepBatch})
		}},
	} {
		for {
			var n int64
			err := s.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
				var err error
				n, err = old.delete(q)
				return err
			})
			if err != nil {
				return fmt.Errorf("delete old %s: %w", old.what, err)
			}
			if done.Deleted += n; n < sweepBatch {
				break
			}
		}
	}
	return nil
}

// expireGrants makes tombstones of grants whose time is over.
func (s *Service) expireGrants(ctx context.Context, done *Swept) error {
	for {
		var rows []db.ListExpiredGrantsRow
		err := s.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
			var err error
			rows, err = q.ListExpiredGrants(ctx, db.ListExpiredGrantsParams{Before: s.cfg.Now(), Batch: signOutBatch})
			return err
		})
		if err != nil {
			return fmt.Errorf("list expired grants: %w", err)
		}
		err = each(ctx, rows, func(ctx context.Context, row db.ListExpiredGrantsRow) error {
			return s.revokeIn(ctx, row.OrganizationID, Visitor{}, row.ID, revokedExpired, nil)
		})
		if err != nil {
			return fmt.Errorf("end expired grant: %w", err)
		}
		if done.Expired += int64(len(rows)); len(rows) < signOutBatch {
			return nil
		}
	}
}

// endUnneededUpstreams signs out where a sign-in was never finished, for one.
// A project that does not answer is logged: the session is ended here.
func (s *Service) endUnneededUpstreams(ctx context.Context, done *Swept) error {
	var after id.Upstream
	for {
		var rows []db.ListUnneededUpstreamsRow
		err := s.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
			var err error
			rows, err = q.ListUnneededUpstreams(ctx, db.ListUnneededUpstreamsParams{
				Before: s.cfg.Now().Add(-unneededFor), Now: s.cfg.Now(), After: after, Batch: signOutBatch,
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("list unneeded upstream sessions: %w", err)
		}
		var ended atomic.Int64
		err = each(ctx, rows, func(ctx context.Context, row db.ListUnneededUpstreamsRow) error {
			var project *tenants.ProjectRef
			err := s.cfg.Store.AsOrganization(ctx, row.OrganizationID, func(q *db.Queries, _ pgx.Tx) error {
				var err error
				project, err = projectRef(ctx, q, row.OrganizationID, row.ProjectID)
				return err
			})
			if err != nil {
				return err
			}
			ended.Add(1)
			ctx, cancel := context.WithTimeout(ctx, releaseBound)
			defer cancel()
			if err := s.endUnneeded(ctx, project, keyOfUpstream(project, row.OrganizationID, row.ID), endedUnused); err != nil {
				s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "an unused session was not signed out",
					slog.String("upstream", row.ID.String()), slog.String("error", err.Error()))
			}
			return nil
		})
		if done.SignedOut += ended.Load(); err != nil {
			return fmt.Errorf("end unneeded upstream session: %w", err)
		}
		if len(rows) < signOutBatch {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}

// each runs fn for every row, some at once.
func each[T any](ctx context.Context, rows []T, fn func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(signOutAtOnce)
	for _, row := range rows {
		group.Go(func() error { return fn(ctx, row) })
	}
	return group.Wait()
}

// SweepArgs asks for one sweep.
type SweepArgs struct{}

// Kind implements river.JobArgs.
func (SweepArgs) Kind() string { return "bridge_sweep" }

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
	service *Service
}

// NewSweepWorker returns one, or says what is missing.
func NewSweepWorker(s *Service) (*SweepWorker, error) {
	if s == nil {
		return nil, errors.New("bridge sweep: a service is needed")
	}
	return &SweepWorker{service: s}, nil
}

// Timeout implements river.Worker.
func (w *SweepWorker) Timeout(*river.Job[SweepArgs]) time.Duration { return sweepBound }

// Work implements river.Worker.
func (w *SweepWorker) Work(ctx context.Context, _ *river.Job[SweepArgs]) error {
	done, err := w.service.Sweep(ctx)
	if done != (Swept{}) {
		w.service.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "bridge swept", slog.Int64("deleted", done.Deleted),
			slog.Int64("expired", done.Expired), slog.Int64("signed_out", done.SignedOut))
	}
	return err
}
