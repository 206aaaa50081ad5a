package tenants

import (
	"context"
	"time"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// ProofMethod is how an organization proved that it owns a project.
type ProofMethod string

// The methods. Only the first can be repeated without the builder.
const (
	ProofFunction   ProofMethod = "function"   // chumbo_ownership() returns our token
	ProofSecretKey  ProofMethod = "secret_key" // one call with a secret key
	ProofManagement ProofMethod = "management" // one call with a Management API token
)

// MissesToPause is how many daily re-checks may miss before hosted sign-in is
// paused.
const MissesToPause = 3

// Ownership is what is known of a project's proof.
type Ownership struct {
	Token       string      // what chumbo_ownership() must return; no secret
	Method      ProofMethod // empty until proven
	CheckedAt   *time.Time  // last repeated
	Misses      int         // re-checks missed in a row
	TakenOverAt *time.Time  // another organization proved this origin
}

// SignInPaused reports whether hosted sign-in of the project is paused for
// missed re-checks.
func (o Ownership) SignInPaused() bool { return o.Misses >= MissesToPause }

// Prover asks a project for a proof; *supabase.Client and
// *supabase.Management together are one (see builders).
type Prover interface {
	// OwnershipToken calls chumbo_ownership() at the project's API origin.
	OwnershipToken(ctx context.Context, p supabase.Project) (string, error)
	// ProveSecretKey makes one call that only a secret key may make.
	ProveSecretKey(ctx context.Context, p supabase.Project, key seal.Secret) error
	// ProveManagement makes one call to api.supabase.com that only somebody
	// with access to the project may make.
	ProveManagement(ctx context.Context, ref string, token seal.Secret) error
}

// OwnershipSQL is the SQL that puts the marker function into a database.
func OwnershipSQL(token string) string { panic("not built") }

// ProveByFunction compares what chumbo_ownership() returns with the project's
// token, in constant time. A match verifies the project, takes its API origin
// over from other organizations (their rows are unverified, their surfaces
// paused, their owners told) and is written to the audit logs of both.
// Otherwise fault.Unprocessable says what was seen and what to do.
func (s *Service) ProveByFunction(ctx context.Context, p Principal, project string, prover Prover) (Project, error) {
	panic("not built")
}

// ProveBySecretKey proves with one call; the key is never stored or logged.
func (s *Service) ProveBySecretKey(ctx context.Context, p Principal, project string, key seal.Secret, prover Prover) (Project, error) {
	panic("not built")
}

// ProveByManagement proves with one call to api.supabase.com; the token is
// never stored or logged. Only projects at *.supabase.co have it.
func (s *Service) ProveByManagement(ctx context.Context, p Principal, project string, token seal.Secret, prover Prover) (Project, error) {
	panic("not built")
}

// Recheck is what one round of re-checks did.
type Recheck struct{ Checked, Missed, Paused int }

// RecheckOwnership repeats every proof by function whose last check is a day
// old, for the worker. A miss warns the organization; MissesToPause of them
// pause hosted sign-in; a project that cannot be reached is not a miss but is
// tried again the next round.
func (s *Service) RecheckOwnership(ctx context.Context, prover Prover) (Recheck, error) {
	panic("not built")
}
