package events

import (
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// TestMoreStepsThanAreJoinedAtOnceAreOnLaterPages: none is lost or told twice.
func TestMoreStepsThanAreJoinedAtOnceAreOnLaterPages(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	org, surface := id.New[id.OrganizationKind](), id.New[id.SurfaceKind]()
	d.Exec(t, `insert into connection_steps (organization_id, id, at, surface_id, step, outcome, code, address, client_id, client_name, client_version, agent, request_id)
		select $1, gen_random_uuid(), timestamptz '2026-11-30 12:00Z' - (n / 7) * interval '1 second', $2, 'challenge', 'ok', '', '', '', '', '', '', ''
		from generate_series(1, 1030) n`, org.UUID(), surface.UUID())
	r, seen, cursor := &Reader{d.Store, 70}, map[id.Step]bool{}, ""
	for {
		page, err := r.Connections(t.Context(), org, surface, ConnectionFilter{}, cursor, 0, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page.Attempts {
			if seen[a.ID] {
				t.Fatalf("%s is told twice", a.ID)
			}
			seen[a.ID] = true
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 1030 {
		t.Errorf("%d of 1030", len(seen))
	}
}
