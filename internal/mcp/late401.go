package mcp

import "github.com/chumbo-dev/chumbo/internal/oauth"

// late401 returns the challenge to answer with when the project refused the
// caller's token during the call: what the SDK wrote is dropped, because only
// a 401 makes a client renew its token. A grant that was taken away meanwhile
// ends the same way.
func (x *exchange) late401(c *call) *oauth.Challenge {
	switch {
	case x.revoked.Load():
		c.outcome.errorKind = kindUnauthenticated
		return revokedChallenge(c.endpoint)
	case c.unauthorized:
		c.outcome.errorKind = kindUnauthenticated
		return x.h.cfg.Authenticator.Refused(c.endpoint, c.caller)
	}
	return nil
}
