package events_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
)

func TestUsageAddsUpOneSurfaceSinceAMoment(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	reader, err := events.NewReader(store)
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := id.New[id.OrganizationKind](), id.New[id.OrganizationKind]()
	surface, now := id.New[id.SurfaceKind](), time.Now()
	r := events.NewRecorder(store, slog.New(slog.DiscardHandler))
	record := func(org id.Organization, ago, took time.Duration, outcome events.Outcome, client, capability string) {
		inv := invocation(org, now.Add(-ago))
		inv.Surface, inv.Duration, inv.Outcome, inv.Client, inv.Capability = surface, took, outcome, client, capability
		r.Record(inv)
	}
	for i := range 18 {
		record(alice, time.Minute, time.Duration(i+1)*time.Millisecond, events.OutcomeOK, "claude", "customers_list")
	}
	record(alice, time.Minute, 19*time.Millisecond, events.OutcomeToolError, "cursor", "customers_list")
	record(alice, 2*time.Minute, 20*time.Millisecond, events.OutcomeRefused, "", "customers_list")
	record(alice, time.Minute, time.Hour, events.OutcomeOK, "inspector", "") // a list
	record(alice, 25*time.Hour, time.Hour, events.OutcomeError, "old", "customers_list")
	record(bob, time.Minute, time.Hour, events.OutcomeError, "bob's", "customers_list")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := reader.Usage(t.Context(), alice, surface, now.Add(-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if last := now.Add(-time.Minute); got.LastAt.Sub(last).Abs() > time.Millisecond {
		t.Errorf("last at %v, want %v", got.LastAt, last)
	}
	got.LastAt = time.Time{}
	want := events.Usage{Calls: 20, Errors: 1, Refused: 1, Clients: 3, P50: 10 * time.Millisecond, P95: 19 * time.Millisecond}
	if got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	none, err := reader.Usage(t.Context(), alice, id.New[id.SurfaceKind](), now.Add(-24*time.Hour))
	if err != nil || none != (events.Usage{}) {
		t.Errorf("a surface without calls: %+v, %v", none, err)
	}
}
