package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

type linkFlags struct{ projectURL, key, slug, name string }

func linkCommand(s *session) *cobra.Command {
	var f linkFlags
	c := &cobra.Command{
		Use:   "link",
		Short: "Register the Supabase project of this folder, or check it again",
		Long: `Register the Supabase project of this folder with the server, or check it again.

What is not given as a flag comes from SUPABASE_URL, SUPABASE_PUBLISHABLE_KEY
(or SUPABASE_ANON_KEY), and supabase/config.toml, which stands for a project
that runs on this machine. Never pass a secret or service_role key: it is not
needed, and it is refused before anything is sent.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.link(cmd.Context(), f) },
	}
	c.Flags().StringVar(&f.projectURL, "project-url", "", "the project's URL, such as https://abcdefghijklmnopqrst.supabase.co")
	c.Flags().StringVar(&f.key, "publishable-key", "", "the project's publishable key (sb_publishable_…) or legacy anon key")
	c.Flags().StringVar(&f.slug, "slug", "", "the project's name in URLs: lower-case letters, digits and dashes")
	c.Flags().StringVar(&f.name, "name", "", "the project's name for people; the slug when left out")
	return c
}

func (s *session) link(ctx context.Context, f linkFlags) error {
	repo, err := findRepository(s.env.Dir)
	if err != nil {
		return err
	}
	f = s.fillLink(f, repo)
	if err := f.check(); err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	answer, err := c.register(ctx, f)
	if err != nil {
		return s.showRefusedLink(err)
	}
	s.showFindings(answer.Findings)
	link := linkFile{Server: c.server(), Project: answer.Project.Slug}
	changed, err := repo.writeLink(link)
	if err != nil {
		return err
	}
	if changed {
		s.printer.done("link_file", "wrote %s", repo.show(repo.linkPath()))
	}
	s.printer.data = map[string]any{
		"project": answer.Project, "findings": answer.Findings, "link_file": repo.show(repo.linkPath()),
	}
	s.printer.line("Linked to %s. Next: chumbo import", answer.Project.Slug)
	return nil
}

// fillLink fills what no flag gave.
func (s *session) fillLink(f linkFlags, repo *repository) linkFlags {
	first := func(values ...string) string {
		for _, v := range values {
			if v != "" {
				return v
			}
		}
		return ""
	}
	local, slug := "", ""
	if repo.config != nil {
		local = fmt.Sprintf("http://127.0.0.1:%d", repo.config.API.Port)
		slug = slugOf(repo.config.ProjectID)
	}
	f.projectURL = strings.TrimSuffix(first(f.projectURL, s.env.Getenv("SUPABASE_URL"), local), "/")
	f.key = first(f.key, s.env.Getenv("SUPABASE_PUBLISHABLE_KEY"), s.env.Getenv("SUPABASE_ANON_KEY"))
	f.slug = first(f.slug, slug)
	f.name = first(f.name, f.slug)
	return f
}

// check refuses what must not be sent, and what cannot be right.
func (f linkFlags) check() error {
	for field, value := range map[string]string{
		"--project-url": f.projectURL, "--publishable-key": f.key, "--slug": f.slug, "--name": f.name,
	} {
		if err := tenants.RefuseSecret(field, value); err != nil {
			return publicError(err)
		}
	}
	if f.projectURL == "" {
		return usage("no project: pass --project-url, or run this in a folder with supabase/config.toml")
	}
	if u, err := url.Parse(f.projectURL); err != nil || u.Host == "" || u.User != nil {
		return usage("--project-url is not a project's URL: write it as https://abcdefghijklmnopqrst.supabase.co")
	}
	if f.key == "" {
		return usage("no publishable key: pass --publishable-key, or set SUPABASE_PUBLISHABLE_KEY. " +
			"Supabase's dashboard shows it under Project Settings, API Keys; for a local project, supabase status does")
	}
	if f.slug == "" {
		return usage("no name for the project's URLs: pass --slug, such as --slug acme")
	}
	return nil
}

// register registers the project, or probes it again when this organization
// has it already under the same slug.
func (c *client) register(ctx context.Context, f linkFlags) (projectAnswer, error) {
	var have projectAnswer
	path := "/projects/" + url.PathEscape(f.slug)
	err := c.do(ctx, http.MethodGet, path, nil, &have)
	if err != nil && !isStatus(err, http.StatusNotFound) {
		return have, err
	}
	var answer projectAnswer
	if err != nil {
		return answer, c.do(ctx, http.MethodPost, "/projects", map[string]string{
			"url": f.projectURL, "publishable_key": f.key, "slug": f.slug, "name": f.name,
		}, &answer)
	}
	if have.Project.TypedURL != f.projectURL && have.Project.APIOrigin != f.projectURL {
		return answer, fmt.Errorf("the name %s is taken by your project at %s: pass another --slug for %s", f.slug, have.Project.TypedURL, f.projectURL)
	}
	return answer, c.do(ctx, http.MethodPost, path+"/probe", map[string]string{"publishable_key": f.key}, &answer)
}

// showRefusedLink shows the checks of a refused registration; the failed ones
// say all there is to say.
func (s *session) showRefusedLink(err error) error {
	var p *problem
	if !errors.As(err, &p) || len(p.Findings) == 0 {
		return err
	}
	s.showFindings(p.Findings)
	s.printer.data = map[string]any{"findings": p.Findings}
	s.printer.line("Nothing was registered.")
	return errShown
}

func (s *session) showFindings(findings []finding) {
	for _, f := range findings {
		text := f.Title + ": " + f.Summary
		if f.Detail != "" && f.Status != "pass" {
			text += " " + f.Detail
		}
		s.printer.step(step{ID: f.Check, Status: f.Status, Message: text, Fix: f.Fix})
	}
}
