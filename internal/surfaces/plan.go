package surfaces

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Plan is what publishing a file would do, without doing it.
type Plan struct {
	Built
	Live     *Revision // what is live now; nil for nothing
	Same     bool      // what the file compiles to is what is live
	Again    int       // number of an earlier revision with this digest, 0 for none: it would go live again
	Changes  []Change  // to what is live
	Class    ChangeClass
	Lines    []Line    // file diff to what is live
	Findings []Finding // posture findings about what the file uses
	Blocking []Finding // those of Findings that are serious: each needs an override
	Pinned   bool      // the surface is pinned: publishing would be refused
}

// Plan compiles a file as Publish would and compares it with what is live. A
// zero surface is one that does not exist yet. An empty src plans the draft.
func (s *Service) Plan(ctx context.Context, org id.Organization, project id.Project, surface id.Surface, src []byte, facts ProjectFacts) (Plan, error) {
	panic("not built")
}

// Override lets one serious finding pass, and says why. It is recorded with
// the revision and in the audit log.
type Override struct {
	Finding string `json:"finding"` // Finding.ID
	Reason  string `json:"reason"`  // 1 to 500 characters
}

// PublishRequest is what to publish, and what the publisher knows.
type PublishRequest struct {
	File      []byte // empty: the draft
	Facts     ProjectFacts
	Expect    *string // digest the publisher saw live ("" for nothing live); nil: whatever is live
	Overrides []Override
}

// Comparison is the difference between two revisions.
type Comparison struct {
	From, To Revision
	Changes  []Change
	Lines    []Line
}

// Compare compares two revisions of a surface by number.
func (s *Service) Compare(ctx context.Context, org id.Organization, surface id.Surface, from, to int) (Comparison, error) {
	panic("not built")
}

// Pin makes the revision of a digest (whole, or its first 12 or more hex
// digits) live and holds it there: publishing and rolling back are
// fault.Conflict until Unpin.
func (s *Service) Pin(ctx context.Context, by events.Actor, surface id.Surface, digest string) (Revision, error) {
	panic("not built")
}

// Unpin lets a surface be published again.
func (s *Service) Unpin(ctx context.Context, by events.Actor, surface id.Surface) error {
	panic("not built")
}

// Drift is how the project's latest snapshot differs from what the live
// revision was compiled against.
type Drift struct {
	Known   bool      // there is a live revision and a newer snapshot to compare
	Drifted bool      // something the live revision uses has changed
	Objects []string  // one line each: "customers.status: type text became customer_status"
	Broken  []Problem // why the live file would be refused today; it keeps serving
}

// Drift compares the live revision with the latest snapshot.
func (s *Service) Drift(ctx context.Context, org id.Organization, project id.Project, surface id.Surface, facts ProjectFacts) (Drift, error) {
	panic("not built")
}
