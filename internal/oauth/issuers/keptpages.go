package issuers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	pageMaxAge    = 10 * time.Minute // nothing is used beyond this
	pageRefresh   = 5 * time.Minute  // and renewed in the background from here on
	pageFloor     = 10 * time.Second // between two readings of one page
	pageRetry     = 5 * time.Second  // after a reading that failed
	pageReadTime  = 8 * time.Second
	pageWait      = 5 * time.Second // a request waits this long for a running reading
	smallestRetry = time.Second
)

// keptPages keeps what was read elsewhere, by key. A value that is too old is
// never handed out, and no page is read more often than the floors say.
type keptPages[K comparable, V any] struct {
	now   func() time.Time
	read  func(ctx context.Context, key K) (V, error)
	table *otter.Cache[K, *page[V]]
}

// page is what is known of one key.
type page[V any] struct {
	have atomic.Pointer[reading[V]] // nil before the first success

	mu      sync.Mutex
	tried   time.Time // when the last reading ended
	failed  error     // how it ended
	running chan struct{}
}

// reading is one success. Immutable.
type reading[V any] struct {
	value V
	at    time.Time // when it began
}

func newKeptPages[K comparable, V any](now func() time.Time, most int, read func(ctx context.Context, key K) (V, error)) *keptPages[K, V] {
	return &keptPages[K, V]{now: now, read: read, table: otter.Must(&otter.Options[K, *page[V]]{MaximumSize: most})}
}

func (k *keptPages[K, V]) page(key K) *page[V] {
	if p, ok := k.table.GetIfPresent(key); ok {
		return p
	}
	p, _ := k.table.SetIfAbsent(key, &page[V]{})
	return p
}

// get returns the value as it is now. The error is fault.Unavailable.
func (k *keptPages[K, V]) get(ctx context.Context, key K) (V, error) {
	p := k.page(key)
	if have := p.have.Load(); have != nil {
		age := k.now().Sub(have.at)
		if age >= pageRefresh && age < pageMaxAge {
			k.refreshSoon(ctx, key, p)
		}
		if age < pageMaxAge {
			return have.value, nil
		}
	}
	return k.again(ctx, key)
}

// again reads the page anew, joining a reading under way. Within the floor the
// last outcome is the answer.
func (k *keptPages[K, V]) again(ctx context.Context, key K) (V, error) {
	p := k.page(key)
	p.mu.Lock()
	running := p.running
	if running == nil {
		if rest := k.rest(p); rest > 0 {
			failed := p.failed
			p.mu.Unlock()
			return k.outcome(p, failed, rest)
		}
		running = k.start(ctx, key, p)
	}
	p.mu.Unlock()
	return k.await(ctx, p, running)
}

// rest is how long no new reading may begin; p.mu is held.
func (k *keptPages[K, V]) rest(p *page[V]) time.Duration {
	if p.tried.IsZero() {
		return 0
	}
	floor := pageFloor
	if p.failed != nil {
		floor = pageRetry
	}
	return floor - k.now().Sub(p.tried)
}

func (k *keptPages[K, V]) refreshSoon(ctx context.Context, key K, p *page[V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil && k.rest(p) <= 0 {
		k.start(ctx, key, p)
	}
}

func (k *keptPages[K, V]) await(ctx context.Context, p *page[V], running chan struct{}) (V, error) {
	var none V
	timer := time.NewTimer(pageWait)
	defer timer.Stop()
	select {
	case <-running:
	case <-timer.C:
		return none, unavailable(errors.New("reading takes too long"), pageRetry)
	case <-ctx.Done():
		return none, unavailable(ctx.Err(), pageRetry)
	}
	p.mu.Lock()
	failed := p.failed
	p.mu.Unlock()
	return k.outcome(p, failed, pageRetry)
}

func (k *keptPages[K, V]) outcome(p *page[V], failed error, rest time.Duration) (V, error) {
	var none V
	if failed != nil {
		return none, unavailable(failed, rest)
	}
	if have := p.have.Load(); have != nil && k.now().Sub(have.at) < pageMaxAge {
		return have.value, nil
	}
	return none, unavailable(errors.New("outdated"), max(rest, smallestRetry))
}

// start begins a reading of its own life: the request that asked for it may end
// sooner than those that joined. p.mu is held.
func (k *keptPages[K, V]) start(ctx context.Context, key K, p *page[V]) chan struct{} {
	done := make(chan struct{})
	p.running = done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageReadTime)
	go func() {
		defer close(done)
		defer cancel()
		begun := k.now()
		value, err := k.careful(ctx, key)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.running, p.tried, p.failed = nil, k.now(), err
		if err == nil {
			p.have.Store(&reading[V]{value: value, at: begun})
		}
	}()
	return done
}

// careful reads. On a goroutine of its own a panic over one issuer's bytes
// would end the process; its value may hold some of them.
func (k *keptPages[K, V]) careful(ctx context.Context, key K) (value V, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read page: panic (%T)", p)
		}
	}()
	return k.read(ctx, key)
}
