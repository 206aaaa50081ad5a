package dashboard

import (
	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/web"
)

// setSignIn says where the project's people sign in, and with which captcha.
func (d *dashboard) setSignIn(c echo.Context) error {
	method, provider, siteKey := posted(c, "method"), posted(c, "captcha_provider"), posted(c, "captcha_site_key")
	return d.changeSignIn(c, "sign-in", bridge.SignInChange{Method: &method, CaptchaProvider: &provider, CaptchaSiteKey: &siteKey},
		"method", "captcha_provider", "captcha_site_key")
}

// setSignInClient keeps a client that was made by hand. Its secret goes no
// further than to where it is sealed.
func (d *dashboard) setSignInClient(c echo.Context) error {
	clientID := posted(c, "client_id")
	change := bridge.SignInChange{ClientID: &clientID}
	if secret := posted(c, "client_secret"); secret != "" {
		change.ClientSecret = seal.NewSecret(secret)
	}
	return d.changeSignIn(c, "sign-in-client", change, "client_id")
}

// forgetSignInClient forgets our client of the project.
func (d *dashboard) forgetSignInClient(c echo.Context) error {
	none := ""
	return d.changeSignIn(c, "sign-in-forget", bridge.SignInChange{ClientID: &none})
}

// changeSignIn changes the settings and says so, or shows the form of that
// name again, with the fields to keep.
func (d *dashboard) changeSignIn(c echo.Context, way string, change bridge.SignInChange, keep ...string) error {
	h, err := d.head(c)
	if err != nil {
		return err
	}
	_, err = d.Bridge.ChangeSignIn(c.Request().Context(), principal(c), h.Project.ID, change)
	if err == nil {
		return done(c, web.ProjectPath(h.Project.Slug)+"/settings", way)
	}
	form, status, ok := refusedForm(c, err, keep...)
	if !ok {
		return err
	}
	return d.settingsPage(c, status, form, way)
}
