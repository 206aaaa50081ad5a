package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// maxFactors bounds how many authenticator apps one code is tried at.
const maxFactors = 5

// pendingSession is a session that waits for its second factor, sealed on the
// sign-in's row.
type pendingSession struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh"`
	Until   time.Time `json:"until"` // of the access token
	Subject string    `json:"subject"`
	Factors []string  `json:"factors"` // ids of verified TOTP factors
}

// gotSession goes on with a first-party session: to the second factor where
// the person has one, else they are signed in.
func (s *Service) gotSession(ctx context.Context, in *SignIn, tokens supabase.Tokens) (Outcome, error) {
	factors, needed, err := s.factorsOf(ctx, in, tokens)
	if err != nil {
		return Outcome{}, err
	}
	if !needed {
		return s.keepSession(ctx, in, tokens)
	}
	if len(factors) == 0 {
		s.dropSession(ctx, in, tokens.Access)
		return Outcome{}, fault.New(fault.Forbidden, "factor_unsupported",
			"You are not signed in: your account asks for a second factor that this page cannot check. Add an authenticator app to your account in the app, then try again.")
	}
	return s.awaitFactor(ctx, in, tokens, factors)
}

// factorsOf lists the authenticator apps of the session's user, and tells
// whether there is any verified factor. The session says aal1 in any case: it
// never tells itself that a factor is needed.
func (s *Service) factorsOf(ctx context.Context, in *SignIn, tokens supabase.Tokens) (totp []string, any bool, err error) {
	user := tokens.User
	if user == nil {
		asked, err := s.cfg.Projects.CurrentUser(ctx, upstreamProject(&in.Endpoint.Project), tokens.Access)
		if err != nil {
			return nil, false, s.refused(ctx, in, err)
		}
		user = &asked
	}
	for _, f := range user.Factors {
		if f.Status != supabase.FactorVerified {
			continue
		}
		any = true
		if f.Type == "totp" && len(totp) < maxFactors {
			totp = append(totp, f.ID)
		}
	}
	return totp, any, nil
}

func (s *Service) awaitFactor(ctx context.Context, in *SignIn, tokens supabase.Tokens, factors []string) (Outcome, error) {
	ep := in.Endpoint
	if !in.byTicket && !in.signedIn.IsZero() { // whoever was signed in before is not meant any more
		if err := s.setPerson(ctx, in, nil); err != nil {
			return Outcome{}, err
		}
	}
	p := pendingSession{
		Access: tokens.Access.Reveal(), Refresh: tokens.Refresh.Reveal(), Until: s.cfg.Now().Add(tokens.ExpiresIn), Factors: factors,
	}
	if tokens.User != nil {
		p.Subject = tokens.User.ID
	}
	sealed, err := s.sealSignIn(in, "pending", p)
	if err != nil {
		return Outcome{}, err
	}
	err = s.change(ctx, in, "await second factor", func(q *db.Queries) (int64, error) {
		return q.SetSignInPending(ctx, db.SetSignInPendingParams{
			OrganizationID: ep.Organization, ID: in.ID, ProjectID: ep.Project.ID, Pending: sealed, TicketKey: in.newTicketKey(), Now: s.cfg.Now(),
		})
	})
	if err != nil {
		return Outcome{}, err
	}
	in.Factor, in.pending, in.Person, in.Email = true, sealed, nil, ""
	return Outcome{Factor: true}, nil
}

// keepSession keeps a first-party session: the person is signed in.
func (s *Service) keepSession(ctx context.Context, in *SignIn, tokens supabase.Tokens) (Outcome, error) {
	who, err := s.keepUpstream(ctx, in.Endpoint, upstreamSession, "", tokens)
	if err != nil {
		return Outcome{}, err
	}
	return s.arrived(ctx, in, who)
}

// arrived is the end of every way. A browser on the project's own host has
// proven nothing to our pages yet: what it did is noted when it is back there
// (HandBack, Complete).
func (s *Service) arrived(ctx context.Context, in *SignIn, who *Person) (Outcome, error) {
	if in.byTicket {
		in.Person, in.Factor = who, false
		return Outcome{Person: who}, nil
	}
	if err := s.setPerson(ctx, in, who); err != nil {
		return Outcome{}, err
	}
	return Outcome{Person: who}, nil
}

// VerifyFactor gives the code of an authenticator app. A wrong one can be
// tried again.
func (s *Service) VerifyFactor(ctx context.Context, in *SignIn, code string, v Visitor) (Outcome, error) {
	out, err := s.verifyFactor(ctx, in, code, v)
	if err != nil || out.Person != nil {
		s.noteSignIn(in, v, err)
	}
	return out, err
}

