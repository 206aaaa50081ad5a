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
	AppMetadata  map[string]any // laid over {"provider":"email","providers":["email"]}
	UserMetadata map[string]any // laid over what sign-up puts there
	Unconfirmed  bool           // the email address is not confirmed yet
}

// TokenOptions shapes an access token made for a test. The zero value is the
// token of a fresh first-party session.
type TokenOptions struct {
	ClientID  string         // set: a token of this OAuth client, with client_id and scope
	Scope     string         // of an OAuth client's token; empty means "email"
	Lifetime  time.Duration  // from now; 0 means the project's, negative means already expired
	NoSession bool           // leave session_id out and keep no session
	Claims    map[string]any // laid over the claims last; a nil value removes a claim
}

// authConfig is everything the Auth server needs: pool, keys, now, baseURL and
// siteURL are required. The zero value of every switch is what a fresh hosted
// project has, except that confirmation mails are off.
type authConfig struct {
	pool    *pgxpool.Pool    // superuser on the project's database
	baseURL string           // http://127.0.0.1:port, without a slash at the end
	siteURL string           // the app's own origin; its pages are pages()
	keys    *keyring         //
	now     func() time.Time //
	log     *slog.Logger     // nil discards
	anonKey string           // JWT with role anon; kept for callers of the API
	users   []User           // made, or left alone when their email exists

	tokenLifetime       time.Duration // 0 means an hour
	authorizationTTL    time.Duration // 0 means ten minutes
	oauthEnabled        *atomic.Bool  // nil means on
	registrationEnabled *atomic.Bool  // nil means on
	authorizationPath   string        // of the consent page; empty means "not configured"
	allowList           []string      // redirect globs besides the site URL

	confirmationOn  bool          // sign-ups wait for a mail
	signupOff       bool          // nobody new may sign up
	emailOff        bool          // no sign-in by email
	magicLinkOff    bool          // no sign-in by mailed links and codes
	anonymousOn     bool          // anonymous sign-ins are allowed
	noMailCodes     bool          // mails show the link only
	mailInterval    time.Duration // between mails to one address; 0 means a minute
	mailed          func(to string, m Mail)
	mailQuota       int          // mails in all per hour while confirmationOn; 0 means no limit
	limitHeader     string       // header that carries the client's address; empty switches the buckets off
	limitConnection bool         // the buckets are per address of the connection
	captcha         captchaCheck // nil means that none is needed

	totpEnrollOff  bool          // no new factors
	totpVerifyOff  bool          // no challenges and codes
	lowAALLifetime time.Duration // of aal1 sessions of people with a factor; 0 means no limit

	refreshV2         bool          // refresh tokens that carry session and counter
	singleSession     bool          // a new session ends refreshing of the older ones
	sessionTimebox    time.Duration // 0 means none
	sessionInactivity time.Duration // 0 means none

	providers  map[string]externalProvider // by name, for /authorize
	builtIn    []string                    // providers whose page is the stand-in's own
	hook       accessTokenHook             // nil means none
	factorHook factorHook                  // nil means none
}

// externalProvider is an identity provider. /authorize sends people to URL,
// which sends them back to /callback with a code for exchange. One without a
// URL is known but not enabled.
type externalProvider struct {
	url      string
	clientID string
	exchange func(code string) (externalIdentity, error)
}

// externalIdentity is what a provider says about a person.
type externalIdentity struct {
	subject       string
	email         string
	emailVerified bool
	claims        map[string]any // become user_metadata
	accessToken   string
	refreshToken  string
}

// accessTokenHook may change the claims of a token about to be issued, or
// refuse it with a status and a message.
type accessTokenHook func(input map[string]any) (claims map[string]any, status int, message string)

var _ http.Handler = (*authServer)(nil)
