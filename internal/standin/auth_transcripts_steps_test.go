package standin

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	loopbackCallback = "http://127.0.0.1:33418/callback"
	webCallback      = "https://client.example.test/cb"
	cursorCallback   = "cursor://anysphere.cursor-mcp/oauth/callback"
	resourceURL      = "https://gateway.example.test/mcp/ref"
	alice, bob       = "alice@example.test", "bob@example.test"
)

// The clients of the recordings, by the number they were given.
const (
	publicClient, basicClient, postClient, cursorClient, noRefreshClient, doomedClient = 8, 10, 11, 12, 20, 67
)

func uuidNo(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func verifierNo(n int) string {
	return (fmt.Sprintf("code-verifier-%d-", n) + strings.Repeat("x", 43))[:43]
}

func authorizationNo(n int) string {
	return (fmt.Sprintf("authorizationid%d", n) + strings.Repeat("0", 32))[:32]
}

func refreshNo(n int) string { return fmt.Sprintf("rtoken%06d", n) }

func refreshV2No(n int) string {
	return (fmt.Sprintf("refresh-token-v2-%d-", n) + strings.Repeat("x", 51))[:51]
}

func newReplay(t *testing.T) *replay {
	rp := &replay{vars: map[string]string{}, session: map[string]tokens{}, special: map[string]func() []string{}, before: map[string]func(){}}
	rp.authWorld = newAuthWorld(t, func(cfg *authConfig) {
		cfg.allowList = []string{"https://gateway.example.test/**"}
		cfg.mailInterval = time.Second
		cfg.oauthEnabled, cfg.registrationEnabled = &atomic.Bool{}, &atomic.Bool{}
		cfg.oauthEnabled.Store(true)
		cfg.registrationEnabled.Store(true)
		cfg.providers = map[string]externalProvider{"keycloak": {
			url:      "https://idp.example.test/realms/lab/protocol/openid-connect/auth",
			clientID: "lab", exchange: labIdentity,
		}}
	})
	rp.vars["<anon-key>"], rp.vars["<service-role-key>"] = rp.anon, rp.svc
	rp.consentSteps()
	rp.tokenSteps()
	rp.sessionSteps()
	rp.signInSteps()
	rp.keySteps()
	rp.optionSteps()
	rp.concurrentSteps()
	rp.consentFactorSteps()
	rp.factorSteps()
	rp.factorLimitSteps()
	rp.captchaSteps()
	rp.confirmationSteps()
	rp.recoverySteps()
	rp.switchedOffSteps()
	return rp
}

// labIdentity is the provider of the recordings; its code is a name.
func labIdentity(code string) (externalIdentity, error) {
	name := strings.ToUpper(code[:1]) + code[1:]
	return externalIdentity{subject: "kc-" + code, email: code + "@example.test", emailVerified: true,
		accessToken: "provider-token", refreshToken: "provider-refresh",
		claims: map[string]any{"name": name, "full_name": name, "iss": "https://idp.example.test/realms/lab",
			"custom_claims": map[string]any{"groups": []any{"lab"}}}}, nil
}

// flow is a request of a recorded client with the usual parameters.
func (rp *replay) flow(client int, scope string, verifier int) flow {
	redirects := map[int]string{publicClient: loopbackCallback, basicClient: webCallback, postClient: webCallback,
		cursorClient: cursorCallback, noRefreshClient: "http://localhost:7777/cb", doomedClient: loopbackCallback}
	return flow{client: rp.vars[uuidNo(client)], redirect: redirects[client], scope: scope, state: "xyz-123",
		verifier: verifierNo(verifier), extra: url.Values{"resource": {resourceURL}}}
}

// basicAuth makes the Basic header of the recordings that of a client.
func (rp *replay) basicAuth(client int) {
	id := rp.vars[uuidNo(client)]
	pair := id + ":" + rp.auth.state.clients[id].secret
	rp.vars["<base64(client_id:client_secret)>"] = base64.StdEncoding.EncodeToString([]byte(pair))
	rp.vars["<base64(client_id:wrong-secret)>"] = base64.StdEncoding.EncodeToString([]byte(id + ":wrong"))
}

func (rp *replay) aliceSignsIn() string { return rp.signIn(alice, "alice-password").access }

func (rp *replay) consentSteps() {
	authorizeAs := func(name string, n, client int, scope string, change func(*flow)) {
		rp.before[name] = func() {
			f := rp.flow(client, scope, 1)
			if change != nil {
				change(&f)
			}
			rp.vars[authorizationNo(n)] = rp.authorize(f)
		}
	}
	rp.before["d01-get-authorization-no-auth"] = func() {
		rp.vars["<jwt-3>"] = rp.aliceSignsIn()
		rp.vars["<jwt-4>"] = rp.signIn(bob, "bob-password").access
		rp.vars[authorizationNo(30)] = rp.authorize(rp.flow(publicClient, "openid email", 1))
	}
	authorizeAs("d14-auto-approve-on-prior-consent", 33, publicClient, "openid email", nil)
	authorizeAs("d15-auto-approve-narrower-scope", 36, publicClient, "email", nil)
	authorizeAs("d16-wider-scope-needs-consent", 39, publicClient, "openid email profile", nil)
	authorizeAs("d19-auto-approve-ignores-resource-and-prompt", 42, publicClient, "openid email", func(f *flow) {
		f.extra = url.Values{"resource": {"https://elsewhere.example.test/mcp"}, "prompt": {"consent"}}
	})
	authorizeAs("d21-get-custom-scheme", 45, cursorClient, "openid email", func(f *flow) { f.state = "st ate&=+/?" })
	authorizeAs("d23-get-client-without-uris", 48, postClient, "openid email", func(f *flow) { f.state = "" })
	rp.before["d25-get-expired"] = func() {
		rp.vars[authorizationNo(51)] = rp.authorize(rp.flow(postClient, "openid email", 1))
		rp.advance(11 * time.Minute)
	}
	authorizeAs("d27-get-with-loopback-origin", 54, basicClient, "openid email", nil)
	rp.before["d32-grants-list-none"] = func() {
		rp.signUp("heidi@example.test", "heidi-password")
		rp.vars["<jwt-5>"] = rp.signIn("heidi@example.test", "heidi-password").access
	}
	authorizeAs("d37-get-public-client-resource-offline-access", 70, noRefreshClient, "openid email offline_access", nil)
	rp.before["d40-other-scope-needs-consent"] = func() {
		rp.signUp("dave@example.test", "dave-password")
		rp.vars["<jwt-6>"] = rp.signIn("dave@example.test", "dave-password").access
		rp.allow(rp.authorize(rp.flow(basicClient, "openid email", 1)), rp.vars["<jwt-6>"])
		rp.vars[authorizationNo(61)] = rp.authorize(rp.flow(basicClient, "profile", 1))
	}
	rp.before["d41-first-scopes-ask-again-after-other-approval"] = func() {
		rp.allow(rp.vars[authorizationNo(61)], rp.vars["<jwt-6>"])
		rp.vars[authorizationNo(64)] = rp.authorize(rp.flow(basicClient, "openid email", 1))
	}
}

// codeFor makes alice give a client a code before the case, under its
// recorded number.
func (rp *replay) codeFor(name string, code, verifier, client int, scope string, change func(*flow)) {
	rp.before[name] = func() {
		f := rp.flow(client, scope, verifier)
		if change != nil {
			change(&f)
		}
		rp.vars[uuidNo(code)] = rp.allow(rp.authorize(f), rp.aliceSignsIn())
	}
}

// alsoBefore adds a step to the ones there are.
func (rp *replay) alsoBefore(name string, step func()) {
	first := rp.before[name]
	rp.before[name] = func() {
		if first != nil {
			first()
		}
		step()
	}
}

func (rp *replay) tokenSteps() {
	const usual = "openid email"
	rp.codeFor("e01-code-wrong-verifier", 30, 106, publicClient, usual, nil)
	rp.codeFor("e08-code-mismatched-resource-form-ignored", 32, 110, publicClient, usual, nil)
	rp.codeFor("e09-code-mismatched-resource-json", 34, 114, publicClient, usual, nil)
	rp.codeFor("e11-code-exchange-without-redirect-uri", 36, 118, publicClient, usual, nil)
	rp.codeFor("e12-basic-client-using-post", 38, 122, basicClient, usual, nil)
	rp.before["e14-basic-client-wrong-secret"] = func() { rp.basicAuth(basicClient) }
	rp.codeFor("e16-post-client-using-basic", 40, 128, postClient, usual, nil)
	rp.alsoBefore("e16-post-client-using-basic", func() { rp.basicAuth(postClient) })
	rp.codeFor("e29-expired-code", 42, 133, publicClient, usual, nil)
	rp.alsoBefore("e29-expired-code", func() { rp.advance(11 * time.Minute) })
	rp.codeFor("e30-exchange-scope-email-no-id-token", 43, 136, publicClient, "email", nil)
	rp.codeFor("e31-exchange-default-scope", 45, 140, publicClient, "", nil)
	rp.codeFor("e32-exchange-all-scopes-nonce", 47, 144, publicClient, "openid profile phone email offline_access",
		func(f *flow) { f.extra.Set("nonce", "n-0S6_WzA2Mj") })
	rp.codeFor("e33-exchange-openid-only", 49, 148, publicClient, "openid", nil)
	rp.codeFor("e34-exchange-plain-pkce", 51, 152, publicClient, usual, func(f *flow) {
		f.extra.Set("code_challenge", f.verifier)
		f.extra.Set("code_challenge_method", "plain")
	})
	rp.codeFor("e35-exchange-authorization-code-only-client", 53, 155, noRefreshClient, usual, nil)
	rp.codeFor("e57-token-with-anon-bearer-header", 59, 190, publicClient, usual, nil)
	rp.codeFor("e58-lowercase-basic-scheme", 61, 194, basicClient, usual, nil)
	rp.alsoBefore("e58-lowercase-basic-scheme", func() { rp.basicAuth(basicClient) })

	rp.before["e48-plain-session-refresh-token-at-oauth-endpoint"] = func() {
		rp.vars[refreshNo(161)] = rp.signIn(bob, "bob-password").refresh
	}
	rp.before["e49-refresh-confidential-basic"] = func() { rp.basicAuth(basicClient) }
	generations := func() (a, b, c tokens) {
		client := rp.vars[uuidNo(publicClient)]
		a = rp.connect(rp.flow(publicClient, usual, 1), rp.aliceSignsIn())
		b = rp.refreshOAuth(client, a.refresh)
		return a, b, rp.refreshOAuth(client, b.refresh)
	}
	rp.before["e50-refresh-grandparent-outside-reuse-interval"] = func() {
		a, _, c := generations()
		rp.vars[refreshNo(166)], rp.vars[refreshNo(168)] = a.refresh, c.refresh
		rp.advance(11 * time.Second)
	}
	rp.before["e52-active-refresh-token-later-after-family-revocation"] = func() {
		a, _, c := generations()
		rp.vars[refreshNo(175)], rp.vars["<jwt-35>"] = c.refresh, c.access
		rp.advance(11 * time.Second)
		rp.send("POST", "/oauth/token", "", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {a.refresh},
			"client_id": {rp.vars[uuidNo(publicClient)]}})
		rp.advance(11 * time.Second)
	}
	rp.before["e54-refresh-parent-of-active-a-day-later"] = func() {
		a := rp.connect(rp.flow(publicClient, usual, 1), rp.aliceSignsIn())
		rp.vars[refreshNo(179)] = a.refresh
		rp.vars[refreshNo(180)] = rp.refreshOAuth(rp.vars[uuidNo(publicClient)], a.refresh).refresh
		rp.advance(24 * time.Hour)
	}
}

