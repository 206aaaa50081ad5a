package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Bounds of the streams of subscriptions/listen.
const (
	maxListeners       = 4096             // in this process
	maxCallerListeners = 8                // of one caller
	maxSurfaceListener = 512              // of one surface, so that it cannot fill the rest
	maxPublicListeners = 256              // of one surface's callers without a credential, so that they leave room to the others
	listenLife         = 30 * time.Minute // then the client asks again, with a fresh token
	listenCheck        = 5 * time.Second  // how often the live revision is compared
	keepAlive          = 15 * time.Second // between comments, below the idle limits of proxies
	maxListenID        = 256              // bytes of the request's id, which every notice repeats
)

// listeners keeps the open streams within bounds and ends them at shutdown.
type listeners struct {
	directory Directory
	lists     func(ctx context.Context, ep *tenants.Endpoint) (lists, error) // of the endpoint's revision
	check     time.Duration                                                  // between comparisons of the live revision

	mu       sync.Mutex
	total    int
	surfaces map[string]int
	public   map[string]int // by surface
	callers  map[listener]int
	ears     map[string]map[ear]struct{} // by scope, see tenants.Watch
	closed   bool
	done     chan struct{}
}

func newListeners(d Directory, of func(context.Context, *tenants.Endpoint) (lists, error)) *listeners {
	return &listeners{
		directory: d, lists: of, check: listenCheck, surfaces: map[string]int{}, public: map[string]int{}, callers: map[listener]int{},
		ears: map[string]map[ear]struct{}{}, done: make(chan struct{}),
	}
}

// ear is how one stream is told that something changed. One signal waits in it
// at most: what changed is looked up.
type ear chan struct{}

func (e ear) tell() {
	select {
	case e <- struct{}{}:
	default:
	}
}

// hear has the streams told of changes on every server, by notices.
func (l *listeners) hear(c Changes) {
	for _, kind := range []string{tenants.ScopeSurface, tenants.ScopeProject} {
		c.OnChange(kind, l.changed)
	}
}

// changed tells those who listen to what the scope names; "" is everything.
func (l *listeners) changed(scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if scope != "" {
		for e := range l.ears[scope] {
			e.tell()
		}
		return
	}
	for _, ears := range l.ears {
		for e := range ears {
			e.tell()
		}
	}
}

// listenTo returns an ear for what may change of the endpoint, and what takes
// it away.
func (l *listeners) listenTo(ep *tenants.Endpoint) (e ear, forget func()) {
	e = make(ear, 1)
	scopes := []string{tenants.ScopeSurface + ep.Surface.UUID().String(), tenants.ScopeProject + ep.Project.ID.UUID().String()}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, scope := range scopes {
		if l.ears[scope] == nil {
			l.ears[scope] = map[ear]struct{}{}
		}
		l.ears[scope][e] = struct{}{}
	}
	return e, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, scope := range scopes {
			if delete(l.ears[scope], e); len(l.ears[scope]) == 0 {
				delete(l.ears, scope)
			}
		}
	}
}

// listener is whose streams are counted together.
type listener struct {
	oauth.CallerKey

	from string // ratelimit.AddressKey of callers without a credential; else empty
}

// enter takes a place for the caller; leave gives it back.
func (l *listeners) enter(key listener) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	surface, public := key.Surface.String(), key.Mode == oauth.ModePublic
	switch {
	case l.closed:
		return fault.New(fault.Unavailable, "", "The server is shutting down. Ask again.").WithRetryAfter(time.Second)
	case l.total >= maxListeners, l.surfaces[surface] >= maxSurfaceListener, public && l.public[surface] >= maxPublicListeners:
		return fault.New(fault.RateLimited, "too_many_streams", "Too many streams are open. Ask again later; lists can be read at any time.").WithRetryAfter(keepAlive)
	case l.callers[key] >= maxCallerListeners:
		return fault.New(fault.RateLimited, "too_many_streams", "You have %d streams open here. Close one first.", maxCallerListeners).WithRetryAfter(keepAlive)
	}
	l.total++
	l.surfaces[surface]++
	l.callers[key]++
	if public {
		l.public[surface]++
	}
	return nil
}

func (l *listeners) leave(key listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	surface := key.Surface.String()
	l.total--
	if l.surfaces[surface]--; l.surfaces[surface] == 0 {
		delete(l.surfaces, surface)
	}
	if l.callers[key]--; l.callers[key] == 0 {
		delete(l.callers, key)
	}
	if key.Mode != oauth.ModePublic {
		return
	}
	if l.public[surface]--; l.public[surface] == 0 {
		delete(l.public, surface)
	}
}

func (l *listeners) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
}

// listen answers subscriptions/listen (MCP 2026-07-28) with a stream of our
// own: the SDK sends no keep-alive, and its servers never change. It
// acknowledges, says when a list has changed, and ends with the result when the
// token or the server does.
func (x *exchange) listen(c *call, m *message) {
	key := listener{CallerKey: c.caller.Key}
	if key.Mode == oauth.ModePublic {
		key.from = ratelimit.AddressKey(x.h.cfg.Hosts.ClientAddress(x.r))
	}
	want, err := wants(m)
	switch {
	case err != nil:
	case len(m.id) > maxListenID:
		err = refuse(fault.CodeInvalidRequest, "The id of a subscription has at most %d bytes.", maxListenID)
	default:
		err = x.h.listeners.enter(key)
	}
	if err != nil {
		faultAnswer(err, m.id, x.requestID).write(x.w)
		return
	}
	defer x.h.listeners.leave(key)
	if x.revoked.Load() {
		x.challenge(c.endpoint, revokedChallenge(c.endpoint))
		return
	}
	streamHeaders(x.w.Header())
	x.w.WriteHeader(http.StatusOK)
	s := &stream{w: x.w, control: http.NewResponseController(x.w), id: bytes.Clone(m.id)} // of the body, nothing else is kept
	life := listenLife
	if !c.caller.Expires.IsZero() {
		life = min(life, c.caller.Expires.Sub(x.h.cfg.Now()))
	}
	x.h.listeners.follow(x.r.Context(), s, c.endpoint, x.h.cfg.Hosts.EffectiveHost(x.r), want, max(life, 0))
	if x.revoked.Load() {
		s.result() // in order; the next request is challenged
	}
}

