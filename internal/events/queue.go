package events

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	queueSize  = 8192            // records waiting to be written
	batchSize  = 500             // written at once at most
	batchEvery = time.Second     // and at the latest
	writeTime  = 5 * time.Second // one try to write a batch
	writeTries = 3
)

// queue writes records in batches, in the background. What does not fit is
// dropped and counted: nothing ever waits for its record. Safe for concurrent
// use.
type queue[T any] struct {
	what    string // plural, for the log
	write   func(context.Context, []T) error
	log     *slog.Logger
	records chan T
	closing chan struct{}
	closed  chan struct{}
	once    sync.Once
	dropped atomic.Int64
}

func newQueue[T any](what string, write func(context.Context, []T) error, logger *slog.Logger, size int) *queue[T] {
	q := &queue[T]{
		what: what, write: write, log: logger, records: make(chan T, size),
		closing: make(chan struct{}), closed: make(chan struct{}),
	}
	go q.run()
	return q
}

func (q *queue[T]) put(record T) {
	select {
	case <-q.closing:
		q.dropped.Add(1)
		return
	default:
	}
	select {
	case q.records <- record:
	default:
		q.dropped.Add(1)
	}
}

func (q *queue[T]) close(ctx context.Context) error {
	q.once.Do(func() { close(q.closing) })
	select {
	case <-q.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *queue[T]) run() {
	defer close(q.closed)
	ticker := time.NewTicker(batchEvery)
	defer ticker.Stop()
	batch := make([]T, 0, batchSize)
	for {
		select {
		case record := <-q.records:
			if batch = append(batch, record); len(batch) == batchSize {
				batch = q.flush(batch)
			}
		case <-ticker.C:
			batch = q.flush(batch)
		case <-q.closing:
			q.drain(batch)
			return
		}
	}
}

// drain writes the rest of the queue.
func (q *queue[T]) drain(batch []T) {
	for {
		select {
		case record := <-q.records:
			if batch = append(batch, record); len(batch) == batchSize {
				batch = q.flush(batch)
			}
		default:
			q.flush(batch)
			return
		}
	}
}

// flush writes the batch and returns it emptied. A batch that cannot be
// written is dropped: the queue behind it matters more.
func (q *queue[T]) flush(batch []T) []T {
	if len(batch) == 0 {
		return batch
	}
	var err error
	for try := range writeTries {
		if try > 0 && !q.pause(time.Duration(try)*200*time.Millisecond) {
			break
		}
		ctx, cancel := context.WithTimeout(context.Background(), writeTime)
		err = q.write(ctx, batch)
		cancel()
		if err == nil {
			return batch[:0]
		}
	}
	q.dropped.Add(int64(len(batch)))
	q.log.Error(q.what+" were not recorded", slog.Int("count", len(batch)),
		slog.Int64("dropped_in_all", q.dropped.Load()), slog.String("error", err.Error()))
	return batch[:0]
}

// pause waits, and reports false when the queue is closing: then there is
// one try only.
func (q *queue[T]) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-q.closing:
		return false
	}
}
