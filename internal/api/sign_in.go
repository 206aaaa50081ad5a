package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// getSignIn is GET /projects/:project/sign-in: how the project's people sign in
// at bridge surfaces.
func (a *api) getSignIn(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	settings, err := a.Bridge.SignInSettings(c.Request().Context(), principal(c), project.ID)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, signInOf(settings))
}

// putSignIn is PUT …/sign-in. What is left out stays as it is. The client's
// secret is sealed at once and in no answer.
func (a *api) putSignIn(c echo.Context) error {
	var in struct {
		Method          *string `json:"method"`
		ClientID        *string `json:"client_id"`
		ClientSecret    string  `json:"client_secret"`
		CaptchaProvider *string `json:"captcha_provider"`
		CaptchaSiteKey  *string `json:"captcha_site_key"`
	}
	if err := readJSON(c, maxSecretBody, &in); err != nil {
		return err
	}
	change := bridge.SignInChange{Method: in.Method, ClientID: in.ClientID, CaptchaProvider: in.CaptchaProvider, CaptchaSiteKey: in.CaptchaSiteKey}
	if in.ClientSecret != "" {
		change.ClientSecret = seal.NewSecret(in.ClientSecret)
	}
	if in.Method == nil && in.ClientID == nil && in.ClientSecret == "" && in.CaptchaProvider == nil && in.CaptchaSiteKey == nil {
		return fault.New(fault.Invalid, "sign_in_settings_invalid", "Nothing was changed: send at least one of method, client_id with client_secret, captcha_provider and captcha_site_key.")
	}
	project, err := a.project(c)
	if err != nil {
		return err
	}
	settings, err := a.Bridge.ChangeSignIn(c.Request().Context(), principal(c), project.ID, change)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, signInOf(settings))
}

type signInJSON struct {
	Method          string     `json:"method"` // auto, oauth or hosted
	ClientID        string     `json:"client_id,omitempty"`
	ClientSource    string     `json:"client_source,omitempty"` // registered or pasted
	CaptchaProvider string     `json:"captcha_provider,omitempty"`
	CaptchaSiteKey  string     `json:"captcha_site_key,omitempty"`
	CaptchaNeeded   bool       `json:"captcha_needed"`
	CallbackURL     string     `json:"callback_url"`     // redirect URI of the OAuth client at the project
	RedirectPattern string     `json:"redirect_pattern"` // to be allowed at the project for mailed links and providers
	UpdatedAt       *time.Time `json:"updated_at,omitempty"`
}

func signInOf(s bridge.SignInSettings) signInJSON {
	return signInJSON{
		Method: s.Method, ClientID: s.ClientID, ClientSource: s.ClientSource, CaptchaProvider: s.CaptchaProvider, CaptchaSiteKey: s.CaptchaSiteKey,
		CaptchaNeeded: s.CaptchaNeeded, CallbackURL: s.CallbackURL, RedirectPattern: s.RedirectPattern, UpdatedAt: s.UpdatedAt,
	}
}
