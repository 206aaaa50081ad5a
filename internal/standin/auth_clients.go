package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// oauthClient is a registered OAuth client.
type oauthClient struct {
	id           string
	secret       string // empty for a public client
	redirectURIs string // joined by commas, as Auth stores them; see uris
	method       string // token_endpoint_auth_method
	grantTypes   []string
	name         string
	uri          string
	logoURI      string
	origin       string // registration_type: dynamic or manual
	createdAt    time.Time
	updatedAt    time.Time
	deleted      bool
}

// uris are the registered redirect URIs. A comma inside one of them splits it
// into two, both usable, as it does at Auth.
func (c *oauthClient) uris() []string { return strings.Split(c.redirectURIs, ",") }

func (c *oauthClient) clientType() string {
	if c.method == "none" {
		return "public"
	}
	return "confidential"
}

func (c *oauthClient) view(withSecret bool) map[string]any {
	v := map[string]any{
		"client_id":                  c.id,
		"client_type":                c.clientType(),
		"redirect_uris":              c.uris(),
		"token_endpoint_auth_method": c.method,
		"grant_types":                c.grantTypes,
		"response_types":             []string{"code"},
		"registration_type":          c.origin,
		"created_at":                 c.createdAt,
		"updated_at":                 c.updatedAt,
	}
	putIfSet(v, "client_name", c.name)
	putIfSet(v, "client_uri", c.uri)
	putIfSet(v, "logo_uri", c.logoURI)
	if withSecret {
		putIfSet(v, "client_secret", c.secret)
	}
	return v
}

// brief is how consent pages and grants see a client.
func (c *oauthClient) brief() map[string]any {
	v := map[string]any{"id": c.id}
	putIfSet(v, "name", c.name)
	putIfSet(v, "uri", c.uri)
	putIfSet(v, "logo_uri", c.logoURI)
	return v
}

func putIfSet(m map[string]any, key, value string) {
	if value != "" {
		m[key] = value
	}
}

// clientInput is what registration reads; every other field is dropped.
type clientInput struct {
	RedirectURIs []string `json:"redirect_uris"`
	ClientType   string   `json:"client_type"`
	Method       string   `json:"token_endpoint_auth_method"`
	GrantTypes   []string `json:"grant_types"`
	Name         string   `json:"client_name"`
	URI          string   `json:"client_uri"`
	LogoURI      string   `json:"logo_uri"`
}

var (
	clientMethods = []string{"none", "client_secret_basic", "client_secret_post"}
	clientGrants  = []string{"authorization_code", "refresh_token"}
)

// problem is the first thing wrong with the input, or nil. Auth repeats the
// status in the text.
func (in *clientInput) problem(creating bool) error {
	refuse := func(format string, args ...any) error { return invalidInput("400: " + fmt.Sprintf(format, args...)) }
	if creating && len(in.RedirectURIs) == 0 {
		return refuse("redirect_uris is required")
	}
	if len(in.RedirectURIs) > 10 {
		return refuse("redirect_uris cannot exceed 10 items")
	}
	for _, uri := range in.RedirectURIs {
		if why := redirectURIProblem(uri); why != "" {
			return refuse("invalid redirect_uri '%s': %s", uri, why)
		}
	}
	for _, grant := range in.GrantTypes {
		if !slices.Contains(clientGrants, grant) {
			return refuse("grant_types must only contain 'authorization_code' and/or 'refresh_token'")
		}
	}
	if len(in.Name) > 1024 {
		return refuse("client_name cannot exceed 1024 characters")
	}
	for _, field := range []struct{ name, value string }{{"client_uri", in.URI}, {"logo_uri", in.LogoURI}} {
		if len(field.value) > 2048 {
			return refuse("%s cannot exceed 2048 characters", field.name)
		}
		if _, err := url.ParseRequestURI(field.value); field.value != "" && err != nil {
			return refuse("%s must be a valid URL", field.name)
		}
	}
	if in.ClientType != "" && in.ClientType != "public" && in.ClientType != "confidential" {
		return refuse("client_type must be 'public' or 'confidential'")
	}
	if in.Method != "" && !slices.Contains(clientMethods, in.Method) {
		return refuse("token_endpoint_auth_method must be one of: %v", clientMethods)
	}
	implied := (&oauthClient{method: in.Method}).clientType()
	if in.ClientType != "" && in.Method != "" && in.ClientType != implied {
		return refuse("client_type '%s' is inconsistent with token_endpoint_auth_method '%s' (expected client_type '%s')",
			in.ClientType, in.Method, implied)
	}
	return nil
}

