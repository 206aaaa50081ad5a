package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const (
	askBound     = 3 * time.Second // for one lease, all callers of the bound wait for it
	retryUnknown = 2 * time.Second // told to callers while the database is away
	blocks       = 10              // a window is leased in so many
)

// lease is what this server may still count down of one bound's window.
// Guarded by the Limiter's lock.
type lease struct {
	left  int
	full  bool      // the window has no more to lease
	until time.Time // when the window is over; zero before the first answer
	asked *question // the one under way; nil for none
}

// question is one lease under way. err may be read once done is closed.
type question struct {
	done chan struct{}
	err  error
}

// rollOver discards what belongs to a window that is over.
func (h *lease) rollOver(now time.Time) {
	if !now.Before(h.until) {
		h.left, h.full = 0, false
	}
}

// windowOf is when the window began that now is in.
func windowOf(now time.Time, per time.Duration) time.Time { return now.Truncate(per) }

// blockOf is how much to lease where need uses are wanted at once.
func blockOf(bound, need int) int { return min(max(bound/blocks, 1, need), bound) }

// ask leases a block. It is nobody's request: a caller who goes away in
// between loses no block for the others.
func (l *Limiter) ask(b Bound, held *lease, q *question, window time.Time, block int) {
	ctx, cancel := context.WithTimeout(context.Background(), askBound)
	defer cancel()
	row, full, err := l.lease(ctx, b, window, block)
	if err != nil {
		l.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "rate limit could not be asked", slog.String("limit", b.Name), slog.String("error", err.Error()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	held.asked, q.err = nil, err
	defer close(q.done)
	if err != nil {
		return
	}
	if full {
		if held.full = true; held.until.Before(window.Add(b.Rate.Per)) {
			held.left, held.until = 0, window.Add(b.Rate.Per)
		}
		return
	}
	// The window may be a later one than ours: a server with a faster clock was
	// there before, and we count in its window.
	if until := row.WindowStart.Add(b.Rate.Per); !until.Equal(held.until) {
		held.left, held.until = 0, until
	}
	held.left += int(row.Leased)
	held.full = int(row.Leased) < block
}

func (l *Limiter) lease(ctx context.Context, b Bound, window time.Time, block int) (row db.LeaseRateRow, full bool, err error) {
	key := l.cfg.Keys.MAC(seal.AddressHash, seal.AD("rate", b.Name, b.Key))
	err = l.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.LeaseRate(ctx, db.LeaseRateParams{Key: key, WindowStart: window, Block: int32(block), Bound: int32(b.Rate.N)})
		if errors.Is(err, pgx.ErrNoRows) {
			full, err = true, nil
		}
		return err
	})
	if err != nil {
		return row, false, fmt.Errorf("lease rate: %w", err)
	}
	return row, full, nil
}
