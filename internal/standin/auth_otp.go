package standin

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// mailRequest is what the endpoints that send mails read.
type mailRequest struct {
	Type       string         `json:"type"` // of resend
	Email      string         `json:"email"`
	Phone      string         `json:"phone"`
	CreateUser *bool          `json:"create_user"`
	Data       map[string]any `json:"data"`
	Challenge  string         `json:"code_challenge"`
	Method     string         `json:"code_challenge_method"`
	Security   struct {
		CaptchaToken string `json:"captcha_token"`
	} `json:"gotrue_meta_security"`
}

func (a *authServer) readMailRequest(r *http.Request) (*mailRequest, error) {
	var in mailRequest
	if err := readAuthJSON(r, &in); err != nil {
		return nil, err
	}
	if err := a.checkCaptcha(r, in.Security.CaptchaToken); err != nil {
		return nil, err
	}
	in.Method = strings.ToLower(in.Method)
	return &in, nil
}

// flow is the PKCE flow that the request asks for, nil for none.
func (in *mailRequest) flow(method, to string) *flowState {
	if in.Challenge == "" {
		return nil
	}
	return &flowState{id: uuid.NewString(), method: method, to: to, challenge: in.Challenge, chMethod: in.Method}
}

// otp mails a sign-in link with its code. Somebody new, or not confirmed yet,
// signs up by it.
func (a *authServer) otp(w http.ResponseWriter, r *http.Request) error {
	in, err := a.readMailRequest(r)
	if err != nil {
		return err
	}
	if err := flowChallenge(in.Challenge, in.Method); err != nil {
		return err
	}
	p, err := a.people.byEmail(r.Context(), in.Email)
	if err != nil && !errors.Is(err, errNoPerson) {
		return err
	}
	if err := a.mayMailSignIn(in, p); err != nil {
		return err
	}
	if a.cfg.confirmationOn && (p == nil || p.EmailConfirmedAt == nil) {
		err = a.signUpByMail(r, in, p)
	} else if p, err = a.confirmed(r.Context(), in, p); err == nil {
		err = a.mailSignIn(r, p, in, mailMagicLink)
	}
	if err != nil {
		return err
	}
	writeAuthJSON(w, http.StatusOK, map[string]any{})
	return nil
}

// mayMailSignIn says what stands against an otp request; p is nil for somebody
// new.
func (a *authServer) mayMailSignIn(in *mailRequest, p *person) error {
	mayCreate := in.CreateUser == nil || *in.CreateUser
	switch {
	case in.Email == "" && in.Phone == "":
		return invalidInput("One of email or phone must be set")
	case p == nil && !mayCreate:
		return newAuthError(http.StatusUnprocessableEntity, "otp_disabled", "Signups not allowed for otp")
	case in.Phone != "":
		return newAuthError(http.StatusBadRequest, "phone_provider_disabled", "Unsupported phone provider")
	case a.cfg.emailOff:
		return emailDisabled()
	case a.cfg.magicLinkOff:
		return newAuthError(http.StatusUnprocessableEntity, "email_provider_disabled", "Login with magic link is disabled")
	}
	if err := checkAddress(in.Email); err != nil {
		return err
	}
	if (p == nil || p.EmailConfirmedAt == nil) && a.cfg.signupOff {
		return signupDisabled()
	}
	return nil
}

// signUpByMail sends the mail of a sign-up instead of a sign-in link. p is nil
// for somebody new.
func (a *authServer) signUpByMail(r *http.Request, in *mailRequest, p *person) error {
	made := p == nil
	if made {
		var err error
		p, err = newPerson(User{Email: in.Email, UserMetadata: in.Data, Unconfirmed: true}, a.cfg.now().UTC())
		if err != nil {
			return err
		}
	}
	to := a.redirectTo(r)
	return a.mailConfirmation(r.Context(), p, made, to, in.flow(methodSignup, to))
}

// confirmed is the person of a project that confirms nobody: made now if p is
// nil.
func (a *authServer) confirmed(ctx context.Context, in *mailRequest, p *person) (*person, error) {
	now := a.cfg.now().UTC()
	if p == nil {
		p, err := newPerson(User{Email: in.Email, UserMetadata: in.Data}, now)
		if err != nil {
			return nil, err
		}
		return p, a.people.insert(ctx, p)
	}
	if p.EmailConfirmedAt == nil {
		p.confirm(now)
	}
	return p, nil
}

