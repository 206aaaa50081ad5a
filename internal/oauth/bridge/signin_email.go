package bridge

import (
	"context"
	"errors"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// SendCode mails a code and a link, again at the earliest after a minute.
// Whether the address has an account is not told.
func (s *Service) SendCode(ctx context.Context, in *SignIn, email, captcha string, v Visitor) (Outcome, error) {
	out, err := s.sendCode(ctx, in, email, captcha, v)
	if err != nil {
		s.noteSignIn(in, v, err)
	}
	return out, err
}

func (s *Service) sendCode(ctx context.Context, in *SignIn, email, captcha string, v Visitor) (Outcome, error) {
	ep := in.Endpoint
	m, err := s.methods(ctx, in, in.byTicket)
	if err != nil {
		return Outcome{}, err
	}
	if err := notOffered(m.EmailCode); err != nil {
		return Outcome{}, err
	}
	if email, err = typedEmail(email, captcha); err != nil {
		return Outcome{}, err
	}
	if err := s.limits.allow(ctx, mailsTo(ep, email), triesBy(ep, v), mailCalls(ep)); err != nil {
		return Outcome{}, err
	}
	w, state, verifier := newWay(wayMail)
	err = s.cfg.Projects.SendCode(ctx, upstreamProject(&ep.Project), email, m.SignUp, supabase.EmailOptions{
		RedirectTo: s.backURL(state), CodeChallenge: supabase.Challenge(verifier), Captcha: captcha,
	})
	if err != nil && !unknownAddress(err) {
		s.notMailed(ctx, in, email)
		return Outcome{}, s.refused(ctx, in, err)
	}
	s.wasRight(ctx, in, captcha)
	return s.mailed(ctx, in, email, w, state)
}

// unknownAddress reports whether no mail was sent because nobody has that
// address, which nobody is told.
func unknownAddress(err error) bool {
	var r *supabase.AuthRefusal
	return errors.As(err, &r) && r.Code == "otp_disabled"
}

// mailed keeps what the mail's link needs, and whose code may be typed.
func (s *Service) mailed(ctx context.Context, in *SignIn, email string, w way, state seal.Secret) (Outcome, error) {
	in.Email = email
	if err := s.beginWay(ctx, in, w, state); err != nil {
		return Outcome{}, err
	}
	return Outcome{Mailed: true}, nil
}

// notMailed lets the next mail be asked for at once.
func (s *Service) notMailed(ctx context.Context, in *SignIn, email string) {
	if err := s.limits.forget(ctx, mailsTo(in.Endpoint, email)); err != nil {
		s.cfg.Logger.WarnContext(ctx, "forget mail", "project", in.Endpoint.Project.ID.String(), "error", err)
	}
}

// VerifyEmailCode signs in with the code that was mailed to in.Email.
func (s *Service) VerifyEmailCode(ctx context.Context, in *SignIn, code string, v Visitor) (Outcome, error) {
	out, err := s.verifyEmailCode(ctx, in, code, v)
	if err != nil || out.Person != nil {
		s.noteSignIn(in, v, err)
	}
	return out, err
}

func (s *Service) verifyEmailCode(ctx context.Context, in *SignIn, code string, v Visitor) (Outcome, error) {
	ep := in.Endpoint
	if err := maySignIn(ep); err != nil {
		return Outcome{}, err
	}
	if in.Email == "" {
		return Outcome{}, fault.New(fault.Invalid, "no_code_sent", "You are not signed in: no code is on its way. Ask for one first.")
	}
	code, ok := typedCode(code, 6, 10)
	if !ok {
		return Outcome{}, fault.New(fault.Invalid, "code_wrong", "You are not signed in: this is not a code. Type the digits of the mail.")
	}
	tries := triesAt(ep, "mailed code", in.Email)
	if err := s.limits.allow(ctx, tries, triesBy(ep, v), codeCalls(ep)); err != nil {
		return Outcome{}, err
	}
	tokens, err := s.cfg.Projects.VerifyEmailCode(ctx, upstreamProject(&ep.Project), in.Email, code)
	if err != nil {
		return Outcome{}, s.refused(ctx, in, err)
	}
	s.wasRight(ctx, in, "-", tries)
	return s.gotSession(ctx, in, tokens)
}

// typedCode is a code without what people put between its digits.
func typedCode(code string, least, most int) (string, bool) {
	code = strings.NewReplacer(" ", "", "-", "", "\t", "").Replace(code)
	return code, len(code) >= least && len(code) <= most && strings.Trim(code, "0123456789") == ""
}
