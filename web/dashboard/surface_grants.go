package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/web"
)

// grantsPerPage is how many grants a page of bridge.Service.GrantsOf has.
const grantsPerPage = 50

// grants lists who allowed which client what; ?after= goes on below a grant.
func (d *dashboard) grants(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	var after id.Grant
	if text := c.QueryParam("after"); text != "" {
		if after, err = id.Parse[id.GrantKind](text); err != nil {
			return fault.New(fault.NotFound, "unknown_grant", "There is no such place in the list. Open it from its beginning.")
		}
	}
	page := web.SurfaceGrantsPage{SurfaceHead: head, Later: !after.IsZero()}
	if page.Direct, err = d.direct(c, head); err != nil {
		return err
	}
	if page.Grants, err = d.Bridge.GrantsOf(c.Request().Context(), principal(c), head.Surface.ID, after); err != nil {
		return err
	}
	if n := len(page.Grants); n >= grantsPerPage {
		page.Next = page.Grants[n-1].ID.String()
	}
	return d.page(c, http.StatusOK, surfaceTitle(head, web.TabGrants), web.SurfaceGrants(page))
}

// revokeGrant takes a client's access away.
func (d *dashboard) revokeGrant(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	grant, err := id.Parse[id.GrantKind](c.Param("grant"))
	if err != nil {
		return fault.New(fault.NotFound, "unknown_grant", "Nothing was revoked: this surface has no such connection.")
	}
	if err := d.Bridge.RevokeByBuilder(c.Request().Context(), principal(c), head.Surface.ID, grant); err != nil {
		return err
	}
	return done(c, head.Path("grants"), "grant-revoked")
}
