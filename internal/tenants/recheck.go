package tenants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

const (
	recheckEvery   = 24 * time.Hour
	recheckRounds  = time.Hour        // between rounds
	recheckLease   = 45 * time.Minute // a claimed proof is due again then, unless it was seen or missed: before the next round, after the end of this one
	recheckBound   = 30 * time.Minute // of one round
	recheckBatch   = 50               // proofs claimed at once
	recheckAtOnce  = 8                // projects asked at once
	recheckTimeout = 15 * time.Second // for one project
)

// Recheck is what one round of re-checks did.
type Recheck struct {
	Checked int // projects that answered
	Missed  int // of these, without the proof
	Paused  int // of these, for the third time in a row: signing in through the bridge is paused
}

// RecheckOwnership repeats every proof by function whose last check is a day
// old, for the worker. A miss warns the organization; MissesToPause of them
// pause signing in; a project that cannot be reached is not a miss but is
// tried again the next round. Two workers never check the same proof at once.
func (s *Service) RecheckOwnership(ctx context.Context, prover Prover) (Recheck, error) {
	round := &recheckRound{Service: s, prover: prover}
	for {
		batch, err := s.claimDueProofs(ctx)
		if err != nil {
			return round.done, errors.Join(err, errors.Join(round.errs...))
		}
		round.check(ctx, batch)
		if len(batch) < recheckBatch || ctx.Err() != nil {
			return round.done, errors.Join(append(round.errs, ctx.Err())...)
		}
	}
}

func (s *Service) claimDueProofs(ctx context.Context) ([]db.ClaimDueProofsRow, error) {
	now := s.now()
	var batch []db.ClaimDueProofsRow
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		batch, err = q.ClaimDueProofs(ctx, db.ClaimDueProofsParams{Now: &now, Lease: now.Add(recheckLease), Batch: recheckBatch})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim due proofs: %w", err)
	}
	return batch, nil
}

// recheckRound is one round under way.
type recheckRound struct {
	*Service
	prover Prover

	mu   sync.Mutex
	done Recheck
	errs []error
}

func (r *recheckRound) check(ctx context.Context, batch []db.ClaimDueProofsRow) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, recheckAtOnce)
	for _, row := range batch {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r.one(ctx, row)
		})
	}
	wg.Wait()
}

// one repeats one proof and notes what came of it.
func (r *recheckRound) one(ctx context.Context, row db.ClaimDueProofsRow) {
	asking, cancel := context.WithTimeout(ctx, recheckTimeout)
	got, err := r.prover.OwnershipToken(asking, supabase.Project{ID: row.ID, APIOrigin: row.APIOrigin, PublishableKey: row.PublishableKey})
	cancel()
	if err == nil && !tokenMatches(got, row.OwnershipToken) {
		err = errOtherToken()
	}
	if err != nil && !isMiss(err) || ctx.Err() != nil {
		return // due again when the lease ends
	}
	misses, noted := 0, false
	err = r.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) (failed error) {
		if err == nil {
			noted, failed = r.noteSeen(ctx, q, row)
			return failed
		}
		misses, failed = r.noteMissed(ctx, q, row, missText(err))
		noted = misses > 0
		return failed
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.errs = append(r.errs, fmt.Errorf("re-check %s: %w", row.ID, err))
	case noted:
		r.done.Checked++
		if misses > 0 {
			r.done.Missed++
		}
		if misses == MissesToPause {
			r.done.Paused++
		}
	}
}

func (s *Service) noteSeen(ctx context.Context, q *db.Queries, row db.ClaimDueProofsRow) (bool, error) {
	now, due := s.now(), s.now().Add(recheckEvery)
	n, err := q.NoteProofSeen(ctx, db.NoteProofSeenParams{
		OrganizationID: row.OrganizationID, ID: row.ID, APIOrigin: row.APIOrigin, ProvenAt: row.VerifiedAt, Now: &now, DueAt: &due,
	})
	if err != nil {
		return false, fmt.Errorf("note proof: %w", err)
	}
	return n == 1, nil
}

