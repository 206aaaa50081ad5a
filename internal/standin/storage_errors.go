package standin

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// storageError is an error as Storage answers it: HTTP 400 for nearly
// everything, the real status as text inside.
type storageError struct {
	StatusCode any    `json:"statusCode"` // text; a number in the web framework's own
	Code       string `json:"code,omitempty"`
	Name       string `json:"error"`
	Message    string `json:"message"`

	status int // of HTTP; 0: 400
}

func (e *storageError) Error() string { return e.Code + " " + e.Message }

func (e *storageError) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Del("Content-Length")
	status := e.status
	if status == 0 {
		status = http.StatusBadRequest
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e)
}

var (
	errNoBucket  = &storageError{StatusCode: "404", Code: "NoSuchBucket", Name: "Bucket not found", Message: "Bucket not found"}
	errNoObject  = &storageError{StatusCode: "404", Code: "NoSuchKey", Name: "not_found", Message: "Object not found"}
	errDuplicate = &storageError{StatusCode: "409", Code: "KeyAlreadyExists", Name: "Duplicate", Message: "The resource already exists"}
	errTooLarge  = &storageError{StatusCode: "413", Code: "EntityTooLarge", Name: "Payload too large", Message: "The object exceeded the maximum allowed size"}
)

func accessDenied(message string) *storageError {
	return &storageError{StatusCode: "403", Code: "AccessDenied", Name: "Unauthorized", Message: message}
}

func invalidKey(key string) *storageError {
	return &storageError{StatusCode: "400", Code: "InvalidKey", Name: "InvalidKey", Message: "Invalid key: " + key}
}

func invalidType(mime string) *storageError {
	return &storageError{StatusCode: "415", Code: "InvalidMimeType", Name: "invalid_mime_type", Message: "mime type " + mime + " is not supported"}
}

func invalidLink(code, message string) *storageError {
	return &storageError{StatusCode: "400", Code: code, Name: code, Message: message}
}

// schemaError is the web framework's refusal of a request's form.
func schemaError(message string) *storageError {
	return &storageError{StatusCode: 400, Code: "FST_ERR_VALIDATION", Name: "Bad Request", Message: message}
}

func noRoute(r *http.Request) *storageError {
	return &storageError{
		StatusCode: 404, Name: "Not Found", Message: "Route " + r.Method + ":" + r.URL.Path + " not found", status: http.StatusNotFound,
	}
}

// notInStorage refuses what is outside the stand-in's subset.
func notInStorage(what string) *storageError {
	return &storageError{
		StatusCode: "501", Code: "NotImplemented", Name: "NotImplemented",
		Message: "The stand-in does not know " + what + ".", status: http.StatusNotImplemented,
	}
}

// asStorageError turns any error into an answer.
func asStorageError(err error) *storageError {
	var known *storageError
	if errors.As(err, &known) {
		return known
	}
	var fromPostgres *pgconn.PgError
	if !errors.As(err, &fromPostgres) {
		return &storageError{StatusCode: "500", Code: "InternalError", Name: "InternalError", Message: "Internal server error", status: http.StatusInternalServerError}
	}
	switch fromPostgres.Code {
	case "42501":
		return accessDenied("new row violates row-level security policy")
	case "23505":
		return errDuplicate
	case "23503":
		return errNoBucket
	case "22023":
		return accessDenied(fromPostgres.Message)
	case "57014":
		return databaseError(544, "DatabaseTimeout", "The connection to the database timed out")
	}
	return databaseError(http.StatusInternalServerError, "DatabaseError", fromPostgres.Message)
}

func databaseError(status int, code, message string) *storageError {
	return &storageError{StatusCode: strconv.Itoa(status), Code: code, Name: code, Message: message, status: status}
}
