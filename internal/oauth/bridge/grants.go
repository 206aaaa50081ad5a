package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// issued is what the token endpoint hands out next.
type issued struct {
	signIn  id.SignIn // whose code it was; zero for a refresh
	grant   id.Grant
	chain   id.Chain
	subject string
	client  string
	scopes  []string
	refresh seal.Secret
}

// The kinds of grants (grants.kind).
const (
	grantOfClient   = "client"
	grantOfPersonal = "personal"
)

// Why a grant was taken away (grants.revoked_why).
const (
	revokedByUser    = "by_user"
	revokedByBuilder = "by_builder"
	revokedReplayed  = "code_replayed"
	revokedReused    = "token_reused"
	revokedUpstream  = "upstream_ended"
	revokedReplaced  = "replaced"
	revokedExpired   = "expired"
)

// revoke takes a grant of ep's organization away, once, and signs out at the
// project when it was the last that needed its session. What is revoked
// already is no error. The row stays: an absent one would not say that access
// was taken away.
func (s *Service) revoke(ctx context.Context, ep *tenants.Endpoint, v Visitor, grant id.Grant, why string) error {
	return s.revokeIn(ctx, ep.Organization, v, grant, why, nil)
}

// revokeIn is revoke for any caller who has made sure that the grant is theirs
// to take away. also runs in the same transaction.
func (s *Service) revokeIn(ctx context.Context, org id.Organization, v Visitor, grant id.Grant, why string, also func(q *db.Queries) error) error {
	var row db.RevokeGrantRow
	var project *tenants.ProjectRef
	err := s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		now := s.cfg.Now()
		var err error
		row, err = q.RevokeGrant(ctx, db.RevokeGrantParams{OrganizationID: org, ID: grant, Now: &now, Why: why})
		if err == nil && also != nil {
			err = also(q)
		}
		if err != nil {
			return err
		}
		project, err = projectRef(ctx, q, org, row.ProjectID)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return away(fmt.Errorf("revoke grant: %w", err))
	}
	s.ended(ctx, v, org, row.SurfaceID, row.ID, row.ClientID, row.ClientName, why)
	s.releaseUpstream(ctx, project, org, row.UpstreamSessionID)
	return nil
}

// projectRef is what a project is reached with, where there is no endpoint at
// hand.
func projectRef(ctx context.Context, q *db.Queries, org id.Organization, project id.Project) (*tenants.ProjectRef, error) {
	row, err := q.ProjectForUpstream(ctx, db.ProjectForUpstreamParams{OrganizationID: org, ID: project})
	if err != nil {
		return nil, fmt.Errorf("load project: %w", err)
	}
	return &tenants.ProjectRef{
		ID: row.ID, Slug: row.Slug, Name: row.Name, APIOrigin: row.APIOrigin, Issuer: row.Issuer, JWKSURI: row.JWKSURI,
		PublishableKey: row.PublishableKey,
	}, nil
}
