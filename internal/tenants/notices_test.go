package tenants_test

import (
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestNoticesAreTheOrganizationsUntilDismissed(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	b.project(t, b.bob, "globex-crm", facts())
	b.project(t, b.bob, "globex-two", facts())
	b.clock.Advance(time.Second)
	b.project(t, b.alice, "acme-crm", facts())
	b.proven(t, w, b.alice, "acme-crm")
	told := b.notices(t, b.bob)
	if len(told) != 2 || told[0].Text == "" || told[0].Project == nil {
		t.Fatalf("bob was told %+v", told)
	}
	viewer := b.bob
	viewer.Role = tenants.RoleViewer
	if err := b.service.DismissNotice(t.Context(), viewer, told[0].ID); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a viewer dismisses: %v", err)
	}
	if err := b.service.DismissNotice(t.Context(), b.alice, told[0].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("alice dismisses bob's: %v", err)
	}
	if left := b.notices(t, b.bob); len(left) != 2 {
		t.Errorf("%d are left", len(left))
	}
	for range 2 {
		if err := b.service.DismissNotice(t.Context(), b.bob, told[0].ID); err != nil {
			t.Errorf("bob dismisses his: %v", err)
		}
	}
	if left := b.notices(t, b.bob); len(left) != 1 || left[0].ID != told[1].ID {
		t.Errorf("left: %+v", left)
	}
}
