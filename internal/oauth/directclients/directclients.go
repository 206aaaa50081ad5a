// Package directclients owns what is known of callers whose tokens the
// project's own Auth issued (authorization: direct, and bearer): which OAuth
// clients came, at which surface first, and whether their sessions still live.
// It never stores a token.
package directclients

import (
	"context"
	"log/slog"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
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

// Service keeps the clients and asks about the sessions.
type Service struct{}

var (
	_ oauth.Clients  = (*Service)(nil)
	_ oauth.Sessions = (*Service)(nil)
)

// New returns a Service, or says what is missing.
func New(c Config) (*Service, error) { panic("not built") }

// Admit implements oauth.Clients.
func (s *Service) Admit(ctx context.Context, ep *tenants.Endpoint, c *oauth.Caller) error {
	panic("not built")
}

// Name keeps what a client says of itself, unverified. It never waits, and may
// be called at every call.
func (s *Service) Name(ep *tenants.Endpoint, c *oauth.Caller, name string) { panic("not built") }

// Ended implements oauth.Sessions.
func (s *Service) Ended(ctx context.Context, ep *tenants.Endpoint, c *oauth.Caller) bool {
	panic("not built")
}

// Client is an OAuth client of a project, as seen here.
type Client struct {
	ID          string
	Name        string // as it says of itself; may be empty
	Surface     id.Surface
	SurfaceSlug string // the first it was seen at
	FirstSeenAt time.Time
	LastUsedAt  time.Time
}

// Most is how many clients List names at most.
const Most = 200

// List lists a project's clients, last used first.
func (s *Service) List(ctx context.Context, p tenants.Principal, project id.Project) ([]Client, error) {
	panic("not built")
}
