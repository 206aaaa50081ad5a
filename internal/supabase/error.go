package supabase

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is an answer of the Data API, or of the gateway in front of it, that is
// not a success. Details and hint are never kept: they can hold rows, SQL and
// names of roles.
type Error struct {
	Status     int    // HTTP status; 300 and above
	Code       string // SQLSTATE, PTnnn or PGRSTnnn; empty from a gateway
	Message    string // as the project wrote it: not for users, unless its author raised it (AuthorMessage)
	Upstream   string // sb-request-id
	Gateway    bool   // not PostgREST's own answer: the gateway's, a proxy's, or no JSON at all
	Rows       int    // rows found, for PGRST116 only; -1 where not said
	RetryAfter time.Duration
}

// Error is for logs: status and code only.
func (e *Error) Error() string {
	if e.Gateway {
		return fmt.Sprintf("project gateway answered %d", e.Status)
	}
	return fmt.Sprintf("project answered %d %s", e.Status, e.Code)
}

// TokenRefused reports whether the Data API refused the token itself, for
// whatever reason. A Postgres error mapped to 401 (42501 as anon) is not one.
func (e *Error) TokenRefused() bool {
	return e.Status == http.StatusUnauthorized && (e.Code == "PGRST301" || e.Code == "PGRST303")
}

// AuthorMessage reports whether Message was written by the app's author to be
// read by its users: RAISE (P0001), a raised status (PTnnn) or a code in the
// SQLSTATE classes that neither the standard nor Postgres uses.
func (e *Error) AuthorMessage() bool {
	if e.Gateway || e.Status < 400 || e.Status >= 500 || e.Message == "" {
		return false
	}
	if e.Code == "P0001" {
		return true
	}
	if len(e.Code) != 5 || strings.HasPrefix(e.Code, "PGRST") {
		return false
	}
	switch e.Code[:2] {
	case "PT":
		return true
	case "53", "54", "55", "57", "58", "72", "P0", "XX":
		return false
	}
	c := e.Code[0]
	return (c >= '5' && c <= '9') || (c >= 'I' && c <= 'Z')
}

// errorOf reads an error answer leniently: the four keys of PostgREST where
// they are, nothing of the body where they are not.
func errorOf(r reply) *Error {
	e := &Error{Status: r.status, Upstream: r.upstream, Gateway: true, Rows: -1, RetryAfter: retryAfter(r.header)}
	var body struct {
		Code    *string         `json:"code"`
		Message *string         `json:"message"`
		Details json.RawMessage `json:"details"`
		Hint    json.RawMessage `json:"hint"`
	}
	if json.Unmarshal(r.body, &body) != nil || body.Code == nil || *body.Code == "" || body.Message == nil {
		return e
	}
	postgrest := strings.Contains(r.header.Get("Proxy-Status"), "PostgREST")
	if !postgrest && (body.Details == nil || body.Hint == nil) {
		return e
	}
	e.Gateway, e.Code, e.Message = false, shownCode(*body.Code), *body.Message
	if e.Code == "PGRST116" {
		e.Rows = firstNumber(string(body.Details))
	}
	return e
}

// shownCode is a code as it may be logged and shown: an app's author can give
// any text as one.
func shownCode(code string) string {
	if len(code) > 32 || strings.ContainsFunc(code, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "unnamed"
	}
	return code
}

// firstNumber reads "The result contains N rows".
func firstNumber(s string) int {
	begin := strings.IndexAny(s, "0123456789")
	if begin < 0 {
		return -1
	}
	end := begin
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[begin:end])
	if err != nil {
		return -1
	}
	return n
}

func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 || n > 3600 {
		return 0
	}
	return time.Duration(n) * time.Second
}
