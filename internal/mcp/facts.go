package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/policy"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// maxFact bounds what one of the app's functions says for policy, in bytes.
const maxFact = 256 << 10

// facts are what policy knows of the caller of one HTTP request. Each is
// fetched when it is needed, at most once, and shared by the calls of a batch,
// which run one after the other. They end with the request: nothing of them is
// kept anywhere.
type facts struct {
	read   *policy.Facts
	caller *oauth.Caller // with the scopes that the app's function gave, once it was asked

	claims, context, scopes fetch

	said   map[question]bool         // by visible rules whose answer is the same for several capabilities
	judged map[*capability]judgement // see revision.judge
	logged bool                      // that something could not be decided
}

// fetch is whether a fact was asked for, and what came of it.
type fetch struct {
	done bool
	err  error
}

func newFacts(c *oauth.Caller, now time.Time) *facts {
	return &facts{caller: c, read: policy.Read(policy.Input{
		Scopes: c.Scopes, Client: c.Key.Client, Mode: string(c.Key.Mode), Subject: c.Key.Subject, Issuer: c.Key.Issuer, Actor: c.Actor, Now: now,
	})}
}

// errUndecided is for a fact that cannot be had: whatever reads it refuses.
var errUndecided = errors.New("fact cannot be had")

// once runs get for the first that needs the fact. Its errors are errUndecided,
// where policy refuses, or a *fault.Error, where asking again may help and the
// whole request fails.
func (c *call) once(f *fetch, get func() error) error {
	if !f.done {
		f.done = true
		f.err = get()
	}
	if fault.Is(f.err, fault.Unauthenticated) {
		c.unauthorized = true // the answer becomes a challenge
	}
	return f.err
}

// hasClaims reports whether callers of the mode have claims that policy reads.
func hasClaims(m oauth.Mode) bool { return m.User() || m == oauth.ModeExternal }

// needClaims makes the caller's claims readable. A caller who has none is left
// without: what reads them refuses.
func (c *call) needClaims(ctx context.Context, log *slog.Logger) error {
	return c.once(&c.facts.claims, func() error {
		if !hasClaims(c.caller.Key.Mode) {
			return errUndecided
		}
		claims, err := c.caller.RuleClaims(ctx)
		if err != nil {
			return c.sorted(log, "claims", err)
		}
		if claims == nil {
			return errUndecided
		}
		c.facts.read.SetClaims(claims)
		return nil
	})
}

// needContext asks the app's own function what it says of the caller.
func (r *revision) needContext(ctx context.Context, c *call) error {
	return c.once(&c.facts.context, func() error {
		if r.rules.context == nil {
			return errUndecided
		}
		answer, err := r.askApp(ctx, c, r.rules.context, nil)
		if err == nil && (len(answer) == 0 || !json.Valid(answer)) {
			err = errNoAnswer
		}
		if err != nil {
			return c.sorted(r.log, "context", err)
		}
		c.facts.read.SetContext(answer)
		return nil
	})
}

// needScopes asks the app's function for scopes, where scopes come from one.
// Without its answer nothing runs.
func (r *revision) needScopes(ctx context.Context, c *call) error {
	if r.rules.scopes == nil || c.caller.Key.Mode != oauth.ModeDirect {
		return nil
	}
	return c.once(&c.facts.scopes, func() error {
		answer, err := r.askApp(ctx, c, r.rules.scopes, nil)
		var words []string
		if err == nil {
			words, err = wordsOf(answer)
		}
		if err != nil {
			if err = c.sorted(r.log, "scopes", err); errors.Is(err, errUndecided) {
				return fault.New(fault.Unavailable, "scopes_unavailable", "What you may do here cannot be told, because the app did not say your scopes. Nothing was called; try again, and if it stays, tell the app's owner.")
			}
			return err
		}
		more := *c.caller
		more.Scopes = slices.Clip(c.caller.Scopes)
		for _, word := range words { // few: see maxAppScopes
			if !slices.Contains(more.Scopes, word) {
				more.Scopes = append(more.Scopes, word)
			}
		}
		c.facts.caller = &more
		c.facts.read.SetScopes(more.Scopes)
		return nil
	})
}

// errNoAnswer is for an answer of the app that is not what was asked for.
var errNoAnswer = errors.New("answer of another form")

