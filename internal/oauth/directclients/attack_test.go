package directclients

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/id"
)

// TestProjectsThatNeverAnswerTakeNobodysPlace: whoever has some projects whose
// Auth is slow on purpose must not keep the ends of other projects' sessions
// from being noticed.
func TestProjectsThatNeverAnswerTakeNobodysPlace(t *testing.T) {
	t.Parallel()
	n, err := newSessions()
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		slow := id.New[id.ProjectKind]()
		for range questionsOfProject + 1 {
			n.enter(slow)
		}
	}
	if !n.enter(id.New[id.ProjectKind]()) {
		t.Error("another project is not asked any more")
	}
	if n.running != 200*questionsOfProject+1 {
		t.Errorf("%d questions at once", n.running)
	}
}