// recover mails a password link, and says nothing about unknown addresses.
func (a *authServer) recover(w http.ResponseWriter, r *http.Request) error {
	in, err := a.readMailRequest(r)
	if err != nil {
		return err
	}
	if err := a.checkRecover(in); err != nil {
		return err
	}
	p, err := a.people.byEmail(r.Context(), in.Email)
	if err == nil {
		err = a.mailSignIn(r, p, in, mailRecovery)
	}
	if err != nil && !errors.Is(err, errNoPerson) {
		return err
	}
	writeAuthJSON(w, http.StatusOK, map[string]any{})
	return nil
}

func (a *authServer) checkRecover(in *mailRequest) error {
	switch {
	case a.cfg.emailOff:
		return newAuthError(http.StatusBadRequest, "email_provider_disabled", "Email logins are disabled")
	case in.Email == "":
		return invalidInput("Password recovery requires an email")
	}
	if err := checkAddress(in.Email); err != nil {
		return err
	}
	return flowChallenge(in.Challenge, in.Method)
}

// resend mails the confirmation of a sign-up again, and says nothing about
// addresses that need none.
func (a *authServer) resend(w http.ResponseWriter, r *http.Request) error {
	in, err := a.readMailRequest(r)
	if err != nil {
		return err
	}
	if err := a.checkResend(in); err != nil {
		return err
	}
	p, err := a.people.byEmail(r.Context(), in.Email)
	if err != nil && !errors.Is(err, errNoPerson) {
		return err
	}
	if p != nil && p.EmailConfirmedAt == nil && in.Type == mailSignup {
		to := a.redirectTo(r)
		if err := a.mailConfirmation(r.Context(), p, false, to, in.flow(methodSignup, to)); err != nil {
			return err
		}
	}
	writeAuthJSON(w, http.StatusOK, map[string]any{})
	return nil
}

func (a *authServer) checkResend(in *mailRequest) error {
	switch in.Type {
	case mailSignup, "email_change":
		if err := flowChallenge(in.Challenge, in.Method); err != nil {
			return err
		}
	case "sms", "phone_change":
	default:
		return invalidInput("Missing one of these types: signup, email_change, sms, phone_change")
	}
	switch {
	case in.Email == "" && in.Type == mailSignup:
		return invalidInput("Type provided requires an email address")
	case in.Phone == "" && in.Type == "sms":
		return invalidInput("Type provided requires a phone number")
	case in.Email != "" && in.Phone != "":
		return invalidInput("Only an email address or phone number should be provided.")
	case in.Email != "" && a.cfg.emailOff:
		return newAuthError(http.StatusBadRequest, "email_provider_disabled", "Email logins are disabled")
	case in.Email != "":
		return checkAddress(in.Email)
	case in.Phone != "":
		return newAuthError(http.StatusBadRequest, "phone_provider_disabled", "Phone logins are disabled")
	default:
		return invalidInput("Missing email address or phone number")
	}
}

// mailSignIn mails a magic link or a recovery link; they share one limit.
func (a *authServer) mailSignIn(r *http.Request, p *person, in *mailRequest, kind string) error {
	if err := a.mayMail(p.Email, p.RecoverySentAt); err != nil {
		return err
	}
	if err := a.noteRecovery(r.Context(), p); err != nil {
		return err
	}
	to := a.redirectTo(r)
	a.sendLink(p, kind, to, in.flow(kind, to)) // the amr methods are named like the mails
	return nil
}

func (a *authServer) noteRecovery(ctx context.Context, p *person) error {
	now := a.cfg.now().UTC()
	p.RecoverySentAt, p.UpdatedAt = &now, now
	return a.people.update(ctx, p)
}

// mailConfirmation mails the link that confirms an address. The person is made
// now if they are new.
func (a *authServer) mailConfirmation(ctx context.Context, p *person, made bool, to string, flow *flowState) error {
	if err := a.mayMail(p.Email, p.ConfirmationSentAt); err != nil {
		return err
	}
	now := a.cfg.now().UTC()
	p.ConfirmationSentAt, p.UpdatedAt = &now, now
	write := a.people.update
	if made {
		write = a.people.insert
	}
	if err := write(ctx, p); err != nil {
		return err
	}
	a.sendLink(p, mailSignup, to, flow)
	return nil
}
