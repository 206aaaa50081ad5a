package bridge

import (
	"context"
	"net/url"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Visitor is what a request says of the browser: for throttles and the story
// of the attempt, never for decisions.
type Visitor struct {
	Address   string // of the client, from tenants.Hosts.ClientAddress
	Agent     string // User-Agent
	RequestID string
}

// BackToClient is the error of a request whose client and redirect URI are
// good: the browser goes back with error, state and iss (RFC 6749 4.1.2.1,
// RFC 9207).
type BackToClient struct {
	URL  string // where to send the browser
	Code string // error code, for logs
}

// Error implements error.
func (e *BackToClient) Error() string { return "authorization refused: " + e.Code }

// Authorize judges an authorization request to the issuer that ep was reached
// by, and begins a sign-in. The secret is the transaction cookie's value.
// Errors: *BackToClient once client and redirect URI are known to be right;
// before that a *fault.Error for a page of ours, which never redirects.
func (s *Service) Authorize(ctx context.Context, ep *tenants.Endpoint, query url.Values, v Visitor) (*SignIn, seal.Secret, error) {
	panic("not built")
}

// Apps begins a sign-in to Connected apps of ep's project.
func (s *Service) Apps(ctx context.Context, ep *tenants.Endpoint, v Visitor) (*SignIn, seal.Secret, error) {
	panic("not built")
}

// AuthorizationURL is the authorization_endpoint of the issuer that ep was
// reached by.
func (s *Service) AuthorizationURL(ep *tenants.Endpoint) string {
	return s.cfg.PagesURL + "/connect/authorize/" + ep.Resource.Ref
}
