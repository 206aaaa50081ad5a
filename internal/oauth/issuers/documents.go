package issuers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

const (
	maxMetadata = 256 << 10
	maxKeySet   = 512 << 10
)

// metadata is what an issuer's discovery document says (OpenID Connect
// Discovery 1.0 section 4).
type metadata struct {
	jwksURI       string // empty: none that may be used
	introspection string // likewise
}

// keysAt names a key set as one surface reads it.
type keysAt struct {
	place
	uri string
}

// documentLane keeps one surface's issuer from the others', whatever they name.
func documentLane(surface id.Surface) string { return surface.String() + "/issuer" }

// readMetadata reads the discovery document. go-oidc compares the issuer that
// it names byte for byte.
func (s *Service) readMetadata(ctx context.Context, at place) (*metadata, error) {
	client := s.cfg.Out.HTTPClient(egress.Options{Lane: documentLane(at.surface), MaxBytes: maxMetadata, Timeout: pageReadTime})
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), at.issuer)
	if err != nil {
		s.noteFailure(ctx, at.surface, "issuer metadata", err)
		return nil, errors.New("read issuer metadata: " + kindOf(err))
	}
	var document struct {
		JWKSURI       string `json:"jwks_uri"`
		Introspection string `json:"introspection_endpoint"`
	}
	if err := provider.Claims(&document); err != nil {
		s.noteFailure(ctx, at.surface, "issuer metadata", err)
		return nil, errors.New("read issuer metadata: members of another type")
	}
	m := &metadata{}
	if asSafe(at.issuer, document.JWKSURI) {
		m.jwksURI = document.JWKSURI
	}
	if sameOrigin(at.issuer, document.Introspection) {
		m.introspection = document.Introspection
	}
	return m, nil
}

// keySetOf returns the keys of an issuer as they are now; anew reads them again
// within the floors.
func (s *Service) keySetOf(ctx context.Context, at place, anew bool) (*keySet, error) {
	m, err := s.metadata.get(ctx, at)
	if err != nil {
		return nil, err
	}
	if m.jwksURI == "" {
		s.tellOwner(ctx, at.surface, "jwks_uri", "The metadata of access.issuer names no jwks_uri that may be used: it is an https address.")
		return nil, unavailable(errors.New("no key set"), pageRetry)
	}
	if anew {
		return s.keys.again(ctx, keysAt{at, m.jwksURI})
	}
	return s.keys.get(ctx, keysAt{at, m.jwksURI})
}

func (s *Service) readKeys(ctx context.Context, at keysAt) (*keySet, error) {
	set, err := s.fetchKeys(ctx, at)
	if err != nil {
		s.noteFailure(ctx, at.surface, "issuer key set", err)
	}
	return set, err
}

func (s *Service) fetchKeys(ctx context.Context, at keysAt) (*keySet, error) {
	document, err := s.cfg.Out.Document(ctx, at.uri, egress.Options{Lane: documentLane(at.surface), MaxBytes: maxKeySet, Timeout: pageReadTime})
	if err != nil {
		return nil, fmt.Errorf("read key set: %w", err)
	}
	if document.Status != http.StatusOK {
		return nil, fmt.Errorf("read key set: status %d", document.Status)
	}
	return parseKeySet(document.Body)
}

// noteFailure logs the kind of a failure only: go-oidc's errors quote answers.
func (s *Service) noteFailure(ctx context.Context, surface id.Surface, what string, err error) {
	s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "read "+what,
		slog.String("surface_id", surface.String()), slog.String("error_kind", kindOf(err)))
}

// kindOf is a failure in one stable word.
func kindOf(err error) string {
	var mismatch *oidc.IssuerMismatchError
	var known *fault.Error
	switch {
	case errors.As(err, &mismatch):
		return "issuer_differs"
	case errors.As(err, &known):
		return known.Code
	}
	return "not_as_expected"
}

// asSafe reports whether an address that an issuer names may be read: https, or
// plain http where the issuer itself is (on this machine, says the surface
// file).
func asSafe(issuer, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(issuer, "http://")
}

// sameOrigin reports whether an address is at the origin of an issuer: scheme,
// host and port. Tokens are sent nowhere else.
func sameOrigin(issuer, address string) bool {
	i, err := url.Parse(issuer)
	if err != nil {
		return false
	}
	a, err := url.Parse(address)
	if err != nil || a.Host == "" || a.User != nil || a.Fragment != "" {
		return false
	}
	return strings.EqualFold(i.Scheme, a.Scheme) && strings.EqualFold(hostPort(i), hostPort(a))
}

func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port == "" && strings.EqualFold(u.Scheme, "https"):
		port = "443"
	case port == "" && strings.EqualFold(u.Scheme, "http"):
		port = "80"
	}
	return u.Hostname() + ":" + port
}
