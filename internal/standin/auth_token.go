package standin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

func badClient(msg string) error {
	return newAuthError(http.StatusBadRequest, "invalid_credentials", msg)
}

// oauthToken is RFC 6749 section 3.2 with Auth's ways: client errors are 400
// in Auth's own shape, grant errors in the OAuth shape.
func (a *authServer) oauthToken(w http.ResponseWriter, r *http.Request) error {
	params, err := tokenParams(r)
	if err != nil {
		return err
	}
	grant := params["grant_type"]
	if grant == "refresh_token" {
		a.refreshes.Add(1)
	}
	client, err := a.authenticateClient(r, params)
	if err != nil {
		return err
	}
	if grant == "" {
		return &oauthError{"invalid_request", "grant_type is required"}
	}
	if !slices.Contains(client.grantTypes, grant) {
		return &oauthError{"unsupported_grant_type", "Client is not allowed to use grant type: " + grant}
	}
	if grant == "refresh_token" {
		return a.refreshGrant(w, r, params, client)
	}
	return a.codeGrant(w, r, params, client)
}

// tokenParams reads a JSON body, or a form with the query string. Only the
// JSON reading knows "resource".
func tokenParams(r *http.Request) (map[string]string, error) {
	params := map[string]string{}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" {
		if err := json.NewDecoder(r.Body).Decode(&params); err != nil {
			return nil, badClient("Invalid client credentials: failed to parse JSON body")
		}
		return params, nil
	}
	if err := r.ParseForm(); err != nil {
		return nil, badClient("Invalid client credentials: failed to parse form")
	}
	for key := range r.Form {
		params[key] = r.Form.Get(key)
	}
	delete(params, "resource")
	return params, nil
}

// authenticateClient is RFC 6749 section 2.3; the method must be the one the
// client registered.
func (a *authServer) authenticateClient(r *http.Request, params map[string]string) (*oauthClient, error) {
	id, secret, method := params["client_id"], params["client_secret"], "none"
	if secret != "" {
		method = "client_secret_post"
	}
	if strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
		user, password, ok := r.BasicAuth()
		if !ok {
			return nil, badClient("Invalid client credentials: invalid basic auth header")
		}
		id, secret, method = user, password, "client_secret_basic"
	}
	if id == "" {
		return nil, badClient("Invalid client credentials: client_id is required")
	}
	if _, err := uuid.Parse(id); err != nil {
		return nil, badClient("Invalid client_id format")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.state.clients[id]
	switch {
	case c == nil || c.deleted:
		return nil, badClient("Invalid client credentials")
	case c.method != method:
		return nil, badClient(fmt.Sprintf("invalid authentication method: client is registered for '%s' but '%s' was used", c.method, method))
	case method != "none" && subtle.ConstantTimeCompare([]byte(secret), []byte(c.secret)) != 1:
		return nil, badClient("invalid client credentials")
	}
	copied := *c
	return &copied, nil
}

// codeGrant exchanges a code. A failed attempt leaves it usable; a failure to
// make the tokens does not.
func (a *authServer) codeGrant(w http.ResponseWriter, r *http.Request, params map[string]string, client *oauthClient) error {
	if params["code"] == "" {
		return &oauthError{"invalid_request", "code is required for authorization_code grant"}
	}
	z, err := a.checkCode(params, client)
	if err != nil {
		return err
	}
	p, err := a.people.byID(r.Context(), z.userID)
	switch {
	case errors.Is(err, errNoPerson):
		return &oauthError{"invalid_grant", "User not found"}
	case err != nil:
		return err
	case p.banned(a.cfg.now()):
		return &oauthError{"access_denied", "User is banned"}
	}
	if !a.consumeCode(z) {
		return invalidCode()
	}
	i, err := a.startSession(r.Context(), p, methodOAuthCode, client.id, z.scope)
	if err != nil {
		return err
	}
	i.tell(w)
	if err := a.sign(i, p); err != nil {
		return err
	}
	body := tokenAnswer(i)
	if scopeSet(z.scope)["openid"] {
		if body["id_token"], err = a.idToken(p, z); err != nil {
			return err
		}
	}
	writeAuthJSON(w, http.StatusOK, body)
	return nil
}

func invalidCode() error { return &oauthError{"invalid_grant", "Invalid authorization code"} }

func (a *authServer) checkCode(params map[string]string, client *oauthClient) (*authorization, error) {
	refuse := func(why string) (*authorization, error) { return nil, &oauthError{"invalid_grant", why} }
	a.mu.Lock()
	defer a.mu.Unlock()
	var z *authorization
	for _, candidate := range a.state.authorizations {
		if candidate.code != "" && candidate.code == params["code"] {
			z = candidate
		}
	}
	resource, resourceSent := params["resource"]
	redirectURI := params["redirect_uri"]
	switch {
	case z == nil:
		return nil, invalidCode()
	case z.expired(a.cfg.now()):
		return refuse("Authorization code has expired")
	case z.clientID != client.id:
		return refuse("Authorization code was not issued for this client")
	case redirectURI != "" && redirectURI != z.redirectURI:
		return refuse("Invalid redirect_uri")
	case resourceSent && resource != "" && resource != z.resource:
		return refuse("Authorization code resource does not match the resource parameter")
	case params["code_verifier"] == "":
		return refuse("PKCE verification failed: code_verifier is required when PKCE challenge is present")
	case !verifierMatches(z.challenge, z.method, params["code_verifier"]):
		return refuse("PKCE verification failed: code challenge does not match previously saved code verifier")
	}
	return z, nil
}

// consumeCode reports whether this call is the one that may use the code.
func (a *authServer) consumeCode(z *authorization) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.authorizations[z.id] != z {
		return false
	}
	delete(a.state.authorizations, z.id)
	return true
}

// verifierMatches is RFC 7636 section 4.6; method is lower case.
func verifierMatches(challenge, method, verifier string) bool {
	if method == "plain" {
		return subtle.ConstantTimeCompare([]byte(challenge), []byte(verifier)) == 1
	}
	sum := sha256.Sum256([]byte(verifier))
	want := base64.RawURLEncoding.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(challenge), []byte(want)) == 1
}

// refreshGrant ignores scope and resource: the session keeps what it has.
func (a *authServer) refreshGrant(w http.ResponseWriter, r *http.Request, params map[string]string, client *oauthClient) error {
	if params["refresh_token"] == "" {
		return &oauthError{"invalid_request", "refresh_token is required for refresh_token grant"}
	}
	i, p, err := a.refresh(r.Context(), w, params["refresh_token"], client)
	if err != nil {
		return err
	}
	i.tell(w)
	if err := a.sign(i, p); err != nil {
		return err
	}
	writeAuthJSON(w, http.StatusOK, tokenAnswer(i))
	return nil
}

func tokenAnswer(i *issued) map[string]any {
	return map[string]any{
		"access_token": i.accessT, "token_type": "bearer",
		"expires_in": int(i.lifetime.Seconds()), "refresh_token": i.refresh,
	}
}

func scopeSet(scope string) map[string]bool {
	set := map[string]bool{}
	for s := range strings.FieldsSeq(scope) {
		set[s] = true
	}
	return set
}
