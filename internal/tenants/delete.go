package tenants

import (
	"context"
	"fmt"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// DeleteProject takes a project, its surfaces, revisions and snapshots away.
// confirm must be its slug. Its names and hosts stay claimed by the
// organization, so that nobody else is ever reached at a URL it had;
// invocations and the audit log stay for their own time.
func (s *Service) DeleteProject(ctx context.Context, p Principal, project, confirm string) error {
	a := &act{action: "project.delete", target: typedName(project)}
	return s.administer(ctx, p, a, func(q *db.Queries) error {
		if err := checkConfirm("project", project, confirm); err != nil {
			return err
		}
		gone, err := lockProject(ctx, q, p, project)
		if err != nil {
			return err
		}
		surfaces, err := q.LockSurfacesOfProject(ctx, db.LockSurfacesOfProjectParams{OrganizationID: p.Organization.ID, ProjectID: gone.ID})
		if err != nil {
			return fmt.Errorf("lock surfaces: %w", err)
		}
		a.target = gone.ID.String()
		a.detail = map[string]any{"slug": gone.Slug, "api_origin": gone.APIOrigin, "surfaces": len(surfaces)}
		for _, surface := range surfaces {
			if err := s.removeSurface(ctx, q, p, surface.ID); err != nil {
				return err
			}
		}
		return s.removeProject(ctx, q, p, gone.ID)
	})
}

func (s *Service) removeProject(ctx context.Context, q *db.Queries, p Principal, project id.Project) error {
	organization := p.Organization.ID
	if err := q.ClaimHostsOfProject(ctx, db.ClaimHostsOfProjectParams{OrganizationID: organization, ProjectID: project, Now: s.now()}); err != nil {
		return fmt.Errorf("claim hosts: %w", err)
	}
	if err := q.DeleteDomainsOfProject(ctx, db.DeleteDomainsOfProjectParams{OrganizationID: organization, ProjectID: project}); err != nil {
		return fmt.Errorf("delete domains: %w", err)
	}
	if err := q.DeleteSnapshotsOfProject(ctx, db.DeleteSnapshotsOfProjectParams{OrganizationID: organization, ProjectID: project}); err != nil {
		return fmt.Errorf("delete snapshots: %w", err)
	}
	err := q.ForgetProjectOfRegistrations(ctx, db.ForgetProjectOfRegistrationsParams{OrganizationID: organization, ProjectID: &project})
	if err != nil {
		return fmt.Errorf("forget project of registrations: %w", err)
	}
	if err := q.DeleteProjectLogo(ctx, db.DeleteProjectLogoParams{OrganizationID: organization, ProjectID: project}); err != nil {
		return fmt.Errorf("delete logo: %w", err)
	}
	if _, err := q.DeleteProject(ctx, db.DeleteProjectParams{OrganizationID: organization, ID: project}); err != nil {
		return fmt.Errorf("delete project: %w", err)
	}
	return nil
}

// DeleteSurface takes one surface, its revisions and its URLs away. confirm
// must be its name.
func (s *Service) DeleteSurface(ctx context.Context, p Principal, project, surface, confirm string) error {
	a := &act{action: "surface.delete", target: typedName(project, surface)}
	return s.administer(ctx, p, a, func(q *db.Queries) error {
		if err := checkConfirm("surface", surface, confirm); err != nil {
			return err
		}
		owner, gone, err := s.lockSurface(ctx, q, p, project, surface)
		if err != nil {
			return err
		}
		a.target = gone.ID.String()
		a.detail = map[string]any{"project": owner.ID.String(), "slug": gone.Slug, "live_revision": gone.LiveRevision}
		return s.removeSurface(ctx, q, p, gone.ID)
	})
}

func (s *Service) removeSurface(ctx context.Context, q *db.Queries, p Principal, surface id.Surface) error {
	organization := p.Organization.ID
	if err := q.ForgetLiveRevision(ctx, db.ForgetLiveRevisionParams{OrganizationID: organization, ID: surface, Now: s.now()}); err != nil {
		return fmt.Errorf("forget live revision: %w", err)
	}
	if _, err := q.DeleteRevisionsOfSurface(ctx, db.DeleteRevisionsOfSurfaceParams{OrganizationID: organization, SurfaceID: surface}); err != nil {
		return fmt.Errorf("delete revisions: %w", err)
	}
	if err := q.DeleteSurfaceURLs(ctx, db.DeleteSurfaceURLsParams{OrganizationID: organization, SurfaceID: surface}); err != nil {
		return fmt.Errorf("delete surface URLs: %w", err)
	}
	if _, err := q.DeleteSurface(ctx, db.DeleteSurfaceParams{OrganizationID: organization, ID: surface}); err != nil {
		return fmt.Errorf("delete surface: %w", err)
	}
	return nil
}

// checkConfirm compares what was typed to confirm with the name of what goes.
// It never repeats either: anything may be pasted there.
func checkConfirm(kind, name, confirm string) error {
	if confirm != name {
		return fault.New(fault.Invalid, "confirm_mismatch", "To delete the %s, type its name exactly.", kind).
			WithIssues(fault.Issue{Path: "confirm", Message: "want the " + kind + "'s name"})
	}
	return nil
}
