package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// SignInSettings are how a project's people sign in through the bridge.
type SignInSettings struct {
	Method          string // auto, oauth or hosted
	ClientID        string // our OAuth client of the project; empty until there is one
	ClientSource    string // registered, pasted, or empty
	CaptchaProvider string // turnstile, hcaptcha, or empty
	CaptchaSiteKey  string
	CaptchaNeeded   bool   // the project refused a sign-in without one
	CallbackURL     string // redirect URI of our OAuth client at the project
	RedirectPattern string // to be allowed at the project for mailed links and providers: it compares queries too
	UpdatedAt       *time.Time
}

// SignInChange changes settings: nil leaves as it is.
type SignInChange struct {
	Method          *string
	ClientID        *string     // with ClientSecret: pasted; empty forgets the client
	ClientSecret    seal.Secret // sealed at once, never shown again
	CaptchaProvider *string     // empty: none, and no site key
	CaptchaSiteKey  *string
}

// How people sign in.
const (
	methodAuto   = "auto"   // by the project's OAuth server where that works, else on our pages
	methodOAuth  = "oauth"  // (a)
	methodHosted = "hosted" // (b)
)

// Where our client of a project comes from.
const (
	clientRegistered = "registered"
	clientPasted     = "pasted"
)

// signInRow is a project's row of sign_in_settings; with defaults where there
// is none.
type signInRow = db.GetSignInSettingsRow

// callbackURL is where projects send browsers back to.
func (s *Service) callbackURL() string { return s.cfg.PagesURL + CallbackPath }

func (s *Service) signInRow(ctx context.Context, org id.Organization, project id.Project) (signInRow, error) {
	var row signInRow
	err := s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = readSignInRow(ctx, q, org, project)
		return err
	})
	return row, err
}

func readSignInRow(ctx context.Context, q *db.Queries, org id.Organization, project id.Project) (signInRow, error) {
	row, err := q.GetSignInSettings(ctx, db.GetSignInSettingsParams{OrganizationID: org, ProjectID: project})
	if errors.Is(err, pgx.ErrNoRows) {
		return signInRow{Method: methodAuto}, nil
	}
	if err != nil {
		return signInRow{}, fmt.Errorf("load sign-in settings: %w", err)
	}
	return row, nil
}

// SignInSettings reads the settings of a project of p's organization. Another
// organization's project is fault.NotFound.
func (s *Service) SignInSettings(ctx context.Context, p tenants.Principal, project id.Project) (SignInSettings, error) {
	var out SignInSettings
	err := s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		out, err = s.readSettings(ctx, q, p.Organization.ID, project)
		return err
	})
	return out, err
}

func (s *Service) readSettings(ctx context.Context, q *db.Queries, org id.Organization, project id.Project) (SignInSettings, error) {
	stands, err := q.ProjectStands(ctx, db.ProjectStandsParams{OrganizationID: org, ID: project})
	if err != nil {
		return SignInSettings{}, fmt.Errorf("look for project: %w", err)
	}
	if !stands {
		return SignInSettings{}, fault.New(fault.NotFound, "project_not_found", "There is no such project in this organization.")
	}
	row, err := readSignInRow(ctx, q, org, project)
	if err != nil {
		return SignInSettings{}, err
	}
	out := SignInSettings{
		Method: row.Method, ClientID: row.ClientID, ClientSource: row.ClientSource, CaptchaProvider: row.CaptchaProvider,
		CaptchaSiteKey: row.CaptchaSiteKey, CaptchaNeeded: row.CaptchaNeeded, CallbackURL: s.callbackURL(),
		RedirectPattern: s.callbackURL() + "**",
	}
	if !row.UpdatedAt.IsZero() {
		out.UpdatedAt = &row.UpdatedAt
	}
	return out, nil
}

// ChangeSignIn changes them, with a line in the audit log: of a refusal too.
// Errors: fault.Forbidden for who may not, fault.NotFound, fault.Invalid that
// names the field.
func (s *Service) ChangeSignIn(ctx context.Context, p tenants.Principal, project id.Project, c SignInChange) (SignInSettings, error) {
	var out SignInSettings
	err := p.MayWrite()
	if err == nil {
		err = c.check()
	}
	if err == nil {
		err = s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
			var err error
			out, err = s.writeSettings(ctx, q, p, project, c)
			return err
		})
	}
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return out, err
	}
	noted := s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		return events.Audit(ctx, q, s.cfg.Now(), p.Actor(), events.AuditEntry{
			Action: actSignIn, Target: project.String(), Outcome: events.AuditRefused,
			Detail: map[string]any{"reason": refused.Kind.String(), "code": refused.Code},
		})
	})
	return SignInSettings{}, errors.Join(err, noted)
}

const actSignIn = "project.sign_in"

