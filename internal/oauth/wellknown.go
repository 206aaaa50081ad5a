package oauth

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	wellKnown    = "/.well-known"
	metadataName = "/oauth-protected-resource"
	metadataAge  = "public, max-age=60"
	corsMethods  = "GET, HEAD, OPTIONS"
)

// ResourcePath maps the path of a protected-resource metadata URL to the path
// of the surface URL it describes, for the three shapes clients try:
//
//	/.well-known/oauth-protected-resource{path}
//	{path}/.well-known/oauth-protected-resource
//	{path}/oauth-protected-resource
//
// The bare root yields "/": the host's root surface. It says nothing about
// whether such a surface exists.
func ResourcePath(path string) (resource string, ok bool) {
	if rest, found := strings.CutPrefix(path, wellKnown+metadataName); found {
		switch {
		case rest == "":
			return "/", true
		case rest[0] == '/' && rest != "/":
			return rest, true
		}
		return "", false
	}
	for _, suffix := range []string{wellKnown + metadataName, metadataName} {
		if rest, found := strings.CutSuffix(path, suffix); found && len(rest) > 1 && rest[0] == '/' {
			return rest, true
		}
	}
	return "", false
}

// metadata is the document of RFC 9728 section 2.
type metadata struct {
	Resource             string   `json:"resource"`
	ResourceName         string   `json:"resource_name,omitempty"`
	AuthorizationServers []string `json:"authorization_servers"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	ScopesSupported      []string `json:"scopes_supported,omitempty"`
	Documentation        string   `json:"resource_documentation,omitempty"`
}

// ServeMetadata answers GET, HEAD and OPTIONS of the protected-resource
// metadata of ep (RFC 9728 section 3), with CORS for any origin. It never
// looks at Authorization. A surface that does not list oauth is 404.
func ServeMetadata(w http.ResponseWriter, r *http.Request, ep *tenants.Endpoint) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", ExposedHeaders)
	requestID := h.Get("Chumbo-Request-Id")
	if !ep.Access.Has(surfaces.ModeOAuth) {
		fault.WriteProblem(w, fault.New(fault.NotFound, "no_metadata", "%s", withoutMetadata(ep)), requestID)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		writeMetadata(w, r.Method, ep)
	case http.MethodOptions:
		Preflight(w, r, corsMethods)
	default:
		h.Set("Allow", corsMethods)
		writeDocument(w, r.Method, http.StatusMethodNotAllowed, "application/problem+json", fault.Problem{
			Type: "about:blank", Title: "Method not allowed", Status: http.StatusMethodNotAllowed,
			Detail: "Read this document with GET.", Code: "method_not_allowed", TraceID: requestID,
		})
	}
}

func writeMetadata(w http.ResponseWriter, method string, ep *tenants.Endpoint) {
	w.Header().Set("Cache-Control", metadataAge)
	writeDocument(w, method, http.StatusOK, "application/json", metadata{
		Resource:             ep.Resource.URL(),
		ResourceName:         ep.Title,
		AuthorizationServers: []string{authorizationServer(ep)},
		BearerMethods:        []string{"header"},
		ScopesSupported:      grantable(ep, ep.Access.Advertise),
		Documentation:        ep.Access.Documentation,
	})
}

// withoutMetadata says why there is no metadata, and what to do instead.
func withoutMetadata(ep *tenants.Endpoint) string {
	keys, sessions := ep.Access.Has(surfaces.ModeAPIKey), ep.Access.Has(surfaces.ModeBearer)
	const because = ", and no client signs in to it, so there is no sign-in metadata. "
	switch {
	case keys && sessions:
		return "This server takes keys and sessions of the app" + because + "Send one of them as a Bearer token in the Authorization header."
	case keys:
		return "This server takes keys" + because + "Send one as a Bearer token in the Authorization header."
	case sessions:
		return "This server takes sessions of the app" + because + "Send an access token of the app as a Bearer token in the Authorization header."
	}
	return "This server needs no sign-in, so there is no sign-in metadata."
}

// authorizationServer is the issuer that tokens for ep come from: the very URL
// in bridge mode, the one that the surface names (external), else the project's
// byte for byte as it claims it, path included (without /auth/v1 clients look
// for its metadata in the wrong place).
func authorizationServer(ep *tenants.Endpoint) string {
	switch {
	case ep.Access.Bridged():
		return ep.Resource.URL()
	case takesExternal(ep):
		return ep.Access.Issuer.URL
	}
	return ep.Project.Issuer
}

func writeDocument(w http.ResponseWriter, method string, status int, contentType string, document any) {
	body, err := json.Marshal(document)
	if err != nil { // our own structs always marshal
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if method != http.MethodHead {
		_, _ = w.Write(append(body, '\n'))
	}
}
