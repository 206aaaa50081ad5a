package tenants

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Setup is what the first person types.
type Setup struct {
	Code         seal.Secret // printed by the server, or CHUMBO_SETUP_CODE
	Email        string
	Password     seal.Secret
	Organization string
	Address      string
	Agent        string
}

// NeedsSetup reports whether the instance has no owner yet.
func (s *Service) NeedsSetup(ctx context.Context) (bool, error) { panic("not built") }

// PrepareSetup makes the setup code of an instance without an owner, or keeps
// the operator's own. The code is returned for the server's output; it is zero
// when there is an owner. Only its hash is stored.
func (s *Service) PrepareSetup(ctx context.Context, configured seal.Secret) (code seal.Secret, err error) {
	panic("not built")
}

// CompleteSetup makes the first owner and begins their session. A wrong code
// is fault.Forbidden and counted; after 10 the code is void (start the server
// again for a new one). Once there is an owner it is fault.Conflict.
func (s *Service) CompleteSetup(ctx context.Context, in Setup) (Session, error) { panic("not built") }
