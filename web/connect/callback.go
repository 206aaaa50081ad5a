package connect

import (
	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// callback ends what the project, a provider or a mail sends the browser back
// with. Only the browser that began it gets anywhere.
func (s *site) callback(c echo.Context) error {
	of := func(in id.SignIn) seal.Secret { return s.cookie(c, signInName(in)) }
	in, outcome, err := s.Bridge.Callback(c.Request().Context(), c.Request().URL.Query(), of, s.visitor(c))
	if in != nil {
		s.place(c, in)
		c.Set(wayKey, signInAt(in)+"?ways="+waysSwitch)
	}
	if err != nil {
		return err
	}
	return s.after(c, in, outcome)
}

// complete takes a sign-in back from the project's own host.
func (s *site) complete(c echo.Context) error {
	at, err := id.Parse[id.SignInKind](c.Param("id"))
	if err != nil {
		return startAgain(err)
	}
	in, err := s.Bridge.Complete(c.Request().Context(), at, s.cookie(c, signInName(at)), c.QueryParam("h"))
	if err != nil {
		return err
	}
	s.place(c, in)
	if in.Person == nil {
		return go303(c, signInAt(in))
	}
	return s.arrived(c, in, in.Person)
}
