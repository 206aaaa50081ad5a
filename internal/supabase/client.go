package supabase

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Limits of one answer and one wait.
const (
	maxData         = 4 << 20  // bytes of a Data API answer
	maxDocument     = 64 << 10 // bytes of a metadata document, key set or settings
	dataTimeout     = 30 * time.Second
	documentTimeout = 5 * time.Second
)

// doer is the part of egress.Client in use here.
type doer interface {
	Do(req *http.Request, opt egress.Options) (*http.Response, error)
}

// Client reaches projects through the one way out. It keeps nothing of a
// caller between calls, makes exactly one HTTP request per method that says
// nothing else, and never repeats one. Safe for concurrent use.
type Client struct {
	out   doer
	agent string // of X-Client-Info and User-Agent
}

// New returns a Client that sends through e. It panics on nil.
func New(e *egress.Client) *Client {
	if e == nil {
		panic("supabase: New without an egress client")
	}
	return &Client{out: e, agent: "chumbo/" + buildVersion()}
}

// buildVersion is the main module's version, or "dev".
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

// reply is an answer read to its end.
type reply struct {
	status   int
	header   http.Header
	body     []byte
	upstream string
	took     time.Duration
}

// send makes the request and reads the answer whole, within limits. The error
// is a *fault.Error, or the context's error when that has ended.
func (c *Client) send(req *http.Request, opt egress.Options) (reply, error) {
	begin := time.Now()
	res, err := c.out.Do(req, opt)
	if err != nil {
		return reply{took: time.Since(begin)}, sendError(req.Context(), err)
	}
	defer func() { _ = res.Body.Close() }()
	r := reply{status: res.StatusCode, header: res.Header, upstream: requestID(res.Header)}
	r.body, err = readBody(res, opt.MaxBytes)
	r.took = time.Since(begin)
	if err != nil {
		return r, sendError(req.Context(), err)
	}
	return r, nil
}

func readBody(res *http.Response, limit int64) ([]byte, error) {
	if n := res.ContentLength; n > 0 && n <= limit {
		body := make([]byte, n)
		if _, err := io.ReadFull(res.Body, body); err != nil {
			return nil, err
		}
		return body, nil
	}
	return io.ReadAll(res.Body)
}

// sendError gives every failure of the way a public face.
func sendError(ctx context.Context, err error) error {
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return cause
	}
	if errors.Is(err, egress.ErrTooLarge) {
		return answerTooLarge(err)
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Wrap(err, fault.Timeout, "project_timeout", "The project did not answer in time. Try again later.")
	}
	return fault.Wrap(err, fault.Unavailable, "project_unreachable", "The project cannot be reached. Try again later.").WithRetryAfter(5 * time.Second)
}

func answerTooLarge(err error) error {
	return fault.Wrap(err, fault.TooLarge, "answer_too_large", "The project's answer is larger than Chumbo reads. Ask for less.")
}

// requestID is the platform's id of the request, cut to what an id looks like.
func requestID(h http.Header) string {
	v := h.Get("Sb-Request-Id")
	if len(v) > 64 {
		v = v[:64]
	}
	for i := 0; i < len(v); i++ {
		if c := v[i]; c <= ' ' || c > '~' {
			return ""
		}
	}
	return v
}

// isJSON reports whether the answer calls itself JSON.
func isJSON(h http.Header) bool {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	t = strings.ToLower(strings.TrimSpace(t))
	return t == "application/json" || (strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json"))
}
