package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// getFile is GET …/file: the draft, or what is live where there is no draft.
func (a *api) getFile(c echo.Context) error {
	surface, err := a.surface(c)
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
	ctx, p, project, surface := c.Request().Context(), principal(c), c.Param("project"), c.Param("surface")
	src, err := readFile(c)
	if err != nil {
		return err
	}
	if len(src) == 0 {
		return fault.New(fault.Invalid, "file_missing", "Send the surface file: as text/yaml, or as JSON {\"file\": \"…\"}.")
	}
	if !dryRun {
		if _, _, err := a.Builders.SaveDraft(ctx, p, project, surface, src); err != nil {
			return err
		}
	}
	plan, err := a.Builders.Plan(ctx, p, project, surface, src)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, fileAnswer{
		Accepted: plan.Compiled != nil, Kept: !dryRun, Live: plan.Same, Digest: plan.Digest,
		Problems: list(plan.Problems), Tools: toolsOf(plan.Compiled), Resources: resourcesOf(plan.Compiled), Prompts: promptsOf(plan.Compiled),
	})
}

// plan is POST …/plan: what publishing would do. Viewers may ask.
func (a *api) plan(c echo.Context) error {
	src, err := readFile(c)
	if err != nil {
		return err
	}
	plan, err := a.Builders.Plan(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface"), src)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, planOf(plan))
}

// publish is POST …/publish: compile and make live, in one step. The file is
// the body's, or the draft where there is none. A refused file is 422 with an
// issue per problem, and what is live stays.
func (a *api) publish(c echo.Context) error {
	in, err := readPublication(c)
	if err != nil {
		return err
	}
	return writePublication(c)(a.Builders.Publish(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface"),
		[]byte(in.File), in.Expect, in.Overrides))
}

// writePublication answers with what is live now.
func writePublication(c echo.Context) func(builders.Publication, error) error {
	return func(done builders.Publication, err error) error {
		if err != nil {
			return err
		}
		return writeJSON(c, http.StatusOK, publishAnswerOf(done))
	}
}

// publication is the body of a publish.
type publication struct {
	File      string              `json:"file"`
	Expect    *string             `json:"expect"`
	Overrides []surfaces.Override `json:"overrides"`
}

// readPublication reads YAML as it is, or JSON. An empty body publishes the
// draft.
func readPublication(c echo.Context) (publication, error) {
	var in publication
	if mediaType(c) == "application/json" {
		err := readJSON(c, maxBody, &in)
		return in, err
	}
	src, err := readFile(c)
	in.File = string(src)
	return in, err
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
		err := readOptional(c, &in)
		return []byte(in.File), err
	}
	b, err := readBody(c, maxBody)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return nil, fault.New(fault.Invalid, "content_type", "Send the surface file as text/yaml, or as application/json {\"file\": \"…\"}.")
}
