package bridge

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// tokenError is an error answer of the token endpoint (RFC 6749 section 5.2).
type tokenError struct {
	status      int    // 400, 401 for invalid_client, 503 for temporarily_unavailable
	code        string // error
	description string // error_description: what to do

	// For the story of the connection only: a finer word than code, and that a
	// step was recorded already.
	why  string
	told bool
}

// Error implements error.
func (e *tokenError) Error() string { return "token endpoint: " + e.code }

func invalidGrant(description string) *tokenError {
	return &tokenError{status: 400, code: "invalid_grant", description: description, why: whyOf[description]}
}

// because names what the story calls it.
func (e *tokenError) because(why string) *tokenError {
	e.why = why
	return e
}

// tokenAnswer is a successful answer (RFC 6749 section 5.1).
type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"` // seconds
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope,omitempty"`
}

// serveToken is the token endpoint (RFC 6749 section 3.2): codes and refresh
// tokens.
func (s *Service) serveToken(x *exchange) {
	form, err := x.form()
	if err != nil {
		x.oauthError(err)
		return
	}
	story := events.Step{Kind: events.StepToken}
	if form.Get("grant_type") == "refresh_token" {
		story.Kind = events.StepRefresh
	}
	answer, err := s.token(x, form, &story)
	if err != nil {
		story.Failed, story.Code = true, codeOf(err)
		if !told(err) {
			s.step(x.ep, x.visitor, story)
		}
		x.oauthError(err)
		return
	}
	if story.Kind == events.StepToken { // of refreshes only those that fail are kept
		s.step(x.ep, x.visitor, story)
	}
	x.header().Set("Cache-Control", "no-store")
	x.json(http.StatusOK, answer)
}

func (s *Service) token(x *exchange, form url.Values, story *events.Step) (*tokenAnswer, error) {
	ctx, ep := x.r.Context(), x.ep
	client, err := s.provenClient(x, form, tokenURL(ep))
	if err != nil {
		return nil, err
	}
	story.Client, story.ClientName = client.ID, client.Name
	if !ownResources(ep, form["resource"]) {
		return nil, &tokenError{status: 400, code: "invalid_target", description: "resource is not this server. Leave it out, or send " + ep.Resource.URL()}
	}
	var given issued
	switch grant := form.Get("grant_type"); grant {
	case "authorization_code":
		given, err = s.exchangeCode(ctx, ep, client, form)
	case "refresh_token":
		given, err = s.renew(ctx, ep, client, form)
	case "":
		return nil, invalidRequest("grant_type is missing.")
	default:
		return nil, &tokenError{status: 400, code: "unsupported_grant_type", description: "Only authorization_code and refresh_token are supported."}
	}
	story.SignIn, story.Grant = given.signIn, given.grant // known of a refusal, too
	if err != nil {
		return nil, orAway(err)
	}
	access, lifetime, err := s.accessToken(ctx, ep, given, s.cfg.Now())
	if err != nil {
		return nil, orAway(err)
	}
	s.touchClient(ctx, ep, client)
	return &tokenAnswer{
		AccessToken: access.Reveal(), TokenType: "Bearer", ExpiresIn: int64(lifetime.Seconds()),
		RefreshToken: given.refresh.Reveal(), Scope: strings.Join(given.scopes, " "),
	}, nil
}

// provenClient is the client of a request, proven.
func (s *Service) provenClient(x *exchange, form url.Values, endpoint string) (*Client, error) {
	p, err := readClient(x.r.Header, form)
	x.basic = p.basic
	if err != nil {
		return nil, err
	}
	return s.authenticate(x.r.Context(), x.ep, p, endpoint)
}

// exchangeCode redeems a code. Whether it is spent is redeem's to know; what
// the client must prove is known here.
func (s *Service) exchangeCode(ctx context.Context, ep *tenants.Endpoint, client *Client, form url.Values) (issued, error) {
	code, verifier := form.Get("code"), form.Get("code_verifier")
	switch {
	case code == "":
		return issued{}, invalidRequest("code is missing.")
	case verifier == "":
		return issued{}, invalidRequest("code_verifier is missing. PKCE is required.")
	case !goodVerifier(verifier):
		return issued{}, invalidGrant("code_verifier is not 43 to 128 unreserved characters. Sign in again.").because("pkce_mismatch")
	}
	return s.redeem(ctx, ep, client, seal.NewSecret(code), func(challenge, redirectURI string) error {
		if !meets(challenge, verifier) {
			return invalidGrant("code_verifier does not belong to this code. Sign in again.").because("pkce_mismatch")
		}
		// OAuth 2.1 no longer sends it; one that is sent must be right.
		if form.Get("redirect_uri") != "" && form.Get("redirect_uri") != redirectURI {
			return invalidGrant("redirect_uri is another one than that of the authorization request. Sign in again.").because("redirect_mismatch")
		}
		return nil
	})
}

// meets reports whether a verifier belongs to an S256 challenge (RFC 7636
// section 4.6).
func meets(challenge, verifier string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// renew answers a refresh token. A scope asked for narrows the access token
// and nothing else: the next refresh has all of the grant's again.
func (s *Service) renew(ctx context.Context, ep *tenants.Endpoint, client *Client, form url.Values) (issued, error) {
	token := form.Get("refresh_token")
	if token == "" {
		return issued{}, invalidRequest("refresh_token is missing.")
	}
	given, err := s.rotate(ctx, ep, client, seal.NewSecret(token))
	if err != nil {
		return given, err
	}
	given.scopes = narrowed(ep, given.scopes, form.Get("scope"))
	return given, nil
}

// narrowed keeps of the scopes given those asked for, and those the surface
// requires of every token. Asking for none that was given is asking for all.
func narrowed(ep *tenants.Endpoint, given []string, scope string) []string {
	asked := strings.Fields(scope)
	if !slices.ContainsFunc(asked, func(a string) bool { return slices.Contains(given, a) }) {
		return given
	}
	var list []string
	for _, g := range given {
		if slices.Contains(asked, g) || slices.Contains(ep.Access.Require, g) {
			list = append(list, g)
		}
	}
	return list
}

// form reads a form body: what is in the query does not count, and a parameter
// that is there twice is refused (RFC 6749 section 3.2).
func (x *exchange) form() (url.Values, error) {
	if x.mediaType() != "application/x-www-form-urlencoded" {
		return nil, &tokenError{status: http.StatusUnsupportedMediaType, code: "invalid_request", description: "Send the parameters as application/x-www-form-urlencoded."}
	}
	body, refused := x.body()
	if refused != nil {
		return nil, refused
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, invalidRequest("The body is not a form.")
	}
	for name, values := range form {
		if len(values) > 1 && name != "resource" {
			return nil, invalidRequest("A parameter is there more than once. Send each once.")
		}
	}
	return form, nil
}
