package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	keysMaxAge    = 10 * time.Minute // a set is never used beyond this
	keysRefresh   = 5 * time.Minute  // and renewed in the background from here on
	keysCooldown  = 10 * time.Second // between two fetches for one project
	keysRetry     = 5 * time.Second  // after a fetch that failed
	keysFetchTime = 8 * time.Second
	keysWait      = 5 * time.Second // a request waits this long for a running fetch
)

// KeySource reads a project's key set document (RFC 7517). Lane keeps one
// project's slowness from another's.
type KeySource interface {
	KeySet(ctx context.Context, lane string, jwksURI string) ([]byte, error)
}

// keySets holds the key set of each project. Projects never share one, even
// when they claim the same issuer: the issuer of a project is what its owner
// wrote, and keys of one must not vouch for users of another.
type keySets struct {
	source KeySource
	now    func() time.Time
	log    *slog.Logger
	table  *otter.Cache[id.Project, *projectKeys]
}

func newKeySets(source KeySource, now func() time.Time, log *slog.Logger, projects int) (*keySets, error) {
	table, err := otter.New(&otter.Options[id.Project, *projectKeys]{MaximumSize: projects})
	if err != nil {
		return nil, err
	}
	return &keySets{source: source, now: now, log: log, table: table}, nil
}

// keySet is one reading of a project's keys. Immutable.
type keySet struct {
	from keysAt
	read time.Time // when its fetch began
	keys map[string]signingKey
}

// keysAt says where keys were read. A set read elsewhere does not count.
type keysAt struct{ origin, uri string }

// projectKeys is what is known of one project's keys.
type projectKeys struct {
	set atomic.Pointer[keySet] // nil before the first success

	mu      sync.Mutex
	at      keysAt
	tried   time.Time // when the last fetch ended
	failed  error     // how it ended
	running *fetch
}

type fetch struct {
	at   keysAt
	done chan struct{}
}

// lookup returns the key named kid of the project. The error is a reason when
// the project has no such key, and a *fault.Error of kind Unavailable when
// that cannot be known now.
func (s *keySets) lookup(ctx context.Context, p *tenants.ProjectRef, kid string) (signingKey, error) {
	entry := s.entry(p.ID)
	at := keysAt{origin: p.APIOrigin, uri: p.JWKSURI}
	if set := entry.current(at, s.now()); set != nil {
		if key, ok := set.keys[kid]; ok {
			s.refreshSoon(ctx, p.ID, entry, set)
			return key, nil
		}
	}
	set, err := s.refetch(ctx, p.ID, entry, at)
	if err != nil {
		return signingKey{}, err
	}
	if key, ok := set.keys[kid]; ok {
		return key, nil
	}
	if len(set.keys) == 0 {
		return signingKey{}, reasonNoKeys
	}
	return signingKey{}, reasonUnknownKey
}

func (s *keySets) entry(project id.Project) *projectKeys {
	if entry, ok := s.table.GetIfPresent(project); ok {
		return entry
	}
	entry, _ := s.table.SetIfAbsent(project, &projectKeys{})
	return entry
}

// current is the set in force, or nil.
func (e *projectKeys) current(at keysAt, now time.Time) *keySet {
	set := e.set.Load()
	if set == nil || set.from != at || now.Sub(set.read) >= keysMaxAge {
		return nil
	}
	return set
}

