package tenants

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// entry is one remembered answer. Immutable once stored.
type entry struct {
	endpoint *Endpoint
	absent   *fault.Error // instead of endpoint: there is nothing to serve
	read
}

// read is when an answer was read, and what makes it wrong.
type read struct {
	scopes [4]uint16 // slots of everything whose change makes it wrong
	at     stamp     // taken before the query
	loaded time.Time // when the query began
}

// answer is what Lookup returns for the entry. An error is a copy, for callers
// may add to theirs.
func (e *entry) answer() (*Endpoint, error) {
	if e.absent == nil {
		return e.endpoint, nil
	}
	absent := *e.absent
	return nil, &absent
}

// stamp is the state of the freshness at some moment.
type stamp struct{ seq, epoch uint64 }

// hearing is how well the listening connection hears.
type hearing struct {
	up        bool
	epoch     uint64    // moves when hearing begins anew
	heard     time.Time // everything committed before has been heard of
	prevHeard time.Time // until when the epoch before this one heard
}

const slots = 1 << 12

// freshness knows what changed when. Invalidations are numbered, and a table
// of fixed size holds, for each of many slots, the number of the last one that
// hit it. What changed is hashed to a slot, so that two things may share one:
// then an entry is loaded again without need, and never kept wrongly.
//
// An epoch is one unbroken hearing of the listening connection. An entry is
// fresh only in the epoch it was loaded in. Readers take no lock.
type freshness struct {
	seed    maphash.Seed
	seq     atomic.Uint64
	all     atomic.Uint64 // number of the last invalidation of everything
	slot    [slots]atomic.Uint64
	hearing atomic.Pointer[hearing]
	mu      sync.Mutex // of writers
}

func newFreshness() *freshness {
	f := &freshness{seed: maphash.MakeSeed()}
	f.hearing.Store(&hearing{})
	return f
}

// The kinds of things a change can name, as in notification payloads.
const (
	scopeURL     = "url:"     // url:<host>|<path>
	scopeHost    = "host:"    // host:<host>
	scopeSurface = "surface:" // surface:<uuid>
	scopeProject = "project:" // project:<uuid>
)

// scopeAll names everything.
const scopeAll = "*"

func (f *freshness) slotOf(scope string) uint16 {
	return uint16(maphash.String(f.seed, scope) % slots)
}

// scopesOf lists the slots of an answer for a URL. Where no surface was found
// the ids are zero, which no notification names.
func (f *freshness) scopesOf(key lookupKey, surface id.Surface, project id.Project) [4]uint16 {
	return [4]uint16{
		f.slotOf(scopeURL + key.host + "|" + key.path), f.slotOf(scopeHost + key.host),
		f.slotOf(scopeSurface + surface.UUID().String()), f.slotOf(scopeProject + project.UUID().String()),
	}
}

// stamp is taken before a query: whatever was invalidated before it, the query
// sees.
func (f *freshness) stamp() stamp {
	return stamp{f.seq.Load(), f.hearing.Load().epoch}
}

// invalidate notes that what scope names has changed; scopeAll is everything.
func (f *freshness) invalidate(scope string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.seq.Add(1)
	if scope == scopeAll {
		f.all.Store(n)
		return
	}
	f.slot[f.slotOf(scope)].Store(n)
}

// connected begins an epoch: the listening connection hears from at on.
func (f *freshness) connected(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin(at)
}

// lost ends the hearing.
func (f *freshness) lost() {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := *f.hearing.Load()
	h.up = false
	f.hearing.Store(&h)
}

// beat notes that a notice of ours sent at that time came back. After a
// silence beyond the bound it begins an epoch, and says so.
func (f *freshness) beat(sent, now time.Time) (began bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := *f.hearing.Load()
	if now.Sub(h.heard) > silenceBound {
		f.begin(sent)
		return true
	}
	h.heard = sent
	f.hearing.Store(&h)
	return false
}

// begin is called with mu held.
func (f *freshness) begin(at time.Time) {
	h := f.hearing.Load()
	f.hearing.Store(&hearing{up: true, epoch: h.epoch + 1, heard: at, prevHeard: h.heard})
}

// valid reports whether an answer is known to be right.
func (f *freshness) valid(e *read, now time.Time) bool {
	h := f.hearing.Load()
	return h.up && e.at.epoch == h.epoch && now.Sub(h.heard) <= silenceBound && !f.named(e)
}

// storable reports whether an answer may be kept: nothing named it, and
// hearing did not begin anew, since its stamp.
func (f *freshness) storable(e *read) bool {
	return e.at.epoch == f.hearing.Load().epoch && !f.named(e)
}

// confirmed returns when an answer was last known to be right, and false when a
// notification has named it since it was loaded.
func (f *freshness) confirmed(e *read) (time.Time, bool) {
	h := f.hearing.Load()
	at := e.loaded
	if e.at.epoch == h.epoch && h.heard.After(at) {
		at = h.heard
	}
	if e.at.epoch+1 == h.epoch && h.prevHeard.After(at) {
		at = h.prevHeard
	}
	return at, !f.named(e)
}

// named reports whether a notification named the answer after its stamp.
func (f *freshness) named(e *read) bool {
	if f.all.Load() > e.at.seq {
		return true
	}
	for _, s := range e.scopes {
		if f.slot[s].Load() > e.at.seq {
			return true
		}
	}
	return false
}
