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
// the HTTP method; see SignIn for GET and HEAD). A token that is presented and
// fails is refused; it never falls back to public.
//
// The error is a *Challenge, or a *fault.Error: Unavailable with RetryAfter
// when the token could not be judged, Forbidden when it lacks a scope that no
// sign-in could bring. from is the client's address: how often somebody may
// guess is bounded by it.
func (a *Authenticator) Authenticate(ctx context.Context, ep *tenants.Endpoint, h http.Header, from string) (*Caller, error) {
	text, why := bearer(h)
	switch {
	case why != "":
		return nil, invalidToken(ep, why)
	case text == "" && ep.Access.Has(surfaces.ModePublic):
		return publicCaller(ep), nil
	case text == "":
		return nil, SignIn(ep)
	case ep.Access.Bridged():
		return a.bridged(ctx, ep, text)
	case isChumboKey(text), !ep.Access.Has(surfaces.ModeOAuth):
		return nil, invalidToken(ep, reasonOtherKind)
	}
	caller, err := a.direct(ctx, ep, text)
	if err != nil {
		return nil, answerTo(ep, err)
	}
	return caller, nil
}

// bridged admits what Chumbo issued for a bridge surface. A token of the
// project's own is none of these, whatever it says.
func (a *Authenticator) bridged(ctx context.Context, ep *tenants.Endpoint, text string) (*Caller, error) {
	personal := isPersonalToken(text)
	if a.doors.Bridge == nil || isChumboKey(text) && !personal {
		return nil, invalidToken(ep, reasonOtherKind)
	}
	admit := a.doors.Bridge.Admit
	if personal {
		admit = a.doors.Bridge.AdmitPersonal
	}
	caller, err := admit(ctx, ep, text)
	if err != nil {
		return nil, err
	}
	if k := caller.Key; k.Surface != ep.Surface || k.Mode != ModeBridge || k.Issuer != ep.Project.Issuer || k.Subject == "" || caller.Session == nil {
		return nil, errors.New("the bridge admitted a caller who is not of this surface")
	}
	return caller, nil
}

// answerTo turns a reason into the challenge of the surface.
func answerTo(ep *tenants.Endpoint, err error) error {
	var why reason
	if errors.As(err, &why) {
		return invalidToken(ep, why)
	}
	if errors.Is(err, errMissingScope) {
		return missingScope(ep)
	}
	return err
}

func publicCaller(ep *tenants.Endpoint) *Caller {
	return &Caller{Key: CallerKey{Surface: ep.Surface, Mode: ModePublic}, Role: "anon"}
}

// missingScope asks for the scopes of access.require where a sign-in can bring
// them, and refuses plainly where a new sign-in would bring nothing.
func missingScope(ep *tenants.Endpoint) error {
	for _, scope := range ep.Access.Require {
		if !ep.CanGrant(scope) {
			return fault.New(fault.Forbidden, string(reasonScope), "%s", reasonScope.text())
		}
	}
	return InsufficientScope(ep, nil)
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
