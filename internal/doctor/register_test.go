package doctor_test

import (
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestWhatTheProbeAcceptsCanBeRegistered: a project must not pass every check
// and then be refused by the table that keeps what the checks learnt.
func TestWhatTheProbeAcceptsCanBeRegistered(t *testing.T) {
	t.Parallel()
	service, err := tenants.NewService(tenants.ServiceConfig{
		Store: dbtest.New(t), Hosts: tenants.Hosts{PublicURL: "https://mcp.example.test"}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, token, err := service.CreateOwner(t.Context(), "alice@example.test", "Acme")
	if err != nil {
		t.Fatal(err)
	}
	alice, err := service.VerifyToken(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	const origin = "https://db.example.test"
	for slug, change := range map[string]func(*supabase.AuthMetadata){
		"plain":               func(*supabase.AuthMetadata) {},
		"default-port":        func(m *supabase.AuthMetadata) { m.JWKSURI = origin + ":443/auth/v1/.well-known/jwks.json" },
		"upper-case-keys":     func(m *supabase.AuthMetadata) { m.JWKSURI = "https://DB.Example.Test/auth/v1/.well-known/jwks.json" },
		"upper-case-issuer":   func(m *supabase.AuthMetadata) { m.Issuer = "https://DB.Example.Test/auth/v1" },
		"issuer-with-port":    func(m *supabase.AuthMetadata) { m.Issuer = origin + ":443/auth/v1" },
		"issuer-without-path": func(m *supabase.AuthMetadata) { m.Issuer = origin },
		"no-scopes":           func(m *supabase.AuthMetadata) { m.ScopesSupported = nil },
	} {
		meta := healthy(origin + "/auth/v1")
		change(&meta)
		w := &world{meta: map[string]supabase.AuthMetadata{origin: meta}, keys: oneKey}
		r := probe(t, w, doctor.ProbeInput{TypedURL: "https://DB.example.test:443/", PublishableKey: "sb_publishable_0123456789abcdef"})
		if worst := doctor.Worst(r.Findings); worst == doctor.Fail || r.Facts.APIOrigin != origin {
			t.Errorf("%s: %s at %q: %+v", slug, worst, r.Facts.APIOrigin, r.Findings)
			continue
		}
		if _, err := service.CreateProject(t.Context(), alice, tenants.NewProject{Slug: slug, ProjectFacts: r.Facts}); err != nil {
			t.Errorf("%s: accepted by the probe and refused here: %v", slug, err)
		}
	}
}
