package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func statusCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the server, the linked project and its surfaces",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return s.status(cmd.Context()) },
	}
}

func (s *session) status(ctx context.Context) error {
	repo, c, link, err := s.linked()
	if err != nil {
		return err
	}
	var who me
	if err := c.do(ctx, http.MethodGet, "/me", nil, &who); err != nil {
		return err
	}
	s.printer.done("server", "server %s, organization %s (%s), as %s", c.server(), who.Organization.Name, who.Organization.Slug, who.Role)

	base := "/projects/" + url.PathEscape(link.Project)
	var answer projectAnswer
	if err := c.do(ctx, http.MethodGet, base, nil, &answer); err != nil {
		return err
	}
	p := answer.Project
	s.printer.done("project", "project %s at %s, issuer %s", p.Slug, p.APIOrigin, p.Issuer)
	schema := s.showSchema(ctx, c, base)

	var list surfacesAnswer
	if err := c.do(ctx, http.MethodGet, base+"/surfaces", nil, &list); err != nil {
		return err
	}
	changed, err := s.showSurfaces(ctx, c, repo, base, list)
	if err != nil {
		return err
	}
	for _, note := range list.Notes {
		s.printer.step(step{ID: "project", Status: "warn", Message: note})
	}
	s.printer.data = map[string]any{
		"server": c.server(), "organization": who.Organization, "role": who.Role, "project": p,
		"schema": schema, "surfaces": list.Surfaces, "changed": changed,
	}
	return nil
}

func (s *session) showSchema(ctx context.Context, c *client, base string) *snapshotAnswer {
	var schema snapshotAnswer
	err := c.do(ctx, http.MethodGet, base+"/schema?summary=true", nil, &schema)
	if err != nil && !isStatus(err, http.StatusNotFound) {
		s.printer.step(step{ID: "schema", Status: "warn", Message: "the schema snapshot cannot be read: " + err.Error()})
		return nil
	}
	if err != nil {
		s.printer.step(step{ID: "schema", Status: "warn", Message: "no schema snapshot yet", Fix: "chumbo import"})
		return nil
	}
	s.printer.done("schema", "schema of %s and %s", counted(schema.Relations, "relation"), counted(schema.Functions, "function"))
	return &schema
}

// showSurfaces shows every surface of the project and every surface file that
// is not what is live. It returns the names of the latter.
func (s *session) showSurfaces(ctx context.Context, c *client, repo *repository, base string, list surfacesAnswer) ([]string, error) {
	files, err := repo.surfaceFiles("")
	var none *usageError
	if err != nil && !errors.As(err, &none) {
		return nil, err
	}
	changed := []string{}
	for _, have := range list.Surfaces {
		text := fmt.Sprintf("surface %s: %s", have.Slug, strings.ReplaceAll(have.State, "_", "-"))
		if have.LiveRevision > 0 {
			text += fmt.Sprintf(", revision %d, %s", have.LiveRevision, strings.Join(have.URLs, " "))
		} else {
			text += ", nothing published"
		}
		s.printer.done(have.Slug, "%s", text)
	}
	for _, f := range files {
		live, err := s.isLive(ctx, c, repo, base, f)
		if err != nil {
			return nil, err
		}
		if !live {
			changed = append(changed, f.surface)
			s.printer.step(step{ID: f.surface, Status: "warn", Message: repo.show(f.path) + " is not what is live", Fix: "chumbo push " + f.surface})
		}
	}
	return changed, nil
}

// isLive reports whether the local file is the live revision. A file that
// would be refused is not.
func (s *session) isLive(ctx context.Context, c *client, repo *repository, base string, f surfaceFile) (bool, error) {
	text, err := readSurfaceFile(repo, f)
	if err != nil {
		return false, err
	}
	var answer fileAnswer
	err = c.do(ctx, http.MethodPut, base+"/surfaces/"+url.PathEscape(f.surface)+"/file?dry_run=true", map[string]string{"file": text}, &answer)
	if isStatus(err, http.StatusBadRequest) {
		return false, nil // a file name that no surface can have
	}
	return answer.Live, err
}
