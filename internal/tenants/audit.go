package tenants

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
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
	return s.changeIf(ctx, p, p.MayWrite, a, fn)
}

// administer is change for what only owners and admins may do.
func (s *Service) administer(ctx context.Context, p Principal, a *act, fn func(q *db.Queries) error) error {
	return s.changeIf(ctx, p, p.MayAdminister, a, fn)
}

func (s *Service) changeIf(ctx context.Context, p Principal, may func() error, a *act, fn func(q *db.Queries) error) error {
	err := may()
	if err == nil {
		err = s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
			if err := fn(q); err != nil {
				return err
			}
			return s.audit(ctx, q, p.Actor(), a, events.AuditOK)
		})
	}
	return s.refuse(ctx, p, a, err)
}

// refuse records a refusal in the principal's organization and gives back the
// error; another error, or none, is only given back.
func (s *Service) refuse(ctx context.Context, p Principal, a *act, err error) error {
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	recorded := s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		a.detail = reasonOf(refused)
		return s.audit(ctx, q, p.Actor(), a, events.AuditRefused)
	})
	if recorded != nil {
		return errors.Join(err, recorded)
	}
	return err
}

func reasonOf(refused *fault.Error) map[string]any {
	return map[string]any{"reason": refused.Kind.String(), "code": refused.Code}
}

func (s *Service) audit(ctx context.Context, q *db.Queries, by events.Actor, a *act, outcome string) error {
	return events.Audit(ctx, q, s.now(), by, events.AuditEntry{Action: a.action, Target: a.target, Outcome: outcome, Detail: a.detail})
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
