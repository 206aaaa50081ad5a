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

// ask makes one request to the project as the caller. Where we keep the session
// at the project, a token that the project refuses is renewed and the request
// made once more. That is safe for what writes, too: the Data API judges the
// token before anything runs, and a function that raises the same answer itself
// has undone what it did.
func (t *toolCall) ask(ctx context.Context, do func(supabase.Session) (supabase.Answer, error)) (supabase.Answer, error) {
	token, err := t.token(ctx)
	if err != nil {
		return supabase.Answer{}, err
	}
	a, err := do(t.as(token))
	t.note(a)
	var refused *supabase.Error
	if t.call.caller.Session == nil || !errors.As(err, &refused) || !refused.TokenRefused() {
		return a, err
	}
	if token, err = t.renewed(ctx, token); err != nil {
		return supabase.Answer{}, err
	}
	a, err = do(t.as(token))
	t.note(a)
	return a, err
}

// as is the project as the call's caller.
func (t *toolCall) as(token seal.Secret) supabase.Session {
	ref := t.call.endpoint.Project
	p := supabase.Project{ID: ref.ID, APIOrigin: ref.APIOrigin, PublishableKey: ref.PublishableKey}
	if t.call.caller.Key.Mode == oauth.ModePublic {
		return supabase.AsAnon(p)
	}
	return supabase.AsUser(p, token)
}

// token is the caller's at the project; nobody's is zero. A caller who should
// have one and has none is never turned into an anonymous one.
func (t *toolCall) token(ctx context.Context) (seal.Secret, error) {
	c := t.call.caller
	if c.Key.Mode == oauth.ModePublic {
		return seal.Secret{}, nil
	}
	return t.fetched(func() (seal.Secret, error) { return c.ProjectToken(ctx) })
}

// renewed is another token than the one that was refused.
func (t *toolCall) renewed(ctx context.Context, refused seal.Secret) (seal.Secret, error) {
	return t.fetched(func() (seal.Secret, error) { return t.call.caller.Session.Renew(ctx, refused) })
}

// fetched counts the time it takes to get a token as the project's, which it
// waits for.
func (t *toolCall) fetched(get func() (seal.Secret, error)) (seal.Secret, error) {
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
