package connect

import (
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/web"
)

// The password form is on the project's own host: password managers fill by
// origin, and no origin of several organizations may ask for one.

// openTicket finds the sign-in that the address hands over to this host. There
// is no cookie here: what is done with it counts only once the browser that
// began the sign-in is back with the secret of HandBack.
func (s *site) openTicket(c echo.Context) (*bridge.SignIn, error) {
	ticket := c.Param("ticket")
	if len(ticket) > 2048 {
		return nil, startAgain(nil)
	}
	in, err := s.Bridge.OpenTicket(c.Request().Context(), s.Hosts.EffectiveHost(c.Request()), ticket)
	if err != nil {
		return nil, err
	}
	c.Set(endpointKey, in.Endpoint)
	c.Set(wayKey, s.PagesURL+signInAt(in))
	return in, nil
}

// ticketAt is this host's page of the sign-in as it stands now: a new ticket
// goes with what the browser has begun here.
func (s *site) ticketAt(in *bridge.SignIn) string { return ticketPath + s.Bridge.Ticket(in) }

func (s *site) ticketPage(c echo.Context) error {
	in, err := s.openTicket(c)
	if err != nil {
		return err
	}
	switch {
	case in.Person != nil:
		// Somebody has signed in, who need not be whoever holds this address.
		return go303(c, s.PagesURL+signInAt(in))
	case in.Factor:
		return s.showTicketCode(c, in, web.Form{}, 200)
	case in.Email != "" && c.QueryParam("ways") != waysOther:
		return s.showTicketCode(c, in, web.Form{}, 200)
	}
	return s.showPassword(c, in, c.QueryParam("new") != "", nil)
}

func (s *site) ticketForm(c echo.Context) error {
	ctx := c.Request().Context()
	in, err := s.openTicket(c)
	if err != nil {
		return err
	}
	if err := s.checkForm(c, formTicket, seal.NewSecret(c.Param("ticket"))); err != nil {
		return err
	}
	var outcome bridge.Outcome
	show := func(form web.Form, status int) error { return s.showTicketCode(c, in, form, status) }
	switch do := posted(c, "do"); do {
	case "password", "sign-up":
		try := s.Bridge.Password
		if do == "sign-up" {
			try = s.Bridge.SignUp
		}
		outcome, err = try(ctx, in, posted(c, "email"), seal.NewSecret(posted(c, "password")), captchaAnswer(c), s.visitor(c))
		if err != nil {
			return s.showPassword(c, in, do == "sign-up", err)
		}
	case "factor":
		outcome, err = s.Bridge.VerifyFactor(ctx, in, typedCode(c), s.visitor(c))
	case "code":
		outcome, err = s.Bridge.VerifyEmailCode(ctx, in, typedCode(c), s.visitor(c))
	default:
		return fault.New(fault.Invalid, "form_unknown", "Nothing was done: this form is not known. Open the page again and repeat what you did.")
	}
	if err != nil {
		form, status, ok := refusedForm(c, err, "code")
		if !ok {
			return err
		}
		return show(form, status)
	}
	if outcome.Person == nil {
		return go303(c, s.ticketAt(in))
	}
	back, err := s.Bridge.HandBack(ctx, in)
	if err != nil {
		return err
	}
	return go303(c, back)
}

// askByTicket is ask for a page on the project's own host.
func (s *site) askByTicket(c echo.Context, in *bridge.SignIn, form web.Form) web.EndUserAsk {
	ask := s.ask(c, in, form)
	ask.Action = ticketPath + url.PathEscape(c.Param("ticket"))
	ask.CSRF = s.formValue(formTicket, seal.NewSecret(c.Param("ticket")))
	return ask
}

// showPassword shows the password form, with the other ways beside it.
func (s *site) showPassword(c echo.Context, in *bridge.SignIn, fresh bool, refused error) error {
	methods, err := s.methods(c, in, true)
	if err != nil {
		if refused != nil {
			return refused
		}
		return err
	}
	elsewhere := s.PagesURL + signInAt(in) + "?ways=" + waysOther
	if !methods.Password {
		return go303(c, elsewhere)
	}
	form, status := web.Form{}, 200
	if refused != nil {
		var ok bool
		if form, status, ok = refusedForm(c, refused, "password", "email"); !ok {
			return refused
		}
	}
	fresh = fresh && methods.SignUp
	p := web.EndUserSignIn{
		EndUserAsk: s.askByTicket(c, in, form), Password: true, New: fresh, Providers: s.providers(in, methods), BackURL: elsewhere,
	}
	if methods.EmailCode {
		p.EmailURL = elsewhere
	}
	if methods.SignUp {
		p.NewURL, p.KnownURL = p.Action+"?new=1", p.Action
	}
	if err := captchaMissing(methods, in); err != nil && form.Refusal == "" {
		p.Form.Refusal = err.Message
	}
	check, policy, script := captchaOf(methods.Captcha)
	p.Captcha = check
	return s.show(c, status, view{title: "Sign in to " + appName(in.Endpoint), policy: policy.With(s.formsOf(in)), script: script, content: web.SignInWays(p)})
}

// showTicketCode asks for a code that was mailed, or the second factor's.
func (s *site) showTicketCode(c echo.Context, in *bridge.SignIn, form web.Form, status int) error {
	p := web.EndUserCode{EndUserAsk: s.askByTicket(c, in, form), BackURL: s.PagesURL + signInAt(in) + "?ways=" + waysOther}
	title, content := "One more code", web.FactorCode
	if !in.Factor {
		p.Email, p.OtherURL = in.Email, strings.TrimSuffix(p.Action, "/")+"?ways="+waysOther
		title, content = "Check your mail", web.MailedCode
	}
	return s.show(c, status, view{title: title, policy: s.formsOf(in), content: content(p)})
}
