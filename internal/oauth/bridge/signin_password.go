package bridge

import (
	"context"
	"net/mail"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// Bounds of what is typed, in bytes.
const (
	maxEmail    = 320
	maxPassword = 1024
	maxCaptcha  = 4096
)

// Password signs in with an email and a password, which is used once and kept
// nowhere. It works on the project's own host only (OpenTicket): a browser
// fills saved passwords in by origin, and ours is many apps'. Errors are
// *fault.Error with a text for the page: what is wrong and what to do.
func (s *Service) Password(ctx context.Context, in *SignIn, email string, password seal.Secret, captcha string, v Visitor) (Outcome, error) {
	out, err := s.password(ctx, in, email, password, captcha, v)
	if err != nil || out.Person != nil {
		s.noteSignIn(in, v, err)
	}
	return out, err
}

func (s *Service) password(ctx context.Context, in *SignIn, email string, password seal.Secret, captcha string, v Visitor) (Outcome, error) {
	ep := in.Endpoint
	email, err := s.mayType(ctx, in, email, password, captcha)
	if err != nil {
		return Outcome{}, err
	}
	tries := triesAt(ep, "password", email)
	if err := s.limits.allow(ctx, tries, triesBy(ep, v), tokenCalls(ep)); err != nil {
		return Outcome{}, err
	}
	tokens, err := s.cfg.Projects.SignInPassword(ctx, upstreamProject(&ep.Project), email, password, captcha)
	if err != nil {
		return Outcome{}, s.refused(ctx, in, err)
	}
	s.wasRight(ctx, in, captcha, tries)
	return s.gotSession(ctx, in, tokens)
}

// SignUp makes an account where the project allows it; like Password, on the
// project's own host only. Mailed is also the answer for an address that has
// an account, where the project confirms addresses.
func (s *Service) SignUp(ctx context.Context, in *SignIn, email string, password seal.Secret, captcha string, v Visitor) (Outcome, error) {
	out, err := s.signUp(ctx, in, email, password, captcha, v)
	if err != nil || out.Person != nil {
		s.noteSignIn(in, v, err)
	}
	return out, err
}

func (s *Service) signUp(ctx context.Context, in *SignIn, email string, password seal.Secret, captcha string, v Visitor) (Outcome, error) {
	ep := in.Endpoint
	email, err := s.mayType(ctx, in, email, password, captcha)
	if err != nil {
		return Outcome{}, err
	}
	told, err := s.known.settings(ctx, ep)
	if err != nil {
		return Outcome{}, err
	}
	if err := notOffered(!told.DisableSignup); err != nil {
		return Outcome{}, err
	}
	if err := s.limits.allow(ctx, mailsTo(ep, email), triesBy(ep, v), mailCalls(ep)); err != nil {
		return Outcome{}, err
	}
	w, state, verifier := newWay(wayMail)
	tokens, mailed, err := s.cfg.Projects.SignUp(ctx, upstreamProject(&ep.Project), email, password, supabase.EmailOptions{
		RedirectTo: s.backURL(state), CodeChallenge: supabase.Challenge(verifier), Captcha: captcha,
	})
	if err != nil {
		s.notMailed(ctx, in, email)
		return Outcome{}, s.refused(ctx, in, err)
	}
	s.wasRight(ctx, in, captcha)
	if !mailed {
		s.notMailed(ctx, in, email)
		return s.gotSession(ctx, in, tokens)
	}
	return s.mailed(ctx, in, email, w, state)
}

// mayType checks what was typed, and that it was typed where it may be.
func (s *Service) mayType(ctx context.Context, in *SignIn, email string, password seal.Secret, captcha string) (string, error) {
	if !in.byTicket {
		return "", fault.New(fault.Forbidden, "not_here", "You are not signed in: a password may be typed on the app's own address only. Go back and choose a way to sign in.")
	}
	m, err := s.methods(ctx, in, true)
	if err != nil {
		return "", err
	}
	if err := notOffered(m.Password); err != nil {
		return "", err
	}
	n := len(password.Reveal())
	if n == 0 || n > maxPassword {
		return "", fault.New(fault.Invalid, "password_missing", "You are not signed in: there is no password. Type it and try again.")
	}
	return typedEmail(email, captcha)
}

// typedEmail is an address as a project gets it.
func typedEmail(email, captcha string) (string, error) {
	email = strings.TrimSpace(email)
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > maxEmail {
		return "", fault.New(fault.Invalid, "email_invalid", "You are not signed in: this is not an email address. Type it like name@example.com.")
	}
	if len(captcha) > maxCaptcha {
		return "", fault.New(fault.Invalid, "captcha_failed", "You are not signed in: the app asks for a captcha. Solve it and try again.")
	}
	return email, nil
}

// wasRight takes tries back that led somewhere, and learns that a captcha is
// needed no more. It is told by what happens next, so a failure is only
// logged.
func (s *Service) wasRight(ctx context.Context, in *SignIn, captcha string, tries ...limit) {
	ep := in.Endpoint
	for _, t := range tries {
		if err := s.limits.forget(ctx, t); err != nil {
			s.cfg.Logger.WarnContext(ctx, "forget tries", "project", ep.Project.ID.String(), "error", err)
		}
	}
	if captcha == "" {
		s.captchaNeeded(ctx, ep, false)
	}
}
