package connect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// who is the person that the browser's cookie for ep's project stands for, or
// fault.Unauthenticated.
func (s *site) who(c echo.Context, ep *tenants.Endpoint) (*bridge.Person, seal.Secret, error) {
	cookie := s.cookie(c, visitName(ep.Project.ID))
	if cookie.IsZero() {
		return nil, cookie, fault.New(fault.Unauthenticated, "visit_over", "Nothing was done: you are not signed in any more. Open the page again.")
	}
	who, err := s.Bridge.Visit(c.Request().Context(), ep, cookie)
	return who, cookie, err
}

// apps lists what may use the person's account. Somebody who is not signed in
// signs in first and comes back.
func (s *site) apps(c echo.Context) error {
	ep, err := s.endpoint(c)
	if err != nil {
		return err
	}
	who, cookie, err := s.who(c, ep)
	switch {
	case fault.Is(err, fault.Unauthenticated):
		if !cookie.IsZero() {
			s.clearCookie(c, visitName(ep.Project.ID))
		}
		if c.QueryParam("done") == "signed-out" {
			return s.notice(c, 200, web.EndUserNotice{Title: "You are signed out", Text: "Connected apps keep working. Sign in again to see or disconnect them.", Way: appsAt(ep.Resource.Ref), WayText: "Sign in again"})
		}
		in, secret, err := s.Bridge.Apps(c.Request().Context(), ep, s.visitor(c))
		if err != nil {
			return err
		}
		s.begin(c, in, secret)
		return go303(c, signInAt(in))
	case err != nil:
		return err
	}
	c.Set(proofKey, cookie)
	return s.showApps(c, 200, ep, who, web.EndUserApps{Said: web.AppsSaid(c.QueryParam("done"))})
}

// showApps shows the list; p has what is particular to this time.
func (s *site) showApps(c echo.Context, status int, ep *tenants.Endpoint, who *bridge.Person, p web.EndUserApps) error {
	grants, err := s.Bridge.Connected(c.Request().Context(), who)
	if err != nil {
		return err
	}
	p.CSRF, p.Now, p.Path = s.formValue(formVisit, proof(c)), s.Now(), appsAt(ep.Resource.Ref)
	p.App, p.Surface, p.URL, p.Email = appName(ep), ep.Title, ep.Resource.URL(), who.Email
	several := slices.ContainsFunc(grants, func(g bridge.AccessGrant) bool { return g.Surface != ep.Surface })
	for _, g := range grants {
		shown := web.EndUserGrant{
			ID: g.ID.String(), Name: g.ClientName, Scopes: g.Scopes, ReadOnly: g.ReadOnly, Created: g.ApprovedAt, Expires: g.ExpiresAt,
			LastUsed: g.LastUsedAt, Revoked: g.RevokedAt, Why: g.RevokedWhy, TokenHint: g.TokenHint,
			More: toolsOf(g.More), Seen: seenOf(g.More),
		}
		if several {
			shown.Surface = g.SurfaceTitle
		}
		switch {
		case g.RevokedAt != nil || !g.ExpiresAt.After(p.Now):
			if shown.Why == "" {
				shown.Why, shown.Revoked = "expired", &g.ExpiresAt
			}
			p.Ended = append(p.Ended, shown)
		case g.Personal:
			p.Tokens = append(p.Tokens, shown)
		default:
			p.Apps = append(p.Apps, shown)
		}
	}
	return s.show(c, status, view{title: "Connected apps of " + appName(ep), wide: true, content: web.Apps(p)})
}

// visited admits the forms of a person who is signed in.
func (s *site) visited(h func(echo.Context, *tenants.Endpoint, *bridge.Person) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		ep, err := s.endpoint(c)
		if err != nil {
			return err
		}
		c.Set(wayKey, appsAt(ep.Resource.Ref))
		who, cookie, err := s.who(c, ep)
		if err != nil {
			return err
		}
		if err := s.checkForm(c, formVisit, cookie); err != nil {
			return err
		}
		c.Set(proofKey, cookie)
		return h(c, ep, who)
	}
}

