package issuers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// secretKey names a surface's secret.
type secretKey struct {
	organization id.Organization
	surface      id.Surface
}

// keptSecret is a secret as it was read; zero where there is none.
type keptSecret struct {
	secret seal.Secret
	issuer string // whom it is for
	mark   tenants.Mark
}

// secretOf is the secret that ep introspects with. Without one for the issuer
// that ep names, or when that cannot be known, the error is fault.Unavailable:
// who publishes another issuer must not be told the secret of this one.
func (s *Service) secretOf(ctx context.Context, ep *tenants.Endpoint, issuer string) (seal.Secret, error) {
	key := secretKey{ep.Organization, ep.Surface}
	kept, have := s.secrets.GetIfPresent(key)
	if !have || !s.cfg.Watch.Fresh(kept.mark) {
		mark := s.cfg.Watch.Mark(tenants.ScopeIntrospection + ep.Surface.UUID().String())
		secret, boundTo, err := s.readSecret(ctx, key, issuer)
		switch {
		case err == nil:
			kept = keptSecret{secret, boundTo, mark}
			s.secrets.Set(key, kept)
		case errors.Is(err, seal.ErrOpen), !have, !s.cfg.Watch.Usable(kept.mark):
			return seal.Secret{}, unavailable(err, pageRetry)
		}
	}
	if kept.secret.IsZero() {
		s.tellOwner(ctx, ep.Surface, "introspection_secret_missing",
			"No secret is kept for the client that tokens are introspected as: chumbo introspection set, or the surface's settings in the dashboard.")
		return seal.Secret{}, unavailable(errors.New("no introspection secret"), time.Minute)
	}
	if kept.issuer != issuer {
		s.tellOwner(ctx, ep.Surface, "introspection_secret_of_another",
			"The secret that is kept was set for another issuer than access.issuer, which is not told it. Set the secret of this issuer's client: chumbo introspection set, or the surface's settings in the dashboard.")
		return seal.Secret{}, unavailable(errors.New("the introspection secret is for another issuer"), time.Minute)
	}
	return kept.secret, nil
}

// readSecret reads and opens it, and tells whom it is for: issuer, where nobody
// was asked with it before. Zero where there is none.
func (s *Service) readSecret(ctx context.Context, key secretKey, issuer string) (secret seal.Secret, boundTo string, err error) {
	var row db.GetIntrospectionSecretRow
	err = s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.GetIntrospectionSecret(ctx, db.GetIntrospectionSecretParams{OrganizationID: key.organization, SurfaceID: key.surface})
		if err != nil || row.Issuer != "" {
			return err
		}
		bound, err := q.BindIntrospectionSecret(ctx, db.BindIntrospectionSecretParams{Issuer: issuer, OrganizationID: key.organization, SurfaceID: key.surface})
		row = db.GetIntrospectionSecretRow(bound)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return seal.Secret{}, "", nil
	}
	if err != nil {
		return seal.Secret{}, "", fmt.Errorf("load introspection secret: %w", err)
	}
	plain, err := s.sealer.Open(row.Secret, secretAD(key))
	if err != nil {
		return seal.Secret{}, "", fmt.Errorf("open introspection secret: %w", err)
	}
	return seal.NewSecret(string(plain)), row.Issuer, nil
}

func secretAD(key secretKey) []byte {
	return seal.AD(key.organization.String(), "introspection_secrets", key.surface.String(), "secret")
}

// SetSecret keeps the secret of the client that the surface introspects tokens
// as, sealed, for the issuer that the live revision asks: no other is ever told
// it. Where none is asked yet, it is for the first that is. Errors: fault.NotFound (surface), fault.Invalid, fault.Forbidden.
func (s *Service) SetSecret(ctx context.Context, p tenants.Principal, surface id.Surface, secret seal.Secret) error {
	key := secretKey{p.Organization.ID, surface}
	return s.change(ctx, p, "surface.introspection_set", key, func(q *db.Queries) error {
		if err := checkSecret(secret); err != nil {
			return err
		}
		err := q.PutIntrospectionSecret(ctx, db.PutIntrospectionSecretParams{
			OrganizationID: key.organization, SurfaceID: surface, UpdatedBy: p.Builder.ID, Now: s.cfg.Now(),
			Secret: s.sealer.Seal([]byte(secret.Reveal()), secretAD(key)),
		})
		if err != nil {
			return fmt.Errorf("put introspection secret: %w", err)
		}
		return nil
	})
}

