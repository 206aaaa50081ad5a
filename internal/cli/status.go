package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func statusCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the server, the linked project and its surfaces, and what comes next",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return s.status(cmd.Context()) },
	}
}

// statusData is what --json says.
type statusData struct {
	Server       string             `json:"server"`
	Organization organization       `json:"organization"`
	Role         string             `json:"role"`
	Project      project            `json:"project"`
	Ownership    ownershipAnswer    `json:"ownership"`
	Schema       *snapshotAnswer    `json:"schema"`
	Surfaces     []surface          `json:"surfaces"`
	Drift        map[string]drift   `json:"drift"`
	Findings     []surfaces.Finding `json:"findings"`
	Changed      []string           `json:"changed"` // surfaces whose local file is not what is live
}

func (s *session) status(ctx context.Context) error {
	w, err := s.linked()
	if err != nil {
		return err
	}
	var who me
	if err := w.client.do(ctx, http.MethodGet, "/me", nil, &who); err != nil {
		return err
	}
	data := &statusData{Server: w.client.server(), Organization: who.Organization, Role: who.Role, Findings: []surfaces.Finding{}}
	s.printer.done("server", "server %s, organization %s (%s), as %s", data.Server, who.Organization.Name, who.Organization.Slug, who.Role)
	for _, part := range []func(context.Context, *workplace, *statusData) error{
		s.showProject, s.showSchema, s.showSurfaces, s.showLocal, s.showPosture,
	} {
		if err := part(ctx, w, data); err != nil {
			return err
		}
	}
	s.printer.data = data
	s.printer.end("", nextOf(data)...)
	return nil
}

// nextOf is the first thing that is missing.
func nextOf(d *statusData) []string {
	switch {
	case d.Schema == nil:
		return []string{"chumbo import"}
	case len(d.Surfaces) == 0 && len(d.Changed) == 0:
		return []string{"chumbo init", "chumbo push"}
	case len(d.Changed) > 0:
		return []string{"chumbo push --dry-run", "chumbo push"}
	}
	return nil
}

func (s *session) showProject(ctx context.Context, w *workplace, d *statusData) error {
	var answer projectAnswer
	if err := w.client.do(ctx, http.MethodGet, w.project(), nil, &answer); err != nil {
		return err
	}
	p := answer.Project
	d.Project = p
	s.printer.done("project", "project %s at %s, issuer %s", p.Slug, p.APIOrigin, p.Issuer)
	if err := w.client.do(ctx, http.MethodGet, w.project()+"/ownership", nil, &d.Ownership); err != nil {
		return err
	}
	switch o := d.Ownership; {
	case o.Verified && o.Misses > 0:
		s.printer.step(step{
			ID: "ownership", Status: "warn", Fix: "chumbo link",
			Message: fmt.Sprintf("the proof that the project is yours was missed %s: keep chumbo_ownership() in its database", counted(o.Misses, "time")),
		})
	case o.Verified:
		s.proven(o.Method)
	case o.TakenOverAt != nil:
		s.printer.step(step{ID: "ownership", Status: "warn", Message: "somebody else proved that this project is theirs", Fix: "chumbo link"})
	default:
		s.printer.step(step{ID: "ownership", Status: "warn", Message: "the project is not proven to be yours", Fix: "chumbo link"})
	}
	return nil
}

func (s *session) showSchema(ctx context.Context, w *workplace, d *statusData) error {
	var schema snapshotAnswer
	err := w.client.do(ctx, http.MethodGet, w.project()+"/schema?summary=true", nil, &schema)
	switch {
	case isStatus(err, http.StatusNotFound):
		s.printer.step(step{ID: "schema", Status: "warn", Message: "no schema snapshot yet", Fix: "chumbo import"})
		return nil
	case err != nil:
		return err
	}
	d.Schema = &schema
	s.printer.done("schema", "schema of %s and %s", counted(schema.Relations, "relation"), counted(schema.Functions, "function"))
	return nil
}

// showSurfaces shows every surface of the project, with what moved under it.
func (s *session) showSurfaces(ctx context.Context, w *workplace, d *statusData) error {
	list, err := w.surfaces(ctx)
	if err != nil {
		return err
	}
	d.Surfaces, d.Drift = listed(list.Surfaces), map[string]drift{}
	for _, have := range list.Surfaces {
		s.printer.done(have.Slug, "%s", describe(have))
		if have.LiveRevision == 0 {
			continue
		}
		moved, err := w.drift(ctx, have.Slug)
		if err != nil {
			return err
		}
		if s.showDrift(have, moved) {
			d.Drift[have.Slug] = moved
		}
	}
	for i, note := range list.Notes {
		s.printer.step(step{ID: fmt.Sprintf("note:%d", i+1), Status: "warn", Message: note})
	}
	return nil
}

func describe(have surface) string {
	text := fmt.Sprintf("surface %s: %s", have.Slug, strings.ReplaceAll(have.State, "_", "-"))
	if have.LiveRevision == 0 {
		return text + ", nothing published"
	}
	text += fmt.Sprintf(", revision %d", have.LiveRevision)
	if have.Pinned {
		text += " (pinned)"
	}
	return text + ", " + strings.Join(have.URLs, " ")
}

// showLocal shows every surface file that is not what is live.
func (s *session) showLocal(ctx context.Context, w *workplace, d *statusData) error {
	d.Changed = []string{}
	files, err := w.repo.surfaceFiles("")
	var none *usageError
	if err != nil && !errors.As(err, &none) {
		return err
	}
	for _, f := range files {
		text, err := readSurfaceFile(w.repo, f)
		if err != nil {
			return err
		}
		plan, err := w.plan(ctx, f.surface, text)
		if err != nil && !isStatus(err, http.StatusBadRequest) { // a file name that no surface can have
			return err
		}
		if plan.Same {
			continue
		}
		d.Changed = append(d.Changed, f.surface)
		message, fix := f.path+" is not what is live", "chumbo push "+f.surface
		if !plan.Accepted {
			message, fix = f.path+" would be refused", "chumbo push "+f.surface+" --dry-run"
		}
		s.printer.step(step{ID: f.surface + ":file", Status: "warn", Message: message, Fix: fix})
	}
	return nil
}

// showPosture shows the serious findings about the database, and counts the
// others.
func (s *session) showPosture(ctx context.Context, w *workplace, d *statusData) error {
	if d.Schema == nil {
		return nil
	}
	var answer postureAnswer
	if err := w.client.do(ctx, http.MethodGet, w.project()+"/posture", nil, &answer); err != nil {
		return err
	}
	d.Findings = listed(answer.Findings)
	others := 0
	for _, f := range answer.Findings {
		if f.Severity != surfaces.FindingSerious {
			others++
			continue
		}
		s.printer.step(step{ID: "finding:" + f.ID, Status: "warn", Message: f.Summary, Fix: f.SQL})
	}
	if others > 0 {
		s.printer.step(step{
			ID: "findings", Status: "warn", Message: counted(others, "lesser finding") + " about the database",
			Fix: "chumbo status --json lists them with their SQL; so does the dashboard",
		})
	}
	return nil
}
