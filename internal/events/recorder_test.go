package events

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sink takes batches in place of the database.
type sink struct {
	mu      sync.Mutex
	batches [][]Invocation
	fail    int           // this many writes fail first
	gate    chan struct{} // when set, a write waits for it
}

func (s *sink) write(_ context.Context, batch []Invocation) error {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail > 0 {
		s.fail--
		return errors.New("database away")
	}
	s.batches = append(s.batches, append([]Invocation(nil), batch...))
	return nil
}

func (s *sink) sizes() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sizes []int
	for _, b := range s.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

func closeNow(t *testing.T, r *Recorder) {
	t.Helper()
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestBatchIsWrittenWhenFullAndWhenOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		r := newRecorder(s.write, slog.New(slog.DiscardHandler), queueSize)
		for range batchSize + 3 {
			r.Record(Invocation{})
		}
		synctest.Wait()
		if got := s.sizes(); len(got) != 1 || got[0] != batchSize {
			t.Errorf("batches before any time passed: %v", got)
		}
		time.Sleep(batchEvery) // the bubble's clock
		synctest.Wait()
		if got := s.sizes(); len(got) != 2 || got[1] != 3 {
			t.Errorf("batches after a second: %v", got)
		}
		closeNow(t, r)
	})
}

func TestFullQueueDropsAndCountsAndNeverBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sink{gate: make(chan struct{})}
		r := newRecorder(s.write, slog.New(slog.DiscardHandler), 10)
		r.Record(Invocation{})
		time.Sleep(batchEvery) // now a write hangs
		synctest.Wait()
		for range 25 {
			r.Record(Invocation{})
		}
		if r.Dropped() != 15 {
			t.Errorf("%d dropped, want 15", r.Dropped())
		}
		close(s.gate)
		closeNow(t, r)
		if got := s.sizes(); len(got) != 2 || got[0] != 1 || got[1] != 10 {
			t.Errorf("batches: %v", got)
		}
	})
}

func TestFailedBatchIsTriedAgainThenDroppedAndCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: writeTries - 1}
		r := newRecorder(s.write, slog.New(slog.DiscardHandler), queueSize)
		r.Record(Invocation{})
		time.Sleep(batchEvery + 2*time.Second)
		synctest.Wait()
		if got := s.sizes(); len(got) != 1 || r.Dropped() != 0 {
			t.Errorf("after %d failures: batches %v, %d dropped", writeTries-1, got, r.Dropped())
		}
		s.mu.Lock()
		s.fail = writeTries
		s.mu.Unlock()
		r.Record(Invocation{})
		time.Sleep(batchEvery + 2*time.Second)
		synctest.Wait()
		if got := s.sizes(); len(got) != 1 || r.Dropped() != 1 {
			t.Errorf("after %d failures: batches %v, %d dropped", writeTries, got, r.Dropped())
		}
		closeNow(t, r)
	})
}

func TestCloseWritesWhatIsQueuedAndLaterRecordsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		r := newRecorder(s.write, slog.New(slog.DiscardHandler), queueSize)
		for range 7 {
			r.Record(Invocation{})
		}
		closeNow(t, r)
		closeNow(t, r) // again is no error
		if got := s.sizes(); len(got) != 1 || got[0] != 7 {
			t.Errorf("batches: %v", got)
		}
		r.Record(Invocation{})
		if r.Dropped() != 1 {
			t.Errorf("%d dropped after Close, want 1", r.Dropped())
		}
	})
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sink{gate: make(chan struct{})}
		r := newRecorder(s.write, slog.New(slog.DiscardHandler), queueSize)
		r.Record(Invocation{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		close(s.gate)
		closeNow(t, r)
	})
}

func TestCleanMakesTextStorable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"customers_list":               "customers_list",
		"a\x00b":                       "ab",
		"a\xffb":                       "ab",
		strings.Repeat("é", 150):       strings.Repeat("é", 100),
		"x" + strings.Repeat("é", 150): "x" + strings.Repeat("é", 99),
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%.20q…) = %.40q…", in, got)
		}
	}
}
