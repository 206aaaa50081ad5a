package lastused_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/lastused"
)

// ledger is where the tests' uses are written.
type ledger struct {
	mu   sync.Mutex
	rows map[id.Organization][]string
	err  error
}

func (l *ledger) write(_ context.Context, org id.Organization, used []string, _ time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows == nil {
		l.rows = map[id.Organization][]string{}
	}
	l.rows[org] = append(l.rows[org], used...)
	return l.err
}

func setup(t *testing.T) (*lastused.Uses[string], *ledger, *clocktest.Clock) {
	t.Helper()
	clock, l := clocktest.New(time.Now()), &ledger{}
	u, err := lastused.New(lastused.Config[string]{What: "things", Most: 100, Write: l.write, Logger: slog.New(slog.DiscardHandler), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return u, l, clock
}

func TestSteadyUseIsWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	u, _, clock := setup(t)
	org, written := id.New[id.OrganizationKind](), 0
	for range 180 { // three minutes
		u.Note(org, "a")
		written += u.Flush()
		clock.Advance(time.Second)
	}
	if written != 3 {
		t.Errorf("written %d times", written)
	}
}

func TestAliceAndBobAreWrittenInTheirOwnOrganizations(t *testing.T) {
	t.Parallel()
	u, l, _ := setup(t)
	alice, bob := id.New[id.OrganizationKind](), id.New[id.OrganizationKind]()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { u.Note(alice, "a") })
		wg.Go(func() { u.Note(bob, "b") })
	}
	wg.Wait()
	u.Flush()
	if !slices.Contains(l.rows[alice], "a") || slices.Contains(l.rows[alice], "b") || !slices.Contains(l.rows[bob], "b") || slices.Contains(l.rows[bob], "a") {
		t.Errorf("written %v", l.rows)
	}
}

func TestWhatCannotBeWrittenIsSaidAgainByTheNextUse(t *testing.T) {
	t.Parallel()
	u, l, clock := setup(t)
	org := id.New[id.OrganizationKind]()
	l.err = errors.New("away")
	u.Note(org, "a")
	u.Flush()
	if u.Flush() != 0 {
		t.Error("kept what could not be written")
	}
	clock.Advance(time.Minute)
	u.Note(org, "a")
	if u.Flush() != 1 {
		t.Error("not said again")
	}
}
