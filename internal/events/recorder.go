package events

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
)

const (
	queueSize  = 8192            // invocations waiting to be written
	batchSize  = 500             // written at once at most
	batchEvery = time.Second     // and at the latest
	writeTime  = 5 * time.Second // one try to write a batch
	writeTries = 3
)

// Recorder writes invocations in batches, in the background. What does not fit
// its queue is dropped and counted: a call never waits for its record. Safe
// for concurrent use.
type Recorder struct {
	write   func(context.Context, []Invocation) error
	log     *slog.Logger
	queue   chan Invocation
	closing chan struct{}
	closed  chan struct{}
	once    sync.Once
	dropped atomic.Int64
}

// NewRecorder starts a Recorder over the store. Close ends it.
func NewRecorder(store *db.Store, logger *slog.Logger) *Recorder {
	return newRecorder(func(ctx context.Context, batch []Invocation) error { return insert(ctx, store, batch) }, logger, queueSize)
}

func newRecorder(write func(context.Context, []Invocation) error, logger *slog.Logger, size int) *Recorder {
	r := &Recorder{
		write: write, log: logger, queue: make(chan Invocation, size),
		closing: make(chan struct{}), closed: make(chan struct{}),
	}
	go r.run()
	return r
}

// Record queues an invocation. It never blocks; after Close, and when the
// queue is full, the invocation is dropped and counted.
func (r *Recorder) Record(inv Invocation) {
	select {
	case <-r.closing:
		r.dropped.Add(1)
		return
	default:
	}
	select {
	case r.queue <- inv:
	default:
		r.dropped.Add(1)
	}
}

// Dropped is how many invocations were never written.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

// Close writes what is queued and ends the Recorder, or returns ctx's error
// when that takes too long.
func (r *Recorder) Close(ctx context.Context) error {
	r.once.Do(func() { close(r.closing) })
	select {
	case <-r.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Recorder) run() {
	defer close(r.closed)
	ticker := time.NewTicker(batchEvery)
	defer ticker.Stop()
	batch := make([]Invocation, 0, batchSize)
	for {
		select {
		case inv := <-r.queue:
			if batch = append(batch, inv); len(batch) == batchSize {
				batch = r.flush(batch)
			}
		case <-ticker.C:
			batch = r.flush(batch)
		case <-r.closing:
			r.drain(batch)
			return
		}
	}
}

// drain writes the rest of the queue.
func (r *Recorder) drain(batch []Invocation) {
	for {
		select {
		case inv := <-r.queue:
			if batch = append(batch, inv); len(batch) == batchSize {
				batch = r.flush(batch)
			}
		default:
			r.flush(batch)
			return
		}
	}
}

// flush writes the batch and returns it emptied. A batch that cannot be
// written is dropped: the queue behind it matters more.
func (r *Recorder) flush(batch []Invocation) []Invocation {
	if len(batch) == 0 {
		return batch
	}
	var err error
	for try := range writeTries {
		if try > 0 && !r.pause(time.Duration(try)*200*time.Millisecond) {
			break
		}
		ctx, cancel := context.WithTimeout(context.Background(), writeTime)
		err = r.write(ctx, batch)
		cancel()
		if err == nil {
			return batch[:0]
		}
	}
	r.dropped.Add(int64(len(batch)))
	r.log.Error("invocations were not recorded", slog.Int("count", len(batch)),
		slog.Int64("dropped_in_all", r.dropped.Load()), slog.String("error", err.Error()))
	return batch[:0]
}

// pause waits, and reports false when the Recorder is closing: then there is
// one try only.
func (r *Recorder) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.closing:
		return false
	}
}
