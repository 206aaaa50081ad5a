package standin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// register makes a public client with one redirect URI.
func (w *authWorld) register(redirect string) string {
	w.t.Helper()
	made := w.must("POST", "/oauth/clients/register", "", map[string]any{
		"client_name": "Example", "redirect_uris": []string{redirect}, "token_endpoint_auth_method": "none"})
	id, _ := made["client_id"].(string)
	return id
}

func newPeopledWorld(t *testing.T, change func(*authConfig)) (w *authWorld, client string) {
	t.Helper()
	w = newAuthWorld(t, func(cfg *authConfig) {
		cfg.users = []User{{Email: alice, Password: "alice-password"}, {Email: bob, Password: "bob-password"}}
		if change != nil {
			change(cfg)
		}
	})
	return w, w.register(loopbackCallback)
}

func exampleFlow(client, verifier string) flow {
	return flow{client: client, redirect: loopbackCallback, scope: "openid email", state: "s", verifier: (verifier + strings.Repeat("v", 43))[:43]}
}

// TestAliceAndBobShareNothing runs both at once through everything Auth keeps
// about a person.
func TestAliceAndBobShareNothing(t *testing.T) {
	t.Parallel()
	w, client := newPeopledWorld(t, nil)
	var wg sync.WaitGroup
	for _, who := range []struct{ email, password string }{{alice, "alice-password"}, {bob, "bob-password"}} {
		for round := range 8 {
			wg.Go(func() {
				first := w.signIn(who.email, who.password)
				got := w.connect(exampleFlow(client, fmt.Sprint(who.email, round)), first.access)
				next := w.refreshOAuth(client, got.refresh)
				for _, token := range []string{first.access, got.access, next.access} {
					if user := w.must("GET", "/user", token, nil); user["email"] != who.email {
						t.Errorf("%s is answered as %v", who.email, user["email"])
					}
					_, claims := decodeToken(token)
					if claims["email"] != who.email {
						t.Errorf("%s got a token of %v", who.email, claims["email"])
					}
				}
			})
		}
	}
	wg.Wait()
}

func TestWhatAliceTakesAwayBobKeeps(t *testing.T) {
	t.Parallel()
	w, client := newPeopledWorld(t, nil)
	a, b := w.signIn(alice, "alice-password"), w.signIn(bob, "bob-password")
	atClientA := w.connect(exampleFlow(client, "a"), a.access)
	atClientB := w.connect(exampleFlow(client, "b"), b.access)

	w.must("DELETE", "/user/oauth/grants?client_id="+client, a.access, nil)
	if res := w.send("GET", "/user", atClientA.access, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("alice's client after she revoked the grant: %d", res.StatusCode)
	}
	w.must("POST", "/logout", a.access, nil)
	if res := w.send("GET", "/user", a.access, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("alice after signing out: %d", res.StatusCode)
	}
	w.must("GET", "/user", b.access, nil)
	w.must("GET", "/user", atClientB.access, nil)
	w.refreshOAuth(client, atClientB.refresh)
}

func TestOneOpensAnAuthorizationAtATime(t *testing.T) {
	t.Parallel()
	w, client := newPeopledWorld(t, nil)
	bearer := w.signIn(alice, "alice-password").access
	id := w.authorize(exampleFlow(client, "v"))
	held, err := w.auth.takeAuthorization(id) // as a GET on its way does
	if err != nil {
		t.Fatal(err)
	}
	if res := w.send("GET", "/oauth/authorizations/"+id, bearer, nil); res.StatusCode != http.StatusNotFound {
		t.Fatalf("while another GET holds it: %d", res.StatusCode)
	}
	w.auth.mu.Lock()
	held.busy = false
	w.auth.mu.Unlock()
	w.must("GET", "/oauth/authorizations/"+id, bearer, nil)
}

