package surfaces

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Drift is how the project's latest snapshot differs from what the live
// revision was compiled against.
type Drift struct {
	Known   bool      // there are a live revision and both snapshots to compare
	Why     string    // one sentence, when not Known
	Drifted bool      // something the live revision uses has changed
	Objects []string  // one line each: "customers.status: type text became customer_status"
	Broken  []Problem // why the live file would be refused today; it keeps serving
}

// Drift compares the live revision with the latest snapshot: what it uses as it
// was and as it is, rights and Row Level Security included, and whether its
// file would still be accepted. Errors: fault.NotFound (surface, also of
// another project).
func (s *Service) Drift(ctx context.Context, org id.Organization, project id.Project, surface id.Surface, facts ProjectFacts) (Drift, error) {
	var d Drift
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		row, err := surfaceOf(ctx, q, org, project, surface)
		if err != nil {
			return err
		}
		live, err := published(ctx, q, org, surface, row.LiveRevision)
		if err != nil {
			return err
		}
		if live == nil {
			d.Why = "Nothing is published."
			return nil
		}
		built, now, err := build(ctx, q, org, project, surface, []byte(live.file), facts)
		if err != nil {
			return err
		}
		for _, p := range built.Problems {
			if p.Severity == SeverityError {
				d.Broken = append(d.Broken, p)
			}
		}
		if d.Why = incomparable(live, now); d.Why != "" {
			return nil
		}
		old, err := snapshotOf(ctx, q, org, project, live.SchemaDigest)
		if err != nil {
			return err
		}
		if old.Snapshot == nil {
			d.Why = fmt.Sprintf("The schema that revision %d was compiled against is not kept any more. Publish again to compare from now on.", live.Number)
			return nil
		}
		d.Known, d.Objects = true, moves(old.Snapshot, now.Snapshot, live.compiled)
		d.Drifted = len(d.Objects) > 0
		return nil
	})
	if err != nil {
		return Drift{}, err
	}
	return d, nil
}

// incomparable says why there is nothing to compare.
func incomparable(live *publication, now StoredSnapshot) string {
	switch {
	case live.compiled == nil:
		return "What is live was published by a newer version of Chumbo."
	case now.Snapshot == nil:
		return "This project's schema is not imported yet. Run chumbo import."
	case live.SchemaDigest == "":
		return "What is live was compiled without a schema."
	}
	return ""
}

// snapshotOf is the project's snapshot of that digest, zero where it is not
// kept.
func snapshotOf(ctx context.Context, q *db.Queries, org id.Organization, project id.Project, digest string) (StoredSnapshot, error) {
	row, err := q.GetSchemaSnapshot(ctx, db.GetSchemaSnapshotParams{OrganizationID: org, ProjectID: project, Digest: unhex(digest)})
	if errors.Is(err, pgx.ErrNoRows) {
		return StoredSnapshot{}, nil
	}
	if err != nil {
		return StoredSnapshot{}, fmt.Errorf("get schema snapshot: %w", err)
	}
	return storedOf(db.GetLatestSchemaSnapshotRow(row))
}
