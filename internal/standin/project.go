package standin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/chumbo-dev/chumbo/internal/localpg"
)

// Options describe a project. Postgres is required; the zero value of
// everything else is a project as Supabase makes them today, except that no
// address has to be confirmed and that mails show their code beside the link.
type Options struct {
	Postgres *localpg.Server
	Schema   string // SQL run as the database's owner, once users exist
	Users    []User // people with an account; CRMUsers fits CRM
	Addr     string // host:port to listen on; empty means a free loopback port

	// Functions are Edge Functions by slug. Each sees the path with its slug
	// first and runs behind the platform's token check (verify_jwt).
	Functions map[string]http.Handler
	// OpenFunctions are the slugs that were deployed with verify_jwt = false.
	OpenFunctions []string

	Signing       Signing          // empty means SigningES256
	TokenLifetime time.Duration    // of access tokens; 0 means an hour
	Now           func() time.Time // nil means time.Now

	OAuthOff        bool // Auth's OAuth server is switched off
	RegistrationOff bool // dynamic client registration is switched off
	RedirectURLs    []string
	SiteURL         string // the app's own address; empty means the project's, which has the consent page
	NoConsentPath   bool   // the OAuth server has no authorization path: half configured

	// How people sign in, as the project's owner sets it in the dashboard.
	ConfirmationOn  bool          // sign-ups wait for a mail
	SignupOff       bool          // nobody new may sign up
	EmailOff        bool          // no sign-in by email, password included
	MagicLinkOff    bool          // no mailed links and codes; the password still works
	AnonymousOn     bool          // anonymous sign-ins are allowed
	TOTPEnrollOff   bool          // nobody may add a second factor
	TOTPVerifyOff   bool          // factors that exist cannot be used
	LowAALLifetime  time.Duration // of aal1 sessions of people with a second factor; 0 means no limit
	SessionLifetime time.Duration // of every session; 0 means no limit
	SingleSession   bool          // a new sign-in ends refreshing of the older ones
	RefreshV2       bool          // refresh tokens of the newer form, that carry session and counter
	NoMailCodes     bool          // mails show a link only, as Supabase's default templates do
	MailInterval    time.Duration // between mails to one address; 0 means a minute

	// Mailed is told of every message that the project sends, before the answer
	// to who asked for it. nil means that only Mails tells.
	Mailed func(to string, m Mail)

	// Captcha is the captcha provider: it says whether a widget's token is
	// good. A token is good once. nil means that no captcha is needed.
	Captcha func(token string) bool
	// Providers are social providers that are switched on, by Auth's name, such
	// as "github". Their page is the stand-in's own, /providers/{name}: a button
	// "Continue as {email}" (name email) for each of Users, a field for anybody
	// else, and one to cancel.
	Providers []string
	// RateLimits switches Auth's request limits on, per address of the
	// connection: 30 at once, then a few a minute.
	RateLimits bool

	// SelfHosted plays the published self-hosted gateway: everything under
	// /auth/v1 but a few routes demands an apikey, and the inserted form of
	// the OAuth metadata URL is not rewritten.
	SelfHosted bool

	Schemas  []string // exposed by the Data API; empty means public, graphql_public
	MaxRows  int      // db-max-rows; 0 means 1000
	NoReload bool     // the Data API never reloads its schema cache

	Log *slog.Logger // nil discards
}

// Project is a running stand-in project.
type Project struct {
	url      string
	keys     *keyring
	keySet   apiKeys
	server   *http.Server
	auth     *authServer
	data     *dataAPI
	storage  *storageServer
	recorder *recorder

	postgres *localpg.Server
	database string
	owner    *pgxpool.Pool // superuser on the project's database

	oauth, registration atomic.Bool
	stop                context.CancelFunc
	done                chan struct{} // closed when the background work has ended
}

