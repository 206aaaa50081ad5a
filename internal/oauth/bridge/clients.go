package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Ways for a client to prove itself at the token endpoint (RFC 7591 section 2).
const (
	authNone   = "none"
	authPost   = "client_secret_post"
	authBasic  = "client_secret_basic"
	authKeyJWT = "private_key_jwt"
)

const (
	maxRedirects   = 20
	maxRedirect    = 2048 // bytes of one
	maxClientID    = 2048
	maxClientName  = 120
	clientTouchGap = time.Minute // between two notes that a client was used
)

// client finds a client of ep's surface: a registered one, or one named by the
// URL of its metadata document, which is read again when it has aged. Errors:
// fault.NotFound unknown_client when there is none, fault.Invalid or
// fault.Unavailable when its document is no good or cannot be read.
func (s *Service) client(ctx context.Context, ep *tenants.Endpoint, clientID string) (*Client, error) {
	return s.findClient(ctx, ep, clientID, func() error { return nil })
}

// findClient is client; first is asked before the document of a client is read
// that was never seen at the surface.
func (s *Service) findClient(ctx context.Context, ep *tenants.Endpoint, clientID string, first func() error) (*Client, error) {
	if clientID == "" || len(clientID) > maxClientID || !printable(clientID) {
		return nil, unknownClient(ep)
	}
	c, row, err := s.storedClient(ctx, ep, clientID)
	isDocument := looksLikeDocument(clientID)
	switch {
	case err == nil && !isDocument:
		return c, nil
	case err == nil:
		return s.freshDocument(ctx, ep, c, row)
	case !fault.Is(err, fault.NotFound) || !isDocument:
		return nil, err
	}
	if err := first(); err != nil {
		return nil, err
	}
	c, err = s.readDocument(ctx, ep, clientID)
	if err != nil {
		return nil, err
	}
	c.firstSeen = true
	return c, nil
}

// knownClient is client for who must have been here before: it reads no
// document of a client that was never seen at the surface.
func (s *Service) knownClient(ctx context.Context, ep *tenants.Endpoint, clientID string) (*Client, error) {
	return s.findClient(ctx, ep, clientID, func() error { return unknownClient(ep) })
}

func unknownClient(ep *tenants.Endpoint) *fault.Error {
	return fault.New(fault.NotFound, "unknown_client",
		"This AI app is not registered here any more, so nobody was signed in. In the app, remove the connector and add it again with %s", ep.Resource.URL())
}

// storedClient is a client as its row says.
func (s *Service) storedClient(ctx context.Context, ep *tenants.Endpoint, clientID string) (*Client, db.GetOAuthClientRow, error) {
	var row db.GetOAuthClientRow
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.GetOAuthClient(ctx, db.GetOAuthClientParams{OrganizationID: ep.Organization, SurfaceID: ep.Surface, ClientID: clientID})
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, row, unknownClient(ep)
	case err != nil:
		return nil, row, away(fmt.Errorf("load client: %w", err))
	}
	return &Client{
		ID: row.ClientID, Name: row.Name, Document: row.Kind == "document", RedirectURIs: row.RedirectUris, AuthMethods: row.AuthMethods,
		secretHash: row.SecretHash, keys: clientKeys{document: json.RawMessage(row.Jwks), uri: row.JWKSURI, read: row.JwksAt},
	}, row, nil
}

// touchClient notes that a client was used. That it could not be is no reason
// to refuse what was asked.
func (s *Service) touchClient(ctx context.Context, ep *tenants.Endpoint, c *Client) {
	now := s.cfg.Now()
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		return q.TouchOAuthClient(ctx, db.TouchOAuthClientParams{
			OrganizationID: ep.Organization, SurfaceID: ep.Surface, ClientID: c.ID, Now: now, Before: now.Add(-clientTouchGap),
		})
	})
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "note use of a client", "error", err)
	}
}

// accepts reports whether the client may prove itself by one of the methods.
func (c *Client) accepts(methods ...string) bool {
	return slices.ContainsFunc(c.AuthMethods, func(m string) bool { return slices.Contains(methods, m) })
}

// redirectsTo reports whether a redirect URI is the client's: one of its own,
// byte for byte, except that the port of a loopback address does not count
// (RFC 8252 section 7.3). localhost and 127.0.0.1 are two places.
func (c *Client) redirectsTo(uri string) bool {
	if redirectProblem(uri) != "" {
		return false
	}
	if slices.Contains(c.RedirectURIs, uri) {
		return true
	}
	portless, ok := withoutLoopbackPort(uri)
	return ok && slices.ContainsFunc(c.RedirectURIs, func(own string) bool {
		other, ok := withoutLoopbackPort(own)
		return ok && other == portless
	})
}

// onlyRedirect is where a client goes that names no redirect URI: its only
// one, unless that is a loopback address, whose port nobody knows.
func (c *Client) onlyRedirect() (string, bool) {
	if len(c.RedirectURIs) != 1 {
		return "", false
	}
	_, loopback := withoutLoopbackPort(c.RedirectURIs[0])
	return c.RedirectURIs[0], !loopback
}

// loopbackHosts are the literals whose port is ignored.
var loopbackHosts = []string{"127.0.0.1", "[::1]", "localhost"}

// withoutLoopbackPort takes the port from an http URI of a loopback literal,
// and nothing else; false for every other URI.
func withoutLoopbackPort(uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, "http://")
	if !ok {
		return "", false
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	for _, host := range loopbackHosts {
		port, found := strings.CutPrefix(authority, host)
		if found && (port == "" || port[0] == ':' && isPort(port[1:])) {
			return "http://" + host + tail, true
		}
	}
	return "", false
}

func isPort(text string) bool {
	if text == "" || len(text) > 5 {
		return false
	}
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
		n = n*10 + int(text[i]-'0')
	}
	return n > 0 && n <= 65535
}

// printable reports whether a text is ASCII without spaces and controls.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// away is a failure of the database: 503, never a reason to sign in again.
func away(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, "temporarily_unavailable", "This cannot be done right now. Nothing is lost; try again in a moment.").WithRetryAfter(2 * time.Second)
}
