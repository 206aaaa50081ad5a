package mcp

import (
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	stepEvery   = 10 * time.Second // one step of a kind per surface and address
	callEvery   = time.Hour        // one first call per caller of a direct surface
	maxStepKeys = 20_000           // remembered of either
	maxAgent    = 120              // bytes kept of a User-Agent
)

// story records the steps of attempts to connect that the edge sees: the
// challenge, a read of the metadata, and the first call at a direct surface.
// Clients that ask again and again add nothing.
type story struct {
	steps Steps // nil: nothing is kept
	keys  *seal.Keyset
	now   func() time.Time

	mu    sync.Mutex
	seen  *simplelru.LRU[stepKey, time.Time]
	calls *simplelru.LRU[oauth.CallerKey, time.Time]
}

type stepKey struct {
	surface id.Surface
	address [32]byte
	kind    events.StepKind
}

func newStory(cfg Config) (*story, error) {
	seen, err := simplelru.NewLRU[stepKey, time.Time](maxStepKeys, nil)
	if err != nil {
		return nil, err
	}
	calls, err := simplelru.NewLRU[oauth.CallerKey, time.Time](maxStepKeys, nil)
	if err != nil {
		return nil, err
	}
	return &story{steps: cfg.Steps, keys: cfg.Keys, now: cfg.Now, seen: seen, calls: calls}, nil
}

// step records a challenge or a read of metadata.
func (s *story) step(x *exchange, ep *tenants.Endpoint, kind events.StepKind) {
	if s.steps == nil {
		return
	}
	st := s.begun(x, ep, kind)
	if due(&s.mu, s.seen, stepKey{ep.Surface, st.Address, kind}, st.At, stepEvery) {
		s.steps.Record(st)
	}
}

// firstCall records that a caller without a grant of ours calls, who signed in
// for it and whose client has an id. The others did not connect here, and a step
// without an id could be taken for another's.
func (s *story) firstCall(x *exchange, c *call, info clientInfo) {
	key := c.caller.Key
	if s.steps == nil || key.Mode != oauth.ModeDirect && key.Mode != oauth.ModeExternal || key.Client == "" {
		return
	}
	if !due(&s.mu, s.calls, key, s.now(), callEvery) {
		return
	}
	st := s.begun(x, c.endpoint, events.StepFirstCall)
	st.Client, st.ClientName, st.ClientVersion = c.caller.Key.Client, info.name, info.version
	s.steps.Record(st)
}

func (s *story) begun(x *exchange, ep *tenants.Endpoint, kind events.StepKind) events.Step {
	v := x.visitor()
	st := events.Step{
		Organization: ep.Organization, Surface: ep.Surface, At: s.now(), Kind: kind,
		Agent: cutBytes(v.Agent, maxAgent), RequestID: v.RequestID,
	}
	if v.Address != "" {
		st.Address = [32]byte(s.keys.MAC(seal.AddressHash, []byte(v.Address)))
	}
	return st
}

// due reports whether the last time for a key is long enough ago, and notes
// this one if it is.
func due[K comparable](mu *sync.Mutex, seen *simplelru.LRU[K, time.Time], key K, now time.Time, every time.Duration) bool {
	mu.Lock()
	defer mu.Unlock()
	if last, ok := seen.Get(key); ok && now.Sub(last) < every {
		return false
	}
	seen.Add(key, now)
	return true
}

// cutBytes shortens to at most n bytes, and never inside a character.
func cutBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
