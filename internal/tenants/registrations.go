package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

const (
	registrationFor = 24 * time.Hour // how long one is kept
	maxTypedURL     = 2048
	maxFindings     = 64 << 10 // bytes of one probe's findings
)

// Registration is a project being registered: what was typed so far, and what
// the probe found. Kept for a day.
type Registration struct {
	ID             id.Registration
	TypedURL       string
	PublishableKey string
	Slug           string
	Name           string
	Findings       json.RawMessage // array of doctor.Finding
	FinishedAt     *time.Time      // of the probe
	Project        *id.Project     // once registered
	CreatedAt      time.Time
}

// BeginRegistration keeps a typed URL. A secret key in it is fault.Invalid and
// nothing is kept.
func (s *Service) BeginRegistration(ctx context.Context, p Principal, typedURL string) (Registration, error) {
	r := Registration{ID: id.New[id.RegistrationKind](), TypedURL: strings.TrimSpace(typedURL), Findings: findingsOrNone(nil), CreatedAt: s.now()}
	a := &act{action: "registration.begin", target: r.ID.String()}
	err := s.change(ctx, p, a, func(q *db.Queries) error {
		if err := checkRegistration(r); err != nil {
			return err
		}
		err := q.InsertRegistration(ctx, db.InsertRegistrationParams{
			OrganizationID: p.Organization.ID, ID: r.ID, BuilderID: p.Builder.ID, TypedURL: r.TypedURL, Now: r.CreatedAt,
		})
		if err != nil {
			return fmt.Errorf("insert registration: %w", err)
		}
		return nil
	})
	if err != nil {
		return Registration{}, err
	}
	return r, nil
}

// Registration finds one of the organization's, or fault.NotFound.
func (s *Service) Registration(ctx context.Context, p Principal, registration id.Registration) (Registration, error) {
	var r Registration
	err := s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		row, err := q.GetRegistration(ctx, db.GetRegistrationParams{OrganizationID: p.Organization.ID, ID: registration, Since: s.registrationsSince()})
		if errors.Is(err, pgx.ErrNoRows) {
			return errRegistrationGone()
		}
		if err != nil {
			return fmt.Errorf("load registration: %w", err)
		}
		r = Registration{
			ID: row.ID, TypedURL: row.TypedURL, PublishableKey: row.PublishableKey, Slug: row.Slug, Name: row.Name,
			Findings: row.Findings, FinishedAt: row.FinishedAt, Project: row.ProjectID, CreatedAt: row.CreatedAt,
		}
		return nil
	})
	return r, err
}

// SaveRegistration keeps the key, the names, and what the probe found. The
// names may still be wrong ones: CreateProject says so. A secret in any field
// is fault.Invalid and nothing is kept.
func (s *Service) SaveRegistration(ctx context.Context, p Principal, r Registration) error {
	a := &act{action: "registration.save", target: r.ID.String()}
	return s.change(ctx, p, a, func(q *db.Queries) error {
		if err := checkRegistration(r); err != nil {
			return err
		}
		n, err := q.UpdateRegistration(ctx, db.UpdateRegistrationParams{
			OrganizationID: p.Organization.ID, ID: r.ID, TypedURL: r.TypedURL, PublishableKey: r.PublishableKey, Slug: r.Slug, Name: r.Name,
			Findings: findingsOrNone(r.Findings), FinishedAt: r.FinishedAt, ProjectID: r.Project, Since: s.registrationsSince(),
		})
		if err != nil {
			return fmt.Errorf("save registration: %w", err)
		}
		if n == 0 {
			return errRegistrationGone()
		}
		return nil
	})
}

func (s *Service) registrationsSince() time.Time { return s.now().Add(-registrationFor) }

func errRegistrationGone() *fault.Error {
	return fault.New(fault.NotFound, "registration_unknown", "There is no such registration any more: one is kept for a day. Begin again with the project's URL.")
}

func checkRegistration(r Registration) error {
	for field, value := range map[string]string{"url": r.TypedURL, "slug": r.Slug, "name": r.Name, "findings": string(r.Findings)} {
		if err := RefuseSecret(field, value); err != nil {
			return err
		}
	}
	if err := checkTypedURL(r.TypedURL); err != nil {
		return err
	}
	if r.PublishableKey != "" {
		if err := checkPublishable(r.PublishableKey); err != nil {
			return err
		}
	}
	if (r.Slug != "" && !titleShaped(r.Slug)) || (r.Name != "" && !titleShaped(r.Name)) {
		return fault.New(fault.Invalid, "name_invalid", "A name is one line of at most 80 characters.")
	}
	if len(r.Findings) > maxFindings {
		return fmt.Errorf("check registration: %d bytes of findings", len(r.Findings))
	}
	return nil
}

// checkTypedURL refuses what must not be kept as the address that a builder
// typed: it is shown again. Whether a project is there the probe says.
func checkTypedURL(typed string) error {
	if typed == "" || len(typed) > maxTypedURL || !utf8.ValidString(typed) || strings.ContainsFunc(typed, unicode.IsControl) {
		return fault.New(fault.Invalid, "url_invalid", "This is not a project URL. Write it as https://<ref>.supabase.co, as Supabase's dashboard shows it.").
			WithIssues(fault.Issue{Path: "url", Message: "want https://<ref>.supabase.co"})
	}
	if strings.Contains(typed, "@") {
		return fault.New(fault.Invalid, "url_credentials", "The URL holds a user name or password, as a database's connection string does. It was not stored. Give the project's URL (https://<ref>.supabase.co), and change that password if others can have seen it.").
			WithIssues(fault.Issue{Path: "url", Message: "holds a user name or password"})
	}
	return nil
}

// forgetOldRegistrations ends what was begun and never finished, in every
// organization.
func (s *Service) forgetOldRegistrations(ctx context.Context) error {
	return s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		if _, err := q.DeleteOldRegistrations(ctx, s.registrationsSince()); err != nil {
			return fmt.Errorf("forget old registrations: %w", err)
		}
		return nil
	})
}