// refreshSoon renews an ageing set without making anybody wait.
func (s *keySets) refreshSoon(ctx context.Context, project id.Project, e *projectKeys, set *keySet) {
	if s.now().Sub(set.read) < keysRefresh {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running == nil && s.restOf(e, set.from) <= 0 {
		s.start(ctx, project, e, set.from)
	}
}

// refetch reads the keys again, joining a fetch that is already running. It
// asks at most once per cooldown: within it, the last outcome is the answer.
func (s *keySets) refetch(ctx context.Context, project id.Project, e *projectKeys, at keysAt) (*keySet, error) {
	if !sameOrigin(at) {
		return nil, keysUnavailable(errors.New("key set is not at the project's origin"), keysMaxAge)
	}
	e.mu.Lock()
	running := e.running
	if running == nil {
		if rest := s.restOf(e, at); rest > 0 {
			failed := e.failed
			e.mu.Unlock()
			return s.outcome(e, at, failed, rest)
		}
		running = s.start(ctx, project, e, at)
	}
	e.mu.Unlock()
	return s.await(ctx, e, at, running)
}

// restOf is how long no new fetch may begin; e.mu is held.
func (s *keySets) restOf(e *projectKeys, at keysAt) time.Duration {
	if e.tried.IsZero() || e.at != at {
		return 0
	}
	floor := keysCooldown
	if e.failed != nil {
		floor = keysRetry
	}
	return floor - s.now().Sub(e.tried)
}

func (s *keySets) await(ctx context.Context, e *projectKeys, at keysAt, running *fetch) (*keySet, error) {
	timer := time.NewTimer(keysWait)
	defer timer.Stop()
	select {
	case <-running.done:
	case <-timer.C:
		return nil, keysUnavailable(errors.New("fetch takes too long"), keysRetry)
	case <-ctx.Done():
		return nil, keysUnavailable(ctx.Err(), keysRetry)
	}
	if running.at != at { // the project's addresses changed meanwhile
		return nil, keysUnavailable(errors.New("another key set was being read"), time.Second)
	}
	e.mu.Lock()
	failed := e.failed
	e.mu.Unlock()
	return s.outcome(e, at, failed, keysRetry)
}

func (s *keySets) outcome(e *projectKeys, at keysAt, failed error, rest time.Duration) (*keySet, error) {
	if failed != nil {
		return nil, keysUnavailable(failed, rest)
	}
	if set := e.current(at, s.now()); set != nil {
		return set, nil
	}
	return nil, keysUnavailable(errors.New("key set outdated"), rest)
}

// start begins a fetch of its own life: the request that asked for it may end
// sooner than those that joined. e.mu is held.
func (s *keySets) start(ctx context.Context, project id.Project, e *projectKeys, at keysAt) *fetch {
	f := &fetch{at: at, done: make(chan struct{})}
	e.running = f
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer close(f.done)
		set, err := s.read(ctx, project, at)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running, e.at, e.tried, e.failed = nil, at, s.now(), err
		if err == nil {
			e.set.Store(set)
		}
	}()
	return f
}

func (s *keySets) read(ctx context.Context, project id.Project, at keysAt) (*keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, keysFetchTime)
	defer cancel()
	begun := s.now()
	// A lane of its own: a project whose data is slow can still be asked who
	// its users are.
	keys, err := s.readKeys(ctx, project.String()+"/keys", at.uri)
	if err == nil {
		return &keySet{from: at, read: begun, keys: keys}, nil
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "read key set",
		slog.String("project_id", project.String()), slog.String("error_kind", fault.From(err).Kind.String()), slog.Any("error", err))
	return nil, err
}

// readKeys reads and parses. It runs on a goroutine of its own, where a panic
// over one project's bytes would end the process. The value of a panic may
// hold some of them.
func (s *keySets) readKeys(ctx context.Context, lane, uri string) (keys map[string]signingKey, err error) {
	defer func() {
		if p := recover(); p != nil {
			keys, err = nil, fmt.Errorf("read key set: panic (%T)", p)
		}
	}()
	document, err := s.source.KeySet(ctx, lane, uri)
	if err != nil {
		return nil, err
	}
	return parseKeySet(document)
}

// keysUnavailable is 503, never a challenge: a client that gets one throws
// away tokens that are good.
func keysUnavailable(cause error, retry time.Duration) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, "keys_unavailable",
		"The app's signing keys cannot be read now, so the access token could not be checked. Try again in a moment; signing in again does not help.",
	).WithRetryAfter(max(retry, time.Second))
}

// sameOrigin reports whether the key set lives at the project's own origin.
func sameOrigin(at keysAt) bool {
	origin, err := url.Parse(at.origin)
	if err != nil {
		return false
	}
	uri, err := url.Parse(at.uri)
	if err != nil {
		return false
	}
	return uri.Host != "" && uri.User == nil &&
		strings.EqualFold(uri.Scheme, origin.Scheme) && strings.EqualFold(hostPort(uri), hostPort(origin))
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	if port == "" && u.Scheme == "http" {
		port = "80"
	}
	return u.Hostname() + ":" + port
}
