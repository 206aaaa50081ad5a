package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Bounds of a function's event stream.
const (
	maxEvent   = 1 << 20 // bytes of one event
	maxNotices = 10_000  // progress and log of one call; those after it are dropped
)

// Errors of an event stream, beside those of its body.
var (
	errNoResult = errors.New("stream ended before its result")
	errEvent    = errors.New("an event of the stream is too large")
	errFlood    = errors.New("stream told more than is read before its result")
)

// event is a server-sent event (HTML, section 9.2): its type and its data.
type event struct {
	name string
	data []byte
}

// eventReader reads server-sent events. Comments, ids and retry are passed over,
// and so is an event that its stream ends in.
type eventReader struct {
	in       *bufio.Reader
	started  bool
	returned bool // the last line ended with CR: an LF that follows is part of it
}

func newEventReader(in io.Reader) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(in, 16<<10)}
}

// next returns the next event with data. The data is good until the call after.
// With an error it is what was read of the event.
func (r *eventReader) next() (event, error) {
	e, lines, size := event{name: "message"}, 0, 0
	for {
		line, err := r.line(maxEvent - size)
		if err != nil {
			return e, err
		}
		size += len(line) + 1
		if len(line) == 0 {
			if lines > 0 {
				return e, nil
			}
			e, size = event{name: "message"}, 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value)
		case "data":
			if lines > 0 {
				e.data = append(e.data, '\n')
			}
			lines++
			e.data = append(e.data, value...)
		}
	}
}

// line reads a line of at most n bytes, without its end: CR, LF or both.
func (r *eventReader) line(n int) ([]byte, error) {
	var line []byte
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if c == '\n' && r.returned {
			r.returned = false
			continue
		}
		if r.returned = c == '\r'; r.returned || c == '\n' {
			return r.withoutMark(line), nil
		}
		if len(line) >= n {
			return nil, errEvent
		}
		line = append(line, c)
	}
}

// withoutMark takes the byte order mark from the first line.
func (r *eventReader) withoutMark(line []byte) []byte {
	if !r.started {
		r.started = true
		return bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	return line
}

// readStream tells the notices of a function's stream and returns the result
// that ends it.
func readStream(body io.Reader, to notices) ([]byte, error) {
	events := newEventReader(body)
	told := &toldNotices{to: to}
	for {
		e, err := events.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errNoResult
		case e.name != "result" && (errors.Is(err, errEvent) || fault.Is(err, fault.TooLarge)):
			return nil, fmt.Errorf("%w: %w", errFlood, err)
		case err != nil:
			return nil, err
		}
		switch e.name {
		case "result":
			return e.data, nil
		case "progress":
			told.progress(e.data)
		case "log":
			told.log(e.data)
		}
	}
}

// toldNotices passes on what a stream tells, as far as it makes sense.
type toldNotices struct {
	to    notices
	count int
	begun bool
	done  float64
}

// room reports whether one notice more may be told, to somebody.
func (n *toldNotices) room() bool {
	if n.to == nil || n.count >= maxNotices {
		return false
	}
	n.count++
	return true
}

// progress tells {progress, total?, message?}. It must increase (MCP, basic:
// progress); anything else is dropped.
func (n *toldNotices) progress(data []byte) {
	var said struct {
		Progress *float64 `json:"progress"`
		Total    float64  `json:"total"`
		Message  string   `json:"message"`
	}
	if checkJSON(data) != nil || json.Unmarshal(data, &said) != nil || said.Progress == nil || n.begun && *said.Progress <= n.done {
		return
	}
	if !n.room() {
		return
	}
	n.begun, n.done = true, *said.Progress
	n.to.progress(n.done, said.Total, cutText(oneLine(said.Message), maxAuthorText))
}

// log tells {level?, logger?, data}.
func (n *toldNotices) log(data []byte) {
	if checkJSON(data) != nil {
		return
	}
	data = pairedText(data)
	said := memberOf(data, "data")
	level, _ := text(memberOf(data, "level"))
	logger, _ := text(memberOf(data, "logger"))
	if said == nil || !n.room() {
		return
	}
	if _, known := logLevels[level]; !known {
		level = "info"
	}
	n.to.log(level, cutText(oneLine(logger), maxClientText), appendToken(nil, said))
}

// logLevels are the levels of messages for clients (RFC 5424 section 6.2.1), the
// least first.
var logLevels = map[string]int{
	"debug": 0, "info": 1, "notice": 2, "warning": 3, "error": 4, "critical": 5, "alert": 6, "emergency": 7,
}
