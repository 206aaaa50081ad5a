package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/web"
)

// device asks for the code that a terminal shows, then whether its sign-in is
// wanted. Looking a code up decides nothing.
func (d *dashboard) device(c echo.Context) error {
	p := web.DevicePage{Common: d.common(c), Organization: principal(c).Organization.Name}
	code := c.QueryParam("user_code")
	if code == "" {
		return d.page(c, http.StatusOK, "Sign in a terminal", web.Device(p))
	}
	pending, err := d.Tenants.PendingDevice(c.Request().Context(), principal(c), code)
	if err != nil {
		return d.wrongCode(c, p, err)
	}
	p.Pending = &pending
	return d.page(c, http.StatusOK, "Sign in a terminal", web.Device(p))
}

// wrongCode shows the form again: that a code is not known is no missing page.
func (d *dashboard) wrongCode(c echo.Context, p web.DevicePage, err error) error {
	refused := fault.From(err)
	if refused.Kind == fault.Internal {
		return err
	}
	fault.SetRetryAfter(c.Response().Header(), refused.RetryAfter)
	p.Code = shortened(c.FormValue("user_code"))
	if len(p.Code) > 20 {
		p.Code = ""
	}
	p.Form = web.Form{Refusal: refused.Message, Field: "user_code"}
	return d.page(c, refused.Kind.Status(), "Sign in a terminal", web.Device(p))
}

func (d *dashboard) decideDevice(c echo.Context) error {
	decision := posted(c, "decision")
	if decision != "approve" && decision != "deny" {
		return fault.New(fault.Invalid, "decision", "Choose Approve or Deny.")
	}
	approve := decision == "approve"
	err := d.Tenants.DecideDevice(c.Request().Context(), principal(c), posted(c, "user_code"), approve)
	if err != nil {
		return d.wrongCode(c, web.DevicePage{Common: d.common(c), Organization: principal(c).Organization.Name}, err)
	}
	if approve {
		return done(c, "/app/tokens", "approved")
	}
	return done(c, "/app/tokens", "denied")
}
