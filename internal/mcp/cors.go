package mcp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// maxAllowHeaders bounds what a preflight may ask back.
const maxAllowHeaders = 2048

// allowOrigin sets the CORS headers of an answer and reports whether the
// request's origin may call. Any origin may unless the surface lists some: the
// credential is in a header, never a cookie, so a browser adds no authority.
func allowOrigin(h http.Header, access surfaces.Access, r *http.Request) bool {
	h.Set("Access-Control-Expose-Headers", oauth.ExposedHeaders)
	if len(access.Origins) == 0 {
		h.Set("Access-Control-Allow-Origin", "*")
		return true
	}
	h.Add("Vary", "Origin")
	h.Del("Access-Control-Allow-Origin")
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true // not a browser, or a request of the same origin
	}
	if len(origins) > 1 || !slices.Contains(access.Origins, origins[0]) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origins[0])
	return true
}

// preflight answers OPTIONS. Requested headers are reflected, because clients
// of 2026-07-28 send Mcp-Param-* headers of the tools' own naming.
func preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Allow", "POST, OPTIONS")
	h.Set("Access-Control-Allow-Methods", "POST, GET, HEAD, DELETE, OPTIONS")
	h.Set("Access-Control-Max-Age", "7200")
	h.Add("Vary", "Access-Control-Request-Headers")
	if asked := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ", "); validHeaderList(asked) {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	w.WriteHeader(http.StatusNoContent)
}

// validHeaderList accepts a list of header names and nothing else.
func validHeaderList(list string) bool {
	if list == "" || len(list) > maxAllowHeaders {
		return false
	}
	for _, c := range []byte(list) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == ',', c == ' ':
		default:
			return false
		}
	}
	return true
}
