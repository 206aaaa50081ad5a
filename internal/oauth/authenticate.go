package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	defaultMemoBytes = 32 << 20
	defaultProjects  = 20_000
)

// Config is what an Authenticator needs. Keys is required; zero values of the
// rest take the defaults stated.
type Config struct {
	Keys      KeySource
	Now       func() time.Time // time.Now
	Logger    *slog.Logger     // discards
	MemoBytes int              // bound of remembered tokens, about; 32 MiB
	Projects  int              // bound of remembered key sets; 20,000
}

// Authenticator turns a request's Authorization into a Caller. It is safe for
// concurrent use.
type Authenticator struct {
	now   func() time.Time
	keys  *keySets
	memo  *memo
	doors Doors
}

// With is the authenticator that also opens the doors given. It shares keys and
// memory with the one it is made of, which the bridge itself needs first (see
// VerifyProjectToken).
func (a *Authenticator) With(d Doors) *Authenticator {
	with := *a
	with.doors = d
	return &with
}

// New returns an Authenticator.
func New(cfg Config) (*Authenticator, error) {
	if cfg.Keys == nil {
		return nil, errors.New("new authenticator: no key source")
	}
	if cfg.MemoBytes < 0 || cfg.Projects < 0 {
		return nil, errors.New("new authenticator: a bound is negative")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MemoBytes == 0 {
		cfg.MemoBytes = defaultMemoBytes
	}
	if cfg.Projects == 0 {
		cfg.Projects = defaultProjects
	}
	keys, err := newKeySets(cfg.Keys, cfg.Now, cfg.Logger, cfg.Projects)
	if err != nil {
		return nil, fmt.Errorf("new authenticator: %w", err)
	}
	memo, err := newMemo(cfg.Now, cfg.MemoBytes)
	if err != nil {
		return nil, fmt.Errorf("new authenticator: %w", err)
	}
	return &Authenticator{now: cfg.Now, keys: keys, memo: memo}, nil
}

// Authenticate returns the caller of a request to ep. Only the Authorization
// header is read: a token in a query or body is never looked at. Without
// Authorization a surface that lists public yields a public caller (whatever
// the HTTP method; see SignIn for GET and HEAD). The form of what is presented,
// and of a JWT its issuer, decide alone who judges it (kinds.go), which must be
// a mode that the surface lists. A credential that is presented and fails is
// refused; it never falls through to another mode, nor back to public.
//
// The error is a *Challenge, or a *fault.Error: Unavailable with RetryAfter
// when the credential could not be judged, RateLimited when it was one guess
// too many, Forbidden when it lacks a scope that no sign-in could bring. from is
// the client's address: how often somebody may guess is bounded by it.
func (a *Authenticator) Authenticate(ctx context.Context, ep *tenants.Endpoint, h http.Header, from string) (*Caller, error) {
	text, why := bearer(h)
	switch {
	case why != "":
		return nil, invalidToken(ep, why)
	case text == "" && ep.Access.Has(surfaces.ModePublic):
		return publicCaller(ep), nil
	case text == "":
		return nil, SignIn(ep)
	}
	caller, err := a.admitted(ctx, ep, text, from)
	if err != nil {
		return nil, answerTo(ep, err)
	}
	return caller, nil
}

// answerTo turns a reason into the challenge of the surface. What is an answer
// already stays what it is, whatever caused it.
func answerTo(ep *tenants.Endpoint, err error) error {
	var why reason
	var answer *fault.Error
	if !errors.As(err, &answer) && errors.As(err, &why) {
		return invalidToken(ep, why)
	}
	return err
}

// admitted hands a credential to the one who judges its kind. Errors as
// Authenticate's, with a bare reason where a challenge is due.
func (a *Authenticator) admitted(ctx context.Context, ep *tenants.Endpoint, text, from string) (*Caller, error) {
	users := takesDirect(ep) || ep.Access.Has(surfaces.ModeBearer)
	var key tokenKey
	if users {
		if key = keyOf(ep.Project.ID, text); a.isRemembered(ep, key) {
			return a.user(ctx, ep, key, text)
		}
	}
	kind, err := kindOf(ep, text)
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindKey, kindOpaque:
		return a.throughKeys(ctx, ep, kind, text, from)
	case kindPersonal, kindBridge:
		return a.throughBridge(ctx, ep, kind, text)
	case kindProject:
		if users {
			return a.user(ctx, ep, key, text)
		}
	case kindExternal:
		return a.throughIssuers(ctx, ep, kind, text, from)
	}
	return nil, reasonOtherKind
}

// isRemembered reports whether a token is the project's and was verified before,
// so that its kind need not be found out again.
func (a *Authenticator) isRemembered(ep *tenants.Endpoint, key tokenKey) bool {
	v := a.memo.get(key)
	return v != nil && v.claims.issuer == ep.Project.Issuer && !ownURL(ep, v.claims.issuer)
}

func publicCaller(ep *tenants.Endpoint) *Caller {
	return &Caller{Key: CallerKey{Surface: ep.Surface, Mode: ModePublic}, Role: "anon"}
}

// Refused forgets a token that the project itself refused, and returns the
// challenge to answer with. The token stays refused here for 10 s. Where the
// session at the project is kept by us, the caller's token is another one and
// nothing is known against it: the challenge says that the session has ended.
func (a *Authenticator) Refused(ep *tenants.Endpoint, c *Caller) *Challenge {
	if c.Session != nil {
		return invalidToken(ep, reasonSession)
	}
	if !c.Token.IsZero() {
		key := keyOf(ep.Project.ID, c.Token.Reveal())
		a.memo.reject(key, reasonRefused)
		a.memo.forget(key)
	}
	return invalidToken(ep, reasonRefused)
}
