package directclients

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Client is an OAuth client of a project, as seen here.
type Client struct {
	ID          string
	Name        string // as it says of itself, unverified; may be empty
	Surface     id.Surface
	SurfaceSlug string // the first it was seen at
	FirstSeenAt time.Time
	LastUsedAt  time.Time // about: a minute exact
}

// Most is how many clients List names at most.
const Most = 200

// List lists a project's clients, last used first. Every member may read it.
// Another organization's project is fault.NotFound.
func (s *Service) List(ctx context.Context, p tenants.Principal, project id.Project) ([]Client, error) {
	var rows []db.ListDirectClientsRow
	err := s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		stands, err := q.ProjectStands(ctx, db.ProjectStandsParams{OrganizationID: p.Organization.ID, ID: project})
		if err != nil {
			return fmt.Errorf("look for project: %w", err)
		}
		if !stands {
			return fault.New(fault.NotFound, "project_not_found", "There is no such project in this organization.")
		}
		rows, err = q.ListDirectClients(ctx, db.ListDirectClientsParams{OrganizationID: p.Organization.ID, ProjectID: project, Most: Most})
		if err != nil {
			return fmt.Errorf("list clients: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	clients := make([]Client, 0, len(rows))
	for _, row := range rows {
		clients = append(clients, Client{
			ID: row.ClientID, Name: row.Name, Surface: row.SurfaceID, SurfaceSlug: row.SurfaceSlug, FirstSeenAt: row.FirstSeenAt, LastUsedAt: row.LastUsedAt,
		})
	}
	return clients, nil
}
