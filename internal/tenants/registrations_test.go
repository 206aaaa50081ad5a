package tenants_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestRegistrationIsKeptForADayByItsOrganization(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	ctx := t.Context()
	r, err := b.service.BeginRegistration(ctx, b.alice, " https://db.example.test ")
	if err != nil || r.TypedURL != "https://db.example.test" {
		t.Fatalf("%+v, %v", r, err)
	}
	now := b.clock.Now()
	r.PublishableKey, r.Slug, r.Name, r.Findings, r.FinishedAt = "sb_publishable_0123456789abcdef", "Not A Name", "Acme", json.RawMessage(`[{"check":"issuer"}]`), &now
	if err := b.service.SaveRegistration(ctx, b.alice, r); err != nil {
		t.Fatal(err)
	}
	got, err := b.service.Registration(ctx, b.alice, r.ID)
	if err != nil || got.PublishableKey != r.PublishableKey || got.Slug != r.Slug || got.FinishedAt == nil || !strings.Contains(string(got.Findings), "issuer") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := b.service.Registration(ctx, b.bob, r.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob reads it: %v", err)
	}
	if err := b.service.SaveRegistration(ctx, b.bob, r); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob writes it: %v", err)
	}
	bobs := b.project(t, b.bob, "globex-crm", facts())
	r.Project = &bobs.ID
	if err := b.service.SaveRegistration(ctx, b.alice, r); !fault.Is(err, fault.NotFound) {
		t.Errorf("a registration of bob's project: %v", err)
	}
	viewer := b.alice
	viewer.Role = tenants.RoleViewer
	if _, err := b.service.BeginRegistration(ctx, viewer, "https://db.example.test"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a viewer begins: %v", err)
	}
	b.clock.Advance(24 * time.Hour)
	r.Project = nil
	if _, err := b.service.Registration(ctx, b.alice, r.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("a day later: %v", err)
	}
	if err := b.service.SaveRegistration(ctx, b.alice, r); !fault.Is(err, fault.NotFound) {
		t.Errorf("saved a day later: %v", err)
	}
}

func TestSecretsPastedIntoARegistrationAreNotKept(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	ctx := t.Context()
	const password = "correct-horse"
	for _, typed := range []string{
		"", "sb_secret_0123456789abcdef", "https://db.example.test/?apikey=sb_secret_0123456789abcdef", jwt(`{"role":"service_role"}`),
		"postgresql://postgres:" + password + "@db.example.test:5432/postgres", "https://u:" + password + "@db.example.test", "postgres:%zz" + password + "@db",
		"https://db.example.test\n", strings.Repeat("x", 3000), "\xff",
	} {
		_, err := b.service.BeginRegistration(ctx, b.alice, typed)
		if strings.TrimSpace(typed) == "https://db.example.test" {
			continue
		}
		if !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), password) {
			t.Errorf("%q: %v", typed, err)
		}
	}
	r, err := b.service.BeginRegistration(ctx, b.alice, "https://db.example.test")
	if err != nil {
		t.Fatal(err)
	}
	for field, set := range map[string]func(*tenants.Registration, string){
		"url":  func(r *tenants.Registration, v string) { r.TypedURL = v },
		"key":  func(r *tenants.Registration, v string) { r.PublishableKey = v },
		"slug": func(r *tenants.Registration, v string) { r.Slug = v },
		"name": func(r *tenants.Registration, v string) { r.Name = v },
		"findings": func(r *tenants.Registration, v string) {
			r.Findings = json.RawMessage(`[{"summary":"` + v + `"}]`)
		},
	} {
		for _, secret := range []string{"sb_secret_0123456789abcdef", jwt(`{"role":"service_role"}`), "sbp_0123456789abcdef0123456789abcdef01234567"} {
			changed := r
			set(&changed, secret)
			if err := b.service.SaveRegistration(ctx, b.alice, changed); fault.From(err).Code != "secret_key" || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
	f := facts()
	f.TypedURL = "https://u:" + password + "@db.example.test"
	if _, err := b.service.CreateProject(ctx, b.alice, tenants.NewProject{Slug: "acme-crm", ProjectFacts: f}); fault.From(err).Code != "url_credentials" {
		t.Errorf("a project at a URL with a password: %v", err)
	}
	for _, table := range []string{"registrations", "audit_events", "projects"} {
		if n := b.count(t, table+" t", "t::text ~ 'sb_secret|eyJ|sbp_|"+password+"'"); n != 0 {
			t.Errorf("%s holds a secret", table)
		}
	}
}

func TestProjectKeepsWhatItsProbeFound(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	f := facts()
	f.Registration, f.Findings = false, json.RawMessage(`[{"check": "issuer"}]`)
	project := b.project(t, b.alice, "acme-crm", f)
	if project.RegistrationEnabled || !strings.Contains(string(project.Findings), "issuer") || project.ProbedAt == nil {
		t.Errorf("registered: %+v", project)
	}
	b.clock.Advance(time.Hour)
	f.Registration, f.Findings = true, nil
	project, err := b.service.UpdateProject(t.Context(), b.alice, "acme-crm", f)
	if err != nil || !project.RegistrationEnabled || string(project.Findings) != "[]" || !project.ProbedAt.Equal(b.clock.Now()) {
		t.Errorf("probed again: %+v, %v", project, err)
	}
}

func TestSurfaceTellsThatItIsPinned(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	b.Exec(t, "update surfaces set pinned_at = now()")
	s, err := b.service.Surface(t.Context(), b.alice, "acme-crm", "main")
	list, errs := b.service.Surfaces(t.Context(), b.alice, "acme-crm")
	if err != nil || errs != nil || s.PinnedAt == nil || list[0].PinnedAt == nil {
		t.Errorf("%+v, %+v, %v, %v", s, list, err, errs)
	}
}
