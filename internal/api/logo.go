package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// putLogo is PUT /projects/:project/logo: a picture in base64. A PNG made of
// its pixels is kept, nothing else of it.
func (a *api) putLogo(c echo.Context) error {
	var in struct {
		Picture []byte `json:"picture"`
	}
	if err := readJSON(c, 2*tenants.MaxLogoBytes, &in); err != nil {
		return err
	}
	if len(in.Picture) == 0 {
		return fault.New(fault.Invalid, "picture_missing", "Send a PNG, JPEG, GIF or WebP picture in base64: {\"picture\": \"…\"}.")
	}
	project, err := a.Tenants.SetLogo(c.Request().Context(), principal(c), c.Param("project"), in.Picture)
	if err != nil {
		return err
	}
	return a.writeProject(c, http.StatusOK, project)
}

// deleteLogo is DELETE /projects/:project/logo.
func (a *api) deleteLogo(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	project, err := a.Tenants.RemoveLogo(c.Request().Context(), principal(c), c.Param("project"))
	if err != nil {
		return err
	}
	return a.writeProject(c, http.StatusOK, project)
}
