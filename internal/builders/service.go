package builders

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Config is what a Service stands on. All collaborators are required.
type Config struct {
	Tenants    *tenants.Service
	Surfaces   *surfaces.Service
	Supabase   *supabase.Client
	Management *supabase.Management

	AllowSplitIssuer bool // CHUMBO_ALLOW_SPLIT_ISSUER
	RequireOwnership bool // nothing of an unverified project is served
}

// Service is what builders do. Safe for concurrent use.
type Service struct{ Config }

// New returns a Service, or says what is missing.
func New(c Config) (*Service, error) {
	if c.Tenants == nil || c.Surfaces == nil || c.Supabase == nil || c.Management == nil {
		return nil, errors.New("builders: tenants, surfaces, supabase and management are required")
	}
	return &Service{c}, nil
}

// write admits a principal who may change projects and surfaces. A refusal is
// recorded as that action on that target (the project, and the surface).
func (s *Service) write(ctx context.Context, p tenants.Principal, action string, target ...string) error {
	if err := p.MayWrite(); err != nil {
		return s.Tenants.Refused(ctx, p, action, err, target...)
	}
	return nil
}

// refuseSecrets looks at what was typed, pairs of a field's name and its
// value.
func refuseSecrets(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := tenants.RefuseSecret(pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}