// noteMissed counts a miss and tells the organization of the first and of the
// one that pauses sign-in. It returns 0 when the project was proven anew,
// moved or deleted meanwhile.
func (s *Service) noteMissed(ctx context.Context, q *db.Queries, row db.ClaimDueProofsRow, saw string) (int, error) {
	now, due := s.now(), s.now().Add(recheckEvery)
	misses, err := q.NoteProofMissed(ctx, db.NoteProofMissedParams{
		OrganizationID: row.OrganizationID, ID: row.ID, APIOrigin: row.APIOrigin, ProvenAt: row.VerifiedAt, Now: &now, DueAt: &due,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("note missed proof: %w", err)
	}
	switch misses {
	case 1:
		err = s.tell(ctx, q, row.OrganizationID, row.ID, noticeMissed, fmt.Sprintf(
			"The daily check did not find the proof that project %q is yours. %s Its surfaces go on; after %d such days nobody new can sign in through Chumbo.", row.Slug, saw, MissesToPause))
	case MissesToPause:
		err = s.tell(ctx, q, row.OrganizationID, row.ID, noticeSignInPaused, fmt.Sprintf(
			"Nobody new can sign in to project %q through Chumbo: for %d days the proof that it is yours was not found. Whoever is signed in goes on, and so does sign-in at the project itself. %s Then prove the project again.", row.Slug, MissesToPause, saw))
	}
	if err != nil {
		return 0, err
	}
	err = s.audit(ctx, q, events.Actor{Organization: row.OrganizationID}, &act{
		action: "project.ownership_missed", target: row.ID.String(), detail: map[string]any{"misses": misses, "api_origin": row.APIOrigin},
	}, events.AuditOK)
	return int(misses), err
}

// isMiss reports whether the project answered, and not with the proof. No
// answer, and one that says "not now", are none.
func isMiss(err error) bool {
	var answer *supabase.Error
	if errors.As(err, &answer) {
		return answer.Status < 500 && answer.Status != http.StatusTooManyRequests && answer.Status != http.StatusRequestTimeout
	}
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) || fault.Is(err, fault.Unprocessable)
}

// missText says what was seen instead of the proof.
func missText(err error) string { return fault.From(unproven(err)).Message }

// RecheckArgs asks for one round of re-checks, and for old registrations to
// be forgotten.
type RecheckArgs struct{}

// Kind implements river.JobArgs.
func (RecheckArgs) Kind() string { return "ownership_recheck" }

// InsertOpts implements river.JobArgsWithInsertOpts: one a round, however many
// workers start.
func (RecheckArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 3, UniqueOpts: river.UniqueOpts{ByPeriod: recheckRounds}}
}

// RecheckPeriod is how often rounds begin.
func RecheckPeriod() time.Duration { return recheckRounds }

// RecheckWorker works RecheckArgs.
type RecheckWorker struct {
	river.WorkerDefaults[RecheckArgs]
	service *Service
	prover  Prover
	log     *slog.Logger
}

// NewRecheckWorker returns one, or says what is missing.
func NewRecheckWorker(service *Service, prover Prover, log *slog.Logger) (*RecheckWorker, error) {
	if service == nil || prover == nil || log == nil {
		return nil, errors.New("re-check: a service, a prover and a logger are needed")
	}
	return &RecheckWorker{service: service, prover: prover, log: log}, nil
}

// Timeout implements river.Worker.
func (w *RecheckWorker) Timeout(*river.Job[RecheckArgs]) time.Duration { return recheckBound }

// Work implements river.Worker.
func (w *RecheckWorker) Work(ctx context.Context, _ *river.Job[RecheckArgs]) error {
	if err := w.service.forgetOldRegistrations(ctx); err != nil {
		return err
	}
	done, err := w.service.RecheckOwnership(ctx, w.prover)
	if done != (Recheck{}) {
		w.log.LogAttrs(ctx, slog.LevelInfo, "ownership re-checked",
			slog.Int("checked", done.Checked), slog.Int("missed", done.Missed), slog.Int("paused", done.Paused))
	}
	return err
}
