package tenants

import (
	"net/url"
	"slices"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// Endpoint is one surface as reached by one of its URLs: all that a request
// needs to know before its revision is loaded. Immutable; shared by requests.
type Endpoint struct {
	Organization id.Organization
	Project      ProjectRef
	Surface      id.Surface
	SurfaceSlug  string
	Title        string // of the live revision
	State        State
	Revision     int    // number of the live revision
	Digest       string // hex, of the live revision
	Access       surfaces.Access
	Resource     Resource   // the URL that matched
	URLs         []Resource // every registered URL of the surface, primary first
}

// CanGrant reports whether a sign-in at the surface's authorization server can
// bring the scope: what the project's own metadata offers in direct mode, what
// the surface knows in bridge mode, what the surface advertises of another
// issuer.
func (e *Endpoint) CanGrant(scope string) bool {
	if !e.Access.Has(surfaces.ModeOAuth) {
		return false
	}
	switch e.Access.Authorization {
	case surfaces.AuthorizationBridge:
		return slices.Contains(e.Access.Scopes, scope)
	case surfaces.AuthorizationExternal:
		return slices.Contains(e.Access.Advertise, scope)
	}
	return slices.Contains(e.Project.ScopesSupported, scope)
}

// HasURL reports whether the text is one of the surface's URLs, byte for byte.
func (e *Endpoint) HasURL(text string) bool {
	return text == e.Resource.URL() || slices.ContainsFunc(e.URLs, func(r Resource) bool { return r.URL() == text })
}

// ProjectRef is what a request needs to know of a project.
type ProjectRef struct {
	ID              id.Project
	Slug            string
	APIOrigin       string // scheme://host[:port], the only origin that gets tokens
	Issuer          string // as the project claims it, byte for byte
	JWKSURI         string
	PublishableKey  string
	ScopesSupported []string
	Logo            string // digest of the project's logo in hex; empty for none
	Name            string // as shown to people
	SignInPaused    bool   // ownership was not found three times: nobody is signed in until it is (Ownership.SignInPaused)
}

// State is a surface's switch.
type State string

// The positions of the switch. A paused surface answers 503 with a clear text;
// a read-only one hides tools that are not read-only.
const (
	StateLive     State = "live"
	StateReadOnly State = "read_only"
	StatePaused   State = "paused"
)

// Resource is one registered URL of a surface.
type Resource struct {
	Base string // scheme://host[:port] of the host it was reached by
	Path string // /acme/mcp
	Root bool   // the host's root surface
	Ref  string // names it in addresses of pages: its row, and which base of the host; see Directory.ByRef
}

// URL is the resource identifier as advertised (RFC 8707, RFC 9728), byte for
// byte: no trailing slash, lower-case host, no default port.
func (r Resource) URL() string { return r.Base + r.Path }

// MetadataURL is where the protected-resource metadata of the resource lives
// (RFC 9728 section 3.1, path inserted).
func (r Resource) MetadataURL() string {
	return r.Base + "/.well-known/oauth-protected-resource" + (&url.URL{Path: r.Path}).EscapedPath()
}
