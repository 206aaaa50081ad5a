package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Place is where a page belongs. It is known before its person is.
type Place struct {
	Name         string // in the address
	Organization id.Organization
	Surface      id.Surface
	Ref          string // tenants.Resource.Ref of the URL that was called
}

// Person is somebody who signed in at a project.
type Person struct{ Issuer, Subject string }

// Request is what the page shows its person.
type Request struct {
	About

	Client  string // what the client calls itself; unverified, may be empty
	State   State
	Expires time.Time
}

// Unknown is what everybody is told who has no such page: it does not exist, or
// is another's.
func Unknown(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "unknown_approval", "There is no such question for you. It may be long over, or meant for another account than the one you are signed in with. Ask in your AI app again.")
}

// Find says where the page of an address belongs. Errors: Unknown,
// fault.Unavailable.
func (s *Service) Find(ctx context.Context, name string) (Place, error) {
	if !IsName(name) {
		return Place{}, Unknown(nil)
	}
	var row db.FindApprovalRow
	err := s.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.FindApproval(ctx, name)
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Place{}, Unknown(err)
	case err != nil:
		return Place{}, s.away(ctx, "find", err)
	}
	return Place{Name: name, Organization: row.OrganizationID, Surface: row.SurfaceID, Ref: row.UrlRef}, nil
}

// Request loads the page for the person it is meant for. Errors: Unknown for
// everybody else, fault.Unavailable.
func (s *Service) Request(ctx context.Context, at Place, who Person) (*Request, error) {
	var row db.GetApprovalRow
	err := s.cfg.Store.AsOrganization(ctx, at.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.GetApproval(ctx, db.GetApprovalParams{OrganizationID: at.Organization, SurfaceID: at.Surface, ID: at.Name, Issuer: who.Issuer, Subject: who.Subject})
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, Unknown(err)
	case err != nil:
		return nil, s.away(ctx, "load", err)
	}
	plain, err := s.sealer.Open(row.Sealed, sealedFor(at.Organization, at.Name))
	if err != nil {
		return nil, fmt.Errorf("open approval: %w", err)
	}
	r := &Request{Client: row.ClientName, State: State(row.State), Expires: row.ExpiresAt}
	if err := json.Unmarshal(plain, &r.About); err != nil {
		return nil, fmt.Errorf("read approval: %w", err)
	}
	if r.State != Used && !row.ExpiresAt.After(s.cfg.Now()) {
		r.State = Expired
	}
	return r, nil
}

// Decide carries the person's answer out, once. It reports false when there was
// nothing to decide any more: Request says why. Errors: fault.Unavailable.
func (s *Service) Decide(ctx context.Context, at Place, who Person, approve bool) (bool, error) {
	now, state := s.cfg.Now(), Declined
	if approve {
		state = Approved
	}
	var n int64
	err := s.cfg.Store.AsOrganization(ctx, at.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		n, err = q.DecideApproval(ctx, db.DecideApprovalParams{
			OrganizationID: at.Organization, SurfaceID: at.Surface, ID: at.Name, Issuer: who.Issuer, Subject: who.Subject,
			State: string(state), Now: &now, ExpiresAt: now.Add(Window),
		})
		return err
	})
	if err != nil {
		return false, s.away(ctx, "decide", err)
	}
	if n == 1 {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "a person answered for a call", slog.String("surface", at.Surface.String()), slog.String("answer", string(state)))
	}
	return n == 1, nil
}