// wanted are the notices that a stream is asked for, by kind, and those of them
// that it brings.
type wanted struct {
	Tools     bool `json:"toolsListChanged,omitempty"`
	Prompts   bool `json:"promptsListChanged,omitempty"`
	Resources bool `json:"resourcesListChanged,omitempty"`
}

// wants reads which notices are asked for.
func wants(m *message) (wanted, error) {
	var params struct {
		Notifications *wanted `json:"notifications"`
	}
	// Keys of another case are none: the envelope is exact.
	exact := []byte("{}")
	for _, field := range members(m.params, 0) {
		if field.key == "notifications" && m.params[field.start] == '{' {
			exact = append(appendMember([]byte{'{'}, field.key, onlyNotices(m.params[field.start:field.end])), '}')
		}
	}
	if err := json.Unmarshal(exact, &params); err != nil || params.Notifications == nil {
		return wanted{}, refuse(fault.CodeInvalidParams, "params.notifications says which notices are wanted.")
	}
	return *params.Notifications, nil
}

// onlyNotices are the members that we know, as they are spelt.
func onlyNotices(object []byte) []byte {
	out := []byte{'{'}
	for _, m := range members(object, 0) {
		switch m.key {
		case "toolsListChanged", "promptsListChanged", "resourcesListChanged":
			out = appendMember(out, m.key, object[m.start:m.end])
		}
	}
	return append(out, '}')
}

// of are those wanted that a revision can bring: of the kinds that it declares.
func (w wanted) of(l lists) wanted {
	return wanted{Tools: w.Tools, Prompts: w.Prompts && l.hasPrompts, Resources: w.Resources && l.hasResources}
}

// changed are those wanted whose list differs.
func (w wanted) changed(before, now lists) wanted {
	return wanted{
		Tools: w.Tools && before.tools != now.tools, Prompts: w.Prompts && before.prompts != now.prompts,
		Resources: w.Resources && before.resources != now.resources,
	}
}

// follow writes the stream until the client goes, its time is over or the
// server shuts down.
func (l *listeners) follow(ctx context.Context, s *stream, ep *tenants.Endpoint, host string, want wanted, life time.Duration) {
	ear, forget := l.listenTo(ep)
	defer forget()
	ear.tell() // what changed before it was there
	served, err := l.lists(ctx, ep)
	known := err == nil
	if known {
		want = want.of(served)
	}
	s.notice("notifications/subscriptions/acknowledged", map[string]any{"notifications": want})
	end := time.NewTimer(life)
	defer end.Stop()
	check := time.NewTicker(l.check)
	defer check.Stop()
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for s.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			s.result()
			return
		case <-l.done:
			s.result()
			return
		case <-alive.C:
			s.comment()
			continue
		case <-ear:
		case <-check.C:
		}
		now, err := l.directory.Lookup(ctx, host, ep.Resource.Path)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Misdirected) || (err == nil && now.Surface != ep.Surface) {
			s.result()
			return
		}
		if err != nil {
			continue // away for a moment
		}
		changed := wanted{}
		if now.Digest != ep.Digest || now.Revision != ep.Revision {
			lists, err := l.lists(ctx, now)
			if changed = want.changed(served, lists); err != nil || !known {
				changed = want
			}
			served, known = lists, err == nil
		}
		if now.State != ep.State {
			changed = want
		}
		s.changes(changed)
		ep = now
	}
}

// stream writes server-sent events. Its first failure stays.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	id      json.RawMessage // of the request, as sent
	err     error
}

func (s *stream) notice(method string, params map[string]any) {
	params["_meta"] = map[string]any{metaSubscription: s.id}
	s.event(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// changes writes a notice for each kind.
func (s *stream) changes(of wanted) {
	for _, kind := range []struct {
		changed bool
		method  string
	}{{of.Tools, "notifications/tools/list_changed"}, {of.Prompts, "notifications/prompts/list_changed"}, {of.Resources, "notifications/resources/list_changed"}} {
		if kind.changed {
			s.notice(kind.method, map[string]any{})
		}
	}
}

// result ends the subscription in order.
func (s *stream) result() {
	s.event(map[string]any{"jsonrpc": "2.0", "id": s.id, "result": map[string]any{
		"resultType": "complete", "_meta": map[string]any{metaSubscription: s.id},
	}})
}

func (s *stream) event(body any) {
	data, err := json.Marshal(body)
	if err != nil {
		s.err = err
		return
	}
	s.write(append(append([]byte("event: message\ndata: "), data...), "\n\n"...))
}

func (s *stream) comment() { s.write([]byte(": keep-alive\n\n")) }

func (s *stream) write(b []byte) {
	if s.err != nil {
		return
	}
	// A reader that does not read must not hold the stream for ever. Writers
	// without deadlines (tests) are fine.
	_ = s.control.SetWriteDeadline(time.Now().Add(keepAlive))
	if _, s.err = s.w.Write(b); s.err == nil {
		s.err = s.control.Flush()
	}
}
