package api

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// listSurfaces is GET /projects/:project/surfaces.
func (a *api) listSurfaces(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	have, err := a.Tenants.Surfaces(c.Request().Context(), principal(c), project.Slug)
	if err != nil {
		return err
	}
	answer := surfacesAnswer{Surfaces: []surfaceJSON{}, Notes: a.Builders.Notes(project, tenants.Surface{})}
	for _, s := range have {
		answer.Surfaces = append(answer.Surfaces, surfaceOf(s))
	}
	return writeJSON(c, http.StatusOK, answer)
}

// getSurface is GET /projects/:project/surfaces/:surface.
func (a *api) getSurface(c echo.Context) error { return writeSurface(c)(a.surface(c)) }

// putState is PUT …/state: the switch of a surface.
func (a *api) putState(c echo.Context) error {
	var in struct {
		State tenants.State `json:"state"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	if !slices.Contains([]tenants.State{tenants.StateLive, tenants.StateReadOnly, tenants.StatePaused}, in.State) {
		return fault.New(fault.Invalid, "state", "The state is live, read_only or paused.")
	}
	return writeSurface(c)(a.Tenants.SetState(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface"), in.State))
}

// renameSurface is POST …/rename: another name in URLs. The old ones keep
// serving.
func (a *api) renameSurface(c echo.Context) error {
	slug, err := readSlug(c)
	if err != nil {
		return err
	}
	return writeSurface(c)(a.Tenants.RenameSurface(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface"), slug))
}

// deleteSurface is DELETE /projects/:project/surfaces/:surface.
func (a *api) deleteSurface(c echo.Context) error {
	confirm, err := readConfirm(c)
	if err != nil {
		return err
	}
	if err := a.Tenants.DeleteSurface(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface"), confirm); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, deletedAnswer{Deleted: c.Param("surface")})
}

// drift is GET …/drift: how the schema moved under what is live.
func (a *api) drift(c echo.Context) error {
	drift, err := a.Builders.Drift(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, driftAnswer{
		Known: drift.Known, Drifted: drift.Drifted, Objects: list(drift.Objects), Broken: list(drift.Broken),
	})
}

// writeSurface answers with a surface.
func writeSurface(c echo.Context) func(tenants.Surface, error) error {
	return func(s tenants.Surface, err error) error {
		if err != nil {
			return err
		}
		return writeJSON(c, http.StatusOK, surfaceOf(s))
	}
}

// surface is the surface the path names, in the caller's organization.
func (a *api) surface(c echo.Context) (tenants.Surface, error) {
	return a.Tenants.Surface(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface"))
}
