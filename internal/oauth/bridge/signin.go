package bridge

import (
	"context"
	"net/url"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Open finds a sign-in by its id and the cookie that began it. Without the
// cookie, after its end and for an unknown id the error is the same:
// fault.NotFound with code start_again; nothing is spent.
func (s *Service) Open(ctx context.Context, signIn id.SignIn, cookie seal.Secret) (*SignIn, error) {
	panic("not built")
}

// Methods are the ways in that a project offers, as its page shows them.
type Methods struct {
	OAuth     bool     // by the app's own pages: (a). Nothing else is set then
	Password  bool     // only ever on the project's own host
	EmailCode bool     // a code or a link by email
	SignUp    bool     // new people may make an account
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

// Methods tells how people sign in to the project of the sign-in. onOwnHost
// says that the page is being served on the project's own host.
func (s *Service) Methods(ctx context.Context, in *SignIn, onOwnHost bool) (Methods, error) {
	panic("not built")
}

// Outcome is where an attempt to sign in led.
type Outcome struct {
	Person *Person // signed in
	Factor bool    // a second factor is needed: ask for its code (VerifyFactor)
	Mailed bool    // a mail is on its way: ask for its code (VerifyEmailCode)
}

// StartOAuth begins (a): where to send the browser, to the project's own
// OAuth server. It registers our client of the project on first need.
func (s *Service) StartOAuth(ctx context.Context, in *SignIn) (string, error) { panic("not built") }

// StartProvider begins a social sign-in: where to send the browser.
func (s *Service) StartProvider(ctx context.Context, in *SignIn, provider string) (string, error) {
	panic("not built")
}

// Password signs in with an email and a password, which is used once and kept
// nowhere. Errors are *fault.Error with a text for the page: what is wrong and
// what to do.
func (s *Service) Password(ctx context.Context, in *SignIn, email string, password seal.Secret, captcha string, v Visitor) (Outcome, error) {
	panic("not built")
}

// SignUp makes an account where the project allows it.
func (s *Service) SignUp(ctx context.Context, in *SignIn, email string, password seal.Secret, captcha string, v Visitor) (Outcome, error) {
	panic("not built")
}

// SendCode mails a code and a link. Whether the address has an account is not
// told.
func (s *Service) SendCode(ctx context.Context, in *SignIn, email, captcha string, v Visitor) (Outcome, error) {
	panic("not built")
}

// VerifyEmailCode signs in with the code that was mailed to in.Email.
func (s *Service) VerifyEmailCode(ctx context.Context, in *SignIn, code string, v Visitor) (Outcome, error) {
	panic("not built")
}

// VerifyFactor gives the code of an authenticator app.
func (s *Service) VerifyFactor(ctx context.Context, in *SignIn, code string, v Visitor) (Outcome, error) {
	panic("not built")
}

// Callback ends what StartOAuth, StartProvider and a mailed link began: query
// is what the browser brought to CallbackPath, cookie tells the transaction
// cookie of a sign-in (zero where the browser has none). Without it nothing is
// exchanged and the error is start_again. A refusal by the person or the
// project is a *BackToClient for PurposeAuthorize, else a *fault.Error.
func (s *Service) Callback(ctx context.Context, query url.Values, cookie func(id.SignIn) seal.Secret, v Visitor) (*SignIn, Outcome, error) {
	panic("not built")
}

// Ticket takes a sign-in to the project's own host and back: sealed, good for
// this sign-in only. It lets its holder sign in, and nothing else.
func (s *Service) Ticket(in *SignIn) string { panic("not built") }

// OpenTicket finds a sign-in by its ticket, on the project's own host (host as
// Hosts.EffectiveHost gives it), where there is no transaction cookie.
func (s *Service) OpenTicket(ctx context.Context, host, ticket string) (*SignIn, error) {
	panic("not built")
}

// HandBack is where the browser goes when it has signed in on the project's
// own host: /connect/complete with a secret that only this browser was given.
func (s *Service) HandBack(ctx context.Context, in *SignIn) (string, error) { panic("not built") }

// Complete takes a sign-in back on our own pages: with the transaction cookie
// and the secret of HandBack.
func (s *Service) Complete(ctx context.Context, signIn id.SignIn, cookie seal.Secret, secret string) (*SignIn, error) {
	panic("not built")
}

// Cancel gives a sign-in up and sends the browser back to its client with
// access_denied; "" where there is no client.
func (s *Service) Cancel(ctx context.Context, in *SignIn) (string, error) { panic("not built") }

// Again forgets who signed in, so that somebody else can ("Not you?").
func (s *Service) Again(ctx context.Context, in *SignIn) error { panic("not built") }
