package dashboard

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const sessionKey = "session"

// cookieName carries the promise of its attributes (RFC 6265bis section
// 4.1.3.2) wherever browsers accept it, which is https only.
func (d *dashboard) cookieName() string {
	if d.secure {
		return "__Host-chumbo"
	}
	return "chumbo"
}

func (d *dashboard) setCookie(c echo.Context, value seal.Secret, session tenants.Session) {
	http.SetCookie(c.Response(), &http.Cookie{
		Name: d.cookieName(), Value: value.Reveal(), Path: "/", Expires: session.ExpiresAt,
		Secure: d.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (d *dashboard) clearCookie(c echo.Context) {
	http.SetCookie(c.Response(), &http.Cookie{
		Name: d.cookieName(), Path: "/", MaxAge: -1, Secure: d.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// cookie is what the browser sent; zero for nothing.
func (d *dashboard) cookie(c echo.Context) seal.Secret {
	sent, err := c.Cookie(d.cookieName())
	if err != nil {
		return seal.Secret{}
	}
	return seal.NewSecret(sent.Value)
}

func (d *dashboard) address(c echo.Context) string { return d.Hosts.ClientAddress(c.Request()) }

// findSession finds the session of the request, or fault.Unauthenticated, and
// hands the browser its cookie's new value. It asks once per request.
func (d *dashboard) findSession(c echo.Context) (tenants.Session, error) {
	if known, ok := c.Get(sessionKey).(tenants.Session); ok {
		return known, nil
	}
	cookie := d.cookie(c)
	if cookie.IsZero() {
		return tenants.Session{}, fault.New(fault.Unauthenticated, "session_unknown", "You are not signed in. Sign in and try again.")
	}
	session, err := d.Tenants.Session(c.Request().Context(), cookie, d.address(c))
	if err != nil {
		return tenants.Session{}, err
	}
	if !session.Cookie.IsZero() {
		d.setCookie(c, session.Cookie, session)
	}
	c.Set(sessionKey, session)
	return session, nil
}

// signedIn admits builders; others are sent to sign in and come back after.
func (d *dashboard) signedIn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		session, err := d.findSession(c)
		if fault.Is(err, fault.Unauthenticated) {
			return d.askToSignIn(c)
		}
		if err != nil {
			return err
		}
		if session.Current.Organization.ID.IsZero() && c.Path() != "/app/organizations" && c.Path() != "/app/organizations/new" && c.Path() != "/app/sign-out" {
			return c.Redirect(http.StatusSeeOther, "/app/organizations/new")
		}
		return next(c)
	}
}

// askToSignIn sends a browser to sign in. What a script asked for gets the
// refusal itself: a page would be of no use to it.
func (d *dashboard) askToSignIn(c echo.Context) error {
	if !d.cookie(c).IsZero() {
		d.clearCookie(c)
	}
	r := c.Request()
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" && mode != "navigate" {
		return fault.New(fault.Unauthenticated, "session_unknown", "You are not signed in any more. Sign in and try again.")
	}
	needed, err := d.Tenants.NeedsSetup(r.Context())
	if err != nil {
		return err
	}
	if needed {
		return c.Redirect(http.StatusSeeOther, "/app/setup")
	}
	to := "/app/sign-in"
	if r.Method == http.MethodGet && localPath(r.URL.RequestURI()) != "/app" {
		to += "?next=" + url.QueryEscape(r.URL.RequestURI())
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// localPath is where to go after signing in: a page of ours under /app, never
// anybody else's. Anything doubtful is /app itself.
func localPath(next string) string {
	const home = "/app"
	odd := func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) }
	if len(next) > 2048 || strings.ContainsFunc(next, odd) || strings.Contains(next, "//") {
		return home
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || strings.ContainsFunc(u.Path, odd) {
		return home
	}
	if clean := path.Clean(u.Path); clean != u.Path || clean != home && !strings.HasPrefix(clean, home+"/") {
		return home
	}
	if strings.HasPrefix(u.Path, home+"/sign-in") || strings.HasPrefix(u.Path, home+"/setup") {
		return home
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// sessionOf is the session of a route behind signedIn.
func sessionOf(c echo.Context) tenants.Session {
	session, _ := c.Get(sessionKey).(tenants.Session)
	return session
}

// principal is who acts, in the organization they work in.
func principal(c echo.Context) tenants.Principal { return sessionOf(c).Current }
