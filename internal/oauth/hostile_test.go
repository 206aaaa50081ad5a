package oauth

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

type panickingSource struct{}

func (panickingSource) KeySet(context.Context, string, string) ([]byte, error) {
	panic("eyJhbGciOiJFUzI1NiJ9.secret")
}

// TestPanicWhileReadingKeysEndsNothingElse: keys are read on a goroutine of
// their own, where a panic over one project's bytes would end the process.
func TestPanicWhileReadingKeysEndsNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	auth, err := New(Config{Keys: panickingSource{}, Now: b.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err = auth.Authenticate(t.Context(), b.ep, bearerHeader(b.token(nil)), "")
		if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "secret") {
			t.Fatalf("got %v, want unavailable", err)
		}
	}
}

// FuzzKeySet: whatever a project publishes as its keys, nothing panics, and
// what is accepted can be used.
func FuzzKeySet(f *testing.F) {
	key := newES256(f, "k1")
	public, err := json.Marshal(key.Public())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"keys":[` + string(public) + `]}`)
	for _, seed := range []string{
		`{"kty":"EC","kid":"k","crv":"P-256","x":"","y":""}`,
		`{"kty":"EC","kid":"k","crv":"P-256","x":"AAAA","y":"AAAA"}`,
		`{"kty":"EC","kid":"k","crv":"P-256","x":"_____________________________________________w","y":"AAAA"}`,
		`{"kty":"OKP","kid":"k","crv":"Ed25519","x":"AA"}`,
		`{"kty":"OKP","kid":"k","crv":"Ed25519","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`,
		`{"kty":"RSA","kid":"k","n":"AA","e":"AQAB"}`,
		`{"kty":"RSA","kid":"k","n":"` + strings.Repeat("A", 342) + `","e":"AA"}`,
		`{"kty":"RSA","kid":"k","n":"gA` + strings.Repeat("A", 342) + `","e":"_____________w"}`,
		`{"kty":"oct","kid":"k","k":"AAAA"}`,
	} {
		f.Add(`{"keys":[` + seed + `]}`)
	}
	token := forged(`{"alg":"RS256","kid":"k"}`, `{"iss":"x","sub":"a","exp":1}`, strings.Repeat("s", 256))
	f.Fuzz(func(t *testing.T, document string) {
		keys, err := parseKeySet([]byte(document))
		if err != nil {
			return
		}
		for kid, k := range keys {
			if kid == "" || k.public == nil {
				t.Fatalf("accepted %q: %+v", kid, k)
			}
			signed, err := jose.ParseSignedCompact(token, algorithms)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := signed.Verify(k.public); err == nil {
				t.Fatalf("the key %s verifies what it never signed: %s", kid, document)
			}
		}
	})
}
