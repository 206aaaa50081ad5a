package bridge

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// busyFor is how long to wait where a project says only that it is too often.
const busyFor = time.Minute

// refused is what a person is told of a project's refusal. Another error is
// given back.
func (s *Service) refused(ctx context.Context, in *SignIn, err error) error {
	var r *supabase.AuthRefusal
	if !errors.As(err, &r) {
		return err
	}
	switch r.Kind {
	case supabase.RateLimited:
		return projectBusy(r)
	case supabase.CaptchaFailed:
		return s.captchaFailed(ctx, in, r)
	case supabase.WrongCredentials:
		return fault.Wrap(r, fault.Invalid, "wrong_credentials", "You are not signed in: email or password is not right. Check both and try again.")
	case supabase.NotConfirmed:
		return fault.Wrap(r, fault.Invalid, "not_confirmed", "You are not signed in: this address is not confirmed yet. Use the link or code of the mail that you got, or ask for a new one.")
	case supabase.CodeWrong:
		return fault.Wrap(r, fault.Invalid, "code_wrong", "You are not signed in: this code is not right, or has expired. Type the newest one, or ask for another.")
	case supabase.Banned:
		return banned(r)
	case supabase.WeakPassword:
		return fault.Wrap(r, fault.Invalid, "weak_password", "No account was made: %s", weakText(r.Reasons))
	case supabase.UserExists:
		return fault.Wrap(r, fault.Invalid, "sign_up_refused", "No account was made with this address. If you have one, sign in instead.")
	case supabase.NotAvailable:
		return fault.Wrap(r, fault.Invalid, "not_offered", "This app does not offer this way to sign in. Choose another one.")
	}
	return fault.Wrap(r, fault.Forbidden, "refused", "You are not signed in: the app refused it. Try another way; if it stays, ask the app's owner.")
}

func projectBusy(r *supabase.AuthRefusal) *fault.Error {
	wait := r.RetryAfter
	if wait <= 0 {
		wait = busyFor
	}
	e := tooMany(wait)
	e.Cause = r
	return e
}

func banned(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Forbidden, "banned", "You are not signed in: this account may not sign in to the app. Ask the app's owner.")
}

// captchaFailed also learns that the project demands a captcha.
func (s *Service) captchaFailed(ctx context.Context, in *SignIn, r *supabase.AuthRefusal) error {
	ep := in.Endpoint
	s.captchaNeeded(ctx, ep, true)
	set, err := s.signInRow(ctx, ep.Organization, ep.Project.ID)
	if err != nil {
		return err
	}
	if set.CaptchaProvider == "" || set.CaptchaSiteKey == "" {
		return fault.Wrap(r, fault.Unavailable, "captcha_not_set_up",
			"You cannot sign in this way: the app asks for a captcha that this page does not have. Its owner must add the captcha's provider and site key to the sign-in settings.")
	}
	return fault.Wrap(r, fault.Invalid, "captcha_failed", "You are not signed in: the app asks for a captcha. Solve it and try again.")
}

// weakText says what a password lacks.
func weakText(reasons []string) string {
	texts := map[string]string{
		"length":     "it is too short",
		"characters": "it needs more kinds of characters",
		"pwned":      "it is in a list of leaked passwords",
	}
	var why []string
	for _, reason := range reasons {
		if text := texts[reason]; text != "" {
			why = append(why, text)
		}
	}
	if len(why) == 0 {
		return "the app does not accept this password. Choose a longer one."
	}
	return "the app does not accept this password, since " + strings.Join(why, " and ") + ". Choose another one."
}
