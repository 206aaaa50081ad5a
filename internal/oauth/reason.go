package oauth

import (
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// reason says why a token or request was not let in. It is an error with a
// fixed text, so that no byte of a request reaches an answer.
type reason string

// The reasons. Values are stable words for logs and answers.
const (
	reasonNoToken       reason = "no_token"
	reasonHeader        reason = "authorization_malformed"
	reasonTooLarge      reason = "token_too_large"
	reasonOtherKind     reason = "token_kind"
	reasonMalformed     reason = "token_malformed"
	reasonAlgorithm     reason = "token_algorithm"
	reasonSharedSecret  reason = "token_shared_secret"
	reasonIssuer        reason = "token_issuer"
	reasonUnknownKey    reason = "token_key_unknown"
	reasonNoKeys        reason = "project_without_keys"
	reasonSignature     reason = "token_signature"
	reasonExpired       reason = "token_expired"
	reasonNotYet        reason = "token_not_yet_valid"
	reasonRole          reason = "token_role"
	reasonAnonymousUser reason = "token_anonymous_user"
	reasonAudience      reason = "token_audience"
	reasonNoClient      reason = "token_without_client"
	reasonActor         reason = "token_actor"
	reasonRefused       reason = "token_refused"
	reasonSession       reason = "session_ended"
	reasonScope         reason = "insufficient_scope"
)

// texts are shown to people and put into error_description: ASCII without
// quotes or backslashes (RFC 6750 section 3).
var texts = map[reason]string{
	reasonHeader:        "The Authorization header must hold exactly one Bearer token.",
	reasonTooLarge:      "The access token is too large. The app must put less into its tokens.",
	reasonOtherKind:     "This kind of token is not accepted here.",
	reasonMalformed:     "The access token cannot be read. Sign in again.",
	reasonAlgorithm:     "The access token is signed in a way that is not accepted. Sign in again.",
	reasonSharedSecret:  "The app signs its tokens with a shared secret (HS256). Its owner must add an asymmetric signing key in Supabase.",
	reasonIssuer:        "The access token was issued by another service.",
	reasonUnknownKey:    "The access token is signed with a key the app no longer publishes. Sign in again.",
	reasonNoKeys:        "The app publishes no signing keys. Its owner must add an asymmetric signing key in Supabase.",
	reasonSignature:     "The signature of the access token is wrong. Sign in again.",
	reasonExpired:       "The access token has expired. Refresh it or sign in again.",
	reasonNotYet:        "The access token is not valid yet. Try again in a moment.",
	reasonRole:          "The role of the access token is not accepted here.",
	reasonAnonymousUser: "Anonymous users are not accepted here. Sign in with an account.",
	reasonAudience:      "The access token is meant for another server. Sign in again.",
	reasonNoClient:      "The access token does not name its client any more. Refresh it or sign in again.",
	reasonActor:         "The access token does not say properly who acts with it (act). Whoever issued it must correct that.",
	reasonRefused:       "The app did not accept the access token. Refresh it or sign in again.",
	reasonSession:       "The session at the app has ended. Sign in again.",
	reasonScope:         "The access token lacks a scope that is needed here.",
}

// Error implements error.
func (r reason) Error() string { return string(r) }

func (r reason) text() string { return texts[r] }

// textAt is the reason's text for callers of ep, with the next step there.
func (r reason) textAt(ep *tenants.Endpoint) string {
	switch r {
	case reasonNoToken:
		return firstStep(ep)
	case reasonOtherKind, reasonIssuer:
		return r.text() + " " + nextStep(ep)
	}
	return r.text()
}

// firstStep says what a caller without a credential needs.
func firstStep(ep *tenants.Endpoint) string {
	keys, sessions := ep.Access.Has(surfaces.ModeAPIKey), ep.Access.Has(surfaces.ModeBearer)
	switch {
	case ep.Access.Has(surfaces.ModeOAuth):
		return "Sign in to use this server."
	case keys && sessions:
		return "This server needs a key or a session of the app. Send one as a Bearer token in the Authorization header."
	case keys:
		return "This server needs a key. Send it as a Bearer token in the Authorization header."
	case sessions:
		return "This server needs a session of the app. Send its access token as a Bearer token in the Authorization header."
	}
	return "This server lets nobody in."
}

// nextStep says what to send instead of what was not accepted.
func nextStep(ep *tenants.Endpoint) string {
	keys, sessions := ep.Access.Has(surfaces.ModeAPIKey), ep.Access.Has(surfaces.ModeBearer)
	switch {
	case ep.Access.Has(surfaces.ModeOAuth):
		return "Sign in again."
	case keys && sessions:
		return "Send a key of this server or a session of the app."
	case keys:
		return "Send a key of this server."
	case sessions:
		return "Send a session of the app."
	}
	return "Send none: this server asks nobody who they are."
}
