package bridge

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	maxState       = 4096
	authorizeTries = 300 // per address and surface in authorizeIn: many people share an address
	authorizeIn    = 10 * time.Minute
	documentTries  = 30 // documents never seen at the surface, per address
)

// Visitor is what a request says of the browser: for throttles and the story
// of the attempt, never for decisions.
type Visitor struct {
	Address   string // of the client, from tenants.Hosts.ClientAddress
	Agent     string // User-Agent
	RequestID string
}

// BackToClient is the error of a request whose client and redirect URI are
// good: the browser goes back with error, state and iss (RFC 6749 4.1.2.1,
// RFC 9207).
type BackToClient struct {
	URL  string // where to send the browser
	Code string // error code, for logs
}

// Error implements error.
func (e *BackToClient) Error() string { return "authorization refused: " + e.Code }

// Authorize judges an authorization request to the issuer that ep was reached
// by, and begins a sign-in. The secret is the transaction cookie's value.
// Errors: *BackToClient once client and redirect URI are known to be right;
// before that a *fault.Error for a page of ours, which never redirects.
func (s *Service) Authorize(ctx context.Context, ep *tenants.Endpoint, query url.Values, v Visitor) (*SignIn, seal.Secret, error) {
	story := events.Step{Kind: events.StepAuthorize}
	in, cookie, err := s.authorize(ctx, ep, query, v, &story)
	if err != nil {
		story.Failed, story.Code = true, codeOf(err)
	} else {
		story.SignIn = in.ID
	}
	s.step(ep, v, story)
	return in, cookie, err
}

func (s *Service) authorize(ctx context.Context, ep *tenants.Endpoint, query url.Values, v Visitor, story *events.Step) (*SignIn, seal.Secret, error) {
	if !ep.Access.Bridged() {
		return nil, seal.Secret{}, fault.New(fault.NotFound, "no_bridge", "Nobody signs in here. Start again from your AI app.")
	}
	if err := s.limited(ctx, "authorize", ep, v, authorizeTries, authorizeIn); err != nil {
		return nil, seal.Secret{}, err
	}
	client, redirect, err := s.whoAsks(ctx, ep, query, v)
	if err != nil {
		return nil, seal.Secret{}, err
	}
	story.Client, story.ClientName = client.ID, client.Name
	if client.firstSeen {
		s.step(ep, v, events.Step{Kind: events.StepRegistration, Client: client.ID, ClientName: client.Name})
	}
	// A page, not an answer to the client: it would only try again.
	if err := maySignIn(ep); err != nil {
		return nil, seal.Secret{}, err
	}
	n := newSignIn{
		purpose: PurposeAuthorize, client: client, redirectURI: redirect, state: query.Get("state"), stateGiven: query.Has("state"),
		challenge: query.Get("code_challenge"), scopes: askedScopes(ep, query.Get("scope")), ask: asks(query.Get("prompt")),
	}
	if refused := judge(ep, query); refused != nil {
		if refused.code == "invalid_request" && !goodState(n.state) {
			n.state, n.stateGiven = "", false
		}
		back := &SignIn{Endpoint: ep, RedirectURI: redirect, state: n.state, stateGiven: n.stateGiven}
		return nil, seal.Secret{}, &BackToClient{
			URL:  s.backTo(back, url.Values{"error": {refused.code}, "error_description": {refused.description}}),
			Code: refused.code,
		}
	}
	in, cookie, err := s.begin(ctx, ep, n)
	if err != nil {
		return nil, seal.Secret{}, err
	}
	s.touchClient(ctx, ep, client)
	return in, cookie, nil
}

