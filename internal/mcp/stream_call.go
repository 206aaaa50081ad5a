package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
)

// run hands the message to the server of the revision. One whose tool tells how
// it goes on may be answered by a stream (MCP, streamable HTTP).
func (x *exchange) run(c *call, m *message, r *revision) answer {
	if !x.mayStream(m, r) {
		return x.h.transport.exchange(withCall(x.r.Context(), c), r, m)
	}
	ctx, cancel := context.WithCancel(c.http)
	defer cancel()
	s := newCallStream(x.w, m, c.protocol, cancel)
	c.http, c.notices, x.stream = ctx, s, s
	stop := s.keepAlive()
	defer stop()
	return x.h.transport.exchange(withCall(ctx, c), r, m)
}

// mayStream reports whether the message is alone in its request, calls a tool
// that tells how it goes on, and comes from a client that reads streams.
func (x *exchange) mayStream(m *message, r *revision) bool {
	if !x.alone || m.method != methodCallTool || !acceptsEvents(x.r.Header) {
		return false
	}
	t := r.tools[m.name]
	return t != nil && t.spec.Function != nil && t.spec.Function.Stream
}

// callStream is the answer of one call while it may become a stream: it begins
// with the first notice, or when nothing was said for a while. Until then the
// answer can have any status and form. It tells notices that the client asked
// for, and drops all others.
type callStream struct {
	mu     sync.Mutex
	out    *stream
	cancel func() // the client does not read any more: ends the call
	begun  bool
	over   bool

	token json.RawMessage // of progress, as sent; nil: no progress is told
	least int             // level of log messages; see noLogs
}

var _ notices = (*callStream)(nil)

// noLogs is above every level of a log message.
const noLogs = 8

func newCallStream(w http.ResponseWriter, m *message, version string, cancel func()) *callStream {
	s := &callStream{out: &stream{w: w, control: http.NewResponseController(w), id: m.id}, cancel: cancel, token: m.progressToken, least: noLogs}
	level, stated := logLevels[m.logLevel]
	switch {
	case version < version20260728:
		s.least = logLevels["info"] // a level that was set is not kept: there are no sessions
	case stated:
		s.least = level
	}
	return s
}

// progress implements notices.
func (s *callStream) progress(done, total float64, message string) {
	if s.token == nil {
		return
	}
	params := append([]byte(`{"progressToken":`), s.token...)
	params = appendNumber(append(params, `,"progress":`...), done)
	if total > 0 {
		params = appendNumber(append(params, `,"total":`...), total)
	}
	if message != "" {
		params = appendString(append(params, `,"message":`...), message)
	}
	s.notice("notifications/progress", append(params, '}'))
}

// log implements notices.
func (s *callStream) log(level, logger string, data []byte) {
	if logLevels[level] < s.least {
		return
	}
	params := appendString([]byte(`{"level":`), level)
	if logger != "" {
		params = appendString(append(params, `,"logger":`...), logger)
	}
	params = append(append(params, `,"data":`...), data...)
	s.notice("notifications/message", append(params, '}'))
}

// appendNumber appends a finite number as JSON.
func appendNumber(dst []byte, n float64) []byte {
	return strconv.AppendFloat(dst, n, 'g', -1, 64)
}

func (s *callStream) notice(method string, params []byte) {
	s.write(eventOf([]byte(`{"jsonrpc":"2.0","method":"` + method + `","params":` + string(params) + `}`)))
}

// eventOf is a server-sent event of one line of JSON.
func eventOf(body []byte) []byte {
	return append(append([]byte("event: message\ndata: "), body...), "\n\n"...)
}

// write begins the stream if it has not begun, and writes to it. A client that
// has gone, or does not read, ends the call.
func (s *callStream) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if !s.begun {
		s.begun = true
		streamHeaders(s.out.w.Header())
		s.out.w.WriteHeader(http.StatusOK)
	}
	if s.out.write(b); s.out.err != nil {
		s.over = true
		s.cancel()
	}
}

// streamHeaders are those of every stream: no proxy may keep it back, or change
// it.
func streamHeaders(h http.Header) {
	h.Set("Content-Type", mediaEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
}

// keepAlive writes comments, so that no proxy takes the silence of a long call
// for its end, until stop is called; nothing is written after that.
func (s *callStream) keepAlive() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		alive := time.NewTicker(keepAlive)
		defer alive.Stop()
		for {
			select {
			case <-end:
				return
			case <-alive.C:
				s.write([]byte(": keep-alive\n\n"))
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// hasBegun reports whether anything was written.
func (s *callStream) hasBegun() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// end writes the answer as the last event, if the stream has begun, and reports
// whether it had. Nothing is written after it. What would be a challenge is an
// error here: its status can no longer be said, and the next request gets it.
func (s *callStream) end(a answer, challenge *oauth.Challenge) bool {
	if s == nil {
		return false
	}
	begun := s.hasBegun()
	if begun {
		if challenge != nil {
			a = rpcAnswer(refuse(fault.CodeInvalidRequest, "The sign-in is no longer good; the call may have happened. Sign in again.").of(s.out.id))
		}
		s.write(eventOf(a.body))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return begun
}

// acceptsEvents reports whether the client says that it reads event streams.
func acceptsEvents(h http.Header) bool {
	for _, value := range h.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			media, parameters, _ := strings.Cut(part, ";")
			media = strings.TrimSpace(media)
			if (strings.EqualFold(media, mediaEvents) || strings.EqualFold(media, "text/*")) && !zeroQuality(parameters) {
				return true
			}
		}
	}
	return false
}
