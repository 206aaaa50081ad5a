package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// How client ID metadata documents (draft-ietf-oauth-client-id-metadata-document)
// are read and kept.
const (
	documentBytes   = 64 << 10
	documentTimeout = 5 * time.Second
	documentLeast   = 5 * time.Minute     // kept at least, whatever its Cache-Control says
	documentUsual   = time.Hour           // without a Cache-Control
	documentMost    = 24 * time.Hour      // kept at most
	documentStale   = 30 * 24 * time.Hour // served for, while it cannot be read
	documentRetry   = 5 * time.Minute     // between tries of one that cannot be read

	clientKeysAge   = 10 * time.Minute // of a key set read at jwks_uri
	clientKeysFloor = 30 * time.Second // between two readings for a key that was not there
	clientKeysTries = 6                // readings of one client's key set in a minute, when they fail
)

// clientKeys are where the public keys of a client are (RFC 7591 jwks and
// jwks_uri).
type clientKeys struct {
	document json.RawMessage // as given, or as last read at uri
	uri      string
	read     *time.Time // at uri
}

func (k clientKeys) none() bool { return len(k.document) == 0 && k.uri == "" }

// looksLikeDocument reports whether a client id can be the URL of a metadata
// document: https with a path, http at a loopback literal. Which addresses are
// reached is egress' decision.
func looksLikeDocument(clientID string) bool {
	u, err := url.Parse(clientID)
	if err != nil || !printable(clientID) || strings.ContainsAny(clientID, "#\\") || u.User != nil || u.Opaque != "" || len(clientID) > maxClientID {
		return false
	}
	_, loopback := withoutLoopbackPort(clientID)
	if !strings.HasPrefix(clientID, "https://") && !loopback || !plainAuthority(u) {
		return false
	}
	path := u.EscapedPath()
	if path == "" || path == "/" {
		return false
	}
	for segment := range strings.SplitSeq(strings.ToLower(path), "/") {
		if dots := strings.ReplaceAll(segment, "%2e", "."); dots == "." || dots == ".." {
			return false
		}
	}
	return true
}

// clientDocument is what a metadata document says that we go by. Everything
// else in it is left unread.
type clientDocument struct {
	ClientID     string          `json:"client_id"`
	Name         string          `json:"client_name"`
	RedirectURIs []string        `json:"redirect_uris"`
	AuthMethod   string          `json:"token_endpoint_auth_method"`
	AuthMethods  []string        `json:"token_endpoint_auth_methods_supported"`
	Keys         json.RawMessage `json:"jwks"`
	KeysURI      string          `json:"jwks_uri"`
	Secret       json.RawMessage `json:"client_secret"`
}

// freshDocument is a client by its document as stored, or as read again when
// that has aged. While it cannot be read, what is stored serves for a month.
func (s *Service) freshDocument(ctx context.Context, ep *tenants.Endpoint, stored *Client, row db.GetOAuthClientRow) (*Client, error) {
	now := s.cfg.Now()
	if row.FreshUntil != nil && now.Before(*row.FreshUntil) {
		return stored, nil
	}
	c, err := s.readDocument(ctx, ep, stored.ID)
	if err == nil {
		return c, nil
	}
	if row.FetchedAt == nil || now.Sub(*row.FetchedAt) >= documentStale {
		return nil, err
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "client metadata document cannot be read; the last one serves",
		slog.String("surface_id", ep.Surface.String()), slog.String("error_kind", fault.From(err).Kind.String()))
	postponed := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		until := now.Add(documentRetry)
		return q.PostponeDocument(ctx, db.PostponeDocumentParams{
			OrganizationID: ep.Organization, SurfaceID: ep.Surface, ClientID: stored.ID, FreshUntil: &until,
		})
	})
	if postponed != nil {
		s.cfg.Logger.WarnContext(ctx, "postpone client metadata document", "error", postponed)
	}
	return stored, nil
}

