package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// transport hands one message to the server of a revision and returns what it
// answers. It is the only place that knows how the SDK is driven, so that it
// can be replaced. The context carries the call.
type transport interface {
	exchange(ctx context.Context, r *revision, m *message, headers http.Header) answer
}

// sdkTransport drives the SDK's own HTTP handler, stateless and answering
// JSON. A handler that answers as a stream takes its place beside it when
// tools can stream.
type sdkTransport struct {
	json http.Handler
}

type serverKey struct{}

func newSDKTransport(cfg Config) *sdkTransport {
	serverOf := func(r *http.Request) *mcp.Server {
		server, _ := r.Context().Value(serverKey{}).(*mcp.Server)
		return server
	}
	return &sdkTransport{json: mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true, Logger: sdkLogger(cfg.Logger),
		// The edge does both: its host list is the Directory, its limit stands
		// before authentication.
		DisableLocalhostProtection: true, MaxRequestBodyBytes: -1,
	})}
}

func (t *sdkTransport) exchange(ctx context.Context, r *revision, m *message, headers http.Header) answer {
	ctx = context.WithValue(ctx, serverKey{}, r.server)
	body := m.forSDK()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return faultAnswer(fmt.Errorf("make request: %w", err), m.id, callOf(ctx).requestID)
	}
	req.Header, req.ContentLength = headers, int64(len(body))
	w := newCapture()
	defer w.release()
	t.json.ServeHTTP(w, req)
	return w.answer(m)
}

// capture is a ResponseWriter that keeps the answer in memory: whether it is
// sent at all is known only after the call (a token refused late), and what
// the project took is told in a header. Its size is bounded by the budgets of
// results.
type capture struct {
	header http.Header
	status int
	body   *bytes.Buffer
}

// maxPooled keeps rare large answers from being held for ever.
const maxPooled = 64 << 10

// buffers are reused between requests; a buffer belongs to one capture.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func newCapture() *capture {
	body, _ := buffers.Get().(*bytes.Buffer)
	return &capture{header: make(http.Header), body: body}
}

func (w *capture) release() {
	if w.body.Cap() > maxPooled {
		return
	}
	w.body.Reset()
	buffers.Put(w.body)
}

// Header implements http.ResponseWriter.
func (w *capture) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *capture) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *capture) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements http.Flusher: the SDK may flush, and there is nothing to do.
func (w *capture) Flush() {}

// answer is the captured answer of m, with its own id and always JSON.
func (w *capture) answer(m *message) answer {
	if w.header.Get("Content-Type") == "application/json" && w.body.Len() > 0 {
		return answer{status: w.status, body: bytes.Clone(m.restoreID(w.body.Bytes()))}
	}
	if w.status < http.StatusBadRequest {
		return answer{status: http.StatusAccepted}
	}
	// The SDK refuses in plain text what it finds before a method runs.
	return rpcAnswer(refuse(fault.CodeInvalidRequest, "The request is not a valid MCP request.").of(m.id).with(w.status))
}
