package cli

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/spf13/cobra"
)

type consentFlags struct {
	projectURL, key   string
	title             string
	page              string
	siteURL           string
	authorizationPath string
	force, dryRun     bool
}

func consentCommand(s *session) *cobra.Command {
	var f consentFlags
	c := &cobra.Command{
		Use:   "consent",
		Short: "Write a consent page for surfaces with authorization: direct",
		Long: `Write what answers AI apps where your project's own OAuth server signs people in
(authorization: direct): one static page, which signs a person in with the app's
Auth and asks them, and one Edge Function, which gives their answer to Auth. A
surface with authorization: bridge needs neither.

Files that you changed are left as they are, unless you say --force. Nothing is
sent anywhere.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.writeConsentPage(cmd.Context(), f) },
	}
	c.Flags().StringVar(&f.projectURL, "project-url", "", "the project's URL, such as https://abcdefghijklmnopqrst.supabase.co")
	c.Flags().StringVar(&f.key, "publishable-key", "", "the project's publishable key (sb_publishable_…) or legacy anon key; it stands in the page")
	c.Flags().StringVar(&f.title, "title", "this app", "what the page calls your app")
	c.Flags().StringVar(&f.page, "page", "consent/index.html", "where to write the page, in this folder")
	c.Flags().StringVar(&f.siteURL, "site-url", "", "your app's Site URL, where the page will be: makes what is printed exact")
	c.Flags().StringVar(&f.authorizationPath, "authorization-path", "/oauth/consent", "the path of the page below the Site URL")
	c.Flags().BoolVar(&f.force, "force", false, "replace files that you changed")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be written, write nothing")
	return c
}

// consentSettings is what the page needs to be told elsewhere.
type consentSettings struct {
	SiteURL           string `json:"site_url,omitempty"`
	AuthorizationPath string `json:"authorization_path"`
	ConsentOrigin     string `json:"consent_origin,omitempty"` // the function's secret CONSENT_ORIGIN
	PageURL           string `json:"page_url,omitempty"`
}

func (s *session) writeConsentPage(ctx context.Context, f consentFlags) error {
	repo, err := findRepository(s.env.Dir)
	if err != nil {
		return err
	}
	link, _ := s.recallLink(ctx, linkFlags{projectURL: f.projectURL, key: f.key}, repo)
	link, source, err := s.fillLink(link, repo)
	if err != nil {
		return err
	}
	f.projectURL, f.key = link.projectURL, link.key
	settings, err := f.check()
	if err != nil {
		return err
	}
	if source != "" && source != linkPath {
		s.printer.done("project_url", "project %s, of %s", f.projectURL, source)
	}
	files := []consentFile{
		{ID: "page", Path: f.page, text: consentPage(f.projectURL, f.key, f.title)},
		{ID: "function", Path: consentFunctionPath, text: consentFunction()},
	}
	for i := range files {
		if err := files[i].compare(repo, f.force); err != nil {
			return err
		}
	}
	config, err := consentConfig(repo)
	if err != nil {
		return err
	}
	files = append(files, config)
	s.printer.data = map[string]any{"project": f.projectURL, "files": files, "settings": settings, "dry_run": f.dryRun}
	if err := s.writeConsentFiles(repo, files, f.dryRun); err != nil {
		return err
	}
	s.endConsent(f, settings, config.Outcome == outcomeMissing)
	return nil
}

// check refuses what must not stand in a page, and what cannot be right.
func (f *consentFlags) check() (consentSettings, error) {
	settings := consentSettings{AuthorizationPath: f.authorizationPath}
	err := refuseSecrets(
		field{"--project-url", f.projectURL}, field{"--publishable-key", f.key}, field{"--title", f.title}, field{"--page", f.page},
		field{"--site-url", f.siteURL}, field{"--authorization-path", f.authorizationPath},
	)
	if err != nil {
		return settings, err
	}
	if f.projectURL == "" {
		return settings, usage("no project: pass --project-url, or run this in a folder with supabase/config.toml")
	}
	if f.projectURL, err = webOrigin(f.projectURL); err != nil {
		return settings, usage("--project-url is not a project's URL: write it as https://abcdefghijklmnopqrst.supabase.co")
	}
	if f.key == "" {
		return settings, usage("no publishable key: pass --publishable-key, or set SUPABASE_PUBLISHABLE_KEY. " +
			"Supabase's dashboard shows it under Project Settings, API Keys; for a local project, supabase status does")
	}
	if f.title = strings.TrimSpace(plain(oneLine(f.title))); f.title == "" || len(f.title) > 80 {
		return settings, usage("--title is what the page calls your app, 80 bytes at most")
	}
	if f.page != path.Clean(f.page) || path.IsAbs(f.page) || strings.HasPrefix(f.page, "../") || path.Ext(f.page) != ".html" {
		return settings, usage("--page is the path of an .html file in this folder, such as public/oauth/consent/index.html")
	}
	if !consentPath.MatchString(f.authorizationPath) || strings.HasPrefix(f.authorizationPath, "//") {
		return settings, usage("--authorization-path is the path of the consent page below the app's Site URL, such as /oauth/consent")
	}
	if f.siteURL == "" {
		return settings, nil
	}
	// Auth makes the page's address of both by putting them together.
	site, err := url.Parse(f.siteURL)
	if err == nil {
		settings.ConsentOrigin, err = webOrigin(site.Scheme + "://" + site.Host)
	}
	if err != nil || site.User != nil || site.RawQuery != "" || site.Fragment != "" {
		return settings, usage("--site-url is the app's own address, such as https://app.example.com")
	}
	settings.SiteURL = strings.TrimSuffix(f.siteURL, "/")
	settings.PageURL = settings.SiteURL + f.authorizationPath
	return settings, nil
}

// webOrigin is an address that is an origin and nothing else, in the form that
// browsers send. Plain http is for this machine.
func webOrigin(address string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil {
		return "", err
	}
	if u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) || strings.ContainsAny(u.Host, `"'; <>&`) {
		return "", fmt.Errorf("not an origin")
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	return u.Scheme + "://" + host, nil
}

// writeConsentFiles writes all files, or none where one stands in the way.
func (s *session) writeConsentFiles(repo *repository, files []consentFile, dryRun bool) error {
	refused := false
	for _, f := range files {
		refused = refused || f.Outcome == outcomeRefused
	}
	for _, f := range files {
		switch {
		case f.Outcome == outcomeRefused || f.Outcome == outcomeMissing:
			status := "fail"
			if f.Outcome == outcomeMissing {
				status = "warn"
			}
			s.printer.step(step{ID: f.ID, Status: status, Message: f.Path + " " + f.why, Fix: f.fix})
		case f.Outcome == outcomeUnchanged:
			s.printer.done(f.ID, "%s is there already, the same", f.Path)
		case refused:
			s.printer.step(step{ID: f.ID, Status: "skip", Message: f.Path + " was not written: see what stands in the way"})
		case dryRun:
			s.printer.step(step{ID: f.ID, Status: "skip", Message: fmt.Sprintf("would write %s (%s)", f.Path, f.Outcome)})
		default:
			if err := repo.write(f.Path, f.text); err != nil {
				return err
			}
			s.printer.done(f.ID, "wrote %s", f.Path)
		}
	}
	if refused {
		return errShown
	}
	return nil
}

// endConsent says what to deploy and what to set, in the order that works.
func (s *session) endConsent(f consentFlags, set consentSettings, noConfig bool) {
	origin, page, site := first(set.ConsentOrigin, "https://app.example.com"), set.PageURL, set.SiteURL
	if site == "" {
		site = "your app's public address"
		page = "your Site URL followed by " + f.authorizationPath
		s.printer.line("https://app.example.com stands for your app's address: pass --site-url to have it in what follows.")
	}
	deploy := "supabase functions deploy chumbo-consent"
	if noConfig {
		deploy += " --no-verify-jwt"
	}
	s.printer.line("1. Serve %s at %s, with the header Content-Security-Policy: frame-ancestors 'none'.", f.page, page)
	s.printer.line("2. In Supabase's dashboard: Authentication, URL Configuration, Site URL: %s. Authentication, OAuth Server: on, with dynamic OAuth apps, Authorization Path: %s.", site, f.authorizationPath)
	s.printer.line("   From here, for projects at supabase.co: chumbo link --configure --authorization-path %s.", f.authorizationPath)
	s.printer.line("3. Deploy the function, and tell it where the page is.")
	s.printer.end("", "supabase secrets set CONSENT_ORIGIN="+origin, deploy, "chumbo link", "chumbo doctor")
}
