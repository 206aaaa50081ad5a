package api

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
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
	answer := surfacesAnswer{Surfaces: []surfaceJSON{}, Notes: a.notes(project)}
	for _, s := range have {
		answer.Surfaces = append(answer.Surfaces, surfaceOf(s))
	}
	return writeJSON(c, http.StatusOK, answer)
}

// getFile is GET …/file: the draft, or what is live where there is no draft.
func (a *api) getFile(c echo.Context) error {
	_, surface, err := a.surface(c)
	if err != nil {
		return err
	}
	src, draft, err := a.Surfaces.File(c.Request().Context(), surface.Organization, surface.ID)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, storedFileAnswer{File: string(src), Draft: draft})
}

// putFile is PUT …/file: compile a surface file and say everything about it.
// It is kept as the surface's draft, with or without problems; with
// ?dry_run=true nothing is kept, which a viewer may ask for too.
func (a *api) putFile(c echo.Context) error {
	dryRun, err := flag(c, "dry_run")
	if err != nil {
		return err
	}
	if !dryRun {
		if err := principal(c).MayWrite(); err != nil {
			return err
		}
	}
	project, err := a.project(c)
	if err != nil {
		return err
	}
	src, err := readFile(c)
	if err != nil {
		return err
	}
	if len(src) == 0 {
		return fault.New(fault.Invalid, "file_missing", "Send the surface file: as text/yaml, or as JSON {\"file\": \"…\"}.")
	}
	if dryRun {
		return a.checkFile(c, project, src)
	}
	surface, err := a.Tenants.EnsureSurface(c.Request().Context(), principal(c), project.Slug, c.Param("surface"))
	if err != nil {
		return err
	}
	draft, err := a.Surfaces.PutDraft(c.Request().Context(), surface.Organization, surface.ID, src, a.facts(project))
	if err != nil {
		return err
	}
	return a.writeBuilt(c, draft.Built, true, &surface)
}

// checkFile compiles and keeps nothing. The surface need not exist.
func (a *api) checkFile(c echo.Context, project tenants.Project, src []byte) error {
	surface, err := a.Tenants.Surface(c.Request().Context(), principal(c), project.Slug, c.Param("surface"))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	exists := err == nil
	built, err := a.build(c, project, src)
	if err != nil {
		return err
	}
	if !exists {
		return a.writeBuilt(c, built, false, nil)
	}
	return a.writeBuilt(c, built, false, &surface)
}

// build compiles a file for the surface the path names, against the project's
// latest snapshot. Without one, that is a problem of its own.
func (a *api) build(c echo.Context, project tenants.Project, src []byte) (surfaces.Built, error) {
	if err := tenants.CheckSurfaceSlug(c.Param("surface")); err != nil {
		return surfaces.Built{}, err
	}
	return a.Surfaces.Check(c.Request().Context(), project.Organization, project.ID, src, a.facts(project))
}

func (a *api) writeBuilt(c echo.Context, built surfaces.Built, kept bool, surface *tenants.Surface) error {
	answer := fileAnswer{
		Accepted: built.Compiled != nil && !surfaces.HasErrors(built.Problems), Kept: kept, Digest: built.Digest,
		Problems: list(built.Problems), Tools: toolsOf(built.Compiled),
	}
	if surface != nil && surface.LiveRevision > 0 && built.Digest != "" {
		revisions, err := a.Surfaces.Revisions(c.Request().Context(), surface.Organization, surface.ID)
		if err != nil {
			return err
		}
		answer.Live = slices.ContainsFunc(revisions, func(r surfaces.Revision) bool { return r.Live && r.Digest == built.Digest })
	}
	return writeJSON(c, http.StatusOK, answer)
}

// putState is PUT …/state: the switch of a surface.
func (a *api) putState(c echo.Context) error {
	_, surface, err := a.surface(c)
	if err != nil {
		return err
	}
	var in struct {
		State tenants.State `json:"state"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	if !slices.Contains([]tenants.State{tenants.StateLive, tenants.StateReadOnly, tenants.StatePaused}, in.State) {
		return fault.New(fault.Invalid, "state", "The state is live, read_only or paused.")
	}
	surface, err = a.Tenants.SetState(c.Request().Context(), principal(c), c.Param("project"), surface.Slug, in.State)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, surfaceOf(surface))
}

// surface is the surface the path names, in the caller's organization.
func (a *api) surface(c echo.Context) (tenants.Project, tenants.Surface, error) {
	project, err := a.project(c)
	if err != nil {
		return tenants.Project{}, tenants.Surface{}, err
	}
	surface, err := a.Tenants.Surface(c.Request().Context(), principal(c), project.Slug, c.Param("surface"))
	return project, surface, err
}

// facts is what the compiler needs to know of a project and of this server.
func (a *api) facts(p tenants.Project) surfaces.ProjectFacts {
	return surfaces.ProjectFacts{
		Signing: string(p.Signing), OAuthOff: !p.OAuthEnabled, ScopesSupported: list(p.ScopesSupported), AllowPublic: a.AllowPublic,
	}
}

// readFile reads a surface file: YAML as it is, or {"file": "…"}. An empty
// body is no file.
func readFile(c echo.Context) ([]byte, error) {
	switch mediaType(c) {
	case "text/yaml", "application/yaml", "application/x-yaml", "text/x-yaml":
		return readBody(c, maxBody)
	case "application/json":
		var in struct {
			File string `json:"file"`
		}
		if err := readJSON(c, maxBody, &in); err != nil {
			return nil, err
		}
		return []byte(in.File), tenants.RefuseSecret("file", in.File)
	}
	b, err := readBody(c, maxBody)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return nil, fault.New(fault.Invalid, "content_type", "Send the surface file as text/yaml, or as application/json {\"file\": \"…\"}.")
}
