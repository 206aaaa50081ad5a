package standin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

var supportedScopes = []string{"openid", "profile", "email", "phone", "offline_access"}

// authorization is one request at /oauth/authorize on its way to a code.
type authorization struct {
	id          string
	clientID    string
	redirectURI string
	scope       string
	state       string
	nonce       string
	resource    string
	challenge   string
	method      string // lower case: s256 or plain
	expiresAt   time.Time

	userID string // bound by the first GET of the consent API
	status string // pending, approved or denied
	code   string
	busy   bool // a GET holds the row
}

const statusPending, statusApproved, statusDenied = "pending", "approved", "denied"

func (z *authorization) expired(now time.Time) bool { return !now.Before(z.expiresAt) }

// authorize is RFC 6749 section 4.1.1 with mandatory PKCE. It looks at no
// session; a valid request always goes on to the consent page.
func (a *authServer) authorize(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if err := a.checkAuthorizeClient(q); err != nil {
		return err // nothing is redirected until the redirect URI is trusted
	}
	z, refused := a.newAuthorization(q)
	if refused.code != "" {
		http.Redirect(w, r, z.errorRedirect(refused.code, refused.description), http.StatusFound)
		return nil
	}
	a.mu.Lock()
	a.state.authorizations[z.id] = z
	a.mu.Unlock()
	page := strings.TrimSuffix(a.cfg.siteURL, "/") + "/" + strings.TrimPrefix(a.cfg.authorizationPath, "/")
	http.Redirect(w, r, page+"?authorization_id="+z.id, http.StatusFound)
	return nil
}

func (a *authServer) checkAuthorizeClient(q url.Values) error {
	clientID, redirectURI := q.Get("client_id"), q.Get("redirect_uri")
	if clientID == "" {
		return invalidInput("client_id is required")
	}
	if redirectURI == "" {
		return invalidInput("redirect_uri is required")
	}
	if _, err := uuid.Parse(clientID); err != nil {
		return newAuthError(http.StatusBadRequest, "oauth_client_not_found", "invalid client_id format")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.state.clients[clientID]
	if c == nil || c.deleted {
		return newAuthError(http.StatusBadRequest, "oauth_client_not_found", "invalid client_id")
	}
	if !slices.Contains(c.uris(), redirectURI) {
		return invalidInput("invalid redirect_uri")
	}
	return nil
}

// newAuthorization reads the rest of the parameters. What is wrong with them
// goes to the client by redirect; its code is empty when nothing is.
func (a *authServer) newAuthorization(q url.Values) (z *authorization, refused oauthError) {
	z = &authorization{
		id: randomBase32(20), clientID: q.Get("client_id"), redirectURI: q.Get("redirect_uri"),
		state: q.Get("state"), nonce: q.Get("nonce"), resource: q.Get("resource"),
		challenge: q.Get("code_challenge"), method: strings.ToLower(q.Get("code_challenge_method")),
		expiresAt: a.cfg.now().Add(a.cfg.authorizationTTL), status: statusPending,
	}
	if t := q.Get("response_type"); t != "" && t != "code" {
		return z, oauthError{"invalid_request", "only response_type=code is supported"}
	}
	scope, why := requestedScope(q.Get("scope"))
	z.scope = scope
	if why == "" {
		why = challengeProblem(z.challenge, z.method)
	}
	if why == "" {
		why = resourceProblem(z.resource)
	}
	if why == "" && len(z.nonce) > 255 {
		why = "nonce exceeds maximum length of 255"
	}
	if why != "" {
		return z, oauthError{"invalid_request", why}
	}
	if a.cfg.authorizationPath == "" {
		return z, oauthError{"server_error", "oauth authorization path not configured"}
	}
	if len(z.state) > 4096 {
		return z, oauthError{"server_error", "error creating authorization"}
	}
	return z, oauthError{}
}

func requestedScope(raw string) (scope, why string) {
	if raw == "" {
		return "email", ""
	}
	scopes := strings.Fields(raw)
	if len(scopes) == 0 {
		return "", "scope parameter cannot be empty"
	}
	for _, s := range scopes {
		if !slices.Contains(supportedScopes, s) {
			return "", "unsupported scope: " + s
		}
	}
	return strings.Join(scopes, " "), ""
}

func challengeProblem(challenge, method string) string {
	switch {
	case challenge == "" || method == "":
		return "PKCE flow requires both code_challenge and code_challenge_method"
	case method != "s256" && method != "plain":
		return "code_challenge_method must be 'S256' or 'plain'"
	case len(challenge) < 43 || len(challenge) > 128:
		return "code_challenge must be between 43 and 128 characters"
	default:
		return ""
	}
}

func resourceProblem(resource string) string {
	if resource == "" {
		return ""
	}
	u, err := url.Parse(resource)
	switch {
	case err != nil || !u.IsAbs():
		return "resource must be an absolute URI"
	case u.Fragment != "":
		return "resource must not include a fragment component"
	case u.RawQuery != "" || u.ForceQuery:
		return "resource must not include a query component"
	case len(resource) > 2048:
		return "resource exceeds maximum length of 2048"
	default:
		return ""
	}
}

func (z *authorization) codeRedirect() string {
	return z.redirect(url.Values{"code": {z.code}})
}

func (z *authorization) errorRedirect(code, description string) string {
	return z.redirect(url.Values{"error": {code}, "error_description": {description}})
}

func (z *authorization) redirect(params url.Values) string {
	if z.state != "" {
		params.Set("state", z.state)
	}
	return withQuery(z.redirectURI, params)
}
