package cli

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

var consentPath = regexp.MustCompile(`^/[A-Za-z0-9._~/-]{0,200}$`)

// configure switches the project's OAuth server on, with its consent page and
// client registration in the same request: without a consent page it fails at
// the moment people sign in. It speaks to Supabase from this machine; the
// server never sees the access token.
func (s *session) configure(ctx context.Context, f linkFlags) error {
	ref, err := refOf(f.projectURL)
	if err != nil {
		return err
	}
	if !consentPath.MatchString(f.authorizationPath) || strings.HasPrefix(f.authorizationPath, "//") {
		return usage("--authorization-path is the path of the app's consent page below its Site URL, such as /oauth/consent")
	}
	token, err := s.accessToken()
	if err != nil {
		return err
	}
	plan := fmt.Sprintf("switch on the OAuth server of %s, with client registration and the consent page %s", ref, f.authorizationPath)
	ok, err := s.agree(ctx, f.yes, "Configure: "+plan+"?")
	if err != nil {
		return err
	}
	if !ok {
		s.printer.step(step{ID: "configure", Status: "fail", Message: "nothing was changed: would " + plan, Fix: "chumbo link --configure --yes"})
		return errShown
	}
	if err := s.env.Management.ConfigureOAuth(ctx, ref, token, f.authorizationPath); err != nil {
		return fmt.Errorf("configure the project: %s", fault.From(err).Message)
	}
	s.printer.done("configure", "switched on the OAuth server, client registration and the consent page %s", f.authorizationPath)
	return nil
}

// refOf is the reference of a hosted project.
func refOf(projectURL string) (string, error) {
	u, err := url.Parse(projectURL)
	if err == nil && u.Scheme == "https" && u.Port() == "" {
		if ref, ok := strings.CutSuffix(u.Host, ".supabase.co"); ok && hostedRef.MatchString(ref) {
			return ref, nil
		}
	}
	return "", usage("only a project at https://<ref>.supabase.co can be configured from here. For another one, set GOTRUE_OAUTH_SERVER_ENABLED, " +
		"GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION and GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH, or [auth.oauth_server] of supabase/config.toml")
}

// accessToken is the Management API token. It has no flag: those are visible
// to other users of this machine.
func (s *session) accessToken() (seal.Secret, error) {
	token := strings.TrimSpace(s.env.Getenv("SUPABASE_ACCESS_TOKEN"))
	if token == "" {
		return seal.Secret{}, usage("no access token: set SUPABASE_ACCESS_TOKEN (Supabase's dashboard, Account, Access Tokens)")
	}
	return seal.NewSecret(token), nil
}
