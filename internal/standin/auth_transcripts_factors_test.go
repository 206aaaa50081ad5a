package standin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// stepUpCode is the placeholder of every six digits in the recordings.
const stepUpCode = "<6-digit-code>"

// enroll makes an unverified factor and returns its id.
func (w *authWorld) enroll(bearer, name string) string {
	w.t.Helper()
	made := w.must("POST", "/factors", bearer, map[string]string{"factor_type": "totp", "friendly_name": name})
	id, _ := made["id"].(string)
	return id
}

func (w *authWorld) challenge(bearer, factorID string) string {
	w.t.Helper()
	id, _ := w.must("POST", "/factors/"+factorID+"/challenge", bearer, map[string]string{})["id"].(string)
	return id
}

// codeOf is what the factor's app shows so long from now.
func (w *authWorld) codeOf(factorID string, from time.Duration) string {
	w.t.Helper()
	w.auth.mu.Lock()
	defer w.auth.mu.Unlock()
	for _, list := range w.auth.state.factors {
		for _, f := range list {
			if f.id == factorID {
				return TOTPCode(f.secret, w.tick().Add(from))
			}
		}
	}
	w.t.Fatalf("there is no factor %s", factorID)
	return ""
}

// stepUp takes the bearer's session to aal2.
func (w *authWorld) stepUp(bearer, factorID string) tokens {
	w.t.Helper()
	return tokensOf(w.must("POST", "/factors/"+factorID+"/verify", bearer,
		map[string]string{"challenge_id": w.challenge(bearer, factorID), "code": w.codeOf(factorID, 0)}))
}

// sendFrom is send from an address.
func (w *authWorld) sendFrom(address, method, path, bearer, body string) *http.Response {
	w.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Forwarded-For", address)
	r.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	rec := httptest.NewRecorder()
	w.auth.ServeHTTP(rec, r)
	return rec.Result()
}

// shows makes the case send the code that the factor's app shows so long from
// now.
func (rp *replay) shows(name string, factor int, from time.Duration) {
	rp.alsoBefore(name, func() { rp.vars[stepUpCode] = rp.codeOf(rp.vars[uuidNo(factor)], from) })
}

// asks opens a challenge before the case.
func (rp *replay) asks(name string, factor, challenge int, bearer string) {
	rp.alsoBefore(name, func() { rp.vars[uuidNo(challenge)] = rp.challenge(rp.vars[bearer], rp.vars[uuidNo(factor)]) })
}

// consentFactorSteps give bob a second factor while a client of his is
// connected.
func (rp *replay) consentFactorSteps() {
	rp.before["j50-oauth-token-from-aal2-consent-is-aal1"] = func() {
		rp.auth.cfg.authorizationTTL = 10 * time.Minute
		first := rp.signIn(bob, "bob-password")
		rp.keep(rp.connect(rp.flow(cursorClient, "openid email", 1), first.access), 94, 0)
		raised := rp.stepUp(first.access, rp.enroll(first.access, "phone app"))
		rp.vars[uuidNo(122)] = rp.allow(rp.authorize(rp.flow(cursorClient, "openid email", 376)), raised.access)
	}
	rp.before["j51-consent-api-accepts-aal1-session-of-mfa-user"] = func() {
		rp.keep(rp.signIn(bob, "bob-password"), 97, 0)
		rp.vars[authorizationNo(380)] = rp.authorize(rp.flow(cursorClient, "openid email", 1))
	}
}

