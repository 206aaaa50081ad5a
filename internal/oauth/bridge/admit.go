package bridge

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

var _ oauth.Bridge = (*Service)(nil)

// Admit implements oauth.Bridge: an access token of ours (RFC 9068), issued by
// one of the surface's URLs, for this surface (srf) and one of its URLs (aud),
// whose grant and chain stand.
func (s *Service) Admit(ctx context.Context, ep *tenants.Endpoint, token string) (*oauth.Caller, error) {
	panic("not built")
}

// AdmitPersonal implements oauth.Bridge for chp_ tokens.
func (s *Service) AdmitPersonal(ctx context.Context, ep *tenants.Endpoint, token string) (*oauth.Caller, error) {
	panic("not built")
}

// FirstCall notes that a grant was used for a call for the first time, with
// what the client says of itself, and that it was used at all (batched).
func (s *Service) FirstCall(ctx context.Context, ep *tenants.Endpoint, c *oauth.Caller, clientName, clientVersion string, v Visitor) {
	panic("not built")
}

// Running registers a call under way. cancel is called when its grant is taken
// away; the returned func ends the registration and reports whether it was.
func (s *Service) Running(grant id.Grant, cancel func()) (done func() (revoked bool)) {
	panic("not built")
}
