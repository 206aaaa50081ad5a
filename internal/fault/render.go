package fault

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Problem is the body of an RFC 9457 answer.
type Problem struct {
	Type    string  `json:"type"`
	Title   string  `json:"title"`
	Status  int     `json:"status"`
	Detail  string  `json:"detail,omitempty"`
	Code    string  `json:"code,omitempty"`
	Issues  []Issue `json:"issues,omitempty"`
	TraceID string  `json:"trace_id,omitempty"`
}

// ProblemOf builds the RFC 9457 document for err.
func ProblemOf(err error, traceID string) Problem {
	e := From(err)
	return Problem{
		Type: "about:blank", Title: e.Kind.Title(), Status: e.Kind.Status(), Detail: e.Message,
		Code: e.Code, Issues: e.Issues, TraceID: traceID,
	}
}

// WriteProblem answers with application/problem+json (RFC 9457).
func WriteProblem(w http.ResponseWriter, err error, traceID string) {
	e := From(err)
	SetRetryAfter(w.Header(), e.RetryAfter)
	writeJSON(w, e.Kind.Status(), "application/problem+json", ProblemOf(e, traceID))
}

// oauthErrors maps kinds to RFC 6749 section 5.2 codes where Code is empty.
var oauthErrors = map[Kind]string{
	Invalid: "invalid_request", Unprocessable: "invalid_request", TooLarge: "invalid_request",
	Unauthenticated: "invalid_client", Forbidden: "access_denied", NotFound: "invalid_request",
	Unavailable: "temporarily_unavailable", RateLimited: "temporarily_unavailable", Timeout: "temporarily_unavailable",
}

// WriteOAuth answers with an OAuth error object (RFC 6749 section 5.2). An
// Error's Code is taken as the OAuth error code.
func WriteOAuth(w http.ResponseWriter, err error) {
	e := From(err)
	code := e.Code
	if code == "" {
		code = oauthErrors[e.Kind]
	}
	if code == "" {
		code = "server_error"
	}
	SetRetryAfter(w.Header(), e.RetryAfter)
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, e.Kind.Status(), "application/json", map[string]string{"error": code, "error_description": e.Message})
}

// JSON-RPC 2.0 codes, and the one MCP adds for header mismatch (2026-07-28).
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeHeaderMismatch = -32020
)

// RPC is the error member of a JSON-RPC 2.0 response.
type RPC struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// RPCData is the data member of the errors we make.
type RPCData struct {
	Kind    string  `json:"kind"`
	Code    string  `json:"code,omitempty"`
	Issues  []Issue `json:"issues,omitempty"`
	TraceID string  `json:"trace_id,omitempty"`
}

// RPCOf renders err as a JSON-RPC error member.
func RPCOf(err error, traceID string) RPC {
	e := From(err)
	code := int64(CodeInternal)
	switch e.Kind {
	case Invalid, NotFound, Unprocessable:
		code = CodeInvalidParams
	case TooLarge:
		code = CodeInvalidRequest
	}
	return RPC{Code: code, Message: e.Message, Data: RPCData{Kind: e.Kind.String(), Code: e.Code, Issues: e.Issues, TraceID: traceID}}
}

// RPCBody is a JSON-RPC error response. The id is the request's own, byte for
// byte, or nil for null.
func RPCBody(id json.RawMessage, rpc RPC) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   RPC             `json:"error"`
	}{"2.0", id, rpc})
	if err != nil { // our own structs always marshal
		return nil
	}
	return body
}

// SetRetryAfter sets Retry-After in whole seconds, rounded up; zero sets
// nothing.
func SetRetryAfter(h http.Header, d time.Duration) {
	if d > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(d.Seconds()))))
	}
}

func writeJSON(w http.ResponseWriter, status int, contentType string, body any) {
	b, err := json.Marshal(body)
	if err != nil { // our own structs always marshal
		http.Error(w, "internal", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}
