package surfaces

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// RollbackRequest is which revision to make live again, and what its builder
// knows.
type RollbackRequest struct {
	Number int     // of the revision; 0: by Digest
	Digest string  // whole, or its first 12 or more hex digits
	Expect *string // digest the builder saw live; nil: whatever is live
}

// Rollback makes an earlier revision live again; the draft stays. It is the way
// back in an emergency, so serious findings do not stop it: the audit log names
// them. Errors: fault.NotFound (surface or revision), fault.Invalid (no
// digest), fault.Conflict pinned, live_moved, ambiguous_digest and
// newer_format.
func (s *Service) Rollback(ctx context.Context, by events.Actor, surface id.Surface, req RollbackRequest) (Revision, error) {
	var r Revision
	err := s.change(ctx, by, actRollback, surface.String(), func(q *db.Queries) (map[string]any, error) {
		row, err := lock(ctx, q, by.Organization, surface)
		if err != nil {
			return nil, err
		}
		live, err := published(ctx, q, by.Organization, surface, row.LiveRevision)
		if err != nil {
			return nil, err
		}
		if err := refusePinned(row, live); err != nil {
			return nil, err
		}
		if req.Expect != nil && (live == nil || live.Digest != *req.Expect) {
			return nil, fault.New(fault.Conflict, "live_moved", "Nothing was changed: another revision went live since you looked. Look again, then roll back.")
		}
		if req.Number != 0 {
			r, err = revisionByNumber(ctx, q, by.Organization, surface, req.Number)
		} else {
			r, err = revisionByDigest(ctx, q, by.Organization, surface, req.Digest)
		}
		if err != nil {
			return nil, err
		}
		return s.goBack(ctx, q, by, row.ProjectID, live, &r)
	})
	if err != nil {
		return Revision{}, err
	}
	return r, s.nameAuthors(ctx, by.Organization, &r)
}

// goBack is goLive of a revision that was published before, where this version
// can serve it.
func (s *Service) goBack(ctx context.Context, q *db.Queries, by events.Actor, project id.Project, live *publication, r *Revision) (map[string]any, error) {
	if !KnownFormat(r.Format) {
		return nil, fault.New(fault.Conflict, "newer_format", "Revision %d was published by a newer version of Chumbo. Publish its file again.", r.Number)
	}
	number := int32(r.Number)
	target, err := published(ctx, q, by.Organization, r.Surface, &number)
	if err != nil {
		return nil, err
	}
	stored, err := latest(ctx, q, by.Organization, project)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	detail, err := s.goLive(ctx, q, by, live, r)
	if err != nil {
		return nil, err
	}
	if _, blocking := risks(stored.Snapshot, target.compiled); len(blocking) > 0 {
		findings := make([]string, len(blocking))
		for i, f := range blocking {
			findings[i] = f.ID
		}
		detail["findings"] = findings
	}
	return detail, nil
}
