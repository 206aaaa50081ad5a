package supabase

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// AuthMetadata is what a project's Auth says of itself (RFC 8414, OpenID
// Connect Discovery 1.0), and how it said it.
type AuthMetadata struct {
	Issuer                string // as claimed, byte for byte; absolute
	AuthorizationEndpoint string
	TokenEndpoint         string
	RegistrationEndpoint  string // empty while dynamic registration is off
	UserinfoEndpoint      string
	JWKSURI               string
	ScopesSupported       []string
	TokenAuthMethods      []string // token_endpoint_auth_methods_supported
	CodeChallengeMethods  []string

	OAuthServer   bool    // the OAuth 2.1 server is on
	Registration  bool    // dynamic registration is on (OAuthServer and an endpoint)
	RoutesGuarded bool    // the gateway demands an API key on /auth/v1/oauth/*: MCP clients cannot sign in
	Signing       Signing // of the key set; unknown when it is on another origin than the one asked
	Source        string  // URL of the document read
}

// OpenRoutes are the paths a self-hosted gateway must leave open (no API key)
// for MCP clients to sign in.
func OpenRoutes() []string {
	return []string{
		"/auth/v1/.well-known/",
		"/auth/v1/oauth/authorize",
		"/auth/v1/oauth/token",
		"/auth/v1/oauth/clients/register",
	}
}

// AuthReason says why a project's Auth documents cannot be used.
type AuthReason string

// The reasons of an AuthError.
const (
	AuthNotSupabase AuthReason = "not_supabase" // something answers there, but not Supabase Auth
	AuthGatewayKey  AuthReason = "gateway_key"  // the gateway demands an API key on the documents themselves
	AuthNoIssuer    AuthReason = "no_issuer"    // issuer empty or not absolute
	AuthUnreachable AuthReason = "unreachable"  // no usable answer at all
)

// AuthError is why AuthMetadata has nothing to return.
type AuthError struct {
	Reason  AuthReason
	Message string // public: what is wrong and the next step
	Cause   error  // private
}

// Error is for logs.
func (e *AuthError) Error() string {
	if e.Cause != nil {
		return "auth metadata " + string(e.Reason) + ": " + e.Cause.Error()
	}
	return "auth metadata " + string(e.Reason)
}

// Unwrap returns the private cause.
func (e *AuthError) Unwrap() error { return e.Cause }

