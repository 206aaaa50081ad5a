package connect

import (
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/web"
)

// question asks whether the client may act for the person. What they allowed
// before, exactly so, is not asked again.
func (s *site) question(c echo.Context, in *bridge.SignIn) error {
	if in.Person == nil || in.Purpose != bridge.PurposeAuthorize {
		return go303(c, signInAt(in))
	}
	c.Set(wayKey, consentAt(in))
	ctx := c.Request().Context()
	q, err := s.Bridge.Question(ctx, in)
	if err != nil {
		return err
	}
	if q.Skip {
		return s.answer(c, in, bridge.Answer{Allow: true, Skipped: true})
	}
	p := web.EndUserConsent{
		CSRF: s.formValue(formAnswer, asked(proof(c), in.Person)), AgainCSRF: s.formValue(formSignIn, proof(c)), App: appName(in.Endpoint), Surface: q.Surface, Client: q.ClientName, ClientHost: q.ClientHost,
		Redirect: q.Redirect, Email: q.Email, Scopes: q.Scopes, Reads: toolsOf(q.Reads), Writes: toolsOf(q.Writes), Lifetimes: q.Lifetimes,
		Action: consentAt(in), AgainAction: signInAt(in) + "/again", Apps: appsAt(in.Endpoint.Resource.Ref),
	}
	return s.show(c, 200, view{title: "Allow access to " + appName(in.Endpoint), policy: s.formsOf(in), content: web.Consent(p)})
}

func toolsOf(tools []bridge.QuestionTool) []web.EndUserTool {
	list := make([]web.EndUserTool, 0, len(tools))
	for _, t := range tools {
		list = append(list, web.EndUserTool{Title: t.Title, Description: t.Description, Destructive: t.Destructive})
	}
	return list
}

// decide carries the answer out.
func (s *site) decide(c echo.Context, in *bridge.SignIn) error {
	if in.Person == nil || in.Purpose != bridge.PurposeAuthorize {
		return go303(c, signInAt(in))
	}
	c.Set(wayKey, consentAt(in))
	if err := s.checkForm(c, formAnswer, asked(proof(c), in.Person)); err != nil {
		return err
	}
	switch posted(c, "decision") {
	case "deny":
		return s.answer(c, in, bridge.Answer{})
	case "allow":
	default:
		return fault.New(fault.Invalid, "decision", "Nothing was allowed: choose Allow or Deny.")
	}
	seconds, err := strconv.ParseInt(posted(c, "lifetime"), 10, 32) // which of the offered ones, the bridge knows
	if err != nil {
		return fault.New(fault.Invalid, "lifetime", "Nothing was allowed: choose how long from the list.")
	}
	a := bridge.Answer{Allow: true, ReadOnly: posted(c, "reach") == "read", Lifetime: time.Duration(seconds) * time.Second}
	return s.answer(c, in, a)
}

func (s *site) answer(c echo.Context, in *bridge.SignIn, a bridge.Answer) error {
	to, err := s.Bridge.Decide(c.Request().Context(), in, a, s.visitor(c))
	if err != nil {
		return err
	}
	return s.leave(c, in, to)
}
