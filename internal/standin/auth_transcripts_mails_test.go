package standin

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func bodyOf(t *testing.T, res *http.Response) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		t.Fatalf("status %d: %v", res.StatusCode, err)
	}
	return body
}

// lastMail is the latest mail to anybody.
func (w *authWorld) lastMail() sentMail {
	w.t.Helper()
	w.auth.mu.Lock()
	defer w.auth.mu.Unlock()
	if len(w.auth.state.outbox) == 0 {
		w.t.Fatal("nothing was mailed")
	}
	return w.auth.state.outbox[len(w.auth.state.outbox)-1]
}

// tokenIn is the token that a mail's link carries.
func (w *authWorld) tokenIn(m sentMail) string {
	w.t.Helper()
	link, err := url.Parse(m.Link)
	if err != nil {
		w.t.Fatal(err)
	}
	return link.Query().Get("token")
}

// mail asks for a mail to somebody who is known; there was none for a while.
func (w *authWorld) mail(path, address, challenge string) sentMail {
	w.t.Helper()
	w.advance(2 * time.Second)
	in := map[string]any{"email": address, "create_user": false}
	if challenge != "" {
		in["code_challenge"], in["code_challenge_method"] = challenge, "s256"
	}
	w.must("POST", path, "", in)
	return w.lastMail()
}

// mailedCode makes the case send the code of a new mail.
func (rp *replay) mailedCode(path, address string) {
	rp.vars[stepUpCode] = rp.mail(path, address, "").Code
}

// usesLink makes the case follow the link of a mail.
func (rp *replay) usesLink(name string, mail *sentMail) {
	rp.alsoBefore(name, func() {
		token := rp.tokenIn(*mail)
		rp.vars["<56-hex>"] = strings.TrimPrefix(token, pkcePrefix)
		rp.vars["<hashed-token-56-hex>"] = token
	})
}

// challengeFor makes the recorded challenge that of the recorded verifier.
func (rp *replay) challengeFor(name string) {
	pad := func(prefix string) string { return (prefix + name + strings.Repeat("x", 43))[:43] }
	rp.vars[pad("code-challenge-")] = challengeOf(pad("code-verifier-"))
}

func (rp *replay) captchaSteps() {
	const jan, password = "jan@example.test", "jan-password"
	cfg := &rp.auth.cfg
	used := map[string]bool{}
	provider := func(token string) (string, error) {
		switch {
		case !strings.HasPrefix(token, "good-"):
			return "invalid-or-already-seen-response", nil
		case used[token]:
			return "already-seen-response", nil
		}
		used[token] = true
		return "", nil
	}
	rp.before["m80-captcha-signup-without-token"] = func() {
		rp.signUp(jan, password)
		rp.keep(rp.signIn(jan, password), 903, 0)
		cfg.captcha = provider
	}
	rp.before["m88-captcha-mfa-challenge-exempt"] = func() {
		cfg.captcha = nil
		rp.keep(rp.signIn(jan, password), 904, 0)
		cfg.captcha = provider
		rp.vars[uuidNo(907)] = rp.enroll(rp.vars["<jwt-904>"], "phone app")
	}
	rp.before["m89b-captcha-provider-unreachable"] = func() {
		cfg.captcha = func(string) (string, error) { return "", errors.New("unreachable") }
	}
}

func (rp *replay) confirmationSteps() {
	cfg := &rp.auth.cfg
	for _, name := range []string{"resend", "recover", "ban"} {
		rp.challengeFor(name)
	}
	var first, second, recovery sentMail
	rp.before["m100-signup-unconfirmed-pkce"] = func() {
		cfg.captcha, cfg.anonymousOn, cfg.confirmationOn = nil, false, true
	}
	rp.before["m102-resend-too-soon"] = func() { first = rp.lastMail() }
	rp.before["m105-resend-pkce"] = func() { rp.advance(2 * time.Second) }
	rp.before["m107-first-confirmation-link-after-resend"] = func() { second = rp.lastMail() }
	rp.usesLink("m107-first-confirmation-link-after-resend", &first)
	rp.usesLink("m108-confirmation-link", &second)
	rp.usesLink("m109-confirmation-link-again", &second)
	rp.before["m112b-otp-unconfirmed-user-no-create-later"] = func() { rp.advance(2 * time.Second) }
	rp.before["m114c-recover-link-of-unconfirmed-user"] = func() { recovery = rp.lastMail() }
	rp.usesLink("m114c-recover-link-of-unconfirmed-user", &recovery)
}