// askApp asks one of the app's functions, within bounds.
func (r *revision) askApp(ctx context.Context, c *call, fn *surfaces.Function, argument []byte) ([]byte, error) {
	answer, err := r.run.ask(ctx, c, fn, argument)
	switch {
	case c.unauthorized:
		return nil, fault.New(fault.Unauthenticated, "session_ended", "The sign-in at the app has ended. Sign in again.")
	case err != nil:
		return nil, err
	case len(answer) > maxFact:
		return nil, errNoAnswer
	}
	return bytes.TrimSpace(answer), nil
}

// sorted tells what may pass by itself, which fails the request and can be
// tried again, from what does not, which refuses.
func (c *call) sorted(log *slog.Logger, what string, err error) error {
	var answer *supabase.Error
	var f *fault.Error
	switch {
	case errors.As(err, &answer):
		if answer.Status >= http.StatusInternalServerError || answer.Status == http.StatusTooManyRequests {
			return fault.Wrap(err, fault.Unavailable, "policy_unavailable", "Whether you may do this cannot be told right now, because the app did not answer. Nothing was called; try again in a moment.").WithRetryAfter(answer.RetryAfter)
		}
	case errors.As(err, &f):
		switch f.Kind {
		case fault.Unauthenticated:
			return f
		case fault.Unavailable, fault.Timeout, fault.RateLimited:
			return fault.Wrap(err, fault.Unavailable, "policy_unavailable", "Whether you may do this cannot be told right now. Nothing was called; try again in a moment.").WithRetryAfter(f.RetryAfter)
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Unavailable, "policy_unavailable", "The request ended before it was told whether you may do this. Nothing was called.")
	}
	c.undecided(log, what, err)
	return errUndecided
}

// undecided logs, once per request, that policy refuses for want of an answer.
func (c *call) undecided(log *slog.Logger, what string, err error) {
	if c.facts.logged {
		return
	}
	c.facts.logged = true
	log.Warn("policy refuses what it cannot decide", slog.String("request", c.requestID), slog.String("surface", c.endpoint.Surface.String()),
		slog.String("what", what), slog.String("error", kindOfError(err)))
}

// kindOfError is an error as it may be logged: those of other packages may
// quote what an app said.
func kindOfError(err error) string {
	var answer *supabase.Error
	var f *fault.Error
	switch {
	case errors.As(err, &answer):
		return answer.Error()
	case errors.As(err, &f):
		return f.Kind.String()
	}
	return err.Error()
}

// maxAppScopes bounds the scopes that an app's function gives one caller: each
// is looked for among the others, and among them each that a tool needs.
const maxAppScopes = 1000

// wordsOf reads scopes: an array of strings, one string of words, or null.
func wordsOf(answer []byte) ([]string, error) {
	words, err := readWords(answer)
	if len(words) > maxAppScopes {
		return nil, errNoAnswer
	}
	return words, err
}

func readWords(answer []byte) ([]string, error) {
	if len(answer) == 0 {
		return nil, errNoAnswer
	}
	var text *string
	if json.Unmarshal(answer, &text) == nil {
		if text == nil {
			return nil, nil
		}
		return strings.Fields(*text), nil
	}
	var list []*string
	if json.Unmarshal(answer, &list) != nil || slices.Contains(list, nil) {
		return nil, errNoAnswer
	}
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = *word
	}
	return words, nil
}

// asks asks a rule, after fetching what it reads. False without an error is a
// refusal; an error fails the request.
func (r *revision) asks(ctx context.Context, c *call, rule *policy.Rule, k *capability, arguments []byte) (bool, error) {
	uses := rule.Uses()
	var err error
	if uses.Claims {
		err = c.needClaims(ctx, r.log)
	}
	if err == nil && uses.Context {
		err = r.needContext(ctx, c)
	}
	if err == nil && uses.Scopes {
		err = r.needScopes(ctx, c)
	}
	if errors.Is(err, errUndecided) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	read := c.facts.read
	if arguments != nil {
		read = read.With(arguments)
	}
	holds, err := rule.Holds(ctx, read, k.about)
	if err != nil {
		c.undecided(r.log, "rule of "+k.name, err)
		return false, nil
	}
	return holds, nil
}
