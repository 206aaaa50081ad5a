package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func TestField41_NewKeyIsAcceptedAfterOneRefetch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	uri := b.ep.Project.JWKSURI
	b.accepts(b.ep, b.token(nil))
	b.clock.Advance(keysCooldown)
	fresh := newES256(t, "k2")
	b.ring.rotate(fresh)
	b.accepts(b.ep, b.signed(fresh, b.claimsOf(b.ep, nil)))
	b.accepts(b.ep, b.token(nil)) // the one before is still published
	if got := b.sources.count(uri); got != 2 {
		t.Errorf("keys were read %d times, want 2", got)
	}
}

func TestField41_RemovedKeyIsRefusedOnceTheSetIsOld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ring.rotate(newES256(t, "k2"))
	remembered, fresh := b.token(nil), b.token(map[string]any{"sub": "bob"})
	b.accepts(b.ep, remembered)
	b.ring.drop("k1")
	b.clock.Advance(keysRefresh - time.Second)
	b.accepts(b.ep, remembered)
	b.clock.Advance(keysMaxAge - keysRefresh + time.Second)
	b.refuses(b.ep, remembered, reasonUnknownKey)
	b.refuses(b.ep, fresh, reasonUnknownKey)
	b.clock.Advance(20 * time.Minute)
	b.refuses(b.ep, remembered, reasonUnknownKey)
}

func TestReplacedKeyUnderTheSameIdEndsWhatItSigned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.token(nil)
	b.accepts(b.ep, old)
	b.ring.drop("k1")
	replacement := newES256(t, "k1")
	b.ring.rotate(replacement)
	b.clock.Advance(keysMaxAge)
	b.refuses(b.ep, old, reasonSignature)
	b.accepts(b.ep, b.signed(replacement, b.claimsOf(b.ep, nil)))
}

func TestField41_FloodOfUnknownKeysCostsOneFetchPerCooldown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	uri := b.ep.Project.JWKSURI
	good := b.token(nil)
	b.accepts(b.ep, good)
	b.clock.Advance(keysCooldown)
	flood := func() {
		var wg sync.WaitGroup
		for worker := range 10 {
			wg.Go(func() {
				for i := range 100 {
					key := jose.JSONWebKey{Key: b.key.Key, KeyID: fmt.Sprintf("random-%d-%d", worker, i), Algorithm: "ES256"}
					_, err := b.try(b.ep, b.signed(key, b.claimsOf(b.ep, nil)))
					var challenge *Challenge
					if !errors.As(err, &challenge) {
						t.Errorf("got %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	flood()
	if got := b.sources.count(uri); got != 2 {
		t.Errorf("keys were read %d times, want 2", got)
	}
	b.accepts(b.ep, good)
	b.clock.Advance(keysCooldown)
	flood()
	if got := b.sources.count(uri); got != 3 {
		t.Errorf("keys were read %d times, want 3", got)
	}
}

func TestGarbageNeverCausesAFetch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	expired := b.token(map[string]any{"exp": b.clock.Now().Add(-time.Hour).Unix()})
	b.refuses(b.ep, expired, reasonExpired)
	b.refuses(b.ep, b.token(map[string]any{"iss": "https://other.example.test/auth/v1"}), reasonIssuer)
	b.refuses(b.ep, forged(`{"alg":"ES256"}`, `{"iss":`, "x"), reasonMalformed)
	if got := b.sources.count(b.ep.Project.JWKSURI); got != 0 {
		t.Errorf("keys were read %d times", got)
	}
}

func TestField42_UnreachableKeysAreNotASignIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	uri := b.ep.Project.JWKSURI
	b.sources.setFail(uri, errors.New("500"))
	token := b.token(nil)
	for range 50 {
		b.undecided(b.ep, token)
	}
	if got := b.sources.count(uri); got != 1 {
		t.Errorf("keys were read %d times while they failed, want 1", got)
	}
	b.sources.setFail(uri, nil)
	b.clock.Advance(keysRetry)
	b.accepts(b.ep, token)
}

func TestField42_WarmKeysServeThroughAnOutageUpToTheirAge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	uri := b.ep.Project.JWKSURI
	remembered, fresh := b.token(nil), b.token(map[string]any{"sub": "bob"})
	b.accepts(b.ep, remembered)
	b.sources.setFail(uri, errors.New("500"))
	b.clock.Advance(keysMaxAge - time.Second)
	b.accepts(b.ep, remembered)
	b.accepts(b.ep, fresh)
	b.clock.Advance(time.Second + keysRetry)
	b.undecided(b.ep, remembered)
	b.undecided(b.ep, fresh)
}

func TestUnknownKeyDuringAnOutageIsUndecided(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accepts(b.ep, b.token(nil))
	b.sources.setFail(b.ep.Project.JWKSURI, errors.New("500"))
	b.clock.Advance(keysCooldown)
	fresh := newES256(t, "k2")
	b.undecided(b.ep, b.signed(fresh, b.claimsOf(b.ep, nil)))
}

func TestField96_CauseOfAFailureStaysInside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sources.setFail(b.ep.Project.JWKSURI, errors.New(`Get "https://10.1.2.3/jwks": dial tcp 10.1.2.3:443: refused`))
	f := b.outage(b.ep, b.token(nil))
	recorder := httptest.NewRecorder()
	fault.WriteProblem(recorder, f, "req-1")
	body := recorder.Body.String()
	if recorder.Code != 503 || strings.Contains(body, "10.1.2.3") || !strings.Contains(body, "req-1") {
		t.Errorf("got %d %s", recorder.Code, body)
	}
	if recorder.Header().Get("Retry-After") == "" || recorder.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("headers %v", recorder.Header())
	}
}

func TestAgeingKeysAreRenewedWithoutWaiting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	uri := b.ep.Project.JWKSURI
	token := b.token(nil)
	b.accepts(b.ep, token)
	ended := make(chan string, 10)
	release := make(chan struct{})
	b.sources.mu.Lock()
	b.sources.ended, b.sources.block[uri] = ended, release
	b.sources.mu.Unlock()
	b.clock.Advance(keysRefresh)
	for range 10 {
		b.accepts(b.ep, token) // the renewal is held up, requests are not
	}
	close(release)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("no renewal")
	}
	if got := b.sources.count(uri); got != 2 {
		t.Errorf("keys were read %d times, want 2", got)
	}
}

