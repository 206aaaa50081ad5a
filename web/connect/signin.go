package connect

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/web"
)

// pageWait bounds how long a page waits for a project to say how people sign
// in to it.
const pageWait = 3 * time.Second

// waysOther in an address says that the person does not want the way that the
// page would offer first; waysSwitch, that somebody else is to sign in.
const (
	waysOther  = "other"
	waysSwitch = "switch"
)

// signIn shows where the sign-in stands: the ways in, a code that was mailed,
// a second factor. Whoever is signed in goes on.
func (s *site) signIn(c echo.Context, in *bridge.SignIn) error {
	ways := c.QueryParam("ways")
	switch {
	case in.Person != nil:
		return go303(c, s.onward(c, in))
	case in.Factor:
		return s.showFactor(c, in, web.Form{}, 200)
	case in.Email != "" && ways != waysOther:
		return s.showCode(c, in, web.Form{}, 200)
	}
	methods, err := s.methods(c, in, false)
	if err != nil {
		return err
	}
	switch {
	case methods.OAuth && ways == "":
		to, err := s.Bridge.StartOAuth(c.Request().Context(), in)
		if err != nil {
			return s.showWays(c, in, methods, err)
		}
		return go303(c, to)
	case methods.OwnHost != "" && ways == "":
		return go303(c, methods.OwnHost+ticketPath+s.Bridge.Ticket(in))
	}
	return s.showWays(c, in, methods, nil)
}

// methods asks how people sign in, for a moment.
func (s *site) methods(c echo.Context, in *bridge.SignIn, onOwnHost bool) (bridge.Methods, error) {
	ctx, cancel := context.WithTimeout(c.Request().Context(), pageWait)
	defer cancel()
	methods, err := s.Bridge.Methods(ctx, in, onOwnHost)
	if err != nil && ctx.Err() != nil && c.Request().Context().Err() == nil {
		return bridge.Methods{}, fault.Wrap(err, fault.Unavailable, "project_away", "You cannot sign in right now: %s does not answer. Try again in a moment.", appName(in.Endpoint)).
			WithRetryAfter(5 * time.Second)
	}
	return methods, err
}

// ask is what every page of the sign-in knows.
func (s *site) ask(c echo.Context, in *bridge.SignIn, form web.Form) web.EndUserAsk {
	ask := web.EndUserAsk{CSRF: s.formValue(formSignIn, proof(c)), Form: form, App: appName(in.Endpoint), Surface: in.Endpoint.Title, Action: signInAt(in)}
	if in.Client != nil {
		ask.Client = clientName(in.Client)
	}
	ask.Approval = s.approvalAfter(c, in) != ""
	return ask
}

// clientName is what a client calls itself; one that says nothing is known by
// where its document is.
func clientName(client *bridge.Client) string {
	if client.Name != "" || !client.Document {
		return client.Name
	}
	return client.ID
}

// showWays shows the ways to sign in, again with what was wrong.
func (s *site) showWays(c echo.Context, in *bridge.SignIn, m bridge.Methods, refused error) error {
	form, status := web.Form{}, 200
	if refused != nil {
		var ok bool
		if form, status, ok = refusedForm(c, refused, "email", "email"); !ok {
			return refused
		}
	}
	p := web.EndUserSignIn{EndUserAsk: s.ask(c, in, form), EmailCode: m.EmailCode, SignUp: m.SignUp, CancelURL: s.cancelAt(in)}
	if m.OAuth {
		p.Switch, p.GoURL = c.QueryParam("ways") == waysSwitch, signInAt(in)
	}
	p.Providers = s.providers(in, m)
	if m.OwnHost != "" {
		p.PasswordURL = m.OwnHost + ticketPath + s.Bridge.Ticket(in)
	}
	check, policy, script := captchaOf(m.Captcha)
	if m.EmailCode {
		if err := captchaMissing(m, in); err != nil && form.Refusal == "" {
			p.Form.Refusal = err.Message
		}
		p.Captcha = check
	} else {
		policy, script = web.Policy{}, ""
	}
	return s.show(c, status, view{title: "Sign in to " + appName(in.Endpoint), policy: policy.With(s.formsOf(in)), script: script, content: web.SignInWays(p)})
}

// captchaMissing says that the project demands a check that nobody set up
// here.
func captchaMissing(m bridge.Methods, in *bridge.SignIn) *fault.Error {
	if !m.Captcha.Needed || m.Captcha.Provider != "" {
		return nil
	}
	return fault.New(fault.Unavailable, "captcha_not_set_up", "You cannot sign in by email here yet: %s asks for a check that you are no robot, which its makers have not set up for this page. Tell them, or sign in another way.", appName(in.Endpoint))
}

func (s *site) providers(in *bridge.SignIn, m bridge.Methods) []web.EndUserProvider {
	var list []web.EndUserProvider
	for _, name := range m.Providers {
		if isRef(name) {
			// Links, not forms: browsers hold a form to its policy through every
			// redirect, and the provider's address is not known here.
			list = append(list, web.EndUserProvider{ID: name, URL: s.PagesURL + signInAt(in) + "/provider/" + name})
		}
	}
	return list
}

func (s *site) cancelAt(in *bridge.SignIn) string {
	if in.Purpose != bridge.PurposeAuthorize {
		return ""
	}
	return signInAt(in) + "/cancel"
}

