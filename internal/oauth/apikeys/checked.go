package apikeys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	askWait   = 10 * time.Second // for the app's answer
	askAgain  = 5 * time.Second  // after the app could not say, unless it says when
	guessing  = "key check"      // the limit of questions, per surface and address
	guessesIn = time.Minute
	guesses   = 60
)

// AdmitChecked implements oauth.Keys: a key that the app's function knows
// (access.keys). The function is called as anon, with the key as its one
// argument, and what it says counts for 30 s at most.
func (s *Service) AdmitChecked(ctx context.Context, ep *tenants.Endpoint, key, from string) (*oauth.Caller, error) {
	if !ep.Access.Has(surfaces.ModeAPIKey) || ep.Access.Keys == nil || ours(key) {
		return nil, deny(ep, denyKind)
	}
	v, err := s.verdictOf(ctx, ep, key, from)
	switch {
	case err != nil:
		return nil, err
	case !v.known:
		return nil, deny(ep, denyUnknown)
	case v.expired(s.cfg.Now()):
		return nil, deny(ep, denyExpired)
	}
	return &oauth.Caller{
		Key: oauth.CallerKey{
			Surface: ep.Surface, Mode: oauth.ModeAPIKey, Issuer: ep.Project.Issuer, Subject: v.answer.subject, Client: v.answer.client,
		},
		Expires: v.answer.expires,
		Scopes:  v.answer.scopes,
		Role:    anon,
	}, nil
}

// ours reports whether text looks like a credential of Chumbo's (ch?_…), which
// no project is ever shown.
func ours(text string) bool { return len(text) > 3 && strings.HasPrefix(text, "ch") && text[3] == '_' }

// opensProject reports whether text is a key of the project itself, or somebody's
// session.
func opensProject(text string) bool { return tenants.RefuseSecret("Authorization", text) != nil }

// verdictOf tells what the app says of a key, from memory or by asking. Those
// who wait for the same answer share one question, those of one address at
// least: each address is counted for itself.
func (s *Service) verdictOf(ctx context.Context, ep *tenants.Endpoint, key, from string) (verdict, error) {
	asked := askedKey{ep.Surface, ep.Project.ID, ep.Project.APIOrigin, ep.Access.Keys.Function, hashOf(key)}
	if v, ok := s.verdicts.remembered(asked, s.cfg.Now()); ok {
		return v, nil
	}
	counted := ratelimit.AddressKey(from)
	flight := s.verdicts.asking.DoChan(asked.flight(counted), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askWait)
		defer cancel()
		if v, ok := s.verdicts.remembered(asked, s.cfg.Now()); ok { // since
			return v, nil
		}
		err := s.cfg.Limits.Take(ctx, 1, ratelimit.Bound{
			Name: guessing, Key: ep.Surface.String() + " " + counted, Rate: ratelimit.Rate{N: guesses, Per: guessesIn},
		})
		if err != nil {
			return nil, err
		}
		answer, known, err := s.careful(ctx, ep, key)
		if err != nil {
			return nil, err
		}
		return s.verdicts.keep(asked, answer, known, s.cfg.Now()), nil
	})
	select {
	case <-ctx.Done():
		return verdict{}, ctx.Err()
	case r := <-flight:
		if r.Err != nil {
			return verdict{}, r.Err
		}
		return r.Val.(verdict), nil
	}
}

// careful asks. On a goroutine of its own a panic over one app's bytes would end
// the process; its value may hold some of them.
func (s *Service) careful(ctx context.Context, ep *tenants.Endpoint, key string) (answer checkedAnswer, known bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, known, err = checkedAnswer{}, false, s.unsaid(ctx, ep, fmt.Errorf("ask about a key: panic (%T)", p))
		}
	}()
	return s.ask(ctx, ep, key)
}

// ask asks the app's function. An answer that cannot be read refuses; none at
// all, or an error, whoever raised it, is fault.Unavailable: the key may well be
// a good one.
func (s *Service) ask(ctx context.Context, ep *tenants.Endpoint, key string) (checkedAnswer, bool, error) {
	if opensProject(key) {
		return checkedAnswer{}, false, nil // no app's key, and nobody is shown it
	}
	function := ep.Access.Keys.Function
	arguments, err := json.Marshal(map[string]string{function.Argument: key})
	if err != nil {
		return checkedAnswer{}, false, fmt.Errorf("write arguments: %w", err)
	}
	// A lane of its own: guesses from many addresses take nothing from calls.
	project := supabase.Project{
		ID: ep.Project.ID, APIOrigin: ep.Project.APIOrigin, PublishableKey: ep.Project.PublishableKey, Lane: "keys:" + ep.Project.ID.String(),
	}
	said, err := s.cfg.Projects.Call(ctx, supabase.AsAnon(project), supabase.Call{Profile: function.Profile, Function: function.Name, Arguments: arguments})
	if err != nil && !fault.Is(err, fault.TooLarge) {
		return checkedAnswer{}, false, s.unsaid(ctx, ep, err)
	}
	if err == nil {
		var answer checkedAnswer
		var known bool
		if answer, known, err = parseAnswer(said.Body); err == nil {
			return answer, known, nil
		}
	}
	s.log(ctx, ep, "an app's check of a key answered what cannot be read: the key was refused", "malformed")
	return checkedAnswer{}, false, nil
}

// unsaid makes an error of the way the one that callers see.
func (s *Service) unsaid(ctx context.Context, ep *tenants.Endpoint, err error) error {
	kind, again := "no_answer", askAgain
	var refused *supabase.Error
	var f *fault.Error
	switch {
	case errors.As(err, &refused) && refused.Gateway:
		kind, again = fmt.Sprintf("gateway_%d", refused.Status), max(refused.RetryAfter, askAgain)
	case errors.As(err, &refused):
		kind, again = fmt.Sprintf("function_%d", refused.Status), max(refused.RetryAfter, askAgain)
	case errors.As(err, &f):
		kind, again = f.Kind.String(), max(f.RetryAfter, askAgain)
	}
	s.log(ctx, ep, "an app could not check a key", kind)
	return fault.Wrap(err, fault.Unavailable, "key_check_unavailable", "The app cannot check keys right now. Try again shortly; if it stays, tell its owner.").WithRetryAfter(again)
}

func (s *Service) log(ctx context.Context, ep *tenants.Endpoint, text, kind string) {
	s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, text,
		slog.String("project", ep.Project.ID.String()), slog.String("surface", ep.Surface.String()), slog.String("kind", kind))
}
