package demo

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// TestField40_HS256ProjectServesThroughTheBridge: a project that signs with a
// shared secret, where direct is refused, serves its people through the bridge,
// and after its own tokens have run out too.
func TestField40_HS256ProjectServesThroughTheBridge(t *testing.T) {
	t.Parallel()
	w, p := bridged(t, standin.Options{Signing: standin.SigningHS256})
	alice, bob := signedIn(t, w, p.mcp, standin.AliceEmail), signedIn(t, w, p.mcp, standin.BobEmail)
	served := func() {
		t.Helper()
		if r := alice.list(nil); !strings.Contains(r.body, "Acme") || strings.Contains(r.body, "Globex") {
			t.Errorf("Alice: %d %s", r.status, r.body)
		}
		if r := bob.list(nil); !strings.Contains(r.body, "Globex") || strings.Contains(r.body, "Acme") {
			t.Errorf("Bob: %d %s", r.status, r.body)
		}
	}
	served()
	w.advance(p, 2*time.Hour)
	for _, d := range []*dance{alice, bob} {
		if r := d.refreshed(); r.status != http.StatusOK {
			t.Fatalf("refresh: %d %s", r.status, r.body)
		} else {
			d.access = tokenOf(t, r)
		}
	}
	served()
	project := p.signIn(standin.AliceEmail).AccessToken
	if r := sendRaw(t, http.MethodPost, p.mcp, project, nil, listCustomers); r.status != http.StatusUnauthorized {
		t.Errorf("the project's own token: %d %s", r.status, r.body)
	}
}

// tokenOf is the access token of the token endpoint's answer.
func tokenOf(t *testing.T, r reply) string {
	t.Helper()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.AccessToken
}
