package surfaces

import "slices"

// The ways a project signs its access tokens, as the probe found them.
const (
	SigningAsymmetric = "asymmetric" // the key set has a public key
	SigningHS256      = "hs256"      // a shared secret only: nobody else can verify
)

// ProjectFacts is what publishing needs to know of a project and of this
// instance. A field that is not known is left zero, and what depends on it is
// not refused; the service that publishes knows all of them.
type ProjectFacts struct {
	Signing         string   // SigningAsymmetric or SigningHS256; empty: not known
	OAuthOff        bool     // the project's OAuth 2.1 server is off
	ScopesSupported []string // of the project's own metadata; nil: not known
	Issuer          string   // of the project's own tokens; empty: not known

	// The service fills these in from its own tables.
	HostedSignIn bool      // the bridge signs in on Chumbo's own page, which asks for second factors
	Siblings     []Sibling // the other surfaces of the project that are live
}

// Sibling is another live surface of the same project.
type Sibling struct {
	Slug   string
	Access Access
}

// knowsScope reports whether the project's server can issue the scope. Where
// its scopes are not known, every scope passes.
func (f ProjectFacts) knowsScope(scope string) bool {
	return f.ScopesSupported == nil || slices.Contains(f.ScopesSupported, scope)
}