func TestMadeTokensLookIssued(t *testing.T) {
	t.Parallel()
	w, client := newPeopledWorld(t, nil)
	for name, c := range map[string]struct {
		options TokenOptions
		check   func(claims map[string]any) bool
		status  int // at /user
	}{
		"first party": {TokenOptions{}, func(c map[string]any) bool { return c["client_id"] == nil && c["scope"] == nil }, 200},
		"of a client": {TokenOptions{ClientID: client}, func(c map[string]any) bool {
			return c["client_id"] == client && c["scope"] == "email" && strings.Contains(fmt.Sprint(c["amr"]), methodOAuthCode)
		}, 200},
		"expired":         {TokenOptions{Lifetime: -time.Second}, func(c map[string]any) bool { return c["exp"].(float64) < c["iat"].(float64) }, 403},
		"other audience":  {TokenOptions{Claims: map[string]any{"aud": "x"}}, func(c map[string]any) bool { return c["aud"] == "x" }, 200},
		"claim removed":   {TokenOptions{Claims: map[string]any{"sub": nil}}, func(c map[string]any) bool { _, ok := c["sub"]; return !ok }, 403},
		"without session": {TokenOptions{NoSession: true}, func(c map[string]any) bool { return c["session_id"] == nil }, 200},
	} {
		token, err := w.auth.accessToken(alice, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if _, claims := decodeToken(token); !c.check(claims) || claims["email"] != alice {
			t.Errorf("%s: %v", name, claims)
		}
		if res := w.send("GET", "/user", token, nil); res.StatusCode != c.status {
			t.Errorf("%s: /user says %d, want %d", name, res.StatusCode, c.status)
		}
	}
	if _, err := w.auth.accessToken("nobody@example.test", TokenOptions{}); err == nil {
		t.Error("a token for nobody")
	}
}

func TestVersion2TokenCannotBeForged(t *testing.T) {
	t.Parallel()
	w, _ := newPeopledWorld(t, func(cfg *authConfig) { cfg.refreshV2 = true })
	token := w.signIn(alice, "alice-password").refresh
	id, counter, ok := parseV2(token)
	if !ok || counter != 0 {
		t.Fatalf("parse %q: %v %d", token, ok, counter)
	}
	forged := (&session{id: id, seed: []byte("guess")}).v2Token(0)
	for name, value := range map[string]string{"another seed": forged, "another counter": (&session{id: id}).v2Token(7)} {
		res := w.send("POST", "/token?grant_type=refresh_token", "", map[string]string{"refresh_token": value})
		if res.StatusCode != http.StatusBadRequest || res.Header.Get("x-sb-error-code") != "refresh_token_not_found" {
			t.Errorf("%s: %d %s", name, res.StatusCode, res.Header.Get("x-sb-error-code"))
		}
	}
	w.must("POST", "/token?grant_type=refresh_token", "", map[string]string{"refresh_token": token})
}

func TestLimitRefillsAndIsPerAddress(t *testing.T) {
	t.Parallel()
	w, _ := newPeopledWorld(t, func(cfg *authConfig) { cfg.limitHeader = "X-Forwarded-For" })
	call := func(address string) *http.Response {
		r := httptest.NewRequest(http.MethodPost, "/token?grant_type=password", strings.NewReader("{}"))
		r.Header.Set("X-Forwarded-For", address)
		rec := httptest.NewRecorder()
		w.auth.ServeHTTP(rec, r)
		return rec.Result()
	}
	for range bucketBurst {
		call("192.0.2.1")
	}
	res := call("192.0.2.1")
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "" {
		t.Fatalf("after the burst: %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	if res := call("192.0.2.2"); res.StatusCode == http.StatusTooManyRequests {
		t.Fatal("another address is limited too")
	}
	w.advance(3 * time.Second) // 150 in five minutes are one in two seconds
	if res := call("192.0.2.1"); res.StatusCode == http.StatusTooManyRequests {
		t.Fatal("nothing was refilled")
	}
}

func TestMailedLinkConfirmsANewPerson(t *testing.T) {
	t.Parallel()
	w, _ := newPeopledWorld(t, func(cfg *authConfig) { cfg.confirmationOn = true })
	w.signUp("grace@example.test", "grace-password")
	if res := w.send("POST", "/token?grant_type=password", "", map[string]string{"email": "grace@example.test", "password": "grace-password"}); res.StatusCode != http.StatusBadRequest {
		t.Fatalf("unconfirmed sign-in: %d", res.StatusCode)
	}
	mails := w.auth.mailsTo("grace@example.test")
	if len(mails) != 1 {
		t.Fatalf("%d mails", len(mails))
	}
	link, err := url.Parse(mails[0].Link)
	if err != nil {
		t.Fatal(err)
	}
	if res := w.send("GET", "/verify?"+link.RawQuery, "", nil); !strings.Contains(res.Header.Get("Location"), "#access_token=") {
		t.Fatalf("the link led to %s", res.Header.Get("Location"))
	}
	w.signIn("grace@example.test", "grace-password")
}

func TestRedirectPatterns(t *testing.T) {
	t.Parallel()
	a := &authServer{cfg: authConfig{siteURL: "https://app.example.test/portal", allowList: []string{
		"https://gw.example.test/callback", "https://*.preview.example.test/cb", "https://deep.example.test/**"}}}
	for raw, want := range map[string]bool{
		"https://app.example.test/anything?x=1":   true,
		"https://app.example.test:8443/":          false,
		"http://app.example.test/":                false,
		"http://127.0.0.1:4000/cb":                true,
		"http://[::1]/cb":                         true,
		"http://localhost:4000/cb":                false,
		"http://192.0.2.7/cb":                     false,
		"https://gw.example.test/callback":        true,
		"https://gw.example.test/callback?tx=1":   false,
		"https://one.preview.example.test/cb":     true,
		"https://one.two.preview.example.test/cb": false,
		"https://deep.example.test/a/b?c=d":       true,
		"https://deep.example.test":               false,
		"https://deep.example.test.evil.test/a":   false,
		"no url":                                  false,
	} {
		if got := a.redirectAllowed(raw); got != want {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
	}
}
