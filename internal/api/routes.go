package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// need is what a route asks of its caller.
type need int

const (
	nobody     need = iota // no token
	needsRead              // any token
	needsWrite             // scope write, and a role that changes things
	needsAdmin             // scope admin, and an owner or admin
)

// route is one route of /api/v1.
type route struct {
	method, path string
	needs        need
	action       string // what the audit log calls it, for a refusal by scope or role
	handle       echo.HandlerFunc
}

// routes lists every route. docs/api.md describes each; a test compares.
func (a *api) routes() []route {
	const project, surface = "/projects/:project", "/projects/:project/surfaces/:surface"
	return []route{
		{http.MethodPost, "/device/authorize", nobody, "", a.authorizeDevice},
		{http.MethodPost, "/device/token", nobody, "", a.deviceToken},
		{http.MethodGet, "/me", needsRead, "", a.me},
		{http.MethodGet, "/tokens", needsRead, "", a.listTokens},
		{http.MethodPost, "/tokens", needsAdmin, "token.create", a.createToken},
		{http.MethodDelete, "/tokens/:token", needsRead, "", a.revokeToken}, // the service decides: a token may end itself
		{http.MethodGet, "/notices", needsRead, "", a.listNotices},
		{http.MethodPost, "/notices/:notice/dismiss", needsWrite, "notice.dismiss", a.dismissNotice},

		{http.MethodGet, "/projects", needsRead, "", a.listProjects},
		{http.MethodPost, "/projects", needsWrite, "project.create", a.createProject},
		{http.MethodGet, project, needsRead, "", a.getProject},
		{http.MethodPatch, project, needsWrite, "project.name", a.nameProject},
		{http.MethodDelete, project, needsAdmin, "project.delete", a.deleteProject},
		{http.MethodPost, project + "/probe", needsWrite, "project.update", a.probeProject},
		{http.MethodPost, project + "/rename", needsAdmin, "project.rename", a.renameProject},
		{http.MethodPut, project + "/logo", needsWrite, "project.logo", a.putLogo},
		{http.MethodDelete, project + "/logo", needsWrite, "project.logo_remove", a.deleteLogo},
		{http.MethodGet, project + "/ownership", needsRead, "", a.getOwnership},
		{http.MethodPost, project + "/ownership/check", needsWrite, "project.prove", a.proveByFunction},
		{http.MethodPost, project + "/ownership/secret", needsWrite, "project.prove", a.proveBySecretKey},
		{http.MethodPost, project + "/ownership/management", needsWrite, "project.prove", a.proveByManagement},
		{http.MethodGet, project + "/sign-in", needsRead, "", a.getSignIn},
		{http.MethodPut, project + "/sign-in", needsWrite, "project.sign_in", a.putSignIn},
		{http.MethodGet, project + "/clients", needsRead, "", a.listClients},

		{http.MethodGet, project + "/schema", needsRead, "", a.getSchema},
		{http.MethodPut, project + "/schema", needsWrite, "schema.import", a.putSchema},
		{http.MethodPost, project + "/schema/catalog", needsWrite, "schema.catalog", a.makeCatalog},
		{http.MethodPost, project + "/schema/import", needsWrite, "schema.import", a.importCatalog},
		{http.MethodPost, project + "/schema/import/management", needsWrite, "schema.import", a.importManagement},
		{http.MethodGet, project + "/schema/starter", needsRead, "", a.starter},
		{http.MethodGet, project + "/posture", needsRead, "", a.posture},

		{http.MethodGet, project + "/surfaces", needsRead, "", a.listSurfaces},
		{http.MethodGet, surface, needsRead, "", a.getSurface},
		{http.MethodDelete, surface, needsAdmin, "surface.delete", a.deleteSurface},
		{http.MethodGet, surface + "/file", needsRead, "", a.getFile},
		{http.MethodPut, surface + "/file", needsRead, "", a.putFile}, // a dry run keeps nothing; a draft needs write
		{http.MethodPost, surface + "/plan", needsRead, "", a.plan},
		{http.MethodPost, surface + "/publish", needsWrite, "surface.publish", a.publish},
		{http.MethodGet, surface + "/revisions", needsRead, "", a.listRevisions},
		{http.MethodGet, surface + "/revisions/compare", needsRead, "", a.compareRevisions},
		{http.MethodGet, surface + "/revisions/:number", needsRead, "", a.getRevision},
		{http.MethodPost, surface + "/rollback", needsWrite, "surface.rollback", a.rollback},
		{http.MethodPut, surface + "/pin", needsWrite, "surface.pin", a.pin},
		{http.MethodDelete, surface + "/pin", needsWrite, "surface.unpin", a.unpin},
		{http.MethodGet, surface + "/drift", needsRead, "", a.drift},
		{http.MethodPut, surface + "/state", needsWrite, "surface.state", a.putState},
		{http.MethodPost, surface + "/rename", needsAdmin, "surface.rename", a.renameSurface},
		{http.MethodGet, surface + "/connections", needsRead, "", a.listConnections},
		{http.MethodGet, surface + "/grants", needsRead, "", a.listGrants},
		{http.MethodDelete, surface + "/grants/:grant", needsWrite, "grant.revoke", a.revokeGrant},
		{http.MethodGet, surface + "/keys", needsRead, "", a.listKeys},
		{http.MethodPost, surface + "/keys", needsWrite, "key.create", a.createKey},
		{http.MethodDelete, surface + "/keys/:key", needsWrite, "key.revoke", a.revokeKey},
		{http.MethodGet, surface + "/introspection", needsRead, "", a.getIntrospection},
		{http.MethodPut, surface + "/introspection", needsWrite, "surface.introspection_set", a.putIntrospection},
		{http.MethodDelete, surface + "/introspection", needsWrite, "surface.introspection_drop", a.deleteIntrospection},
	}
}

// handler builds the router of routes.
func (a *api) handler() http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = a.writeError
	e.Use(a.observe, a.recover, refuseSecretAddress)
	for _, r := range a.routes() {
		// Not an echo group: its middleware brings a catch-all that hides 405.
		if r.needs == nobody {
			e.Add(r.method, "/api/v1"+r.path, r.handle)
			continue
		}
		e.Add(r.method, "/api/v1"+r.path, r.handle, a.authenticate, a.admit(r))
	}
	return e
}

// admit refuses whom the token's scope or the member's role does not let do
// this. The refusal is in the audit log.
func (a *api) admit(r route) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			p, may := principal(c), error(nil)
			switch r.needs {
			case needsWrite:
				may = p.MayWrite()
			case needsAdmin:
				may = p.MayAdminister()
			}
			if may == nil {
				return next(c)
			}
			var target []string
			for _, name := range []string{"project", "surface"} {
				if value := c.Param(name); value != "" {
					target = append(target, value)
				}
			}
			return a.Tenants.Refused(c.Request().Context(), p, r.action, may, target...)
		}
	}
}
