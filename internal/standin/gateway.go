package standin

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// gateway is the front door of a project: it checks the apikey, fills in a
// missing Authorization from it, and sends each path to its service.
type gateway struct {
	keys       apiKeys
	selfHosted bool
	auth       *authServer
	data       *dataAPI
	functions  *edgeFunctions
	storage    *storageServer
	pages      http.Handler
}

func newGateway(keys apiKeys, selfHosted bool, auth *authServer, data *dataAPI, functions *edgeFunctions, storage *storageServer) *gateway {
	return &gateway{keys: keys, selfHosted: selfHosted, auth: auth, data: data, functions: functions, storage: storage, pages: auth.pages()}
}

// roleHeader tells a service as whom a request without a user's token runs.
// The gateway sets it; what a client sends under that name is dropped.
const roleHeader = "X-Standin-Role"

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Sb-Request-Id", uuid.NewString())
	r.Header.Del(roleHeader)
	path := r.URL.Path
	switch {
	case within(path, "/auth/v1"):
		g.serveAuth(w, r, strings.TrimPrefix(path, "/auth/v1"))
	case !g.selfHosted && within(path, "/.well-known/oauth-authorization-server/auth/v1"):
		// The hosted gateway rewrites this one inserted form, no other.
		g.serveAuth(w, r, "/.well-known/oauth-authorization-server")
	case g.selfHosted && within(path, "/.well-known/oauth-authorization-server"):
		g.auth.ServeHTTP(w, r) // an open route that keeps the path as it is
	case strings.HasPrefix(path, "/.well-known/"):
		http.NotFound(w, r)
	case path == "/rest/v1/":
		g.serveRoot(w, r)
	case strings.HasPrefix(path, "/rest/v1/"):
		if g.admit(w, r) {
			stripped(g.data, "/rest/v1").ServeHTTP(w, r)
		}
	case strings.HasPrefix(path, "/functions/v1/"):
		stripped(g.functions, "/functions/v1").ServeHTTP(w, r)
	case strings.HasPrefix(path, "/storage/v1/"):
		// Links and public files come without a key; a key that is sent must be one.
		if r.Header.Get("Apikey") == "" || g.admit(w, r) {
			stripped(g.storage, "/storage/v1").ServeHTTP(w, r)
		}
	case within(path, "/rest"), within(path, "/functions"), within(path, "/storage"):
		writeGatewayError(w, http.StatusNotFound, "", "no Route matched with those values", "")
	default:
		g.pages.ServeHTTP(w, r)
	}
}

// openAuthPaths need no apikey: browsers and OAuth clients come without one.
var openAuthPaths = []string{
	"/verify", "/callback", "/authorize", "/.well-known/oauth-authorization-server",
	"/.well-known/openid-configuration", "/.well-known/jwks.json",
	"/oauth/authorize", "/oauth/token", "/oauth/clients/register", "/oauth/userinfo",
}

var openAuthPathsSelfHosted = []string{"/verify", "/callback", "/authorize", "/.well-known/jwks.json"}

func (g *gateway) serveAuth(w http.ResponseWriter, r *http.Request, path string) {
	open := openAuthPaths
	if g.selfHosted {
		open = openAuthPathsSelfHosted
	} else if gatewayPreflight(w, r) {
		return
	}
	if !isOneOf(path, open) && r.Method != http.MethodOptions && !g.admit(w, r) {
		return
	}
	if path == "" {
		path = "/"
	}
	r2 := r.Clone(r.Context())
	r2.URL.Path, r2.URL.RawPath = path, ""
	g.auth.ServeHTTP(w, r2)
}

// gatewayPreflight answers a browser's preflight before Auth does, and reports
// whether it did: Auth itself allows no apikey header, without which no page
// could sign anybody in.
func gatewayPreflight(w http.ResponseWriter, r *http.Request) bool {
	method := r.Header.Get("Access-Control-Request-Method")
	if r.Method != http.MethodOptions || method == "" || r.Header.Get("Origin") == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", method)
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// serveRoot is the OpenAPI root: closed to everything but secret keys, and not
// part of the stand-in even for them.
func (g *gateway) serveRoot(w http.ResponseWriter, r *http.Request) {
	if !g.admit(w, r) {
		return
	}
	switch r.Header.Get("Apikey") {
	case g.keys.secret, g.keys.service:
		notImplemented("the OpenAPI root").write(w)
	case g.keys.anon:
		writeGatewayError(w, http.StatusForbidden, "", "Access to schema is forbidden",
			"Accessing the schema via the Data API is only allowed using a secret API key.")
	default:
		writeGatewayError(w, http.StatusUnauthorized, "UNAUTHORIZED_INVALID_API_KEY_TYPE", "Secret API key required",
			"Only secret API keys can be used for this endpoint.")
	}
}

// admit checks the apikey header and settles as whom the request runs. It
// answers and returns false where the key is missing or wrong.
func (g *gateway) admit(w http.ResponseWriter, r *http.Request) bool {
	key := r.Header.Get("Apikey")
	var role string
	switch key {
	case "":
		writeGatewayError(w, http.StatusUnauthorized, "UNAUTHORIZED_MISSING_API_KEY", "No API key found in request",
			"No `apikey` request header or url param was found.")
		return false
	case g.keys.publishable, g.keys.anon:
		role = "anon"
	case g.keys.secret, g.keys.service:
		role = "service_role"
	default:
		writeGatewayError(w, http.StatusUnauthorized, "UNAUTHORIZED_INVALID_API_KEY", "Invalid API key",
			"Double check your Supabase `anon` or `service_role` API key.")
		return false
	}
	authorization := r.Header.Get("Authorization")
	if authorization == "" || strings.HasPrefix(strings.ToLower(authorization), "bearer sb_") {
		r.Header.Del("Authorization")
		r.Header.Set(roleHeader, role)
	}
	return true
}

// writeGatewayError writes an error of the gateway itself: unlike the Data
// API's it has no code member.
func writeGatewayError(w http.ResponseWriter, status int, code, message, hint string) {
	body := map[string]string{"message": message}
	if hint != "" {
		body["hint"] = hint
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if code != "" {
		w.Header().Set("Sb-Error-Code", code)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func isOneOf(path string, list []string) bool {
	for _, entry := range list {
		if path == entry {
			return true
		}
	}
	return false
}

// stripped is http.StripPrefix, which must not clean the rest of the path.
func stripped(h http.Handler, prefix string) http.Handler { return http.StripPrefix(prefix, h) }
