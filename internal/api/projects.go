package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// me is GET /me: who the token speaks for.
func (a *api) me(c echo.Context) error {
	p := principal(c)
	return writeJSON(c, http.StatusOK, meJSON{
		Organization: organizationJSON{p.Organization.ID, p.Organization.Slug, p.Organization.Name},
		Builder:      builderJSON{p.Builder.ID, p.Builder.Email}, Role: p.Role, Token: p.Token,
	})
}

// listProjects is GET /projects.
func (a *api) listProjects(c echo.Context) error {
	projects, err := a.Tenants.Projects(c.Request().Context(), principal(c))
	if err != nil {
		return err
	}
	answer := projectsAnswer{Projects: []projectJSON{}}
	for _, p := range projects {
		answer.Projects = append(answer.Projects, projectOf(p))
	}
	return writeJSON(c, http.StatusOK, answer)
}

// getProject is GET /projects/:project.
func (a *api) getProject(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, projectAnswer{Project: projectOf(project), Notes: a.notes(project)})
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
	if err := refuseFields("url", in.URL, "publishable_key", in.PublishableKey, "slug", in.Slug, "name", in.Name); err != nil {
		return err
	}
	if err := tenants.CheckProjectSlug(in.Slug); err != nil {
		return err
	}
	result, err := a.probe(c, in.URL, in.PublishableKey)
	if err != nil {
		return err
	}
	project, err := a.Tenants.CreateProject(c.Request().Context(), principal(c), tenants.NewProject{
		Slug: in.Slug, Name: in.Name, ProjectFacts: result.Facts,
	})
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, projectAnswer{Project: projectOf(project), Findings: result.Findings, Notes: a.notes(project)})
}

// probeProject is POST /projects/:project/probe: look again, and keep what was
// learnt. The URL stays; a new publishable key may be given.
func (a *api) probeProject(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	var in struct {
		PublishableKey string `json:"publishable_key"`
	}
	if c.Request().ContentLength != 0 {
		if err := readJSON(c, maxBody, &in); err != nil {
			return err
		}
	}
	if in.PublishableKey == "" {
		in.PublishableKey = project.PublishableKey
	}
	result, err := a.probe(c, project.TypedURL, in.PublishableKey)
	if err != nil {
		return err
	}
	if result.Facts.APIOrigin != project.APIOrigin {
		return fault.New(fault.Conflict, "origin_moved", "This project was registered at %s and now says it is at %s. Register the new one under another name.", project.APIOrigin, result.Facts.APIOrigin)
	}
	project, err = a.Tenants.UpdateProject(c.Request().Context(), principal(c), project.Slug, result.Facts)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, projectAnswer{Project: projectOf(project), Findings: result.Findings, Notes: a.notes(project)})
}

// probe runs the checks. One that fails is the answer to the request.
func (a *api) probe(c echo.Context, typedURL, key string) (doctor.ProbeResult, error) {
	result, err := doctor.Probe(c.Request().Context(), a.Supabase, doctor.ProbeInput{
		TypedURL: typedURL, PublishableKey: key, AllowSplitIssuer: a.AllowSplitIssuer,
	}, nil)
	if err != nil {
		return result, err
	}
	if !result.Accepted() {
		return result, &refusedProbe{findings: result.Findings}
	}
	return result, nil
}

// refusedProbe is a probe with a failed check: 422 with every finding.
type refusedProbe struct{ findings []doctor.Finding }

func (*refusedProbe) Error() string { return "project refused by its probe" }

func (r *refusedProbe) write(c echo.Context, id string) {
	e := fault.New(fault.Unprocessable, "probe_failed", "The project cannot be registered as it is. Nothing was changed. Each failed check says what to do.")
	problemJSON(c.Response(), e.Kind.Status(), struct {
		fault.Problem
		Findings []doctor.Finding `json:"findings"`
	}{fault.ProblemOf(e, id), r.findings})
}

// project is the project the path names, in the caller's organization.
func (a *api) project(c echo.Context) (tenants.Project, error) {
	return a.Tenants.Project(c.Request().Context(), principal(c), c.Param("project"))
}

// notes says what stands between a project and its users.
func (a *api) notes(p tenants.Project) []string {
	if p.VerifiedAt != nil {
		return []string{}
	}
	// A project whose tokens are issued in another origin's name always needs
	// the proof: its word about its issuer is not enough.
	if origin, err := supabase.APIOrigin(p.Issuer); err != nil || origin != p.APIOrigin {
		return []string{"Nothing of this project is served until your organization proves that it owns it: its issuer is on another origin than its API."}
	}
	if !a.RequireOwnership {
		return []string{}
	}
	return []string{"Nothing of this project is served until your organization proves that it owns it. On a server of your own, the operator can set CHUMBO_REQUIRE_OWNERSHIP=false instead."}
}

func refuseFields(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := tenants.RefuseSecret(pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}
