package tenants_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// world is the Supabase projects out there, by origin: what their functions
// say, or why they say nothing, and which key opens them.
type world struct {
	mu     sync.Mutex
	tokens map[string]string
	errs   map[string]error
	keys   map[string]string // secret key, or Management API token, by origin or reference
	asked  map[string]int
	sent   []string               // every key and token that was sent anywhere
	before func(supabase.Project) // runs before an answer
}

func newWorld() *world {
	return &world{tokens: map[string]string{}, errs: map[string]error{}, keys: map[string]string{}, asked: map[string]int{}}
}

func (w *world) OwnershipToken(_ context.Context, p supabase.Project) (string, error) {
	w.mu.Lock()
	w.asked[p.APIOrigin]++
	before, token, err := w.before, w.tokens[p.APIOrigin], w.errs[p.APIOrigin]
	w.mu.Unlock()
	if before != nil {
		before(p)
	}
	return token, err
}

func (w *world) ProveSecretKey(_ context.Context, p supabase.Project, key seal.Secret) error {
	return w.opens(p.APIOrigin, key)
}

func (w *world) ProveManagement(_ context.Context, ref string, token seal.Secret) error {
	return w.opens(ref, token)
}

func (w *world) opens(what string, key seal.Secret) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, key.Reveal())
	if w.keys[what] != key.Reveal() {
		return fault.New(fault.Forbidden, "refused", "The project refused this key.")
	}
	return nil
}

// says makes the function at an origin return a token, or fail.
func (w *world) says(origin, token string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tokens[origin], w.errs[origin] = token, err
}

func (w *world) timesAsked() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.asked)
}

// at is facts() of another origin.
func at(origin string) tenants.ProjectFacts {
	f := facts()
	f.TypedURL, f.APIOrigin, f.Issuer, f.JWKSURI = origin, origin, origin+"/auth/v1", origin+"/auth/v1/.well-known/jwks.json"
	return f
}

func (b *bundle) project(t *testing.T, p tenants.Principal, slug string, f tenants.ProjectFacts) tenants.Project {
	t.Helper()
	project, err := b.service.CreateProject(t.Context(), p, tenants.NewProject{Slug: slug, ProjectFacts: f})
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// proven proves a project by its function.
func (b *bundle) proven(t *testing.T, w *world, p tenants.Principal, slug string) tenants.Project {
	t.Helper()
	project, err := b.service.Project(t.Context(), p, slug)
	if err != nil {
		t.Fatal(err)
	}
	w.says(project.APIOrigin, project.Ownership.Token, nil)
	project, err = b.service.ProveByFunction(t.Context(), p, slug, w)
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func (b *bundle) notices(t *testing.T, p tenants.Principal) []tenants.Notice {
	t.Helper()
	list, err := b.service.Notices(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