func (rp *replay) recoverySteps() {
	const maxim, nia, gus = "max@example.test", "nia@example.test", "gus@example.test"
	cfg := &rp.auth.cfg
	var mail sentMail
	rp.before["m120-recover-pkce"] = func() {
		cfg.confirmationOn = false
		rp.signUp(maxim, "max-password")
	}
	rp.before["m123-recovery-link"] = func() { mail = rp.lastMail() }
	rp.usesLink("m123-recovery-link", &mail)
	rp.before["m128-recovery-token-hash-verify"] = func() { mail = rp.mail("/recover", maxim, "") }
	rp.usesLink("m128-recovery-token-hash-verify", &mail)
	rp.before["m130-otp-request-for-code-with-pkce"] = func() { rp.signUp(nia, "nia-password") }
	rp.before["m132-code-verified-directly-despite-pkce"] = func() {
		mail = rp.lastMail()
		rp.vars[stepUpCode] = mail.Code
	}
	rp.usesLink("m133-link-after-code-was-used", &mail)
	rp.before["m134-code-type-magiclink-after-25-wrong-tries"] = func() {
		rp.mailedCode("/otp", nia)
		wrong := map[string]string{"type": "magiclink", "email": nia, "token": "wrong"}
		for range 25 {
			rp.send("POST", "/verify", "", wrong)
		}
	}
	rp.before["m135-code-with-type-signup"] = func() { rp.mailedCode("/otp", nia) }
	rp.before["m135b-code-with-type-recovery"] = func() { rp.vars[stepUpCode] = rp.lastMail().Code }
	rp.before["m136-token-hash-template-with-pkce"] = func() { mail = rp.mail("/otp", nia, challengeOf("any")) }
	rp.usesLink("m136-token-hash-template-with-pkce", &mail)
	rp.before["m137-new-user-code-mail"] = func() {
		cfg.confirmationOn = true
		rp.must("POST", "/otp", "", map[string]string{"email": "oto@example.test"})
	}
	useCode := func() { rp.vars[stepUpCode] = rp.lastMail().Code }
	rp.before["m138-new-user-code-type-magiclink"] = useCode
	rp.before["m139-new-user-code-type-email"] = useCode

	ban := func(until *time.Time) {
		rp.exec("update auth.users set banned_until = $2 where email = $1", gus, until)
	}
	tomorrow := func() *time.Time { t := rp.tick().Add(24 * time.Hour); return &t }
	rp.before["m140-banned-magic-link"] = func() {
		cfg.confirmationOn = false
		rp.signUp(gus, "gus-password")
		mail = rp.mail("/otp?redirect_to=https://gateway.example.test/callback", gus, rp.vars[("code-challenge-ban" + strings.Repeat("x", 43))[:43]])
		ban(tomorrow())
	}
	rp.usesLink("m140-banned-magic-link", &mail)
	rp.before["m141-unbanned-same-link"] = func() { ban(nil) }
	rp.usesLink("m141-unbanned-same-link", &mail)
	rp.before["m142-banned-pkce-exchange"] = func() { ban(tomorrow()) }
	rp.before["m143-banned-otp-request"] = func() { rp.advance(2 * time.Second) }
	rp.before["m144-banned-email-code"] = useCode
	rp.before["m150-phone-otp-off"] = func() { ban(nil) }
}

func (rp *replay) switchedOffSteps() {
	cfg := &rp.auth.cfg
	rp.before["m156-email-off-signup"] = func() { cfg.emailOff = true }
	rp.before["m157-magic-link-off-otp"] = func() { cfg.emailOff, cfg.magicLinkOff = false, true }
	rp.before["m158-signup-off-existing-user-otp"] = func() {
		cfg.magicLinkOff, cfg.signupOff, cfg.anonymousOn = false, true, true
		rp.advance(2 * time.Second)
	}
}
