package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// getOwnership is GET /projects/:project/ownership: how the project was proven,
// or the SQL that proves it.
func (a *api) getOwnership(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	served, why := a.Builders.Served(project)
	o := project.Ownership
	return writeJSON(c, http.StatusOK, ownershipAnswer{
		Verified: project.VerifiedAt != nil, VerifiedAt: project.VerifiedAt, Method: o.Method, CheckedAt: o.CheckedAt, Misses: o.Misses,
		SignInPaused: o.SignInPaused(), TakenOverAt: o.TakenOverAt, Served: served, Why: why,
		Token: o.Token, SQL: tenants.OwnershipSQL(o.Token),
	})
}

// proveByFunction is POST …/ownership/check: ask the project's database for our
// token.
func (a *api) proveByFunction(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	project, err := a.Builders.ProveByFunction(c.Request().Context(), principal(c), c.Param("project"))
	if err != nil {
		return err
	}
	return a.writeProject(c, http.StatusOK, project)
}

// proveBySecretKey is POST …/ownership/secret, and proveByManagement POST
// …/ownership/management: one call with a key that is kept nowhere.
func (a *api) proveBySecretKey(c echo.Context) error {
	return a.proveOnce(c, "secret_key", a.Builders.ProveBySecretKey)
}

func (a *api) proveByManagement(c echo.Context) error {
	return a.proveOnce(c, "access_token", a.Builders.ProveByManagement)
}

type proveOnce = func(ctx context.Context, p tenants.Principal, project string, key seal.Secret) (tenants.Project, error)

func (a *api) proveOnce(c echo.Context, member string, prove proveOnce) error {
	key, err := readSecret(c, member)
	if err != nil {
		return err
	}
	project, err := prove(c.Request().Context(), principal(c), c.Param("project"), key)
	if err != nil {
		return err
	}
	return a.writeProject(c, http.StatusOK, project)
}
