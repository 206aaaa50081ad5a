package api

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// listRevisions is GET …/revisions, newest first.
func (a *api) listRevisions(c echo.Context) error {
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	revisions, err := a.Surfaces.Revisions(c.Request().Context(), surface.Organization, surface.ID)
	if err != nil {
		return err
	}
	answer := revisionsAnswer{Revisions: []revisionJSON{}, Pinned: surface.PinnedAt != nil}
	for _, r := range revisions {
		answer.Revisions = append(answer.Revisions, revisionOf(r))
	}
	return writeJSON(c, http.StatusOK, answer)
}

// getRevision is GET …/revisions/:number, with its file.
func (a *api) getRevision(c echo.Context) error {
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	number, err := revisionNumber(c.Param("number"))
	if err != nil {
		return err
	}
	revision, file, err := a.Surfaces.Revision(c.Request().Context(), surface.Organization, surface.ID, number)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, revisionAnswer{revisionJSON: revisionOf(revision), File: string(file)})
}

// compareRevisions is GET …/revisions/compare?from=&to=.
func (a *api) compareRevisions(c echo.Context) error {
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	from, err := revisionNumber(c.QueryParam("from"))
	if err != nil {
		return err
	}
	to, err := revisionNumber(c.QueryParam("to"))
	if err != nil {
		return err
	}
	compared, err := a.Surfaces.Compare(c.Request().Context(), surface.Organization, surface.ID, from, to)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, comparisonAnswer{
		From: revisionOf(compared.From), To: revisionOf(compared.To), Class: surfaces.WorstChange(compared.Changes),
		Changes: list(compared.Changes), Lines: list(compared.Lines),
	})
}

// revisionNumber reads a revision's number, which it never repeats.
func revisionNumber(text string) (int, error) {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 1 {
		return 0, fault.New(fault.Invalid, "revision", "A revision is named by its number, such as 3. GET …/revisions lists them.")
	}
	return int(number), nil
}

// rollback is POST …/rollback: make an earlier revision live again.
func (a *api) rollback(c echo.Context) error {
	var in struct {
		Revision int     `json:"revision"`
		Digest   string  `json:"digest"`
		Expect   *string `json:"expect"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	if (in.Revision == 0) == (in.Digest == "") || in.Revision < 0 {
		return fault.New(fault.Invalid, "revision", "Name the revision to go back to, by number or by digest: {\"revision\": 3} or {\"digest\": \"…\"}. GET …/revisions lists them.")
	}
	return writePublication(c)(a.Builders.Rollback(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface"), surfaces.RollbackRequest{
		Number: in.Revision, Digest: in.Digest, Expect: in.Expect,
	}))
}

// pin is PUT …/pin: make the revision of a digest live and hold it there.
func (a *api) pin(c echo.Context) error {
	var in struct {
		Digest string `json:"digest"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	return writePublication(c)(a.Builders.Pin(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface"), in.Digest))
}

// unpin is DELETE …/pin: publishing is possible again.
func (a *api) unpin(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	return writeSurface(c)(a.Builders.Unpin(c.Request().Context(), principal(c), c.Param("project"), c.Param("surface")))
}