// connectAlice makes a session of alice at the public client and keeps it
// under the recorded numbers; 0 keeps nothing.
func (rp *replay) connectAlice(jwt, refresh int) tokens {
	got := rp.connect(rp.flow(publicClient, "openid email", 1), rp.signIn(alice, rp.alicePassword()).access)
	rp.keep(got, jwt, refresh)
	return got
}

func (rp *replay) keep(got tokens, jwt, refresh int) {
	if jwt != 0 {
		rp.vars[fmt.Sprintf("<jwt-%d>", jwt)] = got.access
	}
	if refresh != 0 {
		rp.vars[refreshNo(refresh)] = got.refresh
	}
}

// alicePassword follows the recordings, in which her OAuth client changes it.
func (rp *replay) alicePassword() string {
	p, err := rp.auth.people.byEmail(rp.t.Context(), alice)
	if err != nil {
		rp.t.Fatal(err)
	}
	if p.passwordIs("alice-password") {
		return "alice-password"
	}
	return "alice-password-x"
}

func (rp *replay) sessionSteps() {
	plain := func(jwt int) func() {
		return func() { rp.keep(rp.signIn(alice, rp.alicePassword()), jwt, 0) }
	}
	scoped := func(jwt int, scope string) func() {
		return func() { rp.keep(rp.connect(rp.flow(publicClient, scope, 1), rp.aliceSignsIn()), jwt, 0) }
	}
	rp.before["f01-userinfo-openid-email"] = scoped(39, "openid email")
	rp.before["f02-userinfo-openid-only"] = scoped(40, "openid")
	rp.before["f03-userinfo-all"] = func() {
		rp.must("PUT", "/user", rp.aliceSignsIn(), map[string]any{"data": map[string]any{"name": "Alice Example",
			"avatar_url": "https://img.example.test/a.png", "preferred_username": "alice"}})
		scoped(41, "openid profile email phone")()
	}
	rp.before["f04-userinfo-plain-session-token"] = plain(42)
	rp.before["f10-oauth-token-get-user"] = scoped(43, "email")
	rp.before["f14-oauth-token-on-consent-api"] = func() {
		rp.vars[authorizationNo(215)] = rp.authorize(rp.flow(cursorClient, "openid email", 1))
	}
	rp.before["f15-oauth-token-approves-another-client"] = func() {
		bearer := rp.vars["<jwt-43>"]
		for _, client := range []int{cursorClient, noRefreshClient, postClient, basicClient} {
			rp.must("DELETE", "/user/oauth/grants?client_id="+rp.vars[uuidNo(client)], bearer, nil)
		}
		rp.vars[authorizationNo(218)] = rp.authorize(rp.flow(cursorClient, "openid email", 1))
		rp.must("GET", "/oauth/authorizations/"+rp.vars[authorizationNo(218)], bearer, nil)
	}
	rp.before["f20-user-before-grant-revocation"] = func() {
		plain(45)()
		rp.connectAlice(44, 225)
		rp.vars[uuidNo(65)] = rp.allow(rp.authorize(rp.flow(publicClient, "openid email", 227)), rp.vars["<jwt-45>"])
	}
	rp.before["f30-logout-local-with-oauth-token"] = func() {
		rp.connectAlice(48, 233)
		rp.connectAlice(49, 0)
	}
	rp.before["f34-logout-others-with-plain-token"] = plain(50)
	rp.before["f36-logout-global-default"] = func() { rp.connectAlice(51, 242) }
	rp.before["f40-consent-survives-global-logout"] = plain(52)
	rp.before["f42-global-logout-called-with-an-oauth-token"] = func() {
		plain(54)()
		rp.connectAlice(53, 0)
	}
	rp.before["f43b-oauth-session-after-first-party-local-logout"] = func() {
		first := rp.signIn(alice, rp.alicePassword()).access
		rp.keep(rp.connect(rp.flow(publicClient, "openid email", 1), first), 55, 0)
		rp.must("POST", "/logout?scope=local", first, nil)
	}
	rp.before["f44-user-after-client-deleted"] = func() {
		made := rp.must("POST", "/oauth/clients/register", "", map[string]any{
			"redirect_uris": []string{loopbackCallback}, "token_endpoint_auth_method": "none"})
		rp.vars[uuidNo(doomedClient)], _ = made["client_id"].(string)
		plain(57)()
		rp.keep(rp.connect(rp.flow(doomedClient, "openid email", 1), rp.vars["<jwt-57>"]), 56, 261)
		rp.must("DELETE", "/admin/oauth/clients/"+rp.vars[uuidNo(doomedClient)], rp.svc, nil)
	}
	rp.before["f49-oauth-session-after-password-change"] = func() {
		rp.connectAlice(58, 0)
		rp.must("PUT", "/user", rp.signIn(alice, "alice-password-x").access, map[string]any{"password": "alice-password"})
	}
	rp.before["f51-user-banned"] = func() {
		rp.signUp("erin@example.test", "erin-password-1")
		bearer := rp.signIn("erin@example.test", "erin-password-1").access
		rp.keep(rp.connect(rp.flow(publicClient, "openid email", 1), bearer), 59, 269)
		rp.exec("update auth.users set banned_until = $1 where email = 'erin@example.test'", rp.tick().Add(24*time.Hour))
	}
	rp.before["f54-user-deleted"] = func() { rp.exec("delete from auth.users where email = 'erin@example.test'") }
}
