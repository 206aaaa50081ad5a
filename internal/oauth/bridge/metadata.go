package bridge

import (
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// offlineAccess is advertised by the authorization server only, and accepted:
// clients that know it ask for refresh tokens with it. Everybody gets them.
const offlineAccess = "offline_access"

var (
	grantTypes = []string{"authorization_code", "refresh_token"}
	// authMethods has none first: clients that look for it take the first, or
	// fall back to registering where it is missing.
	authMethods   = []string{authNone, authPost, authBasic, authKeyJWT}
	assertionAlgs = []string{"RS256", "ES256", "EdDSA"} // never a shared secret
)

// serverMetadata is the metadata document (RFC 8414 section 2), the same in
// every place. The two last members are there for readers that know OpenID
// Connect Discovery only, which requires them; no ID token is ever issued.
type serverMetadata struct {
	Issuer                string   `json:"issuer"`
	Authorization         string   `json:"authorization_endpoint"`
	Token                 string   `json:"token_endpoint"`
	Registration          string   `json:"registration_endpoint"`
	Revocation            string   `json:"revocation_endpoint"`
	Keys                  string   `json:"jwks_uri"`
	Scopes                []string `json:"scopes_supported"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	AuthAlgs              []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	RevocationAuthAlgs    []string `json:"revocation_endpoint_auth_signing_alg_values_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	ClientDocuments       bool     `json:"client_id_metadata_document_supported"`
	IssInResponse         bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
	SubjectTypes          []string `json:"subject_types_supported"`
	IDTokenAlgs           []string `json:"id_token_signing_alg_values_supported"`
}

// metadataOf is the metadata of the issuer that ep was reached by. The issuer
// is the surface's URL byte for byte, each of its URLs one of its own.
func (s *Service) metadataOf(ep *tenants.Endpoint) serverMetadata {
	issuer := ep.Resource.URL()
	scopes := append(make([]string, 0, len(ep.Access.Advertise)+1), ep.Access.Advertise...)
	return serverMetadata{
		Issuer: issuer, Authorization: s.AuthorizationURL(ep), Token: tokenURL(ep), Registration: issuer + "/oauth/register",
		Revocation: revocationURL(ep), Keys: issuer + "/oauth/jwks.json", Scopes: append(scopes, offlineAccess),
		ResponseTypes: []string{"code"}, ResponseModes: []string{"query"}, GrantTypes: grantTypes,
		AuthMethods: authMethods, AuthAlgs: assertionAlgs, RevocationAuthMethods: authMethods, RevocationAuthAlgs: assertionAlgs,
		ChallengeMethods: []string{"S256"}, ClientDocuments: true, IssInResponse: true,
		SubjectTypes: []string{"public"}, IDTokenAlgs: []string{"ES256"},
	}
}

func tokenURL(ep *tenants.Endpoint) string      { return ep.Resource.URL() + "/oauth/token" }
func revocationURL(ep *tenants.Endpoint) string { return ep.Resource.URL() + "/oauth/revoke" }

func (s *Service) serveMetadata(x *exchange) {
	s.step(x.ep, x.visitor, events.Step{Kind: events.StepMetadata})
	x.header().Set("Cache-Control", metadataAge)
	x.json(http.StatusOK, s.metadataOf(x.ep))
}

// serveKeys answers with the key set of access tokens (RFC 7517).
func (s *Service) serveKeys(x *exchange) {
	document, err := s.keySetDocument(x.r.Context())
	if err != nil {
		x.problem(err)
		return
	}
	x.header().Set("Cache-Control", keySetAge)
	x.write(http.StatusOK, "application/json", document)
}
