package standin

import (
	"context"
	"errors"
	"net/http"
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
	Challenge    string         `json:"code_challenge"`
	Method       string         `json:"code_challenge_method"`
	Security     struct {
		CaptchaToken string `json:"captcha_token"`
	} `json:"gotrue_meta_security"`
}

// flow is the PKCE flow that a sign-up asks for, nil for none.
func (in *credentials) flow(method, to string) *flowState {
	return (&mailRequest{Challenge: in.Challenge, Method: in.Method}).flow(method, to)
}

// token is the plain token endpoint; the grant is named in the query only.
func (a *authServer) token(w http.ResponseWriter, r *http.Request) error {
	grant := r.URL.Query().Get("grant_type")
	switch grant {
	case "password", "pkce":
	case "refresh_token":
		a.refreshes.Add(1)
	case "id_token":
		return idTokenOff(r)
	case "web3":
		return a.web3Off(r)
	default:
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
	case errors.Is(err, errNoPerson) || (err == nil && p.passwordHash == ""):
		return nil, newAuthError(http.StatusBadRequest, "invalid_credentials", "Invalid login credentials")
	case err != nil:
		return nil, err
	case p.banned(a.cfg.now()): // told whatever the password
		return nil, newAuthError(http.StatusBadRequest, "user_banned", "User is banned")
	case !p.passwordIs(in.Password):
		return nil, newAuthError(http.StatusBadRequest, "invalid_credentials", "Invalid login credentials")
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