// factorSteps are dora's: sections 17.1 to 17.3 of the reference.
func (rp *replay) factorSteps() {
	const phoneApp, hour = 504, time.Hour
	cfg := &rp.auth.cfg
	rp.before["m01-password-signin-no-factor"] = func() {
		cfg.authorizationTTL, cfg.mailInterval, cfg.sessionInactivity = 10*time.Minute, time.Second, 0
		cfg.allowList = []string{"https://gateway.example.test/**"}
		rp.signUp("dora@example.test", "dora-password")
	}
	rp.shows("m11-verify-wrong-code", phoneApp, hour)
	rp.shows("m11b-verify-wrong-code-api-version", phoneApp, hour)
	rp.shows("m13-verify-unknown-challenge", phoneApp, 0)
	rp.shows("m13b-verify-challenge-id-not-a-uuid", phoneApp, 0)
	rp.before["m14-challenge-factor-of-another-user"] = func() { rp.keep(rp.signIn(bob, "bob-password"), 503, 0) }
	rp.before["m15-verify-right-code-first-factor"] = func() {
		rp.keep(rp.signIn("dora@example.test", "dora-password"), 506, 0)
		wrong := map[string]string{"challenge_id": rp.vars[uuidNo(507)], "code": rp.codeOf(rp.vars[uuidNo(phoneApp)], hour)}
		for range 12 {
			rp.send("POST", "/factors/"+rp.vars[uuidNo(phoneApp)]+"/verify", rp.vars["<jwt-501>"], wrong)
		}
	}
	rp.shows("m15-verify-right-code-first-factor", phoneApp, 0)
	rp.shows("m16-verify-challenge-reused", phoneApp, 0)
	rp.asks("m17-verify-same-code-new-challenge", phoneApp, 508, "<jwt-504>")
	rp.shows("m17-verify-same-code-new-challenge", phoneApp, 0)
	rp.before["m20b-refresh-with-aal1-refresh-token-later"] = func() { rp.advance(time.Minute) }
	rp.before["m21-refresh-keeps-aal2"] = func() {
		rp.keep(rp.stepUp(rp.signIn("dora@example.test", "dora-password").access, rp.vars[uuidNo(phoneApp)]), 0, 541)
	}
	rp.before["m28-verify-challenge-expired"] = func() { rp.advance(301 * time.Second) }
	rp.shows("m28-verify-challenge-expired", phoneApp, 0)
	rp.shows("m28b-verify-challenge-expired-again", phoneApp, 0)
	rp.asks("m29-verify-code-90-s-old", phoneApp, 512, "<jwt-510>")
	rp.shows("m29-verify-code-90-s-old", phoneApp, -90*time.Second)
	rp.shows("m30-verify-code-previous-period", phoneApp, -30*time.Second)
	rp.before["m31-verify-from-another-ip"] = func() {
		res := rp.sendFrom("192.0.2.10", "POST", "/factors/"+rp.vars[uuidNo(phoneApp)]+"/challenge", rp.vars["<jwt-511>"], "{}")
		rp.vars[uuidNo(513)], _ = bodyOf(rp.t, res)["id"].(string)
	}
	rp.shows("m31-verify-from-another-ip", phoneApp, 0)
	rp.shows("m31b-verify-from-the-same-ip", phoneApp, 0)
	rp.before["m33-oauth-token-challenges-factor"] = func() {
		rp.must("DELETE", "/factors/"+rp.vars[uuidNo(514)], rp.vars["<jwt-512>"], nil)
		rp.keep(rp.connect(rp.flow(publicClient, "openid email", 1), rp.vars["<jwt-512>"]), 513, 0)
	}
	rp.shows("m34-oauth-token-verifies-factor", phoneApp, 0)
	rp.before["m35b-oauth-token-enrolls-first-factor"] = func() {
		rp.signUp("fay@example.test", "fay-password")
		rp.keep(rp.connect(rp.flow(publicClient, "openid email", 1), rp.signIn("fay@example.test", "fay-password").access), 701, 0)
	}
	rp.asks("m35c-oauth-token-verifies-own-factor", 701, 702, "<jwt-701>")
	rp.shows("m35c-oauth-token-verifies-own-factor", 701, 0)
	rp.before["m36-email-code-signin-of-mfa-user"] = func() { rp.mailedCode("/otp", "dora@example.test") }
	rp.asks("m37-verify-after-email-code", phoneApp, 518, "<jwt-516>")
	rp.shows("m37-verify-after-email-code", phoneApp, 0)
	rp.before["m38-recovery-signin-of-mfa-user"] = func() { rp.mailedCode("/recover", "dora@example.test") }
	rp.before["m46-too-many-factors"] = func() {
		for _, name := range strings.Split("abcdefghij", "") {
			rp.enroll(rp.vars["<jwt-520>"], name)
		}
	}
	rp.before["m47-enroll-after-unverified-expired"] = func() { rp.advance(301 * time.Second) }
}

// newFactor gives hal a factor in place of the one there is, and an aal2
// session with it.
func (rp *replay) newFactor(old string) (id string, raised tokens) {
	const hal, password = "hal@example.test", "hal-password"
	if old != "" {
		raised := rp.stepUp(rp.signIn(hal, password).access, old)
		rp.must("DELETE", "/factors/"+old, raised.access, nil)
	}
	first := rp.signIn(hal, password)
	id = rp.enroll(first.access, "phone app")
	return id, rp.stepUp(first.access, id)
}

