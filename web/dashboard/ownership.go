package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

func (d *dashboard) ownership(c echo.Context) error {
	return d.ownershipPage(c, http.StatusOK, web.Form{}, "")
}

func (d *dashboard) ownershipPage(c echo.Context, status int, form web.Form, way string) error {
	h, err := d.head(c)
	if err != nil {
		return err
	}
	return d.page(c, status, "Ownership of "+h.Project.Name, web.Ownership(web.OwnershipPage{
		ProjectHead: h, Form: form, Way: way, SQL: tenants.OwnershipSQL(h.Project.Ownership.Token),
	}))
}

func (d *dashboard) proveByFunction(c echo.Context) error {
	_, err := d.Builders.ProveByFunction(c.Request().Context(), principal(c), c.Param("project"))
	return d.proven(c, err, "function")
}

// proveBySecretKey passes the one key through memory. It is in no page again.
func (d *dashboard) proveBySecretKey(c echo.Context) error {
	key := seal.NewSecret(posted(c, "key"))
	_, err := d.Builders.ProveBySecretKey(c.Request().Context(), principal(c), c.Param("project"), key)
	return d.proven(c, err, "key")
}

func (d *dashboard) proveByManagement(c echo.Context) error {
	token := seal.NewSecret(posted(c, "token"))
	_, err := d.Builders.ProveByManagement(c.Request().Context(), principal(c), c.Param("project"), token)
	return d.proven(c, err, "token")
}

func (d *dashboard) proven(c echo.Context, err error, way string) error {
	if err == nil {
		return done(c, web.ProjectPath(c.Param("project")), "proven")
	}
	form, status, ok := refusedForm(c, err)
	if !ok {
		return err
	}
	return d.ownershipPage(c, status, form, way)
}
