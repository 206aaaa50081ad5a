package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

func (rp *replay) signInSteps() {
	rp.before["g13-refresh"] = func() { rp.vars[refreshNo(271)] = rp.signIn(alice, "alice-password").refresh }
	rp.before["g15-refresh-already-used"] = func() {
		rp.must("POST", "/token?grant_type=refresh_token", "", map[string]string{"refresh_token": rp.vars[refreshNo(272)]})
		rp.advance(11 * time.Second)
	}
	rp.vars["<refresh_token-275>"], rp.vars["<refresh_token-325>"] = "short", "not-a-token"
	rp.before["g20-user"] = func() { rp.vars["<jwt-63>"] = rp.aliceSignsIn() }

	for _, name := range []string{"external", "magiclink"} {
		verifier := ("code-verifier-" + name + strings.Repeat("x", 43))[:43]
		rp.vars[("code-challenge-" + name + strings.Repeat("x", 43))[:43]] = challengeOf(verifier)
	}
	rp.vars["<provider-code>"] = "carol"
	rp.before["g38-pkce-exchange-expired"] = func() { rp.advance(6 * time.Minute) }
	rp.before["g51-external-alice-links-by-email-2-callback"] = func() { rp.vars["<provider-code>"] = "alice" }

	rp.before["h05-otp-magic-link-implicit"] = func() { rp.advance(2 * time.Second) }
	rp.before["h06-verify-get-implicit"] = func() {
		mails := rp.auth.mailsTo(alice)
		link, err := url.Parse(mails[len(mails)-1].Link)
		if err != nil {
			rp.t.Fatal(err)
		}
		rp.vars["<hashed-token-56-hex>"] = link.Query().Get("token")
	}
	rp.before["h08-otp-too-soon-429"] = func() { rp.must("POST", "/otp", "", map[string]string{"email": bob}) }
	another := func() {
		made := rp.must("POST", "/admin/generate_link", rp.svc, map[string]string{"type": "magiclink", "email": alice})
		rp.vars["<hashed_token>"], _ = made["hashed_token"].(string)
		rp.vars["<email_otp>"], _ = made["email_otp"].(string)
	}
	rp.before["h17-verify-token-hash"] = another
	rp.before["h18-verify-otp-expired"] = func() {
		another()
		rp.advance(48 * time.Hour)
	}
	rp.vars["<1100000 characters>"] = strings.Repeat("a", 1_100_000)
}

func (rp *replay) keySteps() {
	cfg := &rp.auth.cfg
	keys := cfg.keys
	off := func() {
		oauth, registration := rp.switches()
		oauth(false)
		registration(false)
	}
	rp.before["i01-dcr-disabled"] = func() {
		_, registration := rp.switches()
		registration(false)
	}
	rp.before["i03-oauth-server-disabled-oauth-as-metadata"] = off
	rp.before["i08-authorization-path-not-configured"] = func() {
		oauth, registration := rp.switches()
		oauth(true)
		registration(true)
		cfg.authorizationPath = ""
	}
	rp.before["i09-site-url-with-path-and-authorization-path-with-query"] = func() {
		cfg.siteURL, cfg.authorizationPath = "https://app.example.test/portal/", "consent?lang=en"
	}
	var current *signingKey
	rp.before["i10-hs256-only-jwks"] = func() {
		cfg.siteURL, cfg.authorizationPath = "https://app.example.test", "/oauth/consent"
		current, keys.current = keys.current, nil
	}
	rp.codeFor("i12-hs256-only-openid-scope-exchange-fails", 96, 312, publicClient, "openid email", nil)
	rp.codeFor("i14-hs256-only-email-scope-exchange", 99, 315, publicClient, "email", nil)
	rp.before["i20-jwks-current-and-standby"] = func() {
		keys.current = current
		if err := keys.addStandby(); err != nil {
			rp.t.Fatal(err)
		}
	}
	rp.before["i21-jwks-after-rotation"] = func() {
		rp.vars["<jwt-73>"] = rp.aliceSignsIn()
		keys.rotate()
	}
	forged := func(name string, o TokenOptions) func() {
		return func() {
			token, err := rp.auth.accessToken(alice, o)
			if err != nil {
				rp.t.Fatal(err)
			}
			rp.vars[name] = token
		}
	}
	rp.before["i25-token-of-another-issuer-same-key"] = forged("<jwt-75>", TokenOptions{Claims: map[string]any{"iss": "https://other.example.test/auth/v1"}})
	rp.before["i26-jwks-after-revocation"] = keys.dropOld
	rp.before["i28-hs256-token-when-secret-not-trusted"] = keys.dropSecret
	rp.before["i30-expired-access-token"] = forged("<jwt-76>", TokenOptions{Lifetime: -time.Minute})
	rp.before["i31-unknown-kid"] = func() {
		other, err := newKeyring(SigningES256)
		if err != nil {
			rp.t.Fatal(err)
		}
		other.current.kid = uuidNo(22)
		if rp.vars["<jwt-77>"], err = other.sign(map[string]any{"sub": "x"}); err != nil {
			rp.t.Fatal(err)
		}
	}
	rp.before["i32-other-audience-accepted-by-user"] = forged("<jwt-78>", TokenOptions{Claims: map[string]any{"aud": "other"}})
	rp.before["i33-no-session-id"] = forged("<jwt-79>", TokenOptions{NoSession: true})
	// The rest was recorded with the first key again, and the secret trusted.
	rp.before["j01-register-rate-limited"] = func() { keys.current, keys.trustsSecret = current, true }
}