// readDocument reads a document and stores what it says for ep's surface. Many
// that ask at once share one reading, of their own surface only.
func (s *Service) readDocument(ctx context.Context, ep *tenants.Endpoint, clientID string) (*Client, error) {
	key := ep.Organization.String() + " " + ep.Surface.String() + " " + clientID
	result := s.documents.DoChan(key, func() (c any, err error) {
		// On a goroutine of its own, where a panic would end the process.
		defer func() {
			if p := recover(); p != nil {
				c, err = nil, fmt.Errorf("read client metadata document: panic (%T)", p)
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*documentTimeout)
		defer cancel()
		return s.fetchDocument(ctx, ep, clientID)
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		c := *r.Val.(*Client)
		return &c, nil
	case <-ctx.Done():
		return nil, away(ctx.Err())
	}
}

func (s *Service) fetchDocument(ctx context.Context, ep *tenants.Endpoint, clientID string) (*Client, error) {
	answer, err := s.cfg.Documents.Document(ctx, clientID, egress.Options{MaxBytes: documentBytes, Timeout: documentTimeout})
	switch {
	case fault.Is(err, fault.Invalid):
		return nil, badDocument("its address cannot be read from here")
	case errors.Is(err, egress.ErrTooLarge):
		return nil, badDocument("it is larger than 64 KiB")
	case err != nil:
		return nil, unreadableDocument(err)
	case answer.Status == http.StatusNotFound || answer.Status == http.StatusGone:
		return nil, unknownClient(ep)
	case answer.Status != http.StatusOK:
		return nil, unreadableDocument(fmt.Errorf("document answers %d", answer.Status))
	}
	c, metadata, err := parseDocument(answer.Body, clientID)
	if err != nil {
		return nil, err
	}
	now := s.cfg.Now()
	until := now.Add(freshness(answer.Header))
	err = s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		err := q.UpsertDocumentClient(ctx, db.UpsertDocumentClientParams{
			OrganizationID: ep.Organization, SurfaceID: ep.Surface, ClientID: c.ID, Name: c.Name, RedirectUris: c.RedirectURIs,
			AuthMethods: c.AuthMethods, Metadata: metadata, Jwks: c.keys.document, JWKSURI: c.keys.uri, Now: &now, FreshUntil: &until,
		})
		if err != nil {
			return err
		}
		return s.makeRoom(ctx, q, ep, now)
	})
	if err != nil {
		return nil, orAway(fmt.Errorf("store client metadata document: %w", err))
	}
	stored, _, err := s.storedClient(ctx, ep, c.ID) // with the keys that were read before
	return stored, err
}

// parseDocument reads a metadata document that was found at its client id.
func parseDocument(body []byte, clientID string) (*Client, json.RawMessage, error) {
	members, err := parseMembers(body)
	if err != nil {
		return nil, nil, badDocument("it is not a JSON object")
	}
	var d clientDocument
	for name, into := range map[string]any{
		"client_id": &d.ClientID, "client_name": &d.Name, "redirect_uris": &d.RedirectURIs, "token_endpoint_auth_method": &d.AuthMethod,
		"token_endpoint_auth_methods_supported": &d.AuthMethods, "jwks": &d.Keys, "jwks_uri": &d.KeysURI, "client_secret": &d.Secret,
	} {
		if err := members.read(name, into); err != nil {
			return nil, nil, badDocument(name + " has the wrong type")
		}
	}
	switch {
	case d.ClientID != clientID:
		return nil, nil, badDocument("its client_id is not the address it was read at")
	case len(d.Secret) > 0:
		return nil, nil, badDocument("it holds a client_secret, which everybody can read")
	}
	c := &Client{ID: clientID, Name: cleanName(d.Name), Document: true, keys: clientKeys{document: d.Keys, uri: d.KeysURI}}
	// One address that is not accepted does not take the others with it.
	for _, uri := range d.RedirectURIs {
		if redirectProblem(uri) == "" && !slices.Contains(c.RedirectURIs, uri) && len(c.RedirectURIs) < maxRedirects {
			c.RedirectURIs = append(c.RedirectURIs, uri)
		}
	}
	if len(c.RedirectURIs) == 0 {
		return nil, nil, badDocument("none of its redirect_uris can be used")
	}
	if c.keys.uri != "" && !looksLikeDocument(c.keys.uri) {
		c.keys.uri = ""
	}
	if len(c.keys.document) > 0 {
		c.keys.uri = ""                                      // RFC 7591: one of the two
		c.keys.document, _ = publicDocument(c.keys.document) // or none
	}
	if c.AuthMethods = documentMethods(d, !c.keys.none()); len(c.AuthMethods) == 0 {
		return nil, nil, badDocument("it names no way of client authentication that is accepted for documents: none, or private_key_jwt with jwks or jwks_uri")
	}
	metadata, err := json.Marshal(map[string]any{
		"client_id": d.ClientID, "client_name": c.Name, "redirect_uris": c.RedirectURIs, "token_endpoint_auth_methods_supported": c.AuthMethods,
	})
	return c, metadata, err
}

