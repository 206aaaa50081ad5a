// Package issuers owns tokens of another issuer than the project's
// (authorization: external): OpenID Connect discovery, key sets and signatures
// (go-oidc), and introspection of opaque tokens (RFC 7662). Its callers run as
// anon: a project knows nothing of such users.
//
// It never sends a token anywhere but to the issuer's own introspection
// endpoint, and never shares what it learnt between surfaces.
package issuers

import (
	"context"
	"log/slog"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Watch tells what changed in the database. *tenants.Watch is one.
type Watch interface {
	Mark(scopes ...string) tenants.Mark
	Fresh(m tenants.Mark) bool
	Usable(m tenants.Mark) bool
}

// Limits bounds guesses. *ratelimit.Limiter is one.
type Limits interface {
	Take(ctx context.Context, n int, bounds ...ratelimit.Bound) error
}

// Config is what a Service needs. All of it is required.
type Config struct {
	Store  *db.Store
	Keys   *seal.Keyset
	Watch  Watch
	Out    *egress.Client
	Limits Limits
	Logger *slog.Logger
	Now    func() time.Time
}

// Service admits tokens of other issuers.
type Service struct{}

var _ oauth.Issuers = (*Service)(nil)

// New returns a Service, or says what is missing.
func New(c Config) (*Service, error) { panic("not built") }

// Admit implements oauth.Issuers.
func (s *Service) Admit(ctx context.Context, ep *tenants.Endpoint, token string) (*oauth.Caller, error) {
	panic("not built")
}

// AdmitOpaque implements oauth.Issuers.
func (s *Service) AdmitOpaque(ctx context.Context, ep *tenants.Endpoint, token, from string) (*oauth.Caller, error) {
	panic("not built")
}

// SetSecret keeps the secret of the client that the surface introspects tokens
// as, sealed. Errors: fault.NotFound (surface), fault.Invalid, fault.Forbidden.
func (s *Service) SetSecret(ctx context.Context, p tenants.Principal, surface id.Surface, secret seal.Secret) error {
	panic("not built")
}

// SecretSet says since when a secret is kept; nil where there is none.
func (s *Service) SecretSet(ctx context.Context, p tenants.Principal, surface id.Surface) (*time.Time, error) {
	panic("not built")
}

// DropSecret forgets the secret. fault.NotFound where there is none.
func (s *Service) DropSecret(ctx context.Context, p tenants.Principal, surface id.Surface) error {
	panic("not built")
}
