package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/web"
)

// surfaceRoutes adds the pages of surfaces.
func (d *dashboard) surfaceRoutes(e *echo.Echo) {
	const all = "/app/projects/:project/surfaces"
	d.get(e, all+"/new", d.newSurfacePage)
	d.post(e, all+"/new", d.newSurface)

	const one = all + "/:surface"
	d.get(e, one, d.surfaceOverview)
	d.post(e, one+"/state", d.setSurfaceState)

	d.get(e, one+"/capabilities", d.capabilities)
	d.post(e, one+"/capabilities", d.editCapabilities)
	d.post(e, one+"/preview", d.previewCapabilities)
	d.get(e, one+"/review", d.reviewSurface)
	d.post(e, one+"/publish", d.publishSurface)

	d.get(e, one+"/connections", d.connections)
	d.get(e, one+"/grants", d.grants)
	d.post(e, one+"/grants/:grant/revoke", d.revokeGrant)
	d.get(e, one+"/keys", d.keys)
	d.post(e, one+"/keys", d.makeKey)
	d.post(e, one+"/keys/:key/revoke", d.revokeKey)
	d.get(e, one+"/clients", d.clients)

	d.get(e, one+"/revisions", d.revisions)
	d.get(e, one+"/revisions/compare", d.compareRevisions)
	d.get(e, one+"/revisions/:revision", d.revision)
	d.get(e, one+"/revisions/:revision/rollback", d.rollbackPage)
	d.post(e, one+"/revisions/:revision/rollback", d.rollBack)
	d.post(e, one+"/pin", d.pinSurface)
	d.post(e, one+"/unpin", d.unpinSurface)

	d.get(e, one+"/settings", d.surfaceSettings)
	d.post(e, one+"/introspection", d.keepIntrospection)
	d.post(e, one+"/introspection/clear", d.forgetIntrospection)
	d.post(e, one+"/rename", d.renameSurface)
	d.post(e, one+"/delete", d.deleteSurface)
}

// surfaceHead finds the surface of the address and says how it stands. One of
// another organization is not found.
func (d *dashboard) surfaceHead(c echo.Context) (web.SurfaceHead, error) {
	p, ctx := principal(c), c.Request().Context()
	project, err := d.Tenants.Project(ctx, p, c.Param("project"))
	if err != nil {
		return web.SurfaceHead{}, err
	}
	surface, err := d.Tenants.Surface(ctx, p, project.Slug, c.Param("surface"))
	if err != nil {
		return web.SurfaceHead{}, err
	}
	return web.SurfaceHead{
		Project: project, Surface: surface, CSRF: sessionOf(c).CSRF, Now: d.Now(),
		MayWrite: p.MayWrite() == nil, MayAdminister: p.MayAdminister() == nil, Said: web.SaidOfSurface(c.QueryParam("done")),
	}, nil
}

// surfaceTitle is the title of a surface's page.
func surfaceTitle(h web.SurfaceHead, page string) string {
	title := h.Surface.Slug + " · " + h.Project.Name
	if page != "" {
		title = page + " · " + title
	}
	return title
}

// explained is what a page shows of a refusal that it can show itself; others
// become a page of their own.
func explained(err error) (text string, status int, ok bool) {
	f := fault.From(err)
	switch f.Kind {
	case fault.Internal, fault.NotFound, fault.Unauthenticated, fault.Unavailable, fault.Timeout:
		return "", 0, false
	}
	return f.Message, f.Kind.Status(), true
}

// seeOther leads to a page after something was done.
func seeOther(c echo.Context, to string) error { return c.Redirect(http.StatusSeeOther, to) }
