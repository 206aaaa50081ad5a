package surfaces

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/id"
)

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
