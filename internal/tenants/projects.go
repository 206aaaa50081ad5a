package tenants

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// CreateProject registers a project. Errors: fault.Invalid for a name or fact
// that cannot be, or a secret key in any field; fault.Conflict for a taken
// name: also one that another organization once had, or under which another
// project of this one still answers since it was renamed.
func (s *Service) CreateProject(ctx context.Context, p Principal, n NewProject) (Project, error) {
	if n.Name == "" {
		n.Name = n.Slug
	}
	projectID, now := id.New[id.ProjectKind](), s.now()
	var project Project
	a := &act{action: "project.create", target: projectID.String()}
	err := s.change(ctx, p, a, func(q *db.Queries) error {
		if err := checkNewProject(n); err != nil {
			return err
		}
		a.detail = map[string]any{"slug": n.Slug, "api_origin": n.APIOrigin}
		if err := s.claimName(ctx, q, p, n.Slug); err != nil {
			return err
		}
		inserted, err := q.InsertProject(ctx, db.InsertProjectParams{
			OrganizationID: p.Organization.ID, ID: projectID, Slug: n.Slug, Name: n.Name, TypedURL: n.TypedURL,
			APIOrigin: n.APIOrigin, Issuer: n.Issuer, JWKSURI: n.JWKSURI, PublishableKey: n.PublishableKey,
			Signing: string(n.Signing), OAuthEnabled: n.OAuthEnabled, ScopesSupported: listOrEmpty(n.ScopesSupported),
			RegistrationEnabled: n.Registration, Findings: findingsOrNone(n.Findings), OwnershipToken: newOwnershipToken(), Now: &now,
		})
		if err != nil {
			return fmt.Errorf("insert project: %w", err)
		}
		if inserted == 0 {
			return fault.New(fault.Conflict, "name_taken", "Your organization already has a project named %q. Use that one, or take another name.", n.Slug)
		}
		if err := refuseAlias(ctx, q, p, projectID, n.Slug); err != nil {
			return err
		}
		project, err = loadProject(ctx, q, p, n.Slug)
		return err
	})
	return project, err
}

// claimName makes a slug the organization's for good. Row Level Security shows
// it only its own claim, so no claim in sight means somebody else's.
func (s *Service) claimName(ctx context.Context, q *db.Queries, p Principal, slug string) error {
	err := q.ClaimName(ctx, db.ClaimNameParams{Kind: "project", Name: slug, OrganizationID: p.Organization.ID, Now: s.now()})
	if err != nil {
		return fmt.Errorf("claim name: %w", err)
	}
	_, err = q.GetNameClaim(ctx, db.GetNameClaimParams{OrganizationID: p.Organization.ID, Kind: "project", Name: slug})
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.Conflict, "name_taken", "The project name %q is taken. Take another, such as %s-%s.", slug, slug, p.Organization.Slug)
	}
	if err != nil {
		return fmt.Errorf("load name claim: %w", err)
	}
	return nil
}

// UpdateProject stores the facts of a new probe. A project whose API origin
// moved is unverified again, and so is one whose issuer now is another, of
// another origin.
func (s *Service) UpdateProject(ctx context.Context, p Principal, slug string, facts ProjectFacts) (Project, error) {
	var project Project
	now := s.now()
	a := &act{action: "project.update", target: typedName(slug)}
	err := s.change(ctx, p, a, func(q *db.Queries) error {
		if err := checkFacts(facts); err != nil {
			return err
		}
		before, err := loadProject(ctx, q, p, slug)
		if err != nil {
			return err
		}
		a.target = before.ID.String()
		a.detail = map[string]any{"api_origin": facts.APIOrigin, "api_origin_before": before.APIOrigin}
		row, err := q.UpdateProjectFacts(ctx, db.UpdateProjectFactsParams{
			OrganizationID: p.Organization.ID, ID: before.ID, TypedURL: facts.TypedURL, APIOrigin: facts.APIOrigin,
			Issuer: facts.Issuer, JWKSURI: facts.JWKSURI, PublishableKey: facts.PublishableKey, Signing: string(facts.Signing),
			OAuthEnabled: facts.OAuthEnabled, ScopesSupported: listOrEmpty(facts.ScopesSupported),
			RegistrationEnabled: facts.Registration, Findings: findingsOrNone(facts.Findings), Now: &now,
			SplitIssuer: splitIssuer(facts.Issuer, facts.APIOrigin),
		})
		if err != nil {
			return fmt.Errorf("update project: %w", err)
		}
		project = projectOf(row)
		if facts.APIOrigin == before.APIOrigin && facts.Issuer == before.Issuer {
			return nil
		}
		return leaveSessions(ctx, q, project, now)
	})
	return project, err
}

// leaveSessions ends what people have at the project that a project was so
// far: their sessions, what they allowed clients to do, sign-ins under way, and
// our client there. Without it whoever can change a project could have all of
// that sent to a server of their own.
func leaveSessions(ctx context.Context, q *db.Queries, p Project, now time.Time) error {
	if err := q.EndUpstreamsOfMovedProject(ctx, db.EndUpstreamsOfMovedProjectParams{
		Now: &now, Why: "project_moved", OrganizationID: p.Organization, ProjectID: p.ID, Issuer: p.Issuer, APIOrigin: p.APIOrigin,
	}); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	if err := q.RevokeGrantsOfEndedUpstreams(ctx, db.RevokeGrantsOfEndedUpstreamsParams{
		Now: &now, Why: "upstream_ended", OrganizationID: p.Organization, ProjectID: p.ID,
	}); err != nil {
		return fmt.Errorf("revoke grants: %w", err)
	}
	if err := q.EndSignInsOfProject(ctx, db.EndSignInsOfProjectParams{Now: &now, OrganizationID: p.Organization, ProjectID: p.ID}); err != nil {
		return fmt.Errorf("end sign-ins: %w", err)
	}
	if err := q.ForgetSignInClient(ctx, db.ForgetSignInClientParams{OrganizationID: p.Organization, ProjectID: p.ID, Now: now}); err != nil {
		return fmt.Errorf("forget our client: %w", err)
	}
	return nil
}

