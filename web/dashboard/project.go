package dashboard

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// head finds the project that the address names.
func (d *dashboard) head(c echo.Context) (web.ProjectHead, error) {
	project, err := d.Tenants.Project(c.Request().Context(), principal(c), c.Param("project"))
	if err != nil {
		return web.ProjectHead{}, err
	}
	h := web.ProjectHead{Common: d.common(c), Project: project}
	h.Served, h.Why = d.Builders.Served(project)
	_, h.Hosted = supabase.Hosted(project.APIOrigin + "/auth/v1")
	return h, nil
}

// project shows what is stored: nothing waits for the project itself.
// ?checking=1 is the page on which the checks arrive.
func (d *dashboard) project(c echo.Context) error {
	return d.projectPage(c, http.StatusOK, web.Form{})
}

func (d *dashboard) projectPage(c echo.Context, status int, form web.Form) error {
	h, err := d.head(c)
	if err != nil {
		return err
	}
	ctx, p := c.Request().Context(), principal(c)
	page := web.ProjectPage{ProjectHead: h, Form: form, Looking: c.QueryParam("checking") != "" && h.MayWrite}
	if page.Surfaces, err = d.projectSurfaces(ctx, p, h.Project); err != nil {
		return err
	}
	if page.Snapshot, err = d.snapshot(ctx, p, h.Project); err != nil {
		return err
	}
	if page.Findings, err = findingsOf(h.Project); err != nil {
		return err
	}
	posture, err := d.posture(ctx, p, h.Project.Slug)
	if err != nil {
		return err
	}
	page.Total = len(posture)
	for _, f := range posture {
		if f.Severity == surfaces.FindingSerious {
			page.Serious++
		}
	}
	page.Posture, page.More = pageOf(posture, c.QueryParam("after"), func(f surfaces.Finding) string { return f.ID })
	return d.page(c, status, h.Project.Name, web.Project(page))
}

// projectSurfaces lists the surfaces with their drift.
func (d *dashboard) projectSurfaces(ctx context.Context, p tenants.Principal, project tenants.Project) ([]web.ProjectSurface, error) {
	list, err := d.Tenants.Surfaces(ctx, p, project.Slug)
	if err != nil {
		return nil, err
	}
	out := make([]web.ProjectSurface, len(list))
	for i, s := range list {
		out[i].Surface = s
		if s.LiveRevision == 0 {
			continue
		}
		drift, err := d.Builders.Drift(ctx, p, project.Slug, s.Slug)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		out[i].Drift = &drift
	}
	return out, nil
}

// snapshot is the project's latest; nil for none.
func (d *dashboard) snapshot(ctx context.Context, p tenants.Principal, project tenants.Project) (*surfaces.StoredSnapshot, error) {
	stored, err := d.Surfaces.LatestSnapshot(ctx, p.Organization.ID, project.ID)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &stored, nil
}

// checkProject looks again. A page with scripts gets the checks one by one;
// one without waits for them.
func (d *dashboard) checkProject(c echo.Context) error {
	path := web.ProjectPath(c.Param("project"))
	if posted(c, "live") != "" {
		if _, err := d.head(c); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, path+"?checking=1#checks")
	}
	if _, err := d.reprobe(c.Request().Context(), principal(c), c.Param("project"), "", nil); err != nil {
		form, status, ok := refusedForm(c, err)
		if !ok {
			return err
		}
		return d.projectPage(c, status, form)
	}
	return done(c, path, "checked")
}

// reprobe looks at the project again, bounded, and keeps what was learnt.
func (d *dashboard) reprobe(ctx context.Context, p tenants.Principal, project, key string, progress func(doctor.Finding)) ([]doctor.Finding, error) {
	limited, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	_, findings, err := d.Builders.Reprobe(limited, p, project, key, progress)
	return findings, tooSlow(err)
}

// projectEvents runs the checks of a project and sends each as it comes.
func (d *dashboard) projectEvents(c echo.Context) error {
	h, err := d.head(c)
	if err != nil {
		return err
	}
	out, err := openEvents(c)
	if err != nil {
		return err
	}
	findings, err := d.reprobe(c.Request().Context(), principal(c), h.Project.Slug, "", func(f doctor.Finding) { out.send("finding", web.Step(f)) })
	var refused *builders.ProbeRefused
	if errors.As(err, &refused) {
		out.send("said", web.FailedVerdict(refusedCheck, requestID(c)))
		return out.end()
	}
	if err != nil {
		return d.failEvents(c, out, err)
	}
	if h, err = d.head(c); err != nil {
		return d.failEvents(c, out, err)
	}
	out.send("said", web.ProjectVerdict(web.ProjectPage{ProjectHead: h, Findings: findings}))
	return out.end()
}

const refusedCheck = "The project is not as it should be any more; what is kept of it stays as it was. Each broken line says what to do."
