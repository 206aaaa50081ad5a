package issuers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	answerFor    = 30 * time.Second // at most, and never beyond the token's own expiry
	questionTime = 5 * time.Second
	maxAnswer    = 64 << 10
)

// guesses bounds questions to an issuer, by surface and address.
var guesses = ratelimit.Rate{N: 60, Per: time.Minute}

var (
	errUnclear  = errors.New("the answer says neither yes nor no")
	errNotAsked = errors.New("nobody was asked")
)

// answerKey names a token at a surface without holding it, and who was asked
// about it as whom: another answer counts after that changed.
type answerKey struct {
	place
	endpoint, client string
	hash             [sha256.Size]byte
}

// answer is what an issuer said of a token.
type answer struct {
	claims *claims
	until  time.Time
}

// question is one under way. claims and err are set before done closes.
type question struct {
	done   chan struct{}
	claims *claims
	err    error
}

// AdmitOpaque implements oauth.Issuers: a string that is no JWT, which the
// issuer is asked about (RFC 7662).
func (s *Service) AdmitOpaque(ctx context.Context, ep *tenants.Endpoint, token, from string) (*oauth.Caller, error) {
	who, err := s.admitOpaque(ctx, ep, token, from)
	if err != nil {
		return nil, answerTo(ep, err)
	}
	return who, nil
}

func (s *Service) admitOpaque(ctx context.Context, ep *tenants.Endpoint, token, from string) (*oauth.Caller, error) {
	issuer := external(ep)
	if issuer == nil || issuer.Introspection == nil {
		return nil, denyKind
	}
	endpoint, err := s.endpointOf(ctx, ep, issuer)
	if err != nil {
		return nil, err
	}
	// The secret comes first: without one, nothing that was learnt with it
	// counts any more.
	secret, err := s.secretOf(ctx, ep, issuer.URL)
	if err != nil {
		return nil, err
	}
	as := egress.Credential{ID: issuer.Introspection.ClientID, Secret: secret}
	key := answerKey{place{ep.Surface, issuer.URL}, endpoint, as.ID, sha256.Sum256([]byte(token))}
	c, err := s.ask(ctx, key, as, token, from)
	if err != nil {
		return nil, err
	}
	return caller(ep, c)
}

// endpointOf is where to ask: what the surface file says, or the issuer's
// metadata; always at the issuer's own origin.
func (s *Service) endpointOf(ctx context.Context, ep *tenants.Endpoint, issuer *surfaces.ExternalIssuer) (string, error) {
	endpoint := issuer.Introspection.Endpoint
	if endpoint == "" {
		m, err := s.metadata.get(ctx, place{ep.Surface, issuer.URL})
		if err != nil {
			return "", err
		}
		endpoint = m.introspection
	}
	if !sameOrigin(issuer.URL, endpoint) {
		s.tellOwner(ctx, ep.Surface, "introspection_endpoint",
			"Name access.introspection.endpoint in the surface file: the issuer's metadata has none at the issuer's own origin.")
		return "", unavailable(errors.New("no introspection endpoint at the issuer's origin"), pageRetry)
	}
	return endpoint, nil
}

// ask returns what is known of a token, or asks: one question at a time for a
// token, each counted against the address that brought it.
func (s *Service) ask(ctx context.Context, key answerKey, as egress.Credential, token, from string) (*claims, error) {
	for {
		is, q, mine := s.begin(key)
		switch {
		case is.claims != nil:
			return is.claims, nil
		case is.why != denial{}:
			return nil, is.why
		case mine:
			bound := ratelimit.Bound{Name: "introspection", Key: key.surface.String() + " " + ratelimit.AddressKey(from), Rate: guesses}
			if err := s.cfg.Limits.Take(ctx, 1, bound); err != nil {
				s.end(key, q, nil, errNotAsked)
				return nil, err
			}
			// Of its own life: who waits for it may stay longer than who asked.
			go s.question(context.WithoutCancel(ctx), key, q, as, token)
		}
		select {
		case <-q.done:
		case <-ctx.Done():
			return nil, unavailable(ctx.Err(), pageRetry)
		}
		if !errors.Is(q.err, errNotAsked) {
			return q.claims, q.err
		}
		// Whoever brought the token first may ask no more: that is theirs alone.
	}
}

// known is what memory says of a token; the zero value is nothing.
type known struct {
	claims *claims
	why    denial
}

// begin returns what is known, or the question under way, or a new one that is
// the caller's to ask.
func (s *Service) begin(key answerKey) (is known, q *question, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	if a, ok := s.answers.GetIfPresent(key); ok && now.Before(a.until) {
		return known{claims: a.claims}, nil, false
	}
	if r, ok := s.denied.GetIfPresent(key); ok && now.Before(r.until) {
		return known{why: r.why}, nil, false
	}
	if q, running := s.questions[key]; running {
		return known{}, q, false
	}
	q = &question{done: make(chan struct{})}
	s.questions[key] = q
	return known{}, q, true
}

// end answers those who wait.
func (s *Service) end(key answerKey, q *question, c *claims, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.claims, q.err = c, err
	delete(s.questions, key)
	close(q.done)
}

// question asks the issuer and remembers what it said. A panic over its bytes
// must not end the process; its value may hold some of them.
func (s *Service) question(ctx context.Context, key answerKey, q *question, as egress.Credential, token string) {
	var c *claims
	err := error(unavailable(errors.New("panic"), pageRetry))
	defer func() {
		if p := recover(); p != nil {
			s.noteFailure(ctx, key.surface, "introspection answer", fmt.Errorf("panic (%T)", p))
		}
		s.end(key, q, c, err)
	}()
	asked := s.cfg.Now()
	said, failed := s.introspect(ctx, key, as, token)
	var why denial
	switch {
	case failed == nil:
		until := asked.Add(answerFor)
		if said.expires.Before(until) {
			until = said.expires
		}
		s.answers.Set(key, &answer{claims: said, until: until})
		c, err = said, nil
	case errors.As(failed, &why):
		s.denied.Set(key, rejection{why: why, until: asked.Add(rejectedFor)})
		err = why
	default:
		err = failed
	}
}

// introspect sends the one request of RFC 7662 section 2.1.
func (s *Service) introspect(ctx context.Context, key answerKey, as egress.Credential, token string) (*claims, error) {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	options := egress.Options{Lane: key.surface.String() + "/introspection", MaxBytes: maxAnswer, Timeout: questionTime}
	document, err := s.cfg.Out.PostForm(ctx, key.endpoint, form, as, options)
	switch {
	case err != nil:
		s.noteFailure(ctx, key.surface, "introspection answer", err)
		return nil, unavailable(err, pageRetry)
	case document.Status == http.StatusUnauthorized || document.Status == http.StatusForbidden:
		s.tellOwner(ctx, key.surface, "introspection_refused",
			"The issuer does not accept the client that tokens are introspected as: check access.introspection.client_id, and set its secret again (chumbo introspection set).")
		return nil, unavailable(errors.New("the issuer refused our client"), pageRetry)
	case document.Status != http.StatusOK:
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "read introspection answer",
			slog.String("surface_id", key.surface.String()), slog.Int("status", document.Status))
		return nil, unavailable(fmt.Errorf("introspection answered %d", document.Status), pageRetry)
	}
	c, err := readAnswer(document.Body, key.issuer, s.cfg.Now())
	if errors.Is(err, errUnclear) {
		s.noteFailure(ctx, key.surface, "introspection answer", err)
		return nil, unavailable(err, pageRetry)
	}
	return c, err
}
