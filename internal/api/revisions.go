package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// publish is POST …/publish: compile and make live, in one step. The file is
// the body's, or the draft where the body is empty. A refused file is 422 with
// an issue per problem, and what is live stays.
func (a *api) publish(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	src, err := readFile(c)
	if err != nil {
		return err
	}
	surface, err := a.surfaceToPublish(c, project, src)
	if err != nil {
		return err
	}
	p := principal(c)
	done, err := a.Surfaces.Publish(c.Request().Context(), surface.Organization, surface.ID, p.Builder.ID, src, a.facts(project))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, publishAnswer{
		Revision: done.Revision.Number, Digest: done.Revision.Digest, Created: !done.Again,
		URLs: urlsOf(surface), State: surface.State, Problems: list(done.Warnings), Notes: a.publishNotes(project, surface),
	})
}

// surfaceToPublish finds the surface, and makes it where a file comes along
// that will be accepted: a refused first publish leaves nothing behind.
func (a *api) surfaceToPublish(c echo.Context, project tenants.Project, src []byte) (tenants.Surface, error) {
	ctx, p, slug := c.Request().Context(), principal(c), c.Param("surface")
	have, err := a.Tenants.Surface(ctx, p, project.Slug, slug)
	if len(src) == 0 || err != nil && !fault.Is(err, fault.NotFound) {
		return have, err
	}
	if err != nil {
		built, err := a.build(c, project, src)
		if err != nil {
			return tenants.Surface{}, err
		}
		if err := surfaces.RefusedFile(built.Problems); err != nil {
			return tenants.Surface{}, err
		}
	}
	return a.Tenants.EnsureSurface(ctx, p, project.Slug, slug)
}

func (a *api) publishNotes(project tenants.Project, surface tenants.Surface) []string {
	notes := a.notes(project)
	switch surface.State {
	case tenants.StatePaused:
		notes = append(notes, "The surface is paused: it answers nobody until its state is live.")
	case tenants.StateReadOnly:
		notes = append(notes, "The surface is read-only: tools that change anything are hidden until its state is live.")
	}
	return notes
}

// listRevisions is GET …/revisions, newest first.
func (a *api) listRevisions(c echo.Context) error {
	_, surface, err := a.surface(c)
	if err != nil {
		return err
	}
	revisions, err := a.Surfaces.Revisions(c.Request().Context(), surface.Organization, surface.ID)
	if err != nil {
		return err
	}
	answer := revisionsAnswer{Revisions: []revisionJSON{}}
	for _, r := range revisions {
		answer.Revisions = append(answer.Revisions, revisionOf(r))
	}
	return writeJSON(c, http.StatusOK, answer)
}

// rollback is POST …/rollback: make an earlier revision live again.
func (a *api) rollback(c echo.Context) error {
	project, surface, err := a.surface(c)
	if err != nil {
		return err
	}
	var in struct {
		Revision int `json:"revision"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	if in.Revision < 1 {
		return fault.New(fault.Invalid, "revision", "Name the revision to go back to: {\"revision\": 3}. GET …/revisions lists them.")
	}
	revision, err := a.Surfaces.Rollback(c.Request().Context(), surface.Organization, surface.ID, principal(c).Builder.ID, in.Revision)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, publishAnswer{
		Revision: revision.Number, Digest: revision.Digest, URLs: urlsOf(surface), State: surface.State,
		Problems: []surfaces.Problem{}, Notes: a.publishNotes(project, surface),
	})
}
