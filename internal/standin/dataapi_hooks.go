package standin

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// HoldPoint is a place on the way of a write at which tests can hold it.
type HoldPoint int

// The points of a write, in order. A read passes none of them, and neither
// does a call of a function that is not volatile.
const (
	BeforeStatement HoldPoint = iota // nothing has been seen or locked
	BeforeCommit                     // the rows are changed and locked, seen by nobody else
	AfterCommit                      // the change is there, its answer is not on its way
)

// Hold is one write that is, or will be, held.
type Hold struct {
	reached, released chan struct{}
	release           sync.Once
}

// Reached is closed when a write has got to the point and waits there.
func (h *Hold) Reached() <-chan struct{} { return h.reached }

// Release lets the write go on; a write that has not come yet is not held.
func (h *Hold) Release() { h.release.Do(func() { close(h.released) }) }

// HoldNext holds the next write whose path starts with prefix, such as
// "/rest/v1/customers", at a point, until Release is called or the request is
// gone: before the commit nothing is changed then, after it the change stays
// and only the answer is lost. Calls queue up, one write each.
func (p *Project) HoldNext(point HoldPoint, prefix string) *Hold {
	h := &Hold{reached: make(chan struct{}), released: make(chan struct{})}
	p.data.hooks.add(hook{prefix: prefix, point: point, hold: h})
	return h
}

// ForgetMaxAffectedNext answers the next write whose path starts with prefix as
// a Data API does that does not know max-affected: it changes as many rows as
// match and does not list the preference as applied.
func (p *Project) ForgetMaxAffectedNext(prefix string) {
	p.data.hooks.add(hook{prefix: prefix})
}

// hook is one step in for one write.
type hook struct {
	prefix string
	point  HoldPoint
	hold   *Hold // nil: forget max-affected
}

// hooks are what tests asked for and what has not happened yet.
type hooks struct {
	mu   sync.Mutex
	list []hook
}

func (h *hooks) add(one hook) {
	one.prefix = strings.TrimPrefix(one.prefix, "/rest/v1")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, one)
}

// take removes and returns the first hook that fits.
func (h *hooks) take(fits func(hook) bool) (hook, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.list, fits)
	if i < 0 {
		return hook{}, false
	}
	one := h.list[i]
	h.list = slices.Delete(h.list, i, i+1)
	return one, true
}

// wait holds a write at a point if a test asked for that.
func (h *hooks) wait(ctx context.Context, point HoldPoint, path string, j job) error {
	if j.readOnly {
		return nil
	}
	one, found := h.take(func(k hook) bool { return k.hold != nil && k.point == point && strings.HasPrefix(path, k.prefix) })
	if !found {
		return nil
	}
	close(one.hold.reached)
	select {
	case <-one.hold.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isOld reports whether a write is to be answered without max-affected.
func (h *hooks) isOld(path string) bool {
	_, found := h.take(func(k hook) bool { return k.hold == nil && strings.HasPrefix(path, k.prefix) })
	return found
}