// switches are the two switches of the OAuth server, as the project has them.
func (rp *replay) switches() (oauth, registration func(bool)) {
	cfg := &rp.auth.cfg
	return cfg.oauthEnabled.Store, cfg.registrationEnabled.Store
}

func (rp *replay) optionSteps() {
	cfg := &rp.auth.cfg
	exhaust := func(method, path string) func() {
		return func() {
			cfg.limitHeader, rp.address = "X-Forwarded-For", "192.0.2.1"
			for range bucketBurst {
				r, err := http.NewRequest(method, path, strings.NewReader("{}"))
				if err != nil {
					rp.t.Fatal(err)
				}
				r.Header.Set("X-Forwarded-For", rp.address)
				rp.auth.ServeHTTP(discard{}, r)
			}
		}
	}
	rp.alsoBefore("j01-register-rate-limited", exhaust("POST", "/oauth/clients/register"))
	rp.before["j03-password-grant-rate-limited"] = exhaust("POST", "/token?grant_type=password")
	rp.before["j05-verify-rate-limited"] = exhaust("GET", "/verify?token=abc&type=magiclink")
	rp.before["j06-email-quota-exhausted"] = func() {
		cfg.limitHeader, rp.address = "", ""
		cfg.confirmationOn, cfg.mailQuota = true, 1
		rp.advance(2 * time.Second)
		rp.must("POST", "/otp", "", map[string]string{"email": bob})
	}
	rp.before["j07-otp-same-address-within-60s"] = func() {
		cfg.confirmationOn, cfg.mailQuota, cfg.mailInterval = false, 0, time.Minute
		rp.must("POST", "/otp", "", map[string]string{"email": alice})
	}
	rp.before["j10-v2-password-grant"] = func() { cfg.refreshV2 = true }
	rp.before["j13-v2-refresh-two-behind-inside-interval"] = func() {
		rp.must("POST", "/token?grant_type=refresh_token", "", map[string]string{"refresh_token": rp.vars[refreshV2No(323)]})
	}
	rp.before["j14-v2-refresh-two-behind-outside-interval"] = func() { rp.advance(11 * time.Second) }
	rp.before["j18-v2-oauth-refresh"] = func() { rp.vars[refreshV2No(330)] = rp.connectAlice(0, 0).refresh }
	rp.before["j19-v1-refresh-token-upgraded-to-v2"] = func() {
		cfg.refreshV2 = false
		rp.vars["rtokenlegacy"] = rp.signIn(alice, "alice-password").refresh
		cfg.refreshV2 = true
	}
	rp.before["j20-signup-confirmation-required"] = func() { cfg.refreshV2, cfg.confirmationOn = false, true }
	rp.codeFor("j30-hook-changes-audience", 109, 337, publicClient, "openid email", nil)
	rp.alsoBefore("j30-hook-changes-audience", func() {
		cfg.confirmationOn = false
		cfg.hook = func(input map[string]any) (map[string]any, int, string) {
			claims, _ := input["claims"].(map[string]any)
			rp.hooked = maps.Clone(input)
			rp.hooked["claims"] = maps.Clone(claims)
			claims["aud"] = []string{"authenticated", resourceURL}
			claims["tenant"] = "t1"
			return claims, 0, ""
		}
	})
	rp.hookOnExchange("j34-hook-rejects-token", 112, 343, func(map[string]any) (map[string]any, int, string) {
		return nil, http.StatusForbidden, "client not allowed"
	})
	rp.hookOnExchange("j35-hook-returns-partial-claims", 114, 346, func(map[string]any) (map[string]any, int, string) {
		return map[string]any{"aud": "other"}, 0, ""
	})
	rp.sessionLimitSteps()
	rp.before["j45-consent-api-origin-on-allow-list"] = func() {
		cfg.allowList = []string{"https://gateway.example.test"}
		rp.vars["<jwt-93>"] = rp.aliceSignsIn()
		rp.vars[authorizationNo(365)] = rp.authorize(rp.flow(basicClient, "openid email", 1))
	}
	rp.before["j46-redirect-to-with-query-vs-exact-allow-list"] = func() {
		cfg.allowList = []string{"https://gateway.example.test/callback"}
	}
	rp.before["j60-captcha-password-grant-without-token"] = func() {
		rp.vars[refreshNo(383)] = rp.signIn(alice, "alice-password").refresh
		cfg.captcha = singleUse(func(token string) bool { return token == "solved" })
	}
	rp.before["j64-email-provider-disabled-password"] = func() { cfg.captcha, cfg.emailOff = nil, true }
	rp.before["j66-signup-disabled"] = func() { cfg.emailOff, cfg.signupOff = false, true }
	rp.before["j68-authorization-expired"] = func() {
		cfg.signupOff, cfg.authorizationTTL = false, time.Second
		rp.vars["<jwt-100>"] = rp.aliceSignsIn()
		rp.vars[authorizationNo(387)] = rp.authorize(rp.flow(publicClient, "openid email", 1))
		rp.advance(2 * time.Second)
	}
	rp.codeFor("j69-code-expires-with-the-authorization", 127, 391, publicClient, "openid email", nil)
	rp.alsoBefore("j69-code-expires-with-the-authorization", func() { rp.advance(2 * time.Second) })
}

