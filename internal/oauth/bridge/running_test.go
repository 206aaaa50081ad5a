package bridge

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
)

// A call under way ends when its grant is taken away, on whichever server it
// runs, and no other call does.
func TestRevokingEndsTheCallsUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.replica(t)
	c, theirs := w.connected(t, w.ep, alice, "claude"), w.connected(t, w.ep, bob, "cursor")
	run := func(server *world, grant id.Grant) (ended chan struct{}, done func() bool) {
		ended = make(chan struct{})
		return ended, server.service.Running(server.ep.Organization, grant, func() { close(ended) })
	}
	var calls []chan struct{}
	var dones []func() bool
	for _, server := range []*world{w, w, second} {
		ended, done := run(server, c.issued.grant)
		calls, dones = append(calls, ended), append(dones, done)
	}
	over, overDone := run(w, c.issued.grant)
	if overDone() {
		t.Error("a call that ended in peace says it was revoked")
	}
	bobs, bobsDone := run(second, theirs.issued.grant)
	heard := func(server *world) { // both hear by now
		server.admitted(t, w.ep, w.access(t, c))
		eventually(t, "the server listens", func() bool {
			known, ok := server.service.standing.grants.GetIfPresent(grantKey{w.ep.Organization, c.issued.grant})
			server.admitted(t, w.ep, w.access(t, c))
			again, _ := server.service.standing.grants.GetIfPresent(grantKey{w.ep.Organization, c.issued.grant})
			return ok && known == again
		})
	}
	heard(w)
	heard(second)
	if err := w.service.Narrow(t.Context(), c.who, c.issued.grant, true, everything); err != nil {
		t.Fatal(err)
	}
	select {
	case <-calls[0]:
		t.Fatal("narrowing ended a call")
	case <-time.After(50 * time.Millisecond):
	}
	if err := w.service.Revoke(t.Context(), c.who, c.issued.grant); err != nil {
		t.Fatal(err)
	}
	for i, ended := range calls {
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Fatalf("call %d goes on", i)
		}
		if !dones[i]() {
			t.Errorf("call %d was not told why", i)
		}
	}
	select {
	case <-over:
		t.Error("a call that had ended was cancelled")
	case <-bobs:
		t.Error("Bob's call was cancelled")
	default:
	}
	if bobsDone() || len(w.service.running.calls) != 0 || len(second.service.running.calls) != 0 {
		t.Error("calls are still registered")
	}
}

// When hearing begins anew anything may have happened meanwhile.
func TestCallsAreCheckedWhenHearingBeginsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	var ended atomic.Bool
	done := w.service.Running(w.ep.Organization, c.issued.grant, func() { ended.Store(true) })
	w.Exec(t, "alter table grants disable trigger grants_notify")
	w.Exec(t, "update grants set revoked_at = now(), revoked_why = 'by_user'")
	w.service.running.heard(w.service, "")
	eventually(t, "the call ends", ended.Load)
	if !done() {
		t.Error("not told why")
	}
}

// Between the admission of a call and its registration the grant can be taken
// away: the notice names a grant that has no call yet.
func TestACallThatRegistersAfterTheNoticeEndsToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	token := w.access(t, c)
	w.admitted(t, w.ep, token)
	if err := w.service.Revoke(t.Context(), c.who, c.issued.grant); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the notice is heard", func() bool {
		_, err := w.service.Admit(t.Context(), w.ep, token)
		return err != nil
	})
	var ended atomic.Bool
	done := w.service.Running(w.ep.Organization, c.issued.grant, func() { ended.Store(true) })
	eventually(t, "the call ends", ended.Load)
	if !done() {
		t.Error("not told why")
	}
}
