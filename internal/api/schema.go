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
	source, err := schemaSource(c)
	if err != nil {
		return err
	}
	if mediaType(c) != "application/json" {
		return wrongMedia()
	}
	b, err := readBody(c, maxSchema)
	if err != nil {
		return err
	}
	snapshot, err := surfaces.ParseSnapshot(b)
	if err != nil {
		return err
	}
	stored, err := a.Surfaces.PutSnapshot(c.Request().Context(), project.Organization, project.ID, snapshot, source)
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
	stored, err := a.Surfaces.LatestSnapshot(c.Request().Context(), project.Organization, project.ID)
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

// schemaSource is what the sender says of where a snapshot is from. It is
// shown, and decides nothing.
func schemaSource(c echo.Context) (surfaces.Source, error) {
	switch source := surfaces.Source(c.QueryParam("source")); source {
	case "", surfaces.SourceFile:
		return surfaces.SourceFile, nil
	case surfaces.SourcePostgres:
		return source, nil
	}
	return "", fault.New(fault.Invalid, "query", "The query parameter source is postgres or file.")
}
