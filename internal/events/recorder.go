package events

import (
	"context"
	"log/slog"

	"github.com/chumbo-dev/chumbo/internal/db"
)

// Recorder writes invocations in batches, in the background. What does not fit
// its queue is dropped and counted: a call never waits for its record. Safe
// for concurrent use.
type Recorder struct{ queue *queue[Invocation] }

// NewRecorder starts a Recorder over the store. Close ends it.
func NewRecorder(store *db.Store, logger *slog.Logger) *Recorder {
	return newRecorder(func(ctx context.Context, batch []Invocation) error { return insert(ctx, store, batch) }, logger, queueSize)
}

func newRecorder(write func(context.Context, []Invocation) error, logger *slog.Logger, size int) *Recorder {
	return &Recorder{newQueue("invocations", write, logger, size)}
}

// Record queues an invocation. It never blocks; after Close, and when the
// queue is full, the invocation is dropped and counted.
func (r *Recorder) Record(inv Invocation) { r.queue.put(inv) }

// Dropped is how many invocations were never written.
func (r *Recorder) Dropped() int64 { return r.queue.dropped.Load() }

// Close writes what is queued and ends the Recorder, or returns ctx's error
// when that takes too long.
func (r *Recorder) Close(ctx context.Context) error { return r.queue.close(ctx) }
