package events

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
)

func TestRetentionWorksThroughMoreThanOneBatch(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	d.Exec(t, `insert into invocations select $1, gen_random_uuid(), now() - interval '100 days', $1, 1, 'm', 'c', 'direct', '', '', 'ok', '', 1, 1, 1, '', ''
		from generate_series(1, 25)`, uuid.New())
	d.Exec(t, `insert into invocations values ($1, gen_random_uuid(), now(), $1, 1, 'm', 'c', 'direct', '', '', 'ok', '', 1, 1, 1, '', '')`, uuid.New())
	worker, err := NewRetentionWorker(d.Store, 30*24*time.Hour, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	worker.batch = 10
	if err := worker.Work(t.Context(), &river.Job[RetentionArgs]{}); err != nil {
		t.Fatal(err)
	}
	left, err := d.Store.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = left.Rollback(t.Context()) }()
	var n int
	if _, err := left.Exec(t.Context(), "set local role chumbo_system"); err != nil {
		t.Fatal(err)
	}
	if err := left.QueryRow(t.Context(), "select count(*) from invocations").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d invocations are left, %v, want 1", n, err)
	}
}
