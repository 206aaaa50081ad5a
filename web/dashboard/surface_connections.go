package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/web"
)

const (
	attemptsPerPage = 20 // with their steps they have to stay a small page
	usualDays       = 7
)

// connections lists attempts to connect, newest first; ?state=, ?client= and
// ?days= say which, ?cursor= goes on.
func (d *dashboard) connections(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	ctx, org, now := c.Request().Context(), principal(c).Organization.ID, d.Now()
	state, err := events.ParseAttemptState(c.QueryParam("state"))
	if err != nil {
		return err
	}
	page := web.SurfaceConnectionsPage{
		SurfaceHead: head, State: string(state), Client: shortened(c.QueryParam("client")), Days: daysOf(c.QueryParam("days")), Later: c.QueryParam("cursor") != "",
	}
	if page.Direct, err = d.direct(c, head); err != nil {
		return err
	}
	filter := events.ConnectionFilter{State: state, Client: page.Client, Since: now.AddDate(0, 0, -page.Days)}
	found, err := d.Connections.Connections(ctx, org, head.Surface.ID, filter, c.QueryParam("cursor"), attemptsPerPage, now)
	if err != nil {
		return err
	}
	page.Attempts, page.Next = found.Attempts, found.Next
	if sum, err := d.Connections.ConnectionSummary(ctx, org, head.Surface.ID, now.Add(-24*time.Hour), now); err != nil {
		d.leftOut(c, "connections", err)
	} else {
		page.Summary = &sum
	}
	return d.page(c, http.StatusOK, surfaceTitle(head, web.TabConnections), web.SurfaceConnections(page))
}

// daysOf is one of the spans that the page offers.
func daysOf(text string) int {
	if n, err := strconv.Atoi(text); err == nil && slices.Contains(web.ConnectionDays, n) {
		return n
	}
	return usualDays
}

// direct reports whether people sign in to the live revision elsewhere, so that
// we see the beginning and the end of an attempt only.
func (d *dashboard) direct(c echo.Context, head web.SurfaceHead) (bool, error) {
	access, err := d.liveAccess(c, head)
	return access.Has(surfaces.ModeOAuth) && !access.Bridged(), err
}