func (s *Service) verifyFactor(ctx context.Context, in *SignIn, code string, v Visitor) (Outcome, error) {
	ep := in.Endpoint
	if err := maySignIn(ep); err != nil {
		return Outcome{}, err
	}
	if !in.Factor || len(in.pending) == 0 {
		return Outcome{}, fault.New(fault.Invalid, "no_factor", "You are not signed in: no code is asked for. Sign in first.")
	}
	code, ok := typedCode(code, 6, 6)
	if !ok {
		return Outcome{}, fault.New(fault.Invalid, "factor_wrong", "You are not signed in: this is not a code. Type the six digits that your authenticator app shows.")
	}
	var p pendingSession
	if err := s.openSealed(in, "pending", in.pending, &p); err != nil {
		return Outcome{}, err
	}
	tries := triesAt(ep, "second factor", p.Subject)
	if err := s.limits.allow(ctx, tries, triesBy(ep, v), factorCalls(ep)); err != nil {
		return Outcome{}, err
	}
	tokens, err := s.tryFactors(ctx, in, p, code)
	if err != nil {
		return Outcome{}, s.factorRefused(ctx, in, p, err)
	}
	s.wasRight(ctx, in, "-", tries)
	return s.keepSession(ctx, in, tokens)
}

// tryFactors tries the code at each authenticator app of the person: a code
// does not say whose it is. The last refusal stands.
func (s *Service) tryFactors(ctx context.Context, in *SignIn, p pendingSession, code string) (supabase.Tokens, error) {
	var err error
	for i, factor := range p.Factors {
		if i > 0 { // the first is counted with the try
			if err := s.limits.allow(ctx, factorCalls(in.Endpoint)); err != nil {
				return supabase.Tokens{}, err
			}
		}
		var tokens supabase.Tokens
		if tokens, err = s.tryFactor(ctx, in, p, factor, code); err == nil {
			return tokens, nil
		}
		if !supabase.IsRefusal(err, supabase.FactorWrong) && !supabase.IsRefusal(err, supabase.FactorGone) {
			return supabase.Tokens{}, err
		}
	}
	return supabase.Tokens{}, err
}

// tryFactor tries once more where the challenge was lost on the way, say
// because the two calls left from two addresses of ours.
func (s *Service) tryFactor(ctx context.Context, in *SignIn, p pendingSession, factor, code string) (supabase.Tokens, error) {
	project, access := upstreamProject(&in.Endpoint.Project), seal.NewSecret(p.Access)
	for again := false; ; again = true {
		challenge, err := s.cfg.Projects.ChallengeFactor(ctx, project, access, factor)
		if err != nil {
			return supabase.Tokens{}, err
		}
		tokens, err := s.cfg.Projects.VerifyFactor(ctx, project, access, factor, challenge, code)
		if again || !supabase.IsRefusal(err, supabase.FactorGone) {
			return tokens, err
		}
	}
}

// factorRefused says what is wrong with a second factor. Where no other code
// could help, the person signs in from the start.
func (s *Service) factorRefused(ctx context.Context, in *SignIn, p pendingSession, err error) error {
	var r *supabase.AuthRefusal
	if !errors.As(err, &r) {
		return err
	}
	var told *fault.Error
	switch r.Kind {
	case supabase.FactorWrong:
		return fault.Wrap(r, fault.Invalid, "factor_wrong", "You are not signed in: this code is not right. Codes change every 30 seconds: type the one that your authenticator app shows now.")
	case supabase.RateLimited:
		return projectBusy(r)
	case supabase.NotAvailable:
		told = fault.Wrap(r, fault.Forbidden, "factor_off", "You are not signed in: your account has an authenticator app, and this app does not accept its codes any more. Ask the app's owner to switch them on again, or remove the authenticator from your account.")
	case supabase.FactorGone:
		told = fault.Wrap(r, fault.Forbidden, "factor_gone", "You are not signed in: this authenticator app is no longer part of your account. Sign in again.")
	case supabase.Rejected:
		told = fault.Wrap(r, fault.Forbidden, "refused", "You are not signed in: the app refused it. If it stays, ask the app's owner.")
	default:
		told = fault.Wrap(r, fault.Forbidden, "session_ended", "You are not signed in: it took too long, or you were signed out meanwhile. Sign in again.")
	}
	s.dropSession(ctx, in, seal.NewSecret(p.Access))
	ep := in.Endpoint
	dropped := s.change(ctx, in, "drop second factor", func(q *db.Queries) (int64, error) {
		return q.SetSignInPending(ctx, db.SetSignInPendingParams{OrganizationID: ep.Organization, ID: in.ID, ProjectID: ep.Project.ID, Now: s.cfg.Now()})
	})
	if dropped != nil {
		return dropped
	}
	in.Factor, in.pending, in.ticketKey = false, nil, seal.Secret{}
	return told
}

// dropSession signs a session out that nobody will use. A failure is only
// logged: it ends by itself.
func (s *Service) dropSession(ctx context.Context, in *SignIn, access seal.Secret) {
	if err := s.cfg.Projects.SignOutLocal(ctx, upstreamProject(&in.Endpoint.Project), access); err != nil {
		s.cfg.Logger.InfoContext(ctx, "sign out unused session", "project", in.Endpoint.Project.ID.String(), "error", err)
	}
}