// startProvider sends the browser to a social provider.
func (s *site) startProvider(c echo.Context, in *bridge.SignIn) error {
	if in.Person != nil {
		return go303(c, s.onward(c, in))
	}
	to, err := s.Bridge.StartProvider(c.Request().Context(), in, c.Param("provider"))
	if err != nil {
		return err
	}
	return go303(c, to)
}

// sendCode mails a code, or mails it again.
func (s *site) sendCode(c echo.Context, in *bridge.SignIn) error {
	again := posted(c, "again") != "" && in.Email != ""
	email := posted(c, "email")
	if again {
		email = in.Email
	}
	outcome, err := s.Bridge.SendCode(c.Request().Context(), in, email, captchaAnswer(c), s.visitor(c))
	if err == nil {
		return s.after(c, in, outcome)
	}
	if again {
		form, status, ok := refusedForm(c, err, "")
		if !ok {
			return err
		}
		return s.showCode(c, in, form, status)
	}
	methods, failed := s.methods(c, in, false)
	if failed != nil {
		return err
	}
	return s.showWays(c, in, methods, err)
}

// captchaAnswer is what the provider's script put into the form.
func captchaAnswer(c echo.Context) string {
	for _, field := range captchaFields {
		if answer := posted(c, field); answer != "" {
			return answer
		}
	}
	return ""
}

func (s *site) verifyCode(c echo.Context, in *bridge.SignIn) error {
	outcome, err := s.Bridge.VerifyEmailCode(c.Request().Context(), in, typedCode(c), s.visitor(c))
	if err != nil {
		form, status, ok := refusedForm(c, err, "code")
		if !ok {
			return err
		}
		return s.showCode(c, in, form, status)
	}
	return s.after(c, in, outcome)
}

func (s *site) verifyFactor(c echo.Context, in *bridge.SignIn) error {
	outcome, err := s.Bridge.VerifyFactor(c.Request().Context(), in, typedCode(c), s.visitor(c))
	if err != nil {
		form, status, ok := refusedForm(c, err, "code")
		if !ok {
			return err
		}
		return s.showFactor(c, in, form, status)
	}
	return s.after(c, in, outcome)
}

// typedCode is a code without the spaces and dashes that people type.
func typedCode(c echo.Context) string {
	var code []rune
	for _, r := range posted(c, "code") {
		if r != ' ' && r != '-' && r != '\u00a0' {
			code = append(code, r)
		}
	}
	return string(code)
}

func (s *site) showCode(c echo.Context, in *bridge.SignIn, form web.Form, status int) error {
	p := web.EndUserCode{EndUserAsk: s.ask(c, in, form), Email: in.Email, AgainURL: signInAt(in) + "/email", OtherURL: signInAt(in) + "?ways=" + waysOther, CancelURL: s.cancelAt(in)}
	p.Action += "/code"
	policy, script := web.Policy{}, ""
	// The check is for sending again only: without it the page still works.
	if m, err := s.methods(c, in, false); err == nil {
		p.Captcha, policy, script = captchaOf(m.Captcha)
	}
	return s.show(c, status, view{title: "Check your mail", policy: policy.With(s.formsOf(in)), script: script, content: web.MailedCode(p)})
}

func (s *site) showFactor(c echo.Context, in *bridge.SignIn, form web.Form, status int) error {
	p := web.EndUserCode{EndUserAsk: s.ask(c, in, form), OtherURL: signInAt(in) + "/again", CancelURL: s.cancelAt(in)}
	p.Action += "/factor"
	return s.show(c, status, view{title: "One more code", policy: s.formsOf(in), content: web.FactorCode(p)})
}

// after goes where an attempt to sign in led.
func (s *site) after(c echo.Context, in *bridge.SignIn, o bridge.Outcome) error {
	if o.Person == nil {
		return go303(c, signInAt(in))
	}
	return s.arrived(c, in, o.Person)
}

// arrived remembers the browser of a person who has just signed in, in place
// of whoever was there before, and goes on.
func (s *site) arrived(c echo.Context, in *bridge.SignIn, who *bridge.Person) error {
	ctx, name := c.Request().Context(), visitName(in.Endpoint.Project.ID)
	before := s.cookie(c, name)
	visit, err := s.Bridge.NewVisit(ctx, who)
	if err != nil {
		return err
	}
	s.setCookie(c, name, visit, visitFor)
	if !before.IsZero() {
		if err := s.Bridge.EndVisit(ctx, in.Endpoint.Project.ID, before); err != nil {
			s.Logger.WarnContext(ctx, "end visit", "request", requestID(c), "error", err)
		}
	}
	if in.Purpose == bridge.PurposeApps {
		s.clearCookie(c, signInName(in.ID))
	}
	return go303(c, s.onward(c, in))
}

// again forgets who signed in, here and on this browser.
func (s *site) again(c echo.Context, in *bridge.SignIn) error {
	if err := s.Bridge.Again(c.Request().Context(), in); err != nil {
		return err
	}
	if err := s.endVisit(c, in.Endpoint.Project.ID); err != nil {
		return err
	}
	return go303(c, signInAt(in)+"?ways="+waysSwitch)
}

// cancel gives the sign-in up.
func (s *site) cancel(c echo.Context, in *bridge.SignIn) error {
	to, err := s.Bridge.Cancel(c.Request().Context(), in)
	if err != nil {
		return err
	}
	if to == "" {
		s.clearCookie(c, signInName(in.ID))
		return s.notice(c, 200, web.EndUserNotice{Title: "Cancelled", Text: "Nothing was changed. You can close this window."})
	}
	return s.leave(c, in, to)
}
