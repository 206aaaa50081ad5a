package ratelimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// noon is the beginning of a minute and of an hour.
var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

// world is a database and the keys that all servers share.
type world struct {
	*dbtest.Database
	keys *seal.Keyset
	log  bytes.Buffer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	return &world{Database: dbtest.NewDatabase(t), keys: keys}
}

// server is one server's Limiter.
func (w *world) server(t testing.TB, now func() time.Time) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{Store: w.Store, Keys: w.keys, Now: now, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// leased is what all servers together leased in windows, newest last.
func (w *world) leased(t testing.TB) (text string) {
	t.Helper()
	err := w.Store.AsSystem(t.Context(), func(_ *db.Queries, tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), "select coalesce(string_agg(to_char(window_start at time zone 'utc', 'HH24:MI:SS') || '=' || used, ' ' order by window_start, used), '') from rate_windows").Scan(&text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func bound(who string, n int, per time.Duration) ratelimit.Bound {
	return ratelimit.Bound{Name: "public call", Key: "srf_1 " + who, Rate: ratelimit.Rate{N: n, Per: per}}
}

// granted takes one at a time until it is refused, and says how often not.
func granted(t testing.TB, l *ratelimit.Limiter, bounds ...ratelimit.Bound) (n int) {
	t.Helper()
	for ; n < 10_000; n++ {
		if err := l.Take(t.Context(), 1, bounds...); err != nil {
			if !fault.Is(err, fault.RateLimited) {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("never refused")
	return n
}

func retryAfter(err error) time.Duration { return fault.From(err).RetryAfter }

func TestAWindowGrantsExactlyItsUses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, n := range []int{1, 2, 3, 9, 10, 11, 19, 60, 95, 100} {
		clock := clocktest.New(noon.Add(17 * time.Second))
		l, b := w.server(t, clock.Now), bound(fmt.Sprint(n), n, time.Minute)
		if got := granted(t, l, b); got != n {
			t.Errorf("%d of %d in the first window", got, n)
		}
		err := l.Take(t.Context(), 1, b)
		if f := fault.From(err); f.RetryAfter != 43*time.Second || !strings.Contains(f.Message, "43 s") {
			t.Errorf("refused with %v, %q", f.RetryAfter, f.Message)
		}
		clock.Advance(43*time.Second - time.Nanosecond)
		if err := l.Take(t.Context(), 1, b); retryAfter(err) != time.Second {
			t.Errorf("a moment before the next window: %v", err)
		}
		clock.Advance(time.Nanosecond)
		if got := granted(t, l, b); got != n {
			t.Errorf("%d of %d in the second window", got, n)
		}
	}
}

func TestWhatIsLeftOfAWindowEndsWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clock := clocktest.New(noon.Add(59 * time.Second))
	l, b := w.server(t, clock.Now), bound("alice", 60, time.Minute)
	if err := l.Take(t.Context(), 1, b); err != nil { // 5 of its block are left
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	if got := granted(t, l, b); got != 60 {
		t.Errorf("%d in the next window", got)
	}
}

func TestWindowsBeginAtMultiplesOfTheirLength(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.server(t, clocktest.New(noon.Add(47*time.Minute+8*time.Second)).Now)
	for _, per := range []time.Duration{time.Second, time.Minute, 5 * time.Minute, time.Hour} {
		if err := l.Take(t.Context(), 1, bound(per.String(), 10, per)); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.leased(t); got != "12:00:00=1 12:45:00=1 12:47:00=1 12:47:08=1" {
		t.Error(got)
	}
}

// TestServersTogetherGrantNoMoreThanTheBound: two servers, taking in turn, and
// then as fast as they can.
func TestServersTogetherGrantNoMoreThanTheBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clock := clocktest.New(noon)
	one, other := w.server(t, clock.Now), w.server(t, clock.Now)
	b := bound("alice", 60, time.Minute)
	if err := one.Take(t.Context(), 1, b); err != nil {
		t.Fatal(err)
	}
	if got := w.leased(t); got != "12:00:00=6" {
		t.Errorf("one use leased %s, want a tenth of 60", got)
	}
	// What one server leased and did not use is lost to the other, and no more.
	if got := granted(t, other, b); got != 54 {
		t.Errorf("the other server granted %d, want 60 - 6", got)
	}
	if got := granted(t, one, b); got != 5 {
		t.Errorf("the one server granted %d more, want the rest of its block", got)
	}
	clock.Advance(time.Minute)
	var total atomic.Int64
	var everybody sync.WaitGroup
	for i := range 16 {
		everybody.Go(func() {
			total.Add(int64(granted(t, []*ratelimit.Limiter{one, other}[i%2], b)))
		})
	}
	everybody.Wait()
	if total.Load() != 60 {
		t.Errorf("16 callers at two servers got %d, want 60", total.Load())
	}
	if got := w.leased(t); got != "12:01:00=60" {
		t.Error(got)
	}
}

func TestManyAtOnceTakeOneLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, b := w.server(t, clocktest.New(noon).Now), bound("alice", 1000, time.Minute)
	var everybody sync.WaitGroup
	for range 100 {
		everybody.Go(func() {
			if err := l.Take(t.Context(), 1, b); err != nil {
				t.Error(err)
			}
		})
	}
	everybody.Wait()
	if got := w.leased(t); got != "12:00:00=100" {
		t.Errorf("100 callers leased %s, want one block of 100", got)
	}
}

func TestMoreThanABlockAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.server(t, clocktest.New(noon).Now)
	take := func(n int, b ratelimit.Bound) error { return l.Take(t.Context(), n, b) }
	b := bound("alice", 60, time.Minute)
	for _, step := range []struct {
		n      int
		ok     bool
		leased string
	}{
		{25, true, "12:00:00=25"},  // all that is needed
		{2, true, "12:00:00=31"},   // a block of 6
		{20, true, "12:00:00=47"},  // 4 are left: 16 more
		{13, true, "12:00:00=60"},  // the rest
		{1, false, "12:00:00=60"},  // nothing
		{61, false, "12:00:00=60"}, // never
	} {
		if err := take(step.n, b); (err == nil) != step.ok || w.leased(t) != step.leased {
			t.Fatalf("%d: %v, leased %s, want %s", step.n, err, w.leased(t), step.leased)
		}
	}
	// What is too much at once leaves room for what is not.
	few := bound("bob", 10, time.Minute)
	if take(7, few) != nil || take(4, few) == nil || take(3, few) != nil || take(1, few) == nil {
		t.Error("4 were taken of 3, or 3 were not")
	}
	if err := take(11, bound("carol", 10, time.Minute)); retryAfter(err) != time.Minute || strings.Count(w.leased(t), "=") != 2 {
		t.Errorf("more than a whole window: %v, %s", err, w.leased(t))
	}
	if take(0, few) != nil || take(-1, few) == nil {
		t.Error("nothing is refused, or less than nothing is counted")
	}
}

// TestAliceFloodDoesNotTakeBobs: not by address, not by surface, not by name
// and not by a key that reads alike when joined.
func TestAliceFloodDoesNotTakeBobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.server(t, clocktest.New(noon).Now)
	of := func(name, surface, address string) ratelimit.Bound {
		return ratelimit.Bound{Name: name, Key: surface + " " + ratelimit.AddressKey(address), Rate: ratelimit.Rate{N: 10, Per: time.Minute}}
	}
	alice := of("public call", "srf_1", "2001:db8:0:1::1")
	if got := granted(t, l, alice); got != 10 {
		t.Fatalf("Alice got %d", got)
	}
	if err := l.Take(t.Context(), 1, of("public call", "srf_1", "2001:db8:0:1:ffff::2")); !fault.Is(err, fault.RateLimited) {
		t.Errorf("another address of her household: %v", err)
	}
	for what, b := range map[string]ratelimit.Bound{
		"another network": of("public call", "srf_1", "2001:db8:0:2::1"), "IPv4": of("public call", "srf_1", "192.0.2.1"), "an unknown address": of("public call", "srf_1", ""),
		"another surface": of("public call", "srf_2", "2001:db8:0:1::1"), "another limit": of("key guess", "srf_1", "2001:db8:0:1::1"),
		"joined alike": {Name: alice.Name + alice.Key[:1], Key: alice.Key[1:], Rate: alice.Rate},
	} {
		if got := granted(t, l, b); got != 10 {
			t.Errorf("%s: %d, want all 10", what, got)
		}
	}
	// The narrow bound stands first: who is refused there takes nothing of all.
	total := bound("total", 12, time.Minute)
	if err := l.Take(t.Context(), 1, alice, total); !fault.Is(err, fault.RateLimited) {
		t.Fatal(err)
	}
	if got := granted(t, l, of("public call", "srf_3", "192.0.2.2"), total); got != 10 {
		t.Errorf("Bob got %d", got)
	}
	// What a later bound refuses stays counted before it: 2 of total are left.
	bob := of("public call", "srf_4", "192.0.2.2")
	if got := granted(t, l, bob, total); got != 2 {
		t.Errorf("%d of the rest of the total", got)
	}
	if got := granted(t, l, bob); got != 7 {
		t.Errorf("%d are left for Bob, want 10 - 2 - the refused one", got)
	}
}

func TestNoAddressIsStoredOrLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.server(t, clocktest.New(noon).Now)
	if err := l.Take(t.Context(), 1, bound("192.0.2.77", 10, time.Minute)); err != nil {
		t.Fatal(err)
	}
	w.Store.Pool().Close()
	if err := l.Take(t.Context(), 1, bound("192.0.2.78", 10, time.Minute)); err == nil || strings.Contains(err.Error(), "192.0.2") {
		t.Error(err)
	}
	conn, err := pgx.Connect(t.Context(), w.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var row string
	if err := conn.QueryRow(t.Context(), "select encode(key, 'escape') || w::text from chumbo.rate_windows w").Scan(&row); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(row, "192.0.2") || strings.Contains(row, "srf_1") || strings.Contains(w.log.String(), "192.0.2") {
		t.Errorf("row %q, log %s", row, w.log.String())
	}
	if !strings.Contains(w.log.String(), "public call") {
		t.Errorf("the log does not say that the database was away: %s", w.log.String())
	}
}

// TestAServerWhoseClockIsAhead: windows have one end for all, and what was
// leased of one is never counted in another.
func TestAServerWhoseClockIsAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	right, ahead := clocktest.New(noon.Add(50*time.Second)), clocktest.New(noon.Add(65*time.Second))
	one, fast := w.server(t, right.Now), w.server(t, ahead.Now)
	b := bound("alice", 10, time.Minute)
	if err := one.Take(t.Context(), 6, b); err != nil { // 12:00
		t.Fatal(err)
	}
	if err := fast.Take(t.Context(), 3, b); err != nil { // 12:01
		t.Fatal(err)
	}
	// The one counts in the window that has begun elsewhere, whose rest is 7.
	if got := granted(t, one, b); got != 7 {
		t.Errorf("%d in the window that is ahead, want 10 - 3", got)
	}
	if got := granted(t, fast, b); got != 0 {
		t.Errorf("%d more of a window that is full", got)
	}
	if got := w.leased(t); got != "12:01:00=10" {
		t.Error(got)
	}
	// Its own clock comes there: still full, until 12:02.
	right.Advance(15 * time.Second)
	if got := granted(t, one, b); got != 0 {
		t.Errorf("%d granted of a window counted before", got)
	}
	if err := one.Take(t.Context(), 1, b); retryAfter(err) != 55*time.Second {
		t.Errorf("refused with %v", err)
	}
	right.Advance(55 * time.Second)
	if got := granted(t, one, b); got != 10 {
		t.Errorf("%d in the next window", got)
	}
}

// TestALeaseOfAWindowThatIsAheadLastsAsLongAsThat, and what was left of the
// window before is not counted in it.
func TestALeaseOfAWindowThatIsAheadLastsAsLongAsThat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	right := clocktest.New(noon.Add(50 * time.Second))
	one, fast := w.server(t, right.Now), w.server(t, clocktest.New(noon.Add(65*time.Second)).Now)
	b := bound("alice", 60, time.Minute)
	if err := one.Take(t.Context(), 1, b); err != nil { // 12:00, 5 left
		t.Fatal(err)
	}
	if err := fast.Take(t.Context(), 1, b); err != nil { // 12:01, 5 left
		t.Fatal(err)
	}
	if err := one.Take(t.Context(), 7, b); err != nil { // 12:01: a block of 6 does not do, so two; 5 left
		t.Fatal(err)
	}
	if got := w.leased(t); got != "12:01:00=18" {
		t.Error(got)
	}
	right.Advance(15 * time.Second)
	if got := granted(t, one, b); got != 60-6-7 {
		t.Errorf("%d, want all but the other's block and the 7", got)
	}
}

