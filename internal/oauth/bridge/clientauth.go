package bridge

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	strict "github.com/go-jose/go-jose/v4/json"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	assertionType    = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" // RFC 7523 section 2.2
	assertionAhead   = 10 * time.Minute                                         // its exp, at most
	maxAssertion     = 8 << 10
	maxAssertionID   = 256
	maxPresentedText = 1024 // bytes of a secret worth looking at
)

// presented is what a request says of its client and how it proves it.
type presented struct {
	id        string
	secret    seal.Secret // from the header or the body
	assertion seal.Secret // RFC 7523
	basic     bool        // the Authorization header was used
}

// invalidClient is 401. Clients take it for having been forgotten and register
// again, so it is for those that are gone, and for those that cannot prove who
// they are.
func invalidClient(description string) *tokenError {
	return &tokenError{status: http.StatusUnauthorized, code: "invalid_client", description: description}
}

func invalidRequest(description string) *tokenError {
	return &tokenError{status: http.StatusBadRequest, code: "invalid_request", description: description}
}

// readClient reads who a request says it comes from. An empty secret is none:
// some clients send a Basic header with their id only.
func readClient(h http.Header, form url.Values) (presented, error) {
	p := presented{id: form.Get("client_id"), secret: seal.NewSecret(form.Get("client_secret"))}
	proofs := 0
	if !p.secret.IsZero() {
		proofs++
	}
	id, secret, basic, err := readBasic(h)
	if err != nil {
		return p, err
	}
	if p.basic = basic; basic {
		if p.id != "" && p.id != id {
			return p, invalidRequest("The client_id of the body is another one than that of the Authorization header. Send one.")
		}
		p.id = id
		if !secret.IsZero() {
			proofs++
			p.secret = secret
		}
	}
	if form.Has("client_assertion") || form.Has("client_assertion_type") {
		if form.Get("client_assertion_type") != assertionType || form.Get("client_assertion") == "" {
			return p, invalidRequest("client_assertion needs client_assertion_type=" + assertionType + ".")
		}
		proofs++
		p.assertion = seal.NewSecret(form.Get("client_assertion"))
		if p.id == "" {
			p.id = assertedClient(form.Get("client_assertion"))
		}
	}
	switch {
	case proofs > 1:
		return p, invalidRequest("The client proves itself in more than one way. Use one.")
	case p.id == "":
		return p, invalidRequest("client_id is missing. Send the id that the registration answered with.")
	}
	return p, nil
}

// readBasic reads Authorization: Basic (RFC 6749 section 2.3.1), whose id and
// secret are form-encoded first. Some clients do not encode, not even an id
// that is a URL. Another scheme is not for us.
func readBasic(h http.Header) (id string, secret seal.Secret, found bool, err error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", seal.Secret{}, false, nil
	}
	scheme, encoded, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", seal.Secret{}, false, nil
	}
	malformed := invalidRequest("The Authorization header is not Basic with base64 of id, colon and secret.")
	if len(values) > 1 {
		return "", seal.Secret{}, true, malformed
	}
	encoded = strings.TrimRight(strings.TrimSpace(encoded), "=")
	text, decodeErr := base64.RawStdEncoding.DecodeString(encoded)
	if decodeErr != nil || len(text) > maxClientID+maxPresentedText {
		return "", seal.Secret{}, true, malformed
	}
	plain := string(text)
	at := strings.IndexByte(plain, ':')
	if strings.HasPrefix(plain, "https://") || strings.HasPrefix(plain, "http://") {
		at = strings.LastIndexByte(plain, ':')
	}
	if at < 1 {
		return "", seal.Secret{}, true, malformed
	}
	return formDecoded(plain[:at]), seal.NewSecret(formDecoded(plain[at+1:])), true, nil
}

// formDecoded undoes form encoding, or leaves what is not encoded.
func formDecoded(text string) string {
	if !strings.Contains(text, "%") {
		return text // a plus sign of somebody who did not encode
	}
	decoded, err := url.QueryUnescape(text)
	if err != nil {
		return text
	}
	return decoded
}

// authenticate finds the client of a request at an endpoint of ep's issuer, and
// checks its proof.
func (s *Service) authenticate(ctx context.Context, ep *tenants.Endpoint, p presented, endpoint string) (*Client, error) {
	client, err := s.knownClient(ctx, ep, p.id)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, invalidClient("This client is not registered here any more. Register again.")
	case fault.Is(err, fault.Invalid):
		return nil, invalidClient("The client's metadata document cannot be used.")
	case err != nil:
		return nil, orAway(err)
	}
	switch {
	case !p.assertion.IsZero() && client.accepts(authKeyJWT):
		return client, s.checkAssertion(ctx, ep, client, p.assertion, endpoint)
	case client.secretHash != nil:
		if len(p.secret.Reveal()) > maxPresentedText || !hashes(client.secretHash, p.secret) {
			return nil, invalidClient("The client's secret is missing or wrong. Send the one that the registration answered with.")
		}
		return client, nil
	case client.accepts(authNone):
		// A proof that a public client has no need of is not looked at.
		return client, nil
	}
	return nil, invalidClient("This client must send a client_assertion signed with its key.")
}