// factorLimitSteps are hal's: limits of aal1 sessions, version 2 refresh
// tokens, rate limits, the hook, and TOTP switched off.
func (rp *replay) factorLimitSteps() {
	const hal, password = "hal@example.test", "hal-password"
	cfg := &rp.auth.cfg
	var factor string
	var raised tokens
	rp.before["m48-low-aal-limit-signin-without-factor"] = func() {
		rp.signUp(hal, password)
		cfg.lowAALLifetime = 15 * time.Minute
	}
	rp.before["m49-low-aal-limit-signin-with-factor"] = func() { factor, raised = rp.newFactor("") }
	rp.before["m49b-low-aal-limit-oauth-exchange"] = func() {
		rp.vars[uuidNo(1306)] = rp.allow(rp.authorize(rp.flow(publicClient, "openid email", 1323)), raised.access)
	}
	rp.before["m50-low-aal-limit-user"] = func() {
		factor, raised = rp.newFactor(factor)
		rp.vars[refreshNo(730)] = raised.refresh
		cfg.lowAALLifetime = time.Second
		rp.keep(rp.signIn(hal, password), 704, 731)
		rp.keep(rp.connect(rp.flow(publicClient, "openid email", 1), raised.access), 0, 735)
		rp.advance(2 * time.Second)
	}
	rp.before["m54-v2-verify"] = func() {
		cfg.lowAALLifetime = 0
		raised = rp.stepUp(rp.signIn(hal, password).access, factor)
		rp.must("DELETE", "/factors/"+factor, raised.access, nil)
		cfg.refreshV2 = true
		first := rp.signIn(hal, password)
		rp.vars["<jwt-707>"], rp.vars[refreshV2No(737)] = first.access, first.refresh
		factor = rp.enroll(first.access, "phone app")
		rp.vars[uuidNo(712)] = factor
	}
	rp.asks("m54-v2-verify", 712, 713, "<jwt-707>")
	rp.shows("m54-v2-verify", 712, 0)
	rp.before["m56-v2-aal1-refresh-token-after-verify-later"] = func() { rp.advance(time.Minute) }
	rp.before["m57-verify-rate-limited"] = func() {
		cfg.refreshV2, cfg.limitHeader, rp.address = false, "X-Forwarded-For", "192.0.2.57"
		rp.keep(rp.signIn(hal, password), 709, 0)
		rp.vars[uuidNo(715)] = factor
		rp.vars[uuidNo(716)] = rp.challenge(rp.vars["<jwt-709>"], factor)
		for range bucketBurst {
			rp.sendFrom(rp.address, "POST", "/factors/"+factor+"/verify", rp.vars["<jwt-709>"], "{}")
		}
	}
	rp.before["m58-challenge-rate-limited"] = func() {
		for range bucketBurst {
			rp.sendFrom(rp.address, "POST", "/factors/"+factor+"/challenge", rp.vars["<jwt-709>"], "{}")
		}
	}
	rp.before["m59-verify-rejected-by-hook"] = func() {
		cfg.limitHeader, rp.address = "", ""
		rp.keep(rp.signIn(hal, password), 710, 0)
		rp.vars[uuidNo(717)] = factor
		cfg.factorHook = func(string, string, bool) (bool, string) { return true, "too many attempts" }
	}
	rp.asks("m59-verify-rejected-by-hook", 717, 718, "<jwt-710>")
	rp.shows("m59-verify-rejected-by-hook", 717, 0)
	rp.before["m60-password-signin-totp-off"] = func() {
		cfg.factorHook = nil
		factor, _ = rp.newFactor(factor)
		cfg.totpEnrollOff, cfg.totpVerifyOff = true, true
	}
	rp.shows("m63-verify-totp-off", 720, 0)
	rp.before["m75-anonymous-signin"] = func() {
		cfg.totpEnrollOff, cfg.totpVerifyOff, cfg.anonymousOn = false, false, true
	}
	rp.before["m77-anonymous-opens-consent"] = func() {
		rp.vars[authorizationNo(765)] = rp.authorize(rp.flow(publicClient, "openid email", 766))
	}
}