// SecretSet says since when a secret is kept; nil where there is none.
// fault.NotFound for a surface of nobody's or of another organization.
func (s *Service) SecretSet(ctx context.Context, p tenants.Principal, surface id.Surface) (*time.Time, error) {
	org := p.Organization.ID
	var since *time.Time
	err := s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		if err := stands(ctx, q, org, surface); err != nil {
			return err
		}
		row, err := q.GetIntrospectionSecret(ctx, db.GetIntrospectionSecretParams{OrganizationID: org, SurfaceID: surface})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("load introspection secret: %w", err)
		}
		since = &row.UpdatedAt
		return nil
	})
	return since, err
}

// DropSecret forgets the secret. fault.NotFound where there is none.
func (s *Service) DropSecret(ctx context.Context, p tenants.Principal, surface id.Surface) error {
	key := secretKey{p.Organization.ID, surface}
	return s.change(ctx, p, "surface.introspection_drop", key, func(q *db.Queries) error {
		n, err := q.DeleteIntrospectionSecret(ctx, db.DeleteIntrospectionSecretParams{OrganizationID: key.organization, SurfaceID: surface})
		if err != nil {
			return fmt.Errorf("delete introspection secret: %w", err)
		}
		if n == 0 {
			return fault.New(fault.NotFound, "introspection_secret_missing", "Nothing was changed: no introspection secret is kept for this surface.")
		}
		return nil
	})
}

// change runs fn and writes the audit row in one transaction. A refusal is
// recorded on its own.
func (s *Service) change(ctx context.Context, p tenants.Principal, action string, key secretKey, fn func(q *db.Queries) error) error {
	entry := events.AuditEntry{Action: action, Target: key.surface.String(), Outcome: events.AuditOK}
	err := p.MayWrite()
	if err == nil {
		err = s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
			if err := stands(ctx, q, key.organization, key.surface); err != nil {
				return err
			}
			if err := fn(q); err != nil {
				return err
			}
			return events.Audit(ctx, q, s.cfg.Now(), p.Actor(), entry)
		})
	}
	s.secrets.Invalidate(key) // other servers are notified
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	entry.Outcome, entry.Detail = events.AuditRefused, map[string]any{"reason": refused.Kind.String(), "code": refused.Code}
	recorded := s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
		return events.Audit(ctx, q, s.cfg.Now(), p.Actor(), entry)
	})
	return errors.Join(err, recorded)
}

func stands(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface) error {
	found, err := q.SurfaceStands(ctx, db.SurfaceStandsParams{OrganizationID: org, ID: surface})
	if err != nil {
		return fmt.Errorf("look for surface: %w", err)
	}
	if !found {
		return fault.New(fault.NotFound, "surface_not_found", "There is no such surface in this organization.")
	}
	return nil
}

// maxSecret bounds a client's secret in bytes.
const maxSecret = 512

// checkSecret refuses what no issuer gives out (RFC 6749 appendix A.2), and
// keys that open the project, wherever they were pasted. Nothing of it is
// repeated.
func checkSecret(secret seal.Secret) error {
	text := secret.Reveal()
	if err := tenants.RefuseSecret("secret", text); err != nil {
		return err
	}
	if text == "" || len(text) > maxSecret || strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fault.New(fault.Invalid, "introspection_secret_invalid",
			"The secret was not kept. Send the client's secret as its issuer shows it: 1 to %d letters, digits and signs, without line breaks.", maxSecret).
			WithIssues(fault.Issue{Path: "secret", Message: "want the client's secret as its issuer shows it"})
	}
	return nil
}
