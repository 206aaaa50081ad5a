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

// credentials is what sign-up and sign-in read.
type credentials struct {
	Email        string         `json:"email"`
	Phone        string         `json:"phone"`
	Password     string         `json:"password"`
	Data         map[string]any `json:"data"`
	RefreshToken string         `json:"refresh_token"`
	AuthCode     string         `json:"auth_code"`
	CodeVerifier string         `json:"code_verifier"`
	Security     struct {
		CaptchaToken string `json:"captcha_token"`
	} `json:"gotrue_meta_security"`
}

// token is the plain token endpoint; the grant is named in the query only.
func (a *authServer) token(w http.ResponseWriter, r *http.Request) error {
	grant := r.URL.Query().Get("grant_type")
	if grant != "password" && grant != "refresh_token" && grant != "pkce" {
		return newAuthError(http.StatusBadRequest, "invalid_credentials", "unsupported_grant_type")
	}
	var in credentials
	if err := readAuthJSON(r, &in); err != nil {
		return err
	}
	switch grant {
	case "password":
		return a.passwordGrant(w, r, &in)
	case "pkce":
		return a.pkceGrant(w, r, &in)
	default:
		return a.plainRefresh(w, r, &in)
	}
}

func (a *authServer) passwordGrant(w http.ResponseWriter, r *http.Request, in *credentials) error {
	if err := a.checkCaptcha(r, in.Security.CaptchaToken); err != nil {
		return err
	}
	p, err := a.checkPassword(r.Context(), in)
	if err != nil {
		return err
	}
	i, err := a.startSession(r.Context(), p, methodPassword, "", "")
	if err != nil {
		return err
	}
	return a.writeSession(w, i, p, map[string]any{"weak_password": nil})
}

func (a *authServer) checkPassword(ctx context.Context, in *credentials) (*person, error) {
	switch {
	case in.Phone != "":
		return nil, newAuthError(http.StatusUnprocessableEntity, "phone_provider_disabled", "Phone logins are disabled")
	case in.Email == "":
		return nil, invalidInput("missing email or phone")
	case a.cfg.emailOff:
		return nil, emailDisabled()
	}
	p, err := a.people.byEmail(ctx, in.Email)
	switch {
	case errors.Is(err, errNoPerson) || (err == nil && !p.passwordIs(in.Password) && !p.banned(a.cfg.now())):
		return nil, newAuthError(http.StatusBadRequest, "invalid_credentials", "Invalid login credentials")
	case err != nil:
		return nil, err
	case p.banned(a.cfg.now()):
		return nil, newAuthError(http.StatusBadRequest, "user_banned", "User is banned")
	case p.EmailConfirmedAt == nil:
		return nil, newAuthError(http.StatusBadRequest, "email_not_confirmed", "Email not confirmed")
	}
	return p, nil
}

func emailDisabled() error {
	return newAuthError(http.StatusUnprocessableEntity, "email_provider_disabled", "Email logins are disabled")
}

func signupDisabled() error {
	return newAuthError(http.StatusUnprocessableEntity, "signup_disabled", "Signups not allowed for this instance")
}

func (a *authServer) plainRefresh(w http.ResponseWriter, r *http.Request, in *credentials) error {
	if _, _, ok := parseV2(in.RefreshToken); len(in.RefreshToken) != v1TokenLength && !ok {
		return invalidInput("Refresh token is not valid")
	}
	i, p, err := a.refresh(r.Context(), w, in.RefreshToken, nil)
	if err != nil {
		return err
	}
	return a.writeSession(w, i, p, nil)
}

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
	if err := a.checkSignup(&in); err != nil {
		return err
	}
	existing, err := a.people.byEmail(r.Context(), in.Email)
	if err != nil && !errors.Is(err, errNoPerson) {
		return err
	}
	now := a.cfg.now().UTC()
	if existing != nil && (!a.cfg.confirmationOn || existing.EmailConfirmedAt == nil) {
		return newAuthError(http.StatusUnprocessableEntity, "user_already_exists", "User already registered")
	}
	if existing != nil {
		writeAuthJSON(w, http.StatusOK, pretendPerson(existing, now))
		return nil
	}
	p, err := newPerson(User{Email: in.Email, Password: in.Password, UserMetadata: in.Data, Unconfirmed: a.cfg.confirmationOn}, now)
	if err != nil {
		return err
	}
	if a.cfg.confirmationOn {
		return a.signupByMail(w, r, p)
	}
	if err := a.people.insert(r.Context(), p); err != nil {
		return err
	}
	i, err := a.startSession(r.Context(), p, methodPassword, "", "")
	if err != nil {
		return err
	}
	p.Identities[0].Data["email_verified"] = true // the answer says so; the row does not
	return a.writeSession(w, i, p, nil)
}

func (a *authServer) checkSignup(in *credentials) error {
	switch {
	case a.cfg.signupOff:
		return signupDisabled()
	case in.Email == "" && in.Phone == "" && in.Password == "":
		return newAuthError(http.StatusUnprocessableEntity, "anonymous_provider_disabled", "Anonymous sign-ins are disabled")
	case in.Phone != "":
		return newAuthError(http.StatusUnprocessableEntity, "phone_provider_disabled", "Phone logins are disabled")
	case a.cfg.emailOff:
		return emailDisabled()
	case in.Password == "":
		return invalidInput("Signup requires a valid password")
	}
	if err := checkAddress(in.Email); err != nil {
		return err
	}
	return checkStrength(in.Password)
}

func checkAddress(email string) error {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || !strings.Contains(email, "@") {
		return invalidInput("Unable to validate email address: invalid format")
	}
	return nil
}

func (a *authServer) signupByMail(w http.ResponseWriter, r *http.Request, p *person) error {
	if err := a.mayMail(p.Email, nil); err != nil {
		return err
	}
	now := a.cfg.now().UTC()
	p.ConfirmationSentAt = &now
	if err := a.people.insert(r.Context(), p); err != nil {
		return err
	}
	a.sendLink(p, "signup", "Confirm your address", a.redirectTo(r), nil)
	writeAuthJSON(w, http.StatusOK, p)
	return nil
}

// pretendPerson is the answer for an address that is taken.
func pretendPerson(real *person, now time.Time) *person {
	return &person{ID: uuid.NewString(), Aud: "authenticated", Email: real.Email, ConfirmationSentAt: &now,
		RecoverySentAt: real.RecoverySentAt, CreatedAt: now, UpdatedAt: now, Identities: []identity{},
		AppMetadata: map[string]any{"provider": "email", "providers": []string{"email"}}, UserMetadata: map[string]any{}}
}
