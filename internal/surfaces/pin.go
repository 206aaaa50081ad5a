package surfaces

import (
	"context"
	"fmt"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Pin makes the revision of a digest (whole, or its first 12 or more hex
// digits) live and holds it there: publishing and rolling back are
// fault.Conflict until Unpin. Pinning what is pinned changes nothing. Errors:
// fault.NotFound (surface or revision), fault.Invalid (no digest),
// fault.Conflict ambiguous_digest, newer_format, or pinned (to another one).
func (s *Service) Pin(ctx context.Context, by events.Actor, surface id.Surface, digest string) (Revision, error) {
	var r Revision
	err := s.change(ctx, by, actPin, surface.String(), func(q *db.Queries) (map[string]any, error) {
		row, err := lock(ctx, q, by.Organization, surface)
		if err != nil {
			return nil, err
		}
		live, err := published(ctx, q, by.Organization, surface, row.LiveRevision)
		if err != nil {
			return nil, err
		}
		if r, err = revisionByDigest(ctx, q, by.Organization, surface, digest); err != nil {
			return nil, err
		}
		if r.Digest != live.digest() {
			if err := refusePinned(row, live); err != nil {
				return nil, err
			}
		}
		detail, err := s.goBack(ctx, q, by, row.ProjectID, live, &r)
		if err != nil {
			return nil, err
		}
		_, err = q.PinSurface(ctx, db.PinSurfaceParams{OrganizationID: by.Organization, SurfaceID: surface, PinnedBy: builder(by), Now: s.now()})
		if err != nil {
			return nil, fmt.Errorf("pin surface: %w", err)
		}
		return detail, nil
	})
	if err != nil {
		return Revision{}, err
	}
	return r, s.nameAuthors(ctx, by.Organization, &r)
}

// Unpin lets a surface be published again. One that is not pinned stays so.
// Errors: fault.NotFound (surface).
func (s *Service) Unpin(ctx context.Context, by events.Actor, surface id.Surface) error {
	return s.change(ctx, by, actUnpin, surface.String(), func(q *db.Queries) (map[string]any, error) {
		row, err := lock(ctx, q, by.Organization, surface)
		if err != nil || row.PinnedAt == nil {
			return nil, err
		}
		live, err := published(ctx, q, by.Organization, surface, row.LiveRevision)
		if err != nil {
			return nil, err
		}
		_, err = q.UnpinSurface(ctx, db.UnpinSurfaceParams{OrganizationID: by.Organization, SurfaceID: surface, Now: s.now()})
		if err != nil {
			return nil, fmt.Errorf("unpin surface: %w", err)
		}
		return map[string]any{"digest": live.digest()}, nil
	})
}
