package egress

import (
	"context"
	"errors"
	"io"
)

// body is an answer's body within its limits. It holds the request's place in
// the lane until it has been read to the end, closed, or timed out.
type body struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   func() bool // of the safety net below
	inner  io.ReadCloser
	left   int64 // bytes still allowed; below zero: too large
	ticket *ticket
	failed error // sticky
}

func newBody(ctx context.Context, cancel context.CancelFunc, inner io.ReadCloser, limit, announced int64, t *ticket) *body {
	b := &body{ctx: ctx, cancel: cancel, inner: inner, left: limit, ticket: t}
	if announced > limit {
		b.left = -1
	}
	// A body that nobody closes must not hold its place beyond the deadline.
	b.stop = context.AfterFunc(ctx, func() { t.end(outcomeOf(ctx)) })
	return b
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.failed == nil && b.left < 0 {
		b.finish(tooLarge(), nil)
	}
	if b.failed != nil {
		return 0, b.failed
	}
	if int64(len(p)) > b.left+1 { // one more tells the limit from the end
		p = p[:b.left+1]
	}
	n, err := b.inner.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		b.finish(tooLarge(), nil)
		return n - 1, b.failed
	case errors.Is(err, io.EOF):
		b.finish(io.EOF, nil)
	case err != nil:
		outcome := outcomeOf(b.ctx)
		if b.ctx.Err() == nil {
			outcome = err
		}
		b.finish(describe(b.ctx, err), outcome)
	}
	return n, b.failed
}

// finish makes result the answer to every later Read and frees the place.
func (b *body) finish(result, outcome error) {
	b.failed = result
	b.stop()
	b.ticket.end(outcome)
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.stop()
	b.ticket.end(outcomeOf(b.ctx))
	err := b.inner.Close()
	b.cancel()
	return err
}

// outcomeOf is how a request that ended with its context counts for the
// breaker: our deadline is the other side's failure, the caller's end is not.
func outcomeOf(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(context.Cause(ctx), errDeadline):
		return errDeadline
	default:
		return errNotCounted
	}
}
