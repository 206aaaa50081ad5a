package bridge

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// issued is what the token endpoint hands out next.
type issued struct {
	grant   id.Grant
	chain   id.Chain
	subject string
	client  string
	scopes  []string
	refresh seal.Secret
}

// beginChain starts the chain of refresh tokens that a code gives, inside the
// redemption of the code (see redeem).
//
// refresh tokens are chr_ + base64url(chain id, generation, MAC); the MAC
// (purpose seal.Refresh) covers organization, surface, grant, chain and
// generation.

// rotate answers a refresh token presented by a client at ep: the next one, or
// within retryWindow the same again. An older generation revokes the grant.
// The session at the project is brought up to date first, so that one which
// ended there is told. Errors: *tokenError invalid_grant, or fault.Unavailable
// with everything kept.
func (s *Service) rotate(ctx context.Context, ep *tenants.Endpoint, client *Client, presented seal.Secret) (issued, error) {
	panic("not built")
}

// revokeToken takes away what a refresh token or access token of the client
// stands for (RFC 7009): its grant. Unknown tokens are no error.
func (s *Service) revokeToken(ctx context.Context, ep *tenants.Endpoint, client *Client, token string) error {
	panic("not built")
}

// redeem exchanges a code, once. A second exchange revokes what the first one
// gave. verify is called with the sign-in's code challenge and redirect URI
// before anything is spent.
func (s *Service) redeem(ctx context.Context, ep *tenants.Endpoint, client *Client, code seal.Secret, verify func(challenge, redirectURI string) error) (issued, error) {
	panic("not built")
}
