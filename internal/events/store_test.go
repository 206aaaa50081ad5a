package events_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
)

func invocation(org id.Organization, at time.Time) events.Invocation {
	return events.Invocation{
		Organization: org, Surface: id.New[id.SurfaceKind](), Revision: 3, At: at, Method: "tools/call", Capability: "customers_list",
		Mode: "direct", Client: "client\x00with a NUL", Protocol: "2026-07-28", Outcome: events.OutcomeOK,
		Duration: 12 * time.Millisecond, Project: 9 * time.Millisecond, ResultBytes: 512, RequestID: "req_1", Upstream: "sb_1",
	}
}

// count is what an organization sees of its invocations.
func count(t *testing.T, store *db.Store, org id.Organization) int {
	t.Helper()
	var n int
	err := store.AsOrganization(t.Context(), org, func(_ *db.Queries, tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), "select count(*) from invocations").Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestInvocationsOfAliceAndBobAreRecordedApart(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	alice, bob := id.New[id.OrganizationKind](), id.New[id.OrganizationKind]()
	r := events.NewRecorder(store, slog.New(slog.DiscardHandler))
	for i := range 700 { // more than one batch
		org := alice
		if i%7 == 0 {
			org = bob
		}
		r.Record(invocation(org, time.Now()))
	}
	r.Record(events.Invocation{}) // nobody's
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, b := count(t, store, alice), count(t, store, bob); a != 600 || b != 100 || r.Dropped() != 0 {
		t.Errorf("alice sees %d, bob %d, %d dropped", a, b, r.Dropped())
	}
}

func TestRetentionDeletesTheOldAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	org, now := id.New[id.OrganizationKind](), time.Now()
	r := events.NewRecorder(store, slog.New(slog.DiscardHandler))
	for _, age := range []time.Duration{0, 29 * 24 * time.Hour, 31 * 24 * time.Hour, 400 * 24 * time.Hour} {
		r.Record(invocation(org, now.Add(-age)))
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	worker, err := events.NewRetentionWorker(store, 30*24*time.Hour, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // again changes nothing
		if err := worker.Work(t.Context(), &river.Job[events.RetentionArgs]{}); err != nil {
			t.Fatal(err)
		}
		if n := count(t, store, org); n != 2 {
			t.Errorf("%d invocations are left, want 2", n)
		}
	}
}
