package oauth

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
	reasonNotDelegated  reason = "token_not_delegated"
	reasonNoClient      reason = "token_without_client"
	reasonActor         reason = "token_actor"
	reasonRefused       reason = "token_refused"
	reasonSession       reason = "session_ended"
	reasonScope         reason = "insufficient_scope"
)

// texts are shown to people and put into error_description: ASCII without
// quotes or backslashes (RFC 6750 section 3).
var texts = map[reason]string{
	reasonNoToken:       "Sign in to use this server.",
	reasonHeader:        "The Authorization header must hold exactly one Bearer token.",
	reasonTooLarge:      "The access token is too large. The app must put less into its tokens.",
	reasonOtherKind:     "This kind of token is not accepted here. Sign in again.",
	reasonMalformed:     "The access token cannot be read. Sign in again.",
	reasonAlgorithm:     "The access token is signed in a way that is not accepted. Sign in again.",
	reasonSharedSecret:  "The app signs its tokens with a shared secret (HS256). Its owner must add an asymmetric signing key in Supabase.",
	reasonIssuer:        "The access token was issued by another service. Sign in again.",
	reasonUnknownKey:    "The access token is signed with a key the app no longer publishes. Sign in again.",
	reasonNoKeys:        "The app publishes no signing keys. Its owner must add an asymmetric signing key in Supabase.",
	reasonSignature:     "The signature of the access token is wrong. Sign in again.",
	reasonExpired:       "The access token has expired. Refresh it or sign in again.",
	reasonNotYet:        "The access token is not valid yet. Try again in a moment.",
	reasonRole:          "The role of the access token is not accepted here.",
	reasonAnonymousUser: "Anonymous users are not accepted here. Sign in with an account.",
	reasonAudience:      "The access token is meant for another server. Sign in again.",
	reasonNotDelegated:  "The access token belongs to the app itself. Sign in from this client to get one of its own.",
	reasonNoClient:      "The access token does not name its client any more. Refresh it or sign in again.",
	reasonActor:         "The access token does not say properly who acts with it (act). Whoever issued it must correct that.",
	reasonRefused:       "The app did not accept the access token. Refresh it or sign in again.",
	reasonSession:       "The session at the app has ended. Sign in again.",
	reasonScope:         "The access token lacks a scope that is needed here.",
}

// Error implements error.
func (r reason) Error() string { return string(r) }

func (r reason) text() string { return texts[r] }
