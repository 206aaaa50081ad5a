package tenants

import (
	"context"
	"errors"
	"fmt"
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
// a second call is fault.Conflict, also when two run at once.
func (s *Service) CreateOwner(ctx context.Context, email, organization string) (Organization, Builder, seal.Secret, error) {
	return s.create(ctx, email, organization, func(q *db.Queries) error {
		n, err := q.ClaimInstanceFact(ctx, db.ClaimInstanceFactParams{Name: firstOwnerFact, Value: []byte{1}})
		if err != nil {
			return fmt.Errorf("claim first owner: %w", err)
		}
		if n == 0 {
			return fault.New(fault.Conflict, "already_bootstrapped", "This instance has its first owner already. Use the API token printed then.")
		}
		return nil
	})
}

// CreateOrganization makes one more organization, owned by the builder of that
// email, who is made if need be, and returns an API token that is shown only
// now. It asks nobody for permission: its callers must have done so.
func (s *Service) CreateOrganization(ctx context.Context, email, organization string) (Organization, Builder, seal.Secret, error) {
	return s.create(ctx, email, organization, func(*db.Queries) error { return nil })
}

func (s *Service) create(ctx context.Context, email, organization string, claim func(*db.Queries) error) (Organization, Builder, seal.Secret, error) {
	email, organization = strings.TrimSpace(email), strings.TrimSpace(organization)
	if err := checkPerson(email, organization); err != nil {
		return Organization{}, Builder{}, seal.Secret{}, err
	}
	token := newToken()
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
		if o, err = s.insertOrganization(ctx, q, organization); err != nil {
			return err
		}
		return s.seat(ctx, q, o, b, token)
	})
	if err != nil {
		return Organization{}, Builder{}, seal.Secret{}, err
	}
	return o, b, token, nil
}

func checkPerson(email, organization string) error {
	if a, err := mail.ParseAddress(email); err != nil || a.Address != email || len(email) > 254 {
		return fault.New(fault.Invalid, "email_invalid", "This is no email address. Give it plain, such as alice@example.com.")
	}
	if !titleShaped(organization) {
		return fault.New(fault.Invalid, "organization_invalid", "Give the organization a name of 1 to 80 characters, on one line.")
	}
	return RefuseSecret("organization", organization)
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

// seat makes the builder the organization's owner, with a first token.
func (s *Service) seat(ctx context.Context, q *db.Queries, o Organization, b Builder, token seal.Secret) error {
	err := q.InsertMember(ctx, db.InsertMemberParams{OrganizationID: o.ID, BuilderID: b.ID, Role: string(RoleOwner), Now: s.now()})
	if err != nil {
		return fmt.Errorf("insert member: %w", err)
	}
	tokenID := id.New[id.TokenKind]()
	err = q.InsertAPIToken(ctx, db.InsertAPITokenParams{
		OrganizationID: o.ID, ID: tokenID, BuilderID: b.ID, Name: "first token", TokenHash: hashToken(token.Reveal()), Scope: string(ScopeAdmin), Now: s.now(),
	})
	if err != nil {
		return fmt.Errorf("insert token: %w", err)
	}
	return s.audit(ctx, q, events.Actor{Organization: o.ID}, &act{action: "organization.create", target: o.ID.String(), detail: map[string]any{
		"owner": b.ID.String(), "token": tokenID.String(),
	}}, "ok")
}
