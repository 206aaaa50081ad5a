package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// setup is the first page of an instance without an owner. Later it leads on.
func (d *dashboard) setup(c echo.Context) error {
	needed, err := d.Tenants.NeedsSetup(c.Request().Context())
	if err != nil {
		return err
	}
	if !needed {
		return c.Redirect(http.StatusSeeOther, "/app")
	}
	return d.bare(c, http.StatusOK, "Set up", web.Setup(web.SetupPage{}))
}

// completeSetup makes the first owner and leads to registering a project.
func (d *dashboard) completeSetup(c echo.Context) error {
	session, err := d.Tenants.CompleteSetup(c.Request().Context(), tenants.Setup{
		Code: seal.NewSecret(posted(c, "code")), Email: posted(c, "email"), Password: seal.NewSecret(posted(c, "password")),
		Organization: posted(c, "organization"), Address: d.address(c), Agent: c.Request().UserAgent(),
	})
	if err != nil {
		form, status, ok := refusedForm(c, err, "email", "organization")
		if !ok || status == http.StatusConflict { // somebody owns it: no form mends that
			return err
		}
		if code := fault.From(err).Code; code == "setup_code_wrong" || code == "setup_code_void" {
			form.Field = "code"
		}
		return d.bare(c, status, "Set up", web.Setup(web.SetupPage{Form: form}))
	}
	d.setCookie(c, session.Cookie, session)
	return c.Redirect(http.StatusSeeOther, "/app/register")
}
