package tenants_test

import (
	"context"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestAttack_LogosWaitWithoutHoldingTheDatabase: decoding is slow and takes
// turns; what waits for one must not keep a connection from everybody else.
func TestAttack_LogosWaitWithoutHoldingTheDatabase(t *testing.T) { //nolint:paralleltest // takes the turns of the whole process
	b := setup(t, tenants.Hosts{})
	b.project(t, b.alice, "acme-crm", facts())
	many := int(b.Store.Pool().Config().MaxConns) + 2
	sent, release := picture(t, 64, 64), tenants.HoldLogoTurns()
	ended := make(chan error, many)
	for range many {
		go func() {
			_, err := b.service.SetLogo(t.Context(), b.alice, "acme-crm", sent)
			ended <- err
		}()
	}
	for range 200 { // while they come
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := b.service.Projects(ctx, b.bob)
		cancel()
		if err != nil {
			t.Errorf("another organization meanwhile: %v", err)
			break
		}
	}
	release()
	for range many {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	viewer := b.alice
	viewer.Role = tenants.RoleViewer
	if _, err := b.service.SetLogo(t.Context(), viewer, "acme-crm", []byte("no picture")); !fault.Is(err, fault.Forbidden) {
		t.Errorf("viewer: %v, want forbidden", err)
	}
}

// TestAttack_ASecretKeyBehindAnAnonKeyIsSeen: the second key's header would
// pass for the first one's signature.
func TestAttack_ASecretKeyBehindAnAnonKeyIsSeen(t *testing.T) {
	t.Parallel()
	const (
		anon    = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYW5vbiJ9"
		service = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.c2ln"
	)
	for _, text := range []string{anon + "." + service, anon + ".c2ln." + service, anon + ".c2ln " + service} {
		if err := tenants.RefuseSecret("name", text); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, want invalid", text, err)
		}
	}
	for _, text := range []string{anon + ".c2ln", "The key is " + anon + ".c2ln.", anon + ".c2ln, " + anon + ".c2ln"} {
		if err := tenants.RefuseSecret("name", text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
