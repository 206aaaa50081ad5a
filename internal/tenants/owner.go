package tenants

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// firstOwnerFact marks that the first owner was made. Written once.
const firstOwnerFact = "first_owner"

// CreateOwner makes the first owner of this instance and their organization,
// and returns an API token that is shown only now. There is one first owner:
// a second call is fault.Conflict, also when two run at once, or one runs
// beside CompleteSetup. The setup code is void then.
func (s *Service) CreateOwner(ctx context.Context, email, organization string) (Organization, Builder, seal.Secret, error) {
	return s.create(ctx, email, organization, func(q *db.Queries) error {
		if err := claimFirstOwner(ctx, q); err != nil {
			return err
		}
		return forgetSetupCode(ctx, q)
	})
}

// CreateOrganization makes one more organization, owned by the builder of that
// email, who is made if need be, and returns an API token that is shown only
// now. It asks nobody for permission: its callers must have done so.
func (s *Service) CreateOrganization(ctx context.Context, email, organization string) (Organization, Builder, seal.Secret, error) {
	return s.create(ctx, email, organization, func(*db.Queries) error { return nil })
}

// claimFirstOwner is won once in the life of an instance.
func claimFirstOwner(ctx context.Context, q *db.Queries) error {
	n, err := q.ClaimInstanceFact(ctx, db.ClaimInstanceFactParams{Name: firstOwnerFact, Value: []byte{1}})
	if err != nil {
		return fmt.Errorf("claim first owner: %w", err)
	}
	if n == 0 {
		return hasOwner()
	}
	return nil
}

func hasOwner() error {
	return fault.New(fault.Conflict, "already_bootstrapped", "This instance has its first owner already. Sign in, or use the API token printed then.")
}

func (s *Service) create(ctx context.Context, email, organization string, claim func(*db.Queries) error) (Organization, Builder, seal.Secret, error) {
	email, organization = strings.TrimSpace(email), strings.TrimSpace(organization)
	if err := checkPerson(email, organization); err != nil {
		return Organization{}, Builder{}, seal.Secret{}, err
	}
	token, tokenID := newToken(), id.New[id.TokenKind]()
	var o Organization
	var b Builder
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		if err := claim(q); err != nil {
			return err
		}
		var err error
		if b, err = s.ensureBuilder(ctx, q, email); err != nil {
			return err
		}
		if o, err = s.found(ctx, q, b, organization, events.Actor{}, map[string]any{"token": tokenID.String()}); err != nil {
			return err
		}
		err = q.InsertAPIToken(ctx, db.InsertAPITokenParams{
			OrganizationID: o.ID, ID: tokenID, BuilderID: b.ID, Name: "first token", TokenHash: hashToken(token.Reveal()),
			Scope: string(ScopeAdmin), Now: s.now(),
		})
		if err != nil {
			return fmt.Errorf("insert token: %w", err)
		}
		return nil
	})
	if err != nil {
		return Organization{}, Builder{}, seal.Secret{}, err
	}
	return o, b, token, nil
}

const maxEmail = 254 // RFC 5321 section 4.5.3.1.3

func checkPerson(email, organization string) error {
	if err := RefuseSecret("email", email); err != nil {
		return err
	}
	if a, err := mail.ParseAddress(email); err != nil || a.Address != email || len(email) > maxEmail {
		return fault.New(fault.Invalid, "email_invalid", "This is no email address. Give it plain, such as alice@example.com.").
			WithIssues(fault.Issue{Path: "email", Message: "want a plain email address"})
	}
	return checkOrganization(organization)
}

func checkOrganization(name string) error {
	if !titleShaped(name) {
		return fault.New(fault.Invalid, "organization_invalid", "Give the organization a name of 1 to 80 characters, on one line.").
			WithIssues(fault.Issue{Path: "organization", Message: "want 1 to 80 characters on one line"})
	}
	return RefuseSecret("organization", name)
}

func (s *Service) ensureBuilder(ctx context.Context, q *db.Queries, email string) (Builder, error) {
	err := q.InsertBuilder(ctx, db.InsertBuilderParams{ID: id.New[id.BuilderKind](), Email: email, Now: s.now()})
	if err != nil {
		return Builder{}, fmt.Errorf("insert builder: %w", err)
	}
	row, err := q.GetBuilderByEmail(ctx, email)
	if err != nil {
		return Builder{}, fmt.Errorf("load builder: %w", err)
	}
	return Builder{ID: row.ID, Email: row.Email}, nil
}

// insertOrganization takes the name's own slug, or one with a random end when
// that is taken.
func (s *Service) insertOrganization(ctx context.Context, q *db.Queries, name string) (Organization, error) {
	base, ok := slugOf(name)
	if !ok {
		base = "organization"
	}
	o := Organization{ID: id.New[id.OrganizationKind](), Name: name, Slug: base}
	for range 5 {
		n, err := q.InsertOrganization(ctx, db.InsertOrganizationParams{ID: o.ID, Slug: o.Slug, Name: name, Now: s.now()})
		if err != nil {
			return Organization{}, fmt.Errorf("insert organization: %w", err)
		}
		if n == 1 {
			return o, nil
		}
		o.Slug = base + "-" + randomHex(4)
	}
	return Organization{}, errors.New("insert organization: no free slug")
}

// found makes an organization that the builder owns.
func (s *Service) found(ctx context.Context, q *db.Queries, b Builder, name string, by events.Actor, detail map[string]any) (Organization, error) {
	o, err := s.insertOrganization(ctx, q, name)
	if err != nil {
		return Organization{}, err
	}
	err = q.InsertMember(ctx, db.InsertMemberParams{OrganizationID: o.ID, BuilderID: b.ID, Role: string(RoleOwner), Now: s.now()})
	if err != nil {
		return Organization{}, fmt.Errorf("insert member: %w", err)
	}
	a := &act{action: "organization.create", target: o.ID.String(), detail: map[string]any{"owner": b.ID.String()}}
	maps.Copy(a.detail, detail)
	by.Organization = o.ID
	return o, s.audit(ctx, q, by, a, events.AuditOK)
}
