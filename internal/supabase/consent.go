package supabase

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Consent is where a project's OAuth server sends people to consent.
type Consent struct {
	ClientID string // the OAuth client that asked; use it again
	Page     string // absolute URL without its query; empty when the server refused
	Refused  string // the server's own words instead, such as "oauth authorization path not configured"
}

// checkRedirect is where nobody listens: the authorization is never finished.
const checkRedirect = "http://127.0.0.1/chumbo-check"

// ConsentRequest is how an MCP client begins. Clients differ in these three,
// and a project may take one way and refuse another.
type ConsentRequest struct {
	ClientID     string // of an earlier request of the same kind; empty: a client is registered
	Confidential bool   // the client has a secret, which is never used here
	Resource     string // RFC 8707; empty to leave it out
	Offline      bool   // asks for offline_access, too
}

// Consent is BeginConsent in the plainest way: a client without a secret that
// asks for no more than an email address.
func (c *Client) Consent(ctx context.Context, origin, clientID string) (Consent, error) {
	return c.BeginConsent(ctx, origin, ConsentRequest{ClientID: clientID})
}

// BeginConsent begins an authorization as an MCP client would, looks where it
// leads and leaves it. Without a client, or when the project no longer knows
// that one, it registers one first, once (RFC 7591). Errors are *Error or
// *fault.Error.
func (c *Client) BeginConsent(ctx context.Context, origin string, q ConsentRequest) (Consent, error) {
	if q.ClientID != "" {
		found, err := c.beginConsent(ctx, origin, q)
		if err == nil {
			return found, nil
		}
		if e := fault.From(err); e.Code != "client_unknown" {
			return Consent{}, err
		}
	}
	var err error
	if q.ClientID, err = c.registerCheck(ctx, origin, q.Confidential); err != nil {
		return Consent{}, err
	}
	return c.beginConsent(ctx, origin, q)
}

func (c *Client) registerCheck(ctx context.Context, origin string, confidential bool) (string, error) {
	name, method := "Chumbo check", "none"
	if confidential {
		name, method = "Chumbo check (confidential)", basicMethod
	}
	body, err := json.Marshal(map[string]any{
		"client_name": name, "redirect_uris": []string{checkRedirect}, "token_endpoint_auth_method": method,
		"grant_types": []string{"authorization_code"}, "response_types": []string{"code"},
	})
	if err != nil {
		return "", fmt.Errorf("encode registration: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, origin+"/auth/v1/oauth/clients/register", bytes.NewReader(body))
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "bad_url", "The project's URL is not a valid one.")
	}
	c.common(req.Header)
	req.Header.Set("Content-Type", "application/json")
	r, err := c.send(req, egress.Options{Lane: "auth:" + origin, MaxBytes: maxDocument, Timeout: documentTimeout})
	if err != nil {
		return "", err
	}
	var made struct {
		ClientID string `json:"client_id"`
	}
	if r.status != http.StatusCreated || json.Unmarshal(r.body, &made) != nil || made.ClientID == "" {
		return "", errorOf(r)
	}
	return made.ClientID, nil
}

func (c *Client) beginConsent(ctx context.Context, origin string, q ConsentRequest) (Consent, error) {
	query := url.Values{
		"response_type": {"code"}, "client_id": {q.ClientID}, "redirect_uri": {checkRedirect}, "scope": {"email"},
		"code_challenge": {Challenge(NewVerifier())}, "code_challenge_method": {"S256"},
	}
	if q.Offline {
		query.Set("scope", "email offline_access")
	}
	if q.Resource != "" {
		query.Set("resource", q.Resource)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/auth/v1/oauth/authorize?"+query.Encode(), nil)
	if err != nil {
		return Consent{}, fault.Wrap(err, fault.Invalid, "bad_url", "The project's URL is not a valid one.")
	}
	c.common(req.Header)
	r, err := c.send(req, egress.Options{Lane: "auth:" + origin, MaxBytes: maxDocument, Timeout: documentTimeout, KeepRedirect: true})
	if err != nil {
		return Consent{}, err
	}
	if r.status == http.StatusBadRequest && authErrorCode(r) == "oauth_client_not_found" {
		return Consent{}, fault.New(fault.NotFound, "client_unknown", "The project does not know this OAuth client.")
	}
	to, err := url.Parse(r.header.Get("Location"))
	if r.status < 300 || r.status > 399 || err != nil || to.Host == "" {
		return Consent{}, errorOf(r)
	}
	found := Consent{ClientID: q.ClientID}
	if to.Scheme+"://"+to.Host+to.Path == checkRedirect {
		q := to.Query()
		if found.Refused = q.Get("error_description"); found.Refused == "" {
			found.Refused = q.Get("error")
		}
		return found, nil
	}
	to.RawQuery, to.Fragment, to.User = "", "", nil
	found.Page = to.String()
	return found, nil
}

// PageStatus is the status that a browser page answers with; a redirect is not
// followed. Errors are *fault.Error.
func (c *Client) PageStatus(ctx context.Context, address string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, fault.Wrap(err, fault.Invalid, "bad_url", "The page's URL is not a valid one.")
	}
	c.common(req.Header)
	req.Header.Set("Accept", "text/html")
	res, err := c.out.Do(req, egress.Options{MaxBytes: maxData, Timeout: documentTimeout, KeepRedirect: true})
	if err != nil {
		return 0, sendError(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode, nil
}
