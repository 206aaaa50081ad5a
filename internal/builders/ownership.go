package builders

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// prover is both ways to ask for a proof.
type prover struct {
	*supabase.Client
	*supabase.Management
}

// Served reports whether the project's surfaces answer the world, and if not,
// why, in one sentence.
func (s *Service) Served(project tenants.Project) (ok bool, why string) {
	if project.VerifiedAt != nil {
		return true, ""
	}
	// A project whose tokens are issued in another origin's name always needs
	// the proof: its word about its issuer is not enough.
	if origin, err := supabase.APIOrigin(project.Issuer); err != nil || origin != project.APIOrigin {
		return false, "Nothing of this project is served until your organization proves that it owns it: its issuer is on another origin than its API."
	}
	if s.RequireOwnership {
		return false, "Nothing of this project is served until your organization proves that it owns it, or whoever runs this server sets CHUMBO_REQUIRE_OWNERSHIP=false."
	}
	return true, ""
}

// ProveByFunction proves ownership by chumbo_ownership(); see tenants.
func (s *Service) ProveByFunction(ctx context.Context, p tenants.Principal, project string) (tenants.Project, error) {
	return s.Tenants.ProveByFunction(ctx, p, project, prover{s.Supabase, s.Management})
}

// ProveBySecretKey proves with one call; see tenants.
func (s *Service) ProveBySecretKey(ctx context.Context, p tenants.Principal, project string, key seal.Secret) (tenants.Project, error) {
	return s.Tenants.ProveBySecretKey(ctx, p, project, key, prover{s.Supabase, s.Management})
}

// ProveByManagement proves with one call; see tenants.
func (s *Service) ProveByManagement(ctx context.Context, p tenants.Principal, project string, token seal.Secret) (tenants.Project, error) {
	return s.Tenants.ProveByManagement(ctx, p, project, token, prover{s.Supabase, s.Management})
}
