package bridge

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// upstreamKind says which endpoint of the project refreshes a session.
type upstreamKind string

const (
	upstreamOAuth   upstreamKind = "oauth"   // /oauth/token, as our client
	upstreamSession upstreamKind = "session" // /token, a first-party session
)

// keepUpstream checks the tokens that a sign-in at the project gave (signature
// and issuer, or GET /user where the project signs with a shared secret; the
// client is ours, or no client at all; role, anonymity and who it is), and
// stores them sealed. Errors are *fault.Error with a text for the page.
func (s *Service) keepUpstream(ctx context.Context, ep *tenants.Endpoint, kind upstreamKind, client string, t supabase.Tokens) (*Person, error) {
	panic("not built")
}

// upstreamToken is the project's access token of a session, refreshed first
// when it is near its end: one refresh at a time over all servers, never a
// connection held meanwhile. A zero refused asks for what there is; else for
// anything but that token. Errors: fault.Unauthenticated when the session has
// ended at the project (its grants end with it), fault.Unavailable when that
// cannot be told now.
func (s *Service) upstreamToken(ctx context.Context, p *tenants.ProjectRef, org id.Organization, session id.Upstream, refused seal.Secret) (seal.Secret, error) {
	panic("not built")
}

// releaseUpstream signs a session out at the project (scope local) when no
// live grant needs it any more. A failure there is logged, not told.
func (s *Service) releaseUpstream(ctx context.Context, p *tenants.ProjectRef, org id.Organization, session id.Upstream) {
	panic("not built")
}
