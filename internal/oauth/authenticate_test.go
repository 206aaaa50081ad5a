package oauth

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func asChallenge(err error, target **Challenge) bool { return errors.As(err, target) }

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no source": {}, "negative memo": {Keys: newSources(t), MemoBytes: -1}, "negative projects": {Keys: newSources(t), Projects: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The table of modes: what is presented, on a surface that lists what.
func TestModeTable(t *testing.T) {
	t.Parallel()
	const (
		bare     = "Bearer"
		pointing = `Bearer resource_metadata="https://mcp.example.test/.well-known/oauth-protected-resource/acme/mcp"`
	)
	b := setup(t)
	good := "Bearer " + b.token(nil)
	oauth, public := surfaces.ModeOAuth, surfaces.ModePublic
	cases := []struct {
		name          string
		modes         []surfaces.Mode
		authorization []string
		mode          Mode   // of the caller, or
		code          reason // of the challenge,
		header        string // and the start of its header
	}{
		{"oauth, nothing", []surfaces.Mode{oauth}, nil, "", reasonNoToken, pointing},
		{"public, nothing", []surfaces.Mode{public}, nil, ModePublic, "", ""},
		{"both, nothing", []surfaces.Mode{oauth, public}, nil, ModePublic, "", ""},
		{"none, nothing", nil, nil, "", reasonNoToken, bare},
		{"oauth, token", []surfaces.Mode{oauth}, []string{good}, ModeDirect, "", ""},
		{"both, token", []surfaces.Mode{public, oauth}, []string{good}, ModeDirect, "", ""},
		{"lower-case scheme", []surfaces.Mode{oauth}, []string{"bearer" + good[6:]}, ModeDirect, "", ""},
		{"more blanks", []surfaces.Mode{oauth}, []string{"Bearer   " + good[7:] + " "}, ModeDirect, "", ""},
		{"public, token", []surfaces.Mode{public}, []string{good}, "", reasonOtherKind, `Bearer error="invalid_token"`},
		{"both, bad token", []surfaces.Mode{oauth, public}, []string{"Bearer nope"}, "", reasonOtherKind, pointing + `, error="invalid_token"`},
		{"both, empty", []surfaces.Mode{oauth, public}, []string{""}, "", reasonHeader, pointing + `, error="invalid_token"`},
		{"both, Bearer alone", []surfaces.Mode{oauth, public}, []string{"Bearer"}, "", reasonHeader, pointing + `, error="invalid_token"`},
		{"both, Bearer and blank", []surfaces.Mode{oauth, public}, []string{"Bearer "}, "", reasonHeader, pointing},
		{"another scheme", []surfaces.Mode{oauth}, []string{"Basic YTpi"}, "", reasonHeader, pointing},
		{"no scheme", []surfaces.Mode{oauth}, []string{good[7:]}, "", reasonHeader, pointing},
		{"two headers", []surfaces.Mode{oauth}, []string{good, good}, "", reasonHeader, pointing},
		{"two tokens in one", []surfaces.Mode{oauth}, []string{good + ", " + good}, "", reasonHeader, pointing},
		{"api key", []surfaces.Mode{oauth}, []string{"Bearer chk_0123456789"}, "", reasonOtherKind, pointing},
		{"personal token", []surfaces.Mode{oauth}, []string{"Bearer chp_0123456789"}, "", reasonOtherKind, pointing},
		{"our key in JWT form", []surfaces.Mode{oauth}, []string{"Bearer cht_" + good[7:]}, "", reasonOtherKind, pointing},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ep := *b.ep
			ep.Access.Modes = c.modes
			h := http.Header{}
			if c.authorization != nil {
				h["Authorization"] = c.authorization
			}
			caller, err := b.auth.Authenticate(t.Context(), &ep, h, "")
			if c.mode != "" {
				if err != nil || caller.Key.Mode != c.mode || caller.Key.Surface != ep.Surface {
					t.Fatalf("got %+v, %v; want mode %s", caller, err, c.mode)
				}
				return
			}
			bb := *b
			bb.t = t
			challenge := bb.challengeIn(caller, err, c.code)
			if !strings.HasPrefix(challenge.Header(), c.header) {
				t.Errorf("header %s, want %s…", challenge.Header(), c.header)
			}
			if c.code == reasonNoToken && challenge.Header() != c.header {
				t.Errorf("header %s, want exactly %s", challenge.Header(), c.header)
			}
		})
	}
}

func TestPublicCallerIsNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ep.Access.Modes = []surfaces.Mode{surfaces.ModePublic}
	c, err := b.auth.Authenticate(t.Context(), b.ep, http.Header{}, "")
	if err != nil {
		t.Fatalf("authenticate: %v", err)
	}
	if c.Key != (CallerKey{Surface: b.ep.Surface, Mode: ModePublic}) || !c.Token.IsZero() || c.Role != "anon" || len(c.Scopes) != 0 {
		t.Errorf("got %+v", c)
	}
}

func TestOtherTokenPlacesAreNeverLookedAt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.token(nil)
	for _, h := range []http.Header{
		{"X-Api-Key": {token}}, {"Apikey": {token}}, {"Cookie": {"access_token=" + token}}, {"Proxy-Authorization": {"Bearer " + token}},
	} {
		caller, err := b.auth.Authenticate(t.Context(), b.ep, h, "")
		_ = b.challengeIn(caller, err, reasonNoToken)
	}
}

func TestRefusedTokenIsForgottenAndStaysRefusedForAWhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alice, bob := b.token(map[string]any{"sub": "alice"}), b.token(map[string]any{"sub": "bob"})
	caller := b.accepts(b.ep, alice)
	b.accepts(b.ep, bob)
	challenge := b.auth.Refused(b.ep, caller)
	if challenge.Status != http.StatusUnauthorized || !strings.Contains(challenge.Header(), `error="invalid_token"`) {
		t.Fatalf("got %d %s", challenge.Status, challenge.Header())
	}
	b.refuses(b.ep, alice, reasonRefused)
	b.accepts(b.ep, bob)
	b.clock.Advance(rejectedFor)
	b.accepts(b.ep, alice)
}

func TestRefusedOfAPublicCallerIsAChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if c := b.auth.Refused(b.ep, publicCaller(b.ep)); c.Status != http.StatusUnauthorized {
		t.Fatalf("got %d", c.Status)
	}
}
