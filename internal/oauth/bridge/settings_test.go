package bridge

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func textOf(s string) *string { return &s }

func TestSettingsAreOfOneOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	globex := w.member(t, "owner@globex.example.test", "Globex")
	other := w.surface(t, globex, w.project, "globex", "main", nil)
	s := w.service
	got, err := s.SignInSettings(t.Context(), w.builder, w.ep.Project.ID)
	if err != nil || got.Method != "auto" || got.ClientID != "" || got.UpdatedAt != nil || got.CallbackURL != publicURL+CallbackPath {
		t.Fatalf("%+v, %v", got, err)
	}
	got, err = s.ChangeSignIn(t.Context(), w.builder, w.ep.Project.ID, SignInChange{
		Method: textOf("hosted"), ClientID: textOf("client-1"), ClientSecret: seal.NewSecret("secret-1"),
		CaptchaProvider: textOf("hcaptcha"), CaptchaSiteKey: textOf("site-1"),
	})
	if err != nil || got.Method != "hosted" || got.ClientID != "client-1" || got.ClientSource != "pasted" || got.CaptchaProvider != "hcaptcha" ||
		got.CaptchaSiteKey != "site-1" || got.UpdatedAt == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if again, err := s.SignInSettings(t.Context(), w.builder, w.ep.Project.ID); err != nil || again.ClientID != "client-1" {
		t.Errorf("%+v, %v", again, err)
	}
	// Only what is named is changed.
	if got, err = s.ChangeSignIn(t.Context(), w.builder, w.ep.Project.ID, SignInChange{Method: textOf("auto")}); err != nil ||
		got.ClientID != "client-1" || got.CaptchaSiteKey != "site-1" || got.Method != "auto" {
		t.Errorf("%+v, %v", got, err)
	}

	// Globex sees, changes and uses nothing of it.
	_, err = s.SignInSettings(t.Context(), globex, w.ep.Project.ID)
	wantFault(t, err, fault.NotFound, "project_not_found")
	_, err = s.ChangeSignIn(t.Context(), globex, w.ep.Project.ID, SignInChange{Method: textOf("oauth")})
	wantFault(t, err, fault.NotFound, "project_not_found")
	if theirs, err := s.SignInSettings(t.Context(), globex, other.Project.ID); err != nil || theirs.ClientID != "" || theirs.Method != "auto" {
		t.Errorf("%+v, %v", theirs, err)
	}
	_, err = s.oauthClient(t.Context(), &other.Project, other.Organization)
	wantFault(t, err, fault.NotFound, "no_client")
	_, err = s.oauthClient(t.Context(), &w.ep.Project, other.Organization)
	wantFault(t, err, fault.NotFound, "no_client")
	client, err := s.oauthClient(t.Context(), &w.ep.Project, w.ep.Organization)
	if err != nil || client.ID != "client-1" || client.Secret.Reveal() != "secret-1" {
		t.Fatalf("%+v, %v", client, err)
	}

	// The secret is sealed for its project, and in no log.
	var stored []byte
	w.query(t, &stored, "select client_secret from sign_in_settings where project_id = $1", w.ep.Project.ID.UUID())
	if strings.Contains(string(stored), "secret-1") || strings.Contains(w.logs.String(), "secret-1") {
		t.Error("the secret is kept in the open")
	}
	w.Exec(t, `insert into sign_in_settings (organization_id, project_id, client_id, client_secret, client_source, updated_at)
		values ($1, $2, 'client-1', $3, 'pasted', now())`, other.Organization.UUID(), other.Project.ID.UUID(), stored)
	if _, err := s.oauthClient(t.Context(), &other.Project, other.Organization); err == nil {
		t.Error("a secret opens in another project's row")
	}

	// Forgetting.
	if got, err = s.ChangeSignIn(t.Context(), w.builder, w.ep.Project.ID, SignInChange{ClientID: textOf(""), CaptchaProvider: textOf("")}); err != nil ||
		got.ClientID != "" || got.ClientSource != "" || got.CaptchaProvider != "" || got.CaptchaSiteKey != "" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = s.oauthClient(t.Context(), &w.ep.Project, w.ep.Organization)
	wantFault(t, err, fault.NotFound, "no_client")
}

func TestSettingsAreChangedByWhoMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	viewer, reading := w.builder, w.builder
	viewer.Role = tenants.RoleViewer
	reading.Scope = tenants.ScopeRead
	for name, p := range map[string]tenants.Principal{"viewer": viewer, "scope_read": reading} {
		_, err := w.service.ChangeSignIn(t.Context(), p, w.ep.Project.ID, SignInChange{Method: textOf("hosted")})
		wantFault(t, err, fault.Forbidden, name)
		if got, err := w.service.SignInSettings(t.Context(), p, w.ep.Project.ID); err != nil || got.Method != "auto" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, err := w.service.ChangeSignIn(t.Context(), w.builder, w.ep.Project.ID, SignInChange{ClientID: textOf("client-1"), ClientSecret: seal.NewSecret("secret-1")}); err != nil {
		t.Fatal(err)
	}
	var refused, done int
	w.query(t, &refused, "select count(*) from audit_events where action = 'project.sign_in' and outcome = 'refused' and target = $1", w.ep.Project.ID.String())
	w.query(t, &done, "select count(*) from audit_events where action = 'project.sign_in' and outcome = 'ok' and target = $1", w.ep.Project.ID.String())
	if refused != 2 || done != 1 {
		t.Errorf("%d refused and %d done in the audit log", refused, done)
	}
	var all string
	w.query(t, &all, "select string_agg(detail::text, ' ') from audit_events")
	if strings.Contains(all, "secret-1") || strings.Contains(all, "client-1") {
		t.Error("values are in the audit log")
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	service := part(`{"alg":"HS256"}`) + "." + part(`{"role":"service_role"}`) + ".c2ln"
	secret := seal.NewSecret("secret-1")
	for name, test := range map[string]struct {
		change SignInChange
		code   string
	}{
		"method":               {SignInChange{Method: textOf("magic")}, "sign_in_settings_invalid"},
		"captcha":              {SignInChange{CaptchaProvider: textOf("recaptcha")}, "sign_in_settings_invalid"},
		"id alone":             {SignInChange{ClientID: textOf("client-1")}, "sign_in_settings_invalid"},
		"secret alone":         {SignInChange{ClientSecret: secret}, "sign_in_settings_invalid"},
		"nothing and a secret": {SignInChange{ClientID: textOf(""), ClientSecret: secret}, "sign_in_settings_invalid"},
		"spaces":               {SignInChange{ClientID: textOf("a b"), ClientSecret: secret}, "sign_in_settings_invalid"},
		"long":                 {SignInChange{CaptchaSiteKey: textOf(strings.Repeat("a", 201))}, "sign_in_settings_invalid"},
		"markup":               {SignInChange{CaptchaSiteKey: textOf("a\n<b>")}, "sign_in_settings_invalid"},
		"secret key as secret": {SignInChange{ClientID: textOf("client-1"), ClientSecret: seal.NewSecret("sb_secret_abcdefgh")}, "secret_key"},
		"service role":         {SignInChange{ClientID: textOf("client-1"), ClientSecret: seal.NewSecret(service)}, "secret_key"},
		"secret key as id":     {SignInChange{ClientID: textOf("sb_secret_abcdefgh"), ClientSecret: secret}, "secret_key"},
		"secret key as site":   {SignInChange{CaptchaSiteKey: textOf("sb_secret_abcdefgh")}, "secret_key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.service.ChangeSignIn(t.Context(), w.builder, w.ep.Project.ID, test.change)
			wantFault(t, err, fault.Invalid, test.code)
			if strings.Contains(fault.From(err).Message, "abcdefgh") {
				t.Error("the answer repeats the key")
			}
		})
	}
	if got, err := w.service.SignInSettings(t.Context(), w.builder, w.ep.Project.ID); err != nil || got.UpdatedAt != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
