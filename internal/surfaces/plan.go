package surfaces

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Plan is what publishing a file would do, without doing it.
type Plan struct {
	Built
	Live     *Revision   // what is live now; nil for nothing
	Same     bool        // what the file compiles to is what is live
	Again    int         // number of another revision with this digest, 0 for none: it would go live again
	Changes  []Change    // to what is live; none for a refused file
	Class    ChangeClass // of Changes; empty for a refused file
	Lines    []Line      // file diff to what is live
	Findings []Finding   // posture findings about what the file uses
	Blocking []Finding   // those of Findings that are serious: each needs an override
	Pinned   bool        // the surface is pinned: publishing would be refused
}

// Plan compiles a file as Publish would and compares it with what is live. A
// zero surface is one that does not exist yet. An empty src plans the draft.
// Errors: fault.NotFound (project; surface, also of another project),
// fault.Conflict no_draft. A refused file is a plan without Compiled.
func (s *Service) Plan(ctx context.Context, org id.Organization, project id.Project, surface id.Surface, src []byte, facts ProjectFacts) (Plan, error) {
	var plan Plan
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		var row db.GetSurfaceForBuildRow
		var err error
		if surface.IsZero() {
			err = mustHaveProject(ctx, q, org, project)
		} else {
			row, err = surfaceOf(ctx, q, org, project, surface)
		}
		if err != nil {
			return err
		}
		live, err := published(ctx, q, org, surface, row.LiveRevision)
		if err != nil {
			return err
		}
		if src, err = fileOrDraft(src, row.Draft); err != nil {
			return err
		}
		built, snapshot, err := build(ctx, q, org, project, surface, src, facts)
		if err != nil {
			return err
		}
		plan = Plan{Built: built, Lines: DiffLines(live.text(), string(src)), Pinned: row.PinnedAt != nil}
		if live != nil {
			plan.Live = &live.Revision
		}
		if built.Compiled == nil {
			return nil
		}
		plan.Same = built.Digest == live.digest()
		plan.Changes = live.changes(built.Compiled)
		plan.Class = live.class(plan.Changes)
		plan.Findings, plan.Blocking = risks(snapshot.Snapshot, built.Compiled)
		if !plan.Same {
			plan.Again, err = numberOf(ctx, q, org, surface, built.Digest)
		}
		return err
	})
	if err != nil || plan.Live == nil {
		return plan, err
	}
	return plan, s.nameAuthors(ctx, org, plan.Live)
}

// numberOf is the number of the revision with that digest, or 0.
func numberOf(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface, digest string) (int, error) {
	row, err := q.GetRevisionByDigest(ctx, db.GetRevisionByDigestParams{OrganizationID: org, SurfaceID: surface, Digest: unhex(digest)})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find revision: %w", err)
	}
	return int(row.Number), nil
}

// surfaceOf is surfaceRow of a surface that must belong to the project.
func surfaceOf(ctx context.Context, q *db.Queries, org id.Organization, project id.Project, surface id.Surface) (db.GetSurfaceForBuildRow, error) {
	row, err := surfaceRow(ctx, q, org, surface)
	if err == nil && row.ProjectID != project {
		return row, noSurface()
	}
	return row, err
}

// Comparison is the difference between two revisions.
type Comparison struct {
	From, To Revision
	Changes  []Change
	Lines    []Line
}

// Compare compares two revisions of a surface by number: what going from one to
// the other changes for clients. Errors: fault.NotFound (surface or revision).
func (s *Service) Compare(ctx context.Context, org id.Organization, surface id.Surface, from, to int) (Comparison, error) {
	var c Comparison
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		if _, err := surfaceRow(ctx, q, org, surface); err != nil {
			return err
		}
		before, err := numbered(ctx, q, org, surface, from)
		if err != nil {
			return err
		}
		after, err := numbered(ctx, q, org, surface, to)
		if err != nil {
			return err
		}
		c = Comparison{From: before.Revision, To: after.Revision, Changes: before.changes(after.compiled), Lines: DiffLines(before.file, after.file)}
		return nil
	})
	if err != nil {
		return Comparison{}, err
	}
	return c, s.nameAuthors(ctx, org, &c.From, &c.To)
}

func numbered(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface, number int) (*publication, error) {
	if number < 1 || number > 1<<31-1 {
		return nil, noRevision()
	}
	n := int32(number)
	return published(ctx, q, org, surface, &n)
}
