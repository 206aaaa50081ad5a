package tenants

import (
	"context"
	"fmt"
	"slices"

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
//
// Tokens issued in one name go to one organization's project only. Whoever
// proves the issuer's own origin takes it from those who are elsewhere
// (CHUMBO_ALLOW_SPLIT_ISSUER); those take it from nobody.
func (s *Service) takeOrigin(ctx context.Context, p Principal, before Project, method ProofMethod, a *act) (Project, error) {
	var project Project
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		rows, err := lockOrigin(ctx, q, p, before)
		if err != nil {
			return err
		}
		if !stillThere(rows, p, before) {
			return fault.New(fault.Conflict, "project_moved", "The project was changed or deleted while it was being proven. Look at it again, and prove it as it is now.")
		}
		if err := refuseIssuerOfOthers(rows, before); err != nil {
			return err
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

// lockOrigin holds every project that the proof is about. The order keeps two
// proofs from waiting for each other.
func lockOrigin(ctx context.Context, q *db.Queries, p Principal, before Project) ([]db.LockProjectsOfOriginRow, error) {
	for _, name := range slices.Sorted(slices.Values([]string{before.APIOrigin, before.Issuer})) {
		if err := q.LockOrigin(ctx, name); err != nil {
			return nil, fmt.Errorf("lock origin: %w", err)
		}
	}
	rows, err := q.LockProjectsOfOrigin(ctx, db.LockProjectsOfOriginParams{
		APIOrigin: before.APIOrigin, Issuer: before.Issuer, OrganizationID: p.Organization.ID,
	})
	if err != nil {
		return nil, fmt.Errorf("lock projects of origin: %w", err)
	}
	return rows, nil
}

// refuseIssuerOfOthers keeps callers' tokens from a project whose issuer is on
// another origin, where another organization has proven a project of that
// issuer: what was proven here is this origin, not that one.
func refuseIssuerOfOthers(rows []db.LockProjectsOfOriginRow, before Project) error {
	if !splitIssuer(before.Issuer, before.APIOrigin) {
		return nil
	}
	for _, row := range rows {
		if row.APIOrigin != before.APIOrigin {
			return fault.New(fault.Unprocessable, "issuer_proven_elsewhere", "Another organization has proven a project whose tokens are issued by %s, so that this one, at another origin, may not get them. Set GOTRUE_JWT_ISSUER=%s/auth/v1 on the Auth service and register the project again; or register it at its issuer's own origin.", before.Issuer, before.APIOrigin)
		}
	}
	return nil
}

// stillThere reports whether the project that was proven still is what it was
// when the proof was asked for.
func stillThere(rows []db.LockProjectsOfOriginRow, p Principal, before Project) bool {
	for _, row := range rows {
		if row.ID == before.ID && row.OrganizationID == p.Organization.ID {
			return row.OwnershipToken == before.Ownership.Token && row.APIOrigin == before.APIOrigin && row.Issuer == before.Issuer
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
