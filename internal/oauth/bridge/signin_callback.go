package bridge

import (
	"context"
	"errors"
	"net/url"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// maxCode bounds a code that the browser brings, in bytes.
const maxCode = 2048

// Callback ends what StartOAuth, StartProvider and a mailed link began: query
// is what the browser brought to CallbackPath, cookie tells the transaction
// cookie of a sign-in (zero where the browser has none). Without it nothing is
// exchanged and the error is start_again. A state counts once.
//
// The person's refusal at the project's OAuth server ends the sign-in: a
// *BackToClient for PurposeAuthorize. Every other error is a *fault.Error with
// a text for a page; the sign-in goes on then, and is returned with the error
// so that the page can lead back to it.
func (s *Service) Callback(ctx context.Context, query url.Values, cookie func(id.SignIn) seal.Secret, v Visitor) (*SignIn, Outcome, error) {
	param, state, ok := stateOf(query)
	if !ok {
		return nil, Outcome{}, startAgain()
	}
	signIn, err := s.whose(ctx, state)
	if err != nil {
		return nil, Outcome{}, err
	}
	in, row, err := s.open(ctx, signIn, byCallback(cookie(signIn), state))
	if err != nil {
		return nil, Outcome{}, err
	}
	var w way
	if err := s.openSealed(in, "upstream_flow", row.UpstreamFlow, &w); err != nil {
		return nil, Outcome{}, err
	}
	if w.param() != param {
		return nil, Outcome{}, startAgain()
	}
	out, err := s.comeBack(ctx, in, w, state, query, v)
	if err != nil || out.Person != nil {
		s.noteSignIn(in, v, err)
	}
	return in, out, err
}

// stateOf reads the one state that a query carries.
func stateOf(query url.Values) (param string, state seal.Secret, ok bool) {
	for _, name := range []string{stateParam, signInParam} {
		switch values := query[name]; {
		case len(values) == 0:
		case len(values) > 1 || param != "" || values[0] == "":
			return "", seal.Secret{}, false
		default:
			param, state = name, seal.NewSecret(values[0])
		}
	}
	return param, state, param != ""
}

// byCallback is the proof of a browser that comes back: the cookie that began
// the sign-in, and the state of the way it is on.
func byCallback(cookie, state seal.Secret) proof {
	begun := byCookie(cookie)
	return func(row *db.GetSignInRow, in *SignIn) error {
		if err := begun(row, in); err != nil {
			return err
		}
		if !hashes(row.UpstreamState, state) {
			return startAgain()
		}
		return nil
	}
}

// comeBack spends the state and exchanges the code, at the sign-in's own
// project and nowhere else.
func (s *Service) comeBack(ctx context.Context, in *SignIn, w way, state seal.Secret, query url.Values, v Visitor) (Outcome, error) {
	ep := in.Endpoint
	if err := maySignIn(ep); err != nil {
		return Outcome{}, err
	}
	if err := s.limits.allow(ctx, triesBy(ep, v)); err != nil {
		return Outcome{}, err
	}
	if w.Kind != wayOAuth {
		if err := s.limits.allow(ctx, tokenCalls(ep)); err != nil {
			return Outcome{}, err
		}
	}
	if err := s.takeWay(ctx, in, state); err != nil {
		return Outcome{}, err
	}
	codes := query["code"]
	switch {
	case query.Get("error") != "":
		return Outcome{}, s.cameBackWithout(ctx, in, w, query)
	case len(codes) != 1 || codes[0] == "" || len(codes[0]) > maxCode:
		return Outcome{}, unfinished()
	case w.Kind == wayOAuth:
		return s.exchangeOAuth(ctx, in, w, codes[0])
	}
	tokens, err := s.cfg.Projects.ExchangePKCE(ctx, upstreamProject(&ep.Project), codes[0], seal.NewSecret(w.Verifier))
	if supabase.IsRefusal(err, supabase.CodeWrong) {
		return Outcome{}, linkOver(err)
	}
	if err != nil {
		return Outcome{}, s.refused(ctx, in, err)
	}
	return s.gotSession(ctx, in, tokens)
}

// cameBackWithout says why the browser brought no code.
func (s *Service) cameBackWithout(ctx context.Context, in *SignIn, w way, query url.Values) error {
	code := query.Get("error")
	switch {
	case w.Kind == wayOAuth && code == "access_denied":
		return s.denied(ctx, in)
	case w.Kind == wayOAuth:
		// Switched on and not set up completely, say without a consent page.
		s.known.noteBroken(in.Endpoint, in.ID)
		return fault.Wrap(errors.New("authorization ended with "+cut(code, 40)), fault.Unavailable, "upstream_authorization",
			"You are not signed in: the app's own sign-in page answered with an error. Try again; if it stays, its owner must look at the project's OAuth server settings.")
	case query.Get("error_code") == "user_banned":
		return banned(nil)
	case query.Get("error_code") == "signup_disabled":
		return fault.New(fault.Forbidden, "sign_up_refused", "You are not signed in: the app takes no new accounts, and has none for you there. Choose the way that you signed up with.")
	case w.Kind == wayMail:
		return linkOver(nil)
	case code == "access_denied" && query.Get("error_code") == "":
		return fault.New(fault.Forbidden, "access_denied", "You are not signed in: the sign-in was cancelled there. Try again, or choose another way.")
	}
	return unfinished()
}

// denied ends the sign-in: the person said no on the app's own page.
func (s *Service) denied(ctx context.Context, in *SignIn) error {
	back, err := s.Cancel(ctx, in)
	if err != nil {
		return err
	}
	if back == "" {
		return fault.New(fault.Forbidden, "access_denied", "You are not signed in: the sign-in was cancelled. Start again when you like.")
	}
	return &BackToClient{URL: back, Code: "access_denied"}
}

// unfinished is a way that led back with nothing of use.
func unfinished() *fault.Error {
	return fault.New(fault.Invalid, "sign_in_failed", "You are not signed in: the sign-in did not complete. Try again, or choose another way.")
}

func linkOver(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Invalid, "link_expired", "You are not signed in: this link was used before or has expired. Ask for a new one.")
}
