package tenants

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// The kinds of notices about ownership.
const (
	noticeTakenOver    = "ownership.taken_over"
	noticeMissed       = "ownership.missed"
	noticeSignInPaused = "ownership.sign_in_paused"
)

// takeOrigin makes a proven project the only verified one of its API origin.
// Every other project there, of whatever organization, is unverified and its
// surfaces are paused in the same transaction. One proof of an origin runs at
// a time, so of two at once the last one wins.
func (s *Service) takeOrigin(ctx context.Context, p Principal, before Project, method ProofMethod, a *act) (Project, error) {
	var project Project
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		if err := q.LockOrigin(ctx, before.APIOrigin); err != nil {
			return fmt.Errorf("lock origin: %w", err)
		}
		rows, err := q.LockProjectsOfOrigin(ctx, before.APIOrigin)
		if err != nil {
			return fmt.Errorf("lock projects of origin: %w", err)
		}
		if !stillThere(rows, p, before) {
			return fault.New(fault.Conflict, "project_moved", "The project was changed or deleted while it was being proven. Look at it again, and prove it as it is now.")
		}
		taken := 0
		for _, row := range rows {
			if row.ID == before.ID {
				continue
			}
			if err := s.takeFrom(ctx, q, p, before.APIOrigin, row); err != nil {
				return err
			}
			if row.VerifiedAt != nil {
				taken++
			}
		}
		if project, err = s.setProof(ctx, q, before, method); err != nil {
			return err
		}
		a.detail = map[string]any{"method": string(method), "api_origin": before.APIOrigin, "taken_over": taken}
		return s.audit(ctx, q, p.Actor(), a, events.AuditOK)
	})
	return project, err
}

// stillThere reports whether the project that was proven still is what it was
// when the proof was asked for.
func stillThere(rows []db.LockProjectsOfOriginRow, p Principal, before Project) bool {
	for _, row := range rows {
		if row.ID == before.ID && row.OrganizationID == p.Organization.ID {
			return row.OwnershipToken == before.Ownership.Token
		}
	}
	return false
}

func (s *Service) setProof(ctx context.Context, q *db.Queries, before Project, method ProofMethod) (Project, error) {
	now := s.now()
	proof := db.SetProofParams{OrganizationID: before.Organization, ID: before.ID, Method: string(method), Now: &now}
	if method == ProofFunction {
		due := now.Add(recheckEvery)
		proof.DueAt = &due
	}
	row, err := q.SetProof(ctx, proof)
	if err != nil {
		return Project{}, fmt.Errorf("set proof: %w", err)
	}
	return projectOf(row), nil
}

// takeFrom unverifies another project of the origin and pauses its surfaces.
// Its organization is told, once, and never by whom.
func (s *Service) takeFrom(ctx context.Context, q *db.Queries, p Principal, origin string, row db.LockProjectsOfOriginRow) error {
	now := s.now()
	paused, err := q.PauseSurfacesOfProject(ctx, db.PauseSurfacesOfProjectParams{OrganizationID: row.OrganizationID, ProjectID: row.ID, Now: now})
	if err != nil {
		return fmt.Errorf("pause surfaces: %w", err)
	}
	if row.TakenOverAt != nil && row.VerifiedAt == nil && paused == 0 {
		return nil
	}
	if err := q.TakeProof(ctx, db.TakeProofParams{OrganizationID: row.OrganizationID, ID: row.ID, Now: &now}); err != nil {
		return fmt.Errorf("take proof: %w", err)
	}
	who := "Another organization"
	if row.OrganizationID == p.Organization.ID {
		who = "Another project of your organization"
	}
	text := fmt.Sprintf("%s proved that it owns %s. Your project %q is no longer verified, and its surfaces are paused. If the Supabase project is yours, prove it again and switch its surfaces on.", who, origin, row.Slug)
	if err := s.tell(ctx, q, row.OrganizationID, row.ID, noticeTakenOver, text); err != nil {
		return err
	}
	// By the instance: who took it is no business of that organization.
	return s.audit(ctx, q, events.Actor{Organization: row.OrganizationID}, &act{action: "project.taken_over", target: row.ID.String(), detail: map[string]any{
		"api_origin": origin, "was_verified": row.VerifiedAt != nil, "surfaces_paused": paused,
	}}, events.AuditOK)
}

// tell leaves an organization a notice about a project.
func (s *Service) tell(ctx context.Context, q *db.Queries, organization id.Organization, project id.Project, kind, text string) error {
	err := q.InsertNotice(ctx, db.InsertNoticeParams{
		OrganizationID: organization, ID: id.New[id.NoticeKind](), Kind: kind, ProjectID: &project, Text: text, Now: s.now(),
	})
	if err != nil {
		return fmt.Errorf("insert notice: %w", err)
	}
	return nil
}
