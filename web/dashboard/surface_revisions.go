package dashboard

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/web"
)

// revisionsPerPage bounds a page of the list.
const revisionsPerPage = 50

// revisions lists what was published, newest first; ?before= goes on below a
// number.
func (d *dashboard) revisions(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	all, err := d.Surfaces.Revisions(c.Request().Context(), principal(c).Organization.ID, head.Surface.ID)
	if err != nil {
		return err
	}
	page := web.SurfaceRevisionsPage{SurfaceHead: head}
	before := numberOf(c.QueryParam("before"))
	for i, r := range all {
		page.Newest = max(page.Newest, r.Number)
		if r.Live {
			page.Live = &all[i]
		}
		if before > 0 && r.Number >= before {
			continue
		}
		if len(page.Revisions) < revisionsPerPage {
			page.Revisions = append(page.Revisions, r)
		} else if page.Next == 0 {
			page.Next = r.Number + 1
		}
	}
	return d.page(c, http.StatusOK, surfaceTitle(head, web.TabRevisions), web.SurfaceRevisions(page))
}

// numberOf reads a revision's number; 0 is none.
func numberOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

func (d *dashboard) revision(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	r, file, err := d.Surfaces.Revision(c.Request().Context(), principal(c).Organization.ID, head.Surface.ID, numberOf(c.Param("revision")))
	if err != nil {
		return err
	}
	page := web.SurfaceRevisionPage{SurfaceHead: head, Revision: r, File: string(file)}
	return d.page(c, http.StatusOK, surfaceTitle(head, "Revision "+strconv.Itoa(r.Number)), web.SurfaceRevision(page))
}

func (d *dashboard) compareRevisions(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	comparison, err := d.Surfaces.Compare(c.Request().Context(), principal(c).Organization.ID, head.Surface.ID, numberOf(c.QueryParam("from")), numberOf(c.QueryParam("to")))
	if err != nil {
		return err
	}
	return d.page(c, http.StatusOK, surfaceTitle(head, "Compare"), web.SurfaceCompare(web.SurfaceComparePage{SurfaceHead: head, Comparison: comparison}))
}

// rollback compares what is live with the revision of the address.
func (d *dashboard) rollback(c echo.Context) (web.SurfaceRollbackPage, error) {
	head, err := d.surfaceHead(c)
	if err != nil {
		return web.SurfaceRollbackPage{}, err
	}
	page := web.SurfaceRollbackPage{SurfaceHead: head}
	if head.Surface.LiveRevision == 0 {
		return page, fault.New(fault.NotFound, "no_revision", "Nothing has been published yet, so there is nothing to go back to.")
	}
	page.Comparison, err = d.Surfaces.Compare(c.Request().Context(), principal(c).Organization.ID, head.Surface.ID, head.Surface.LiveRevision, numberOf(c.Param("revision")))
	return page, err
}

func (d *dashboard) rollbackPage(c echo.Context) error {
	page, err := d.rollback(c)
	if err != nil {
		return err
	}
	return d.showRollback(c, http.StatusOK, page)
}

func (d *dashboard) showRollback(c echo.Context, status int, page web.SurfaceRollbackPage) error {
	return d.page(c, status, surfaceTitle(page.SurfaceHead, "Roll back"), web.SurfaceRollback(page))
}

// rollBack makes an earlier revision live, if what is live is still what the
// page showed.
func (d *dashboard) rollBack(c echo.Context) error {
	page, err := d.rollback(c)
	if err != nil {
		return err
	}
	if page.From.Digest != c.FormValue("expect") {
		page.Trouble = "Nothing was changed: another revision went live since you looked. This is what going back would change now."
		return d.showRollback(c, http.StatusConflict, page)
	}
	_, err = d.Builders.Rollback(c.Request().Context(), principal(c), page.Project.Slug, page.Surface.Slug,
		surfaces.RollbackRequest{Number: page.To.Number, Expect: &page.From.Digest})
	if err == nil {
		return done(c, page.Path("revisions"), "rolled-back")
	}
	text, status, ok := explained(err)
	if !ok {
		return err
	}
	page.Trouble = text
	return d.showRollback(c, status, page)
}

// pinSurface holds the revision that the page showed as live.
func (d *dashboard) pinSurface(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	digest := c.FormValue("digest")
	live, err := d.liveRevision(c, head)
	if err != nil {
		return err
	}
	if live.Digest != digest {
		return fault.New(fault.Conflict, "live_moved", "Nothing was pinned: another revision went live since you looked. Open the revisions again.")
	}
	if _, err := d.Builders.Pin(c.Request().Context(), principal(c), head.Project.Slug, head.Surface.Slug, digest); err != nil {
		return err
	}
	return done(c, head.Path("revisions"), "pinned")
}

func (d *dashboard) liveRevision(c echo.Context, head web.SurfaceHead) (surfaces.Revision, error) {
	live, _, err := d.Surfaces.Revision(c.Request().Context(), principal(c).Organization.ID, head.Surface.ID, head.Surface.LiveRevision)
	return live, err
}

func (d *dashboard) unpinSurface(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	if _, err := d.Builders.Unpin(c.Request().Context(), principal(c), head.Project.Slug, head.Surface.Slug); err != nil {
		return err
	}
	return done(c, head.Path("revisions"), "unpinned")
}
