package connect

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// What a request has found out, for the pages that say what went wrong.
const (
	endpointKey = "endpoint" // *tenants.Endpoint: whose name and logo the page carries
	wayKey      = "way"      // where to try again
	proofKey    = "proof"    // seal.Secret: what the request's forms are bound to
)

// view is a page to be shown.
type view struct {
	title   string
	wide    bool
	policy  web.Policy
	script  string
	content templ.Component
}

// show answers with a page in the app's own frame.
func (s *site) show(c echo.Context, status int, v view) error {
	frame := web.EndUserFrame{Title: v.title, Wide: v.wide, Script: v.script}
	if ep, known := c.Get(endpointKey).(*tenants.Endpoint); known {
		frame.App, frame.Logo = appName(ep), ep.Project.LogoPath()
	}
	return web.WritePageUnder(c.Request().Context(), c.Response(), status, web.EndUser(frame, v.content), v.policy)
}

// notice answers with a page that says one thing.
func (s *site) notice(c echo.Context, status int, n web.EndUserNotice) error {
	return s.show(c, status, view{title: n.Title, content: web.Notice(n)})
}

// appName is what people call the app.
func appName(ep *tenants.Endpoint) string {
	if name := strings.TrimSpace(ep.Project.Name); name != "" {
		return name
	}
	return ep.Title
}

// opened finds the sign-in of the request by its address and its cookie.
func (s *site) opened(h func(echo.Context, *bridge.SignIn) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		in, cookie, err := s.open(c)
		if err != nil {
			return err
		}
		c.Set(proofKey, cookie)
		s.place(c, in)
		return h(c, in)
	}
}

// place notes where the request is.
func (s *site) place(c echo.Context, in *bridge.SignIn) {
	c.Set(endpointKey, in.Endpoint)
	c.Set(wayKey, signInAt(in))
}

func (s *site) open(c echo.Context) (*bridge.SignIn, seal.Secret, error) {
	at, err := id.Parse[id.SignInKind](c.Param("id"))
	if err != nil {
		return nil, seal.Secret{}, startAgain(err)
	}
	cookie := s.cookie(c, signInName(at))
	in, err := s.Bridge.Open(c.Request().Context(), at, cookie)
	return in, cookie, err
}

// startAgain is all that whoever brings nothing we know is told.
func startAgain(cause error) error {
	return fault.Wrap(cause, fault.NotFound, "start_again", "This sign-in is over, or was begun in another browser. Start again from your AI app.")
}

// ownForm refuses a form that was not made for the browser of the sign-in.
func (s *site) ownForm(h func(echo.Context, *bridge.SignIn) error) func(echo.Context, *bridge.SignIn) error {
	return func(c echo.Context, in *bridge.SignIn) error {
		if err := s.checkForm(c, formSignIn, proof(c)); err != nil {
			return err
		}
		return h(c, in)
	}
}

func proof(c echo.Context) seal.Secret {
	secret, _ := c.Get(proofKey).(seal.Secret)
	return secret
}

// refusedForm is a form to be shown again with why it was refused. It is not
// ok for an error that a form cannot mend. keep names the fields whose values
// may stand in the page again.
func refusedForm(c echo.Context, err error, field string, keep ...string) (form web.Form, status int, ok bool) {
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return web.Form{}, 0, false
	}
	switch refused.Kind {
	case fault.Internal, fault.NotFound, fault.Misdirected:
		return web.Form{}, 0, false
	}
	form = web.Form{Refusal: refused.Message, Values: map[string]string{}}
	if len(refused.Issues) > 0 {
		form.Field = refused.Issues[0].Path
	} else if refused.Kind == fault.Invalid || refused.Kind == fault.Unprocessable {
		form.Field = field
	}
	for _, name := range keep {
		if value := posted(c, name); len(value) <= 320 {
			form.Values[name] = value
		}
	}
	fault.SetRetryAfter(c.Response().Header(), refused.RetryAfter)
	return form, refused.Kind.Status(), true
}

// titles say in a few words what went wrong.
var titles = map[fault.Kind]string{
	fault.Internal:        "Something went wrong on our side",
	fault.Invalid:         "That did not work",
	fault.Unauthenticated: "You are not signed in",
	fault.Forbidden:       "That is not allowed",
	fault.NotFound:        "There is nothing here",
	fault.Conflict:        "That is not possible any more",
	fault.TooLarge:        "That is too large",
	fault.Unprocessable:   "That did not work",
	fault.RateLimited:     "Too many tries",
	fault.Unavailable:     "Not possible right now",
	fault.Timeout:         "No answer in time",
}

func titleOf(f *fault.Error) string {
	switch f.Code {
	case "start_again":
		return "Please start again"
	case "unknown_client":
		return "This connection is not known here"
	}
	if title, known := titles[f.Kind]; known {
		return title
	}
	return f.Kind.Title()
}

// writeError answers with a page that says what happened, why, and what to do.
// Whoever asks a client for access is sent back there, where that is right.
func (s *site) writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	var back *bridge.BackToClient
	if errors.As(err, &back) {
		_ = c.Redirect(http.StatusSeeOther, back.URL)
		return
	}
	n := web.EndUserNotice{TraceID: requestID(c)}
	var status int
	var unrouted *echo.HTTPError
	switch {
	case errors.As(err, &unrouted) && unrouted.Code == http.StatusMethodNotAllowed:
		status, n.Title, n.Text = http.StatusMethodNotAllowed, "This cannot be done here", "The page exists, but not for this kind of request. Start again from your AI app."
	case errors.As(err, &unrouted):
		status, n.Title, n.Text = http.StatusNotFound, "There is no such page", "The address may be mistyped, or what was here is over. Start again from your AI app."
	default:
		f := fault.From(err)
		status, n.Title, n.Text = f.Kind.Status(), titleOf(f), f.Message
		for _, issue := range f.Issues {
			if !strings.Contains(f.Message, issue.Message) { // said already
				n.Issues = append(n.Issues, issue.Message)
			}
		}
		if f.Kind == fault.Internal {
			s.Logger.LogAttrs(c.Request().Context(), slog.LevelError, "connect failed",
				slog.String("request", n.TraceID), slog.String("route", c.Path()), slog.String("cause", err.Error()))
		}
		if way, known := c.Get(wayKey).(string); known && f.Code != "start_again" && f.Kind != fault.Misdirected {
			n.Way, n.WayText = way, "Try again"
		}
		fault.SetRetryAfter(c.Response().Header(), f.RetryAfter)
	}
	if err := s.notice(c, status, n); err != nil {
		s.Logger.WarnContext(c.Request().Context(), "write page", "request", n.TraceID, "error", err)
	}
}

// go303 sends the browser on after a form, or to another page of the way.
func go303(c echo.Context, to string) error { return c.Redirect(http.StatusSeeOther, to) }

// leave sends the browser to its client, and forgets the sign-in.
func (s *site) leave(c echo.Context, in *bridge.SignIn, to string) error {
	s.clearCookie(c, signInName(in.ID))
	return go303(c, to)
}