// hookOnExchange puts the hook in place only once there is a code.
func (rp *replay) hookOnExchange(name string, code, verifier int, hook accessTokenHook) {
	cfg := &rp.auth.cfg
	rp.before[name] = func() {
		cfg.hook = nil
		rp.vars[uuidNo(code)] = rp.allow(rp.authorize(rp.flow(publicClient, "openid email", verifier)), rp.aliceSignsIn())
		cfg.hook = hook
	}
}

func (rp *replay) sessionLimitSteps() {
	cfg := &rp.auth.cfg
	rp.before["j40-single-session-older-first-party-session-refused"] = func() {
		cfg.hook, cfg.singleSession = nil, true
		first := rp.signIn(alice, "alice-password")
		rp.vars[refreshNo(348)] = first.refresh
		rp.keep(rp.connect(rp.flow(publicClient, "openid email", 1), first.access), 0, 352)
	}
	bobConnects := func(refresh int) {
		rp.keep(rp.connect(rp.flow(publicClient, "openid email", 1), rp.signIn(bob, "bob-password").access), 0, refresh)
	}
	rp.before["j42-timebox-oauth-refresh"] = func() {
		cfg.singleSession, cfg.sessionTimebox = false, time.Second
		bobConnects(358)
		rp.advance(2 * time.Second)
	}
	rp.before["j44-inactivity-oauth-refresh"] = func() {
		cfg.sessionTimebox, cfg.sessionInactivity = 0, time.Second
		bobConnects(363)
		rp.advance(2 * time.Second)
	}
}