// documentMethods are the accepted ways among those a document names, its own
// first. Some clients name private_key_jwt and list none beside it; a document
// that names nothing is of a client without a secret.
func documentMethods(d clientDocument, keys bool) []string {
	named := append([]string{d.AuthMethod}, d.AuthMethods...)
	if d.AuthMethod == "" {
		named = d.AuthMethods
	}
	if len(named) == 0 {
		named = []string{authNone}
	}
	var methods []string
	for _, m := range named {
		if (m == authNone || m == authKeyJWT && keys) && !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	return methods
}

// freshness is how long an answer may be kept.
func freshness(h http.Header) time.Duration {
	age := documentUsual
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return documentLeast
		case "max-age":
			if seconds, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32); err == nil {
				age = time.Duration(seconds) * time.Second
			}
		}
	}
	return min(max(age, documentLeast), documentMost)
}

func badDocument(why string) *fault.Error {
	return fault.New(fault.Invalid, "client_document_invalid",
		"Nobody was signed in: the AI app describes itself in a document that cannot be used: %s. Its makers have to correct it; until then use another app.", why)
}

func unreadableDocument(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, "client_document_unreadable",
		"Nobody was signed in: the document in which the AI app describes itself cannot be read now. Start again from your AI app in a few minutes.").WithRetryAfter(documentTimeout)
}

// publicKeys are a client's keys. Those at a jwks_uri are read when they have
// aged, or when again asks for a key that was not there; stale ones serve while
// they cannot be read.
func (s *Service) publicKeys(ctx context.Context, ep *tenants.Endpoint, c *Client, again bool) (oauth.PublicKeys, error) {
	now := s.cfg.Now()
	if c.keys.uri != "" {
		age := time.Duration(1 << 62)
		if c.keys.read != nil && len(c.keys.document) > 0 {
			age = now.Sub(*c.keys.read)
		}
		if age >= clientKeysAge || again && age >= clientKeysFloor {
			document, err := s.readClientKeys(ctx, ep, c)
			if err == nil {
				c.keys.document, c.keys.read = document, &now
			} else if len(c.keys.document) == 0 || age >= documentStale {
				return oauth.PublicKeys{}, err
			}
		}
	}
	return oauth.ParsePublicKeys(c.keys.document)
}

// readClientKeys reads a client's jwks_uri. Whoever registers names that
// address, and must not be able to have us ask there without end.
func (s *Service) readClientKeys(ctx context.Context, ep *tenants.Endpoint, c *Client) (json.RawMessage, error) {
	retry, ok, err := s.limits.take(ctx, "client-keys", string(seal.AD(ep.Surface.String(), c.ID)), clientKeysTries, time.Minute)
	switch {
	case err != nil:
		return nil, orAway(err)
	case !ok:
		return nil, fault.New(fault.Unavailable, "temporarily_unavailable", "The client's keys at its jwks_uri could not be read lately. Try again later.").WithRetryAfter(retry)
	}
	answer, err := s.cfg.Documents.Document(ctx, c.keys.uri, egress.Options{MaxBytes: documentBytes, Timeout: documentTimeout})
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("key set answers %d", answer.Status)
	}
	var document json.RawMessage
	if err == nil {
		document, err = publicDocument(answer.Body)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "temporarily_unavailable",
			"The client's keys at its jwks_uri cannot be read now, so it could not be recognized. Try again in a moment.").WithRetryAfter(documentTimeout)
	}
	now := s.cfg.Now()
	err = s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		return q.KeepClientKeys(ctx, db.KeepClientKeysParams{
			OrganizationID: ep.Organization, SurfaceID: ep.Surface, ClientID: c.ID, Jwks: document, Now: &now, JWKSURI: c.keys.uri,
		})
	})
	if err != nil {
		return nil, away(fmt.Errorf("keep client keys: %w", err))
	}
	return document, nil
}

// publicDocument is a key set document without anything but usable public keys.
func publicDocument(document []byte) (json.RawMessage, error) {
	keys, err := oauth.ParsePublicKeys(document)
	if err != nil {
		return nil, err
	}
	return keys.Document()
}
