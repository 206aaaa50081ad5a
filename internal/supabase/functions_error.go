package supabase

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Codes of the functions platform that this package itself tells apart.
const (
	noAuthHeader  = "UNAUTHORIZED_NO_AUTH_HEADER"
	functionFault = "EDGE_FUNCTION_ERROR"
	relayError    = "RELAY_ERROR" // ours, for x-relay-error without a code
)

// platformStatus is the status of the platform's own codes, for platforms that
// say them in the body only.
var platformStatus = map[string]int{
	"BOOT_ERROR": 503, "WORKER_ERROR": 500, "INVALID_RESPONSE_STATUS_CODE": 500, "IDLE_TIMEOUT": 504,
	"WORKER_RESOURCE_LIMIT": 546, "WORKER_LIMIT": 546, "RATE_LIMIT_EXCEEDED": 429,
	noAuthHeader: 401, "UNAUTHORIZED_INVALID_JWT_FORMAT": 401, "UNAUTHORIZED_LEGACY_JWT": 401,
	"UNAUTHORIZED_ASYMMETRIC_JWT": 401, "UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM": 401,
}

// functionErrorOf tells the platform's answers from the function's own: the
// platform names its code in a header, and marks a function's own 5xx as such.
// Older platforms (the local one) do neither.
func functionErrorOf(res *http.Response, content []byte) *FunctionError {
	e := &FunctionError{Status: res.StatusCode, Upstream: requestID(res.Header), RetryAfter: retryAfter(res.Header)}
	said := readSaid(res.Header, content)
	switch code := res.Header.Get("Sb-Error-Code"); {
	case code != "":
		e.Code = shownCode(code)
		e.Own = code == functionFault
		return e
	case res.Header.Get("X-Relay-Error") == "true":
		e.Code = relayError
		if e.Status < 300 {
			e.Status = http.StatusBadGateway
		}
		return e
	}
	if e.Code = oldPlatform(e.Status, said); e.Code != "" {
		return e
	}
	if e.Status < 500 {
		e.Own, e.Message = true, said.shown()
	}
	return e
}

// said is what an answer's body says where it is one of the known forms.
type said struct {
	Code    string `json:"code"`
	Msg     string `json:"msg"`
	text    string // message, error, error.message, or the whole of a short text
	members int
}

func readSaid(h http.Header, content []byte) (s said) {
	if isJSON(h) {
		var all map[string]json.RawMessage
		if json.Unmarshal(content, &all) != nil {
			return s
		}
		s.members = len(all)
		s.Code, s.Msg = textOf(all["code"]), textOf(all["msg"])
		var inner map[string]json.RawMessage
		if s.text = textOf(all["message"]); s.text != "" {
			return s
		}
		if s.text = textOf(all["error"]); s.text == "" && json.Unmarshal(all["error"], &inner) == nil {
			s.text = textOf(inner["message"])
		}
		return s
	}
	if t := mediaType(h); (t == "text/plain" || t == "") && len(content) <= maxMessage {
		s.text = string(content)
	}
	return s
}

// textOf is a JSON text's content, or empty.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// oldPlatform is the code of an answer that a platform gave without the header,
// or empty. An app's author may use the same words: the status has to fit, and
// what needs no code to be understood gets none.
func oldPlatform(status int, s said) string {
	switch {
	case platformStatus[s.Code] == status:
		return s.Code
	case status == 546:
		return "WORKER_LIMIT"
	case status == http.StatusNotFound && s.Code == "NOT_FOUND" && s.text == "Requested function was not found",
		status == http.StatusNotFound && s.members == 0 && s.text == "Function not found":
		return "NOT_FOUND"
	case status != http.StatusUnauthorized || s.members != 1:
		return ""
	case s.Msg == "Error: Missing authorization header":
		return noAuthHeader
	case s.Msg == "Invalid JWT":
		return "UNAUTHORIZED_INVALID_JWT"
	}
	return ""
}

// maxMessage bounds what is passed on of a function's own words, in bytes.
const maxMessage = 1000

// shown is the text as it can be shown: valid UTF-8 on one line, without
// characters that are not seen, of at most maxMessage bytes.
func (s said) shown() string {
	var b strings.Builder
	for _, r := range s.text {
		switch {
		case r == utf8.RuneError, unicode.Is(unicode.Cf, r):
			continue
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			r = ' '
		}
		if b.Len()+utf8.RuneLen(r) > maxMessage {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}
