package bridge

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// elsewhere is a server at another origin that keeps all it is sent.
type elsewhere struct {
	*httptest.Server
	mu   sync.Mutex
	sent strings.Builder
}

func newElsewhere(t testing.TB) *elsewhere {
	e := &elsewhere{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.sent.WriteString(r.Method + " " + r.URL.String() + "\n" + strings.Join(r.Header["Authorization"], " ") + "\n" + string(body) + "\n")
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *elsewhere) got() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sent.String()
}

// Whoever holds a builder's account can point the project at a server of their
// own. What people's sessions at the real one consist of never goes there: not
// to renew them, not to sign out, not by the worker.
func TestAProjectThatMovesTakesNoSessionsAlong(t *testing.T) {
	t.Parallel()
	for _, move := range []struct {
		name  string
		facts func(f *tenants.ProjectFacts, to string)
	}{
		{"to another issuer", func(f *tenants.ProjectFacts, to string) {
			f.APIOrigin, f.Issuer, f.JWKSURI = to, to+"/auth/v1", to+"/auth/v1/.well-known/jwks.json"
		}},
		{"to another API of the issuer", func(f *tenants.ProjectFacts, to string) {
			f.APIOrigin, f.JWKSURI = to, to+"/auth/v1/.well-known/jwks.json"
		}},
	} {
		t.Run(move.name, func(t *testing.T) {
			t.Parallel()
			w, there := newWorld(t), newElsewhere(t)
			before := w.ep
			ours := w.ourClient(t)
			hers, revoked, swept := w.connected(t, w.ep, alice, "claude"), w.connected(t, w.ep, bob, "cursor"), w.signedIn(t, w.ep, bob)
			byOAuth, err := w.service.keepUpstream(t.Context(), w.ep, upstreamOAuth, ours.ID, w.oauthTokens(t, w.ep, ours, alice))
			if err != nil {
				t.Fatal(err)
			}
			w.mustUpstream(t, hers.who) // in memory
			waiting, cookie := w.begun(t, w.ep)

			facts := tenants.ProjectFacts{
				TypedURL: w.project.URL(), APIOrigin: before.Project.APIOrigin, Issuer: before.Project.Issuer, JWKSURI: before.Project.JWKSURI,
				PublishableKey: w.project.PublishableKey(), Signing: tenants.SigningAsymmetric, OAuthEnabled: true,
			}
			move.facts(&facts, there.URL)
			if _, err := w.tenants.UpdateProject(t.Context(), w.builder, "acme", facts); err != nil {
				t.Fatal(err)
			}
			moved := *before
			moved.Project.APIOrigin, moved.Project.Issuer, moved.Project.JWKSURI = facts.APIOrigin, facts.Issuer, facts.JWKSURI

			for _, who := range []*Person{hers.who, byOAuth} {
				if token, err := w.service.upstreamToken(t.Context(), &moved.Project, who.Organization, who.Upstream, seal.Secret{}); !fault.Is(err, fault.Unauthenticated) {
					t.Errorf("a token for another project: %v %v", !token.IsZero(), err)
				}
			}
			_, err = w.service.rotate(t.Context(), &moved, hers.client, hers.issued.refresh)
			wantInvalidGrant(t, err, saySession)
			if err := w.service.RevokeByBuilder(t.Context(), w.builder, w.ep.Surface, revoked.issued.grant); err != nil {
				t.Error(err)
			}
			w.clock.Advance(unneededFor * 3) // every token is to be renewed first
			w.sweep(t)
			w.service.releaseUpstream(t.Context(), &moved.Project, swept.Organization, swept.Upstream)
			if _, err := w.service.Open(t.Context(), waiting.ID, cookie); !fault.Is(err, fault.NotFound) {
				t.Errorf("a sign-in that was under way goes on: %v", err)
			}
			if got := there.got(); got != "" {
				t.Errorf("sent to the other server:\n%s", got)
			}
			var left int
			w.query(t, &left, "select count(*) from upstream_sessions where ended_at is null or access_token <> '' or refresh_token <> ''")
			if left != 0 {
				t.Errorf("%d sessions are kept", left)
			}
			w.query(t, &left, "select count(*) from sign_in_settings where client_id <> '' or client_secret is not null")
			if left != 0 {
				t.Error("our client of the one project is kept for the other")
			}
		})
	}
}
