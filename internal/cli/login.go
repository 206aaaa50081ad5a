package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

type loginFlags struct{ server, scope string }

func loginCommand(s *session) *cobra.Command {
	var f loginFlags
	c := &cobra.Command{
		Use:   "login",
		Short: "Sign in at a server, by approving a code in its dashboard",
		Long: `Sign in at a server. A code is shown; open the page that is named, compare the
code and approve it. The token then made is kept in ~/.config/chumbo/config,
for you alone, and goes to that server only.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.login(cmd.Context(), f) },
	}
	c.Flags().StringVar(&f.server, "server", "", "the server's address (default: CHUMBO_URL, else the one in use)")
	c.Flags().StringVar(&f.scope, "scope", "write", "what the token may do: read, write or admin")
	return c
}

// Bounds of what a server may ask of a waiting login (RFC 8628).
const (
	minInterval = time.Second
	maxInterval = time.Minute
	maxWait     = 30 * time.Minute
	slowDown    = 5 * time.Second

	maxUnanswered = 3 // polls in a row that found no server
)

func (s *session) login(ctx context.Context, f loginFlags) error {
	switch f.scope {
	case "read", "write", "admin":
	default:
		return usage("--scope is read, write or admin")
	}
	kept, err := s.readAccounts()
	if err != nil {
		return err
	}
	server, err := s.serverToSignInAt(f.server, kept)
	if err != nil {
		return err
	}
	c := newClient(settings{server: server})
	grant, err := c.beginDevice(ctx, s.machine(), f.scope)
	if err != nil {
		return err
	}
	s.showCode(grant)
	answer, err := s.awaitApproval(ctx, c, grant)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(answer.Token, tokenPrefix) {
		return fmt.Errorf("%s answered without an API token", server)
	}
	kept = kept.with(account{URL: server.String(), Token: answer.Token, Organization: answer.Organization.Slug})
	if err := s.writeAccounts(kept); err != nil {
		return err
	}
	s.printer.data = map[string]any{
		"server": server.String(), "organization": answer.Organization, "builder": answer.Builder,
		"scope": answer.Scope, "config_file": s.accountsPath(),
	}
	s.printer.done("login", "signed in at %s as %s of %s, scope %s", server, answer.Builder.Email, answer.Organization.Name, answer.Scope)
	if s.env.Getenv("CHUMBO_TOKEN") != "" {
		s.printer.step(step{ID: "environment", Status: "warn", Message: "CHUMBO_TOKEN is set and still comes first", Fix: "unset CHUMBO_URL CHUMBO_TOKEN"})
	}
	s.printer.end("The token is in "+s.accountsPath()+".", "chumbo link")
	return nil
}

func (s *session) serverToSignInAt(flag string, kept accounts) (*url.URL, error) {
	name, address := "--server", flag
	if address == "" {
		name, address = "CHUMBO_URL", first(s.env.Getenv("CHUMBO_URL"), kept.URL)
	}
	if err := refuseSecrets(field{name, address}); err != nil {
		return nil, err
	}
	if address == "" {
		return nil, usage("no server: pass --server https://mcp.example.test")
	}
	return s.serverURL(name, address)
}

// machine is what who approves a login sees of where it was begun.
func (s *session) machine() string {
	if s.env.Host == "" {
		return "chumbo"
	}
	return "chumbo on " + s.env.Host
}

// showCode says where to approve. With --json that goes to the error stream:
// the output is one object, at the end.
func (s *session) showCode(g deviceGrant) {
	say := s.printer.line
	if s.printer.json {
		say = s.printer.aside
	}
	say("Open %s and approve this code:", g.VerificationURI)
	say("")
	say("      %s", g.UserCode)
	say("")
	if g.VerificationURIComplete != "" && g.VerificationURIComplete != g.VerificationURI {
		say("or open %s", g.VerificationURIComplete)
	}
	say("Approve it only when you began this yourself. Waiting…")
}

// awaitApproval polls until the code is decided or has expired.
func (s *session) awaitApproval(ctx context.Context, c *client, g deviceGrant) (deviceToken, error) {
	unanswered := 0
	interval := min(max(time.Duration(g.Interval)*time.Second, minInterval), maxInterval)
	until := s.env.Now().Add(min(time.Duration(g.ExpiresIn)*time.Second, maxWait))
	for s.env.Now().Before(until) {
		select {
		case <-ctx.Done():
			return deviceToken{}, errStopped
		case <-s.env.After(interval):
		}
		if s.asks() {
			s.printer.print(".")
		}
		answer, err := c.pollDevice(ctx, g)
		var p *problem
		switch {
		case err == nil:
			return answer, s.endWaiting(nil)
		case ctx.Err() != nil:
			return answer, s.endWaiting(errStopped)
		case !errors.As(err, &p):
			if unanswered++; unanswered > maxUnanswered {
				return answer, s.endWaiting(err)
			}
			continue
		}
		unanswered = 0
		switch p.Code {
		case "authorization_pending":
		case "slow_down":
			interval = min(interval+slowDown, maxInterval)
		case "access_denied":
			return answer, s.endWaiting(errors.New("the code was denied: nothing was signed in. Run chumbo login again if that was a mistake"))
		case "expired_token":
			return answer, s.endWaiting(errCodeExpired)
		default:
			return answer, s.endWaiting(err)
		}
	}
	return deviceToken{}, s.endWaiting(errCodeExpired)
}

var errCodeExpired = errors.New("the code has expired before it was approved. Run chumbo login again")

// endWaiting ends the line of dots.
func (s *session) endWaiting(err error) error {
	if s.asks() {
		s.printer.print("\n")
	}
	return err
}

type deviceGrant struct {
	DeviceCode              string `json:"device_code"`
	UserCode                string `json:"user_code"`
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	ExpiresIn               int    `json:"expires_in"`
	Interval                int    `json:"interval"`
}

type deviceToken struct {
	Token        string       `json:"token"`
	Organization organization `json:"organization"`
	Builder      struct {
		Email string `json:"email"`
	} `json:"builder"`
	Scope string `json:"scope"`
}

func (c *client) beginDevice(ctx context.Context, machine, scope string) (deviceGrant, error) {
	var g deviceGrant
	err := c.do(ctx, http.MethodPost, "/device/authorize", map[string]string{"client_name": machine, "scope": scope}, &g)
	if err != nil {
		return g, err
	}
	if g.DeviceCode == "" || g.UserCode == "" || !isPage(g.VerificationURI) {
		return g, fmt.Errorf("%s does not answer as a Chumbo server does", c.server())
	}
	if !isPage(g.VerificationURIComplete) {
		g.VerificationURIComplete = ""
	}
	return g, nil
}

func (c *client) pollDevice(ctx context.Context, g deviceGrant) (deviceToken, error) {
	var t deviceToken
	err := c.do(ctx, http.MethodPost, "/device/token", map[string]string{"device_code": g.DeviceCode}, &t)
	return t, err
}

func logoutCommand(s *session) *cobra.Command {
	var server string
	c := &cobra.Command{
		Use:   "logout",
		Short: "Revoke the token of a server and forget it on this machine",
		Long: `Revoke the token that chumbo login got from a server, and forget it on this
machine. When the server cannot be reached the token is forgotten all the same;
revoke it in the dashboard then, under API tokens.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.logout(cmd.Context(), server) },
	}
	c.Flags().StringVar(&server, "server", "", "the server's address (default: CHUMBO_URL, else the one in use)")
	return c
}