// redirectURIProblem says why a redirect URI cannot be registered, or nothing.
func redirectURIProblem(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "must be a valid URL"
	case u.Scheme == "" || u.Host == "":
		return "must have scheme and host"
	case u.Fragment != "":
		return "fragment not allowed in redirect URI"
	case slices.Contains([]string{"javascript", "data", "file", "vbscript", "about", "blob"}, u.Scheme):
		return fmt.Sprintf("scheme '%s' is not allowed for security reasons", u.Scheme)
	case u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()):
		return "HTTP scheme only allowed for localhost"
	default:
		return ""
	}
}

func readClientInput(r *http.Request) (*clientInput, error) {
	var in clientInput
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, newAuthError(http.StatusBadRequest, "bad_json", "Invalid JSON body")
	}
	return &in, nil
}

// registerClient is RFC 7591, without its error shape and without management.
func (a *authServer) registerClient(w http.ResponseWriter, r *http.Request) error {
	if !a.registrationOn() {
		return newAuthError(http.StatusForbidden, "oauth_dynamic_client_registration_disabled", "Dynamic client registration is not enabled")
	}
	return a.addClient(w, r, "dynamic")
}

func (a *authServer) createClient(w http.ResponseWriter, r *http.Request) error {
	return a.addClient(w, r, "manual")
}

func (a *authServer) addClient(w http.ResponseWriter, r *http.Request, origin string) error {
	in, err := readClientInput(r)
	if err != nil {
		return err
	}
	if err := in.problem(true); err != nil {
		return err
	}
	now := a.cfg.now()
	c := &oauthClient{id: uuid.NewString(), origin: origin, method: in.Method, grantTypes: in.GrantTypes,
		redirectURIs: strings.Join(in.RedirectURIs, ","), name: in.Name, uri: in.URI, logoURI: in.LogoURI,
		createdAt: now, updatedAt: now}
	if c.method == "" && in.ClientType == "public" {
		c.method = "none"
	}
	if c.method == "" {
		c.method = "client_secret_basic"
	}
	if c.method != "none" {
		c.secret = randomBase64(32)
	}
	if len(c.grantTypes) == 0 {
		c.grantTypes = clientGrants
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.clients[c.id] = c
	writeAuthJSON(w, http.StatusCreated, c.view(true))
	return nil
}

func (a *authServer) listClients(w http.ResponseWriter, _ *http.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var live []*oauthClient
	for _, c := range a.state.clients {
		if !c.deleted {
			live = append(live, c)
		}
	}
	slices.SortFunc(live, func(x, y *oauthClient) int { return y.createdAt.Compare(x.createdAt) })
	views := make([]map[string]any, 0, len(live))
	for _, c := range live {
		views = append(views, c.view(false))
	}
	writeAuthJSON(w, http.StatusOK, map[string]any{"clients": views})
	return nil
}

// withClient runs f on the client of the path, under the lock.
func (a *authServer) withClient(r *http.Request, f func(*oauthClient) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.state.clients[r.PathValue("id")]
	if c == nil || c.deleted {
		return newAuthError(http.StatusNotFound, "oauth_client_not_found", "OAuth client not found")
	}
	return f(c)
}

func (a *authServer) readClient(w http.ResponseWriter, r *http.Request) error {
	return a.withClient(r, func(c *oauthClient) error {
		writeAuthJSON(w, http.StatusOK, c.view(false))
		return nil
	})
}

func (a *authServer) updateClient(w http.ResponseWriter, r *http.Request) error {
	in, err := readClientInput(r)
	if err != nil {
		return err
	}
	if err := in.problem(false); err != nil {
		return err
	}
	return a.withClient(r, func(c *oauthClient) error {
		if len(in.RedirectURIs) > 0 {
			c.redirectURIs = strings.Join(in.RedirectURIs, ",")
		}
		if len(in.GrantTypes) > 0 {
			c.grantTypes = in.GrantTypes
		}
		for _, field := range []struct {
			to    *string
			value string
		}{{&c.name, in.Name}, {&c.uri, in.URI}, {&c.logoURI, in.LogoURI}} {
			if field.value != "" {
				*field.to = field.value
			}
		}
		c.updatedAt = a.cfg.now()
		writeAuthJSON(w, http.StatusOK, c.view(false))
		return nil
	})
}

// deleteClient keeps the row, so that its grants can still be revoked.
func (a *authServer) deleteClient(w http.ResponseWriter, r *http.Request) error {
	return a.withClient(r, func(c *oauthClient) error {
		c.deleted = true
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

func (a *authServer) regenerateSecret(w http.ResponseWriter, r *http.Request) error {
	return a.withClient(r, func(c *oauthClient) error {
		if c.method == "none" {
			return invalidInput("Cannot regenerate secret for public client")
		}
		c.secret = randomBase64(32)
		c.updatedAt = a.cfg.now()
		writeAuthJSON(w, http.StatusOK, c.view(true))
		return nil
	})
}
