package doctor

// The checks of a registration, in the order they run.
const (
	CheckReachable    = "reachable"
	CheckIssuer       = "issuer"
	CheckOrigin       = "api_origin"
	CheckKeys         = "signing_keys"
	CheckDataAPI      = "data_api"
	CheckOAuth        = "oauth_server"
	CheckRegistration = "client_registration"
)

// Registration lists the checks of Probe in order.
func Registration() []Check {
	return []Check{
		{CheckReachable, "Project answers"},
		{CheckIssuer, "Issuer"},
		{CheckOrigin, "API origin"},
		{CheckKeys, "Signing keys"},
		{CheckDataAPI, "Data API"},
		{CheckOAuth, "OAuth server"},
		{CheckRegistration, "Client registration"},
	}
}

// ProbeInput is what a builder gives to register a project.
type ProbeInput struct {
	TypedURL       string // the project URL, as typed
	PublishableKey string // or a legacy anon key; never a secret one

	// AllowSplitIssuer accepts a self-hosted project whose issuer has another
	// origin than the typed URL (CHUMBO_ALLOW_SPLIT_ISSUER).
	AllowSplitIssuer bool
}

// Signing says with what kind of key a project signs its tokens.
type Signing string

// The two kinds. An HS256 project publishes no key, so that nobody else can
// check its tokens.
const (
	SigningAsymmetric Signing = "asymmetric"
	SigningHS256      Signing = "hs256"
)

// ProjectFacts is what a successful probe learnt: all that a project row needs.
type ProjectFacts struct {
	TypedURL        string // scheme://host[:port] of what was typed; for display only
	APIOrigin       string // the only origin that gets tokens
	Issuer          string // as claimed, byte for byte
	JWKSURI         string // same origin as the API
	PublishableKey  string
	Signing         Signing
	OAuthEnabled    bool
	Registration    bool // dynamic client registration is on
	ScopesSupported []string
	SplitIssuer     bool // APIOrigin is not the issuer's; such a project always needs the ownership proof
}

// ProbeResult is the outcome of a probe. Facts is meaningful when Accepted.
type ProbeResult struct {
	Findings []Finding
	Facts    ProjectFacts
}

// Accepted reports whether the project may be registered: no check failed.
// Warnings (HS256 keys, the OAuth server off) do not stand in the way.
func (r ProbeResult) Accepted() bool { return Worst(r.Findings) != Fail }
