package bridge

import (
	"context"
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Connected lists the person's grants at every surface of their project, the
// live ones first, then those ended within 30 days.
func (s *Service) Connected(ctx context.Context, who *Person) ([]AccessGrant, error) {
	panic("not built")
}

// Revoke takes a grant of the person's away. Somebody else's is
// fault.NotFound, like one that does not exist.
func (s *Service) Revoke(ctx context.Context, who *Person, grant id.Grant) error {
	panic("not built")
}

// Narrow makes a grant read-only or takes scopes from it; never more.
func (s *Service) Narrow(ctx context.Context, who *Person, grant id.Grant, readOnly bool, scopes []string) error {
	panic("not built")
}

// Widen agrees to the writing tools that the surface offers now.
func (s *Service) Widen(ctx context.Context, who *Person, grant id.Grant) error { panic("not built") }

// NewPersonalToken makes a token (chp_…) for clients that cannot do OAuth, for
// one bridge surface of the person's project, for at most 90 days. It is shown
// once.
func (s *Service) NewPersonalToken(ctx context.Context, who *Person, ep *tenants.Endpoint, name string, readOnly bool, lifetime time.Duration) (AccessGrant, seal.Secret, error) {
	panic("not built")
}

// GrantsOf lists a surface's grants for its builders, newest first: 50 a page,
// after the id given. Emails and tokens are not theirs to see.
func (s *Service) GrantsOf(ctx context.Context, p tenants.Principal, surface id.Surface, after id.Grant) ([]AccessGrant, error) {
	panic("not built")
}

// RevokeByBuilder takes a grant away, with a line in the audit log.
func (s *Service) RevokeByBuilder(ctx context.Context, p tenants.Principal, surface id.Surface, grant id.Grant) error {
	panic("not built")
}