func (s *session) logout(ctx context.Context, flag string) error {
	kept, err := s.readAccounts()
	if err != nil {
		return err
	}
	server, err := s.serverToSignInAt(flag, kept)
	if err != nil {
		return err
	}
	one, found := kept.at(server.String())
	if !found {
		s.printer.step(step{ID: "logout", Status: "skip", Message: "there is no token of " + server.String() + " here"})
		return nil
	}
	ended := newClient(settings{server: server, token: seal.NewSecret(one.Token)}).endToken(ctx)
	if err := s.writeAccounts(kept.without(server.String())); err != nil {
		return err
	}
	s.printer.data = map[string]any{"server": server.String(), "revoked": ended == nil}
	s.printer.done("logout", "forgot the token of %s", server)
	if ended == nil || isStatus(ended, http.StatusUnauthorized) {
		s.printer.done("revoke", "the token is good for nothing any more")
		return nil
	}
	s.printer.step(step{
		ID: "revoke", Status: "warn", Message: "the token itself stays good until it is revoked: " + ended.Error(),
		Fix: server.String() + "/app/tokens",
	})
	return nil
}

// endToken revokes the token it is sent with.
func (c *client) endToken(ctx context.Context) error {
	var who me
	if err := c.do(ctx, http.MethodGet, "/me", nil, &who); err != nil {
		return err
	}
	return c.do(ctx, http.MethodDelete, "/tokens/"+url.PathEscape(who.Token), nil, nil)
}
