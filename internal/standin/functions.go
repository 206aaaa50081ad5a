package standin

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// edgeFunctions serves Edge Functions: handlers by slug, behind the platform's
// token check. It sees paths with /functions/v1 taken off.
type edgeFunctions struct {
	handlers map[string]http.Handler
	open     []string // slugs without the token check
	keys     *keyring
	now      func() time.Time
}

func (f *edgeFunctions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	slug, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	handler, ok := f.handlers[slug]
	if !ok {
		writeFunctionError(w, http.StatusNotFound, "NOT_FOUND", "Requested function was not found")
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		writeFunctionError(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "Method not allowed")
		return
	}
	if r.Method != http.MethodOptions && !slices.Contains(f.open, slug) {
		if code, message := f.refusal(r.Header.Get("Authorization")); code != "" {
			writeFunctionError(w, http.StatusUnauthorized, code, message)
			return
		}
	}
	// A request that is read tells its handler when the caller goes away.
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := &functionWriter{ResponseWriter: w}
	defer answer.die()
	handler.ServeHTTP(answer, r)
}

// refusal is the platform's verify_jwt: some valid token of the project, the
// legacy anon key included.
func (f *edgeFunctions) refusal(authorization string) (code, message string) {
	token, ok := bearer(authorization)
	if !ok {
		return "UNAUTHORIZED_NO_AUTH_HEADER", "Missing authorization header"
	}
	header, _, err := peekToken(token)
	if err != nil {
		return "UNAUTHORIZED_INVALID_JWT_FORMAT", "Invalid JWT"
	}
	switch header.Alg {
	case "HS256":
		code = "UNAUTHORIZED_LEGACY_JWT"
	case "ES256", "RS256":
		code = "UNAUTHORIZED_ASYMMETRIC_JWT"
	default:
		return "UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM", "Unsupported token algorithm"
	}
	if _, err := f.keys.verify(token, f.now()); err != nil {
		return code, "Invalid JWT"
	}
	return "", ""
}

// functionWriter adds the header that the platform adds to a function's own
// 5xx.
type functionWriter struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (w *functionWriter) WriteHeader(status int) {
	w.begun = true
	if status >= 500 {
		w.Header().Set("Sb-Error-Code", "EDGE_FUNCTION_ERROR")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *functionWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *functionWriter) Flush() {
	w.begun = true
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *functionWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// die is what becomes of a handler's panic, as of a worker that dies: an error
// of the platform, or a connection that breaks where the answer has begun or
// the panic is http.ErrAbortHandler.
func (w *functionWriter) die() {
	cause := recover()
	if cause == nil {
		return
	}
	if w.begun || cause == any(http.ErrAbortHandler) {
		panic(http.ErrAbortHandler) // the server cuts the connection, and says nothing
	}
	for name := range w.Header() {
		if name != "Sb-Request-Id" {
			w.Header().Del(name)
		}
	}
	FunctionError("WORKER_ERROR").ServeHTTP(w, nil)
}

// FunctionError answers as the functions platform does for one of its codes:
// BOOT_ERROR, WORKER_ERROR, WORKER_RESOURCE_LIMIT, WORKER_LIMIT, IDLE_TIMEOUT,
// RATE_LIMIT_EXCEEDED or NOT_FOUND. It is a function, part of one that has not
// written yet, or an answer for AnswerNext. It panics on another code.
func FunctionError(code string) http.Handler {
	known, ok := platformFailures[code]
	if !ok {
		panic("standin: no code of the functions platform: " + code)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if own, ok := w.(*functionWriter); ok {
			own.begun = true
			w = own.ResponseWriter
		}
		writeFunctionError(w, known.status, code, known.message)
	})
}

var platformFailures = map[string]struct {
	status  int
	message string
}{
	"BOOT_ERROR":            {503, "Function failed to start (please check logs)"},
	"WORKER_ERROR":          {500, "Function exited due to an error (please check logs)"},
	"WORKER_RESOURCE_LIMIT": {546, "Function failed due to not having enough compute resources (please check logs)"},
	"WORKER_LIMIT":          {546, "Function failed due to not having enough compute resources (please check logs)"},
	"IDLE_TIMEOUT":          {504, "The function did not answer in time"},
	"RATE_LIMIT_EXCEEDED":   {429, "Rate limit exceeded"},
	"NOT_FOUND":             {404, "Requested function was not found"},
}

func writeFunctionError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Sb-Error-Code", code)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": message})
}

func bearer(authorization string) (token string, ok bool) {
	scheme, token, found := strings.Cut(authorization, " ")
	return strings.TrimSpace(token), found && strings.EqualFold(scheme, "bearer") && strings.TrimSpace(token) != ""
}
