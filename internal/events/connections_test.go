package events_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// record writes the stories as a server does.
func record(t *testing.T, store *db.Store, org id.Organization, surface id.Surface, stories ...*story) {
	t.Helper()
	r := events.NewSteps(store, slog.New(slog.DiscardHandler))
	for _, s := range stories {
		for _, step := range s.steps {
			step.Organization, step.Surface = org, surface
			r.Record(step.Step)
		}
	}
	if err := r.Close(t.Context()); err != nil || r.Dropped() != 0 {
		t.Fatalf("close: %v, %d dropped", err, r.Dropped())
	}
}

func reader(t *testing.T, store *db.Store) *events.Reader {
	t.Helper()
	r, err := events.NewReader(store)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConnectionsOfAliceAndBobAreReadApart(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	alice, bob := id.New[id.OrganizationKind](), id.New[id.OrganizationKind]()
	hers, his, other := id.New[id.SurfaceKind](), id.New[id.SurfaceKind](), id.New[id.SurfaceKind]()
	record(t, store, alice, hers, desktop(noon, 1, "client-a"))
	record(t, store, alice, other, desktop(noon, 1, "client-c"))
	record(t, store, bob, his, desktop(noon, 1, "client-b"))
	r := reader(t, store)
	for _, c := range []struct {
		org     id.Organization
		surface id.Surface
		client  string // the only one; empty for none
	}{{alice, hers, "client-a"}, {bob, his, "client-b"}, {alice, other, "client-c"}, {alice, his, ""}, {bob, hers, ""}} {
		page, err := r.Connections(t.Context(), c.org, c.surface, events.ConnectionFilter{}, "", 0, noon.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if c.client == "" && len(page.Attempts) != 0 || c.client != "" && (len(page.Attempts) != 1 || page.Attempts[0].Client != c.client || len(page.Attempts[0].Steps) != 9) {
			t.Errorf("%q: %+v", c.client, page)
		}
		sum, err := r.ConnectionSummary(t.Context(), c.org, c.surface, noon.Add(-time.Hour), noon.Add(time.Hour))
		if err != nil || (sum.Connected == 1) != (c.client != "") {
			t.Errorf("%q: %+v, %v", c.client, sum, err)
		}
	}
}

func TestConnectionsAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	org, surface := id.New[id.OrganizationKind](), id.New[id.SurfaceKind]()
	var stories []*story
	for n := range 130 {
		s := desktop(noon.Add(time.Duration(n)*time.Minute), byte(n+1), fmt.Sprintf("client-%03d", n))
		if n%2 == 0 {
			s.steps = s.steps[:7]
			s.add(events.StepToken, func(st *events.Step) {
				from(byte(n+1), fmt.Sprintf("client-%03d", n))(st)
				st.SignIn, st.Failed, st.Code, st.ClientName = s.steps[4].SignIn, true, "invalid_grant", "Broken"
			})
		}
		stories = append(stories, s)
	}
	record(t, store, org, surface, stories...)
	r, now := reader(t, store), noon.Add(5*time.Hour)
	all := func(f events.ConnectionFilter) (clients []string, pages int) {
		for cursor := ""; ; pages++ {
			page, err := r.Connections(t.Context(), org, surface, f, cursor, 0, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range page.Attempts {
				clients = append(clients, a.Client)
			}
			if cursor = page.Next; cursor == "" {
				return clients, pages + 1
			}
		}
	}
	every, pages := all(events.ConnectionFilter{})
	if len(every) != 130 || pages != 3 || every[0] != "client-129" || every[129] != "client-000" || !slices.IsSortedFunc(every, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("%d attempts on %d pages: %v", len(every), pages, every)
	}
	if failed, _ := all(events.ConnectionFilter{State: events.AttemptFailed}); len(failed) != 65 || failed[0] != "client-128" {
		t.Errorf("failed: %v", failed)
	}
	if one, _ := all(events.ConnectionFilter{Client: "client-007"}); len(one) != 1 {
		t.Errorf("one client: %v", one)
	}
	if named, _ := all(events.ConnectionFilter{Client: "broken"}); len(named) != 65 {
		t.Errorf("by name: %d", len(named))
	}
	if recent, _ := all(events.ConnectionFilter{Since: noon.Add(120*time.Minute + 30*time.Second)}); len(recent) != 9 {
		t.Errorf("since: %v", recent)
	}
	sum, err := r.ConnectionSummary(t.Context(), org, surface, noon, now)
	if err != nil || sum.Connected != 65 || sum.Failed != 65 || sum.Newest == nil || sum.Newest.Client != "client-128" || sum.Newest.Broke == nil {
		t.Errorf("summary: %+v, %v", sum, err)
	}
	for _, cursor := range []string{"x", "AAAA", strings.Repeat("A", 43), strings.Repeat("_", 43)} {
		if _, err := r.Connections(t.Context(), org, surface, events.ConnectionFilter{}, cursor, 0, now); !fault.Is(err, fault.Invalid) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

func TestRetentionDeletesOldSteps(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	org, surface, now := id.New[id.OrganizationKind](), id.New[id.SurfaceKind](), noon.Add(90*24*time.Hour)
	for _, days := range []int{1, 20, 29, 31, 60} {
		record(t, store, org, surface, (&story{at: now.AddDate(0, 0, -days)}).add(events.StepChallenge, nil))
	}
	for _, c := range []struct {
		keep time.Duration // of invocations
		left int
	}{{90 * 24 * time.Hour, 3}, {25 * 24 * time.Hour, 2}} {
		worker, err := events.NewRetentionWorker(store, c.keep, func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		if err := worker.Work(t.Context(), &river.Job[events.RetentionArgs]{}); err != nil {
			t.Fatal(err)
		}
		page, err := reader(t, store).Connections(t.Context(), org, surface, events.ConnectionFilter{}, "", 0, now)
		if err != nil || len(page.Attempts) != c.left {
			t.Errorf("%d steps are left, %v, want %d", len(page.Attempts), err, c.left)
		}
	}
}

func TestStrangeTextOfAClientLosesNoBatch(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	org, surface := id.New[id.OrganizationKind](), id.New[id.SurfaceKind]()
	s := (&story{at: noon}).add(events.StepRegistration, func(st *events.Step) {
		st.Client, st.ClientName, st.Agent = strings.Repeat("c", 3000), "a\x00b\xff", strings.Repeat("é", 300)
	})
	record(t, store, org, surface, s)
	page, err := reader(t, store).Connections(t.Context(), org, surface, events.ConnectionFilter{}, "", 0, noon)
	if err != nil || len(page.Attempts) != 1 || page.Attempts[0].ClientName != "ab" || len(page.Attempts[0].Client) != 500 || len(page.Attempts[0].Agent) != 120 {
		t.Errorf("%+v, %v", page, err)
	}
}
