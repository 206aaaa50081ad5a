package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

// TestWorkerDeletesOldInvocations runs the program as an operator does: from
// the environment.
func TestWorkerDeletesOldInvocations(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	d.Exec(t, `insert into invocations select $1, gen_random_uuid(), now() - age, $1, 1, 'm', 'c', 'direct', '', '', 'ok', '', 1, 1, 1, '', ''
		from unnest(array[interval '49 hours', interval '47 hours']) age`, uuid.New())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{
			"CHUMBO_DATABASE_URL=" + d.ServerDSN, "CHUMBO_RIVER_DATABASE_URL=" + d.RiverDSN, "CHUMBO_INVOCATION_RETENTION=48h",
			"CHUMBO_MASTER_KEY=" + seal.GenerateKey().Reveal(),
		}, io.Discard)
	}()
	awaitJob(t, d.AdminDSN)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("worker ended with %v", err)
	}
	conn := connect(t, d.AdminDSN)
	var left int
	var oldest time.Duration
	if err := conn.QueryRow(t.Context(), "select count(*), now() - min(at) from chumbo.invocations").Scan(&left, &oldest); err != nil {
		t.Fatal(err)
	}
	if left != 1 || oldest > 48*time.Hour {
		t.Errorf("%d invocations are left, the oldest of %v", left, oldest)
	}
}

func TestWorkerRefusesWhatItCannotRunWith(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	server, river := "CHUMBO_DATABASE_URL="+d.ServerDSN, "CHUMBO_RIVER_DATABASE_URL="+d.RiverDSN
	key := "CHUMBO_MASTER_KEY=" + seal.GenerateKey().Reveal()
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{nil, "set CHUMBO_DATABASE_URL and CHUMBO_MASTER_KEY and CHUMBO_RIVER_DATABASE_URL"},
		{[]string{server, river}, "set CHUMBO_MASTER_KEY"},
		{[]string{server, river, "CHUMBO_MASTER_KEY=hunter22"}, "CHUMBO_MASTER_KEY"},
		{[]string{server, river, "CHUMBO_WORKERS=3"}, "CHUMBO_WORKERS is not a setting"},
		{[]string{"CHUMBO_DATABASE_URL=" + d.AdminDSN, river, key}, "server migrate makes"},
		{[]string{server, key, "CHUMBO_RIVER_DATABASE_URL=postgres://chumbo_river:hunter22@127.0.0.1:6543/postgres"}, "transaction pooler"},
	} {
		err := run(t.Context(), c.environ, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// awaitJob waits for one retention job that has completed.
func awaitJob(t *testing.T, dsn string) {
	t.Helper()
	conn := connect(t, dsn)
	deadline, tick := time.Now().Add(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for n := 0; n == 0; <-tick.C {
		err := conn.QueryRow(t.Context(), "select count(*) from river.river_job where kind = 'invocation_retention' and state = 'completed'").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("no retention job has completed")
		}
	}
}
