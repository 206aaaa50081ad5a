package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/web"
)

func (d *dashboard) surfaceSettings(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	return d.showSettings(c, http.StatusOK, web.SurfaceSettingsPage{SurfaceHead: head})
}

func (d *dashboard) showSettings(c echo.Context, status int, page web.SurfaceSettingsPage) error {
	var err error
	if page.Introspection, err = d.introspection(c, page.SurfaceHead); err != nil {
		return err
	}
	return d.page(c, status, surfaceTitle(page.SurfaceHead, web.TabSettings), web.SurfaceSettings(page))
}

// renameSurface gives a surface another name; its old URLs go on answering.
func (d *dashboard) renameSurface(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	slug := c.FormValue("slug")
	renamed, err := d.Tenants.RenameSurface(c.Request().Context(), principal(c), head.Project.Slug, head.Surface.Slug, slug)
	if err == nil {
		head.Surface = renamed
		return done(c, head.Path("settings"), "surface-renamed")
	}
	text, status, ok := explained(err)
	if !ok {
		return err
	}
	return d.showSettings(c, status, web.SurfaceSettingsPage{SurfaceHead: head, Rename: shortened(slug), Trouble: text, Doing: "rename"})
}

// deleteSurface takes a surface away once its name was typed.
func (d *dashboard) deleteSurface(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	err = d.Tenants.DeleteSurface(c.Request().Context(), principal(c), head.Project.Slug, head.Surface.Slug, c.FormValue("confirm"))
	if err == nil {
		return done(c, web.ProjectPath(head.Project.Slug), "surface-deleted")
	}
	text, status, ok := explained(err)
	if !ok {
		return err
	}
	return d.showSettings(c, status, web.SurfaceSettingsPage{SurfaceHead: head, Trouble: text, Doing: "delete"})
}
