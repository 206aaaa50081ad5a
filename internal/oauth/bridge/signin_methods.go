package bridge

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Methods are the ways in that a project offers, as its page shows them.
type Methods struct {
	OAuth     bool     // by the app's own pages: (a). Nothing else is set then
	Password  bool     // only ever on the project's own host
	EmailCode bool     // a code or a link by email
	SignUp    bool     // new people may make an account: by the mailed code, and with a password where Password is set
	Providers []string // social providers, as the project names them: github, google …
	Captcha   Captcha  // zero where the project demands none
	OwnHost   string   // scheme://host[:port] where the password form is; empty where the project has none
}

// Captcha is the widget a project's sign-in demands.
type Captcha struct {
	Provider string // turnstile or hcaptcha; empty where none is configured
	SiteKey  string
	Needed   bool // the project refused a call without one
}

// Outcome is where an attempt to sign in led.
type Outcome struct {
	Person *Person // signed in
	Factor bool    // a second factor is needed: ask for its code (VerifyFactor)
	Mailed bool    // a mail is on its way: ask for its code (VerifyEmailCode)
}

// Methods tells how people sign in to the project of the sign-in. onOwnHost
// says that the page is being served on the project's own host. Errors:
// fault.Unavailable while the project does not answer, while sign-in is paused
// and where it has no way in at all.
func (s *Service) Methods(ctx context.Context, in *SignIn, onOwnHost bool) (Methods, error) {
	m, err := s.methods(ctx, in, onOwnHost)
	if err != nil {
		s.noteSignIn(in, Visitor{}, err)
	}
	return m, err
}

func (s *Service) methods(ctx context.Context, in *SignIn, onOwnHost bool) (Methods, error) {
	ep := in.Endpoint
	if err := maySignIn(ep); err != nil {
		return Methods{}, err
	}
	set, err := s.signInRow(ctx, ep.Organization, ep.Project.ID)
	if err != nil {
		return Methods{}, err
	}
	oauth, err := s.usesOAuth(ctx, in, set)
	if err != nil || oauth {
		return Methods{OAuth: oauth}, err
	}
	told, err := s.known.settings(ctx, ep)
	if err != nil {
		return Methods{}, err
	}
	email := told.External["email"]
	m := Methods{
		Password: email && onOwnHost && in.byTicket, EmailCode: email, SignUp: email && !told.DisableSignup,
		Providers: providersOf(told.External),
	}
	if email {
		m.OwnHost = s.ownBase(ep)
	}
	if set.CaptchaNeeded || set.CaptchaProvider != "" && set.CaptchaSiteKey != "" {
		m.Captcha = Captcha{Provider: set.CaptchaProvider, SiteKey: set.CaptchaSiteKey, Needed: set.CaptchaNeeded}
	}
	if !email && len(m.Providers) == 0 {
		return Methods{}, fault.New(fault.Unavailable, "no_way_in",
			"This app offers no way to sign in that works here. Its owner must switch on its OAuth server, email, or a social provider.")
	}
	return m, nil
}

// ownBase is where the password form of the project is; empty for nowhere.
func (s *Service) ownBase(ep *tenants.Endpoint) string {
	if own := s.cfg.Directory.OwnBases(ep); len(own) > 0 {
		return own[0]
	}
	return ""
}

// isOwnHost reports whether host (as Hosts.EffectiveHost gives it) belongs to
// ep's project and to no other.
func (s *Service) isOwnHost(ep *tenants.Endpoint, host string) bool {
	return host != "" && slices.ContainsFunc(s.cfg.Directory.OwnBases(ep), func(base string) bool {
		u, err := url.Parse(base)
		return err == nil && u.Host == host
	})
}

// notSocial are the keys of Auth's settings that are no social provider.
var notSocial = []string{"email", "phone", "anonymous_users", "saml"}

// providersOf lists the social providers that are switched on, by name.
func providersOf(external map[string]bool) []string {
	var list []string
	for name, on := range external {
		if on && !slices.Contains(notSocial, name) && !strings.HasPrefix(name, "web3") && providerName(name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// providerName reports whether name can be a provider's: it goes into an
// address and onto a page.
func providerName(name string) bool {
	return name != "" && len(name) <= 40 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// usesOAuth decides between the project's own OAuth server and our pages. A
// choice of the builder's holds; else the OAuth server is used where it can
// be.
func (s *Service) usesOAuth(ctx context.Context, in *SignIn, set signInRow) (bool, error) {
	switch set.Method {
	case methodOAuth:
		return true, nil
	case methodHosted:
		return false, nil
	}
	if s.known.brokenFor(in.Endpoint, in.ID) {
		return false, nil
	}
	on, registers, err := s.known.oauthServer(ctx, in.Endpoint)
	return on && (registers || s.usable(set)), err
}
