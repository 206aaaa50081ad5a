package builders

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/seal"
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
	AllowPublic      bool // surfaces may declare mode public
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

// prover is both ways to ask for a proof.
type prover struct {
	*supabase.Client
	*supabase.Management
}

// NewRegistration is what a builder gives to register a project.
type NewRegistration struct{ URL, PublishableKey, Slug, Name string }

// ProbeRefused is a probe with a failed check: nothing was kept.
type ProbeRefused struct{ Findings []doctor.Finding }

func (*ProbeRefused) Error() string { return "project refused by its probe" }

// Register probes and registers. A failed check is a *ProbeRefused.
func (s *Service) Register(ctx context.Context, p tenants.Principal, n NewRegistration, progress func(doctor.Finding)) (tenants.Project, []doctor.Finding, error) {
	panic("not built")
}

// Probe runs the checks and keeps nothing; without a key, those that need none.
func (s *Service) Probe(ctx context.Context, url, key string, progress func(doctor.Finding)) (doctor.ProbeResult, error) {
	panic("not built")
}

// Reprobe looks again and keeps what was learnt. An empty key keeps the old one.
func (s *Service) Reprobe(ctx context.Context, p tenants.Principal, project, key string, progress func(doctor.Finding)) (tenants.Project, []doctor.Finding, error) {
	panic("not built")
}

// Served reports whether the project's surfaces answer the world, and if not,
// why, in one sentence.
func (s *Service) Served(project tenants.Project) (ok bool, why string) { panic("not built") }

// Facts is what the compiler needs to know of a project and of this server.
func (s *Service) Facts(project tenants.Project) surfaces.ProjectFacts { panic("not built") }

// ProveByFunction, ProveBySecretKey and ProveByManagement prove ownership.
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

// CatalogFunction issues a new catalog token and returns the SQL of
// chumbo_catalog for these relations (schema.name).
func (s *Service) CatalogFunction(ctx context.Context, p tenants.Principal, project string, relations []string) (string, error) {
	panic("not built")
}

// ImportCatalog imports the schema by chumbo_catalog.
func (s *Service) ImportCatalog(ctx context.Context, p tenants.Principal, project string) (surfaces.StoredSnapshot, error) {
	panic("not built")
}

// ImportManagement imports the schema by the Management API.
func (s *Service) ImportManagement(ctx context.Context, p tenants.Principal, project string, token seal.Secret) (surfaces.StoredSnapshot, error) {
	panic("not built")
}

// Plan says what publishing a file as that surface would do. The surface need
// not exist. An empty src plans the draft.
func (s *Service) Plan(ctx context.Context, p tenants.Principal, project, surface string, src []byte) (surfaces.Plan, error) {
	panic("not built")
}

// SaveDraft keeps a file as the surface's draft and makes the surface if need
// be.
func (s *Service) SaveDraft(ctx context.Context, p tenants.Principal, project, surface string, src []byte) (surfaces.Draft, tenants.Surface, error) {
	panic("not built")
}

// Publication is what Publish did.
type Publication struct {
	surfaces.Published
	Project tenants.Project
	Surface tenants.Surface
	Notes   []string // what still stands between the surface and its users
}

// Publish publishes a file as that surface, which is made if need be: a
// refused first publication leaves nothing behind.
func (s *Service) Publish(ctx context.Context, p tenants.Principal, project, surface string, file []byte, expect *string, overrides []surfaces.Override) (Publication, error) {
	panic("not built")
}

// Posture is the posture of a project's latest snapshot.
func (s *Service) Posture(ctx context.Context, p tenants.Principal, project string) ([]surfaces.Finding, error) {
	panic("not built")
}

// Drift is how the schema moved under a surface's live revision.
func (s *Service) Drift(ctx context.Context, p tenants.Principal, project, surface string) (surfaces.Drift, error) {
	panic("not built")
}