// done sends the browser to the list, which says what was done.
func done(c echo.Context, ep *tenants.Endpoint, what string) error {
	return go303(c, appsAt(ep.Resource.Ref)+"?done="+what)
}

func grantOf(c echo.Context) (id.Grant, error) {
	grant, err := id.Parse[id.GrantKind](c.Param("grant"))
	if err != nil {
		return id.Grant{}, errUnknownGrant(err)
	}
	return grant, nil
}

func errUnknownGrant(cause error) error {
	return fault.Wrap(cause, fault.NotFound, "unknown_grant", "Nothing was done: there is no such connected app. Open the list again.")
}

func (s *site) revoke(c echo.Context, ep *tenants.Endpoint, who *bridge.Person) error {
	grant, err := grantOf(c)
	if err != nil {
		return err
	}
	if err := s.Bridge.Revoke(c.Request().Context(), who, grant); err != nil {
		return err
	}
	if posted(c, "token") != "" {
		return done(c, ep, "token-revoked")
	}
	return done(c, ep, "revoked")
}

// narrow makes a grant read-only and leaves its scopes.
func (s *site) narrow(c echo.Context, ep *tenants.Endpoint, who *bridge.Person) error {
	grant, err := grantOf(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	now, err := s.grantNow(ctx, who, grant)
	if err != nil {
		return err
	}
	if err := s.Bridge.Narrow(ctx, who, grant, true, now.Scopes); err != nil {
		return err
	}
	return done(c, ep, "narrowed")
}

// grantNow is a grant of the person's as it stands.
func (s *site) grantNow(ctx context.Context, who *bridge.Person, grant id.Grant) (bridge.AccessGrant, error) {
	grants, err := s.Bridge.Connected(ctx, who)
	if err != nil {
		return bridge.AccessGrant{}, err
	}
	at := slices.IndexFunc(grants, func(g bridge.AccessGrant) bool { return g.ID == grant })
	if at < 0 {
		return bridge.AccessGrant{}, errUnknownGrant(nil)
	}
	return grants[at], nil
}

// seenOf names what a person was shown before they agree to it.
func seenOf(tools []bridge.QuestionTool) string {
	h := sha256.New()
	for _, t := range tools {
		_, _ = fmt.Fprintf(h, "%q %v\n", t.Title, t.Destructive)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// widen agrees to the new writing tools that the person was shown.
func (s *site) widen(c echo.Context, ep *tenants.Endpoint, who *bridge.Person) error {
	grant, err := grantOf(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	now, err := s.grantNow(ctx, who, grant)
	if err != nil {
		return err
	}
	if posted(c, "seen") != seenOf(now.More) {
		return fault.New(fault.Conflict, "more_changed", "Nothing was agreed to: what is new has changed since you opened the list. Open it again and look.")
	}
	if err := s.Bridge.Widen(ctx, who, grant); err != nil {
		return err
	}
	return done(c, ep, "widened")
}

// makeToken makes a personal token and shows it, this once.
func (s *site) makeToken(c echo.Context, ep *tenants.Endpoint, who *bridge.Person) error {
	days, err := strconv.Atoi(posted(c, "days"))
	if err != nil || days < 1 || days > 90 {
		return fault.New(fault.Invalid, "days", "No token was made: choose when it ends from the list.")
	}
	readOnly := posted(c, "reach") != "all"
	_, token, err := s.Bridge.NewPersonalToken(c.Request().Context(), who, ep, posted(c, "name"), readOnly, time.Duration(days)*24*time.Hour)
	if err != nil {
		form, status, ok := refusedForm(c, err, "name", "name", "reach", "days")
		if !ok {
			return err
		}
		return s.showApps(c, status, ep, who, web.EndUserApps{Form: form})
	}
	return s.showApps(c, 200, ep, who, web.EndUserApps{Made: token.Reveal()})
}

// signOut forgets this browser. What is connected stays.
func (s *site) signOut(c echo.Context, ep *tenants.Endpoint, _ *bridge.Person) error {
	if err := s.endVisit(c, ep.Project.ID); err != nil {
		return err
	}
	return done(c, ep, "signed-out")
}
