package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Introspection keeps the secrets that surfaces introspect tokens of another
// issuer with. *issuers.Service is one.
type Introspection interface {
	SetSecret(ctx context.Context, p tenants.Principal, surface id.Surface, secret seal.Secret) error
	SecretSet(ctx context.Context, p tenants.Principal, surface id.Surface) (*time.Time, error)
	DropSecret(ctx context.Context, p tenants.Principal, surface id.Surface) error
}

// getIntrospection is GET …/introspection: whether a secret is kept, never
// which.
func (a *api) getIntrospection(c echo.Context) error {
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	return a.writeIntrospection(c, surface.ID)
}

// putIntrospection is PUT …/introspection. The secret is sealed at once and in
// no answer.
func (a *api) putIntrospection(c echo.Context) error {
	var in struct {
		Secret string `json:"secret"`
	}
	if err := readJSON(c, maxSecretBody, &in); err != nil {
		return err
	}
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	if in.Secret == "" {
		return fault.New(fault.Invalid, "introspection_secret_invalid", "Nothing was changed: send the client's secret as secret.").
			WithIssues(fault.Issue{Path: "secret", Message: "want the client's secret as its issuer shows it"})
	}
	if err := a.Introspection.SetSecret(c.Request().Context(), principal(c), surface.ID, seal.NewSecret(in.Secret)); err != nil {
		return err
	}
	return a.writeIntrospection(c, surface.ID)
}

// deleteIntrospection is DELETE …/introspection: opaque tokens are not admitted
// from now on.
func (a *api) deleteIntrospection(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	if err := a.Introspection.DropSecret(c.Request().Context(), principal(c), surface.ID); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, introspectionAnswer{})
}

func (a *api) writeIntrospection(c echo.Context, surface id.Surface) error {
	since, err := a.Introspection.SecretSet(c.Request().Context(), principal(c), surface)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, introspectionAnswer{Set: since != nil, UpdatedAt: since})
}

type introspectionAnswer struct {
	Set       bool       `json:"set"`
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
}
