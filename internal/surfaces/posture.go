package surfaces

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/id"
)

// FindingSeverity grades a posture finding.
type FindingSeverity string

// The severities of posture findings. A serious one about something a surface
// file uses stops its publishing, unless it is overridden.
const (
	FindingSerious FindingSeverity = "serious"
	FindingWarning FindingSeverity = "warning"
)

// The kinds of posture findings.
const (
	FindingTableWithoutRLS = "table_without_rls"
	FindingViewDefiner     = "view_without_security_invoker"
	FindingFunctionDefiner = "security_definer_function"
	FindingGrantToAnon     = "grant_to_anon"
	FindingMissingIndex    = "missing_index"
	FindingOverloaded      = "overloaded_function"
)

// Finding is one thing about the project's database that its builder should
// know.
type Finding struct {
	ID       string          `json:"id"` // stable: kind:schema.object[:detail]
	Kind     string          `json:"kind"`
	Severity FindingSeverity `json:"severity"`
	Object   string          `json:"object"`  // schema.name
	Summary  string          `json:"summary"` // what, and what it means for callers
	SQL      string          `json:"sql"`     // that fixes it
	Used     bool            `json:"used"`    // a surface uses the object
}

// Posture finds what is risky in a snapshot: the serious first, then by
// object. used are the compiled surfaces over it; indexes are looked at for
// their orders and filters only.
func Posture(snap *Snapshot, used []*Compiled) []Finding { panic("not built") }

// Posture is Posture of the project's latest snapshot and live revisions, or
// fault.NotFound without a snapshot.
func (s *Service) Posture(ctx context.Context, org id.Organization, project id.Project) ([]Finding, error) {
	panic("not built")
}
