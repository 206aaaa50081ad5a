package supabase

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// OAuthClient is our confidential client of a project's OAuth server.
type OAuthClient struct {
	ID     string // a UUID, made by Auth
	Secret seal.Secret
}

// NewOAuthClient is what a registration says of us.
type NewOAuthClient struct {
	Name         string // shown on the project's consent page; 1024 bytes at most
	URI          string // of our pages; may be empty
	RedirectURIs []string
}

// basicMethod is RFC 7591's name of HTTP Basic. Auth takes only the method
// that a client registered.
const basicMethod = "client_secret_basic"

// registration is RFC 7591's client metadata, as far as Auth reads it.
type registration struct {
	Name          string   `json:"client_name"`
	URI           string   `json:"client_uri,omitempty"`
	RedirectURIs  []string `json:"redirect_uris"`
	Method        string   `json:"token_endpoint_auth_method"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

// RegisterOAuthClient registers us as a confidential client of p's OAuth server
// (RFC 7591, client_secret_basic, authorization_code and refresh_token). Auth
// never forgets a client: call it once per project. Errors: *AuthRefusal
// (NotAvailable while registration is off), *fault.Error.
func (c *Client) RegisterOAuthClient(ctx context.Context, p Project, r NewOAuthClient) (OAuthClient, error) {
	for _, uri := range r.RedirectURIs {
		if strings.Contains(uri, ",") { // Auth would make two of it
			return OAuthClient{}, errors.New("register oauth client: a redirect URI has a comma")
		}
	}
	answer, err := c.authPost(ctx, p, callRegister, "oauth/clients/register", registration{
		Name: r.Name, URI: r.URI, RedirectURIs: r.RedirectURIs, Method: basicMethod,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	})
	if err != nil {
		return OAuthClient{}, err
	}
	made, err := readRegistration(answer.body, r.RedirectURIs)
	if err != nil {
		return OAuthClient{}, authUnavailable(err, 0)
	}
	return made, nil
}

// readRegistration takes only the client that was asked for.
func readRegistration(body []byte, redirectURIs []string) (OAuthClient, error) {
	var made struct {
		ID           string   `json:"client_id"`
		Secret       string   `json:"client_secret"`
		Method       string   `json:"token_endpoint_auth_method"`
		RedirectURIs []string `json:"redirect_uris"`
	}
	if json.Unmarshal(body, &made) != nil || !tokenText(made.ID) || !tokenText(made.Secret) {
		return OAuthClient{}, errors.New("no client with a secret in the answer")
	}
	if made.Method != basicMethod || !slices.Equal(made.RedirectURIs, redirectURIs) {
		return OAuthClient{}, errors.New("another client in the answer than the one asked for")
	}
	return OAuthClient{ID: made.ID, Secret: seal.NewSecret(made.Secret)}, nil
}

// ExchangeCode turns the code of a finished authorization into tokens at
// /oauth/token (RFC 6749 section 4.1.3, RFC 7636). The tokens come without a
// user. Errors: *AuthRefusal (SessionEnded for a code that is wrong, used or
// expired; ClientGone; Banned; Rejected), *fault.Error.
func (c *Client) ExchangeCode(ctx context.Context, p Project, cl OAuthClient, code, redirectURI string, verifier seal.Secret) (Tokens, error) {
	return c.oauthToken(ctx, p, cl, callOAuthCode, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}, "code_verifier": {verifier.Reveal()},
	})
}

// RefreshOAuth turns the refresh token of a session made by ExchangeCode into
// new tokens (RFC 6749 section 6). Store them before use; after a lost answer
// the same refresh token works again. Errors: *AuthRefusal (SessionEnded,
// ClientGone, Rejected), *fault.Error: the session stays as it was.
func (c *Client) RefreshOAuth(ctx context.Context, p Project, cl OAuthClient, refresh seal.Secret) (Tokens, error) {
	if refresh.IsZero() {
		return Tokens{}, missing("refresh token")
	}
	return c.oauthToken(ctx, p, cl, callOAuthRefresh, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh.Reveal()}})
}

func (c *Client) oauthToken(ctx context.Context, p Project, cl OAuthClient, call authCall, form url.Values) (Tokens, error) {
	if cl.ID == "" || cl.Secret.IsZero() {
		return Tokens{}, missing("oauth client")
	}
	req, err := c.authRequest(ctx, p, http.MethodPost, "oauth/token", "application/x-www-form-urlencoded", []byte(form.Encode()))
	if err != nil {
		return Tokens{}, err
	}
	req.SetBasicAuth(cl.ID, cl.Secret.Reveal())
	r, err := c.askAuth(req, p, call)
	if err != nil {
		return Tokens{}, err
	}
	return r.tokens()
}

// AuthorizeRequest is one authorization at a project's OAuth server.
type AuthorizeRequest struct {
	ClientID    string
	RedirectURI string // registered, byte for byte
	State       string // 4096 characters at most
	Challenge   string // of Challenge
}

// AuthorizeURL is where the browser goes to authorize us (RFC 6749 section
// 4.1.1). Issuer is the one the project claims. The scope is email: openid
// fails in HS256 projects. There is no resource: Auth would not use it.
func AuthorizeURL(issuer string, r AuthorizeRequest) string {
	return issuer + "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {r.ClientID}, "redirect_uri": {r.RedirectURI}, "scope": {"email"},
		"state": {r.State}, "code_challenge": {r.Challenge}, "code_challenge_method": {"S256"},
	}.Encode()
}
