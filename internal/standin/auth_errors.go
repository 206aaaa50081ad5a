package standin

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// authError is Auth's own error answer. Its shape depends on the API version
// the caller asked for.
type authError struct {
	status   int
	code     string
	msg      string
	reasons  []string // of a weak password
	noHeader bool     // hook failures come without x-sb-error-code
}

func (e *authError) Error() string { return e.code + ": " + e.msg }

func newAuthError(status int, code, msg string) *authError {
	return &authError{status: status, code: code, msg: msg}
}

func invalidInput(msg string) *authError {
	return newAuthError(http.StatusBadRequest, "validation_failed", msg)
}

// oauthError is the RFC 6749 section 5.2 shape; Auth sends all of them with
// status 400.
type oauthError struct {
	code        string
	description string
}

func (e *oauthError) Error() string { return e.code + ": " + e.description }

// api20240101 is the only version of the API that changes anything.
const api20240101 = "2024-01-01"

// wantsVersioned reports whether the caller asked for the error shape of
// 2024-01-01 or later. A version that is no date is ignored.
func wantsVersioned(r *http.Request) bool {
	asked, err := time.Parse(time.DateOnly, r.Header.Get("X-Supabase-Api-Version"))
	if err != nil {
		return false
	}
	since, err := time.Parse(time.DateOnly, api20240101)
	return err == nil && !asked.Before(since)
}

func writeAuthError(w http.ResponseWriter, r *http.Request, err error) {
	var oauth *oauthError
	if errors.As(err, &oauth) {
		writeAuthJSON(w, http.StatusBadRequest, map[string]any{"error": oauth.code, "error_description": oauth.description})
		return
	}
	api := &authError{status: http.StatusInternalServerError, code: "unexpected_failure", msg: "Unexpected failure, please check server logs for more information"}
	errors.As(err, &api)
	versioned := wantsVersioned(r)
	if !api.noHeader && (!versioned || api.reasons == nil) {
		w.Header().Set("x-sb-error-code", api.code)
	}
	body := map[string]any{"code": api.status, "error_code": api.code, "msg": api.msg}
	if versioned {
		body = map[string]any{"code": api.code, "message": api.msg}
	}
	if api.reasons != nil {
		body["weak_password"] = map[string]any{"reasons": api.reasons}
	}
	if api.status >= http.StatusInternalServerError {
		body["error_id"] = uuid.NewString()
	}
	writeAuthJSON(w, api.status, body)
}

func writeAuthJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		http.Error(w, "encode answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the client is gone; nothing to do
}
