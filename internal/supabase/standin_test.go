package supabase_test

import (
	"errors"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

func start(t *testing.T, o standin.Options) (*standin.Project, *supabase.Client) {
	t.Helper()
	o.Postgres = localpg.Shared(t)
	p, err := standin.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, supabase.New(egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}))
}

func TestMetadataOfAStandInProject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		options      standin.Options
		on, register bool
		signing      supabase.SigningKind
	}{
		{"fresh", standin.Options{}, true, true, supabase.SigningAsymmetric},
		{"oauth off", standin.Options{OAuthOff: true}, false, false, supabase.SigningAsymmetric},
		{"registration off", standin.Options{RegistrationOff: true}, true, false, supabase.SigningAsymmetric},
		{"HS256 only", standin.Options{Signing: standin.SigningHS256}, true, true, supabase.SigningHS256},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, client := start(t, test.options)
			m, err := client.AuthMetadata(t.Context(), p.URL())
			if err != nil {
				t.Fatal(err)
			}
			if m.Issuer != p.Issuer() || m.OAuthServer != test.on || m.Registration != test.register || m.Signing.Kind != test.signing || m.RoutesGuarded {
				t.Errorf("metadata %+v", m)
			}
			if origin, err := supabase.APIOrigin(m.Issuer); err != nil || origin != p.URL() {
				t.Errorf("origin %q, %v", origin, err)
			}
		})
	}
}

func TestField08_ASelfHostedGatewayIsToldFromOAuthOff(t *testing.T) {
	t.Parallel()
	p, client := start(t, standin.Options{SelfHosted: true})
	_, err := client.AuthMetadata(t.Context(), p.URL())
	var e *supabase.AuthError
	if !errors.As(err, &e) || e.Reason != supabase.AuthGatewayKey {
		t.Fatalf("error %v", err)
	}
}

func TestReachingAStandInProject(t *testing.T) {
	t.Parallel()
	p, client := start(t, standin.Options{})
	project := supabase.Project{ID: id.New[id.ProjectKind](), APIOrigin: p.URL(), PublishableKey: p.PublishableKey()}
	if err := client.DataAPIReachable(t.Context(), project); err != nil {
		t.Error(err)
	}
	if _, err := client.Settings(t.Context(), project); err != nil {
		t.Error(err)
	}
	project.PublishableKey = p.AnonKey()
	if err := client.DataAPIReachable(t.Context(), project); err != nil {
		t.Errorf("a legacy anon key: %v", err)
	}
	project.PublishableKey = "sb_publishable_wrong"
	if err := client.DataAPIReachable(t.Context(), project); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("a wrong key: %v", err)
	}
}
