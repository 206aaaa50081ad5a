package apikeys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// maxLive is how many keys of a surface may be in force at once.
const maxLive = 100

// PageSize is how many keys a page of List has.
const PageSize = 50

// Key is a key made here, as its organization sees it.
type Key struct {
	ID         id.Key
	Name       string
	Hint       string // its last four characters
	Scopes     []string
	CreatedBy  id.Builder
	CreatedAt  time.Time
	ExpiresAt  *time.Time // nil: does not expire
	LastUsedAt *time.Time // to the minute
	RevokedAt  *time.Time
}

// Create makes a key of a surface; it is shown only now. Whoever may change the
// surface makes one. Errors: fault.NotFound (surface), fault.Invalid with an
// issue each, fault.Conflict too_many_keys, fault.Forbidden. What is made or
// refused is in the audit log as key.create.
func (s *Service) Create(ctx context.Context, p tenants.Principal, surface id.Surface, n NewKey) (Key, seal.Secret, error) {
	secret, made := newSecret(), Key{ID: id.New[id.KeyKind](), CreatedBy: p.Builder.ID, CreatedAt: s.cfg.Now()}
	made.Hint = hintOf(secret)
	entry := events.AuditEntry{Action: "key.create", Target: made.ID.String(), Detail: map[string]any{"surface": surface.String()}}
	err := s.change(ctx, p, entry, func(q *db.Queries) error {
		n, err := checkNew(n, made.CreatedAt)
		if err != nil {
			return err
		}
		made.Name, made.Scopes = n.Name, n.Scopes
		if !n.Expires.IsZero() {
			made.ExpiresAt = &n.Expires
		}
		entry.Detail["scopes"] = made.Scopes
		if err := s.roomFor(ctx, q, p.Organization.ID, surface); err != nil {
			return err
		}
		hash := hashOf(secret.Reveal())
		err = q.InsertAPIKey(ctx, db.InsertAPIKeyParams{
			OrganizationID: p.Organization.ID, ID: made.ID, SurfaceID: surface, Name: made.Name, KeyHash: hash[:], Hint: made.Hint,
			Scopes: made.Scopes, CreatedBy: made.CreatedBy, Now: made.CreatedAt, ExpiresAt: made.ExpiresAt,
		})
		if err != nil {
			return fmt.Errorf("insert key: %w", err)
		}
		return nil
	})
	if err != nil {
		return Key{}, seal.Secret{}, err
	}
	return made, secret, nil
}

// roomFor refuses a key too many. It holds the surface until the transaction
// ends, so that two makers at once are counted one after the other.
func (s *Service) roomFor(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface) error {
	_, err := q.LockSurface(ctx, db.LockSurfaceParams{OrganizationID: org, ID: surface})
	if errors.Is(err, pgx.ErrNoRows) {
		return errNoSurface()
	}
	if err != nil {
		return fmt.Errorf("lock surface: %w", err)
	}
	now := s.cfg.Now()
	live, err := q.CountLiveAPIKeys(ctx, db.CountLiveAPIKeysParams{OrganizationID: org, SurfaceID: surface, Now: &now})
	if err != nil {
		return fmt.Errorf("count keys: %w", err)
	}
	if live >= maxLive {
		return fault.New(fault.Conflict, "too_many_keys", "No key was made: the surface has %d keys in force, and may have no more. Revoke one that is not used.", live)
	}
	return nil
}

// List lists a surface's keys, newest first, revoked ones too; after is the
// last of the page before, or zero. Every member may look. fault.NotFound
// (surface).
func (s *Service) List(ctx context.Context, p tenants.Principal, surface id.Surface, after id.Key) ([]Key, error) {
	var from *uuid.UUID
	if !after.IsZero() {
		u := after.UUID()
		from = &u
	}
	var rows []db.ListAPIKeysRow
	err := s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		stands, err := q.SurfaceStands(ctx, db.SurfaceStandsParams{OrganizationID: p.Organization.ID, ID: surface})
		if err == nil && !stands {
			return errNoSurface()
		}
		if err != nil {
			return fmt.Errorf("find surface: %w", err)
		}
		rows, err = q.ListAPIKeys(ctx, db.ListAPIKeysParams{OrganizationID: p.Organization.ID, SurfaceID: surface, After: from, Most: PageSize})
		if err != nil {
			return fmt.Errorf("list keys: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	keys := make([]Key, 0, len(rows))
	for _, row := range rows {
		keys = append(keys, Key(row))
	}
	return keys, nil
}

// Revoke ends a key at once, on every server, with a line key.revoke in the
// audit log. fault.NotFound for one that is not there or revoked already,
// fault.Forbidden.
func (s *Service) Revoke(ctx context.Context, p tenants.Principal, surface id.Surface, key id.Key) error {
	entry := events.AuditEntry{Action: "key.revoke", Target: key.String(), Detail: map[string]any{"surface": surface.String()}}
	err := s.change(ctx, p, entry, func(q *db.Queries) error {
		now := s.cfg.Now()
		n, err := q.RevokeAPIKey(ctx, db.RevokeAPIKeyParams{OrganizationID: p.Organization.ID, SurfaceID: surface, ID: key, Now: &now})
		if err != nil {
			return fmt.Errorf("revoke key: %w", err)
		}
		if n == 0 {
			return fault.New(fault.NotFound, "unknown_key", "Nothing was revoked: this surface has no such key, or it is revoked already.")
		}
		return nil
	})
	if err == nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "access taken away",
			slog.String("organization", p.Organization.ID.String()), slog.String("surface", surface.String()), slog.String("key", key.String()))
	}
	return err
}

// change runs fn inside the principal's organization, with a line in the audit
// log in the same transaction. A refusal rolls back and gets a line of its own.
func (s *Service) change(ctx context.Context, p tenants.Principal, entry events.AuditEntry, fn func(q *db.Queries) error) error {
	err := p.MayWrite()
	if err == nil {
		entry.Outcome = events.AuditOK
		err = s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
			if err := fn(q); err != nil {
				return err
			}
			return events.Audit(ctx, q, s.cfg.Now(), p.Actor(), entry)
		})
	}
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	entry.Outcome, entry.Detail = events.AuditRefused, map[string]any{"reason": refused.Kind.String(), "code": refused.Code}
	recorded := s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		return events.Audit(ctx, q, s.cfg.Now(), p.Actor(), entry)
	})
	if recorded != nil {
		return errors.Join(err, recorded)
	}
	return err
}

func errNoSurface() *fault.Error {
	return fault.New(fault.NotFound, "unknown_surface", "There is no such surface.")
}
