package bridge

import (
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

func (w *world) sweep(t testing.TB) Swept {
	t.Helper()
	done, err := w.service.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (w *world) rows(t testing.TB, table string) (n int) {
	t.Helper()
	w.query(t, &n, "select count(*) from "+table)
	return n
}

func TestTheSweepKeepsWhatCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	short := &connection{who: w.signedIn(t, w.ep, bob), client: w.client(t, w.ep, "short", callback), ep: w.ep}
	short.issued = w.exchanged(t, short, Answer{Allow: true, Lifetime: 24 * time.Hour})
	w.client(t, w.ep, "unused", callback)
	w.visited(t, w.ep, bob)
	w.signedIn(t, w.ep, alice) // and never went on
	w.Exec(t, "insert into used_states values ($1, 'x', $2)", w.ep.Organization.UUID(), w.clock.Now().Add(time.Minute))
	w.Exec(t, "insert into bridge_limits values ('k', $1, 1)", w.clock.Now())
	w.Exec(t, "insert into approvals values ($1, 'x', $2, 'u', 'i', 's', gen_random_uuid(), '1', '1', '', 'pending', $3, null, $3)", w.ep.Organization.UUID(), w.ep.Surface.UUID(), w.clock.Now().Add(time.Minute))
	if done := w.sweep(t); done != (Swept{}) {
		t.Errorf("swept at once: %+v", done)
	}
	sessions := w.project.Sessions(alice)
	w.clock.Advance(2 * time.Hour)
	if done := w.sweep(t); done.SignedOut != 1 || w.project.Sessions(alice) != sessions-1 {
		t.Errorf("after two hours: %+v", done)
	}
	if w.rows(t, "used_states") != 0 || w.rows(t, "approvals") != 0 || w.rows(t, "bridge_limits") != 0 || w.rows(t, "sign_ins") != 2 {
		t.Error("what has run out is left, or what has not is gone")
	}
	w.clock.Advance(23 * time.Hour)
	if done := w.sweep(t); done.Expired != 1 || w.why(t, short) != revokedExpired || w.why(t, c) != "" {
		t.Errorf("after a day: %+v", done)
	}
	w.clock.Advance(24 * time.Hour)
	w.sweep(t)
	if w.rows(t, "sign_ins") != 0 || w.rows(t, "end_user_sessions") != 0 {
		t.Error("sign-ins or visits are left")
	}
	w.clock.Advance(7 * 24 * time.Hour)
	w.sweep(t)
	var clients string
	w.query(t, &clients, "select string_agg(name, ' ') from oauth_clients")
	if clients != "claude" {
		t.Errorf("clients %s", clients)
	}
	if _, err := w.refreshed(t, c, c.issued.refresh); err != nil {
		t.Errorf("the connection: %v", err)
	}
	w.clock.Advance(80 * 24 * time.Hour)
	w.sweep(t)
	w.clock.Advance(40 * 24 * time.Hour)
	w.sweep(t)
	if w.rows(t, "grants") != 2 || w.rows(t, "refresh_chains") != 0 || w.rows(t, "upstream_sessions") != 2 {
		t.Errorf("%d grants, %d chains, %d sessions", w.rows(t, "grants"), w.rows(t, "refresh_chains"), w.rows(t, "upstream_sessions"))
	}
	if w.rows(t, "signing_keys") == 0 {
		t.Error("the keys do not take turns")
	}
	worker, err := NewSweepWorker(w.service)
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Work(t.Context(), &river.Job[SweepArgs]{JobRow: &rivertype.JobRow{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := NewSweepWorker(nil); err == nil {
		t.Error("a worker without a service")
	}
}
