package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/web"
)

// reviewSurface says what publishing the kept file would do.
func (d *dashboard) reviewSurface(c echo.Context) error {
	page, _, err := d.review(c)
	if fault.Is(err, fault.Conflict) { // there is no file yet
		return seeOther(c, page.Path("capabilities"))
	}
	if err != nil {
		return err
	}
	return d.showReview(c, http.StatusOK, page)
}

func (d *dashboard) showReview(c echo.Context, status int, page web.SurfaceReviewPage) error {
	return d.page(c, status, surfaceTitle(page.SurfaceHead, "Review"), web.SurfaceReview(page))
}

// review plans the kept file, and returns it. Without one it is
// fault.Conflict.
func (d *dashboard) review(c echo.Context) (web.SurfaceReviewPage, string, error) {
	head, err := d.surfaceHead(c)
	if err != nil {
		return web.SurfaceReviewPage{}, "", err
	}
	page, file := web.SurfaceReviewPage{SurfaceHead: head}, ""
	if err := d.findKept(c, &page.SurfaceHead, &file); err != nil {
		return page, "", err
	}
	if file == "" {
		return page, "", fault.New(fault.Conflict, "no_draft", "There is no draft to publish.")
	}
	page.Lines = strings.Split(file, "\n")
	page.Plan, err = d.Builders.Plan(c.Request().Context(), principal(c), head.Project.Slug, head.Surface.Slug, []byte(file))
	return page, file, err
}

// publishSurface publishes what was reviewed, and nothing else: neither
// another draft nor over another revision than the page showed.
func (d *dashboard) publishSurface(c echo.Context) error {
	page, file, err := d.review(c)
	if err != nil {
		return err
	}
	if page.Plan.Digest != c.FormValue("digest") {
		return d.conflict(c, page.SurfaceHead, "The draft, or what is known of the project's database, is not what you reviewed.")
	}
	reasons, overrides := givenReasons(c)
	expect := c.FormValue("expect")
	published, err := d.Builders.Publish(c.Request().Context(), principal(c), page.Project.Slug, page.Surface.Slug, []byte(file), &expect, overrides)
	if err == nil {
		if published.Again {
			return done(c, page.Path(), "again")
		}
		return done(c, page.Path(), "published")
	}
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Code == "live_moved" {
		return d.conflict(c, page.SurfaceHead, refused.Message)
	}
	text, status, ok := explained(err)
	if !ok {
		return err
	}
	page.Trouble, page.Reasons = text, reasons
	return d.showReview(c, status, page)
}

func (d *dashboard) conflict(c echo.Context, head web.SurfaceHead, why string) error {
	return d.page(c, http.StatusConflict, surfaceTitle(head, "Nothing was published"), web.SurfaceConflict(web.SurfaceConflictPage{SurfaceHead: head, Why: why}))
}

// givenReasons are the overrides of the form: a finding's id and, at the same
// place, why it may pass. Those without a reason are none.
func givenReasons(c echo.Context) (map[string]string, []surfaces.Override) {
	form := c.Request().PostForm
	reasons := map[string]string{}
	var overrides []surfaces.Override
	for i, finding := range form["finding"] {
		if i >= len(form["reason"]) {
			break
		}
		if reason := strings.TrimSpace(form["reason"][i]); reason != "" {
			reasons[finding] = reason
			overrides = append(overrides, surfaces.Override{Finding: finding, Reason: reason})
		}
	}
	return reasons, overrides
}
