package surfaces

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// TestRollbackDoesNotUndoWhatItsBuilderHasNotSeen: a publication in between is
// kept.
func TestRollbackDoesNotUndoWhatItsBuilderHasNotSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	one := w.publish(w.alice, file("One"))
	two := w.publish(w.alice, file("Two"))
	w.publish(w.alice, file("Three"))
	for _, expect := range []string{two.Revision.Digest, one.Revision.Digest, ""} {
		_, err := w.service.Rollback(t.Context(), w.alice.actor(), w.alice.surface, RollbackRequest{Number: 1, Expect: &expect})
		if !fault.Is(err, fault.Conflict) || fault.From(err).Code != "live_moved" {
			t.Errorf("expecting %.12s: %v", expect, err)
		}
	}
	list, err := w.service.Revisions(t.Context(), w.alice.actor().Organization, w.alice.surface)
	if err != nil || !list[0].Live {
		t.Fatalf("the newest is not live any more: %v", err)
	}
	back, err := w.service.Rollback(t.Context(), w.alice.actor(), w.alice.surface, RollbackRequest{Number: 1, Expect: &list[0].Digest})
	if err != nil || back.Number != 1 || !back.Live {
		t.Errorf("rolled back to %+v, %v", back, err)
	}
}
