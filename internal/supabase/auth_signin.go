package supabase

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// security is where Auth reads a captcha token.
type security struct {
	CaptchaToken string `json:"captcha_token"`
}

func securityOf(captcha string) *security {
	if captcha == "" {
		return nil
	}
	return &security{captcha}
}

// SignInPassword signs in with email and password. Captcha is the widget's
// token, used up by any answer; empty without a captcha. A user with a second
// factor gets a session too, at aal1: look at User.Factors. Errors:
// *AuthRefusal (WrongCredentials, NotConfirmed, Banned, CaptchaFailed,
// RateLimited, NotAvailable, Rejected), *fault.Error. Never try again by
// itself: all users share one rate limit.
func (c *Client) SignInPassword(ctx context.Context, p Project, email string, password seal.Secret, captcha string) (Tokens, error) {
	if err := needEmail(email); err != nil {
		return Tokens{}, err
	}
	return c.token(ctx, p, callSignIn, "password", struct {
		Email    string    `json:"email"`
		Password string    `json:"password"`
		Security *security `json:"gotrue_meta_security,omitempty"`
	}{email, password.Reveal(), securityOf(captcha)})
}

// RefreshSession turns the refresh token of a first-party session (any but one
// of ExchangeCode) into new tokens. Store them before use; after a lost answer
// the same refresh token works again. Errors: *AuthRefusal (SessionEnded,
// RateLimited, Rejected), *fault.Error: the session stays as it was.
func (c *Client) RefreshSession(ctx context.Context, p Project, refresh seal.Secret) (Tokens, error) {
	if refresh.IsZero() {
		return Tokens{}, missing("refresh token")
	}
	return c.token(ctx, p, callRefresh, "refresh_token", struct {
		Refresh string `json:"refresh_token"`
	}{refresh.Reveal()})
}

// ExchangePKCE turns the code that a mail's link or an external provider
// brought back into a session. The verifier is the one whose challenge went
// into the request that began it. Errors: *AuthRefusal (CodeWrong,
// RateLimited, Rejected), *fault.Error.
func (c *Client) ExchangePKCE(ctx context.Context, p Project, code string, verifier seal.Secret) (Tokens, error) {
	return c.token(ctx, p, callSignIn, "pkce", struct {
		Code     string `json:"auth_code"`
		Verifier string `json:"code_verifier"`
	}{code, verifier.Reveal()})
}

// token is the plain token endpoint; it reads the grant from the query only.
func (c *Client) token(ctx context.Context, p Project, call authCall, grant string, input any) (Tokens, error) {
	r, err := c.authPost(ctx, p, call, "token?grant_type="+grant, input)
	if err != nil {
		return Tokens{}, err
	}
	return r.tokens()
}

// SignUp makes an account. True means that a confirmation mail is on its way
// and there is no session yet; that is also the answer for an address that has
// an account, where confirmations are on. Errors: *AuthRefusal (UserExists,
// WeakPassword, CaptchaFailed, RateLimited, NotAvailable, Rejected),
// *fault.Error.
func (c *Client) SignUp(ctx context.Context, p Project, email string, password seal.Secret, o EmailOptions) (Tokens, bool, error) {
	// Without an email Auth would make an anonymous user.
	if err := needEmail(email); err != nil {
		return Tokens{}, false, err
	}
	r, err := c.authPost(ctx, p, callSignIn, o.path("signup"), struct {
		Email    string `json:"email"`
		Password string `json:"password"`
		emailBody
	}{email, password.Reveal(), o.body()})
	if err != nil {
		return Tokens{}, false, err
	}
	return readSignUp(r)
}

func readSignUp(r reply) (Tokens, bool, error) {
	var kind struct {
		Access json.RawMessage `json:"access_token"`
	}
	if json.Unmarshal(r.body, &kind) != nil || kind.Access != nil {
		t, err := r.tokens()
		return t, false, err
	}
	if _, err := readUser(r.body); err != nil {
		return Tokens{}, false, authUnavailable(err, 0)
	}
	return Tokens{}, true, nil
}

// ProviderURL is where the browser goes to sign in with an external provider
// of Settings. It comes back to redirectTo with ?code= for ExchangePKCE, or
// with ?error=; within five minutes, or it ends at the project's site. There
// is no state: put what is needed into redirectTo, which the project must
// list, query included.
func ProviderURL(issuer, provider, redirectTo, challenge string) string {
	return issuer + "/authorize?" + url.Values{
		"provider": {provider}, "redirect_to": {redirectTo}, "code_challenge": {challenge}, "code_challenge_method": {challengeMethod},
	}.Encode()
}
