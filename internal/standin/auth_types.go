package standin

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Signing says how Auth signs its tokens.
type Signing string

// The two ways a project can sign.
const (
	SigningES256 Signing = "ES256" // an asymmetric key, published in the JWKS
	SigningHS256 Signing = "HS256" // the legacy secret only; the JWKS is empty
)

// User is a person with an account in the project.
type User struct {
	ID           string         // UUID; made when empty
	Email        string         // unique, lower case
	Password     string         // plain text; empty means none is set
	AppMetadata  map[string]any // merged over {"provider":"email","providers":["email"]}
	UserMetadata map[string]any // merged over what sign-up puts there
	Unconfirmed  bool           // the email address is not confirmed yet
}

// TokenOptions shapes an access token made for a test. The zero value is the
// token of a fresh first-party session.
type TokenOptions struct {
	ClientID  string         // set: a token of this OAuth client, with client_id and scope
	Scope     string         // of an OAuth client's token; empty means "email"
	Lifetime  time.Duration  // from now; 0 means the project's, negative means already expired
	NoSession bool           // leave session_id out and keep no session row
	Claims    map[string]any // laid over the claims last; a nil value removes a claim
}

// authRateLimits are the burst sizes and refill rates of Auth's buckets. They
// act only when header names the request header that carries the client's
// address.
type authRateLimits struct {
	header string
}

// authConfig is everything the Auth server needs. now, keys, pool, baseURL and
// siteURL are required.
type authConfig struct {
	pool                *pgxpool.Pool // superuser on the project's database
	baseURL             string        // http://127.0.0.1:port, without a slash at the end
	siteURL             string        // the app's own origin; its pages are pages()
	keys                *keyring
	now                 func() time.Time
	log                 *slog.Logger  // nil discards
	anonKey             string        // JWT with role anon, for the pages
	users               []User        // made, or left alone when their email exists
	tokenLifetime       time.Duration // 0 means an hour
	oauthEnabled        *atomic.Bool  // nil means on
	registrationEnabled *atomic.Bool  // nil means on
	authorizationPath   string        // of the consent page; empty means "not configured"
	allowList           []string      // redirect globs besides the site URL
	autoconfirmOff      bool          // sign-ups wait for a mail
	refreshV2           bool          // session-bound refresh tokens with a counter
	limits              authRateLimits
	providers           map[string]externalProvider // by name, for /authorize
	hook                accessTokenHook             // nil means none
}

// externalProvider is an identity provider that signs people in without a
// page: /authorize goes to URL, which sends them back to /callback.
type externalProvider struct {
	URL      string // authorization endpoint
	Disabled bool
	// Exchange turns the code of the callback into an identity.
	Exchange func(code string) (externalIdentity, error)
}

// externalIdentity is what a provider says about a person.
type externalIdentity struct {
	Subject       string
	Email         string
	EmailVerified bool
	Claims        map[string]any // become user_metadata
	AccessToken   string
	RefreshToken  string
}

// accessTokenHook may change or refuse the claims of a token about to be
// issued. A status other than 0 refuses with that status and message.
type accessTokenHook func(input map[string]any) (claims map[string]any, status int, message string)

var _ http.Handler = (*authServer)(nil)
