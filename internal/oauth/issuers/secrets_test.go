package issuers

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestSecretIsKeptSealedAndForgotten(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.knows("opaque", nil)
	ask := func() string {
		_, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address)
		return code(err)
	}
	if got := ask(); got != "issuer_unavailable" || s.issuer.count("/introspect") != 0 || len(s.limits.taken) != 0 {
		t.Errorf("without a secret: %s", got)
	}
	if log := s.logs.String(); !strings.Contains(log, "chumbo introspection set") || strings.Count(log, "introspection_secret_missing") != 1 {
		t.Errorf("the owner is told %s", log)
	}
	ask()
	if n := strings.Count(s.logs.String(), "introspection_secret_missing"); n != 1 {
		t.Errorf("the owner is told %d times in a minute", n)
	}
	if at, err := s.SecretSet(t.Context(), s.alice, s.ep.Surface); at != nil || err != nil {
		t.Errorf("set before it is: %v %v", at, err)
	}
	s.keeps(t, s.alice, s.ep, "first")
	if at, err := s.SecretSet(t.Context(), s.alice, s.ep.Surface); err != nil || at == nil || !at.Equal(s.clock.Now()) {
		t.Errorf("set at %v %v", at, err)
	}
	if got := ask(); got != "in" {
		t.Errorf("with a secret: %s", got)
	}
	s.keeps(t, s.alice, s.ep, "second")
	s.clock.Advance(answerFor)
	ask()
	if got := strings.Join(s.issuer.as, " "); got != "chumbo:first chumbo:second" {
		t.Errorf("asked as %s", got)
	}
	if strings.Contains(s.text(t, "select encode(secret, 'escape') from introspection_secrets"), "second") {
		t.Error("the secret is stored readable")
	}
	if err := s.DropSecret(t.Context(), s.alice, s.ep.Surface); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != "issuer_unavailable" {
		t.Errorf("what was learnt with a secret outlives it: %s", got)
	}
	if err := s.DropSecret(t.Context(), s.alice, s.ep.Surface); !fault.Is(err, fault.NotFound) {
		t.Errorf("dropped twice: %v", err)
	}
	acts := s.text(t, `select string_agg(action || ' ' || outcome, ', ' order by at, id) from audit_events where action like 'surface.introspection%' and target = $1`, s.ep.Surface.String())
	if acts != "surface.introspection_set ok, surface.introspection_set ok, surface.introspection_drop ok, surface.introspection_drop refused" {
		t.Errorf("the audit log says %s", acts)
	}
}

func TestSecretsThatAreNoneAndPeopleWhoMayNot(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	for name, secret := range map[string]string{
		"empty": "", "long": strings.Repeat("x", maxSecret+1), "two lines": "a\nb", "blank before": " a", "not ASCII": "gehéim",
		"a project's secret key": "sb_secret_" + strings.Repeat("a", 30),
	} {
		if err := s.SetSecret(t.Context(), s.alice, s.ep.Surface, seal.NewSecret(secret)); !fault.Is(err, fault.Invalid) || len(secret) > 4 && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	viewer := s.alice
	viewer.Role = tenants.RoleViewer
	if err := s.SetSecret(t.Context(), viewer, s.ep.Surface, seal.NewSecret("x")); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a viewer sets it: %v", err)
	}
	if err := s.DropSecret(t.Context(), viewer, s.ep.Surface); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a viewer drops it: %v", err)
	}
	if err := s.SetSecret(t.Context(), s.alice, id.New[id.SurfaceKind](), seal.NewSecret("x")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a surface of nobody: %v", err)
	}
}

func TestAnotherServerHearsOfAChange(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "secret")
	s.knows("opaque", nil)
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address); err != nil {
		t.Fatal(err)
	}
	// As another server does it.
	s.Exec(t, "delete from introspection_secrets")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		_, err := s.AdmitOpaque(ctx, s.ep, "opaque", address)
		if code(err) == "issuer_unavailable" {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("still %s", code(err))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestDatabaseAwayServesWhatIsKnownAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "secret")
	s.keeps(t, s.bob, s.globex, "of bob")
	s.knows("opaque", nil)
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address); err != nil {
		t.Fatal(err)
	}
	s.hears(t)
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address); err != nil {
		t.Fatal(err)
	}
	s.Store.Pool().Close()
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address); err != nil {
		t.Errorf("what is known does not serve: %v", err)
	}
	if _, err := s.AdmitOpaque(t.Context(), s.globex, "opaque", address); code(err) != "issuer_unavailable" {
		t.Errorf("an unknown secret: %s", code(err))
	}
	s.deafen()
	s.clock.Advance(10 * time.Second)
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address); err != nil {
		t.Errorf("within the stale bound: %v", err)
	}
	s.clock.Advance(2 * time.Minute)
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address); code(err) != "issuer_unavailable" {
		t.Errorf("beyond the stale bound: %s", code(err))
	}
}
