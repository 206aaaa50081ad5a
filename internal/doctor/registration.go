package doctor

import (
	"encoding/json"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// The checks of a registration, in the order they run.
const (
	CheckReachable    = "reachable"
	CheckIssuer       = "issuer"
	CheckOrigin       = "api_origin"
	CheckKeys         = "signing_keys"
	CheckDataAPI      = "data_api"
	CheckOAuth        = "oauth_server"
	CheckRegistration = "client_registration"
	CheckConsent      = "consent_page"
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
		{CheckConsent, "Consent page"},
	}
}

// ProbeInput is what a builder gives to register a project.
type ProbeInput struct {
	TypedURL       string // the project URL, as typed
	PublishableKey string // or a legacy anon key, never a secret one; empty: checks that need it are skipped

	// CheckClient is the OAuth client an earlier probe registered to look at
	// the consent page (see CheckClientOf); without one, the probe registers it.
	CheckClient string

	// AllowSplitIssuer accepts a self-hosted project whose issuer has another
	// origin than the typed URL (CHUMBO_ALLOW_SPLIT_ISSUER).
	AllowSplitIssuer bool
}

// ProbeResult is the outcome of a probe. Facts is meaningful when Accepted.
type ProbeResult struct {
	Findings     []Finding // one per check of Registration, in order
	Facts        tenants.ProjectFacts
	Registration bool // dynamic client registration is on
	SplitIssuer  bool // the API's origin is not the issuer's: such a project always needs the ownership proof
}

// Accepted reports whether the project may be registered: no check failed.
// Warnings (HS256 keys, the OAuth server off) do not stand in the way.
func (r ProbeResult) Accepted() bool { return Worst(r.Findings) != Fail }

// clientFact is the fact of the consent page's finding that names the OAuth
// client which asked.
const clientFact = "client_id"

// CheckClientOf finds the OAuth client that an earlier probe registered at the
// project, in its findings as JSON, so that the next one makes no other. It is
// empty when there is none.
func CheckClientOf(findings json.RawMessage) string {
	var list []Finding
	if json.Unmarshal(findings, &list) != nil {
		return ""
	}
	for _, f := range list {
		if f.Check == CheckConsent {
			return f.Facts[clientFact]
		}
	}
	return ""
}
