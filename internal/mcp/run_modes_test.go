package mcp

import (
	"errors"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestOnlyUsersOfTheProjectCarryAToken: whatever token a caller holds, it goes
// to the project only where the project issued it.
func TestOnlyUsersOfTheProjectCarryAToken(t *testing.T) {
	t.Parallel()
	for mode, user := range map[oauth.Mode]bool{
		oauth.ModeDirect: true, oauth.ModeBearer: true, oauth.ModeBridge: true,
		oauth.ModeAPIKey: false, oauth.ModeExternal: false, oauth.ModePublic: false,
	} {
		c := runCall()
		c.caller.Key.Mode, c.caller.Token = mode, seal.NewSecret("token of another")
		ref := c.endpoint.Project
		anon := supabase.AsAnon(supabase.Project{ID: ref.ID, APIOrigin: ref.APIOrigin, PublishableKey: ref.PublishableKey})
		p := &tokenProject{good: map[supabase.Session]bool{c.sessionOf("token of another"): user, anon: !user}}
		r := newTestRunner(t, p)
		for name, k := range everyKind {
			if got := runTool(t, r, c, k.tool(), k.arguments); got.isError {
				t.Errorf("%s, %s: %s", mode, name, got.text)
			}
		}
		if answer, err := r.ask(t.Context(), c, function("ctx", ""), nil); err != nil || string(answer) != "7" {
			t.Errorf("%s, a function of the app: %s, %v", mode, answer, err)
		}
		if user {
			c.caller.Token = seal.Secret{}
			if _, err := r.run(t.Context(), c, listTool(), []byte(`{}`)); err == nil {
				t.Errorf("%s: a user without a token is served as somebody", mode)
			}
		}
		for _, s := range p.seen {
			if (s == anon) == user {
				t.Errorf("%s: asked as %v", mode, s)
			}
		}
	}
}

func TestUnknownModeIsServedAsNobody(t *testing.T) {
	t.Parallel()
	for _, mode := range []oauth.Mode{"", "other", "Public"} {
		c := runCall()
		c.caller.Key.Mode = mode
		p := &tokenProject{}
		r := newTestRunner(t, p)
		if _, err := r.run(t.Context(), c, listTool(), []byte(`{}`)); !errors.Is(err, errMode) {
			t.Errorf("%q: %v", mode, err)
		}
		if _, err := r.ask(t.Context(), c, function("ctx", ""), nil); !errors.Is(err, errMode) || len(p.seen) != 0 {
			t.Errorf("%q: %v", mode, err)
		}
	}
}

// TestFunctionsAreAskedAsToolsAre: with the argument's own name, a renewed
// token, and a challenge where the token's time is over.
func TestFunctionsAreAskedAsToolsAre(t *testing.T) {
	t.Parallel()
	s := answering(`[{"allowed":true}]`)
	r := newTestRunner(t, s)
	fn := &surfaces.Function{Relation: surfaces.Relation{Schema: "api", Name: "may", Profile: "api"}, Argument: `che"cks`}
	if answer, err := r.ask(t.Context(), runCall(), fn, []byte(`[1]`)); err != nil || string(answer) != `[{"allowed":true}]` {
		t.Fatalf("%s, %v", answer, err)
	}
	if _, err := r.ask(t.Context(), runCall(), function("ctx", ""), []byte(`[1]`)); err != nil {
		t.Fatal(err)
	}
	if got := s.calls[0]; got.Function != "may" || got.Profile != "api" || string(got.Arguments) != `{"che\"cks":[1]}` {
		t.Errorf("asked %+v", got)
	}
	if got := s.calls[1]; string(got.Arguments) != `{}` {
		t.Errorf("asked %s", got.Arguments)
	}
	c, session := bridgeCall("old", "new")
	p := &tokenProject{good: map[supabase.Session]bool{c.sessionOf("new"): true}}
	if _, err := newTestRunner(t, p).ask(t.Context(), c, function("ctx", ""), nil); err != nil || len(session.asked) != 2 || c.unauthorized {
		t.Errorf("renewed: %v after %q", err, session.asked)
	}
	c = runCall()
	if _, err := newTestRunner(t, &tokenProject{}).ask(t.Context(), c, function("ctx", ""), nil); err == nil || c.unauthorized {
		t.Errorf("a token that should be good: %v", err)
	}
	c.caller.Expires = runNow.Add(-time.Second)
	if _, err := newTestRunner(t, &tokenProject{}).ask(t.Context(), c, function("ctx", ""), nil); err == nil || !c.unauthorized {
		t.Errorf("a token whose time is over: %v", err)
	}
}