// assertionClaims is the payload of a client's assertion (RFC 7523 section 3).
type assertionClaims struct {
	Issuer    string      `json:"iss"`
	Subject   string      `json:"sub"`
	Audience  oneOrMore   `json:"aud"`
	Expires   numericDate `json:"exp"`
	NotBefore numericDate `json:"nbf"`
	IssuedAt  numericDate `json:"iat"`
	ID        string      `json:"jti"`
}

// oneOrMore is a string or an array of strings (RFC 7519 section 4.1.3).
type oneOrMore []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *oneOrMore) UnmarshalJSON(raw []byte) error {
	var one string
	if strict.Unmarshal(raw, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	var more []string
	if err := strict.Unmarshal(raw, &more); err != nil {
		return err
	}
	*o = more
	return nil
}

// numericDate is seconds since 1970, with or without a fraction (RFC 7519
// section 2).
type numericDate float64

func (n numericDate) time() time.Time {
	if math.IsNaN(float64(n)) || n < 0 || n > 253402300799 { // 9999-12-31
		return time.Time{}
	}
	return time.Unix(int64(n), 0)
}

// assertedClient is whom an assertion that has not been checked speaks of.
func assertedClient(assertion string) string {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 || len(assertion) > maxAssertion {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var c assertionClaims
	if strict.Unmarshal(payload, &c) != nil {
		return ""
	}
	return c.Subject
}

// checkAssertion checks a client's assertion: signed with one of its keys, by
// and about itself, for this issuer or endpoint, of now, and not used before.
func (s *Service) checkAssertion(ctx context.Context, ep *tenants.Endpoint, client *Client, assertion seal.Secret, endpoint string) error {
	payload, err := s.verifyAssertion(ctx, ep, client, assertion.Reveal())
	if err != nil {
		return err
	}
	var c assertionClaims
	if err := strict.Unmarshal(payload, &c); err != nil {
		return badAssertion("cannot be read")
	}
	now := s.cfg.Now()
	audience := []string{ep.Resource.URL(), endpoint, tokenURL(ep)}
	expires := c.Expires.time()
	switch {
	case c.Issuer != client.ID || c.Subject != client.ID:
		return badAssertion("is not by and about this client: iss and sub must be its client_id")
	case !slices.ContainsFunc(c.Audience, func(a string) bool { return slices.Contains(audience, a) }):
		return badAssertion("is meant for another server: aud must be the issuer or the token endpoint")
	case c.Expires == 0 || !now.Before(expires.Add(clockSkew)):
		return badAssertion("has expired")
	case expires.After(now.Add(assertionAhead + clockSkew)):
		return badAssertion("is good for more than 10 minutes")
	case c.NotBefore.time().After(now.Add(clockSkew)) || c.IssuedAt.time().After(now.Add(clockSkew)):
		return badAssertion("is not valid yet")
	case c.ID == "" || len(c.ID) > maxAssertionID:
		return badAssertion("has no jti, or a long one")
	}
	return s.useAssertion(ctx, ep, client, c.ID, expires)
}

func (s *Service) verifyAssertion(ctx context.Context, ep *tenants.Endpoint, client *Client, text string) ([]byte, error) {
	if len(text) > maxAssertion {
		return nil, badAssertion("is too large")
	}
	for _, again := range []bool{false, true} {
		keys, err := s.publicKeys(ctx, ep, client, again)
		if err != nil {
			return nil, orAway(err)
		}
		payload, err := keys.Verify(text)
		switch {
		case err == nil:
			return payload, nil
		case !errors.Is(err, oauth.ErrUnknownKey):
			return nil, badAssertion("has a wrong signature")
		}
	}
	return nil, badAssertion("is signed with a key that the client does not publish")
}

// useAssertion spends an assertion: its jti is good once.
func (s *Service) useAssertion(ctx context.Context, ep *tenants.Endpoint, client *Client, jti string, expires time.Time) error {
	var n int64
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		n, err = q.UseState(ctx, db.UseStateParams{
			OrganizationID: ep.Organization, ExpiresAt: expires.Add(clockSkew),
			Jti: hashOf(seal.NewSecret(string(seal.AD(ep.Surface.String(), client.ID, jti)))),
		})
		return err
	})
	switch {
	case err != nil:
		return away(fmt.Errorf("spend assertion: %w", err))
	case n == 0:
		return badAssertion("was used before: its jti must be a new one")
	}
	return nil
}

func badAssertion(why string) *tokenError {
	return invalidClient("The client_assertion " + why + ".")
}
