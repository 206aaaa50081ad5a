// Package ratelimit owns limits that hold over all servers together: a window
// in Postgres, of which each server leases a tenth at a time and counts it
// down in memory. It never stores an address, only a keyed hash, and never
// lets through what it cannot count.
//
//	ratelimit.go  bounds, the Limiter and Take
//	lease.go      what is leased of a window, and how more is
//	address.go    how an address is counted
//	sweep.go      old windows are deleted, by the worker
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// maxLeases is how many bounds are remembered. What is left of a lease that is
// forgotten stays counted: a flood of addresses makes a limit stricter, never
// wider.
const maxLeases = 20_000

// Rate is how many uses a window of time has. Windows begin at multiples of
// their length, so that all servers mean the same one.
type Rate struct {
	N   int           // at least 1
	Per time.Duration // at least a second
}

// Bound is a rate for everything that shares name and key.
type Bound struct {
	Name string // what is limited, such as "public call"
	Key  string // for whom: ids and AddressKey, joined
	Rate Rate
}

// Config is what a Limiter needs. All of it is required.
type Config struct {
	Store  *db.Store
	Keys   *seal.Keyset
	Now    func() time.Time
	Logger *slog.Logger
}

// Limiter counts uses. Safe for concurrent use.
type Limiter struct {
	cfg    Config
	mu     sync.Mutex
	leases *simplelru.LRU[Bound, *lease]
}

// New returns a Limiter, or says what is missing.
func New(c Config) (*Limiter, error) {
	if c.Store == nil || c.Keys == nil || c.Now == nil || c.Logger == nil {
		return nil, errors.New("ratelimit: every part of its configuration is required")
	}
	leases, err := simplelru.NewLRU[Bound, *lease](maxLeases, nil)
	if err != nil {
		return nil, fmt.Errorf("make rate leases: %w", err)
	}
	return &Limiter{cfg: c, leases: leases}, nil
}

// Take counts n uses against each bound, in order, or refuses: the error is
// fault.RateLimited with RetryAfter (the rest of the window, whole seconds)
// when a bound is reached, and fault.Unavailable when that cannot be told.
//
// When a later bound refuses, what was counted against those before it stays
// counted: name the narrower one first, so that one caller who is refused takes
// nothing from all the others.
func (l *Limiter) Take(ctx context.Context, n int, bounds ...Bound) error {
	if n < 0 {
		return fmt.Errorf("take %d uses", n)
	}
	if n == 0 {
		return nil
	}
	for _, b := range bounds {
		if b.Rate.N < 1 || b.Rate.N > math.MaxInt32 || b.Rate.Per < time.Second {
			return fmt.Errorf("rate of %q is no rate: %d per %v", b.Name, b.Rate.N, b.Rate.Per)
		}
		if err := l.take(ctx, n, b); err != nil {
			return err
		}
	}
	return nil
}

// take counts against one bound. Whoever needs more than is leased waits for
// the one lease that is under way, and looks again.
func (l *Limiter) take(ctx context.Context, n int, b Bound) error {
	if n > b.Rate.N { // no window ever has room
		return limited(windowOf(l.cfg.Now(), b.Rate.Per).Add(b.Rate.Per).Sub(l.cfg.Now()))
	}
	for {
		asked, err := l.spend(n, b)
		if asked == nil || err != nil {
			return err
		}
		select {
		case <-asked.done:
			if asked.err != nil {
				return unavailable(asked.err)
			}
		case <-ctx.Done():
			return unavailable(ctx.Err())
		}
	}
}

// spend counts n uses of what is leased, refuses where the window has no more,
// or names the question to wait for.
func (l *Limiter) spend(n int, b Bound) (*question, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held, ok := l.leases.Get(b)
	if !ok {
		held = &lease{}
		l.leases.Add(b, held)
	}
	now := l.cfg.Now()
	held.rollOver(now)
	switch {
	case held.left >= n:
		held.left -= n
		return nil, nil
	case held.full:
		return nil, limited(held.until.Sub(now))
	case held.asked == nil:
		held.asked = &question{done: make(chan struct{})}
		go l.ask(b, held, held.asked, windowOf(now, b.Rate.Per), blockOf(b.Rate.N, n-held.left))
	}
	return held.asked, nil
}

// limited tells when the next window begins, in whole seconds.
func limited(rest time.Duration) *fault.Error {
	seconds := max(1, int((rest+time.Second-1)/time.Second))
	return fault.New(fault.RateLimited, "rate_limited", "Nothing was done: too many requests. Try again in %d s.", seconds).WithRetryAfter(time.Duration(seconds) * time.Second)
}

// unavailable refuses what cannot be counted.
func unavailable(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, "limit_unknown", "Nothing was done: whether the limit allows it cannot be told now. Try again in a moment.").WithRetryAfter(retryUnknown)
}
