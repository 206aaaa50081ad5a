package tenants

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// EnsureSurface returns the project's surface of that name, and makes it, with
// its URLs, where there is none. Asking again changes nothing, except that
// URLs which the configuration has since gained are added: with a surface
// domain, the host form, which becomes primary.
func (s *Service) EnsureSurface(ctx context.Context, p Principal, project, slug string) (Surface, error) {
	have, err := s.Surface(ctx, p, project, slug)
	if err == nil && s.complete(have, project) {
		return have, nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Surface{}, err
	}
	var surface Surface
	a := &act{action: "surface.create", target: typedName(project, slug)}
	err = s.change(ctx, p, a, func(q *db.Queries) error {
		if err := CheckSurfaceSlug(slug); err != nil {
			return err
		}
		owner, err := lockProject(ctx, q, p, project) // so that it is not renamed meanwhile
		if err != nil {
			return err
		}
		inserted, err := q.InsertSurface(ctx, db.InsertSurfaceParams{
			OrganizationID: p.Organization.ID, ID: id.New[id.SurfaceKind](), ProjectID: owner.ID, Slug: slug, Now: s.now(),
		})
		if err != nil {
			return fmt.Errorf("insert surface: %w", err)
		}
		if inserted == 0 {
			a.action = "surface.update"
		}
		row, err := q.GetSurfaceBySlug(ctx, db.GetSurfaceBySlugParams{OrganizationID: p.Organization.ID, ProjectID: owner.ID, Slug: slug})
		if err != nil {
			return fmt.Errorf("load surface: %w", err)
		}
		a.target = row.ID.String()
		if err := s.addURLs(ctx, q, p, row.ID, project, slug); err != nil {
			return err
		}
		surface, err = s.loadSurface(ctx, q, p, owner.ID, slug)
		return err
	})
	return surface, err
}

// place is a URL as surface_urls stores it.
type place struct{ host, path string }

// placesOf lists where a surface is to be reached, the primary last.
func (s *Service) placesOf(project, slug string) []place {
	inHost := "/" + slug + "/mcp"
	if slug == MainSurface {
		inHost = "/mcp"
	}
	places := []place{{sharedHost, "/" + project + inHost}}
	if s.hosts.domain != "" {
		places = append(places, place{project + labelSuffix, inHost})
	}
	return places
}

// complete reports whether a surface has every URL it is to have.
func (s *Service) complete(surface Surface, project string) bool {
	for _, want := range s.placesOf(project, surface.Slug) {
		found := false
		for _, base := range s.hosts.basesOf(want.host) {
			for _, have := range surface.URLs {
				found = found || have.Base == base && have.Path == want.path
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func (s *Service) addURLs(ctx context.Context, q *db.Queries, p Principal, surface id.Surface, project, slug string) error {
	places := s.placesOf(project, slug)
	for _, at := range places {
		_, err := q.InsertSurfaceURL(ctx, db.InsertSurfaceURLParams{
			OrganizationID: p.Organization.ID, ID: id.New[id.SurfaceURLKind](), SurfaceID: surface, Host: at.host, Path: at.path, Now: s.now(),
		})
		if err != nil {
			return fmt.Errorf("insert surface URL: %w", err)
		}
		ours, err := q.HasSurfaceURL(ctx, db.HasSurfaceURLParams{OrganizationID: p.Organization.ID, SurfaceID: surface, Host: at.host, Path: at.path})
		if err != nil {
			return fmt.Errorf("look up surface URL: %w", err)
		}
		if !ours {
			return s.urlTaken(ctx, q, p, at)
		}
	}
	primary := places[len(places)-1]
	err := q.ClearPrimarySurfaceURL(ctx, db.ClearPrimarySurfaceURLParams{OrganizationID: p.Organization.ID, SurfaceID: surface})
	if err != nil {
		return fmt.Errorf("clear primary URL: %w", err)
	}
	err = q.SetPrimarySurfaceURL(ctx, db.SetPrimarySurfaceURLParams{
		OrganizationID: p.Organization.ID, SurfaceID: surface, Host: primary.host, Path: primary.path,
	})
	if err != nil {
		return fmt.Errorf("set primary URL: %w", err)
	}
	return nil
}

// urlTaken says which surface answers at a URL: one that was renamed still does
// at its old ones.
func (s *Service) urlTaken(ctx context.Context, q *db.Queries, p Principal, at place) error {
	holder, err := q.SurfaceServedAt(ctx, db.SurfaceServedAtParams{OrganizationID: p.Organization.ID, Host: at.host, Path: at.path})
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.Conflict, "url_taken", "The URL of this surface is taken by another one. Take another surface name.")
	}
	if err != nil {
		return fmt.Errorf("find surface of URL: %w", err)
	}
	return fault.New(fault.Conflict, "url_taken", "The surface %q of project %q still answers at %s, one of its earlier addresses. Take another name, or delete that surface.",
		holder.Slug, holder.ProjectSlug, at.path)
}

// Surface finds one by the project's and its own name, or fault.NotFound.
func (s *Service) Surface(ctx context.Context, p Principal, project, slug string) (Surface, error) {
	var surface Surface
	err := s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		owner, err := loadProject(ctx, q, p, project)
		if err != nil {
			return err
		}
		surface, err = s.loadSurface(ctx, q, p, owner.ID, slug)
		return err
	})
	return surface, err
}

