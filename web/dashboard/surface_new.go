package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// The list of tables to choose from is bounded, so that the page stays small
// whatever they are called and said to be.
const (
	offeredTables = 300
	offeredBytes  = 64 << 10
)

func (d *dashboard) newSurfacePage(c echo.Context) error {
	page, err := d.newSurfaceForm(c)
	if err != nil {
		return err
	}
	page.Title = page.Project.Name
	have, err := d.Tenants.Surfaces(c.Request().Context(), principal(c), page.Project.Slug)
	if err != nil {
		return err
	}
	if len(have) == 0 {
		page.Slug = tenants.MainSurface
	}
	return d.showNewSurface(c, http.StatusOK, page)
}

func (d *dashboard) showNewSurface(c echo.Context, status int, page web.NewSurfacePage) error {
	return d.page(c, status, "New surface · "+page.Project.Name, web.NewSurface(page))
}

// newSurfaceForm is the form with the tables that can be offered.
func (d *dashboard) newSurfaceForm(c echo.Context) (web.NewSurfacePage, error) {
	p, ctx := principal(c), c.Request().Context()
	project, err := d.Tenants.Project(ctx, p, c.Param("project"))
	if err != nil {
		return web.NewSurfacePage{}, err
	}
	page := web.NewSurfacePage{Project: project, CSRF: sessionOf(c).CSRF, MayWrite: p.MayWrite() == nil}
	stored, err := d.Surfaces.LatestSnapshot(ctx, p.Organization.ID, project.ID)
	if fault.Is(err, fault.NotFound) {
		return page, nil
	}
	if err != nil {
		return web.NewSurfacePage{}, err
	}
	page.Imported = true
	comments := map[string]string{}
	for _, r := range stored.Snapshot.Relations {
		name := r.Schema + "." + r.Name
		if len(stored.Snapshot.Schemas) > 0 && r.Schema == stored.Snapshot.Schemas[0].Name {
			name = r.Name // as Offerable names it
		}
		comments[name] = r.Comment
	}
	names, size := surfaces.Offerable(stored.Snapshot), 0
	for i, name := range names {
		// The name is there twice; the rest is markup.
		if size += 2*len(name) + min(len(comments[name]), 480) + 200; i == offeredTables || size > offeredBytes {
			page.Hidden = len(names) - i
			break
		}
		page.Tables = append(page.Tables, web.OfferedTable{Name: name, Comment: comments[name]})
	}
	return page, nil
}

// newSurface makes a surface with a starter file as its draft.
func (d *dashboard) newSurface(c echo.Context) error {
	page, err := d.newSurfaceForm(c)
	if err != nil {
		return err
	}
	page.Slug, page.Title = strings.TrimSpace(c.FormValue("slug")), strings.TrimSpace(c.FormValue("title"))
	chosen := c.Request().PostForm["table"]
	made, err := d.makeSurface(c, page, chosen)
	if err == nil {
		return done(c, web.SurfaceHead{Project: page.Project, Surface: made}.Path("capabilities"), "made")
	}
	text, status, ok := explained(err)
	if !ok {
		return err
	}
	page.Trouble, page.Slug, page.Title = text, shortened(page.Slug), shortened(page.Title)
	for i := range page.Tables {
		page.Tables[i].Chosen = slices.Contains(chosen, page.Tables[i].Name)
	}
	return d.showNewSurface(c, status, page)
}

func (d *dashboard) makeSurface(c echo.Context, page web.NewSurfacePage, tables []string) (tenants.Surface, error) {
	p, ctx := principal(c), c.Request().Context()
	if err := tenants.CheckSurfaceSlug(page.Slug); err != nil {
		return tenants.Surface{}, err
	}
	_, err := d.Tenants.Surface(ctx, p, page.Project.Slug, page.Slug)
	if err == nil {
		return tenants.Surface{}, fault.New(fault.Conflict, "name_taken", "The project already has a surface of that name. Take another name.")
	}
	if !fault.Is(err, fault.NotFound) {
		return tenants.Surface{}, err
	}
	file := emptyFile(page.Title)
	if len(tables) > 0 {
		if file, err = d.Builders.Starter(ctx, p, page.Project.Slug, page.Title, tables); err != nil {
			return tenants.Surface{}, err
		}
	}
	_, made, err := d.Builders.SaveDraft(ctx, p, page.Project.Slug, page.Slug, file)
	return made, err
}

// emptyFile is a file without tools yet. JSON's strings are YAML's too.
func emptyFile(title string) []byte {
	quoted, err := json.Marshal(title)
	if err != nil { // strings always marshal
		quoted = []byte(`"Untitled"`)
	}
	return fmt.Appendf(nil, "version: 1\ntitle: %s\naccess: { mode: oauth, authorization: direct }\ntools: []\n", quoted)
}