type authDocument struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	UserinfoEndpoint      string   `json:"userinfo_endpoint"`
	JWKSURI               string   `json:"jwks_uri"`
	ScopesSupported       []string `json:"scopes_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	CodeChallengeMethods  []string `json:"code_challenge_methods_supported"`
}

// AuthMetadata reads the metadata of the Auth at origin (scheme://host[:port]):
// the path-inserted form (hosted projects), then the appended OpenID document,
// then the appended OAuth one. The OpenID document answers even while the
// OAuth server is off, so it alone never proves that the server is on.
//
// Errors are *AuthError, or the context's.
func (c *Client) AuthMetadata(ctx context.Context, origin string) (AuthMetadata, error) {
	p := authProbe{client: c, origin: origin}
	if err := p.run(ctx); err != nil {
		return AuthMetadata{}, err
	}
	return p.metadata(ctx)
}

// authProbe is one walk over the documents.
type authProbe struct {
	client   *Client
	origin   string
	doc      authDocument
	source   string
	found    bool
	on       bool
	off      bool
	guarded  bool
	refusals []error
}

func (p *authProbe) run(ctx context.Context) error {
	// The tail /auth/v1 is the issuer's path (RFC 8414 section 3.1) and must stay.
	if err := p.try(ctx, "/.well-known/oauth-authorization-server/auth/v1", true); err != nil || p.on {
		return err
	}
	if err := p.try(ctx, "/auth/v1/.well-known/openid-configuration", false); err != nil {
		return err
	}
	if !p.off {
		if err := p.try(ctx, "/auth/v1/.well-known/oauth-authorization-server", true); err != nil {
			return err
		}
	}
	if p.found {
		return nil
	}
	return p.failure()
}

// try reads one form. Only an ended context is an error: the next form may work.
func (p *authProbe) try(ctx context.Context, path string, oauth bool) error {
	r, err := p.client.document(ctx, "auth:"+p.origin, p.origin+path, "")
	if err != nil {
		p.refusals = append(p.refusals, err)
		return ctx.Err()
	}
	var doc authDocument
	parsed := json.Unmarshal(r.body, &doc) == nil
	switch {
	case r.status == http.StatusOK && parsed && (doc.AuthorizationEndpoint != "" || doc.JWKSURI != ""):
		p.on = p.on || oauth
		if !p.found || oauth {
			p.doc, p.source, p.found = doc, p.origin+path, true
		}
	case r.status == http.StatusNotFound && authErrorCode(r) == "feature_disabled":
		p.off = true
	case (r.status == http.StatusUnauthorized || r.status == http.StatusForbidden) && authErrorCode(r) == "":
		p.guarded = true
	case r.status >= 500:
		p.refusals = append(p.refusals, errorOf(r))
	}
	return nil
}

func (p *authProbe) failure() error {
	if p.guarded {
		return &AuthError{Reason: AuthGatewayKey, Message: "The gateway at " + p.origin + " answers 401 before Supabase Auth is asked (this is not the same as OAuth being off). Leave these routes open, without an API key: " + strings.Join(OpenRoutes(), ", ") + "."}
	}
	if len(p.refusals) > 0 && !p.off {
		return &AuthError{Reason: AuthUnreachable, Message: "Nothing usable answers at " + p.origin + ". Check the project URL, and that the project is not paused.", Cause: p.refusals[len(p.refusals)-1]}
	}
	return &AuthError{Reason: AuthNotSupabase, Message: "No Supabase Auth answers below " + p.origin + "/auth/v1. Give the project's API URL, such as https://<ref>.supabase.co."}
}

func (p *authProbe) metadata(ctx context.Context) (AuthMetadata, error) {
	if _, err := APIOrigin(p.doc.Issuer); err != nil {
		return AuthMetadata{}, &AuthError{Reason: AuthNoIssuer, Cause: err,
			Message: "Supabase Auth at " + p.origin + " names no absolute issuer. Set GOTRUE_JWT_ISSUER=" + p.origin + "/auth/v1 and restart Auth."}
	}
	m := AuthMetadata{
		Issuer: p.doc.Issuer, AuthorizationEndpoint: p.doc.AuthorizationEndpoint, TokenEndpoint: p.doc.TokenEndpoint,
		RegistrationEndpoint: p.doc.RegistrationEndpoint, UserinfoEndpoint: p.doc.UserinfoEndpoint, JWKSURI: p.doc.JWKSURI,
		ScopesSupported: p.doc.ScopesSupported, TokenAuthMethods: p.doc.TokenAuthMethods, CodeChallengeMethods: p.doc.CodeChallengeMethods,
		OAuthServer: p.on, Source: p.source, Signing: Signing{Kind: SigningUnknown},
	}
	m.Registration = m.OAuthServer && m.RegistrationEndpoint != ""
	if m.OAuthServer {
		guarded, err := p.routesGuarded(ctx)
		if err != nil {
			return AuthMetadata{}, err
		}
		m.RoutesGuarded = guarded
	}
	if sameOrigin(m.JWKSURI, p.origin) {
		keys, err := p.client.KeySet(ctx, "auth:"+p.origin, m.JWKSURI)
		if err == nil {
			m.Signing, _ = SigningOf(keys)
		}
	}
	return m, ctx.Err()
}

// routesGuarded asks /oauth/authorize for nothing. Auth itself answers 400
// with its error code; a gateway that wants a key answers 401 without one.
func (p *authProbe) routesGuarded(ctx context.Context) (bool, error) {
	r, err := p.client.document(ctx, "auth:"+p.origin, p.origin+"/auth/v1/oauth/authorize", "")
	if err != nil {
		return false, ctx.Err()
	}
	return (r.status == http.StatusUnauthorized || r.status == http.StatusForbidden) && authErrorCode(r) == "", nil
}

// authErrorCode is the code of Auth's own error shapes, or "".
func authErrorCode(r reply) string {
	if code := r.header.Get("X-Sb-Error-Code"); code != "" {
		return code
	}
	var body struct {
		ErrorCode string `json:"error_code"`
		Error     string `json:"error"`
	}
	if json.Unmarshal(r.body, &body) != nil {
		return ""
	}
	if body.ErrorCode != "" {
		return body.ErrorCode
	}
	return body.Error
}

// KeySet reads a project's JSON Web Key Set (RFC 7517), 64 KiB at most. It
// does not look into it. Errors are *fault.Error: Unavailable for every answer
// that is no key set, since the tokens may still be good.
func (c *Client) KeySet(ctx context.Context, lane string, jwksURI string) ([]byte, error) {
	r, err := c.document(ctx, lane, jwksURI, "")
	if fault.Is(err, fault.TooLarge) {
		return nil, keysUnavailable(err)
	}
	if err != nil {
		return nil, err
	}
	if r.status != http.StatusOK || !json.Valid(r.body) {
		return nil, keysUnavailable(errorOf(r))
	}
	return r.body, nil
}

func keysUnavailable(cause error) error {
	return fault.Wrap(cause, fault.Unavailable, "key_set_unavailable", "The project's signing keys cannot be read right now. Try again later.").WithRetryAfter(5 * time.Second)
}

// Settings are the parts of Auth's public settings in use. They say nothing of
// captchas, second factors, magic links, mail templates or the OAuth server.
type Settings struct {
	External      map[string]bool `json:"external"` // sign-in methods by name, such as email, google
	DisableSignup bool            `json:"disable_signup"`
	Autoconfirm   bool            `json:"mailer_autoconfirm"`
}

// SocialProviders are the external providers that are switched on, sorted, as
// ProviderURL takes them. Custom ones are not among them: Auth keeps quiet
// about those.
func (s Settings) SocialProviders() []string {
	var names []string
	for name, on := range s.External {
		switch name {
		case "email", "phone", "anonymous_users":
			continue
		}
		if on && authWord(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Settings reads Auth's public settings with the publishable key, which also
// proves that the gateway knows the key. An answer that is not 200 is an *Error.
func (c *Client) Settings(ctx context.Context, p Project) (Settings, error) {
	r, err := c.document(ctx, lane(p), p.APIOrigin+"/auth/v1/settings", p.PublishableKey)
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	if r.status != http.StatusOK || json.Unmarshal(r.body, &s) != nil {
		return Settings{}, errorOf(r)
	}
	return s, nil
}

// document gets a small public document, with the publishable key if given.
func (c *Client) document(ctx context.Context, lane, address, key string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return reply{}, fault.Wrap(err, fault.Invalid, "bad_url", "The project's URL is not a valid one.")
	}
	c.common(req.Header)
	req.Header["Accept"] = []string{"application/json"}
	if key != "" {
		req.Header["Apikey"] = []string{key}
	}
	return c.send(req, egress.Options{Lane: lane, MaxBytes: maxDocument, Timeout: documentTimeout})
}

func sameOrigin(a, b string) bool {
	x, errX := originOf(a)
	y, errY := originOf(b)
	return errX == nil && errY == nil && x == y
}

func originOf(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	return originOfURL(u)
}
