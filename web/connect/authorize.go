package connect

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// endpoint finds the surface that the address names by one of its URLs.
func (s *site) endpoint(c echo.Context) (*tenants.Endpoint, error) {
	nothing := fault.New(fault.NotFound, "unknown_surface", "There is nothing to sign in to at this address. Remove the app from your AI app and add it again with the URL that its makers give you.")
	if !isRef(c.Param("ref")) {
		return nil, nothing
	}
	ep, err := s.Directory.ByRef(c.Request().Context(), c.Param("ref"))
	if fault.Is(err, fault.NotFound) || err == nil && !ep.Access.Bridged() {
		return nil, nothing
	}
	if err != nil {
		return nil, err
	}
	c.Set(endpointKey, ep)
	return ep, nil
}

// authorize begins what a client asks for (RFC 6749 section 4.1.1). Somebody
// who signed in lately goes straight to the question.
func (s *site) authorize(c echo.Context) error {
	ep, err := s.endpoint(c)
	if err != nil {
		return err
	}
	ctx, query := c.Request().Context(), c.Request().URL.Query()
	in, secret, err := s.Bridge.Authorize(ctx, ep, query, s.visitor(c))
	if err != nil {
		return err // back to the client, or a page of ours
	}
	s.begin(c, in, secret)
	if slices.Contains(strings.Fields(query.Get("prompt")), "login") { // OpenID Connect Core section 3.1.2.1
		return go303(c, signInAt(in))
	}
	cookie := s.cookie(c, visitName(ep.Project.ID))
	if cookie.IsZero() {
		return go303(c, signInAt(in))
	}
	who, err := s.Bridge.Visit(ctx, ep, cookie)
	if fault.Is(err, fault.Unauthenticated) {
		s.clearCookie(c, visitName(ep.Project.ID))
		return go303(c, signInAt(in))
	}
	if err != nil {
		return err
	}
	if err := s.Bridge.Recognize(ctx, in, who); err != nil {
		return err
	}
	return go303(c, s.onward(c, in))
}

// authorizeByForm turns a form into an address: a form that another site sends
// comes without the cookies of a visit.
func (s *site) authorizeByForm(c echo.Context) error {
	u := *c.Request().URL
	query := u.Query()
	for name, values := range c.Request().PostForm {
		query[name] = append(query[name], values...)
	}
	u.RawQuery = query.Encode()
	if len(u.RawQuery) > maxAddress {
		return fault.New(fault.TooLarge, "request_too_large", "Nothing was done: the request is over %d KiB. Start again from your AI app.", maxAddress>>10)
	}
	return c.Redirect(http.StatusSeeOther, u.RequestURI())
}

// maxAddress is the longest query an authorization request may have, in bytes.
const maxAddress = 16 << 10