// Start makes a project: a database cloned from a template that holds the
// bootstrap, users and schema, and a listening gateway in front of it. Close
// it when done.
func Start(ctx context.Context, o Options) (_ *Project, err error) {
	if o.Postgres == nil {
		return nil, errors.New("start project: Options.Postgres is required")
	}
	o = o.withDefaults()
	p := &Project{postgres: o.Postgres, recorder: &recorder{}, done: make(chan struct{})}
	p.oauth.Store(!o.OAuthOff)
	p.registration.Store(!o.RegistrationOff)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()

	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p.url = "http://" + listener.Addr().String()
	p.server = &http.Server{ReadHeaderTimeout: 10 * time.Second}
	if err := p.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, listener.Close())
	}

	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	go func() {
		defer close(p.done)
		p.data.followReloads(background, p.postgres.DSN(p.database))
	}()
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxRows == 0 {
		o.MaxRows = 1000
	}
	if len(o.Schemas) == 0 {
		o.Schemas = []string{"public", "graphql_public"}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (p *Project) prepare(ctx context.Context, o Options) error {
	var err error
	if p.keys, err = newKeyring(o.Signing); err != nil {
		return fmt.Errorf("make signing keys: %w", err)
	}
	if p.keySet, err = newAPIKeys(p.keys, o.Now()); err != nil {
		return fmt.Errorf("make api keys: %w", err)
	}
	if err := p.openDatabase(ctx, o); err != nil {
		return err
	}
	config := authConfigOf(o)
	config.pool, config.keys, config.anonKey = p.owner, p.keys, p.keySet.anon
	config.baseURL, config.siteURL = p.url, p.url
	if o.SiteURL != "" {
		config.siteURL = o.SiteURL
	}
	config.oauthEnabled, config.registrationEnabled = &p.oauth, &p.registration
	if p.auth, err = newAuthServer(ctx, config); err != nil {
		return fmt.Errorf("start auth: %w", err)
	}
	p.data, err = newDataAPI(ctx, dataConfig{
		owner:    p.owner,
		dsn:      p.postgres.DSNAs(p.database, "authenticator"),
		keys:     p.keys,
		now:      o.Now,
		schemas:  o.Schemas,
		maxRows:  o.MaxRows,
		noReload: o.NoReload,
	})
	if err != nil {
		return fmt.Errorf("start data api: %w", err)
	}
	if p.storage, err = newStorageServer(p.owner, p.data.pool, p.keys, o.Now); err != nil {
		return fmt.Errorf("start storage: %w", err)
	}
	functions := &edgeFunctions{handlers: o.Functions, open: o.OpenFunctions, keys: p.keys, now: o.Now}
	gateway := newGateway(p.keySet, o.SelfHosted, p.auth, p.data, functions, p.storage)
	p.server.Handler = p.recorder.wrap(gateway)
	return nil
}

// authConfigOf is the part of Auth's configuration that does not depend on the
// running project.
func authConfigOf(o Options) authConfig {
	config := authConfig{
		now:               o.Now,
		log:               o.Log,
		users:             o.Users,
		tokenLifetime:     o.TokenLifetime,
		authorizationPath: "/oauth/consent",
		allowList:         o.RedirectURLs,

		confirmationOn:  o.ConfirmationOn,
		signupOff:       o.SignupOff,
		emailOff:        o.EmailOff,
		magicLinkOff:    o.MagicLinkOff,
		anonymousOn:     o.AnonymousOn,
		noMailCodes:     o.NoMailCodes,
		mailInterval:    o.MailInterval,
		mailed:          o.Mailed,
		totpEnrollOff:   o.TOTPEnrollOff,
		totpVerifyOff:   o.TOTPVerifyOff,
		lowAALLifetime:  o.LowAALLifetime,
		sessionTimebox:  o.SessionLifetime,
		singleSession:   o.SingleSession,
		refreshV2:       o.RefreshV2,
		limitConnection: o.RateLimits,
	}
	config.builtIn = o.Providers
	if o.Captcha != nil {
		config.captcha = singleUse(o.Captcha)
	}
	if o.NoConsentPath {
		config.authorizationPath = ""
	}
	return config
}

// URL is the project's origin, http://127.0.0.1:port.
func (p *Project) URL() string { return p.url }

// Issuer is the iss of its tokens.
func (p *Project) Issuer() string { return p.url + "/auth/v1" }

// PublishableKey is the key that apps send as apikey (role anon).
func (p *Project) PublishableKey() string { return p.keySet.publishable }

// SecretKey is the key that bypasses Row Level Security. Chumbo must never
// hold one; tests use it to show that it is refused.
func (p *Project) SecretKey() string { return p.keySet.secret }

// AnonKey is the legacy form of PublishableKey, a JWT.
func (p *Project) AnonKey() string { return p.keySet.anon }

// ServiceRoleKey is the legacy form of SecretKey, a JWT.
func (p *Project) ServiceRoleKey() string { return p.keySet.service }

// Exec runs SQL as superuser. Without arguments it may be several statements.
func (p *Project) Exec(ctx context.Context, sql string, args ...any) error {
	if _, err := p.owner.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("execute sql: %w", err)
	}
	return nil
}

// DSN is the connection URL of the project's database as superuser, such as a
// schema import needs.
func (p *Project) DSN() string { return p.postgres.DSN(p.database) }

// AccessToken is a token as Auth would issue it to the user of that email.
func (p *Project) AccessToken(email string, o TokenOptions) (string, error) {
	return p.auth.accessToken(email, o)
}

// RotateKey makes a new key sign; the old one goes on verifying.
func (p *Project) RotateKey() { p.keys.rotate() }

// DropOldKeys stops trusting every key that no longer signs.
func (p *Project) DropOldKeys() { p.keys.dropOld() }

// SetOAuth switches Auth's OAuth server on or off.
func (p *Project) SetOAuth(on bool) { p.oauth.Store(on) }

// SetRegistration switches dynamic client registration on or off.
func (p *Project) SetRegistration(on bool) { p.registration.Store(on) }

// ReloadSchema makes the Data API read the catalogs again now, as a
// `notify pgrst, 'reload schema'` does a moment later. NoReload forbids only
// the latter.
func (p *Project) ReloadSchema(ctx context.Context) error { return p.data.reload(ctx) }

// Close stops the gateway and drops the database.
func (p *Project) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var errs []error
	if p.stop != nil {
		p.stop()
		<-p.done
	}
	if p.server != nil {
		errs = append(errs, p.server.Close())
	}
	if p.data != nil {
		p.data.close()
	}
	if p.owner != nil {
		p.owner.Close()
	}
	if p.database != "" {
		errs = append(errs, p.postgres.DropDatabase(ctx, p.database))
	}
	return errors.Join(errs...)
}

// apiKeys are a project's keys in both their forms.
type apiKeys struct{ publishable, secret, anon, service string }

func newAPIKeys(keys *keyring, now time.Time) (apiKeys, error) {
	legacy := func(role string) (string, error) {
		return keys.signLegacy(map[string]any{
			"iss": "supabase", "ref": "standin", "role": role,
			"iat": now.Unix(), "exp": now.AddDate(10, 0, 0).Unix(),
		})
	}
	anon, err := legacy("anon")
	if err != nil {
		return apiKeys{}, err
	}
	service, err := legacy("service_role")
	return apiKeys{publishable: opaqueKey("sb_publishable_"), secret: opaqueKey("sb_secret_"), anon: anon, service: service}, err
}

// opaqueKey has the platform's form: 22 random characters, an underscore, 8
// more.
func opaqueKey(prefix string) string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b[:16]) + "_" + hex.EncodeToString(b[16:])
}
