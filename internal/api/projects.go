package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// listProjects is GET /projects.
func (a *api) listProjects(c echo.Context) error {
	ctx, p := c.Request().Context(), principal(c)
	projects, err := a.Tenants.Projects(ctx, p)
	if err != nil {
		return err
	}
	notices, err := a.Tenants.Notices(ctx, p)
	if err != nil {
		return err
	}
	about := map[id.Project]int{}
	for _, n := range notices {
		if n.Project != nil {
			about[*n.Project]++
		}
	}
	answer := projectsAnswer{Projects: []listedProjectJSON{}}
	for _, project := range projects {
		served, _ := a.Builders.Served(project)
		answer.Projects = append(answer.Projects, listedProjectJSON{projectJSON: projectOf(project), Served: served, Notices: about[project.ID]})
	}
	return writeJSON(c, http.StatusOK, answer)
}

// getProject is GET /projects/:project, with what its last probe found.
func (a *api) getProject(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	return a.writeProbed(c, http.StatusOK, project, project.Findings)
}

// createProject is POST /projects: probe, then register. A project that fails
// a check is refused with every finding, and nothing is stored.
func (a *api) createProject(c echo.Context) error {
	var in struct {
		URL            string `json:"url"`
		PublishableKey string `json:"publishable_key"`
		Slug           string `json:"slug"`
		Name           string `json:"name"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	project, findings, err := a.Builders.Register(c.Request().Context(), principal(c), builders.NewRegistration{
		URL: in.URL, PublishableKey: in.PublishableKey, Slug: in.Slug, Name: in.Name,
	}, nil)
	if err != nil {
		return err
	}
	return a.writeProbed(c, http.StatusCreated, project, findings)
}

// probeProject is POST /projects/:project/probe: look again, and keep what was
// learnt. The URL stays; a new publishable key may be given.
func (a *api) probeProject(c echo.Context) error {
	var in struct {
		PublishableKey string `json:"publishable_key"`
	}
	if err := readOptional(c, &in); err != nil {
		return err
	}
	project, findings, err := a.Builders.Reprobe(c.Request().Context(), principal(c), c.Param("project"), in.PublishableKey, nil)
	if err != nil {
		return err
	}
	return a.writeProbed(c, http.StatusOK, project, findings)
}

// nameProject is PATCH /projects/:project: what people call it.
func (a *api) nameProject(c echo.Context) error {
	var in struct {
		Name string `json:"name"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	project, err := a.Tenants.SetProjectName(c.Request().Context(), principal(c), c.Param("project"), in.Name)
	if err != nil {
		return err
	}
	return a.writeProject(c, http.StatusOK, project)
}

// renameProject is POST /projects/:project/rename: another name in URLs. The
// old ones keep serving.
func (a *api) renameProject(c echo.Context) error {
	slug, err := readSlug(c)
	if err != nil {
		return err
	}
	project, err := a.Tenants.RenameProject(c.Request().Context(), principal(c), c.Param("project"), slug)
	if err != nil {
		return err
	}
	return a.writeProject(c, http.StatusOK, project)
}

// deleteProject is DELETE /projects/:project.
func (a *api) deleteProject(c echo.Context) error {
	confirm, err := readConfirm(c)
	if err != nil {
		return err
	}
	if err := a.Tenants.DeleteProject(c.Request().Context(), principal(c), c.Param("project"), confirm); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, deletedAnswer{Deleted: c.Param("project")})
}

// readSlug reads the new name of a rename.
func readSlug(c echo.Context) (string, error) {
	var in struct {
		Slug string `json:"slug"`
	}
	err := readJSON(c, maxBody, &in)
	return in.Slug, err
}

// readConfirm reads what was typed to confirm that something goes.
func readConfirm(c echo.Context) (string, error) {
	var in struct {
		Confirm string `json:"confirm"`
	}
	err := readJSON(c, maxBody, &in)
	return in.Confirm, err
}

// writeProject answers with a project.
func (a *api) writeProject(c echo.Context, status int, project tenants.Project) error {
	return a.writeProbed(c, status, project, nil)
}

// writeProbed answers with a project and what a probe found.
func (a *api) writeProbed(c echo.Context, status int, project tenants.Project, findings any) error {
	return writeJSON(c, status, projectAnswer{Project: projectOf(project), Findings: findings, Notes: a.Builders.Notes(project, tenants.Surface{})})
}

// writeRefusedProbe answers a probe with a failed check: 422 with every
// finding.
func writeRefusedProbe(c echo.Context, refused *builders.ProbeRefused, id string) {
	problem := fault.ProblemOf(refused, id)
	problemJSON(c.Response(), problem.Status, struct {
		fault.Problem
		Findings []doctor.Finding `json:"findings"`
	}{problem, refused.Findings})
}

// project is the project the path names, in the caller's organization.
func (a *api) project(c echo.Context) (tenants.Project, error) {
	return a.Tenants.Project(c.Request().Context(), principal(c), c.Param("project"))
}
