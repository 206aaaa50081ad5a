package connect

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
)

// The addresses of pages, without their ids.
const (
	authorizePath = "/connect/authorize/"
	signInPath    = "/connect/sign-in/"
	ticketPath    = "/connect/sign-in/t/"
	consentPath   = "/connect/consent/"
	completePath  = "/connect/complete/"
	appsPath      = "/connect/apps/"
	approvalPath  = approvals.Path
)

// handler chooses the router by the host, and stands before both.
func (s *site) handler() (http.Handler, error) {
	pages, own := s.pages(), s.ownHost()
	guard := http.NewCrossOriginProtection()
	if err := guard.AddTrustedOrigin(s.PagesURL); err != nil {
		return nil, fmt.Errorf("trust origin: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		router, host := own, s.Hosts.EffectiveHost(r)
		if host == s.host {
			router = pages
		}
		if err := crossOrigin(guard, r, host); err != nil {
			c := router.NewContext(r, w)
			_ = s.observe(func(echo.Context) error { return err })(c)
			return
		}
		router.ServeHTTP(w, r)
	}), nil
}

// pages knows every route of the pages host.
func (s *site) pages() *echo.Echo {
	e := s.router()
	e.GET(authorizePath+":ref", s.authorize)
	e.POST(authorizePath+":ref", s.authorizeByForm)

	e.GET(signInPath+":id", s.opened(s.signIn))
	e.GET(signInPath+":id/provider/:provider", s.opened(s.startProvider))
	e.POST(signInPath+":id/email", s.opened(s.ownForm(s.sendCode)))
	e.POST(signInPath+":id/code", s.opened(s.ownForm(s.verifyCode)))
	e.POST(signInPath+":id/factor", s.opened(s.ownForm(s.verifyFactor)))
	e.POST(signInPath+":id/again", s.opened(s.ownForm(s.again)))
	e.POST(signInPath+":id/cancel", s.opened(s.ownForm(s.cancel)))
	e.GET(bridge.CallbackPath, s.callback)
	e.GET(completePath+":id", s.complete)

	e.GET(consentPath+":id", s.opened(s.question))
	e.POST(consentPath+":id", s.opened(s.decide))

	e.GET(appsPath+":ref", s.apps)
	e.POST(appsPath+":ref/sign-out", s.visited(s.signOut))
	e.POST(appsPath+":ref/tokens", s.visited(s.makeToken))
	e.POST(appsPath+":ref/grants/:grant/revoke", s.visited(s.revoke))
	e.POST(appsPath+":ref/grants/:grant/narrow", s.visited(s.narrow))
	e.POST(appsPath+":ref/grants/:grant/widen", s.visited(s.widen))

	e.GET(approvalPath+":approval", s.approval)
	e.POST(approvalPath+":approval", s.decideApproval)
	return e
}

// ownHost knows the routes of the projects' own hosts.
func (s *site) ownHost() *echo.Echo {
	e := s.router()
	e.GET(ticketPath+":ticket", s.ticketPage)
	e.POST(ticketPath+":ticket", s.ticketForm)
	return e
}

func (s *site) router() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.writeError
	e.Use(s.observe, s.recover, s.readForm)
	return e
}

// signInAt is where the sign-in's page is.
func signInAt(in *bridge.SignIn) string { return signInPath + plainID(in.ID) }

func consentAt(in *bridge.SignIn) string { return consentPath + plainID(in.ID) }

func appsAt(ref string) string { return appsPath + ref }

// onward is where a person goes who has signed in.
func (s *site) onward(c echo.Context, in *bridge.SignIn) string {
	if in.Purpose == bridge.PurposeApps {
		if to := s.backToApproval(c, in); to != "" {
			return to
		}
		return appsAt(in.Endpoint.Resource.Ref)
	}
	return consentAt(in)
}

// isRef reports whether a text can be what Resource.Ref makes, so that nothing
// else is looked up.
func isRef(ref string) bool {
	return ref != "" && len(ref) <= 80 && strings.Trim(ref, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}
