package connect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// formApproval is the kind of the form that answers for a call.
const formApproval = "approval"

// afterCookie names, beside a sign-in's own, the approval that it is for.
const afterCookie = "after-"

func approvalAt(name string) string { return approvalPath + name }

// waiting is one call that waits, and the very person it waits for.
type waiting struct {
	place  approvals.Place
	ep     *tenants.Endpoint
	person *bridge.Person
	cookie seal.Secret
	*approvals.Request
}

func (w *waiting) who() approvals.Person {
	return approvals.Person{Issuer: w.person.Issuer, Subject: w.person.Subject}
}

// form is what the page's form is bound to: the browser, the person the page
// was shown to, and the call.
func (w *waiting) form() seal.Secret {
	return seal.NewSecret(string(seal.AD(asked(w.cookie, w.person).Reveal(), w.place.Name)))
}

// waitingFor finds the call of the address for the person of this browser.
// Nobody else learns more than that there is nothing for them. Without anybody
// signed in, the error is fault.Unauthenticated and the endpoint is set.
func (s *site) waitingFor(c echo.Context) (*waiting, error) {
	ctx := c.Request().Context()
	place, err := s.Approvals.Find(ctx, c.Param("approval"))
	if err != nil {
		return nil, err
	}
	ep, err := s.Directory.ByRef(ctx, place.Ref)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, approvals.Unknown(err)
	case err != nil:
		return nil, err
	case ep.Organization != place.Organization || ep.Surface != place.Surface || !ep.Access.Bridged() || !ep.Access.ApprovalPage:
		return nil, approvals.Unknown(nil)
	}
	w := &waiting{place: place, ep: ep}
	if w.person, w.cookie, err = s.who(c, ep); err != nil {
		return w, err
	}
	if w.Request, err = s.Approvals.Request(ctx, place, w.who()); err != nil {
		return nil, err
	}
	c.Set(endpointKey, ep) // only now may the page carry the app's name
	return w, nil
}

// approval shows a call to the person it waits for. Somebody who is not signed
// in signs in first and comes back.
func (s *site) approval(c echo.Context) error {
	w, err := s.waitingFor(c)
	if fault.Is(err, fault.Unauthenticated) && w != nil {
		return s.signInForApproval(c, w)
	}
	if err != nil {
		return err
	}
	if w.State != approvals.Pending {
		return s.answeredApproval(c, w)
	}
	arguments, err := argumentsOf(w.Arguments)
	if err != nil {
		return err
	}
	p := web.EndUserApproval{
		CSRF: s.formValue(formApproval, w.form()), App: appName(w.ep), Surface: w.Surface, Client: w.Client, Tool: w.Title, ToolName: w.Tool, Question: w.Question,
		Email: w.person.Email, Arguments: arguments, Expires: w.Expires, Now: s.Now(), Action: approvalAt(w.place.Name), Apps: appsAt(w.ep.Resource.Ref),
	}
	return s.show(c, http.StatusOK, view{title: "Approve a call of " + appName(w.ep), content: web.Approval(p)})
}

// signInForApproval begins a sign-in that leads back.
func (s *site) signInForApproval(c echo.Context, w *waiting) error {
	if !w.cookie.IsZero() {
		s.clearCookie(c, visitName(w.ep.Project.ID))
	}
	in, secret, err := s.Bridge.Apps(c.Request().Context(), w.ep, s.visitor(c))
	if err != nil {
		return err
	}
	s.begin(c, in, secret)
	s.setCookie(c, afterCookie+plainID(in.ID), seal.NewSecret(w.place.Name), signInFor)
	return go303(c, signInAt(in))
}

// approvalAfter is the name of the approval that a sign-in is for; empty for
// none.
func (s *site) approvalAfter(c echo.Context, in *bridge.SignIn) string {
	if in.Purpose != bridge.PurposeApps {
		return ""
	}
	name := s.cookie(c, afterCookie+plainID(in.ID)).Reveal()
	if !approvals.IsName(name) {
		return ""
	}
	return name
}

// backToApproval is where a sign-in leads that began there; empty for one that
// did not.
func (s *site) backToApproval(c echo.Context, in *bridge.SignIn) string {
	name := s.approvalAfter(c, in)
	if name == "" {
		return ""
	}
	s.clearCookie(c, afterCookie+plainID(in.ID))
	return approvalAt(name)
}

// decideApproval carries the answer out, once. The page says what became of it.
func (s *site) decideApproval(c echo.Context) error {
	w, err := s.waitingFor(c)
	if err != nil {
		return err
	}
	c.Set(wayKey, approvalAt(w.place.Name))
	if err := s.checkForm(c, formApproval, w.form()); err != nil {
		return err
	}
	approve := false
	switch posted(c, "decision") {
	case "approve":
		approve = true
	case "decline":
	default:
		return fault.New(fault.Invalid, "decision", "Nothing was decided: choose Approve or Decline.")
	}
	if _, err := s.Approvals.Decide(c.Request().Context(), w.place, w.who(), approve); err != nil {
		return err
	}
	return go303(c, approvalAt(w.place.Name))
}

// answeredApproval says what became of a question.
func (s *site) answeredApproval(c echo.Context, w *waiting) error {
	n, status := web.EndUserNotice{}, http.StatusOK
	switch w.State {
	case approvals.Approved:
		n.Title = "You approved this"
		n.Text = "Go back to your AI app and let it make the same call again. It runs once, until " + w.Expires.UTC().Format("15:04 UTC") + "."
	case approvals.Declined:
		n.Title, n.Text = "You declined this", "Nothing was done. Your AI app is told so when it asks again."
	case approvals.Expired:
		n.Title, n.Text, status = "This question is over", "It was not answered in time, or its answer was not used in time. Nothing was done. If you want it, ask in your AI app again.", http.StatusGone
	default:
		n.Title, n.Text, status = "This was answered", "Your answer was used and does not count again. If it should happen once more, ask in your AI app again.", http.StatusGone
	}
	return s.notice(c, status, n)
}

// argumentsOf reads the arguments of a call in their order.
func argumentsOf(raw json.RawMessage) ([]web.EndUserArgument, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("read arguments: no object: %w", err)
	}
	var list []web.EndUserArgument
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
		a := web.EndUserArgument{Name: fmt.Sprint(name)}
		if json.Unmarshal(value, &a.Value) != nil || value[0] != '"' {
			a.Value, a.JSON = string(value), true
		}
		list = append(list, a)
	}
	return list, nil
}