// whoAsks finds the client and where it wants the browser back. Until both are
// right, nobody is redirected anywhere.
func (s *Service) whoAsks(ctx context.Context, ep *tenants.Endpoint, query url.Values, v Visitor) (*Client, string, error) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(query[name]) > 1 {
			return nil, "", fault.New(fault.Invalid, "invalid_request", "Nobody was signed in: the AI app sent %s more than once. Its makers have to correct it; until then use another app.", name)
		}
	}
	id := query.Get("client_id")
	if id == "" {
		return nil, "", fault.New(fault.Invalid, "invalid_request", "Nobody was signed in: this address is opened by an AI app, which adds who it is. Start from your AI app, with %s", ep.Resource.URL())
	}
	client, err := s.findClient(ctx, ep, id, func() error {
		return s.limited(ctx, "document", ep, v, documentTries, authorizeIn)
	})
	if err != nil {
		return nil, "", err
	}
	redirect := query.Get("redirect_uri")
	if redirect == "" {
		only, ok := client.onlyRedirect()
		if !ok {
			return nil, "", fault.New(fault.Invalid, "redirect_missing", "Nobody was signed in: the AI app did not say where to go afterwards (redirect_uri). Its makers have to correct it; until then use another app.")
		}
		return client, only, nil
	}
	if !client.redirectsTo(redirect) {
		return nil, "", fault.New(fault.Invalid, "redirect_mismatch",
			"Nobody was signed in: the address to go to afterwards (redirect_uri) is not one that this AI app registered. In the app, remove the connector and add it again with %s", ep.Resource.URL())
	}
	return client, redirect, nil
}

// refusal is an error that the client is told of.
type refusal struct{ code, description string }

// onceOnly are the parameters that count here, each at most once (RFC 6749
// section 3.1). resource may be repeated (RFC 8707 section 2).
var onceOnly = []string{
	"response_type", "response_mode", "scope", "state", "code_challenge", "code_challenge_method", "prompt", "request", "request_uri",
}

// judge says what is wrong with a request whose client and redirect URI are
// right. Unknown scopes are never wrong: they are dropped.
func judge(ep *tenants.Endpoint, query url.Values) *refusal {
	for _, name := range onceOnly {
		if len(query[name]) > 1 {
			return &refusal{"invalid_request", name + " is there more than once. Send it once."}
		}
	}
	prompts := strings.Fields(query.Get("prompt"))
	switch {
	case !goodState(query.Get("state")):
		return &refusal{"invalid_request", "state is longer than 4096 bytes or not plain text. Send a shorter one."}
	case query.Has("request"):
		return &refusal{"request_not_supported", "Request objects are not supported. Send plain parameters."}
	case query.Has("request_uri"):
		return &refusal{"request_uri_not_supported", "Request objects are not supported. Send plain parameters."}
	case query.Get("response_type") == "":
		return &refusal{"invalid_request", "response_type is missing. Send response_type=code."}
	case query.Get("response_type") != "code":
		return &refusal{"unsupported_response_type", "Only response_type=code is supported."}
	case query.Get("response_mode") != "" && query.Get("response_mode") != "query":
		return &refusal{"invalid_request", "Only response_mode=query is supported."}
	case query.Get("code_challenge") == "":
		return &refusal{"invalid_request", "code_challenge is missing. PKCE is required, with code_challenge_method=S256."}
	case query.Get("code_challenge_method") != "S256":
		return &refusal{"invalid_request", "code_challenge_method must be S256. The method plain is not supported."}
	case !goodVerifier(query.Get("code_challenge")):
		return &refusal{"invalid_request", "code_challenge is not 43 to 128 characters of base64url."}
	case !ownResources(ep, query["resource"]):
		return &refusal{"invalid_target", "resource is not this server. Leave it out, or send " + ep.Resource.URL()}
	case slices.Contains(prompts, "none") && len(prompts) > 1:
		return &refusal{"invalid_request", "prompt=none cannot be combined."}
	case slices.Contains(prompts, "none"):
		return &refusal{"interaction_required", "Somebody has to sign in and agree. Leave prompt=none out."}
	}
	return nil
}

// asks reports whether the question must be asked: login and select_account
// end there too, as whoever is signed in can say that they are not.
func asks(prompt string) bool {
	return slices.ContainsFunc(strings.Fields(prompt), func(p string) bool {
		return p == "consent" || p == "login" || p == "select_account"
	})
}

// goodState reports whether a state can be kept and given back as it is.
func goodState(state string) bool {
	return len(state) <= maxState && utf8.ValidString(state) && !strings.ContainsFunc(state, unicode.IsControl)
}

// goodVerifier is the form of a code verifier, and wider than that of its S256
// challenge (RFC 7636 sections 4.1 and 4.2).
func goodVerifier(text string) bool {
	if len(text) < 43 || len(text) > 128 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("-._~", c) < 0 {
			return false
		}
	}
	return true
}

