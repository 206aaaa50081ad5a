package dashboard

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// surfaceOverview says whether a surface is live and used. What cannot be told
// right now is left out: the page itself is of use without it.
func (d *dashboard) surfaceOverview(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	p, ctx := principal(c), c.Request().Context()
	page := web.SurfaceOverviewPage{SurfaceHead: head, ProbedAt: head.Project.ProbedAt}
	if ok, why := d.Builders.Served(head.Project); !ok {
		page.WhyNotServed = why
	}
	if err := d.findKept(c, &page.SurfaceHead, nil); err != nil {
		return err
	}
	if len(head.Project.Findings) > 0 {
		if err := json.Unmarshal(head.Project.Findings, &page.Findings); err != nil {
			d.leftOut(c, "findings", err)
		}
	}
	if head.Surface.LiveRevision == 0 {
		return d.page(c, http.StatusOK, surfaceTitle(head, ""), web.SurfaceOverview(page))
	}
	live, _, err := d.Surfaces.Revision(ctx, p.Organization.ID, head.Surface.ID, head.Surface.LiveRevision)
	if err != nil {
		return err
	}
	page.Live = &live
	if usage, err := d.Usage.Usage(ctx, p.Organization.ID, head.Surface.ID, d.Now().Add(-24*time.Hour)); err != nil {
		d.leftOut(c, "usage", err)
	} else {
		page.Usage = &usage
	}
	now := d.Now()
	if sum, err := d.Connections.ConnectionSummary(ctx, p.Organization.ID, head.Surface.ID, now.AddDate(0, 0, -7), now); err != nil {
		d.leftOut(c, "connections", err)
	} else {
		page.Connections = &sum
	}
	if drift, err := d.Builders.Drift(ctx, p, head.Project.Slug, head.Surface.Slug); err != nil {
		d.leftOut(c, "drift", err)
	} else {
		page.Drift = &drift
	}
	return d.page(c, http.StatusOK, surfaceTitle(head, ""), web.SurfaceOverview(page))
}

func (d *dashboard) leftOut(c echo.Context, what string, err error) {
	d.Logger.LogAttrs(c.Request().Context(), slog.LevelWarn, "left out of a page",
		slog.String("request", requestID(c)), slog.String("what", what), slog.String("cause", err.Error()))
}

// setSurfaceState turns the switch.
func (d *dashboard) setSurfaceState(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	state := tenants.State(c.FormValue("state"))
	if _, err := d.Tenants.SetState(c.Request().Context(), principal(c), head.Project.Slug, head.Surface.Slug, state); err != nil {
		return err
	}
	return done(c, head.Path(), "switch-"+string(state))
}
