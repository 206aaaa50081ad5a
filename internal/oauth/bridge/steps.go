package bridge

import (
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// agentLength bounds what is kept of a User-Agent, in bytes.
const agentLength = 120

// step records one step of an attempt to connect at ep: st says what happened,
// the rest is filled in here. It never blocks.
func (s *Service) step(ep *tenants.Endpoint, v Visitor, st events.Step) {
	if st.Grant.IsZero() && (st.Failed || st.Kind == events.StepMetadata) &&
		!s.told.room(strangerKey{ep.Surface, st.Kind, ratelimit.AddressKey(v.Address)}, s.cfg.Now()) {
		return
	}
	st.Organization, st.Surface = ep.Organization, ep.Surface
	s.record(v, st)
}

// record is step for what happens without an endpoint: st names organization
// and surface.
func (s *Service) record(v Visitor, st events.Step) {
	st.At, st.Agent, st.RequestID = s.cfg.Now(), cut(v.Agent, agentLength), v.RequestID
	if v.Address != "" {
		st.Address = [32]byte(s.cfg.Keys.MAC(seal.AddressHash, []byte(v.Address)))
	}
	s.cfg.Steps.Record(st)
}

// cut shortens to at most n bytes, and never inside a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// What costs nothing to do must not fill anybody's story: of reading metadata
// and of what fails without a grant this much is kept per surface, kind and
// address.
const (
	strangerSteps = 20
	strangerIn    = time.Minute
	strangers     = 20_000 // remembered
)

type strangerKey struct {
	surface id.Surface
	kind    events.StepKind
	address string // as ratelimit.AddressKey gives it; in memory only
}

// strangerStories counts the steps of those who have not shown who they are.
type strangerStories struct {
	mu   sync.Mutex
	seen *simplelru.LRU[strangerKey, strangerWindow]
}

type strangerWindow struct {
	began time.Time
	steps int
}

func newStrangerStories() (*strangerStories, error) {
	seen, err := simplelru.NewLRU[strangerKey, strangerWindow](strangers, nil)
	if err != nil {
		return nil, err
	}
	return &strangerStories{seen: seen}, nil
}

// room counts a step, or says that the window is full.
func (t *strangerStories) room(key strangerKey, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, ok := t.seen.Get(key)
	if !ok || now.Sub(w.began) >= strangerIn {
		w = strangerWindow{began: now}
	}
	if w.steps >= strangerSteps {
		return false
	}
	w.steps++
	t.seen.Add(key, w)
	return true
}
