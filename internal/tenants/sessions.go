package tenants

import (
	"context"
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// SignIn is what a builder types to begin a browser session.
type SignIn struct {
	Email    string
	Password seal.Secret
	Address  string // of the request
	Agent    string // User-Agent, cut
}

// Session is a browser session as one request finds it.
type Session struct {
	ID            id.Session
	Builder       Builder
	Organizations []Membership // by name; what the switcher lists
	Current       Principal    // at work in the chosen organization; zero when Organizations is empty
	CSRF          string       // what forms of this session must carry back
	ExpiresAt     time.Time
	Cookie        seal.Secret // new value for the cookie; zero: keep the one that was sent
}

// Membership is a seat of a builder in an organization.
type Membership struct {
	Organization Organization
	Role         Role
}

// SignIn checks a password and begins a session; Session.Cookie is its value.
// A wrong email or password is one fault.Unauthenticated; too many tries are
// fault.RateLimited with RetryAfter.
func (s *Service) SignIn(ctx context.Context, in SignIn) (Session, error) { panic("not built") }

// Session finds the session of a cookie's value. An unknown, ended or expired
// one is fault.Unauthenticated. Cookies are rotated: Session.Cookie then holds
// the new value, and the old one is good for requests already under way.
func (s *Service) Session(ctx context.Context, cookie seal.Secret, address string) (Session, error) {
	panic("not built")
}

// CheckCSRF compares what a form carried with the session's, in constant time.
// Another value is fault.Forbidden.
func (s *Service) CheckCSRF(session Session, given string) error { panic("not built") }

// SignOut ends a session. Ending one that is not there is no error.
func (s *Service) SignOut(ctx context.Context, cookie seal.Secret, address string) error {
	panic("not built")
}

// SwitchOrganization makes a session work in another organization of its
// builder, or fault.NotFound.
func (s *Service) SwitchOrganization(ctx context.Context, session Session, organization string) error {
	panic("not built")
}

// ChangePassword replaces the builder's password and ends their other
// sessions. A wrong current one is fault.Forbidden, a weak one fault.Invalid.
func (s *Service) ChangePassword(ctx context.Context, session Session, current, next seal.Secret) error {
	panic("not built")
}
