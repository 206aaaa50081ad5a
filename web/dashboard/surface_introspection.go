package dashboard

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// Introspection keeps the secrets that surfaces introspect tokens of another
// issuer with. *issuers.Service is one.
type Introspection interface {
	SetSecret(ctx context.Context, p tenants.Principal, surface id.Surface, secret seal.Secret) error
	SecretSet(ctx context.Context, p tenants.Principal, surface id.Surface) (*time.Time, error)
	DropSecret(ctx context.Context, p tenants.Principal, surface id.Surface) error
}

// introspection says how the surface checks opaque tokens; nil where it does
// not and no secret is left over.
func (d *dashboard) introspection(c echo.Context, head web.SurfaceHead) (*web.IntrospectionPart, error) {
	access, err := d.liveAccess(c, head)
	if err != nil {
		return nil, err
	}
	since, err := d.Introspection.SecretSet(c.Request().Context(), principal(c), head.Surface.ID)
	if err != nil {
		return nil, err
	}
	part := &web.IntrospectionPart{Host: web.IssuerHost(access), Since: since}
	if access.Issuer != nil && access.Issuer.Introspection != nil {
		part.ClientID = access.Issuer.Introspection.ClientID
	}
	if part.ClientID == "" && since == nil {
		return nil, nil
	}
	return part, nil
}

// keepIntrospection keeps the client's secret. It goes no further than to where
// it is sealed.
func (d *dashboard) keepIntrospection(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	err = d.Introspection.SetSecret(c.Request().Context(), principal(c), head.Surface.ID, seal.NewSecret(posted(c, "secret")))
	return d.afterIntrospection(c, head, "introspection", err)
}

// forgetIntrospection forgets it.
func (d *dashboard) forgetIntrospection(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	err = d.Introspection.DropSecret(c.Request().Context(), principal(c), head.Surface.ID)
	return d.afterIntrospection(c, head, "introspection-no", err)
}

func (d *dashboard) afterIntrospection(c echo.Context, head web.SurfaceHead, said string, err error) error {
	if err == nil {
		return done(c, head.Path("settings"), said)
	}
	text, status, ok := explained(err)
	if !ok {
		return err
	}
	return d.showSettings(c, status, web.SurfaceSettingsPage{SurfaceHead: head, Trouble: text, Doing: "introspection"})
}
