package ratelimit_test

import (
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
)

func TestTheSweepKeepsWindowsThatCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Exec(t, `insert into rate_windows select int4send(i), $1::timestamptz - interval '25 hours', 1, 1 from generate_series(1, 2500) i`, noon)
	w.Exec(t, `insert into rate_windows values ('today', $1::timestamptz - interval '24 hours', 1, 1), ('now', $1, 2, 1), ('soon', $1::timestamptz + interval '1 minute', 3, 1),
		('a clock that was wrong', $1::timestamptz + interval '30 days', 4, 1)`, noon)
	worker, err := ratelimit.NewSweepWorker(w.Store, clocktest.New(noon).Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Work(t.Context(), &river.Job[ratelimit.SweepArgs]{}); err != nil {
		t.Fatal(err)
	}
	if got := w.leased(t); got != "12:00:00=1 12:00:00=2 12:01:00=3" {
		t.Error(got)
	}
	if n, err := ratelimit.Sweep(t.Context(), w.Store, noon.Add(30*24*time.Hour)); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := ratelimit.NewSweepWorker(nil, nil); err == nil {
		t.Error("a worker without a store")
	}
}
