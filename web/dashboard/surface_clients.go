package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/oauth/directclients"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/web"
)

// clients lists OAuth clients of the surface's project; ?after= goes on below
// one.
func (d *dashboard) clients(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	access, err := d.liveAccess(c, head)
	if err != nil {
		return err
	}
	after := c.QueryParam("after")
	page := web.SurfaceClientsPage{SurfaceHead: head, Later: after != ""}
	if page.ClientsPart, err = d.clientsPart(c, head, access, after); err != nil {
		return err
	}
	return d.page(c, http.StatusOK, surfaceTitle(head, web.TabGrants), web.SurfaceClients(page))
}

// clientsPart are the clients after one, and what is said of them.
func (d *dashboard) clientsPart(c echo.Context, head web.SurfaceHead, access surfaces.Access, after string) (web.ClientsPart, error) {
	list, err := d.Clients.List(c.Request().Context(), principal(c), head.Project.ID)
	if err != nil {
		return web.ClientsPart{}, err
	}
	part := web.ClientsPart{Direct: signsInDirectly(access), Isolated: access.Isolation == surfaces.IsolationClient}
	part.Clients, part.More = pageOf(list, after, func(client directclients.Client) string { return client.ID })
	return part, nil
}
