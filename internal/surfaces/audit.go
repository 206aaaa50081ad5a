package surfaces

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// The acts of this package in the audit log.
const (
	actPublish  = "surface.publish"
	actRollback = "surface.rollback"
	actPin      = "surface.pin"
	actUnpin    = "surface.unpin"
	actDraft    = "surface.draft"
	actSchema   = "project.schema"
)

// change runs fn inside the actor's organization and writes what it returns to
// the audit log in the same transaction; nil details write nothing. A refusal
// (a *fault.Error) rolls back and is recorded on its own.
func (s *Service) change(ctx context.Context, by events.Actor, action, target string, fn func(q *db.Queries) (map[string]any, error)) error {
	err := s.store.AsOrganization(ctx, by.Organization, func(q *db.Queries, _ pgx.Tx) error {
		detail, err := fn(q)
		if err != nil || detail == nil {
			return err
		}
		return events.Audit(ctx, q, s.now(), by, events.AuditEntry{Action: action, Target: target, Outcome: events.AuditOK, Detail: detail})
	})
	return s.refuse(ctx, by, action, target, err)
}

// refuse records a refusal and gives back the error; another error, or none,
// is only given back.
func (s *Service) refuse(ctx context.Context, by events.Actor, action, target string, err error) error {
	var refusal *fault.Error
	if !errors.As(err, &refusal) {
		return err
	}
	recorded := s.store.AsOrganization(ctx, by.Organization, func(q *db.Queries, _ pgx.Tx) error {
		return events.Audit(ctx, q, s.now(), by, events.AuditEntry{
			Action: action, Target: target, Outcome: events.AuditRefused,
			Detail: map[string]any{"reason": refusal.Kind.String(), "code": refusal.Code},
		})
	})
	if recorded != nil {
		return errors.Join(err, recorded)
	}
	return err
}

// builder is who acts, as rows keep it; nil for the instance itself.
func builder(by events.Actor) *id.Builder {
	if by.Builder.IsZero() {
		return nil
	}
	return &by.Builder
}