// TestWhatIsLeasedOutlastsTheDatabase, and nothing else does.
func TestWhatIsLeasedOutlastsTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clock := clocktest.New(noon)
	l, b, full := w.server(t, clock.Now), bound("alice", 60, time.Minute), bound("bob", 3, time.Minute)
	if err := l.Take(t.Context(), 1, b); err != nil {
		t.Fatal(err)
	}
	granted(t, l, full)
	w.Store.Pool().Close()
	for range 5 {
		if err := l.Take(t.Context(), 1, b); err != nil {
			t.Fatalf("what is leased is not served: %v", err)
		}
	}
	if err := l.Take(t.Context(), 1, full); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a window known to be full: %v", err)
	}
	for _, b := range []ratelimit.Bound{b, bound("carol", 60, time.Minute)} {
		if err := l.Take(t.Context(), 1, b); !fault.Is(err, fault.Unavailable) || retryAfter(err) < time.Second {
			t.Errorf("what cannot be counted: %v", err)
		}
	}
	clock.Advance(time.Minute)
	if err := l.Take(t.Context(), 1, full); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a new window: %v", err)
	}
}

// TestWaitingEndsWithTheRequest: the one lease under way is held up by a lock.
func TestWaitingEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, b := w.server(t, clocktest.New(noon).Now), bound("alice", 10, time.Minute)
	conn, err := pgx.Connect(t.Context(), w.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "lock table chumbo.rate_windows"); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Take(gone, 1, b); !fault.Is(err, fault.Unavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("a request that is over: %v", err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- l.Take(t.Context(), 1, b) }()
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("the request that waited: %v", err)
	}
	// The lease that the first one began was not lost, and neither was a block.
	if got := granted(t, l, b); got != 9 {
		t.Errorf("%d are left, want 9", got)
	}
}

func TestARateThatIsNoneRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.server(t, clocktest.New(noon).Now)
	for _, r := range []ratelimit.Rate{{}, {N: 1}, {N: -1, Per: time.Minute}, {N: 1, Per: time.Millisecond}, {N: 1 << 32, Per: time.Minute}} {
		if err := l.Take(t.Context(), 1, ratelimit.Bound{Name: "x", Rate: r}); err == nil {
			t.Errorf("%+v lets through", r)
		}
	}
	if _, err := ratelimit.New(ratelimit.Config{Store: w.Store}); err == nil {
		t.Error("a limiter without keys")
	}
}

// TestAnotherRateOfTheSameNameCountsTheSameUses: a surface whose rate was just
// changed is served by servers that know the old one.
func TestAnotherRateOfTheSameNameCountsTheSameUses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.server(t, clocktest.New(noon).Now)
	if got := granted(t, l, bound("alice", 6, time.Minute)); got != 6 {
		t.Fatal(got)
	}
	if got := granted(t, l, bound("alice", 10, time.Minute)); got != 4 {
		t.Errorf("%d more, want 10 - 6", got)
	}
	if got := granted(t, l, bound("alice", 3, time.Minute)); got != 0 {
		t.Errorf("%d of a smaller rate", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.server(t, clocktest.New(noon).Now)
	ratelimit.Fill(l, noon.Add(time.Minute), 30_000)
	if got := ratelimit.Held(l); got != 20_000 {
		t.Errorf("%d leases are held", got)
	}
	// A bound that was forgotten is asked for again, never opened.
	b := bound("alice", 5, time.Minute)
	if got := granted(t, l, b); got != 5 {
		t.Fatal(got)
	}
	ratelimit.Fill(l, noon.Add(time.Minute), 20_000)
	if got := granted(t, l, b); got != 0 {
		t.Errorf("%d granted once forgotten", got)
	}
}

func TestAddressesAreCountedByHousehold(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", " 192.0.2.1 ": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff:1": "2001:db8::/64",
		"2001:db8:0:1::1": "2001:db8:0:1::/64", "fe80::1%eth0": "fe80::/64", "": "", "nobody": "", "192.0.2.1:80": "", "192.0.2.1, 192.0.2.2": "",
	} {
		if got := ratelimit.AddressKey(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

// BenchmarkTakeWarm is what a call costs whose bounds are leased.
func BenchmarkTakeWarm(b *testing.B) {
	w := newWorld(b)
	l := w.server(b, func() time.Time { return noon })
	one := ratelimit.Bound{Name: "public call", Key: "srf_1 192.0.2.1", Rate: ratelimit.Rate{N: 1<<31 - 1, Per: time.Hour}}
	all := ratelimit.Bound{Name: "public total", Key: "srf_1", Rate: one.Rate}
	if err := l.Take(b.Context(), 1, one, all); err != nil {
		b.Fatal(err)
	}
	b.Run("two bounds", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := l.Take(context.Background(), 1, one, all); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
