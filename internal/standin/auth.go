package standin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// authServer is the stand-in's Auth: the OAuth 2.1 server and the sign-in
// endpoints. It sees paths with /auth/v1 taken off. People live in auth.users;
// sessions, clients and everything in flight live in memory.
type authServer struct {
	cfg    authConfig
	people people
	routes []authRoute

	mu    sync.Mutex // guards state; never held across a query
	state authState

	refreshes atomic.Int64 // refresh calls, whatever came of them
}

type authRoute struct {
	method  string
	pattern []string // path segments; "{name}" matches one
	handle  func(http.ResponseWriter, *http.Request) error
}

// maxAuthBody is the largest request body Auth reads, in bytes.
const maxAuthBody = 1 << 20

// newAuthServer checks the configuration and makes the configured users. The
// tables of sql/auth.sql must exist.
func newAuthServer(ctx context.Context, cfg authConfig) (*authServer, error) {
	if cfg.pool == nil || cfg.keys == nil || cfg.now == nil || cfg.baseURL == "" || cfg.siteURL == "" {
		return nil, errors.New("auth needs pool, keys, now, baseURL and siteURL")
	}
	if cfg.tokenLifetime == 0 {
		cfg.tokenLifetime = time.Hour
	}
	if cfg.authorizationTTL == 0 {
		cfg.authorizationTTL = 10 * time.Minute
	}
	if cfg.mailInterval == 0 {
		cfg.mailInterval = time.Minute
	}
	if cfg.log == nil {
		cfg.log = slog.New(slog.DiscardHandler)
	}
	cfg.providers = maps.Clone(cfg.providers)
	if cfg.providers == nil {
		cfg.providers = map[string]externalProvider{}
	}
	a := &authServer{cfg: cfg, people: people{pool: cfg.pool}, state: newAuthState()}
	if err := a.addProviders(cfg.builtIn); err != nil {
		return nil, err
	}
	a.addRoutes()
	for _, u := range cfg.users {
		if err := a.addUser(ctx, u); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *authServer) addRoutes() {
	a.on("GET /.well-known/oauth-authorization-server", a.needsOAuth(a.metadata))
	a.on("GET /.well-known/openid-configuration", a.metadata)
	a.on("GET /.well-known/jwks.json", a.jwks)
	a.on("GET /settings", a.settings)
	a.on("GET /health", a.health)

	a.on("POST /oauth/clients/register", a.needsOAuth(a.limited(bucketRegister, a.registerClient)))
	a.on("GET /oauth/authorize", a.needsOAuth(a.authorize))
	a.on("POST /oauth/token", a.needsOAuth(a.oauthToken))
	a.on("GET /oauth/userinfo", a.needsOAuth(a.userinfo))
	a.on("GET /oauth/authorizations/{id}", a.needsOAuth(a.getAuthorization))
	a.on("POST /oauth/authorizations/{id}/consent", a.needsOAuth(a.postConsent))
	a.on("GET /user/oauth/grants", a.needsOAuth(a.listGrants))
	a.on("DELETE /user/oauth/grants", a.needsOAuth(a.revokeGrant))

	a.on("GET /admin/oauth/clients", a.needsOAuth(a.adminOnly(a.listClients)))
	a.on("POST /admin/oauth/clients", a.needsOAuth(a.adminOnly(a.createClient)))
	a.on("GET /admin/oauth/clients/{id}", a.needsOAuth(a.adminOnly(a.readClient)))
	a.on("PUT /admin/oauth/clients/{id}", a.needsOAuth(a.adminOnly(a.updateClient)))
	a.on("DELETE /admin/oauth/clients/{id}", a.needsOAuth(a.adminOnly(a.deleteClient)))
	a.on("POST /admin/oauth/clients/{id}/regenerate_secret", a.needsOAuth(a.adminOnly(a.regenerateSecret)))
	a.on("POST /admin/generate_link", a.adminOnly(a.generateLink))
	a.on("GET /admin/users/{id}", a.adminOnly(a.adminUser))
	a.on("GET /admin/users/{id}/factors", a.adminOnly(a.adminFactors))

	a.on("POST /signup", a.limited(bucketSignup, a.signup))
	a.on("POST /token", a.limited(bucketToken, a.token))
	a.on("POST /otp", a.limited(bucketMail, a.otp))
	a.on("POST /magiclink", a.limited(bucketMail, a.otp))
	a.on("POST /recover", a.limited(bucketMail, a.recover))
	a.on("POST /resend", a.limited(bucketMail, a.resend))
	a.on("GET /verify", a.limited(bucketVerify, a.verifyLink))
	a.on("POST /verify", a.limited(bucketVerify, a.verifyCode))
	a.on("GET /authorize", a.externalAuthorize)
	a.on("GET /callback", a.externalCallback)
	a.on("GET /user", a.getUser)
	a.on("PUT /user", a.limited(bucketUser, a.putUser))
	a.on("POST /logout", a.logout)
	a.on("POST /factors", a.enrollFactor)
	a.on("DELETE /factors/{id}", a.unenrollFactor)
	a.on("POST /factors/{id}/challenge", a.challengeFactor)
	a.on("POST /factors/{id}/verify", a.verifyFactor)
	a.on("POST /sso", a.ssoOff)
	a.on("POST /passkeys/authentication/options", a.passkeysOff)
}

func (a *authServer) on(pattern string, h func(http.ResponseWriter, *http.Request) error) {
	method, path, _ := strings.Cut(pattern, " ")
	a.routes = append(a.routes, authRoute{method, strings.Split(path, "/"), h})
}

// ServeHTTP answers the Auth API. Unknown paths are 404 in plain text; a known
// path with another method is 405 with an empty body.
func (a *authServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if preflight(w, r) {
		return
	}
	addCORS(w, r)
	if wantsVersioned(r) {
		w.Header().Set("X-Supabase-Api-Version", api20240101)
	}
	handle, allow := a.route(r)
	if handle == nil && allow == nil {
		http.NotFound(w, r)
		return
	}
	if handle == nil {
		w.Header().Set("Allow", strings.Join(allow, ", "))
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	err := readAuthBody(r)
	if err == nil {
		err = handle(w, r)
	}
	if err != nil {
		a.answerError(w, r, err)
	}
}

// answerError writes the error; one that is no answer of Auth's is logged and
// becomes a plain 500.
func (a *authServer) answerError(w http.ResponseWriter, r *http.Request, err error) {
	var api *authError
	var oauth *oauthError
	if !errors.As(err, &api) && !errors.As(err, &oauth) {
		a.cfg.log.ErrorContext(r.Context(), "auth failed", slog.String("path", r.URL.Path), slog.Any("error", err))
	}
	writeAuthError(w, r, err)
}

func (a *authServer) route(r *http.Request) (handle func(http.ResponseWriter, *http.Request) error, allow []string) {
	path := strings.Split(r.URL.Path, "/")
	for _, route := range a.routes {
		values, ok := matchAuthPath(route.pattern, path)
		if !ok {
			continue
		}
		if route.method != r.Method {
			allow = append(allow, route.method)
			continue
		}
		for name, value := range values {
			r.SetPathValue(name, value)
		}
		return route.handle, nil
	}
	return nil, allow
}

func matchAuthPath(pattern, path []string) (map[string]string, bool) {
	if len(pattern) != len(path) {
		return nil, false
	}
	values := map[string]string{}
	for i, want := range pattern {
		switch {
		case strings.HasPrefix(want, "{") && path[i] != "":
			values[strings.Trim(want, "{}")] = path[i]
		case want != path[i]:
			return nil, false
		}
	}
	return values, true
}

// readAuthBody takes the whole body in, so that handlers can read it in any form.
func readAuthBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxAuthBody+1))
	if err != nil {
		return newAuthError(http.StatusBadRequest, "bad_json", "Could not read request body")
	}
	if len(raw) > maxAuthBody {
		return newAuthError(http.StatusRequestEntityTooLarge, "request_entity_too_large", "Request body too large (max 1048576 bytes)")
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return nil
}

func (a *authServer) oauthOn() bool {
	return a.cfg.oauthEnabled == nil || a.cfg.oauthEnabled.Load()
}

func (a *authServer) registrationOn() bool {
	return a.oauthOn() && (a.cfg.registrationEnabled == nil || a.cfg.registrationEnabled.Load())
}

func (a *authServer) needsOAuth(h func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !a.oauthOn() {
			return newAuthError(http.StatusNotFound, "feature_disabled", "OAuth server is disabled")
		}
		return h(w, r)
	}
}

// issuer is what tokens and metadata name, whatever host a request came to.
func (a *authServer) issuer() string { return a.cfg.baseURL + "/auth/v1" }
