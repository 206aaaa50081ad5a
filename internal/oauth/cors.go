package oauth

import (
	"net/http"
	"strings"
)

const (
	preflightAge  = "7200" // seconds; the longest that browsers keep
	corsHeaders   = "MCP-Protocol-Version, Authorization, Content-Type, Accept"
	maxCORSHeader = 1024
)

// Preflight answers OPTIONS (Fetch standard, CORS-preflight request) of a
// document or endpoint that goes by no cookie: methods, as a list, and every
// header that was asked for. Which origins may call is the caller's to say.
func Preflight(w http.ResponseWriter, r *http.Request, methods string) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", allowedHeaders(r.Header.Get("Access-Control-Request-Headers")))
	h.Set("Access-Control-Max-Age", preflightAge)
	h.Set("Vary", "Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
}

// allowedHeaders names what clients send and whatever else was asked for: where
// no cookie counts, no header can do harm. Only header names are echoed.
func allowedHeaders(asked string) string {
	allowed := corsHeaders
	if len(asked) > maxCORSHeader {
		return allowed
	}
	for name := range strings.SplitSeq(asked, ",") {
		name = strings.TrimSpace(name)
		if name != "" && isHeaderName(name) && !strings.Contains(strings.ToLower(allowed), strings.ToLower(name)) {
			allowed += ", " + name
		}
	}
	return allowed
}

func isHeaderName(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' && s[i] != '_' {
			return false
		}
	}
	return true
}
