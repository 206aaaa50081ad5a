package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// transport hands one message to the server of a revision and returns what it
// answers. It is the only place that knows how the SDK is driven, so that it
// can be replaced. The message has passed the edge's checks; the context
// carries the call.
type transport interface {
	exchange(ctx context.Context, r *revision, m *message) answer
}

// oneShot connects the SDK's server to a connection that carries exactly one
// request and its answer. The SDK's own HTTP handler would read the body four
// times over and check again what the edge has checked; this takes half the
// time and memory.
type oneShot struct{}

// exchange implements transport.
func (oneShot) exchange(ctx context.Context, r *revision, m *message) answer {
	c := callOf(ctx)
	id, err := jsonrpc.MakeID(float64(1)) // the caller's own never enters the SDK, which would change it
	if err != nil {
		return faultAnswer(fmt.Errorf("make id: %w", err), m.id, c.requestID)
	}
	shot := &shot{
		request: &jsonrpc.Request{ID: id, Method: m.method, Params: m.params},
		answer:  make(chan *jsonrpc.Response, 1), closed: make(chan struct{}),
	}
	session, err := r.server.Connect(ctx, shot, &mcp.ServerSessionOptions{State: sessionState(m, c.protocol)})
	if err != nil {
		return faultAnswer(fmt.Errorf("connect: %w", err), m.id, c.requestID)
	}
	// Close waits for the method, which ends with the HTTP request: nothing of
	// the call is touched after this function.
	defer func() { _ = session.Close() }()
	select {
	case res := <-shot.answer:
		return rendered(res, m, c)
	case <-shot.closed:
		return faultAnswer(errors.New("connection closed before the answer"), m.id, c.requestID)
	case <-ctx.Done():
		return faultAnswer(ctx.Err(), m.id, c.requestID) // nobody is there to read it
	}
}

// sessionState is what the SDK must know before the message: nothing in
// 2026-07-28, where every request says it; else the version, as if the
// handshake had been.
func sessionState(m *message, version string) *mcp.ServerSessionState {
	if version >= version20260728 {
		return &mcp.ServerSessionState{}
	}
	state := &mcp.ServerSessionState{InitializedParams: &mcp.InitializedParams{}, LogLevel: "info"}
	if m.method != methodInitialize {
		state.InitializeParams = &mcp.InitializeParams{ProtocolVersion: version}
	}
	return state
}

// rendered is the SDK's response as the answer of m, under its own id.
func rendered(res *jsonrpc.Response, m *message, c *call) answer {
	if res.Error == nil {
		return answer{status: http.StatusOK, body: envelope(m.id, "result", res.Result)}
	}
	wire := wireError(sdkRefusal(res.Error, m.method), c.requestID)
	member, err := json.Marshal(wire)
	if err != nil {
		return faultAnswer(fmt.Errorf("render error: %w", err), m.id, c.requestID)
	}
	return answer{status: statusOf(wire.Code, c.protocol), body: envelope(m.id, "error", member)}
}

// sdkRefusal is the SDK's error made fit to send. It reads the params of
// initialize before any middleware and calls what it cannot read its own
// failure; and it quotes text in a way that is not always JSON.
func sdkRefusal(err error, method string) error {
	var wire *jsonrpc.Error
	switch {
	case !errors.As(err, &wire) && method == methodInitialize:
		return &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: "The params of initialize cannot be read."}
	case wire != nil && len(wire.Data) > 0 && !json.Valid(wire.Data):
		return &jsonrpc.Error{Code: wire.Code, Message: wire.Message}
	}
	return err
}

// envelope is a JSON-RPC response whose id is the caller's, byte for byte.
func envelope(id json.RawMessage, key string, value []byte) []byte {
	out := make([]byte, 0, len(id)+len(value)+40)
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, bytes.TrimSpace(id)...)
	out = append(out, `,"`+key+`":`...)
	out = append(out, value...)
	return append(out, '}')
}

// statusOf is the HTTP status of a JSON-RPC error (MCP 2026-07-28,
// basic/transports); before, all of them travel in 200.
func statusOf(code int64, version string) int {
	if version < version20260728 {
		return http.StatusOK
	}
	switch code {
	case fault.CodeMethodNotFound:
		return http.StatusNotFound
	case fault.CodeInvalidParams, codeUnsupportedVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// shot is both the SDK's Transport and its Connection, for one request.
type shot struct {
	request *jsonrpc.Request
	answer  chan *jsonrpc.Response

	mu     sync.Mutex
	read   bool
	over   bool
	closed chan struct{}
}

// Connect implements mcp.Transport.
func (s *shot) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// Read implements mcp.Connection: the request, then nothing until the end.
func (s *shot) Read(ctx context.Context) (jsonrpc.Message, error) {
	s.mu.Lock()
	first := !s.read
	s.read = true
	s.mu.Unlock()
	if first {
		return s.request, nil
	}
	select {
	case <-s.closed:
	case <-ctx.Done():
	}
	return nil, io.EOF
}

// Write implements mcp.Connection. Notices of a method that answers JSON have
// nowhere to go.
func (s *shot) Write(_ context.Context, msg jsonrpc.Message) error {
	res, ok := msg.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	select {
	case s.answer <- res:
	default: // one request has one answer
	}
	return nil
}

// Close implements mcp.Connection.
func (s *shot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.closed)
	}
	return nil
}

// SessionID implements mcp.Connection: there are no sessions.
func (s *shot) SessionID() string { return "" }