func TestField41_OneProjectsSlowKeysDelayNobodyElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slow := b.project("https://slow.example.test", "/slow/mcp")
	release := make(chan struct{})
	b.sources.block[slow.Project.JWKSURI] = release
	slowKey := newES256(t, "s1")
	b.sources.rings[slow.Project.JWKSURI].rotate(slowKey)
	waiting := make(chan error, 20)
	for range 20 {
		go func() {
			_, err := b.try(slow, b.signed(slowKey, b.claimsOf(slow, nil)))
			waiting <- err
		}()
	}
	b.accepts(b.ep, b.token(nil))
	close(release)
	for range 20 {
		if err := <-waiting; err != nil {
			t.Errorf("waited and got %v", err)
		}
	}
	if got := b.sources.count(slow.Project.JWKSURI); got != 1 {
		t.Errorf("keys were read %d times for 20 requests at once", got)
	}
	if len(b.sources.lanes) != 2 {
		t.Errorf("lanes %v, want one per project", b.sources.lanes)
	}
}

func TestWaitForKeysIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		never := make(chan struct{})
		b.sources.block[b.ep.Project.JWKSURI] = never
		token := b.token(nil)
		begun := time.Now()
		b.undecided(b.ep, token)
		if waited := time.Since(begun); waited != keysWait {
			t.Errorf("waited %s", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if _, err := b.auth.Authenticate(ctx, b.ep, bearerHeader(token), ""); !fault.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(begun); waited != time.Second {
			t.Errorf("waited %s beyond the request", waited)
		}
		time.Sleep(keysFetchTime) // the fetch itself ends, too
		synctest.Wait()
	})
}

func TestMovedKeySetIsReadAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.token(nil)
	b.accepts(b.ep, token)
	moved := *b.ep
	moved.Project.JWKSURI = b.ep.Project.APIOrigin + "/elsewhere/jwks.json"
	other := newES256(t, "k9")
	b.sources.rings[moved.Project.JWKSURI] = &keyring{keys: []jose.JSONWebKey{other}}
	b.refuses(&moved, token, reasonUnknownKey)
	b.accepts(&moved, b.signed(other, b.claimsOf(b.ep, nil)))
}

func TestKeySetDocuments(t *testing.T) {
	t.Parallel()
	key := newES256(t, "k1")
	public, err := json.Marshal(key.Public())
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	private, err := json.Marshal(newES256(t, "k2"))
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	k := string(public)
	cases := []struct {
		name, document string
		want           int // -1: an error
	}{
		{"one key", `{"keys":[` + k + `]}`, 1},
		{"as Supabase writes it", `{"keys":[` + strings.Replace(k, "{", `{"ext":true,"key_ops":["verify"],`, 1) + `]}`, 1},
		{"empty", `{"keys":[]}`, 0},
		{"broken neighbours", `{"keys":[{"kty":"EC"},7,null,{"kty":"oct","kid":"o","k":"AAAA"},{"kty":"new","kid":"n"},` + k + `]}`, 1},
		{"the same id twice", `{"keys":[` + k + `,` + k + `]}`, 1},
		{"private parts are dropped", `{"keys":[` + string(private) + `]}`, 1},
		{"signing only", `{"keys":[` + strings.Replace(k, "{", `{"key_ops":["sign"],`, 1) + `]}`, 0},
		{"no keys", `{}`, -1},
		{"null keys", `{"keys":null}`, -1},
		{"a page", `<html>`, -1},
		{"an error", `{"message":"No API key found in request"}`, -1},
		{"too many", `{"keys":[` + strings.Repeat("1,", maxKeys) + `1]}`, -1},
	}
	for _, c := range cases {
		keys, err := SigningKeys([]byte(c.document))
		if (err != nil) != (c.want < 0) || err == nil && len(keys) != c.want {
			t.Errorf("%s: got %v, %v", c.name, keys, err)
		}
	}
}
