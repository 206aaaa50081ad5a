package dashboard

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

// handler is the router and what stands before it.
func (d *dashboard) handler() (http.Handler, error) { return d.sameOrigin(d.router()) }

// router knows every route.
func (d *dashboard) router() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = d.writeError
	e.Use(d.observe, d.recover, d.readForm)

	d.open(e, http.MethodGet, "/app/setup", d.setup)
	d.open(e, http.MethodPost, "/app/setup", d.completeSetup)
	d.open(e, http.MethodGet, "/app/sign-in", d.signInPage)
	d.open(e, http.MethodPost, "/app/sign-in", d.signIn)

	d.get(e, "/app", d.projects)
	d.get(e, "/app/", d.projects)
	d.post(e, "/app/notices/:notice/dismiss", d.dismissNotice)
	d.post(e, "/app/sign-out", d.signOut)
	d.get(e, "/app/account", d.account)
	d.post(e, "/app/account/password", d.changePassword)
	d.post(e, "/app/organization", d.switchOrganization)
	d.get(e, "/app/organizations/new", d.newOrganizationPage)
	d.post(e, "/app/organizations", d.newOrganization)
	d.get(e, "/app/tokens", d.tokens)
	d.post(e, "/app/tokens", d.makeToken)
	d.post(e, "/app/tokens/:token/revoke", d.revokeToken)
	d.get(e, "/app/device", d.device)
	d.post(e, "/app/device", d.decideDevice)

	d.get(e, "/app/register", d.registerPage)
	d.post(e, "/app/register", d.beginRegistration)
	d.get(e, "/app/register/:registration", d.registration)
	d.post(e, "/app/register/:registration", d.register)
	d.get(e, "/app/register/:registration/events", d.registrationEvents)
	d.post(e, "/app/register/:registration/check", d.checkRegistration)

	const project = "/app/projects/:project"
	d.get(e, project, d.project)
	d.post(e, project+"/check", d.checkProject)
	d.get(e, project+"/events", d.projectEvents)
	d.get(e, project+"/ownership", d.ownership)
	d.post(e, project+"/ownership/check", d.proveByFunction)
	d.post(e, project+"/ownership/secret", d.proveBySecretKey)
	d.post(e, project+"/ownership/management", d.proveByManagement)
	d.get(e, project+"/schema", d.schema)
	d.post(e, project+"/schema/catalog", d.makeCatalog)
	d.post(e, project+"/schema/import", d.importCatalog)
	d.post(e, project+"/schema/management", d.importManagement)
	d.get(e, project+"/settings", d.settings)
	d.post(e, project+"/settings/name", d.setProjectName)
	d.post(e, uploadRoute, d.setLogo)
	d.post(e, project+"/settings/logo/remove", d.removeLogo)
	d.post(e, project+"/settings/slug", d.renameProject)
	d.post(e, project+"/settings/key", d.setPublishableKey)
	d.post(e, project+"/settings/sign-in", d.setSignIn)
	d.post(e, project+"/settings/sign-in/client", d.setSignInClient)
	d.post(e, project+"/settings/sign-in/forget", d.forgetSignInClient)
	d.post(e, project+"/settings/delete", d.deleteProject)

	d.surfaceRoutes(e)
	return e
}

// secretRoutes are where one field may hold a key or a token: it is looked at
// by the handler alone. Everywhere else no field may.
var secretRoutes = map[string]string{
	"/app/projects/:project/ownership/secret":     "key",
	"/app/projects/:project/ownership/management": "token",
	"/app/projects/:project/schema/management":    "token",
}

// open adds a route for people who are not signed in.
func (d *dashboard) open(e *echo.Echo, method, path string, h echo.HandlerFunc) {
	e.Add(method, path, h)
}

// get adds a page for signed-in builders.
func (d *dashboard) get(e *echo.Echo, path string, h echo.HandlerFunc) { e.GET(path, h, d.signedIn) }

// post adds an action of signed-in builders: it needs the session's form value.
func (d *dashboard) post(e *echo.Echo, path string, h echo.HandlerFunc) {
	e.POST(path, h, d.signedIn, d.ownForm)
}

// sameOrigin refuses what a page of another site made the browser send. Forms
// carry the session's value besides; those before sign-in have only this and
// the cookie's SameSite.
func (d *dashboard) sameOrigin(e *echo.Echo) (http.Handler, error) {
	guard := http.NewCrossOriginProtection()
	for _, origin := range append([]string{d.Hosts.PublicURL}, d.Hosts.Aliases...) {
		if err := guard.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("trust origin: %w", err)
		}
	}
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := e.NewContext(r, w)
		_ = d.observe(func(echo.Context) error { return refusedOrigin() })(c)
	}))
	return guard.Handler(e), nil
}
