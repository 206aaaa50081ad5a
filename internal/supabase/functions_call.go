package supabase

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Limits of one call of a function.
const (
	longestFunction = 150 * time.Second // the platform's own limit to the first byte
	functionGrace   = 2 * time.Second   // for an answer given just in time to arrive
	defaultFunction = 30 * time.Second  // without a deadline
)

// Invoke calls an Edge Function as the session: its answer of status 2xx, whose
// body is still to be read. It ends, and with it a body that is not read to its
// end, at the deadline; closing the body cancels what still runs. A redirect is
// not followed. The request is sent at most once.
//
// Errors: *FunctionError for an answer that is no success; else *fault.Error or
// the context's error (egress.Unsent tells what never left). The answer then
// still has Upstream and Took where they are known.
func (c *Client) Invoke(ctx context.Context, s Session, q Invoke) (FunctionAnswer, error) {
	req, err := c.functionRequest(ctx, s, q)
	if err != nil {
		return FunctionAnswer{}, err
	}
	timeout := defaultFunction
	if !q.Deadline.IsZero() {
		timeout = min(time.Until(q.Deadline), longestFunction)
	}
	if timeout <= 0 {
		return FunctionAnswer{}, fault.Wrap(egress.ErrUnsent, fault.Timeout, "project_timeout", "There was no time left to call the project. Try again.")
	}
	limit := q.MaxBytes
	if limit <= 0 {
		limit = maxData
	}
	res, trip, err := c.open(req, egress.Options{ //nolint:bodyclose // closed by readRefusal, or by whoever gets the answer
		Lane: lane(s.project) + "/functions", MaxBytes: max(limit, maxRefusal), Timeout: timeout + functionGrace, AnyAnswer: true,
	})
	a := FunctionAnswer{Upstream: trip.Upstream, Took: trip.Took}
	if err != nil {
		return a, err
	}
	if res.StatusCode < 200 || res.StatusCode >= 300 || res.Header.Get("X-Relay-Error") == "true" {
		return a, functionErrorOf(res, readRefusal(res))
	}
	a.Status, a.ContentType, a.Body = res.StatusCode, mediaType(res.Header), bounded(res, limit)
	return a, nil
}

// functionRequest builds a request with exactly the headers a call has.
func (c *Client) functionRequest(ctx context.Context, s Session, q Invoke) (*http.Request, error) {
	if !isSlug(q.Slug) {
		return nil, unsent(fault.Invalid, "function_name", "This cannot be the name of an Edge Function. Names begin with a letter and have only letters, digits, _ and -.")
	}
	req, err := c.serviceRequest(ctx, s, http.MethodPost, "/functions/v1/"+q.Slug, q.Body)
	if err != nil {
		return nil, err
	}
	h := req.Header
	h["Content-Type"] = []string{"application/json"}
	set := func(name, value string) {
		if value != "" {
			h[name] = []string{value}
		}
	}
	set("Content-Type", q.ContentType)
	set("Accept", q.Accept)
	// Not in Go's spelling of the name: by that the transport would take the
	// call for one that may be sent a second time.
	set("idempotency-key", q.IdempotencyKey)
	set("Chumbo-Request-Id", q.RequestID)
	if !q.Deadline.IsZero() {
		set("Chumbo-Deadline", q.Deadline.UTC().Format(time.RFC3339))
	}
	if isPrintable(q.TraceParent) && len(q.TraceParent) <= 128 {
		set("Traceparent", q.TraceParent)
		if isPrintable(q.TraceState) && len(q.TraceState) <= 512 && q.TraceParent != "" {
			set("Tracestate", q.TraceState)
		}
	}
	for _, values := range h {
		if !isPrintable(values[0]) {
			return nil, unsent(fault.Invalid, "bad_request", "The request cannot be sent to the project.")
		}
	}
	return req, nil
}

// unsent is an error about what was asked, found before anything was sent.
func unsent(kind fault.Kind, code, text string) error {
	return fault.Wrap(egress.ErrUnsent, kind, code, "%s", text)
}

// open sends the request and returns the answer unread. Errors as send's.
func (c *Client) open(req *http.Request, opt egress.Options) (*http.Response, Trip, error) {
	begin := time.Now()
	res, err := c.out.Do(req, opt)
	trip := Trip{Took: time.Since(begin)}
	if err != nil {
		return nil, trip, sendError(req.Context(), err)
	}
	trip.Upstream = requestID(res.Header)
	return res, trip, nil
}

// body is an answer's body within the caller's limit, which may be smaller than
// what is read of a refusal, with the errors of this package.
type body struct {
	io.ReadCloser
	left int64 // bytes still allowed; below zero: too large
}

// bounded is the answer's body up to so many bytes. Of an answer that announces
// more nothing is read.
func bounded(res *http.Response, limit int64) *body {
	if res.ContentLength > limit {
		limit = -1
	}
	return &body{ReadCloser: res.Body, left: limit}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, answerTooLarge(egress.ErrTooLarge)
	}
	if int64(len(p)) > b.left+1 { // one more tells the limit from the end
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, answerTooLarge(egress.ErrTooLarge)
	}
	if errors.Is(err, egress.ErrTooLarge) {
		err = answerTooLarge(err)
	}
	return n, err
}

// maxRefusal is how much of an answer that is no success is looked at.
const maxRefusal = 16 << 10

// readRefusal reads the beginning of an answer that is no success, as far as it
// comes, and closes it.
func readRefusal(res *http.Response) []byte {
	defer func() { _ = res.Body.Close() }()
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	return b
}

// mediaType is the answer's media type, lower case, without parameters.
func mediaType(h http.Header) string {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// isSlug reports whether an Edge Function can have the name.
func isSlug(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '_' && c != '-') {
			return false
		}
	}
	return s != "" && len(s) <= 200
}

// isPrintable reports whether a header can carry the text as it is.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
