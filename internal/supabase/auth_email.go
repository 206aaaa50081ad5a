package supabase

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// challengeMethod as Auth's own clients spell it at the sign-in endpoints.
const challengeMethod = "s256"

// EmailOptions shape a call that sends a mail.
type EmailOptions struct {
	RedirectTo    string // where the mail's link leads, with ?code=; must be on the project's allow list
	CodeChallenge string // S256, of Challenge; empty: the link brings tokens in a fragment, which we cannot read
	Captcha       string // the widget's token; empty without a captcha
}

// emailBody are the options in a request's body.
type emailBody struct {
	Challenge string    `json:"code_challenge,omitempty"`
	Method    string    `json:"code_challenge_method,omitempty"`
	Security  *security `json:"gotrue_meta_security,omitempty"`
}

func (o EmailOptions) body() emailBody {
	b := emailBody{Challenge: o.CodeChallenge, Security: securityOf(o.Captcha)}
	if o.CodeChallenge != "" {
		b.Method = challengeMethod // one without the other is refused
	}
	return b
}

func (o EmailOptions) path(endpoint string) string {
	if o.RedirectTo == "" {
		return endpoint
	}
	return endpoint + "?" + url.Values{"redirect_to": {o.RedirectTo}}.Encode()
}

// needEmail refuses what Auth would take for another way to sign in.
func needEmail(email string) error {
	if strings.TrimSpace(email) == "" {
		return fault.New(fault.Invalid, "email_missing", "No email address was given. Type the address of your account.")
	}
	return nil
}

// SendCode mails a sign-in code or link (whichever the project's template
// has). Without createUser an unknown address is refused as NotAvailable with
// code otp_disabled: do not tell the visitor. Errors: *AuthRefusal
// (RateLimited with RetryAfter, CaptchaFailed, NotAvailable), *fault.Error.
func (c *Client) SendCode(ctx context.Context, p Project, email string, createUser bool, o EmailOptions) error {
	return c.sendMail(ctx, p, o.path("otp"), email, struct {
		Email  string `json:"email"`
		Create bool   `json:"create_user"`
		emailBody
	}{email, createUser, o.body()})
}

// Resend mails the confirmation of a sign-up again; the earlier link dies. It
// succeeds for unknown and confirmed addresses too. Errors: *AuthRefusal
// (RateLimited with RetryAfter, CaptchaFailed, NotAvailable), *fault.Error.
func (c *Client) Resend(ctx context.Context, p Project, email string, o EmailOptions) error {
	return c.sendMail(ctx, p, o.path("resend"), email, struct {
		Type  string `json:"type"`
		Email string `json:"email"`
		emailBody
	}{"signup", email, o.body()})
}

func (c *Client) sendMail(ctx context.Context, p Project, rest, email string, input any) error {
	if err := needEmail(email); err != nil {
		return err
	}
	r, err := c.authPost(ctx, p, callSignIn, rest, input)
	if err != nil {
		return err
	}
	if !json.Valid(r.body) {
		return authUnavailable(errors.New("a page instead of an answer"), 0)
	}
	return nil
}

// VerifyEmailCode signs in with the code of a mail. No verifier is needed, even
// where the mail was asked for with a challenge. Errors: *AuthRefusal
// (CodeWrong, Banned, RateLimited, Rejected), *fault.Error.
func (c *Client) VerifyEmailCode(ctx context.Context, p Project, email, code string) (Tokens, error) {
	if err := needEmail(email); err != nil {
		return Tokens{}, err
	}
	r, err := c.authPost(ctx, p, callEmailCode, "verify", struct {
		Type  string `json:"type"`
		Email string `json:"email"`
		Code  string `json:"token"`
	}{"email", email, code})
	if err != nil {
		return Tokens{}, err
	}
	return r.tokens()
}
