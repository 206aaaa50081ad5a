package supabase

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RefusalKind says what a refusal of Auth means for the caller.
type RefusalKind string

// The kinds of an AuthRefusal.
const (
	SessionEnded     RefusalKind = "session_ended"     // the session is gone for good: sign in again
	ClientGone       RefusalKind = "client_gone"       // our OAuth client is unknown, or its secret or method is wrong
	RateLimited      RefusalKind = "rate_limited"      // too often; RetryAfter where Auth says so
	CaptchaFailed    RefusalKind = "captcha_failed"    // a captcha token is missing, used up or wrong
	WrongCredentials RefusalKind = "wrong_credentials" // unknown email or wrong password; not told apart
	NotConfirmed     RefusalKind = "not_confirmed"     // the email address is not confirmed yet
	Banned           RefusalKind = "banned"            // the user may not sign in
	CodeWrong        RefusalKind = "code_wrong"        // an email code or sign-in code is wrong, used or expired
	FactorWrong      RefusalKind = "factor_wrong"      // the code of the second factor is wrong; the challenge lives on
	FactorGone       RefusalKind = "factor_gone"       // the factor or its challenge is no longer there: make a new challenge
	NotAvailable     RefusalKind = "not_available"     // the project has this switched off
	UserExists       RefusalKind = "user_exists"       // at sign-up
	WeakPassword     RefusalKind = "weak_password"     // at sign-up; Reasons says why
	Rejected         RefusalKind = "rejected"          // a hook of the project said no
	Other            RefusalKind = "other"             // any other 4xx; see Code
)

// AuthRefusal is what a project's Auth answered instead of what was asked for.
// It is a decision, not a failure: nothing of it goes away by itself, except
// RateLimited.
type AuthRefusal struct {
	Kind       RefusalKind
	Status     int           // HTTP status, 400 to 499
	Code       string        // Auth's error code, such as refresh_token_not_found; may be empty
	Message    string        `json:"-"` // Auth's own words: private, neither for logs nor for users
	Reasons    []string      // of WeakPassword: length, characters, pwned
	RetryAfter time.Duration // of RateLimited; 0 where Auth does not say
}

// Error is for logs: kind, status and code only.
func (e *AuthRefusal) Error() string {
	return fmt.Sprintf("auth refused (%s): %d %s", e.Kind, e.Status, e.Code)
}

// IsRefusal reports whether err carries an AuthRefusal of the given kind.
func IsRefusal(err error, kind RefusalKind) bool {
	var e *AuthRefusal
	return errors.As(err, &e) && e.Kind == kind
}

// authCall says what was asked: Auth gives one code several meanings.
type authCall uint8

const (
	callSignIn       authCall = iota // nobody is signed in yet
	callEmailCode                    // … and a typed code is checked
	callRegister                     // registering our OAuth client
	callOAuthCode                    // a code at /oauth/token
	callOAuthRefresh                 // a refresh token at /oauth/token
	callRefresh                      // a refresh token at /token
	callSession                      // as a session's user
	callFactor                       // … on one of their factors
)

// signedIn reports whether a session exists, which a refusal may have ended.
func (c authCall) signedIn() bool { return c >= callOAuthRefresh }

// authProblem is one of Auth's error shapes, read.
type authProblem struct {
	code    string
	message string
	reasons []string
}

