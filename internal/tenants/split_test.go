package tenants_test

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// elsewhere is facts(), reached at another origin: such as an operator allows
// by CHUMBO_ALLOW_SPLIT_ISSUER.
func elsewhere(origin string) tenants.ProjectFacts {
	f := at(origin)
	f.Issuer = facts().Issuer
	return f
}

func (b *bundle) isProven(t *testing.T, p tenants.Principal, slug string) bool {
	t.Helper()
	project, err := b.service.Project(t.Context(), p, slug)
	if err != nil {
		t.Fatal(err)
	}
	return project.VerifiedAt != nil
}

// cannotProve has the function at the project's origin return its token, and
// expects that this proves nothing.
func (b *bundle) cannotProve(t *testing.T, w *world, p tenants.Principal, slug string) {
	t.Helper()
	project, err := b.service.Project(t.Context(), p, slug)
	if err != nil {
		t.Fatal(err)
	}
	w.says(project.APIOrigin, project.Ownership.Token, nil)
	_, err = b.service.ProveByFunction(t.Context(), p, slug, w)
	if f := fault.From(err); err == nil || f.Kind != fault.Unprocessable || f.Code != "issuer_proven_elsewhere" {
		t.Errorf("proving %s: %v", slug, err)
	}
	if b.isProven(t, p, slug) {
		t.Errorf("%s is proven", slug)
	}
}

func TestAttack_OriginThatNamesAnotherOrganizationsIssuer(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	b.surface(t, b.alice, "acme-crm", "main")
	b.project(t, b.bob, "globex-proxy", elsewhere("https://proxy.example.test"))
	b.surface(t, b.bob, "globex-proxy", "main")

	// Bob comes first, and loses it to who proves the issuer's own origin.
	b.proven(t, w, b.bob, "globex-proxy")
	b.proven(t, w, b.alice, "acme-crm")
	s, err := b.service.Surface(t.Context(), b.bob, "globex-proxy", "main")
	if err != nil || s.State != tenants.StatePaused || b.isProven(t, b.bob, "globex-proxy") {
		t.Errorf("bob's surface: %+v, %v", s, err)
	}
	if told := b.notices(t, b.bob); len(told) != 1 || told[0].Kind != "ownership.taken_over" {
		t.Errorf("bob was told %+v", told)
	}

	// From then on he proves his own origin in vain.
	b.cannotProve(t, w, b.bob, "globex-proxy")
	if !b.isProven(t, b.alice, "acme-crm") || len(b.notices(t, b.alice)) != 0 {
		t.Error("alice lost her proof, or was told something")
	}

	// Alice herself may reach her project at two origins.
	b.project(t, b.alice, "acme-inside", elsewhere("https://inside.example.test"))
	b.proven(t, w, b.alice, "acme-inside")
	if !b.isProven(t, b.alice, "acme-crm") || !b.isProven(t, b.alice, "acme-inside") {
		t.Error("alice's two projects are not both proven")
	}
}

func TestAttack_IssuerThatBothNameAndNeitherIs(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	b.project(t, b.alice, "acme-crm", elsewhere("https://api.example.test"))
	b.project(t, b.bob, "globex-proxy", elsewhere("https://proxy.example.test"))
	b.proven(t, w, b.alice, "acme-crm")
	b.cannotProve(t, w, b.bob, "globex-proxy")
	if !b.isProven(t, b.alice, "acme-crm") {
		t.Error("alice's project is not proven any more")
	}
}

func TestAttack_ProvenProjectThatTakesAnotherIssuersName(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	b.surface(t, b.alice, "acme-crm", "main")
	b.proven(t, w, b.alice, "acme-crm")
	own := at("https://proxy.example.test")
	b.project(t, b.bob, "globex-proxy", own)
	b.proven(t, w, b.bob, "globex-proxy")
	if _, err := b.service.UpdateProject(t.Context(), b.bob, "globex-proxy", own); err != nil || !b.isProven(t, b.bob, "globex-proxy") {
		t.Errorf("the same facts again took the proof: %v", err)
	}
	if _, err := b.service.UpdateProject(t.Context(), b.bob, "globex-proxy", elsewhere("https://proxy.example.test")); err != nil {
		t.Fatal(err)
	}
	if b.isProven(t, b.bob, "globex-proxy") {
		t.Error("a proven origin now gets the tokens of alice's issuer")
	}
	b.cannotProve(t, w, b.bob, "globex-proxy")

	// Nor in the moment between the question and the answer.
	if _, err := b.service.UpdateProject(t.Context(), b.bob, "globex-proxy", own); err != nil {
		t.Fatal(err)
	}
	project, err := b.service.Project(t.Context(), b.bob, "globex-proxy")
	if err != nil {
		t.Fatal(err)
	}
	w.before = func(supabase.Project) {
		if _, err := b.service.UpdateProject(t.Context(), b.bob, "globex-proxy", elsewhere("https://proxy.example.test")); err != nil {
			t.Error(err)
		}
	}
	w.says(project.APIOrigin, project.Ownership.Token, nil)
	if _, err := b.service.ProveByFunction(t.Context(), b.bob, "globex-proxy", w); !fault.Is(err, fault.Conflict) || b.isProven(t, b.bob, "globex-proxy") {
		t.Errorf("proven while it changed: %v", err)
	}
}
