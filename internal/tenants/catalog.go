package tenants

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// NewCatalogToken is what one chumbo_catalog function answers to: 256 random
// bits. The function holds its digest only.
func NewCatalogToken() seal.Secret { return seal.NewSecret(random256()) }

// SetCatalog keeps the token of a project's chumbo_catalog function, sealed,
// and the builder's list of relations. The function of an earlier token cannot
// be asked any more.
func (s *Service) SetCatalog(ctx context.Context, p Principal, project string, token seal.Secret, relations []string) (Project, error) {
	var after Project
	a := &act{action: "schema.catalog", target: typedName(project)}
	err := s.change(ctx, p, a, func(q *db.Queries) error {
		before, err := loadProject(ctx, q, p, project)
		if err != nil {
			return err
		}
		a.target, a.detail = before.ID.String(), map[string]any{"relations": len(relations)}
		_, err = q.SetCatalog(ctx, db.SetCatalogParams{
			OrganizationID: p.Organization.ID, ID: before.ID, CatalogRelations: listOrEmpty(relations), Now: s.now(),
			CatalogToken: s.keys.Sealer(seal.Catalog).Seal([]byte(token.Reveal()), catalogAD(p, before.ID)),
		})
		if err != nil {
			return fmt.Errorf("set catalog token: %w", err)
		}
		after, err = loadProject(ctx, q, p, project)
		return err
	})
	return after, err
}

// CatalogToken opens the token of a project's chumbo_catalog function, to ask
// for the schema: a change, so fault.Forbidden for a viewer. fault.Conflict
// says that the function has to be made first.
func (s *Service) CatalogToken(ctx context.Context, p Principal, project string) (Project, seal.Secret, error) {
	if err := p.MayWrite(); err != nil {
		return Project{}, seal.Secret{}, s.Refused(ctx, p, "schema.import", err, project)
	}
	var of Project
	var token seal.Secret
	err := s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		if of, err = loadProject(ctx, q, p, project); err != nil {
			return err
		}
		row, err := q.GetProject(ctx, db.GetProjectParams{OrganizationID: p.Organization.ID, ID: of.ID})
		if err != nil {
			return fmt.Errorf("load catalog token: %w", err)
		}
		token, err = s.openCatalogToken(p, row)
		return err
	})
	return of, token, err
}

func (s *Service) openCatalogToken(p Principal, row db.Project) (seal.Secret, error) {
	if len(row.CatalogToken) == 0 {
		return seal.Secret{}, fault.New(fault.Conflict, "no_catalog", "There is no chumbo_catalog function of this project yet. Choose what it may describe, run the SQL in the project's database, and import then.")
	}
	token, err := s.keys.Sealer(seal.Catalog).Open(row.CatalogToken, catalogAD(p, row.ID))
	if errors.Is(err, seal.ErrOpen) {
		return seal.Secret{}, fault.Wrap(err, fault.Conflict, "catalog_sealed", "The token of this project's chumbo_catalog function cannot be opened: it was sealed with a master key that this server no longer has. Make the function's SQL again and run it.")
	}
	if err != nil {
		return seal.Secret{}, fmt.Errorf("open catalog token: %w", err)
	}
	return seal.NewSecret(string(token)), nil
}

func catalogAD(p Principal, project id.Project) []byte {
	return seal.AD(p.Organization.ID.String(), "projects", project.String(), "catalog_token")
}

// Refused records in the audit log that the principal was refused something,
// and gives err back. target is the name of the project, and of the surface
// where there is one. Only a *fault.Error is a refusal.
func (s *Service) Refused(ctx context.Context, p Principal, action string, err error, target ...string) error {
	return s.refuse(ctx, p, &act{action: action, target: typedName(target...)}, err)
}

// AccessToken is a typed token of Supabase's Management API without blanks
// around it; what does not look like one is fault.Invalid, before it is sent
// anywhere.
func AccessToken(typed seal.Secret) (seal.Secret, error) { return managementTokenOf(typed) }
