package mcp

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// errSession says that the caller's session at the project has ended: the call
// is marked unauthorized, and the edge answers with a challenge.
var errSession = &toolError{kind: kindUnauthenticated, detail: "The sign-in at the app has ended. Sign in again."}

// errMode is for a caller of a mode that nobody knows.
var errMode = errors.New("caller of an unknown mode")

// asker asks the project as the caller of one call.
type asker struct {
	runner *toolRunner
	call   *call
}

// ask makes one request to the project as the caller. Where we keep the session
// at the project, a token that the project refuses is renewed and the request
// made once more. That is safe for what writes, too: the Data API judges the
// token before anything runs, and a function that raises the same answer itself
// has undone what it did.
func (t *asker) ask(ctx context.Context, do func(supabase.Session) (supabase.Answer, error)) (supabase.Answer, error) {
	return attempt(ctx, t, func(s supabase.Session) (supabase.Answer, error) {
		a, err := do(s)
		t.noted(a.Took, a.Upstream)
		return a, err
	}, func(_ seal.Secret, err error) bool {
		var refused *supabase.Error
		return errors.As(err, &refused) && refused.TokenRefused()
	})
}

// as is the project as the call's caller: a user of the project with a token of
// their own, everybody else as anon.
func (t *asker) as(token seal.Secret) supabase.Session {
	ref := t.call.endpoint.Project
	p := supabase.Project{ID: ref.ID, APIOrigin: ref.APIOrigin, PublishableKey: ref.PublishableKey}
	if !t.call.caller.Key.Mode.User() {
		return supabase.AsAnon(p)
	}
	return supabase.AsUser(p, token)
}

// token is the caller's at the project; zero for those who are no users of it.
// A caller who should have one and has none is never turned into an anonymous
// one, and neither is one whose mode is not known.
func (t *asker) token(ctx context.Context) (seal.Secret, error) {
	c := t.call.caller
	switch {
	case c.Key.Mode.User():
		return t.fetched(func() (seal.Secret, error) { return c.ProjectToken(ctx) })
	case c.Key.Mode == oauth.ModeAPIKey, c.Key.Mode == oauth.ModeExternal, c.Key.Mode == oauth.ModePublic:
		return seal.Secret{}, nil
	}
	return seal.Secret{}, errMode
}

// renewed is another token than the one that was refused.
func (t *asker) renewed(ctx context.Context, refused seal.Secret) (seal.Secret, error) {
	return t.fetched(func() (seal.Secret, error) { return t.call.caller.Session.Renew(ctx, refused) })
}

// fetched counts the time it takes to get a token as the project's, which it
// waits for.
func (t *asker) fetched(get func() (seal.Secret, error)) (seal.Secret, error) {
	began := t.runner.now()
	token, err := get()
	t.call.projectTime += t.runner.now().Sub(began)
	switch {
	case fault.Is(err, fault.Unauthenticated):
		t.call.unauthorized = true
		return seal.Secret{}, errSession
	case err != nil:
		return seal.Secret{}, err
	case token.IsZero():
		return seal.Secret{}, errors.New("caller without a token in a mode that has one")
	}
	return token, nil
}
