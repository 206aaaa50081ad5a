package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/web"
)

func (d *dashboard) account(c echo.Context) error {
	return d.accountPage(c, http.StatusOK, web.Form{})
}

func (d *dashboard) accountPage(c echo.Context, status int, form web.Form) error {
	session := sessionOf(c)
	return d.page(c, status, "Account", web.Account(web.AccountPage{
		Common: d.common(c), Form: form, Email: session.Builder.Email, Expires: session.ExpiresAt, Seats: session.Organizations,
	}))
}

func (d *dashboard) changePassword(c echo.Context) error {
	err := d.Tenants.ChangePassword(c.Request().Context(), sessionOf(c), seal.NewSecret(posted(c, "current")), seal.NewSecret(posted(c, "password")))
	if err != nil {
		form, status, ok := refusedForm(c, err)
		if !ok {
			return err
		}
		return d.accountPage(c, status, form)
	}
	return done(c, "/app/account", "password")
}
