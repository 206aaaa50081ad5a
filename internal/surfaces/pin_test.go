package surfaces

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func wantCode(t *testing.T, err error, kind fault.Kind, code string) {
	t.Helper()
	if e := fault.From(err); err == nil || e.Kind != kind || e.Code != code {
		t.Errorf("error is %v, want %s %s", err, kind, code)
	}
}

func TestAPinnedSurfaceIsNeitherPublishedNorRolledBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	w.publish(w.alice, file("Two"))
	one, two := w.digest(w.alice, 1), w.digest(w.alice, 2)
	pinned, err := w.service.Pin(ctx, w.alice.actor(), w.alice.surface, strings.ToUpper(one[:12]))
	if err != nil || pinned.Number != 1 || !pinned.Live || pinned.Author != "alice@example.test" || w.live(w.alice) != 1 {
		t.Fatalf("pin: %+v, %v", pinned, err)
	}
	_, err = w.service.Publish(ctx, w.alice.actor(), w.alice.surface, PublishRequest{File: []byte(file("Three")), Facts: known()})
	wantCode(t, err, fault.Conflict, "pinned")
	if message := fault.From(err).Message; !strings.Contains(message, "revision 1") || !strings.Contains(message, one[:12]) {
		t.Errorf("message: %s", message)
	}
	_, err = w.service.Rollback(ctx, w.alice.actor(), w.alice.surface, RollbackRequest{Number: 2})
	wantCode(t, err, fault.Conflict, "pinned")
	_, err = w.service.Rollback(ctx, w.alice.actor(), w.alice.surface, RollbackRequest{Digest: two})
	wantCode(t, err, fault.Conflict, "pinned")
	_, err = w.service.Pin(ctx, w.alice.actor(), w.alice.surface, two)
	wantCode(t, err, fault.Conflict, "pinned")
	if _, err := w.service.Pin(ctx, w.alice.actor(), w.alice.surface, one); err != nil {
		t.Errorf("pin what is pinned: %v", err)
	}
	plan, err := w.service.Plan(ctx, w.alice.org, w.alice.project, w.alice.surface, []byte(file("Three")), known())
	if err != nil || !plan.Pinned {
		t.Errorf("plan: %+v, %v", plan, err)
	}
	for range 2 {
		if err := w.service.Unpin(ctx, w.alice.actor(), w.alice.surface); err != nil {
			t.Fatalf("unpin: %v", err)
		}
	}
	if w.publish(w.alice, file("Three")).Revision.Number != 3 {
		t.Error("not published after unpinning")
	}
	if detail := w.audited(actPin, "ok"); detail["digest"] != one || detail["revision"] != 1.0 {
		t.Errorf("pin in the audit log: %v", detail)
	}
	if detail := w.audited(actPin, "refused"); detail["code"] != "pinned" {
		t.Errorf("refusal in the audit log: %v", detail)
	}
	var unpins int
	if err := w.admin().QueryRow(ctx, "select count(*) from chumbo.audit_events where action = 'surface.unpin'").Scan(&unpins); err != nil || unpins != 1 {
		t.Errorf("%d unpins in the audit log, %v", unpins, err)
	}
}

func TestADigestNamesARevisionByTwelveDigitsOrMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	w.publish(w.alice, file("Two"))
	one := w.digest(w.alice, 1)
	for _, digest := range []string{one, one[:12], " " + one[:20] + "\n"} {
		if r, err := w.service.Rollback(ctx, w.alice.actor(), w.alice.surface, RollbackRequest{Digest: digest}); err != nil || r.Number != 1 {
			t.Errorf("%q: %+v, %v", digest, r, err)
		}
	}
	for _, digest := range []string{"", one[:11], one + "0", one[:11] + "%", one[:12] + "_", "'; select 1; --"} {
		_, err := w.service.Rollback(ctx, w.alice.actor(), w.alice.surface, RollbackRequest{Digest: digest})
		wantCode(t, err, fault.Invalid, "digest")
	}
	_, err := w.service.Pin(ctx, w.alice.actor(), w.alice.surface, strings.Repeat("0", 12))
	wantCode(t, err, fault.NotFound, "no_revision")
	w.db.Exec(t, "update revisions set digest = decode(repeat('ab', 31) || lpad(number::text, 2, '0'), 'hex')")
	_, err = w.service.Rollback(ctx, w.alice.actor(), w.alice.surface, RollbackRequest{Digest: strings.Repeat("ab", 8)})
	wantCode(t, err, fault.Conflict, "ambiguous_digest")
	if r, err := w.service.Rollback(ctx, w.alice.actor(), w.alice.surface, RollbackRequest{Digest: strings.Repeat("ab", 31) + "02"}); err != nil || r.Number != 2 {
		t.Errorf("whole: %+v, %v", r, err)
	}
}

func TestARevisionOfANewerVersionDoesNotGoLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	w.publish(w.alice, file("Two"))
	w.db.Exec(t, "update revisions set format = 99, compiled = 'other' where number = 1")
	_, err := w.service.Rollback(ctx, w.alice.actor(), w.alice.surface, RollbackRequest{Number: 1})
	wantCode(t, err, fault.Conflict, "newer_format")
	_, err = w.service.Pin(ctx, w.alice.actor(), w.alice.surface, w.digest(w.alice, 1))
	wantCode(t, err, fault.Conflict, "newer_format")
	c, err := w.service.Compare(ctx, w.alice.org, w.alice.surface, 1, 2)
	if err != nil || len(c.Changes) != 1 || c.Changes[0].Class != ChangeBehaviour || len(c.Lines) == 0 {
		t.Errorf("compare: %+v, %v", c, err)
	}
	w.db.Exec(t, "update surfaces set live_revision = 1 where live_revision = 2")
	if done := w.publish(w.alice, file("Three")); done.Revision.Class != ChangeBehaviour || !strings.Contains(done.Revision.Summary, "newer version") {
		t.Errorf("over what cannot be read: %+v", done)
	}
}
