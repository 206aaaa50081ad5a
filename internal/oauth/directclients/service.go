package directclients

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Watch tells what changed in the database. *tenants.Watch is one.
type Watch interface {
	Mark(scopes ...string) tenants.Mark
	Fresh(m tenants.Mark) bool
	Usable(m tenants.Mark) bool
}

// Projects asks whether a session lives. *supabase.Client is one.
type Projects interface {
	CurrentUser(ctx context.Context, p supabase.Project, access seal.Secret) (supabase.User, error)
}

// Config is what a Service needs. All of it is required.
type Config struct {
	Store    *db.Store
	Watch    Watch
	Projects Projects
	Logger   *slog.Logger
	Now      func() time.Time
}

// Service keeps the clients and asks about the sessions. Safe for concurrent
// use.
type Service struct {
	cfg      Config
	bindings *bindings
	uses     *uses
	sessions *sessions
}

var (
	_ oauth.Clients  = (*Service)(nil)
	_ oauth.Sessions = (*Service)(nil)
)

// New returns a Service, or says what is missing.
func New(c Config) (*Service, error) {
	if c.Store == nil || c.Watch == nil || c.Projects == nil || c.Logger == nil || c.Now == nil {
		return nil, errors.New("new direct clients: store, watch, projects, logger and clock are required")
	}
	s := &Service{cfg: c}
	var err error
	if s.bindings, err = newBindings(); err != nil {
		return nil, fmt.Errorf("new direct clients: %w", err)
	}
	if s.uses, err = newUses(); err != nil {
		return nil, fmt.Errorf("new direct clients: %w", err)
	}
	if s.sessions, err = newSessions(); err != nil {
		return nil, fmt.Errorf("new direct clients: %w", err)
	}
	return s, nil
}
