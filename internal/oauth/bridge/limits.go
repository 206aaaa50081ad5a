package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// limits counts tries in windows of time, on all servers together. What is
// stored of who tried is a keyed hash.
type limits struct {
	store *db.Store
	keys  *seal.Keyset
	now   func() time.Time
}

// limit is one bound: n tries per window for everyone who shares name and key.
type limit struct {
	name   string
	key    string
	n      int
	window time.Duration
}

// take counts one try, or says after how long the next one counts.
func (l *limits) take(ctx context.Context, name, key string, n int, window time.Duration) (retryAfter time.Duration, ok bool, err error) {
	return l.takeAll(ctx, limit{name, key, n, window})
}

// takeAll counts one try against each bound, or against none when one of them
// is reached. The bounds of one call are always named in the same order: it is
// the order of locks.
func (l *limits) takeAll(ctx context.Context, bounds ...limit) (retryAfter time.Duration, ok bool, err error) {
	err = l.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		for _, b := range bounds {
			if err := l.count(ctx, q, b); err != nil {
				return err
			}
		}
		return nil
	})
	var full *windowFull
	if errors.As(err, &full) {
		return full.retryAfter, false, nil
	}
	return 0, err == nil, err
}

// windowFull rolls back what was counted beside it.
type windowFull struct{ retryAfter time.Duration }

func (e *windowFull) Error() string { return "window full" }

func (l *limits) count(ctx context.Context, q *db.Queries, b limit) error {
	now, key := l.now(), l.keyOf(b)
	n, err := q.CountLimited(ctx, db.CountLimitedParams{Key: key, Now: now, WindowFloor: now.Add(-b.window), Bound: int32(b.n)})
	if err != nil {
		return fmt.Errorf("count try: %w", err)
	}
	if n == 1 {
		return nil
	}
	started, err := q.LimitStarted(ctx, key)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("load limit: %w", err)
	}
	return &windowFull{max(started.Add(b.window).Sub(now), time.Second)}
}

// allow is takeAll whose refusal is fault.RateLimited, with a text for a page.
func (l *limits) allow(ctx context.Context, bounds ...limit) error {
	retryAfter, ok, err := l.takeAll(ctx, bounds...)
	if err == nil && !ok {
		return tooMany(retryAfter)
	}
	return err
}

// forget takes back every try of the window, once one was right after all.
func (l *limits) forget(ctx context.Context, b limit) error {
	err := l.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error { return q.ForgetLimit(ctx, l.keyOf(b)) })
	if err != nil {
		return fmt.Errorf("take back tries: %w", err)
	}
	return nil
}

func (l *limits) keyOf(b limit) []byte {
	return l.keys.MAC(seal.AddressHash, seal.AD("bridge limit", b.name, b.key))
}

// tooMany tells when to try again, in whole seconds.
func tooMany(retryAfter time.Duration) *fault.Error {
	seconds := int((retryAfter + time.Second - 1) / time.Second)
	return fault.New(fault.RateLimited, "too_many_tries", "Too many tries. Try again in %d s.", seconds).WithRetryAfter(time.Duration(seconds) * time.Second)
}

// The bounds of one project's people. What the project's Auth allows per
// address falls on ours, which all of them share: we stop before it does.

// tokenCalls is Auth's own token endpoint, which allows 150 in five minutes and
// 30 of them at once. Sessions are refreshed there too: some is left for that.
func tokenCalls(ep *tenants.Endpoint) limit {
	return limit{"token calls", ofProject(ep), 25, time.Minute}
}

// mailCalls are sign-ups and mailed codes, which Auth allows 30 of.
func mailCalls(ep *tenants.Endpoint) limit {
	return limit{"mail calls", ofProject(ep), 25, 5 * time.Minute}
}

// codeCalls are checks of mailed codes, which Auth allows 30 of.
func codeCalls(ep *tenants.Endpoint) limit {
	return limit{"code calls", ofProject(ep), 25, 5 * time.Minute}
}

// factorCalls are checks of second factors, of which Auth allows 30 at once
// and then 15 a minute.
func factorCalls(ep *tenants.Endpoint) limit {
	return limit{"factor calls", ofProject(ep), 15, time.Minute}
}

// triesBy are tries from one address.
func triesBy(ep *tenants.Endpoint, v Visitor) limit {
	return limit{"tries by address", ofProject(ep) + " " + ratelimit.AddressKey(v.Address), 20, 5 * time.Minute}
}

// triesAt are guesses at one person's password, mailed code or second factor.
func triesAt(ep *tenants.Endpoint, what, who string) limit {
	return limit{"tries at " + what, ofProject(ep) + " " + strings.ToLower(who), 10, 15 * time.Minute}
}

// mailsTo are mails to one address. The project has the same bound, but only
// for people it knows: ours does not tell who that is.
func mailsTo(ep *tenants.Endpoint, email string) limit {
	return limit{"mails to", ofProject(ep) + " " + strings.ToLower(email), 1, time.Minute}
}

func ofProject(ep *tenants.Endpoint) string {
	return ep.Organization.String() + " " + ep.Project.ID.String()
}
