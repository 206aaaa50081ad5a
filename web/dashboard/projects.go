package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// projects is the first page: what is mine, what needs me?
func (d *dashboard) projects(c echo.Context) error {
	ctx, p := c.Request().Context(), principal(c)
	list, err := d.Tenants.Projects(ctx, p)
	if err != nil {
		return err
	}
	notices, err := d.Tenants.Notices(ctx, p)
	if err != nil {
		return err
	}
	page := web.ProjectsPage{Common: d.common(c), Organization: p.Organization.Name, Total: len(list), Notices: notices, NoticeProjects: map[id.Project]string{}}
	for _, project := range list {
		page.NoticeProjects[project.ID] = project.Slug
	}
	list, page.More = pageOf(list, c.QueryParam("after"), func(p tenants.Project) string { return p.Slug })
	for _, project := range list {
		card, err := d.card(ctx, p, project)
		if err != nil {
			return err
		}
		page.Projects = append(page.Projects, card)
	}
	return d.page(c, http.StatusOK, "Projects", web.Projects(page))
}

func (d *dashboard) card(ctx context.Context, p tenants.Principal, project tenants.Project) (web.ProjectCard, error) {
	surfaces, err := d.Tenants.Surfaces(ctx, p, project.Slug)
	if err != nil {
		return web.ProjectCard{}, err
	}
	card := web.ProjectCard{Project: project, Surfaces: surfaces}
	card.Worst, card.Tone, err = d.worst(ctx, p, project)
	return card, err
}

// worst is the gravest open finding of a project in a few words.
func (d *dashboard) worst(ctx context.Context, p tenants.Principal, project tenants.Project) (text, tone string, err error) {
	if served, _ := d.Builders.Served(project); !served {
		return "Not served: prove that the project is yours", web.ToneBad, nil
	}
	findings, err := findingsOf(project)
	if err != nil {
		return "", "", err
	}
	for _, f := range findings {
		if f.Status == doctor.Fail {
			return f.Title + ": " + f.Summary, web.ToneBad, nil
		}
	}
	posture, err := d.posture(ctx, p, project.Slug)
	if err != nil {
		return "", "", err
	}
	serious := 0
	for _, f := range posture {
		if f.Severity == surfaces.FindingSerious {
			serious++
		}
	}
	if serious > 0 {
		return fmt.Sprintf("Serious findings in the database: %d", serious), web.ToneBad, nil
	}
	for _, f := range findings {
		if f.Status == doctor.Warn {
			return f.Title + ": " + f.Summary, web.ToneWarn, nil
		}
	}
	return "", "", nil
}

// posture is none for a project whose schema was not imported yet.
func (d *dashboard) posture(ctx context.Context, p tenants.Principal, project string) ([]surfaces.Finding, error) {
	list, err := d.Builders.Posture(ctx, p, project)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return list, err
}

// findingsOf reads what the last look at a project found.
func findingsOf(project tenants.Project) ([]doctor.Finding, error) {
	return readFindings(project.Findings)
}

func readFindings(raw json.RawMessage) ([]doctor.Finding, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var list []doctor.Finding
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read findings: %w", err)
	}
	return list, nil
}

func (d *dashboard) dismissNotice(c echo.Context) error {
	notice, err := id.Parse[id.NoticeKind](c.Param("notice"))
	if err != nil {
		return echo.ErrNotFound
	}
	if err := d.Tenants.DismissNotice(c.Request().Context(), principal(c), notice); err != nil {
		return err
	}
	return done(c, "/app", "dismissed")
}