// Projects lists the organization's projects by slug.
func (s *Service) Projects(ctx context.Context, p Principal) ([]Project, error) {
	var list []Project
	err := s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		rows, err := q.ListProjects(ctx, p.Organization.ID)
		if err != nil {
			return fmt.Errorf("list projects: %w", err)
		}
		for _, row := range rows {
			list = append(list, projectOf(row))
		}
		return nil
	})
	return list, err
}

// Project finds one by slug, or fault.NotFound.
func (s *Service) Project(ctx context.Context, p Principal, slug string) (Project, error) {
	var project Project
	err := s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		project, err = loadProject(ctx, q, p, slug)
		return err
	})
	return project, err
}

func loadProject(ctx context.Context, q *db.Queries, p Principal, slug string) (Project, error) {
	unknown := fault.New(fault.NotFound, "project_unknown", "Your organization has no project of that name. List them, or register it first (chumbo link).")
	if !nameShaped(slug) {
		return Project{}, unknown
	}
	row, err := q.GetProjectBySlug(ctx, db.GetProjectBySlugParams{OrganizationID: p.Organization.ID, Slug: slug})
	if errors.Is(err, pgx.ErrNoRows) {
		return Project{}, unknown
	}
	if err != nil {
		return Project{}, fmt.Errorf("load project: %w", err)
	}
	return projectOf(row), nil
}

func projectOf(row db.Project) Project {
	return Project{
		ID: row.ID, Organization: row.OrganizationID, Slug: row.Slug, Name: row.Name,
		ProjectFacts: ProjectFacts{
			TypedURL: row.TypedURL, APIOrigin: row.APIOrigin, Issuer: row.Issuer, JWKSURI: row.JWKSURI,
			PublishableKey: row.PublishableKey, Signing: Signing(row.Signing), OAuthEnabled: row.OAuthEnabled,
			ScopesSupported: row.ScopesSupported, Registration: row.RegistrationEnabled, Findings: row.Findings,
		},
		VerifiedAt: row.VerifiedAt, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		Ownership: Ownership{
			Token: row.OwnershipToken, Method: proofMethod(row.VerifiedBy), CheckedAt: row.OwnershipCheckedAt,
			Misses: int(row.OwnershipMisses), TakenOverAt: row.TakenOverAt,
		},
		RegistrationEnabled: row.RegistrationEnabled, Findings: row.Findings, ProbedAt: row.ProbedAt,
		Logo: hex.EncodeToString(row.LogoDigest), CatalogRelations: row.CatalogRelations,
	}
}

func proofMethod(stored *string) ProofMethod {
	if stored == nil {
		return ""
	}
	return ProofMethod(*stored)
}

func checkNewProject(n NewProject) error {
	if err := CheckProjectSlug(n.Slug); err != nil {
		return err
	}
	if err := checkProjectName(n.Name); err != nil {
		return err
	}
	return checkFacts(n.ProjectFacts)
}

func checkProjectName(name string) error {
	if err := RefuseSecret("name", name); err != nil {
		return err
	}
	if !titleShaped(name) {
		return fault.New(fault.Invalid, "name_invalid", "A project's name is one line of 1 to 80 characters.")
	}
	return nil
}

// checkFacts refuses facts no probe of ours would state. The probe explains;
// this only keeps nonsense and secrets out of the table. What an origin is,
// both take from supabase.APIOrigin.
func checkFacts(f ProjectFacts) error {
	for field, value := range map[string]string{
		"url": f.TypedURL, "api_origin": f.APIOrigin, "issuer": f.Issuer, "jwks_uri": f.JWKSURI, "findings": string(f.Findings),
	} {
		if err := RefuseSecret(field, value); err != nil {
			return err
		}
	}
	if err := checkTypedURL(f.TypedURL); err != nil {
		return err
	}
	if err := checkPublishable(f.PublishableKey); err != nil {
		return err
	}
	origin, err := supabase.APIOrigin(f.APIOrigin)
	if err != nil || origin != f.APIOrigin {
		return fault.New(fault.Invalid, "api_origin_invalid", "The API origin must be scheme://host[:port] and nothing more, in lower case and without a default port.")
	}
	if _, err := supabase.APIOrigin(f.Issuer); err != nil {
		return fault.New(fault.Invalid, "issuer_invalid", "The project states no absolute issuer. Set GOTRUE_JWT_ISSUER to its public address with /auth/v1, and try again.")
	}
	if keys, err := supabase.APIOrigin(f.JWKSURI); f.JWKSURI != "" && (err != nil || keys != origin) {
		return fault.New(fault.Invalid, "jwks_uri_invalid", "The key set must be at the project's own origin.")
	}
	if f.Signing != SigningHS256 && (f.Signing != SigningAsymmetric || f.JWKSURI == "") {
		return fault.New(fault.Invalid, "signing_invalid", "Signing must be asymmetric, with a key set, or hs256.")
	}
	if i := slices.IndexFunc(f.ScopesSupported, func(s string) bool { return !titleShaped(s) }); i >= 0 {
		return fault.New(fault.Invalid, "scope_invalid", "The project's metadata lists a scope that is none. A scope is at most 80 characters of plain text.")
	}
	return nil
}

// findingsOrNone is what is stored of a probe's findings.
func findingsOrNone(findings json.RawMessage) json.RawMessage {
	if len(findings) == 0 {
		return json.RawMessage("[]")
	}
	return findings
}

func listOrEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
