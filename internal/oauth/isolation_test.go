package oauth

import (
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Alice's project and Bob's: nothing that identifies one counts at the other.
func TestTokensOfOneProjectAreNothingToAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alice := b.ep
	bob := b.project("https://bob.example.test", "/bob/mcp")
	bobKey := newES256(t, "k1") // the same id, another key
	b.sources.rings[bob.Project.JWKSURI].rotate(bobKey)
	aliceToken := b.signed(b.key, b.claimsOf(alice, nil))
	bobToken := b.signed(bobKey, b.claimsOf(bob, nil))

	for range 2 {
		b.accepts(alice, aliceToken)
		b.accepts(bob, bobToken)
		b.refuses(bob, aliceToken, reasonIssuer)
		b.refuses(alice, bobToken, reasonIssuer)
		// Another key with the issuer of the first.
		b.refuses(alice, b.signed(bobKey, b.claimsOf(alice, nil)), reasonSignature)
		// The right key with another issuer.
		b.refuses(alice, b.signed(b.key, b.claimsOf(bob, nil)), reasonIssuer)
	}
}

func TestTwoProjectsClaimingOneIssuerShareNeitherKeysNorMemo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alice := b.ep
	thief := b.project("https://thief.example.test", "/thief/mcp")
	thief.Project.Issuer = alice.Project.Issuer
	thiefKey := newES256(t, "thief")
	b.sources.rings[thief.Project.JWKSURI].rotate(thiefKey)

	aliceToken := b.signed(b.key, b.claimsOf(alice, nil))
	forgedToken := b.signed(thiefKey, b.claimsOf(alice, nil))
	b.accepts(alice, aliceToken)
	b.accepts(thief, forgedToken) // among its own it may say what it likes
	b.refuses(alice, forgedToken, reasonUnknownKey)
	b.refuses(thief, aliceToken, reasonUnknownKey)
	b.accepts(alice, aliceToken)
}

func TestKeySetAtAnotherOriginIsNeverRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, uri := range []string{
		"https://evil.example.test/jwks.json", "http://ref.example.test/auth/v1/.well-known/jwks.json",
		"https://ref.example.test:8443/jwks.json", "https://ref.example.test@evil.example.test/jwks.json", "/jwks.json", "",
	} {
		ep := *b.ep
		ep.Project.JWKSURI = uri
		b.sources.rings[uri] = b.ring
		b.undecided(&ep, b.token(nil))
		if got := b.sources.count(uri); got != 0 {
			t.Errorf("%q was read", uri)
		}
	}
}

func TestSurfaceRulesRunOnEveryRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.token(nil)
	b.accepts(b.ep, token)
	strict := *b.ep
	strict.Access.Require = []string{"profile"}
	strict.Access.Modes = []surfaces.Mode{surfaces.ModeOAuth}
	b.refuses(&strict, token, reasonScope)
	moved := *b.ep
	moved.Project.Issuer = "https://moved.example.test/auth/v1"
	b.refuses(&moved, token, reasonIssuer)
	b.accepts(b.ep, token)
}

func TestAliceAndBobAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	people := map[string]string{}
	for _, sub := range []string{"alice", "bob"} {
		people[sub] = b.token(map[string]any{"sub": sub, "client_id": "client-of-" + sub})
	}
	other := *b.ep
	other.Surface = b.project("https://ref.example.test", "/acme/other/mcp").Surface
	var wg sync.WaitGroup
	for sub, token := range people {
		for _, ep := range []*tenants.Endpoint{b.ep, &other} {
			wg.Go(func() {
				for range 500 {
					c, err := b.try(ep, token)
					if err != nil || c.Key.Subject != sub || c.Key.Client != "client-of-"+sub || c.Key.Surface != ep.Surface || c.Token.Reveal() != token {
						t.Errorf("as %s: got %+v, %v", sub, c, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

func TestOneProjectsRefusalOfATokenIsNothingToAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alice := b.ep
	thief := b.project("https://thief.example.test", "/thief/mcp")
	thief.Project.Issuer = alice.Project.Issuer
	b.sources.rings[thief.Project.JWKSURI].rotate(newES256(t, "k1"))
	token := b.token(nil)
	b.refuses(thief, token, reasonSignature) // remembered as rejected, there
	caller := b.accepts(alice, token)
	b.refuses(thief, token, reasonSignature)
	_ = b.auth.Refused(thief, caller)
	b.accepts(alice, token)
	if b.auth.memo.get(keyOf(thief.Project.ID, token)) != nil {
		t.Error("the other project remembers the token")
	}
}
