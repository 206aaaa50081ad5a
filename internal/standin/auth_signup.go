package standin

import (
	"context"
	"errors"
	"net/http"
	"net/mail"
	"strings"
	"time"

	"github.com/google/uuid"
)

// signup makes an account. With confirmation mails off it also signs in; with
// them on, an existing address gets an answer that looks like a new one.
func (a *authServer) signup(w http.ResponseWriter, r *http.Request) error {
	var in credentials
	if err := readAuthJSON(r, &in); err != nil {
		return err
	}
	if err := a.checkCaptcha(r, in.Security.CaptchaToken); err != nil {
		return err
	}
	in.Method = strings.ToLower(in.Method)
	if in.Email == "" && in.Phone == "" {
		return a.signupAnonymously(w, r, &in)
	}
	if err := a.checkSignup(&in); err != nil {
		return err
	}
	existing, err := a.people.byEmail(r.Context(), in.Email)
	if err != nil && !errors.Is(err, errNoPerson) {
		return err
	}
	if existing != nil && existing.EmailConfirmedAt != nil {
		if !a.cfg.confirmationOn {
			return newAuthError(http.StatusUnprocessableEntity, "user_already_exists", "User already registered")
		}
		writeAuthJSON(w, http.StatusOK, pretendPerson(existing, a.cfg.now().UTC()))
		return nil
	}
	p := existing // somebody who never confirmed keeps what they first said
	if p == nil {
		p, err = newPerson(User{Email: in.Email, Password: in.Password, UserMetadata: in.Data, Unconfirmed: a.cfg.confirmationOn},
			a.cfg.now().UTC())
		if err != nil {
			return err
		}
	}
	if a.cfg.confirmationOn {
		to := a.redirectTo(r)
		if err := a.mailConfirmation(r.Context(), p, existing == nil, to, in.flow(methodSignup, to)); err != nil {
			return err
		}
		writeAuthJSON(w, http.StatusOK, p)
		return nil
	}
	if err := a.saveConfirmed(r.Context(), p, existing == nil); err != nil {
		return err
	}
	i, err := a.startSession(r.Context(), p, methodPassword, "", "")
	if err != nil {
		return err
	}
	p.verifyIdentities() // the answer says so; the row does not
	return a.writeSession(w, i, p, nil)
}

func (a *authServer) saveConfirmed(ctx context.Context, p *person, made bool) error {
	if made {
		return a.people.insert(ctx, p)
	}
	p.confirm(a.cfg.now().UTC())
	return a.people.update(ctx, p)
}

func (a *authServer) checkSignup(in *credentials) error {
	switch {
	case a.cfg.signupOff:
		return signupDisabled()
	case in.Password == "":
		return invalidInput("Signup requires a valid password")
	}
	if err := checkStrength(in.Password); err != nil {
		return err
	}
	if err := flowChallenge(in.Challenge, in.Method); err != nil {
		return err
	}
	switch {
	case in.Phone != "":
		return newAuthError(http.StatusBadRequest, "phone_provider_disabled", "Phone signups are disabled")
	case a.cfg.emailOff:
		return newAuthError(http.StatusBadRequest, "email_provider_disabled", "Email signups are disabled")
	}
	return checkAddress(in.Email)
}

// signupAnonymously makes somebody without an address.
func (a *authServer) signupAnonymously(w http.ResponseWriter, r *http.Request, in *credentials) error {
	switch {
	case !a.cfg.anonymousOn:
		return newAuthError(http.StatusUnprocessableEntity, "anonymous_provider_disabled", "Anonymous sign-ins are disabled")
	case a.cfg.signupOff:
		return signupDisabled()
	}
	now := a.cfg.now().UTC()
	p := &person{ID: uuid.NewString(), Aud: "authenticated", Role: "authenticated", IsAnonymous: true, CreatedAt: now, UpdatedAt: now,
		AppMetadata: map[string]any{}, UserMetadata: in.Data, Identities: []identity{}}
	if p.UserMetadata == nil {
		p.UserMetadata = map[string]any{}
	}
	if err := a.people.insert(r.Context(), p); err != nil {
		return err
	}
	i, err := a.startSession(r.Context(), p, methodAnonymous, "", "")
	if err != nil {
		return err
	}
	return a.writeSession(w, i, p, nil)
}

func checkAddress(email string) error {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || !strings.Contains(email, "@") {
		return invalidInput("Unable to validate email address: invalid format")
	}
	return nil
}

// pretendPerson is the answer for an address that is taken.
func pretendPerson(real *person, now time.Time) *person {
	return &person{ID: uuid.NewString(), Aud: "authenticated", Email: real.Email, ConfirmationSentAt: &now,
		RecoverySentAt: real.RecoverySentAt, CreatedAt: now, UpdatedAt: now, Identities: []identity{},
		AppMetadata: map[string]any{"provider": "email", "providers": []string{"email"}}, UserMetadata: map[string]any{}}
}
