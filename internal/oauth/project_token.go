package oauth

import (
	"context"
	"time"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// ProjectToken is what a project's own access token says, once it is known to
// be the project's.
type ProjectToken struct {
	Subject   string
	Client    string // client_id; empty for a first-party session
	Delegated bool   // any of the three marks of an OAuth client's token
	Session   string // session_id at the project
	Role      string
	Anonymous bool
	Email     string // as the token says; for its owner's eyes only
	AAL       string // aal1 or aal2
	Expires   time.Time
	// Shared tells that the project signs with a shared secret (HS256): nothing
	// was verified here, and the caller must ask the project (GET /user).
	Shared bool
}

// VerifyProjectToken checks a token that the project's Auth just handed to us:
// signature, issuer and time. A token signed with a shared secret cannot be
// checked and comes back with Shared set, issuer and time checked. Errors: a
// *fault.Error, Unavailable when the keys cannot be read.
func (a *Authenticator) VerifyProjectToken(ctx context.Context, p *tenants.ProjectRef, token seal.Secret) (ProjectToken, error) {
	panic("not built")
}
