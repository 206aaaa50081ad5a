package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// putSchema is PUT /projects/:project/schema: a schema snapshot
// (chumbo.schema/1), which becomes the project's latest.
func (a *api) putSchema(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	var snapshot surfaces.Snapshot
	if err := readJSON(c, maxSchema, &snapshot); err != nil {
		return err
	}
	stored, err := a.Surfaces.PutSnapshot(c.Request().Context(), principal(c).Organization.ID, project.ID, &snapshot, surfaces.SourceFile)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, snapshotOf(stored, false))
}

// getSchema is GET /projects/:project/schema, whole or with ?summary=true.
func (a *api) getSchema(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	summary, err := flag(c, "summary")
	if err != nil {
		return err
	}
	stored, err := a.Surfaces.LatestSnapshot(c.Request().Context(), principal(c).Organization.ID, project.ID)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, snapshotOf(stored, !summary))
}

// flag reads a query parameter that is true, false or absent.
func flag(c echo.Context, name string) (bool, error) {
	switch c.QueryParam(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, fault.New(fault.Invalid, "query", "The query parameter %s is true or false.", name)
}
