package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// signInPage asks who is there. Somebody who is signed in goes on.
func (d *dashboard) signInPage(c echo.Context) error {
	next := localPath(c.QueryParam("next"))
	if _, err := d.findSession(c); err == nil {
		return c.Redirect(http.StatusSeeOther, next)
	} else if !fault.Is(err, fault.Unauthenticated) {
		return err
	}
	needed, err := d.Tenants.NeedsSetup(c.Request().Context())
	if err != nil {
		return err
	}
	if needed {
		return c.Redirect(http.StatusSeeOther, "/app/setup")
	}
	return d.bare(c, http.StatusOK, "Sign in", web.SignIn(web.SignInPage{Next: next}))
}

// signIn begins a session with a cookie of our own making: what the browser
// sent before is ended, never taken over.
func (d *dashboard) signIn(c echo.Context) error {
	ctx, next := c.Request().Context(), localPath(posted(c, "next"))
	session, err := d.Tenants.SignIn(ctx, tenants.SignIn{
		Email: posted(c, "email"), Password: seal.NewSecret(posted(c, "password")), Address: d.address(c), Agent: c.Request().UserAgent(),
	})
	if err != nil {
		form, status, ok := refusedForm(c, err, "email")
		if !ok {
			return err
		}
		return d.bare(c, status, "Sign in", web.SignIn(web.SignInPage{Form: form, Next: next}))
	}
	if before := d.cookie(c); !before.IsZero() {
		if err := d.Tenants.SignOut(ctx, before, d.address(c)); err != nil {
			return err
		}
	}
	d.setCookie(c, session.Cookie, session)
	return c.Redirect(http.StatusSeeOther, next)
}

// signOut ends the session of this browser.
func (d *dashboard) signOut(c echo.Context) error {
	if err := d.Tenants.SignOut(c.Request().Context(), d.cookie(c), d.address(c)); err != nil {
		return err
	}
	d.clearCookie(c)
	return c.Redirect(http.StatusSeeOther, "/app/sign-in")
}
