package demo

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

const listCustomers = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"customers_list","arguments":{"limit":5}}}`

// bridged is a world with one project whose bridge surface is published.
func bridged(t *testing.T, o standin.Options) (*world, *tenant) {
	t.Helper()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", o)
	p.importSchema()
	p.publish(bridgeFile(t))
	return w, p
}

// signedIn is a client of its own that a person has allowed at a surface.
func signedIn(t *testing.T, w *world, mcp, email string) *dance {
	t.Helper()
	return signedInFor(t, w, mcp, email, "crm.read crm.write")
}

// signedInFor is signedIn for the scopes that the client asks for.
func signedInFor(t *testing.T, w *world, mcp, email, scopes string) *dance {
	t.Helper()
	d := &dance{t: t, w: w, mcp: mcp, who: personOf(t, email, standin.CRMPassword)}
	d.challenge(http.MethodGet, nil, "") // a POST may go on as public
	d.discover(nil)
	d.register(map[string]any{"client_name": "Client of " + email, "redirect_uris": []string{callbackURL}, "token_endpoint_auth_method": "none"})
	d.exchange("", d.code(d.authorize(callbackURL, "scope", scopes)))
	return d
}

func (d *dance) list(h http.Header) reply {
	d.t.Helper()
	return sendRaw(d.t, http.MethodPost, d.mcp, d.access, h, listCustomers)
}

func (d *dance) refreshed() reply {
	d.t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {d.refresh}, "client_id": {d.client}}
	return sendRaw(d.t, http.MethodPost, d.endpoint("token_endpoint"), "", headers("Content-Type", "application/x-www-form-urlencoded"), form.Encode())
}

// TestTokensAreWorthNothingElsewhere: a token of one surface at another of the
// same project, of one organization at another's surface, the project's own at
// the bridge, and the bridge's at the project.
func TestTokensAreWorthNothingElsewhere(t *testing.T) {
	t.Parallel()
	w, p := bridged(t, standin.Options{})
	second := p.publishAs("second", bridgeFile(t))
	direct := p.publishAs("direct", demoFile(t))
	other := w.tenant(t, "Globex builders", "globex", standin.Options{})
	other.importSchema()
	theirs := other.publish(bridgeFile(t))
	alice := signedIn(t, w, p.mcp, standin.AliceEmail)
	if r := alice.list(nil); !strings.Contains(r.body, "Acme") {
		t.Fatalf("at home: %d %s", r.status, r.body)
	}
	for name, target := range map[string]string{"another surface": second, "a direct surface": direct, "another organization": theirs} {
		if r := sendRaw(t, http.MethodPost, target, alice.access, nil, listCustomers); r.status != http.StatusUnauthorized || strings.Contains(r.body, "Acme") {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	project := p.signIn(standin.AliceEmail).AccessToken
	if r := sendRaw(t, http.MethodPost, p.mcp, project, nil, listCustomers); r.status != http.StatusUnauthorized {
		t.Errorf("the project's token at the bridge: %d %s", r.status, r.body)
	}
	r := sendRaw(t, http.MethodGet, p.URL()+"/rest/v1/customers?select=name", alice.access, headers("Apikey", p.PublishableKey()), "")
	if r.status != http.StatusUnauthorized {
		t.Errorf("the bridge's token at the project: %d %s", r.status, r.body)
	}
	// No answer of the bridge shows the project's own tokens.
	if strings.Contains(alice.access, project) || claim(t, alice.access, "role") != "" || claim(t, alice.access, "session_id") != "" {
		t.Error("the bridge's token carries the project's")
	}
}

// TestCallbackWithoutTheCookieSpendsNothing: the address that the project sends
// Alice's browser back to is opened in another browser first.
func TestCallbackWithoutTheCookieSpendsNothing(t *testing.T) {
	t.Parallel()
	w, p := bridged(t, standin.Options{})
	d := &dance{t: t, w: w, mcp: p.mcp, who: personOf(t, standin.AliceEmail, standin.CRMPassword)}
	d.challenge(http.MethodPost, nil, initializeProbe)
	d.discover(nil)
	d.register(map[string]any{"client_name": "Client", "redirect_uris": []string{callbackURL}, "token_endpoint_auth_method": "none"})
	verifier := oauth2.GenerateVerifier()
	start := d.endpoint("authorization_endpoint") + "?" + url.Values{
		"response_type": {"code"}, "client_id": {d.client}, "redirect_uri": {callbackURL}, "state": {"s"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	}.Encode()
	back, err := d.who.walk(t.Context(), start, func(next string) bool { return strings.Contains(next, "/connect/callback?") })
	if err != nil {
		t.Fatal(err)
	}
	mallory := personOf(t, standin.BobEmail, standin.CRMPassword)
	if r := mallory.get(t, back); r.header.Get("Location") != "" || !strings.Contains(r.body, "Start again") {
		t.Fatalf("in another browser: %d %v %s", r.status, r.header, r.body)
	}
	end, err := d.who.walk(t.Context(), back, func(next string) bool { return strings.HasPrefix(next, callbackURL) })
	if err != nil {
		t.Fatalf("in its own browser afterwards: %v", err)
	}
	if !strings.Contains(end, "code=") {
		t.Errorf("ended at %s", end)
	}
	if r := d.who.get(t, back); strings.Contains(r.header.Get("Location"), "code=") {
		t.Error("a callback can be used twice")
	}
}

// TestRememberedConsentIsForWebRedirectsOnly: what Alice allowed before is not
// asked again for an https callback, and always for one that any program on
// her computer, or any app, could listen at.
func TestRememberedConsentIsForWebRedirectsOnly(t *testing.T) {
	t.Parallel()
	w, p := bridged(t, standin.Options{})
	for callback, remembered := range map[string]bool{
		"https://app.example.test/callback": true, callbackURL: false, "http://localhost:3118/cb": false, "cursor://anysphere.cursor-mcp/oauth/callback": false,
	} {
		t.Run(callback, func(t *testing.T) {
			d := &dance{t: t, w: w, mcp: p.mcp, who: personOf(t, standin.AliceEmail, standin.CRMPassword)}
			d.challenge(http.MethodPost, nil, initializeProbe)
			d.discover(nil)
			d.register(map[string]any{"client_name": "Remembered", "redirect_uris": []string{callback}, "token_endpoint_auth_method": "none"})
			asked := func(more ...string) bool {
				d.who.pages = nil
				d.authorize(callback, more...)
				return strings.Contains(strings.Join(d.who.pages, " "), "/connect/consent/")
			}
			if !asked("scope", "crm.read") {
				t.Fatal("the first time was not asked")
			}
			if asked("scope", "crm.read") == remembered {
				t.Errorf("the second time: remembered %v, want %v", !remembered, remembered)
			}
			if !asked("scope", "crm.read crm.write") {
				t.Error("more scopes were not asked about")
			}
			if !asked("scope", "crm.read crm.write", "prompt", "consent") {
				t.Error("prompt=consent was not asked")
			}
		})
	}
}

// TestNothingRedirectsToWhatWasNotRegistered, whatever the request looks like.
func TestNothingRedirectsToWhatWasNotRegistered(t *testing.T) {
	t.Parallel()
	w, p := bridged(t, standin.Options{})
	d := &dance{t: t, w: w, mcp: p.mcp, who: personOf(t, standin.AliceEmail, standin.CRMPassword)}
	d.challenge(http.MethodPost, nil, initializeProbe)
	d.discover(nil)
	for _, uri := range []string{"javascript:alert(1)", "data:text/html,x", "http://evil.example.test/cb", "https://user@app.example.test/cb", "https://app.example.test/cb#x"} {
		r := sendRaw(t, http.MethodPost, d.endpoint("registration_endpoint"), "", nil, `{"redirect_uris":["`+uri+`"],"token_endpoint_auth_method":"none"}`)
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, "invalid_redirect_uri") {
			t.Errorf("register %s: %d %s", uri, r.status, r.body)
		}
	}
	d.register(map[string]any{"client_name": "Client", "redirect_uris": []string{"https://app.example.test/cb"}, "token_endpoint_auth_method": "none"})
	for _, uri := range []string{
		"https://app.example.test/cb/", "https://app.example.test/cb?x=1", "https://app.example.test.evil.example.test/cb", "https://evil.example.test/cb",
		"//evil.example.test/cb", "https://app.example.test:8443/cb", "https://app.example.test/cb/../x", "javascript:alert(1)", "https://APP.example.test/cb",
	} {
		query := url.Values{"response_type": {"code"}, "client_id": {d.client}, "redirect_uri": {uri}, "code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"}}
		for _, extra := range []string{"", "&prompt=none", "&response_type=token"} {
			r := d.who.get(t, d.endpoint("authorization_endpoint")+"?"+query.Encode()+extra)
			if r.header.Get("Location") != "" || r.status != http.StatusBadRequest || !strings.Contains(r.header.Get("Content-Type"), "text/html") {
				t.Errorf("%s%s: %d to %q", uri, extra, r.status, r.header.Get("Location"))
			}
		}
	}
	for _, target := range []string{"/connect/callback?next=https://evil.example.test", "/connect/complete/x?h=//evil.example.test", "/connect/sign-in/x?return_to=https://evil.example.test"} {
		if r := d.who.get(t, w.url+target); strings.Contains(r.header.Get("Location"), "evil") {
			t.Errorf("%s goes to %s", target, r.header.Get("Location"))
		}
	}
}

// TestConfidentialClientsShareNothing: somebody who registers the very same
// metadata gets an id and a secret of their own.
func TestConfidentialClientsShareNothing(t *testing.T) {
	t.Parallel()
	w, p := bridged(t, standin.Options{})
	metadata := map[string]any{"client_name": "Backend", "redirect_uris": []string{"https://app.example.test/cb"}, "token_endpoint_auth_method": "client_secret_post"}
	alice := &dance{t: t, w: w, mcp: p.mcp, who: personOf(t, standin.AliceEmail, standin.CRMPassword)}
	alice.challenge(http.MethodPost, nil, initializeProbe)
	alice.discover(nil)
	alice.register(metadata)
	mallory := alice.again()
	mallory.as = alice.as
	mallory.register(metadata)
	if alice.client == mallory.client || alice.secret == mallory.secret {
		t.Fatal("two registrations share a client")
	}
	code := alice.authorize("https://app.example.test/cb", "scope", "crm.read")
	for name, form := range map[string]url.Values{
		"another client's credentials": alice.code(code, "client_id", mallory.client, "client_secret", mallory.secret),
		"another client's secret":      alice.code(code, "client_secret", mallory.secret),
		"no secret":                    alice.code(code),
	} {
		r := sendRaw(t, http.MethodPost, alice.endpoint("token_endpoint"), "", headers("Content-Type", "application/x-www-form-urlencoded"), form.Encode())
		if r.status == http.StatusOK {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	alice.exchange("", alice.code(code, "client_secret", alice.secret))
	alice.call("backend", "2025-11-25", "2025-11-25")
}

// TestRefreshTokensOfOlderGenerationsEndTheGrant, and a lost answer does not.
func TestRefreshTokensOfOlderGenerationsEndTheGrant(t *testing.T) {
	t.Parallel()
	w, p := bridged(t, standin.Options{})
	d := signedIn(t, w, p.mcp, standin.AliceEmail)
	first := d.refresh
	next := func() string {
		t.Helper()
		r := d.refreshed()
		var answer struct {
			RefreshToken string `json:"refresh_token"`
			AccessToken  string `json:"access_token"`
		}
		if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), &answer) != nil {
			t.Fatalf("refresh: %d %s", r.status, r.body)
		}
		d.access = answer.AccessToken
		return answer.RefreshToken
	}
	second := next()
	if again := next(); again != second {
		t.Fatal("a repetition within a minute got another refresh token")
	}
	d.refresh = second
	third := next()
	d.refresh = first
	if r := d.refreshed(); r.status != http.StatusBadRequest || !strings.Contains(r.body, "invalid_grant") {
		t.Fatalf("an older token: %d %s", r.status, r.body)
	}
	d.refresh = third
	if r := d.refreshed(); !strings.Contains(r.body, "invalid_grant") {
		t.Errorf("the newest token after that: %d %s", r.status, r.body)
	}
	w.await(t, func() bool { return d.list(nil).status == http.StatusUnauthorized })
}

// TestRevokeBitesOnARunningCall: Alice's call hangs in her project when her
// grant is taken away; Bob's, in the same place, goes on.
func TestRevokeBitesOnARunningCall(t *testing.T) {
	t.Parallel()
	w, p := bridged(t, standin.Options{})
	alice, bob := signedIn(t, w, p.mcp, standin.AliceEmail), signedIn(t, w, p.mcp, standin.BobEmail)
	var held atomic.Int32
	release := make(chan struct{})
	p.Intercept(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/rest/v1/customers") {
				held.Add(1)
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
			next.ServeHTTP(rw, r)
		})
	})
	answers := map[string]chan reply{"alice": make(chan reply, 1), "bob": make(chan reply, 1)}
	go func() { answers["alice"] <- alice.list(nil) }()
	go func() { answers["bob"] <- bob.list(nil) }()
	w.await(t, func() bool { return held.Load() == 2 })
	if n := w.exec(t, "update chumbo.grants set revoked_at = now(), revoked_why = 'by_user' where client_id = $1", alice.client); n != 1 {
		t.Fatalf("%d grants", n)
	}
	select {
	case r := <-answers["alice"]:
		if r.status != http.StatusUnauthorized || !strings.Contains(r.header.Get("WWW-Authenticate"), "invalid_token") {
			t.Errorf("the running call: %d %s", r.status, r.body)
		}
	case <-time.After(10 * time.Second):
		t.Error("the running call goes on")
	}
	close(release)
	if r := <-answers["bob"]; !strings.Contains(r.body, "Globex") {
		t.Errorf("Bob's call: %d %s", r.status, r.body)
	}
	if r := alice.refreshed(); r.status != http.StatusBadRequest || !strings.Contains(r.body, "invalid_grant") {
		t.Errorf("refresh after the revocation: %d %s", r.status, r.body)
	}
}

// TestOneRefreshUpstreamHoweverManyCalls: fifty calls of one grant when the
// project's token has expired, on one server and on two.
func TestOneRefreshUpstreamHoweverManyCalls(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 2} {
		t.Run(map[int]string{1: "one server", 2: "two servers"}[servers], func(t *testing.T) {
			t.Parallel()
			w, p := bridged(t, standin.Options{})
			bases := []string{strings.TrimPrefix(w.url, "http://")}
			if servers == 2 {
				bases = append(bases, w.another(t))
			}
			d := signedIn(t, w, p.mcp, standin.AliceEmail)
			w.advance(p, 61*time.Minute)
			r := d.refreshed()
			var answer struct {
				AccessToken string `json:"access_token"`
			}
			if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), &answer) != nil {
				t.Fatalf("refresh: %d %s", r.status, r.body)
			}
			d.access = answer.AccessToken
			w.advance(p, 9*time.Minute)
			w.exec(t, "update chumbo.upstream_sessions set access_until = now() - interval '1 day', version = version + 1") // as if its time were over, everywhere
			before := p.Refreshes()
			var group sync.WaitGroup
			statuses := make([]int, 50)
			for i := range statuses {
				group.Add(1)
				go func() {
					defer group.Done()
					statuses[i] = listAt(t, bases[i%len(bases)], strings.TrimPrefix(w.url, "http://"), d)
				}()
			}
			group.Wait()
			for i, status := range statuses {
				if status != http.StatusOK {
					t.Errorf("call %d: %d", i, status)
				}
			}
			if n := p.Refreshes() - before; n != 1 {
				t.Errorf("%d refreshes upstream, want 1", n)
			}
		})
	}
}

// listAt calls a tool at one of several servers of the instance.
func listAt(t *testing.T, address, host string, d *dance) int {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	u, err := url.Parse(d.mcp)
	if err != nil {
		t.Error(err)
		return 0
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+u.Path, strings.NewReader(listCustomers))
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Host = host
	req.Header = headers("Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Authorization", "Bearer "+d.access)
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(body), "Acme") {
		t.Errorf("%d %s %v", res.StatusCode, body, err)
	}
	return res.StatusCode
}

// another starts a second server of the instance and returns where it listens.
func (w *world) another(t *testing.T) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server, err := w.replica(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("second server: %v", err)
		}
		if err := server.Close(context.Background()); err != nil {
			t.Errorf("close the second server: %v", err)
		}
	})
	return listener.Addr().String()
}

// TestField47_NoAgentIsTurnedAway: clients are told apart by nothing they
// cannot help sending.
func TestField47_NoAgentIsTurnedAway(t *testing.T) {
	t.Parallel()
	w, p := bridged(t, standin.Options{})
	d := signedIn(t, w, p.mcp, standin.AliceEmail)
	for _, agent := range []string{"Claude-User", "python-httpx/0.28.1", "Python/3.12 aiohttp/3.13.5", "", "curl/8"} {
		if r := d.list(headers("User-Agent", agent)); r.status != http.StatusOK {
			t.Errorf("%q: %d", agent, r.status)
		}
	}
}
