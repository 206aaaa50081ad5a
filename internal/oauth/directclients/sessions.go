package directclients

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	rememberedSessions = 50_000
	rememberedEnds     = 50_000
	questionsOfProject = 4    // at once,
	questionsAtOnce    = 4096 // and of all projects together: a few that never answer take no other's place
	questionWait       = 10 * time.Second
	questionAgain      = 10 * time.Second // after one that nobody answered, at least,
	questionLater      = time.Hour        // and at most, whatever the project asks for
	endSlack           = time.Minute      // a token is accepted for a moment beyond its end
)

// sessions is what a server remembers of tokens and their sessions, by hash. The
// ends are apart, so that a flood of sessions that live evicts none of them.
type sessions struct {
	asked *otter.Cache[sessionKey, *session]
	ended *otter.Cache[sessionKey, time.Time] // until then: the token's end

	mu      sync.Mutex
	running int
	of      map[id.Project]int
	done    sync.WaitGroup // of questions
}

// sessionKey is a token of a project, without the token. Where the project is
// reached is part of it: another Auth's word about a token is none.
type sessionKey struct {
	project id.Project
	origin  string
	hash    [sha256.Size]byte
}

// session is when the project was asked about a token.
type session struct {
	mu      sync.Mutex
	asking  bool
	at      time.Time // when the last question that was answered began
	waiting time.Time // no question before
}

func newSessions() (*sessions, error) {
	asked, err := otter.New(&otter.Options[sessionKey, *session]{MaximumSize: rememberedSessions})
	if err != nil {
		return nil, err
	}
	ended, err := otter.New(&otter.Options[sessionKey, time.Time]{MaximumSize: rememberedEnds})
	if err != nil {
		return nil, err
	}
	return &sessions{asked: asked, ended: ended, of: map[id.Project]int{}}, nil
}

// Ended implements oauth.Sessions. The project is asked at the first sight of a
// token, too, whose request does not wait for the answer. Only an answer that
// the session is gone counts: whatever else comes back leaves the caller in, and
// is asked again.
func (s *Service) Ended(ctx context.Context, ep *tenants.Endpoint, c *oauth.Caller) bool {
	every := time.Duration(ep.Access.SessionCheck) * time.Second
	if every <= 0 || c.Token.IsZero() {
		return false
	}
	now := s.cfg.Now()
	key := sessionKey{ep.Project.ID, ep.Project.APIOrigin, sha256.Sum256([]byte(c.Token.Reveal()))}
	if until, ok := s.sessions.ended.GetIfPresent(key); ok {
		if now.Before(until) {
			return true
		}
		s.sessions.ended.Invalidate(key)
	}
	one, ok := s.sessions.asked.GetIfPresent(key)
	if !ok {
		one, _ = s.sessions.asked.SetIfAbsent(key, &session{})
	}
	if one.begin(now, every) {
		s.ask(ctx, ep, key, one, c.Token, c.Expires)
	}
	return false
}

// begin reports whether the project is to be asked now, by whoever is told so.
func (n *session) begin(now time.Time, every time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asking || now.Before(n.waiting) || !n.at.IsZero() && now.Sub(n.at) < every {
		return false
	}
	n.asking = true
	return true
}

// end notes how a question that began then went.
func (n *session) end(began, waiting time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asking, n.waiting = false, waiting
	if waiting.IsZero() {
		n.at = began
	}
}

// ask asks in the background, on a way out of its own, so that questions take
// nothing from calls. Where as many are under way as may be, the next use asks.
func (s *Service) ask(ctx context.Context, ep *tenants.Endpoint, key sessionKey, one *session, token seal.Secret, expires time.Time) {
	began := s.cfg.Now()
	if !s.sessions.enter(key.project) {
		one.end(began, began)
		return
	}
	project := supabase.Project{
		ID: ep.Project.ID, APIOrigin: ep.Project.APIOrigin, PublishableKey: ep.Project.PublishableKey, Lane: "sessions:" + ep.Project.ID.String(),
	}
	go func() {
		waiting := began.Add(questionAgain)
		defer s.sessions.leave(key.project)
		defer func() { one.end(began, waiting) }()
		defer func() {
			if p := recover(); p != nil { // over one project's bytes; it ends nothing else
				s.cfg.Logger.LogAttrs(context.Background(), slog.LevelError, "asking about a session panicked", slog.String("project", key.project.String()))
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionWait)
		defer cancel()
		_, err := s.cfg.Projects.CurrentUser(ctx, project, token)
		switch {
		case err == nil:
			waiting = time.Time{}
		case supabase.IsRefusal(err, supabase.SessionEnded):
			waiting = time.Time{}
			s.sessions.ended.Set(key, expires.Add(endSlack))
			s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "a session has ended at the project", slog.String("project", key.project.String()), slog.String("surface", ep.Surface.String()))
		default:
			waiting = s.cfg.Now().Add(pauseAfter(err))
			s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "whether a session lives was not answered", slog.String("project", key.project.String()), slog.String("error", err.Error()))
		}
	}()
}

// pauseAfter is how long nobody asks about the token again.
func pauseAfter(err error) time.Duration {
	var refusal *supabase.AuthRefusal
	if errors.As(err, &refusal) {
		return min(max(refusal.RetryAfter, questionAgain), questionLater)
	}
	return questionAgain
}

// enter takes a place for a question, if there is one.
func (n *sessions) enter(project id.Project) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running >= questionsAtOnce || n.of[project] >= questionsOfProject {
		return false
	}
	n.running++
	n.of[project]++
	n.done.Add(1)
	return true
}

func (n *sessions) leave(project id.Project) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running--
	if n.of[project]--; n.of[project] == 0 {
		delete(n.of, project)
	}
	n.done.Done()
}
