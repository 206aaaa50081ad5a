package dashboard

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// page answers with a page inside the dashboard's frame.
func (d *dashboard) page(c echo.Context, status int, title string, content templ.Component) error {
	return d.write(c, status, web.Shell(d.frame(c, title), content))
}

// bare answers with a page of its own, for people who are not signed in.
func (d *dashboard) bare(c echo.Context, status int, title string, content templ.Component) error {
	return d.write(c, status, web.Bare(title, content))
}

// write answers with a component as it is: a whole page, or a part of one that
// a script asked for.
func (d *dashboard) write(c echo.Context, status int, whole templ.Component) error {
	return web.WritePage(c.Request().Context(), c.Response(), status, whole)
}

// frame is what stands around a page.
func (d *dashboard) frame(c echo.Context, title string) web.Frame {
	session := sessionOf(c)
	f := web.Frame{
		Title: title, Here: here(c.Path()), Email: session.Builder.Email, CSRF: session.CSRF, Version: d.Version,
		Organization: session.Current.Organization.Name, Said: web.Said(c.QueryParam("done")),
	}
	for _, m := range session.Organizations {
		f.Organizations = append(f.Organizations, web.FrameOrganization{
			Slug: m.Organization.Slug, Name: m.Organization.Name, Current: m.Organization.ID == session.Current.Organization.ID,
		})
	}
	return f
}

// here is the entry of the navigation that a route belongs to.
func here(route string) string {
	switch {
	case strings.HasPrefix(route, "/app/tokens"), strings.HasPrefix(route, "/app/device"):
		return web.HereTokens
	case strings.HasPrefix(route, "/app/account"):
		return web.HereAccount
	case strings.HasPrefix(route, "/app/organization"):
		return ""
	}
	return web.HereProjects
}

// common is what every part of a page may need.
func (d *dashboard) common(c echo.Context) web.Common {
	p := principal(c)
	return web.Common{
		CSRF: sessionOf(c).CSRF, Now: d.Now(), PublicURL: d.Hosts.PublicURL,
		MayWrite: p.MayWrite() == nil, MayAdminister: p.MayAdminister() == nil,
	}
}

// done sends the browser to a page that says what was done.
func done(c echo.Context, to, what string) error {
	return c.Redirect(http.StatusSeeOther, to+"?done="+what)
}

// refusedForm is a form to be shown again with why it was refused. It is not
// ok for an error that a form cannot mend. keep names the fields whose values
// may stand in the page again.
func refusedForm(c echo.Context, err error, keep ...string) (form web.Form, status int, ok bool) {
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return web.Form{}, 0, false
	}
	switch refused.Kind {
	case fault.Internal, fault.NotFound:
		return web.Form{}, 0, false
	}
	form = web.Form{Refusal: refused.Message, Values: map[string]string{}}
	if len(refused.Issues) > 0 {
		form.Field = refused.Issues[0].Path
	}
	for _, field := range keep {
		form.Values[field] = shortened(posted(c, field))
	}
	fault.SetRetryAfter(c.Response().Header(), refused.RetryAfter)
	return form, refused.Kind.Status(), true
}

// shortened keeps a page small whatever was pasted.
func shortened(value string) string {
	if len(value) > 2048 || tenants.RefuseSecret("value", value) != nil {
		return ""
	}
	return value
}

// writeError answers with a page that says what happened, why, and what to do.
func (d *dashboard) writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := web.Problem{TraceID: requestID(c)}
	var unrouted *echo.HTTPError
	switch {
	case errors.As(err, &unrouted) && unrouted.Code == http.StatusMethodNotAllowed:
		p.Status, p.Title, p.Text = http.StatusMethodNotAllowed, "This cannot be done here", "The page exists, but not for this kind of request. Open it from the dashboard."
	case errors.As(err, &unrouted):
		p.Status, p.Title, p.Text = http.StatusNotFound, "There is no such page", "The address may be mistyped, or what was here has been renamed or deleted."
	default:
		f := fault.From(err)
		p.Status, p.Title, p.Text = f.Kind.Status(), f.Kind.Title(), f.Message
		for _, issue := range f.Issues {
			if !strings.Contains(f.Message, issue.Message) { // said already
				p.Issues = append(p.Issues, issue.Message)
			}
		}
		var probe *builders.ProbeRefused
		if f.Kind == fault.Internal && !errors.As(err, &probe) {
			d.Logger.LogAttrs(c.Request().Context(), slog.LevelError, "dashboard failed",
				slog.String("request", p.TraceID), slog.String("route", c.Path()), slog.String("cause", err.Error()))
		}
		fault.SetRetryAfter(c.Response().Header(), f.RetryAfter)
	}
	if f := sessionOf(c); !f.ID.IsZero() {
		err = d.page(c, p.Status, p.Title, web.ProblemPage(p))
	} else {
		err = d.bare(c, p.Status, p.Title, web.ProblemPage(p))
	}
	if err != nil {
		d.Logger.WarnContext(c.Request().Context(), "write page", "request", p.TraceID, "error", err)
	}
}
