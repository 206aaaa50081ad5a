package issuers

import (
	"errors"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// denial is why a token is not let in: code and text of the challenge. The text
// is ASCII without quotes and says what to do (RFC 6750 section 3).
type denial struct{ code, text string }

// Error implements error.
func (d denial) Error() string { return d.code }

// The denials. Codes are stable words for logs and answers; those that package
// oauth has too mean the same.
var (
	denyKind       = denial{"token_kind", "This kind of token is not accepted here. Sign in again."}
	denyMalformed  = denial{"token_malformed", "The access token cannot be read. Sign in again."}
	denyAlgorithm  = denial{"token_algorithm", "The access token is signed in a way that is not accepted. Sign in again."}
	denyShared     = denial{"token_shared_secret", "The access token is signed with a shared secret, which is not accepted. The owner of the server must have its issuer sign with a key pair."}
	denyIssuer     = denial{"token_issuer", "The access token was issued by another service. Sign in again."}
	denyExpired    = denial{"token_expired", "The access token has expired. Refresh it or sign in again."}
	denyNotYet     = denial{"token_not_yet_valid", "The access token is not valid yet. Try again in a moment."}
	denyUnknownKey = denial{"token_key_unknown", "The access token is signed with a key that its issuer does not publish. Sign in again."}
	denySignature  = denial{"token_signature", "The signature of the access token is wrong. Sign in again."}
	denyAudience   = denial{"token_audience", "The access token is meant for another server. Sign in again."}
	denyNoClient   = denial{"token_without_client", "The access token does not name its client. Sign in again; if it stays, the owner of the server must say which audience is expected."}
	denyClient     = denial{"token_client", "The client that the access token was issued to is not accepted here. Use another client, or ask the owner of the server."}
	denyIDToken    = denial{"token_not_access", "This is not an access token. Send the access token, not an ID token or a refresh token."}
	denyBound      = denial{"token_bound", "The access token is bound to a key of its client, which is not supported here. Ask its issuer for a plain Bearer token."}
	denyActor      = denial{"token_actor", ""} // see oauth.InvalidActor
	denyInactive   = denial{"token_inactive", "The issuer of the access token says that it is not valid any more. Refresh it or sign in again."}
)

// answerTo turns a denial into the surface's challenge. What could not be
// judged stays what it is.
func answerTo(ep *tenants.Endpoint, err error) error {
	var why denial
	switch {
	case !errors.As(err, &why):
		return err
	case why == denyActor:
		return oauth.InvalidActor(ep)
	}
	return oauth.InvalidToken(ep, why.code, why.text)
}

// unavailable is 503, never a challenge: a client that gets one throws away
// tokens that are good.
func unavailable(cause error, retry time.Duration) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, "issuer_unavailable",
		"The access token could not be checked, because its issuer does not answer as it should. Try again in a moment; signing in again does not help.",
	).WithRetryAfter(max(retry, time.Second))
}
