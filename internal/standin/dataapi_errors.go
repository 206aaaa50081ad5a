package standin

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// apiError is an error as the Data API answers it: always these four members.
type apiError struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Details any     `json:"details"` // text, null, or a list (PGRST201)
	Hint    *string `json:"hint"`

	status    int
	challenge string      // WWW-Authenticate
	header    http.Header // further headers a raise asked for
}

func (e *apiError) Error() string { return e.Code + " " + e.Message }

func (e *apiError) write(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range e.header {
		h[name] = values
	}
	h.Set("Content-Type", jsonType)
	h.Set("Proxy-Status", "PostgREST; error="+e.Code)
	if e.challenge != "" {
		h.Set("WWW-Authenticate", e.challenge)
	}
	if e.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(e.status)
	body, err := json.Marshal(e)
	if err != nil {
		return // strings always encode
	}
	_, _ = w.Write(body)
}

const jsonType = "application/json; charset=utf-8"

func text(s string) *string { return &s }

// notImplemented refuses what is outside the stand-in's subset.
func notImplemented(what string) *apiError {
	return &apiError{
		status: http.StatusBadRequest, Code: "PGRST127", Message: "Feature not implemented",
		Details: "The stand-in does not know " + what + ".",
	}
}

func parseError(what, input, details string) *apiError {
	return &apiError{
		status: http.StatusBadRequest, Code: "PGRST100",
		Message: `"failed to parse ` + what + ` (` + input + `)" (line 1, column 1)`, Details: details,
	}
}

// asAPIError turns any error into an answer.
func asAPIError(err error) *apiError {
	var known *apiError
	if errors.As(err, &known) {
		return known
	}
	var fromPostgres *pgconn.PgError
	if errors.As(err, &fromPostgres) {
		return postgresError(fromPostgres, false)
	}
	return &apiError{status: http.StatusServiceUnavailable, Code: "PGRST000", Message: "Database connection error. Retrying the connection.", Details: err.Error()}
}

// postgresError maps an error of the database. A refusal for want of a
// privilege is 403 to a signed-in role and 401 to anon.
func postgresError(e *pgconn.PgError, anon bool) *apiError {
	if e.Code == "PGRST" {
		return raisedError(e)
	}
	status := sqlStatus(e.Code, e.Message, anon)
	out := &apiError{status: status, Code: e.Code, Message: e.Message}
	if e.Detail != "" {
		out.Details = e.Detail
	}
	if e.Hint != "" {
		out.Hint = text(e.Hint)
	}
	if status == http.StatusUnauthorized {
		out.challenge = "Bearer"
	}
	return out
}

// sqlStatuses maps SQLSTATEs, whole or by class, in order of first match.
var sqlStatuses = []struct {
	state  string
	status int
}{
	{"25006", 405}, {"23503", 409}, {"23505", 409}, {"42883", 404}, {"42P01", 404}, {"42P17", 500},
	{"53400", 500}, {"57P01", 503}, {"P0001", 400}, {"21000", 500},
	{"08", 503}, {"53", 503}, {"0L", 403}, {"0P", 403}, {"28", 403},
	{"09", 500}, {"25", 500}, {"2D", 500}, {"38", 500}, {"39", 500}, {"3B", 500}, {"40", 500},
	{"54", 500}, {"55", 500}, {"57", 500}, {"58", 500}, {"F0", 500}, {"HV", 500}, {"P0", 500}, {"XX", 500},
}

func sqlStatus(state, message string, anon bool) int {
	switch {
	case state == "42501" && anon:
		return http.StatusUnauthorized
	case state == "42501":
		return http.StatusForbidden
	case state == "21000" && strings.HasSuffix(message, "requires a WHERE clause"):
		return http.StatusBadRequest
	case state == "22023" && strings.HasPrefix(message, "role ") && strings.HasSuffix(message, "does not exist"):
		return http.StatusUnauthorized
	case strings.HasPrefix(state, "PT"):
		if n, err := strconv.Atoi(state[2:]); err == nil && n >= 100 && n < 600 {
			return n
		}
		return http.StatusInternalServerError
	}
	for _, rule := range sqlStatuses {
		if strings.HasPrefix(state, rule.state) {
			return rule.status
		}
	}
	return http.StatusBadRequest
}

// raisedError reads a raise with SQLSTATE PGRST, whose message and detail are
// JSON.
func raisedError(e *pgconn.PgError) *apiError {
	broken := &apiError{
		status: http.StatusInternalServerError, Code: "PGRST121",
		Message: "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error",
		Details: "Invalid JSON value for MESSAGE: '" + e.Message + "'",
		Hint:    text("MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'."),
	}
	var message struct {
		Code, Message *string
		Details, Hint *string
	}
	var detail struct {
		Status  *int
		Headers map[string]string
	}
	if json.Unmarshal([]byte(e.Message), &message) != nil || message.Code == nil || message.Message == nil {
		return broken
	}
	if json.Unmarshal([]byte(e.Detail), &detail) != nil || detail.Status == nil {
		broken.Details = "Invalid JSON value for DETAIL: '" + e.Detail + "'"
		return broken
	}
	out := &apiError{status: *detail.Status, Code: *message.Code, Message: *message.Message, Hint: message.Hint, header: http.Header{}}
	if message.Details != nil {
		out.Details = *message.Details
	}
	for name, value := range detail.Headers {
		out.header.Set(name, value)
	}
	return out
}
