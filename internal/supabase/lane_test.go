package supabase

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/id"
)

// A part of a project's share that was named counts apart, and projects never
// share one.
func TestLanesAreTheProjectsOrNamed(t *testing.T) {
	t.Parallel()
	p := Project{ID: id.New[id.ProjectKind]()}
	if lane(p) != p.ID.String() {
		t.Errorf("lane %q", lane(p))
	}
	if p.Lane = "sessions:" + p.ID.String(); lane(p) != p.Lane {
		t.Errorf("lane %q", lane(p))
	}
}
