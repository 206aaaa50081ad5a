// Package apikeys owns keys of applications (access mode api-key): those made
// here (chk_…), of which only a hash is kept, and those that a function of the
// app checks. A key stands for an application: its calls run as anon, with a
// stable subject, and never as a made-up user.
package apikeys

import (
	"context"
	"log/slog"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
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

// Service admits keys and keeps those made here.
type Service struct{}

var _ oauth.Keys = (*Service)(nil)

// New returns a Service, or says what is missing.
func New(c Config) (*Service, error) { panic("not built") }

// Key is a key made here, as its organization sees it.
type Key struct {
	ID         id.Key
	Name       string
	Hint       string // its last four characters
	Scopes     []string
	CreatedBy  id.Builder
	CreatedAt  time.Time
	ExpiresAt  *time.Time // nil: does not expire
	LastUsedAt *time.Time
	RevokedAt  *time.Time
}

// NewKey is a key about to be made.
type NewKey struct {
	Name    string    // 1 to 80 characters
	Scopes  []string  // scopes of the surface's capabilities it may use; none: those without scopes
	Expires time.Time // zero: does not expire
}

// Create makes a key of a surface; it is shown only now. Whoever may change the
// surface makes one. Errors: fault.NotFound (surface), fault.Invalid with an
// issue each, fault.Conflict too_many_keys, fault.Forbidden.
func (s *Service) Create(ctx context.Context, p tenants.Principal, surface id.Surface, n NewKey) (Key, seal.Secret, error) {
	panic("not built")
}

// PageSize is how many keys a page of List has.
const PageSize = 50

// List lists a surface's keys, newest first, revoked ones too; after is the
// last of the page before, or zero.
func (s *Service) List(ctx context.Context, p tenants.Principal, surface id.Surface, after id.Key) ([]Key, error) {
	panic("not built")
}

// Revoke ends a key at once, on every server. fault.NotFound for one that is
// not there or revoked already.
func (s *Service) Revoke(ctx context.Context, p tenants.Principal, surface id.Surface, key id.Key) error {
	panic("not built")
}

// Admit implements oauth.Keys.
func (s *Service) Admit(ctx context.Context, ep *tenants.Endpoint, key string) (*oauth.Caller, error) {
	panic("not built")
}

// AdmitChecked implements oauth.Keys.
func (s *Service) AdmitChecked(ctx context.Context, ep *tenants.Endpoint, key, from string) (*oauth.Caller, error) {
	panic("not built")
}