// askedScopes are the scopes to ask the person for: those asked for that the
// surface knows, and what it requires of every token. A client that names none
// of them, or only such as openid, gets what is advertised, or else everything
// there is: what a token may do is bounded by the person and their rows.
func askedScopes(ep *tenants.Endpoint, scope string) []string {
	a := ep.Access
	asked := knownScopes(ep, scope)
	if len(asked) == 0 {
		asked = slices.Clone(a.Advertise)
	}
	if len(asked) == 0 && len(a.Require) == 0 {
		asked = slices.Clone(a.Scopes)
	}
	for _, required := range a.Require {
		if !slices.Contains(asked, required) {
			asked = append(asked, required)
		}
	}
	return asked
}

// knownScopes are those of a space-separated list that the surface knows, each
// once.
func knownScopes(ep *tenants.Endpoint, scope string) []string {
	var known []string
	for name := range strings.FieldsSeq(scope) {
		if slices.Contains(ep.Access.Scopes, name) && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	return known
}

// backTo is the client's redirect URI with an answer: params, the issuer
// (RFC 9207) and the state, if one was sent. A query that it has stays as it
// is.
func (s *Service) backTo(in *SignIn, params url.Values) string {
	all := url.Values{"iss": {in.Endpoint.Resource.URL()}}
	for name, values := range params {
		all[name] = values
	}
	if in.stateGiven {
		all.Set("state", in.state)
	}
	separator := "?"
	if strings.Contains(in.RedirectURI, "?") {
		separator = "&"
		if strings.HasSuffix(in.RedirectURI, "?") || strings.HasSuffix(in.RedirectURI, "&") {
			separator = ""
		}
	}
	// %20 for a space: not every client reads + as one.
	return in.RedirectURI + separator + strings.ReplaceAll(all.Encode(), "+", "%20")
}

// limited counts a try of an address at a surface.
func (s *Service) limited(ctx context.Context, what string, ep *tenants.Endpoint, v Visitor, n int, window time.Duration) error {
	retry, ok, err := s.limits.take(ctx, what, ep.Surface.String()+" "+ratelimit.AddressKey(v.Address), n, window)
	switch {
	case err != nil:
		return orAway(err)
	case !ok:
		return fault.New(fault.RateLimited, "too_many_requests", "Too many attempts from your network. Nothing is wrong with yours; try again later.").WithRetryAfter(retry)
	}
	return nil
}

// codeOf is the stable word for what went wrong, for the story.
func codeOf(err error) string {
	var back *BackToClient
	var refused *tokenError
	switch {
	case errors.As(err, &back):
		return back.Code
	case errors.As(err, &refused) && refused.why != "":
		return refused.why
	case errors.As(err, &refused):
		return refused.code
	}
	f := fault.From(err)
	if f.Code == "" {
		return f.Kind.String()
	}
	return f.Code
}

// told reports whether the story of an error was recorded where it happened.
func told(err error) bool {
	var refused *tokenError
	return errors.As(err, &refused) && refused.told
}

// orAway is err, or where it has no public face, a failure of ours to be tried
// again.
func orAway(err error) error {
	var f *fault.Error
	var e *tokenError
	if errors.As(err, &f) || errors.As(err, &e) {
		return err
	}
	return away(err)
}

// Apps begins a sign-in to Connected apps of ep's project.
func (s *Service) Apps(ctx context.Context, ep *tenants.Endpoint, v Visitor) (*SignIn, seal.Secret, error) {
	if !ep.Access.Bridged() {
		return nil, seal.Secret{}, fault.New(fault.NotFound, "no_bridge", "Nobody signs in here. Start again from your AI app.")
	}
	if err := s.limited(ctx, "authorize", ep, v, authorizeTries, authorizeIn); err != nil {
		return nil, seal.Secret{}, err
	}
	return s.begin(ctx, ep, newSignIn{purpose: PurposeApps})
}

// AuthorizationURL is the authorization_endpoint of the issuer that ep was
// reached by.
func (s *Service) AuthorizationURL(ep *tenants.Endpoint) string {
	return s.cfg.PagesURL + "/connect/authorize/" + ep.Resource.Ref
}
