package bridge

import (
	"context"
	"time"

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
	CallbackURL     string // to be allowed at the project
	UpdatedAt       *time.Time
}

// SignInChange changes settings: nil leaves as it is.
type SignInChange struct {
	Method          *string
	ClientID        *string     // with ClientSecret: pasted; empty forgets the client
	ClientSecret    seal.Secret // sealed at once, never shown again
	CaptchaProvider *string
	CaptchaSiteKey  *string
}

// SignInSettings reads the settings of a project of p's organization.
func (s *Service) SignInSettings(ctx context.Context, p tenants.Principal, project id.Project) (SignInSettings, error) {
	panic("not built")
}

// ChangeSignIn changes them, with a line in the audit log.
func (s *Service) ChangeSignIn(ctx context.Context, p tenants.Principal, project id.Project, c SignInChange) (SignInSettings, error) {
	panic("not built")
}