func (s *Service) writeSettings(ctx context.Context, q *db.Queries, p tenants.Principal, project id.Project, c SignInChange) (SignInSettings, error) {
	org, now := p.Organization.ID, s.cfg.Now()
	if _, err := s.readSettings(ctx, q, org, project); err != nil {
		return SignInSettings{}, err
	}
	none := ""
	if c.CaptchaProvider != nil && *c.CaptchaProvider == "" {
		c.CaptchaSiteKey = &none
	}
	err := q.ChangeSignInSettings(ctx, db.ChangeSignInSettingsParams{
		OrganizationID: org, ProjectID: project, Method: c.Method, CaptchaProvider: c.CaptchaProvider, CaptchaSiteKey: c.CaptchaSiteKey, Now: now,
	})
	if err != nil {
		return SignInSettings{}, fmt.Errorf("change sign-in settings: %w", err)
	}
	if c.ClientID != nil {
		row := db.PutSignInClientParams{OrganizationID: org, ProjectID: project, ClientID: *c.ClientID, Now: now}
		if row.ClientID != "" {
			row.ClientSource, row.ClientRedirect = clientPasted, s.callbackURL()
			row.ClientSecret = s.sealClient(org, project, c.ClientSecret)
		}
		if err := q.PutSignInClient(ctx, row); err != nil {
			return SignInSettings{}, fmt.Errorf("put sign-in client: %w", err)
		}
	}
	out, err := s.readSettings(ctx, q, org, project)
	if err != nil {
		return SignInSettings{}, err
	}
	return out, events.Audit(ctx, q, now, p.Actor(), events.AuditEntry{
		Action: actSignIn, Target: project.String(), Outcome: events.AuditOK,
		Detail: map[string]any{"changed": c.changed(), "method": out.Method, "client": out.ClientSource, "captcha": out.CaptchaProvider},
	})
}

// changed names what a change touches, without values.
func (c SignInChange) changed() []string {
	names := []string{}
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"method", c.Method != nil}, {"client", c.ClientID != nil},
		{"captcha_provider", c.CaptchaProvider != nil}, {"captcha_site_key", c.CaptchaSiteKey != nil},
	} {
		if f.is {
			names = append(names, f.name)
		}
	}
	return names
}

// check refuses what cannot be right, and keys that open the project, wherever
// they were pasted.
func (c SignInChange) check() error {
	for _, f := range []struct {
		name  string
		value *string
	}{{"client_id", c.ClientID}, {"captcha_site_key", c.CaptchaSiteKey}, {"method", c.Method}, {"captcha_provider", c.CaptchaProvider}} {
		if f.value == nil {
			continue
		}
		if err := tenants.RefuseSecret(f.name, *f.value); err != nil {
			return err
		}
		if !settingText(*f.value) {
			return wrongField(f.name, "want at most 200 letters, digits and signs without spaces")
		}
	}
	if err := tenants.RefuseSecret("client_secret", c.ClientSecret.Reveal()); err != nil {
		return err
	}
	switch {
	case c.Method != nil && *c.Method != methodAuto && *c.Method != methodOAuth && *c.Method != methodHosted:
		return wrongField("method", "want auto, oauth or hosted")
	case c.CaptchaProvider != nil && *c.CaptchaProvider != "" && *c.CaptchaProvider != "turnstile" && *c.CaptchaProvider != "hcaptcha":
		return wrongField("captcha_provider", "want turnstile, hcaptcha or nothing")
	case (c.ClientID != nil && *c.ClientID != "") == c.ClientSecret.IsZero():
		return wrongField("client_secret", "want the client's id and its secret together")
	case !c.ClientSecret.IsZero() && !settingText(c.ClientSecret.Reveal()):
		return wrongField("client_secret", "want at most 200 letters, digits and signs without spaces")
	}
	return nil
}

func wrongField(name, want string) error {
	return fault.New(fault.Invalid, "sign_in_settings_invalid", "The sign-in settings were not changed. Correct the field %s: %s.", name, want).
		WithIssues(fault.Issue{Path: name, Message: want})
}

// settingText reports whether s is short visible ASCII, or empty.
func settingText(s string) bool {
	return len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// captchaNeeded notes what a sign-in taught us of the project. It is told by
// what happens next, so a failure is only logged.
func (s *Service) captchaNeeded(ctx context.Context, ep *tenants.Endpoint, needed bool) {
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		if !needed {
			return q.SetCaptchaUnneeded(ctx, db.SetCaptchaUnneededParams{OrganizationID: ep.Organization, ProjectID: ep.Project.ID})
		}
		return q.SetCaptchaNeeded(ctx, db.SetCaptchaNeededParams{OrganizationID: ep.Organization, ProjectID: ep.Project.ID, Now: s.cfg.Now()})
	})
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "note captcha", "project", ep.Project.ID.String(), "error", err)
	}
}
