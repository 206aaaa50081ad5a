package standin

import (
	"net/http"
	"sync"
)

// captchaCheck asks the captcha provider about a widget's token. A token that
// is good has no refusal; otherwise it is the provider's error code. The error
// says that the provider did not answer.
type captchaCheck func(token string) (refusal string, err error)

// singleUse makes a check that takes each good token once.
func singleUse(good func(token string) bool) captchaCheck {
	var mu sync.Mutex
	used := map[string]bool{}
	return func(token string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if !good(token) {
			return "invalid-input-response", nil
		}
		if used[token] {
			return "timeout-or-duplicate", nil
		}
		used[token] = true
		return "", nil
	}
}

// checkCaptcha uses the token up, also where the rest of the request then
// fails. A call with the service key needs none.
func (a *authServer) checkCaptcha(r *http.Request, token string) error {
	if a.cfg.captcha == nil || a.isAdmin(r) {
		return nil
	}
	if token == "" {
		return captchaFailed("no captcha_token found")
	}
	refusal, err := a.cfg.captcha(token)
	if err != nil {
		return newAuthError(http.StatusInternalServerError, "unexpected_failure", "captcha verification process failed")
	}
	if refusal != "" {
		return captchaFailed(refusal)
	}
	return nil
}

func captchaFailed(why string) error {
	return newAuthError(http.StatusBadRequest, "captcha_failed", "captcha protection: request disallowed ("+why+")")
}
