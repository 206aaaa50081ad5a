package tenants

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// RenameProject gives a project another slug. Every URL it had keeps serving
// as an alias; the new ones become primary. The old slug stays the
// organization's, and no other project's while it serves: renaming back always
// works.
func (s *Service) RenameProject(ctx context.Context, p Principal, project, slug string) (Project, error) {
	var renamed Project
	a := &act{action: "project.rename", target: typedName(project)}
	err := s.administer(ctx, p, a, func(q *db.Queries) error {
		if err := CheckProjectSlug(slug); err != nil {
			return err
		}
		before, err := lockProject(ctx, q, p, project)
		if err != nil {
			return err
		}
		a.target = before.ID.String()
		a.detail = map[string]any{"before": before.Slug, "after": slug}
		if before.Slug != slug {
			if err := s.moveProject(ctx, q, p, before, slug); err != nil {
				return err
			}
		}
		renamed, err = loadProject(ctx, q, p, slug)
		return err
	})
	return renamed, err
}

func (s *Service) moveProject(ctx context.Context, q *db.Queries, p Principal, before Project, slug string) error {
	if err := s.claimName(ctx, q, p, slug); err != nil {
		return err
	}
	_, err := q.SetProjectSlug(ctx, db.SetProjectSlugParams{OrganizationID: p.Organization.ID, ID: before.ID, Slug: slug, Now: s.now()})
	if isDuplicate(err) {
		return fault.New(fault.Conflict, "name_taken", "Your organization already has a project named %q. Take another name, or rename that one first.", slug)
	}
	if err != nil {
		return fmt.Errorf("set project slug: %w", err)
	}
	if err := refuseAlias(ctx, q, p, before.ID, slug); err != nil {
		return err
	}
	surfaces, err := q.LockSurfacesOfProject(ctx, db.LockSurfacesOfProjectParams{OrganizationID: p.Organization.ID, ProjectID: before.ID})
	if err != nil {
		return fmt.Errorf("lock surfaces: %w", err)
	}
	for _, surface := range surfaces {
		if err := s.addURLs(ctx, q, p, surface.ID, slug, surface.Slug); err != nil {
			return err
		}
	}
	err = q.KeepRootSurface(ctx, db.KeepRootSurfaceParams{
		OrganizationID: p.Organization.ID, Host: slug + labelSuffix, HostBefore: before.Slug + labelSuffix,
	})
	if err != nil {
		return fmt.Errorf("keep root surface: %w", err)
	}
	return nil
}

// refuseAlias refuses a slug under which another project of the organization
// still answers since it was renamed. Other organizations never get as far:
// the claim stops them.
func refuseAlias(ctx context.Context, q *db.Queries, p Principal, project id.Project, slug string) error {
	holder, err := q.ProjectServedAt(ctx, db.ProjectServedAtParams{OrganizationID: p.Organization.ID, ProjectID: project, Name: slug})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find project of name: %w", err)
	}
	return fault.New(fault.Conflict, "name_is_alias", "Your project %q still answers at the URLs of its earlier name %q. Take another name, or rename that project back.", holder, slug)
}

// RenameSurface gives a surface another name; its old URLs are aliases then.
func (s *Service) RenameSurface(ctx context.Context, p Principal, project, surface, slug string) (Surface, error) {
	var renamed Surface
	a := &act{action: "surface.rename", target: typedName(project, surface)}
	err := s.administer(ctx, p, a, func(q *db.Queries) error {
		if err := CheckSurfaceSlug(slug); err != nil {
			return err
		}
		owner, before, err := s.lockSurface(ctx, q, p, project, surface)
		if err != nil {
			return err
		}
		a.target = before.ID.String()
		a.detail = map[string]any{"before": before.Slug, "after": slug}
		if before.Slug != slug {
			if err := s.moveSurface(ctx, q, p, owner, before, slug); err != nil {
				return err
			}
		}
		renamed, err = s.loadSurface(ctx, q, p, owner.ID, slug)
		return err
	})
	return renamed, err
}

func (s *Service) moveSurface(ctx context.Context, q *db.Queries, p Principal, owner Project, before Surface, slug string) error {
	_, err := q.SetSurfaceSlug(ctx, db.SetSurfaceSlugParams{OrganizationID: p.Organization.ID, ID: before.ID, Slug: slug, Now: s.now()})
	if isDuplicate(err) {
		return fault.New(fault.Conflict, "name_taken", "The project already has a surface named %q. Take another name, or rename that one first.", slug)
	}
	if err != nil {
		return fmt.Errorf("set surface slug: %w", err)
	}
	return s.addURLs(ctx, q, p, before.ID, owner.Slug, slug)
}

// SetProjectName changes what people call a project.
func (s *Service) SetProjectName(ctx context.Context, p Principal, project, name string) (Project, error) {
	var named Project
	a := &act{action: "project.name", target: typedName(project)}
	err := s.change(ctx, p, a, func(q *db.Queries) error {
		if err := checkProjectName(name); err != nil {
			return err
		}
		before, err := loadProject(ctx, q, p, project)
		if err != nil {
			return err
		}
		a.target = before.ID.String()
		a.detail = map[string]any{"before": before.Name, "after": name}
		if _, err := q.SetProjectName(ctx, db.SetProjectNameParams{OrganizationID: p.Organization.ID, ID: before.ID, Name: name, Now: s.now()}); err != nil {
			return fmt.Errorf("set project name: %w", err)
		}
		named, err = loadProject(ctx, q, p, project)
		return err
	})
	return named, err
}

// lockProject finds a project and keeps everybody else from changing it, or
// what is under it, until the transaction ends.
func lockProject(ctx context.Context, q *db.Queries, p Principal, slug string) (Project, error) {
	project, err := loadProject(ctx, q, p, slug)
	if err != nil {
		return Project{}, err
	}
	_, err = q.LockProject(ctx, db.LockProjectParams{OrganizationID: p.Organization.ID, ID: project.ID})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Project{}, fmt.Errorf("lock project: %w", err)
	}
	return loadProject(ctx, q, p, slug) // as it is once the lock is ours
}

// lockSurface finds a surface of a locked project and locks it too, against
// publishing.
func (s *Service) lockSurface(ctx context.Context, q *db.Queries, p Principal, project, slug string) (Project, Surface, error) {
	owner, err := lockProject(ctx, q, p, project)
	if err != nil {
		return Project{}, Surface{}, err
	}
	surface, err := s.loadSurface(ctx, q, p, owner.ID, slug)
	if err != nil {
		return Project{}, Surface{}, err
	}
	if _, err := q.LockSurface(ctx, db.LockSurfaceParams{OrganizationID: p.Organization.ID, ID: surface.ID}); err != nil {
		return Project{}, Surface{}, fmt.Errorf("lock surface: %w", err)
	}
	return owner, surface, nil
}

// isDuplicate reports whether a unique index refused the statement.
func isDuplicate(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}