// Surfaces lists a project's surfaces by name.
func (s *Service) Surfaces(ctx context.Context, p Principal, project string) ([]Surface, error) {
	var list []Surface
	err := s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		owner, err := loadProject(ctx, q, p, project)
		if err != nil {
			return err
		}
		rows, err := q.ListSurfaces(ctx, db.ListSurfacesParams{OrganizationID: p.Organization.ID, ProjectID: owner.ID})
		if err != nil {
			return fmt.Errorf("list surfaces: %w", err)
		}
		urls, err := s.urlsOf(ctx, q, p, owner.ID)
		if err != nil {
			return err
		}
		for _, row := range rows {
			list = append(list, surfaceOf(db.GetSurfaceBySlugRow(row), urls))
		}
		return nil
	})
	return list, err
}

// SetState turns a surface's switch. It is in force everywhere within 5 s, as
// a rule at once.
func (s *Service) SetState(ctx context.Context, p Principal, project, slug string, state State) (Surface, error) {
	var surface Surface
	a := &act{action: "surface.state", target: typedName(project, slug)}
	err := s.change(ctx, p, a, func(q *db.Queries) error {
		if state != StateLive && state != StateReadOnly && state != StatePaused {
			return fault.New(fault.Invalid, "state_invalid", "A surface's state is live, read_only or paused.")
		}
		owner, err := loadProject(ctx, q, p, project)
		if err != nil {
			return err
		}
		before, err := s.loadSurface(ctx, q, p, owner.ID, slug)
		if err != nil {
			return err
		}
		a.target = before.ID.String()
		a.detail = map[string]any{"before": string(before.State), "after": string(state)}
		_, err = q.SetSurfaceState(ctx, db.SetSurfaceStateParams{OrganizationID: p.Organization.ID, ID: before.ID, State: string(state), Now: s.now()})
		if err != nil {
			return fmt.Errorf("set state: %w", err)
		}
		surface, err = s.loadSurface(ctx, q, p, owner.ID, slug)
		return err
	})
	return surface, err
}

func (s *Service) loadSurface(ctx context.Context, q *db.Queries, p Principal, project id.Project, slug string) (Surface, error) {
	unknown := fault.New(fault.NotFound, "surface_unknown", "This project has no surface of that name. Put a surface file first (chumbo push).")
	if !nameShaped(slug) {
		return Surface{}, unknown
	}
	row, err := q.GetSurfaceBySlug(ctx, db.GetSurfaceBySlugParams{OrganizationID: p.Organization.ID, ProjectID: project, Slug: slug})
	if errors.Is(err, pgx.ErrNoRows) {
		return Surface{}, unknown
	}
	if err != nil {
		return Surface{}, fmt.Errorf("load surface: %w", err)
	}
	urls, err := s.urlsOf(ctx, q, p, project)
	if err != nil {
		return Surface{}, err
	}
	return surfaceOf(row, urls), nil
}

func (s *Service) urlsOf(ctx context.Context, q *db.Queries, p Principal, project id.Project) (map[id.Surface][]Resource, error) {
	rows, err := q.ListSurfaceURLs(ctx, db.ListSurfaceURLsParams{OrganizationID: p.Organization.ID, ProjectID: project})
	if err != nil {
		return nil, fmt.Errorf("list surface URLs: %w", err)
	}
	urls := map[id.Surface][]Resource{}
	for _, row := range rows {
		for _, base := range s.hosts.basesOf(row.Host) {
			urls[row.SurfaceID] = append(urls[row.SurfaceID], Resource{Base: base, Path: row.Path, Root: row.IsRoot})
		}
	}
	return urls, nil
}

func surfaceOf(row db.GetSurfaceBySlugRow, urls map[id.Surface][]Resource) Surface {
	s := Surface{
		ID: row.ID, Organization: row.OrganizationID, Project: row.ProjectID, Slug: row.Slug, State: State(row.State),
		URLs: urls[row.ID], PinnedAt: row.PinnedAt, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
	if row.LiveRevision != nil {
		s.LiveRevision = int(*row.LiveRevision)
	}
	return s
}
