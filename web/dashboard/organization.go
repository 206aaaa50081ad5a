package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/web"
)

// switchOrganization makes the session work in another organization of its
// builder.
func (d *dashboard) switchOrganization(c echo.Context) error {
	if err := d.Tenants.SwitchOrganization(c.Request().Context(), sessionOf(c), posted(c, "organization")); err != nil {
		return err
	}
	return done(c, "/app", "switched")
}

func (d *dashboard) newOrganizationPage(c echo.Context) error {
	return d.organizationForm(c, http.StatusOK, web.Form{})
}

func (d *dashboard) organizationForm(c echo.Context, status int, form web.Form) error {
	return d.page(c, status, "New organization", web.NewOrganization(web.NewOrganizationPage{
		Common: d.common(c), Form: form, First: len(sessionOf(c).Organizations) == 0,
	}))
}

func (d *dashboard) newOrganization(c echo.Context) error {
	if _, err := d.Tenants.NewOrganization(c.Request().Context(), sessionOf(c), posted(c, "organization")); err != nil {
		form, status, ok := refusedForm(c, err, "organization")
		if !ok {
			return err
		}
		return d.organizationForm(c, status, form)
	}
	return done(c, "/app", "organization")
}
