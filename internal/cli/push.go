package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func pushCommand(s *session) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use:   "push [surface]",
		Short: "Publish the surface files of this folder",
		Long: `Publish supabase/chumbo/<surface>.yaml, or every surface file when none is named.

Problems are printed as file:line:column. With --dry-run everything is checked
and nothing is kept or published.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.push(cmd.Context(), strings.Join(args, ""), dryRun)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check only")
	return c
}

// pushed is what --json says of one surface.
type pushed struct {
	Surface  string        `json:"surface"`
	File     string        `json:"file"`
	Revision int           `json:"revision,omitempty"`
	Digest   string        `json:"digest,omitempty"`
	URLs     []string      `json:"urls,omitempty"`
	Problems []problemLine `json:"problems"`
	Tools    []toolPreview `json:"tools,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
}

func (s *session) push(ctx context.Context, only string, dryRun bool) error {
	repo, c, link, err := s.linked()
	if err != nil {
		return err
	}
	files, err := repo.surfaceFiles(only)
	if err != nil {
		return err
	}
	results := make([]pushed, 0, len(files))
	refused := false
	for _, f := range files {
		result, err := s.pushFile(ctx, c, repo, link, f, dryRun)
		if err != nil && !errors.Is(err, errShown) {
			return err
		}
		refused = refused || err != nil
		results = append(results, result)
	}
	s.printer.data = map[string]any{"dry_run": dryRun, "surfaces": results}
	if refused {
		return errShown
	}
	return nil
}

// linked is where a command of a linked folder works.
func (s *session) linked() (*repository, *client, linkFile, error) {
	repo, err := findRepository(s.env.Dir)
	if err != nil {
		return nil, nil, linkFile{}, err
	}
	c, err := s.client()
	if err != nil {
		return nil, nil, linkFile{}, err
	}
	link, err := repo.link(c.server())
	return repo, c, link, err
}

func (s *session) pushFile(ctx context.Context, c *client, repo *repository, link linkFile, f surfaceFile, dryRun bool) (pushed, error) {
	result := pushed{Surface: f.surface, File: repo.show(f.path), Problems: []problemLine{}}
	if err := tenants.CheckSurfaceSlug(f.surface); err != nil {
		message := result.File + ": " + fault.From(err).Message
		s.printer.step(step{ID: f.surface, Status: "fail", Message: message, Fix: "give the file another name: the surface is named after it"})
		return result, errShown
	}
	text, err := readSurfaceFile(repo, f)
	if err != nil {
		return result, err
	}
	if strings.TrimSpace(text) == "" { // to the server it would mean: publish the draft
		result.Problems = linesOf([]fault.Issue{{Line: 1, Column: 1, Message: "the file is empty; start with version: 1"}})
		s.showProblems(result)
		return result, s.refusedFile(result)
	}
	base := "/projects/" + url.PathEscape(link.Project) + "/surfaces/" + url.PathEscape(f.surface)
	if dryRun {
		err = s.checkFile(ctx, c, base, text, &result)
	} else {
		err = s.publishFile(ctx, c, base, text, serverName(link.Project, f.surface), &result)
	}
	var p *problem
	if errors.As(err, &p) && p.Status == http.StatusUnprocessableEntity && len(p.Issues) > 0 {
		result.Problems = linesOf(p.Issues)
		s.showProblems(result)
		return result, s.refusedFile(result)
	}
	return result, err
}

func (s *session) refusedFile(r pushed) error {
	errs := 0
	for _, p := range r.Problems {
		if p.Severity == "error" {
			errs++
		}
	}
	s.printer.step(step{ID: r.Surface, Status: "fail", Message: r.File + ": " + counted(errs, "problem") + ", nothing published"})
	return errShown
}

func readSurfaceFile(repo *repository, f surfaceFile) (string, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", repo.show(f.path), err)
	}
	if info.Size() > surfaces.MaxFileBytes {
		return "", usage("%s is over 256 KiB: split it into several surfaces", repo.show(f.path))
	}
	b, err := os.ReadFile(f.path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", repo.show(f.path), err)
	}
	if err := tenants.RefuseSecret(repo.show(f.path), string(b)); err != nil {
		return "", publicError(err)
	}
	return string(b), nil
}

func (s *session) checkFile(ctx context.Context, c *client, base, text string, result *pushed) error {
	var answer fileAnswer
	if err := c.do(ctx, http.MethodPut, base+"/file?dry_run=true", map[string]string{"file": text}, &answer); err != nil {
		return err
	}
	result.Digest, result.Problems, result.Tools = answer.Digest, answer.Problems, answer.Tools
	s.showProblems(*result)
	if !answer.Accepted {
		return s.refusedFile(*result)
	}
	verdict := "would be published"
	if answer.Live {
		verdict = "is live already"
	}
	s.printer.done(result.Surface, "%s: %s, %s", result.File, counted(len(answer.Tools), "tool"), verdict)
	return nil
}

func (s *session) publishFile(ctx context.Context, c *client, base, text, name string, result *pushed) error {
	var answer publishAnswer
	if err := c.do(ctx, http.MethodPost, base+"/publish", map[string]string{"file": text}, &answer); err != nil {
		return err
	}
	result.Revision, result.Digest, result.URLs = answer.Revision, answer.Digest, answer.URLs
	result.Problems, result.Notes = answer.Problems, answer.Notes
	s.showProblems(*result)
	verdict := fmt.Sprintf("revision %d is live", answer.Revision)
	if !answer.Created {
		verdict = fmt.Sprintf("unchanged, revision %d is live", answer.Revision)
	}
	s.printer.done(result.Surface, "%s: %s", result.File, verdict)
	for _, note := range answer.Notes {
		s.printer.step(step{ID: result.Surface, Status: "warn", Message: note})
	}
	if len(answer.URLs) > 0 {
		s.printer.line("      %s", answer.URLs[0])
	}
	if len(answer.Notes) == 0 && len(answer.URLs) > 0 {
		s.printer.line("      Next: paste this URL into an MCP client, such as: claude mcp add --transport http %s %s", name, answer.URLs[0])
	}
	return nil
}

// serverName is what the surface's own page calls it in client configuration.
func serverName(project, surface string) string {
	if surface == tenants.MainSurface {
		return project
	}
	return project + "-" + surface
}

// showProblems prints problems the way compilers do, so that editors find the
// place.
func (s *session) showProblems(r pushed) {
	for _, p := range r.Problems {
		s.printer.line("%s:%d:%d: %s: %s", r.File, p.Line, p.Column, p.Severity, p.Message)
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