// readProblem reads Auth's default error shape, the one of API version
// 2024-01-01, and the OAuth one (RFC 6749 section 5.2). False for everything
// else, such as a gateway's page: that says nothing about the session.
func readProblem(body []byte) (authProblem, bool) {
	var a struct {
		Code        json.RawMessage `json:"code"` // the status, or the code
		ErrorCode   string          `json:"error_code"`
		Msg         *string         `json:"msg"`
		Message     *string         `json:"message"`
		Error       string          `json:"error"`
		Description string          `json:"error_description"`
		Weak        struct {
			Reasons []string `json:"reasons"`
		} `json:"weak_password"`
	}
	if json.Unmarshal(body, &a) != nil {
		return authProblem{}, false
	}
	var p authProblem
	var word string
	switch {
	case a.ErrorCode != "":
		p.code, p.message = a.ErrorCode, text(a.Msg)
	case a.Error != "":
		p.code, p.message = a.Error, a.Description
	case a.Message != nil && json.Unmarshal(a.Code, &word) == nil:
		p.code, p.message = word, *a.Message
	default:
		return authProblem{}, false
	}
	if !authWord(p.code) {
		return authProblem{}, false
	}
	for _, reason := range a.Weak.Reasons {
		if authWord(reason) {
			p.reasons = append(p.reasons, reason)
		}
	}
	return p, true
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// authWord reports whether s has the form of Auth's codes and names, which may
// be logged and shown.
func authWord(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// refusalOf is the error of an answer that is no success: an *AuthRefusal for
// what Auth decided, a *fault.Error of kind Unavailable for everything that
// leaves the question open.
func refusalOf(call authCall, r reply) error {
	p, known := readProblem(r.body)
	after := retryAfter(r.header)
	switch {
	case r.status == http.StatusTooManyRequests:
		if told := secondsToWait(p.message); told > 0 {
			after = told
		}
		return &AuthRefusal{Kind: RateLimited, Status: r.status, Code: p.code, Message: p.message, RetryAfter: after}
	case !known, r.status < 400, r.status >= 500, passing(r.status, p.code):
		return authUnavailable(fmt.Errorf("auth answered %d %s %s", r.status, p.code, r.upstream), after)
	}
	return &AuthRefusal{Kind: kindOf(call, r.status, p.code), Status: r.status, Code: p.code, Message: p.message, Reasons: p.reasons}
}

// passing are the refusals that a later try may not meet: a locked row, a slow
// request, a hook that did not answer.
func passing(status int, code string) bool {
	return status == http.StatusConflict || status == http.StatusRequestTimeout || code == "conflict" || strings.HasPrefix(code, "hook_timeout")
}

func kindOf(call authCall, status int, code string) RefusalKind {
	switch code {
	case "refresh_token_not_found", "refresh_token_already_used", "session_not_found", "session_expired", "user_not_found", "invalid_grant":
		return SessionEnded
	case "user_banned":
		if call.signedIn() {
			return SessionEnded
		}
		return Banned
	case "access_denied": // how /oauth/token calls a ban
		if call == callOAuthCode {
			return Banned
		}
	case "invalid_credentials":
		if call == callOAuthCode || call == callOAuthRefresh {
			return ClientGone
		}
		return WrongCredentials
	case "invalid_client":
		// With 400, Auth knows the client and says that the session is not
		// this client's: no new client would bring it back.
		if status == http.StatusBadRequest && (call == callOAuthRefresh || call == callRefresh) {
			return SessionEnded
		}
		return ClientGone
	case "captcha_failed":
		return CaptchaFailed
	case "email_not_confirmed":
		return NotConfirmed
	case "otp_expired", "flow_state_not_found", "flow_state_expired", "bad_code_verifier":
		return CodeWrong
	case "mfa_verification_failed":
		return FactorWrong
	case "mfa_factor_not_found", "mfa_challenge_expired", "mfa_ip_address_mismatch":
		return FactorGone
	case "user_already_exists", "email_exists":
		return UserExists
	case "weak_password":
		return WeakPassword
	case "mfa_verification_rejected", "unknown": // a hook's refusal has no code of its own
		return Rejected
	case "validation_failed":
		return invalidInput(call, status)
	}
	if strings.HasSuffix(code, "_disabled") || strings.HasSuffix(code, "_not_enabled") {
		return NotAvailable
	}
	return Other
}

// invalidInput reads validation_failed where a single input can be meant.
func invalidInput(call authCall, status int) RefusalKind {
	switch {
	case call == callRefresh: // not a token of the form this project issues (any more)
		return SessionEnded
	case call == callEmailCode:
		return CodeWrong
	case call == callFactor && status == http.StatusNotFound: // not the id of a factor
		return FactorGone
	case call == callFactor:
		return FactorWrong
	}
	return Other
}

// secondsToWait reads "you can only request this after 59 seconds."; 0 where
// that is not there, or too much to believe.
func secondsToWait(message string) time.Duration {
	_, rest, _ := strings.Cut(message, " after ")
	number, _, found := strings.Cut(rest, " second")
	n, err := strconv.Atoi(number)
	if !found || err != nil || n < 0 || n > 3600 {
		return 0
	}
	return time.Duration(n) * time.Second
}
