package standin

import (
	"net/http"
	"strings"
)

// What the Auth process itself allows. apikey and mcp-protocol-version are not
// on the list: the gateway in front answers for those.
const (
	corsExposed = "X-Total-Count, Link, X-Supabase-Api-Version"
	corsMethods = " GET POST PUT PATCH DELETE "
	corsHeaders = " accept authorization content-type x-client-ip x-client-info x-jwt-aud x-use-cookie x-supabase-api-version origin "
)

// preflight answers a CORS preflight and reports whether it did. One that asks
// for more than is allowed is answered without any CORS header.
func preflight(w http.ResponseWriter, r *http.Request) bool {
	method := r.Header.Get("Access-Control-Request-Method")
	if r.Method != http.MethodOptions || method == "" {
		return false
	}
	h := w.Header()
	h.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	asked := r.Header.Get("Access-Control-Request-Headers")
	if r.Header.Get("Origin") != "" && strings.Contains(corsMethods, " "+method+" ") && headersAllowed(asked) {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Allow-Methods", method)
		if asked != "" {
			h.Set("Access-Control-Allow-Headers", asked)
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

func headersAllowed(asked string) bool {
	for name := range strings.SplitSeq(asked, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "" && !strings.Contains(corsHeaders, " "+name+" ") {
			return false
		}
	}
	return true
}

func addCORS(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Origin")
	if r.Header.Get("Origin") == "" {
		return
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	w.Header().Set("Access-Control-Expose-Headers", corsExposed)
}
