package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// NewVisit remembers a browser whose person signed in, for 12 hours and no
// longer than their session at the project. The secret is the value of a
// cookie that counts for this project and nothing else.
func (s *Service) NewVisit(ctx context.Context, who *Person) (seal.Secret, error) {
	now, cookie := s.cfg.Now(), newSecret()
	var n int64
	err := s.cfg.Store.AsOrganization(ctx, who.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		n, err = q.InsertVisit(ctx, db.InsertVisitParams{
			OrganizationID: who.Organization, ID: id.New[id.VisitKind](), ProjectID: who.Project, UpstreamSessionID: who.Upstream,
			TokenHash: hashOf(cookie), Now: now, ExpiresAt: now.Add(visitLifetime),
		})
		return err
	})
	if err != nil {
		return seal.Secret{}, fmt.Errorf("remember browser: %w", err)
	}
	if n != 1 {
		return seal.Secret{}, signedOut()
	}
	return cookie, nil
}

// Visit tells who the browser with this cookie is at ep's project, or
// fault.Unauthenticated: unknown, expired, ended, of another project, or the
// session at the project has ended.
func (s *Service) Visit(ctx context.Context, ep *tenants.Endpoint, cookie seal.Secret) (*Person, error) {
	if cookie.IsZero() {
		return nil, signedOut()
	}
	var row db.GetVisitRow
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.GetVisit(ctx, db.GetVisitParams{
			OrganizationID: ep.Organization, ProjectID: ep.Project.ID, TokenHash: hashOf(cookie), Now: s.cfg.Now(),
		})
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, signedOut()
	}
	if err != nil {
		return nil, fmt.Errorf("load browser: %w", err)
	}
	return &Person{
		Organization: ep.Organization, Project: ep.Project.ID, Issuer: row.Issuer, Subject: row.Subject,
		Email: row.Email, Upstream: row.UpstreamSessionID,
	}, nil
}

func signedOut() *fault.Error {
	return fault.New(fault.Unauthenticated, "signed_out", "You are not signed in here. Sign in to go on.")
}

// EndVisit forgets the browser. An unknown cookie is no error.
func (s *Service) EndVisit(ctx context.Context, project id.Project, cookie seal.Secret) error {
	var owner id.Organization
	err := s.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		owner, err = q.FindVisit(ctx, db.FindVisitParams{TokenHash: hashOf(cookie), ProjectID: project})
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		now := s.cfg.Now()
		err = s.cfg.Store.AsOrganization(ctx, owner, func(q *db.Queries, _ pgx.Tx) error {
			return q.EndVisit(ctx, db.EndVisitParams{OrganizationID: owner, ProjectID: project, TokenHash: hashOf(cookie), Now: &now})
		})
	}
	if err != nil {
		return fmt.Errorf("forget browser: %w", err)
	}
	return nil
}

// Recognize takes a visit for the sign-in, so that the person need not sign in
// again. A visit of another project is start_again.
func (s *Service) Recognize(ctx context.Context, in *SignIn, who *Person) error {
	ep := in.Endpoint
	if in.byTicket || who.Organization != ep.Organization || who.Project != ep.Project.ID {
		return startAgain()
	}
	if err := maySignIn(ep); err != nil {
		return err
	}
	return s.setPerson(ctx, in, who)
}
