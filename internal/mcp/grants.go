package mcp

import (
	"context"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// underGrant runs the rest of the request so that it ends when the caller's
// grant is taken away. over may be called in serve, before the first byte is
// written, and reports whether it was; from then on nothing ends it.
func (x *exchange) underGrant(ep *tenants.Endpoint, c *oauth.Caller, serve func()) {
	x.over = func() bool { return false }
	if x.h.cfg.Bridge == nil || c.Grant.IsZero() {
		serve()
		return
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	done := x.h.cfg.Bridge.Running(ep.Organization, c.Grant, func() {
		x.revoked.Store(true)
		cancel()
	})
	x.over = sync.OnceValue(func() bool { return done() || x.revoked.Load() })
	defer x.over()
	x.r = x.r.WithContext(ctx)
	serve()
}

// revokedChallenge is the answer to a call whose grant was taken away while it
// ran.
func revokedChallenge(ep *tenants.Endpoint) *oauth.Challenge {
	return oauth.InvalidToken(ep, "token_revoked", "Access was taken away during the call, which may have happened all the same. Sign in again.")
}

// visitor is what a request says of its client, for the story of an attempt.
func (x *exchange) visitor() bridge.Visitor {
	return bridge.Visitor{Address: x.h.cfg.Hosts.ClientAddress(x.r), Agent: x.r.UserAgent(), RequestID: x.requestID}
}

// clientInfo is what a client says of itself: unverified.
type clientInfo struct{ name, version string }

const (
	maxClients    = 20_000 // callers whose clients are remembered
	maxClientText = 100    // bytes of a name or a version
)

// clients remembers what callers' clients said at initialize, for versions in
// which a call does not say it again.
type clients struct {
	mu  sync.Mutex
	lru *simplelru.LRU[oauth.CallerKey, clientInfo]
}

func newClients() (*clients, error) {
	lru, err := simplelru.NewLRU[oauth.CallerKey, clientInfo](maxClients, nil)
	if err != nil {
		return nil, err
	}
	return &clients{lru: lru}, nil
}

// put remembers what is said, if anything is.
func (s *clients) put(key oauth.CallerKey, info clientInfo) {
	if info == (clientInfo{}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lru.Add(key, info)
}

func (s *clients) get(key oauth.CallerKey) clientInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, _ := s.lru.Get(key)
	return info
}

// used notes that the caller used the surface: its first call is the end of an
// attempt to connect. What policy refused or a challenge answered is no use.
func (x *exchange) used(c *call, m *message, challenge *oauth.Challenge) {
	if c.caller.Key.Mode == oauth.ModePublic {
		return
	}
	if m.method == methodInitialize && c.caller.Key.Client != "" {
		x.h.clients.put(c.caller.Key, m.client)
	}
	if challenge != nil || c.outcome.refused || !isList(m.method) && m.method != methodCallTool && m.method != methodGetPrompt && m.method != methodReadResource {
		return
	}
	info := m.client
	if info == (clientInfo{}) && c.caller.Key.Client != "" { // without an id it may be another client's
		info = x.h.clients.get(c.caller.Key)
	}
	if c.caller.Key.Mode == oauth.ModeDirect && x.h.cfg.Clients != nil && info.name != "" {
		x.h.cfg.Clients.Name(c.endpoint, c.caller, info.name)
	}
	switch {
	case c.caller.Grant.IsZero():
		x.h.story.firstCall(x, c, info)
	case x.h.cfg.Bridge != nil:
		x.h.cfg.Bridge.FirstCall(c.http, c.endpoint, c.caller, info.name, info.version, x.visitor())
	}
}