// concurrentSteps are the recordings of many calls at once.
func (rp *replay) concurrentSteps() {
	rp.special["d38-get-authorization-concurrently-with-prior-consent"] = func() []string {
		counts := rp.openAtOnce("openid email")
		return expect(counts, counts["redirect_url 200"] == 1, "one redirect_url",
			"redirect_url 200", "validation_failed 400", "oauth_authorization_not_found 404")
	}
	rp.special["d39-get-authorization-concurrently-without-consent"] = func() []string {
		counts := rp.openAtOnce("openid email profile")
		return expect(counts, counts["details 200"] >= 1, "details",
			"details 200", "oauth_authorization_not_found 404")
	}
	rp.special["e55-refresh-concurrently-6-times"] = func() []string {
		client := rp.vars[uuidNo(publicClient)]
		token := rp.connect(rp.flow(publicClient, "openid email", 1), rp.aliceSignsIn()).refresh
		return rp.refreshAtOnce(6, "/oauth/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {client}})
	}
	rp.special["g19-refresh-concurrently-8-times"] = func() []string {
		token := rp.signIn(alice, "alice-password").refresh
		return rp.refreshAtOnce(8, "/token?grant_type=refresh_token", map[string]string{"refresh_token": token})
	}
	rp.special["e56-code-exchanged-concurrently-6-times"] = func() []string {
		f := rp.flow(publicClient, "openid email", 1)
		code := rp.allow(rp.authorize(f), rp.aliceSignsIn())
		counts := count(rp.atOnce(6, "POST", "/oauth/token", "", url.Values{"grant_type": {"authorization_code"}, "code": {code},
			"client_id": {f.client}, "code_verifier": {f.verifier}, "redirect_uri": {f.redirect}}))
		return expect(counts, counts["200"] == 1 && counts["invalid_grant 400"] == 5, "one 200 and five invalid_grant",
			"200", "invalid_grant 400")
	}
}

// authReply is one of many answers to the same request.
type authReply struct {
	status int
	reuse  string
	body   map[string]any
}

func (rp *replay) atOnce(n int, method, path, bearer string, body any) []authReply {
	replies := make([]authReply, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			res := rp.send(method, path, bearer, body)
			replies[i].status = res.StatusCode
			replies[i].reuse = res.Header.Get("sb-auth-refresh-token-reuse")
			_ = json.NewDecoder(res.Body).Decode(&replies[i].body) // an odd body shows in the counts
		})
	}
	wg.Wait()
	return replies
}

func (rp *replay) openAtOnce(scope string) map[string]int {
	bearer := rp.vars["<jwt-3>"]
	id := rp.authorize(rp.flow(publicClient, scope, 1))
	return count(rp.atOnce(6, "GET", "/oauth/authorizations/"+id, bearer, nil))
}

func count(replies []authReply) map[string]int {
	counts := map[string]int{}
	for _, r := range replies {
		kind := ""
		switch {
		case r.body["redirect_url"] != nil:
			kind = "redirect_url "
		case r.body["authorization_id"] != nil:
			kind = "details "
		case r.body["error_code"] != nil:
			kind = fmt.Sprint(r.body["error_code"], " ")
		case r.body["error"] != nil:
			kind = fmt.Sprint(r.body["error"], " ")
		}
		counts[fmt.Sprint(kind, r.status)]++
	}
	return counts
}

func expect(counts map[string]int, ok bool, what string, allowed ...string) []string {
	for _, kind := range allowed {
		delete(counts, kind)
	}
	if !ok || len(counts) > 0 {
		return []string{fmt.Sprintf("want %s, unexpected answers: %v", what, counts)}
	}
	return nil
}

// refreshAtOnce uses one token many times: all succeed, with one and the same
// new token and access tokens of their own.
func (rp *replay) refreshAtOnce(n int, path string, body any) []string {
	refresh, access, fresh := map[any]bool{}, map[any]bool{}, 0
	for _, r := range rp.atOnce(n, "POST", path, "", body) {
		if r.status != http.StatusOK {
			return []string{fmt.Sprintf("status %d: %v", r.status, r.body)}
		}
		refresh[r.body["refresh_token"]], access[r.body["access_token"]] = true, true
		if r.reuse == "false" {
			fresh++
		}
	}
	if len(refresh) != 1 || len(access) != n || fresh != 1 {
		return []string{fmt.Sprintf("%d refresh tokens, %d access tokens, %d fresh", len(refresh), len(access), fresh)}
	}
	return nil
}

// discard is a response nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
