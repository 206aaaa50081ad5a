package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/web"
)

// grantsPerPage is how many grants a page of bridge.Service.GrantsOf has.
const grantsPerPage = 50

// besideGrants is how many keys and clients stand beside them.
const besideGrants = 10

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
	access, err := d.liveAccess(c, head)
	if err != nil {
		return err
	}
	page := web.SurfaceGrantsPage{
		SurfaceHead: head, Later: !after.IsZero(), Direct: signsInDirectly(access), Issuer: web.IssuerHost(access), Bridge: access.Bridged() || head.Surface.LiveRevision == 0,
	}
	if page.Grants, err = d.Bridge.GrantsOf(c.Request().Context(), principal(c), head.Surface.ID, after); err != nil {
		return err
	}
	if n := len(page.Grants); n >= grantsPerPage {
		page.Next = page.Grants[n-1].ID.String()
	}
	if !page.Later {
		if page.Keys, err = d.keysPart(c, head, access, web.KeysPart{}, id.Key{}); err != nil {
			return err
		}
		if page.Clients, err = d.clientsPart(c, head, access, ""); err != nil {
			return err
		}
		shorten(&page)
	}
	return d.page(c, http.StatusOK, surfaceTitle(head, web.TabGrants), web.SurfaceGrants(page))
}

// shorten keeps a page of three lists small: what is left out has a page of its
// own.
func shorten(page *web.SurfaceGrantsPage) {
	if len(page.Keys.Keys) > besideGrants {
		page.Keys.Keys = page.Keys.Keys[:besideGrants]
		page.Keys.More = page.Keys.Keys[besideGrants-1].ID.String()
	}
	if len(page.Clients.Clients) > besideGrants {
		page.Clients.Clients = page.Clients.Clients[:besideGrants]
		page.Clients.More = page.Clients.Clients[besideGrants-1].ID
	}
}

// liveAccess is who may call the live revision; nobody where there is none.
func (d *dashboard) liveAccess(c echo.Context, head web.SurfaceHead) (surfaces.Access, error) {
	if head.Surface.LiveRevision == 0 {
		return surfaces.Access{}, nil
	}
	live, _, err := d.Surfaces.Revision(c.Request().Context(), principal(c).Organization.ID, head.Surface.ID, head.Surface.LiveRevision)
	return live.Access, err
}

// signsInDirectly reports whether people sign in at the project itself.
func signsInDirectly(a surfaces.Access) bool {
	return a.Has(surfaces.ModeOAuth) && a.Authorization == surfaces.AuthorizationDirect
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
