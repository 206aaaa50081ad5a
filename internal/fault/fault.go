// Package fault owns the one error type that crosses an edge of Chumbo: a
// kind, a text that may be shown, and a cause that may not. Its three
// renderers turn any error into an RFC 9457 problem, an OAuth error object or
// a JSON-RPC error; an error of another type becomes internal.
//
// It never logs and never puts a cause into an answer.
package fault

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind says what went wrong, independent of protocol.
type Kind uint8

// The kinds, each with the HTTP status it means at an HTTP edge.
const (
	Internal        Kind = iota // 500: our fault; the text is always generic
	Invalid                     // 400: the input is wrong; the text says how
	Unauthenticated             // 401: no credential, or a bad one
	Forbidden                   // 403: known, and not allowed
	NotFound                    // 404: nothing there, or not for this caller
	Conflict                    // 409: the state or a name stands in the way
	TooLarge                    // 413: over a size limit
	Unprocessable               // 422: well-formed, but refused as a whole
	RateLimited                 // 429: too often; RetryAfter says when
	Misdirected                 // 421: this host is not served here
	Unsupported                 // 501: the format has it, this version does not
	Unavailable                 // 503: a neighbour is away; RetryAfter says when
	Timeout                     // 504: a neighbour did not answer in time
)

var kinds = map[Kind]struct {
	status int
	name   string
	title  string
}{
	Internal:        {http.StatusInternalServerError, "internal", "Something went wrong on our side"},
	Invalid:         {http.StatusBadRequest, "invalid", "The request is not valid"},
	Unauthenticated: {http.StatusUnauthorized, "unauthenticated", "Sign-in is needed"},
	Forbidden:       {http.StatusForbidden, "forbidden", "Not allowed"},
	NotFound:        {http.StatusNotFound, "not_found", "Not found"},
	Conflict:        {http.StatusConflict, "conflict", "In conflict with what is there"},
	TooLarge:        {http.StatusRequestEntityTooLarge, "too_large", "Too large"},
	Unprocessable:   {http.StatusUnprocessableEntity, "unprocessable", "Refused as a whole"},
	RateLimited:     {http.StatusTooManyRequests, "rate_limited", "Too many requests"},
	Misdirected:     {http.StatusMisdirectedRequest, "misdirected", "This host is not served here"},
	Unsupported:     {http.StatusNotImplemented, "unsupported", "Not yet supported"},
	Unavailable:     {http.StatusServiceUnavailable, "unavailable", "Temporarily unavailable"},
	Timeout:         {http.StatusGatewayTimeout, "timeout", "No answer in time"},
}

// Status is the HTTP status of the kind.
func (k Kind) Status() int { return kinds[k].status }

// String is the kind's name on the wire, such as "not_found".
func (k Kind) String() string { return kinds[k].name }

// Title is the kind's short human title.
func (k Kind) Title() string { return kinds[k].title }

// Issue points at one thing wrong in the input.
type Issue struct {
	Path    string `json:"path,omitempty"`   // JSON pointer or dotted path into the input
	Line    int    `json:"line,omitempty"`   // 1-based, for text input
	Column  int    `json:"column,omitempty"` // 1-based, for text input
	Message string `json:"message"`          // what is wrong and what to do
}

// Error is an error with a public face. Make one with New or Wrap; extend it
// with the With methods, which return the same error for chaining.
type Error struct {
	Kind       Kind
	Code       string        // stable machine word, such as "name_taken"; may be empty
	Message    string        // public: the outcome first, then the next step
	Issues     []Issue       // public: details by place
	RetryAfter time.Duration // for RateLimited and Unavailable
	Cause      error         // private: for logs only
}

// New returns an Error without a cause. The message is public.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an Error with a private cause. The message is public.
func Wrap(cause error, kind Kind, code, format string, args ...any) *Error {
	e := New(kind, code, format, args...)
	e.Cause = cause
	return e
}

// WithIssues adds details by place.
func (e *Error) WithIssues(issues ...Issue) *Error {
	e.Issues = append(e.Issues, issues...)
	return e
}

// WithRetryAfter says when trying again makes sense.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// Error is for logs: it includes the cause.
func (e *Error) Error() string {
	s := e.Kind.String()
	if e.Code != "" {
		s += " " + e.Code
	}
	s += ": " + e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.Cause }

// From returns the Error inside err, or an internal one that hides err.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap(err, Internal, "", "Something went wrong on our side. Try again; if it stays, send us the request id.")
}

// Is reports whether err carries an Error of the given kind.
func Is(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}
