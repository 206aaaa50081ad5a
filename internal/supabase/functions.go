package supabase

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Invoke is one call of an Edge Function by POST.
type Invoke struct {
	Slug           string // a letter, then letters, digits, _ and -
	Body           []byte
	ContentType    string // of Body; empty: application/json
	Accept         string
	IdempotencyKey string
	RequestID      string    // ours, as Chumbo-Request-Id; empty: not sent
	TraceParent    string    // W3C Trace Context; empty: not sent
	TraceState     string    // sent only with TraceParent
	Deadline       time.Time // by this machine's clock: when it must have answered whole; told to the function; at most 150 s away
	MaxBytes       int64     // of the answer, or of all events of a stream together; 0: 4 MiB
}

// FunctionAnswer is a function's answer of status 2xx, not yet read. Its body
// ends with an error past MaxBytes and past the deadline; whoever gets it closes
// it. Errors of the body are *fault.Error.
type FunctionAnswer struct {
	Status      int
	ContentType string // media type, lower case, without parameters
	Body        io.ReadCloser
	Upstream    string        // sb-request-id
	Took        time.Duration // until the answer began
}

// FunctionError is an answer of an Edge Function, or of the platform in front of
// it, that is no success.
type FunctionError struct {
	Status     int
	Code       string // sb-error-code, or the code of the platform's JSON; empty for the function's own answer
	Own        bool   // the function's own answer, 5xx of its code (EDGE_FUNCTION_ERROR) included
	Message    string // of an own 4xx: what its author wrote ({"message"} or {"error"} of a JSON object, or short text); else empty
	Upstream   string
	RetryAfter time.Duration
}

// Error is for logs: status and code only.
func (e *FunctionError) Error() string {
	return fmt.Sprintf("function answered %d %s", e.Status, e.Code)
}

// TokenRefused reports whether the platform refused the caller's token itself.
// No code of the function has run then.
func (e *FunctionError) TokenRefused() bool {
	return !e.Own && e.Status == http.StatusUnauthorized && e.Code != noAuthHeader && !strings.HasSuffix(e.Code, "_API_KEY")
}
