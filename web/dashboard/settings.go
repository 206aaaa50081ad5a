package dashboard

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/web"
)

func (d *dashboard) settings(c echo.Context) error {
	return d.settingsPage(c, http.StatusOK, web.Form{}, "")
}

func (d *dashboard) settingsPage(c echo.Context, status int, form web.Form, way string) error {
	h, err := d.head(c)
	if err != nil {
		return err
	}
	list, err := d.Tenants.Surfaces(c.Request().Context(), principal(c), h.Project.Slug)
	if err != nil {
		return err
	}
	signIn, err := d.Bridge.SignInSettings(c.Request().Context(), principal(c), h.Project.ID)
	if err != nil {
		return err
	}
	page := web.SettingsPage{ProjectHead: h, Form: form, Way: way, Surfaces: list, SignIn: signIn}
	return d.page(c, status, "Settings of "+h.Project.Name, web.Settings(page))
}

func (d *dashboard) refusedSetting(c echo.Context, err error, way string, keep ...string) error {
	form, status, ok := refusedForm(c, err, keep...)
	if !ok {
		return err
	}
	if form.Field == "" && len(keep) > 0 {
		form.Field = keep[0] // each form has one field
	}
	return d.settingsPage(c, status, form, way)
}

func (d *dashboard) setProjectName(c echo.Context) error {
	if _, err := d.Tenants.SetProjectName(c.Request().Context(), principal(c), c.Param("project"), posted(c, "name")); err != nil {
		return d.refusedSetting(c, err, "name", "name")
	}
	return done(c, web.ProjectPath(c.Param("project"))+"/settings", "named")
}

func (d *dashboard) renameProject(c echo.Context) error {
	project, err := d.Tenants.RenameProject(c.Request().Context(), principal(c), c.Param("project"), posted(c, "slug"))
	if err != nil {
		return d.refusedSetting(c, err, "slug", "slug")
	}
	return done(c, web.ProjectPath(project.Slug)+"/settings", "renamed")
}

// setPublishableKey tries the key before it keeps it.
func (d *dashboard) setPublishableKey(c echo.Context) error {
	key := posted(c, "publishable_key")
	if key == "" {
		err := fault.New(fault.Invalid, "publishable_key_missing", "Give the project's publishable key (sb_publishable_…) or its legacy anon key.")
		return d.refusedSetting(c, err, "key", "publishable_key")
	}
	_, err := d.reprobe(c.Request().Context(), principal(c), c.Param("project"), key, nil)
	var refused *builders.ProbeRefused
	if errors.As(err, &refused) {
		err = fault.New(fault.Unprocessable, "key_refused", "%s", whyRefused(refused.Findings))
	}
	if err != nil {
		return d.refusedSetting(c, err, "key", "publishable_key")
	}
	return done(c, web.ProjectPath(c.Param("project"))+"/settings", "key")
}

// whyRefused is the first broken check in a sentence.
func whyRefused(findings []doctor.Finding) string {
	for _, f := range findings {
		if f.Status == doctor.Fail {
			return "The key was not kept. " + f.Title + ": " + f.Summary + " " + f.Fix
		}
	}
	return "The key was not kept: the project is not as it should be. Check it again on its page."
}

func (d *dashboard) deleteProject(c echo.Context) error {
	if err := d.Tenants.DeleteProject(c.Request().Context(), principal(c), c.Param("project"), posted(c, "confirm")); err != nil {
		return d.refusedSetting(c, err, "delete")
	}
	return done(c, "/app", "project-deleted")
}
