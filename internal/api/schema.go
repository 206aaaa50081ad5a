package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// putSchema is PUT /projects/:project/schema: a schema snapshot
// (chumbo.schema/1), which becomes the project's latest.
func (a *api) putSchema(c echo.Context) error {
	if _, err := a.project(c); err != nil { // before 8 MiB are read
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
	if err := refuseEscapedSecret(b); err != nil {
		return err
	}
	snapshot, err := surfaces.ParseSnapshot(b)
	if err != nil {
		return err
	}
	return a.writeImported(c)(a.Builders.PutSchema(c.Request().Context(), principal(c), c.Param("project"), snapshot, source))
}

// writeImported answers with what was imported.
func (a *api) writeImported(c echo.Context) func(surfaces.StoredSnapshot, error) error {
	return func(stored surfaces.StoredSnapshot, err error) error {
		if err != nil {
			return err
		}
		return writeJSON(c, http.StatusOK, snapshotOf(stored, false))
	}
}

// makeCatalog is POST …/schema/catalog: the SQL of chumbo_catalog for chosen
// relations.
func (a *api) makeCatalog(c echo.Context) error {
	var in struct {
		Relations []string `json:"relations"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	sql, err := a.Builders.CatalogFunction(c.Request().Context(), principal(c), c.Param("project"), in.Relations)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, catalogAnswer{SQL: sql, Relations: list(in.Relations)})
}

// importCatalog is POST …/schema/import: by chumbo_catalog.
func (a *api) importCatalog(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	return a.writeImported(c)(a.Builders.ImportCatalog(c.Request().Context(), principal(c), c.Param("project")))
}

// importManagement is POST …/schema/import/management: by Supabase's Management
// API, with a token that is kept nowhere.
func (a *api) importManagement(c echo.Context) error {
	token, err := readSecret(c, "access_token")
	if err != nil {
		return err
	}
	return a.writeImported(c)(a.Builders.ImportManagement(c.Request().Context(), principal(c), c.Param("project"), token))
}

// getSchema is GET /projects/:project/schema, whole or with ?summary=true;
// ?offerable=true adds what a surface can offer.
func (a *api) getSchema(c echo.Context) error {
	summary, err := flag(c, "summary")
	if err != nil {
		return err
	}
	offerable, err := flag(c, "offerable")
	if err != nil {
		return err
	}
	stored, err := a.Builders.Schema(c.Request().Context(), principal(c), c.Param("project"))
	if err != nil {
		return err
	}
	answer := snapshotOf(stored, !summary)
	if offerable {
		can := list(surfaces.Offerable(stored.Snapshot))
		answer.Offerable = &can
	}
	return writeJSON(c, http.StatusOK, answer)
}

// starter is GET …/schema/starter?tables=a,b&title=…: a surface file to begin
// with.
func (a *api) starter(c echo.Context) error {
	var tables []string
	for name := range strings.SplitSeq(c.QueryParam("tables"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			tables = append(tables, name)
		}
	}
	if len(tables) == 0 {
		return fault.New(fault.Invalid, "query", "Name the tables: ?tables=customers,notes. GET …/schema?summary=true&offerable=true lists them.")
	}
	file, err := a.Builders.Starter(c.Request().Context(), principal(c), c.Param("project"), c.QueryParam("title"), tables)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, starterAnswer{File: string(file)})
}

// posture is GET /projects/:project/posture: what is risky in the project's
// database, with the SQL that fixes it.
func (a *api) posture(c echo.Context) error {
	findings, err := a.Builders.Posture(c.Request().Context(), principal(c), c.Param("project"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, postureAnswer{Findings: list(findings)})
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
