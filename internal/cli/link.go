package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

type linkFlags struct {
	projectURL, key, slug, name string
	verify, yes                 bool
	configure                   bool
	authorizationPath           string
}

func linkCommand(s *session) *cobra.Command {
	var f linkFlags
	c := &cobra.Command{
		Use:   "link",
		Short: "Register the Supabase project of this folder, check it again, prove that it is yours",
		Long: `Register the Supabase project of this folder with the server, or check it again;
then prove that it is yours, with a function that a migration puts into its
database.

What is not given as a flag comes from SUPABASE_URL, SUPABASE_PUBLISHABLE_KEY
(or SUPABASE_ANON_KEY), the project that supabase link chose, and
supabase/config.toml, which stands for a project that runs on this machine.
Never pass a secret or service_role key: it is not needed, and it is refused
before anything is sent.

With --configure, the project's OAuth server is switched on first, together with
client registration and the path of its consent page, by Supabase's Management
API. The access token for that comes from SUPABASE_ACCESS_TOKEN and goes to
api.supabase.com only.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.linkProject(cmd.Context(), f) },
	}
	c.Flags().StringVar(&f.projectURL, "project-url", "", "the project's URL, such as https://abcdefghijklmnopqrst.supabase.co")
	c.Flags().StringVar(&f.key, "publishable-key", "", "the project's publishable key (sb_publishable_…) or legacy anon key")
	c.Flags().StringVar(&f.slug, "slug", "", "the project's name in URLs: lower-case letters, digits and dashes")
	c.Flags().StringVar(&f.name, "name", "", "the project's name for people; the slug when left out")
	c.Flags().BoolVar(&f.verify, "verify", false, "exit with 1 unless the project is proven to be yours")
	c.Flags().BoolVar(&f.yes, "yes", false, "write and configure without asking")
	c.Flags().BoolVar(&f.configure, "configure", false, "switch the project's OAuth server on first")
	c.Flags().StringVar(&f.authorizationPath, "authorization-path", "/oauth/consent", "with --configure: the path of the app's consent page")
	return c
}

func (s *session) linkProject(ctx context.Context, f linkFlags) error {
	repo, err := findRepository(s.env.Dir)
	if err != nil {
		return err
	}
	f, known := s.recallLink(ctx, f, repo)
	f, source, err := s.fillLink(f, repo)
	if known {
		source = linkPath
	}
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	if source != "" {
		s.printer.done("project_url", "project %s, of %s", f.projectURL, source)
	}
	if f.configure {
		if err := s.configure(ctx, f); err != nil {
			return err
		}
	}
	answer, again, err := c.register(ctx, f)
	if err != nil {
		return s.showRefusedLink(err)
	}
	s.showFindings(answer.Findings)
	data := map[string]any{"project": answer.Project, "findings": answer.Findings, "link_file": linkPath}
	s.printer.data = data
	w := &workplace{repo: repo, client: c, link: linkFile{Server: c.server(), Project: answer.Project.Slug}}
	changed, err := repo.writeLink(w.link)
	if err != nil {
		s.printer.done("project", "registered as %s", answer.Project.Slug)
		return err
	}
	if changed {
		s.printer.done("link_file", "wrote %s", linkPath)
	}
	proof, err := s.prove(ctx, w, f, again)
	if err != nil {
		return err
	}
	data["ownership"] = proof
	s.endLink(w, proof, len(answer.Notes) > 0)
	if f.verify && !proof.Verified {
		return errShown
	}
	return nil
}

// endLink says what comes next: the proof where it was begun or the server
// serves nothing without it, else the schema.
func (s *session) endLink(w *workplace, p proof, required bool) {
	next := []string{"chumbo import"}
	if !p.Verified && (required || p.Migration != "") {
		next = append(p.steps, next...)
	}
	s.printer.end("Linked to "+w.link.Project+".", next...)
}

// recallLink fills what was not given with what the server knows of the
// project that this folder is linked to already. Where anything stands in the
// way, nothing is filled and the next steps say what.
func (s *session) recallLink(ctx context.Context, f linkFlags, repo *repository) (filled linkFlags, known bool) {
	if f.projectURL != "" || s.env.Getenv("SUPABASE_URL") != "" {
		return f, false
	}
	c, err := s.client()
	if err != nil {
		return f, false
	}
	link, err := repo.link(c.settings)
	if err != nil || f.slug != "" && f.slug != link.Project || refuseSecrets(field{linkPath, link.Project}) != nil {
		return f, false
	}
	var answer projectAnswer
	if err := c.do(ctx, http.MethodGet, "/projects/"+url.PathEscape(link.Project), nil, &answer); err != nil {
		return f, false
	}
	p := answer.Project
	f.projectURL, f.slug = p.TypedURL, p.Slug
	f.key = first(f.key, s.env.Getenv("SUPABASE_PUBLISHABLE_KEY"), s.env.Getenv("SUPABASE_ANON_KEY"), p.PublishableKey)
	f.name = first(f.name, p.Name)
	return f, true
}

// fillLink fills what no flag gave. source says where the project's URL is
// from, where that was no flag.
func (s *session) fillLink(f linkFlags, repo *repository) (filled linkFlags, source string, err error) {
	if f.projectURL == "" {
		f.projectURL, source, err = s.findProject(repo)
		if err != nil {
			return f, "", err
		}
	}
	f.projectURL = strings.TrimSuffix(f.projectURL, "/")
	f.key = first(f.key, s.env.Getenv("SUPABASE_PUBLISHABLE_KEY"), s.env.Getenv("SUPABASE_ANON_KEY"))
	if repo.config != nil {
		f.slug = first(f.slug, slugOf(repo.config.ProjectID))
	}
	f.name = first(f.name, f.slug)
	return f, source, nil
}

var hostedRef = regexp.MustCompile(`^[a-z]{20}$`)

// findProject looks for the project that this folder is about. The hosted one
// that supabase link chose comes before the one on this machine.
func (s *session) findProject(repo *repository) (address, source string, err error) {
	if address := s.env.Getenv("SUPABASE_URL"); address != "" {
		return address, "SUPABASE_URL", nil
	}
	ref, err := repo.read(projectRef, maxText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	if ref = strings.TrimSpace(ref); hostedRef.MatchString(ref) {
		return "https://" + ref + ".supabase.co", projectRef, nil
	}
	if repo.config != nil {
		return fmt.Sprintf("http://127.0.0.1:%d", repo.config.API.Port), configPath, nil
	}
	return "", "", nil
}

// check refuses what must not be sent, and what cannot be right.
func (f linkFlags) check() error {
	err := refuseSecrets(
		field{"--project-url", f.projectURL}, field{"--publishable-key", f.key}, field{"--slug", f.slug},
		field{"--name", f.name}, field{"--authorization-path", f.authorizationPath},
	)
	if err != nil {
		return err
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
func (c *client) register(ctx context.Context, f linkFlags) (answer projectAnswer, again bool, err error) {
	var have projectAnswer
	path := "/projects/" + url.PathEscape(f.slug)
	err = c.do(ctx, http.MethodGet, path, nil, &have)
	if err != nil && !isStatus(err, http.StatusNotFound) {
		return answer, false, err
	}
	if err != nil {
		err = c.do(ctx, http.MethodPost, "/projects", map[string]string{
			"url": f.projectURL, "publishable_key": f.key, "slug": f.slug, "name": f.name,
		}, &answer)
		return answer, false, err
	}
	if have.Project.TypedURL != f.projectURL && have.Project.APIOrigin != f.projectURL {
		return answer, false, fmt.Errorf("the name %s is taken by your project at %s: pass another --slug for %s", f.slug, have.Project.TypedURL, f.projectURL)
	}
	err = c.do(ctx, http.MethodPost, path+"/probe", map[string]string{"publishable_key": f.key}, &answer)
	return answer, true, err
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
