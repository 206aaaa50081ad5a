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
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/lastused"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Watch tells what changed in the database. *tenants.Watch is one.
type Watch interface {
	Mark(scopes ...string) tenants.Mark
	Fresh(m tenants.Mark) bool
	Usable(m tenants.Mark) bool
}

// Projects asks the app's function. *supabase.Client is one.
type Projects interface {
	Call(ctx context.Context, s supabase.Session, q supabase.Call) (supabase.Answer, error)
}

// Limits bounds guesses. *ratelimit.Limiter is one.
type Limits interface {
	Take(ctx context.Context, n int, bounds ...ratelimit.Bound) error
}

// Config is what a Service needs. All of it is required.
type Config struct {
	Store    *db.Store
	Watch    Watch
	Projects Projects
	Limits   Limits
	Logger   *slog.Logger
	Now      func() time.Time
}

// Service admits keys and keeps those made here. Safe for concurrent use;
// several servers of one instance share everything through the database.
type Service struct {
	cfg      Config
	standing *standing // standing.go
	verdicts *verdicts // verdicts.go
	used     *lastused.Uses[id.Key]
}

var _ oauth.Keys = (*Service)(nil)

// New returns a Service, or says what is missing.
func New(c Config) (*Service, error) {
	if c.Store == nil || c.Watch == nil || c.Projects == nil || c.Limits == nil || c.Logger == nil || c.Now == nil {
		return nil, errors.New("api keys: every part of the configuration is required")
	}
	s := &Service{cfg: c}
	var err error
	if s.standing, err = newStanding(); err != nil {
		return nil, fmt.Errorf("api keys: %w", err)
	}
	if s.verdicts, err = newVerdicts(); err != nil {
		return nil, fmt.Errorf("api keys: %w", err)
	}
	s.used, err = lastused.New(lastused.Config[id.Key]{What: "keys", Most: rememberedKeys, Write: s.writeUses, Logger: c.Logger, Now: c.Now})
	if err != nil {
		return nil, fmt.Errorf("api keys: %w", err)
	}
	return s, nil
}

// writeUses notes in the database that keys were in use now.
func (s *Service) writeUses(ctx context.Context, org id.Organization, used []id.Key, now time.Time) error {
	ids := make([]uuid.UUID, 0, len(used))
	for _, key := range used {
		ids = append(ids, key.UUID())
	}
	return s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		return q.TouchAPIKeys(ctx, db.TouchAPIKeysParams{OrganizationID: org, Now: &now, Ids: ids})
	})
}
