package oauth

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// The real way to a project's keys: this package, supabase and egress.
func TestKeysAreReadThroughTheGuardedWayOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var status atomic.Int32
	status.Store(http.StatusInternalServerError)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/auth/v1/.well-known/jwks.json" || r.Header.Get("Authorization") != "" {
			t.Errorf("asked for %s, Authorization %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write(b.ring.document(t))
	}))
	defer server.Close()
	ep := b.project(server.URL, "/local/mcp")
	token := b.signed(b.key, b.claimsOf(ep, nil))

	policy := egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}
	auth, err := New(Config{Keys: supabase.New(egress.New(policy)), Now: b.clock.Now})
	if err != nil {
		t.Fatalf("new authenticator: %v", err)
	}
	b.auth = auth
	b.undecided(ep, token)
	status.Store(http.StatusOK)
	b.clock.Advance(keysRetry)
	b.accepts(ep, token)

	strict, err := New(Config{Keys: supabase.New(egress.New(egress.Policy{})), Now: b.clock.Now})
	if err != nil {
		t.Fatalf("new authenticator: %v", err)
	}
	b.auth = strict
	b.undecided(ep, token) // loopback is not reached
}
