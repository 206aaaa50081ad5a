package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/web"
)

func (d *dashboard) schema(c echo.Context) error {
	return d.schemaPage(c, http.StatusOK, web.SchemaPage{})
}

func (d *dashboard) schemaPage(c echo.Context, status int, p web.SchemaPage) error {
	h, err := d.head(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p.ProjectHead, p.Catalog = h, len(h.Project.CatalogRelations) > 0
	if p.Snapshot, err = d.snapshot(ctx, principal(c), h.Project); err != nil {
		return err
	}
	if p.Surfaces, err = d.projectSurfaces(ctx, principal(c), h.Project); err != nil {
		return err
	}
	p.Relations = p.Form.Values["relations"]
	if p.Relations == "" && p.SQL == "" { // the SQL just made holds them already
		p.Relations = strings.Join(suggested(h.Project.CatalogRelations, p.Snapshot), "\n")
	}
	return d.page(c, status, "Schema of "+h.Project.Name, web.Schema(p))
}

// suggested is what chumbo_catalog described before, or all there is.
func suggested(before []string, snapshot *surfaces.StoredSnapshot) []string {
	if len(before) > 0 || snapshot == nil {
		return before
	}
	var all []string
	for _, r := range snapshot.Snapshot.Relations {
		all = append(all, r.Schema+"."+r.Name)
	}
	for _, f := range snapshot.Snapshot.Functions {
		all = append(all, f.Schema+"."+f.Name)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), suggestions)]
}

// suggestions is how many relations are suggested: as many as one function may
// describe.
const suggestions = 500

// maxRelations bounds what is listed, in bytes: the SQL repeats it, and is shown.
const maxRelations = 32 << 10

// makeCatalog answers with the page: the SQL on it holds a digest of a token
// that is never shown.
func (d *dashboard) makeCatalog(c echo.Context) error {
	relations := strings.FieldsFunc(posted(c, "relations"), func(r rune) bool { return r == '\n' || r == '\r' || r == ',' || r == ' ' || r == '\t' })
	if n := len(posted(c, "relations")); n > maxRelations {
		err := fault.New(fault.TooLarge, "relations_too_long", "The list is too long for this page: %d KiB, at most %d. List less, or make the function with chumbo import --catalog.", n>>10, maxRelations>>10)
		return d.refusedSchema(c, err, "catalog")
	}
	sql, err := d.Builders.CatalogFunction(c.Request().Context(), principal(c), c.Param("project"), relations)
	if err != nil {
		return d.refusedSchema(c, err, "catalog")
	}
	return d.schemaPage(c, http.StatusOK, web.SchemaPage{SQL: sql})
}

func (d *dashboard) importCatalog(c echo.Context) error {
	if _, err := d.Builders.ImportCatalog(c.Request().Context(), principal(c), c.Param("project")); err != nil {
		return d.refusedSchema(c, err, "import")
	}
	return done(c, web.ProjectPath(c.Param("project")), "imported")
}

// importManagement passes the token through memory once.
func (d *dashboard) importManagement(c echo.Context) error {
	token := seal.NewSecret(posted(c, "token"))
	if _, err := d.Builders.ImportManagement(c.Request().Context(), principal(c), c.Param("project"), token); err != nil {
		return d.refusedSchema(c, err, "token")
	}
	return done(c, web.ProjectPath(c.Param("project")), "imported")
}

func (d *dashboard) refusedSchema(c echo.Context, err error, way string) error {
	form, status, ok := refusedForm(c, err, "relations")
	if !ok {
		return err
	}
	return d.schemaPage(c, status, web.SchemaPage{Form: form, Way: way})
}
