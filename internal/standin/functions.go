package standin

import (
	"encoding/json"
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
	handler.ServeHTTP(&functionWriter{ResponseWriter: w}, r)
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
type functionWriter struct{ http.ResponseWriter }

func (w *functionWriter) WriteHeader(status int) {
	if status >= 500 {
		w.Header().Set("Sb-Error-Code", "EDGE_FUNCTION_ERROR")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach Flush.
func (w *functionWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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
