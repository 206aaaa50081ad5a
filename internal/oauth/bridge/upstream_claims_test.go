package bridge

import (
	"encoding/json"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// claimsOf are a caller's claims, and what of them the tests look at.
func claimsOf(t testing.TB, c *oauth.Caller) (raw json.RawMessage, subject string, expires int64) {
	t.Helper()
	raw, err := c.PolicyClaims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Sub          string          `json:"sub"`
		Exp          int64           `json:"exp"`
		Role         string          `json:"role"`
		AppMetadata  json.RawMessage `json:"app_metadata"`
		UserMetadata json.RawMessage `json:"user_metadata"`
	}
	if err := json.Unmarshal(raw, &claims); err != nil {
		t.Fatal(err)
	}
	if claims.Role != "authenticated" || claims.AppMetadata == nil || claims.UserMetadata != nil {
		t.Errorf("claims %s", raw)
	}
	return raw, claims.Sub, claims.Exp
}

// TestPolicyReadsTheClaimsOfTheSessionAtTheProject, whatever signs it.
func TestPolicyReadsTheClaimsOfTheSessionAtTheProject(t *testing.T) {
	t.Parallel()
	for name, signing := range map[string]standin.Signing{"ES256": standin.SigningES256, "HS256": standin.SigningHS256} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *worldOptions) { o.project = func(p *standin.Options) { p.Signing = signing } })
			hers, his := w.connected(t, w.ep, alice, "claude"), w.connected(t, w.ep, bob, "cursor")
			caller := w.admitted(t, w.ep, w.access(t, hers))
			first, subject, expires := claimsOf(t, caller)
			if subject != standin.AliceID {
				t.Errorf("subject %s", subject)
			}
			if _, other, _ := claimsOf(t, w.admitted(t, w.ep, w.access(t, his))); other != standin.BobID {
				t.Errorf("bob's subject %s", other)
			}
			again, _, _ := claimsOf(t, w.admitted(t, w.ep, w.access(t, hers)))
			if &first[0] != &again[0] {
				t.Error("read twice for one token")
			}
			w.stale()
			fresh := w.admitted(t, w.ep, w.access(t, hers))
			if _, _, later := claimsOf(t, fresh); later <= expires {
				t.Errorf("claims of the token before: exp %d, was %d", later, expires)
			}
			// Of a token that is not kept any more, too.
			w.service.upstreams.warm.InvalidateAll()
			claimsOf(t, fresh)
		})
	}
}

func TestClaimsOfASessionThatEndedAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	caller := w.admitted(t, w.ep, w.access(t, c))
	key := keyOfUpstream(&w.ep.Project, c.who.Organization, c.who.Upstream)
	if _, err := w.service.upstreams.claimsOf(key, seal.NewSecret("no.token.at all")); err == nil {
		t.Error("claims of what is no token")
	}
	if err := w.projects.SignOutLocal(t.Context(), projectOf(w.ep), w.mustUpstream(t, c.who)); err != nil {
		t.Fatal(err)
	}
	w.stale()
	if claims, err := caller.PolicyClaims(t.Context()); claims != nil || !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("claims %s, %v", claims, err)
	}
}
