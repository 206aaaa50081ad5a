package egress

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// The numbers of one lane, and how many lanes are remembered.
const (
	laneRunning = 16
	laneWaiting = 64
	laneWait    = 2 * time.Second
	laneTable   = 8192

	breakerOpen    = 5 * time.Second  // how long an open breaker refuses
	breakerWindow  = 60 * time.Second // over which failures are counted
	breakerBucket  = 10 * time.Second
	breakerRow     = 5  // so many failures in a row open it,
	breakerEnough  = 20 // or half of at least so many requests
	evictionLookup = 8  // lanes looked at for an idle one to drop
)

var (
	errLaneFull   = errors.New("lane full")
	errLaneOpen   = errors.New("breaker open")
	errNotCounted = errors.New("ended by the caller")
)

// lane is one neighbour's share of the way out: what it does slowly or badly
// is felt in its own lane only.
type lane struct {
	running chan struct{}
	waiting atomic.Int32
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
}

func newLane() *lane {
	return &lane{
		running: make(chan struct{}, laneRunning),
		breaker: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			MaxRequests:  1,
			Interval:     breakerWindow,
			BucketPeriod: breakerBucket,
			Timeout:      breakerOpen,
			ReadyToTrip:  tripped,
			IsExcluded:   func(err error) bool { return errors.Is(err, errNotCounted) },
		}),
	}
}

func tripped(c gobreaker.Counts) bool {
	if c.ConsecutiveFailures >= breakerRow {
		return true
	}
	done := c.TotalSuccesses + c.TotalFailures
	return done >= breakerEnough && c.TotalFailures*2 >= done
}

// ticket is the right to have one request running. It ends once, and tells the
// breaker once.
type ticket struct {
	once sync.Once
	told sync.Once
	lane *lane
	done func(error)
}

// settle tells the breaker how it went; what the end says counts no more.
func (t *ticket) settle(outcome error) {
	t.told.Do(func() { t.done(outcome) })
}

// end frees the place and tells the breaker how it went: nil, a failure of
// the other side, or errNotCounted.
func (t *ticket) end(outcome error) {
	t.once.Do(func() {
		t.settle(outcome)
		<-t.lane.running
	})
}

// enter waits for a place, at most laneWait.
func (l *lane) enter(ctx context.Context) (*ticket, error) {
	if l.breaker.State() == gobreaker.StateOpen {
		return nil, errLaneOpen
	}
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	done, err := l.breaker.Allow()
	if err != nil {
		<-l.running
		return nil, errLaneOpen
	}
	return &ticket{lane: l, done: done}, nil
}

func (l *lane) take(ctx context.Context) error {
	select {
	case l.running <- struct{}{}:
		return nil
	default:
	}
	if l.waiting.Add(1) > laneWaiting {
		l.waiting.Add(-1)
		return errLaneFull
	}
	defer l.waiting.Add(-1)
	timer := time.NewTimer(laneWait)
	defer timer.Stop()
	select {
	case l.running <- struct{}{}:
		return nil
	case <-timer.C:
		return errLaneFull
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnsent, ctx.Err())
	}
}

func (l *lane) idle() bool { return len(l.running) == 0 && l.waiting.Load() == 0 }

// lanes is the bounded table of lanes, least recently used last.
type lanes struct {
	limit int
	mu    sync.Mutex
	byKey map[string]*list.Element
	order list.List // of *namedLane
}

type namedLane struct {
	key  string
	lane *lane
}

func newLanes(limit int) *lanes {
	return &lanes{limit: limit, byKey: make(map[string]*list.Element)}
}

func (t *lanes) get(key string) *lane {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.byKey[key]; ok {
		t.order.MoveToFront(e)
		return e.Value.(*namedLane).lane
	}
	if len(t.byKey) >= t.limit {
		t.evict()
	}
	entry := &namedLane{key: key, lane: newLane()}
	t.byKey[key] = t.order.PushFront(entry)
	return entry.lane
}

// evict drops an idle lane near the end, or else the last one: requests
// already in it keep it, only its count of them is lost.
func (t *lanes) evict() {
	victim := t.order.Back()
	for e, i := victim, 0; e != nil && i < evictionLookup; e, i = e.Prev(), i+1 {
		if e.Value.(*namedLane).lane.idle() {
			victim = e
			break
		}
	}
	t.order.Remove(victim)
	delete(t.byKey, victim.Value.(*namedLane).key)
}
