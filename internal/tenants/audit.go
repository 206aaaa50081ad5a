package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// act names a change for the audit log.
type act struct {
	action string // noun.verb, such as project.create
	target string // prj_… or a name
	detail map[string]any
}

// change runs fn inside the principal's organization and writes the audit row
// in the same transaction. A refusal (a *fault.Error) rolls back and is
// recorded on its own; viewers are refused before anything is read.
func (s *Service) change(ctx context.Context, p Principal, a *act, fn func(q *db.Queries) error) error {
	err := p.MayWrite()
	if err == nil {
		err = s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
			if err := fn(q); err != nil {
				return err
			}
			return s.audit(ctx, q, p.Organization.ID, p.Token.String(), a, "ok")
		})
	}
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	recorded := s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		a.detail = map[string]any{"reason": refused.Kind.String(), "code": refused.Code}
		return s.audit(ctx, q, p.Organization.ID, p.Token.String(), a, "refused")
	})
	if recorded != nil {
		return errors.Join(err, recorded)
	}
	return err
}

func (s *Service) audit(ctx context.Context, q *db.Queries, org id.Organization, actor string, a *act, outcome string) error {
	detail := json.RawMessage("{}")
	if len(a.detail) > 0 {
		var err error
		if detail, err = json.Marshal(a.detail); err != nil {
			return fmt.Errorf("encode audit detail: %w", err)
		}
	}
	err := q.InsertAuditEvent(ctx, db.InsertAuditEventParams{
		OrganizationID: org, ID: id.New[id.AuditKind](), Now: s.now(), Actor: actor,
		Action: a.action, Target: a.target, Outcome: outcome, Detail: detail,
	})
	if err != nil {
		return fmt.Errorf("record audit event: %w", err)
	}
	return nil
}

// typedName is a name as somebody typed it, for the audit log: kept only when
// it has the form of a name, for anything may be pasted into its place.
func typedName(parts ...string) string {
	for i, part := range parts {
		if !nameShaped(part) {
			parts[i] = "?"
		}
	}
	return strings.Join(parts, "/")
}
