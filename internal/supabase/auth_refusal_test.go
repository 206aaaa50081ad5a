package supabase

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func TestRefusalsByWhatWasAsked(t *testing.T) {
	t.Parallel()
	const password, signUp, send, resend, email, pkce = "SignInPassword", "SignUp", "SendCode", "Resend", "VerifyEmailCode", "ExchangePKCE"
	const refresh, oauthRefresh, code, register = "RefreshSession", "RefreshOAuth", "ExchangeCode", "RegisterOAuthClient"
	const challenge, verify, user, signOut = "ChallengeFactor", "VerifyFactor", "CurrentUser", "SignOutLocal"
	for _, test := range []struct {
		call, answer string
		kind         RefusalKind
		code         string
	}{
		{password, "g04-password-wrong", WrongCredentials, "invalid_credentials"},
		{password, "g05-password-wrong-api-version", WrongCredentials, "invalid_credentials"},
		{password, "j22-password-grant-unconfirmed", NotConfirmed, "email_not_confirmed"},
		{password, "f53-password-grant-banned", Banned, "user_banned"},
		{password, "j64-email-provider-disabled-password", NotAvailable, "email_provider_disabled"},
		{password, "j60-captcha-password-grant-without-token", CaptchaFailed, "captcha_failed"},
		{password, "m84-captcha-password-token-used-again", CaptchaFailed, "captcha_failed"},
		{password, "j03-password-grant-rate-limited", RateLimited, "over_request_rate_limit"},
		{password, "j34-hook-rejects-token", Rejected, "unknown"},
		{password, "h29-body-over-1mb", Other, "request_entity_too_large"},
		{signUp, "g02-signup-existing-user", UserExists, "user_already_exists"},
		{signUp, "h27-signup-weak-password", WeakPassword, "weak_password"},
		{signUp, "h28-signup-weak-password-api-version", WeakPassword, "weak_password"},
		{signUp, "j66-signup-disabled", NotAvailable, "signup_disabled"},
		{send, "j07-otp-same-address-within-60s", RateLimited, "over_email_send_rate_limit"},
		{send, "j06-email-quota-exhausted", RateLimited, "over_email_send_rate_limit"},
		{send, "h09-otp-unknown-user-no-create", NotAvailable, "otp_disabled"},
		{send, "m157-magic-link-off-otp", NotAvailable, "email_provider_disabled"},
		{send, "h12-otp-pkce-half", Other, "validation_failed"},
		{resend, "m156c-email-off-resend", NotAvailable, "email_provider_disabled"},
		{email, "h14-verify-otp-wrong", CodeWrong, "otp_expired"},
		{email, "h12-otp-pkce-half", CodeWrong, "validation_failed"},
		{email, "m144-banned-email-code", Banned, "user_banned"},
		{email, "j05-verify-rate-limited", RateLimited, "over_request_rate_limit"},
		{pkce, "g34-pkce-unknown-code", CodeWrong, "flow_state_not_found"},
		{pkce, "g32-pkce-wrong-verifier", CodeWrong, "bad_code_verifier"},
		{pkce, "g38-pkce-exchange-expired", CodeWrong, "flow_state_expired"},
		{refresh, "g16-refresh-not-found", SessionEnded, "refresh_token_not_found"},
		{refresh, "g15-refresh-already-used", SessionEnded, "refresh_token_already_used"},
		{refresh, "g17-refresh-malformed", SessionEnded, "validation_failed"},
		{refresh, "f52-refresh-banned", SessionEnded, "user_banned"},
		{refresh, "j40-single-session-older-first-party-session-refused", SessionEnded, "session_expired"},
		{refresh, "j04-refresh-grant-shares-the-token-limit", RateLimited, "over_request_rate_limit"},
		{refresh, "e47-oauth-refresh-token-at-plain-token-endpoint", SessionEnded, "invalid_client"},
		{oauthRefresh, "e44-refresh-unknown", SessionEnded, "refresh_token_not_found"},
		{oauthRefresh, "e50-refresh-grandparent-outside-reuse-interval", SessionEnded, "refresh_token_already_used"},
		{oauthRefresh, "f24-refresh-after-grant-revocation", SessionEnded, "refresh_token_not_found"},
		{oauthRefresh, "f32-refresh-after-local-logout", SessionEnded, "refresh_token_not_found"},
		{oauthRefresh, "f55-refresh-user-deleted", SessionEnded, "refresh_token_not_found"},
		{oauthRefresh, "j42-timebox-oauth-refresh", SessionEnded, "session_expired"},
		{oauthRefresh, "f52-refresh-banned", SessionEnded, "user_banned"},
		{oauthRefresh, "e06-code-reuse", SessionEnded, "invalid_grant"},
		{oauthRefresh, "f45-refresh-after-client-deleted", ClientGone, "invalid_credentials"},
		{oauthRefresh, "e14-basic-client-wrong-secret", ClientGone, "invalid_credentials"},
		{oauthRefresh, "e45-refresh-wrong-client", SessionEnded, "invalid_client"},
		{oauthRefresh, "e48-plain-session-refresh-token-at-oauth-endpoint", SessionEnded, "invalid_client"},
		{oauthRefresh, "e36-refresh-not-allowed-for-client", Other, "unsupported_grant_type"},
		{oauthRefresh, "i07-oauth-server-disabled-token", NotAvailable, "feature_disabled"},
		{oauthRefresh, "j34-hook-rejects-token", Rejected, "unknown"},
		{code, "e01-code-wrong-verifier", SessionEnded, "invalid_grant"},
		{code, "e06-code-reuse", SessionEnded, "invalid_grant"},
		{code, "e29-expired-code", SessionEnded, "invalid_grant"},
		{code, "e14-basic-client-wrong-secret", ClientGone, "invalid_credentials"},
		{code, "e16-post-client-using-basic", ClientGone, "invalid_credentials"},
		{code, "e21-unknown-client", ClientGone, "invalid_credentials"},
		{code, "e26c-unknown-client-api-version", ClientGone, "invalid_credentials"},
		{code, "i07-oauth-server-disabled-token", NotAvailable, "feature_disabled"},
		{code, "j34-hook-rejects-token", Rejected, "unknown"},
		{register, "i01-dcr-disabled", NotAvailable, "oauth_dynamic_client_registration_disabled"},
		{register, "i06-oauth-server-disabled-register", NotAvailable, "feature_disabled"},
		{register, "b09-register-missing-redirect-uris", Other, "validation_failed"},
		{register, "j01-register-rate-limited", RateLimited, "over_request_rate_limit"},
		{register, "j02-register-rate-limited-api-version", RateLimited, "over_request_rate_limit"},
		{verify, "m11-verify-wrong-code", FactorWrong, "mfa_verification_failed"},
		{verify, "m11b-verify-wrong-code-api-version", FactorWrong, "mfa_verification_failed"},
		{verify, "m12-verify-empty-code", FactorWrong, "validation_failed"},
		{verify, "m13-verify-unknown-challenge", FactorGone, "mfa_factor_not_found"},
		{verify, "m28-verify-challenge-expired", FactorGone, "mfa_challenge_expired"},
		{verify, "m16-verify-challenge-reused", FactorGone, "mfa_ip_address_mismatch"},
		{verify, "m59-verify-rejected-by-hook", Rejected, "mfa_verification_rejected"},
		{verify, "m63-verify-totp-off", NotAvailable, "mfa_totp_verify_not_enabled"},
		{verify, "m57-verify-rate-limited", RateLimited, "over_request_rate_limit"},
		{verify, "f22-user-after-grant-revocation", SessionEnded, "session_not_found"},
		{challenge, "m14-challenge-factor-of-another-user", FactorGone, "mfa_factor_not_found"},
		{challenge, "m14b-challenge-factor-id-not-a-uuid", FactorGone, "validation_failed"},
		{challenge, "m62-challenge-totp-off", NotAvailable, "mfa_totp_verify_not_enabled"},
		{challenge, "m58-challenge-rate-limited", RateLimited, "over_request_rate_limit"},
		{challenge, "m67-challenge-phone-too-soon", RateLimited, "over_sms_send_rate_limit"},
		{challenge, "m76-anonymous-enroll-factor", Other, "no_authorization"},
		{user, "f22-user-after-grant-revocation", SessionEnded, "session_not_found"},
		{user, "f51-user-banned", SessionEnded, "user_banned"},
		{user, "f54-user-deleted", SessionEnded, "user_not_found"},
		{user, "i30-expired-access-token", Other, "bad_jwt"},
		{user, "g21-user-no-auth", Other, "no_authorization"},
		{user, "g22-user-no-auth-api-version", Other, "no_authorization"},
		{user, "g23-user-anon-key", Other, "bad_jwt"},
		{signOut, "i30-expired-access-token", Other, "bad_jwt"},
		{signOut, "f51-user-banned", SessionEnded, "user_banned"},
	} {
		t.Run(test.call+" "+test.answer, func(t *testing.T) {
			t.Parallel()
			recorded := recording(t, test.answer)
			p := newFakeProject(t, recorded.serve())
			got, err := authCases()[test.call].call(t.Context(), newTestClient(), p.project())
			var e *AuthRefusal
			if !errors.As(err, &e) || e.Kind != test.kind || e.Code != test.code || e.Status != recorded.Status {
				t.Fatalf("%v", err)
			}
			if !IsRefusal(err, test.kind) || IsRefusal(err, "else") || !reflect.DeepEqual(got, authAnswer{}) {
				t.Errorf("%v besides %s", err, shown(got))
			}
			if e.Message == "" {
				t.Error("Auth's own words are lost")
			}
			for _, printed := range []string{e.Error(), fmt.Sprintf("%v %+v", err, e), fault.From(err).Message, slog.AnyValue(e).String(), jsonOf(t, e)} {
				if strings.Contains(printed, e.Message) {
					t.Errorf("Auth's own words are printed: %s", printed)
				}
			}
			if want := map[bool][]string{true: {"length"}}[e.Kind == WeakPassword]; !reflect.DeepEqual(e.Reasons, want) {
				t.Errorf("reasons %v", e.Reasons)
			}
		})
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSignOutOfASessionAlreadyGone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"f39-logout-twice", "f54-user-deleted"} {
		p := newFakeProject(t, recording(t, name).serve())
		if _, err := authCases()["SignOutLocal"].call(t.Context(), newTestClient(), p.project()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusalsNotRecorded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		call   authCall
		status int
		body   string
		kind   RefusalKind
	}{
		{callOAuthCode, 400, `{"error":"access_denied","error_description":"User is banned"}`, Banned},
		{callOAuthRefresh, 401, `{"error":"invalid_client"}`, ClientGone}, // as RFC 6749 section 5.2 has it
		{callOAuthCode, 400, `{"error":"invalid_client"}`, ClientGone},
		{callOAuthRefresh, 400, `{"error":"invalid_request","error_description":"m"}`, Other},
		{callSignIn, 400, `{"error":"access_denied"}`, Other},
		{callSignIn, 429, `not ours`, RateLimited},
		{callSignIn, 400, `{"code":400,"error_code":"provider_disabled","msg":"m"}`, NotAvailable},
		{callSignIn, 422, `{"code":422,"error_code":"email_exists","msg":"m"}`, UserExists},
		{callSignIn, 418, `{"code":418,"error_code":"new_in_some_version","msg":"m"}`, Other},
	} {
		var e *AuthRefusal
		err := refusalOf(test.call, reply{status: test.status, header: http.Header{}, body: []byte(test.body)})
		if !errors.As(err, &e) || e.Kind != test.kind {
			t.Errorf("%d %s: %v", test.status, test.body, err)
		}
	}
}

func TestWhenToTryAgain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"For security purposes, you can only request this after 59 seconds.": 59 * time.Second,
		"For security purposes, you can only request this after 1 second.":   time.Second,
		"For security purposes, you can only request this after 0 seconds.":  0,
		"after 59 seconds":                  0,
		"wait after -4 seconds":             0,
		"wait after 99999999999999 seconds": 0,
		"wait after 59 minutes":             0,
		"email rate limit exceeded":         0,
		"":                                  0,
	} {
		if got := secondsToWait(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	limited := func(header, message string) time.Duration {
		var e *AuthRefusal
		body := `{"code":429,"error_code":"over_email_send_rate_limit","msg":"` + message + `"}`
		errors.As(refusalOf(callSignIn, reply{status: 429, header: http.Header{"Retry-After": {header}}, body: []byte(body)}), &e)
		return e.RetryAfter
	}
	if got := limited("7", "request this after 59 seconds."); got != 59*time.Second {
		t.Errorf("both: %v", got)
	}
	if got := limited("7", "m"); got != 7*time.Second {
		t.Errorf("header: %v", got)
	}
	if got := limited("", "m"); got != 0 {
		t.Errorf("neither: %v", got)
	}
}
