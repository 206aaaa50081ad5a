package dashboard

import (
	"errors"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

func (d *dashboard) setLogo(c echo.Context) error {
	picture, err := uploaded(c.Request(), "picture")
	if err == nil {
		_, err = d.Tenants.SetLogo(c.Request().Context(), principal(c), c.Param("project"), picture)
	}
	if err != nil {
		return d.refusedSetting(c, err, "logo", "picture")
	}
	return done(c, web.ProjectPath(c.Param("project"))+"/settings", "logo")
}

func (d *dashboard) removeLogo(c echo.Context) error {
	if _, err := d.Tenants.RemoveLogo(c.Request().Context(), principal(c), c.Param("project")); err != nil {
		return d.refusedSetting(c, err, "logo", "picture")
	}
	return done(c, web.ProjectPath(c.Param("project"))+"/settings", "logo-removed")
}

// uploaded is the file of a form's field.
func uploaded(r *http.Request, field string) ([]byte, error) {
	file, _, err := r.FormFile(field)
	if errors.Is(err, http.ErrMissingFile) {
		return nil, fault.New(fault.Invalid, "picture_missing", "Choose a picture first.")
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "form_unreadable", "The picture could not be read. Choose it again.")
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, tenants.MaxLogoBytes+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "form_unreadable", "The picture could not be read. Choose it again.")
	}
	return content, nil
}
