package doctor

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// accepted are the algorithms a caller's token may be signed with.
var accepted = [...]string{"ES256", "RS256", "EdDSA"}

const migrateKeys = "In Supabase's dashboard open Project Settings, JWT Keys, choose Migrate JWT secret, then Rotate keys, " +
	"so that an ES256 key signs. Self-hosted: give GOTRUE_JWT_KEYS a private ES256 key whose key_ops has sign. Then probe the project again."

// keys reads the project's key set and says what kind of key signs.
func (p *probe) keys(ctx context.Context) Finding {
	if p.origin == "" {
		return skipped()
	}
	address, bad := p.keySetURL()
	if bad != nil {
		return *bad
	}
	facts := map[string]string{"jwks_uri": address}
	body, err := p.sb.KeySet(ctx, "auth:"+p.origin, address)
	if err != nil {
		return Finding{Status: Fail, Summary: "The project's signing keys cannot be read.", Detail: fault.From(err).Message, Facts: facts,
			Fix: "Open " + address + " in a browser: it must answer 200 with a key set. Self-hosted: leave /auth/v1/.well-known/ open in the gateway."}
	}
	signing, err := supabase.SigningOf(body)
	if err != nil {
		return Finding{Status: Fail, Summary: "The address of the signing keys answers something else.", Facts: facts,
			Fix: "Open " + address + " in a browser: it must answer {\"keys\":[…]}."}
	}
	p.result.Facts.JWKSURI = address
	facts["algorithms"] = strings.Join(signing.Algorithms, " ")
	if signing.Kind == supabase.SigningHS256 {
		p.result.Facts.Signing = tenants.SigningHS256
		return Finding{Status: Warn, Summary: "The project signs with a shared secret (HS256) and publishes no key.", Facts: facts,
			Detail: "Nobody else can check its tokens, so surfaces with authorization: direct cannot be published. Surfaces with authorization: bridge work.",
			Fix:    migrateKeys}
	}
	p.result.Facts.Signing = tenants.SigningAsymmetric
	if usable, err := oauth.SigningKeys(body); err != nil || len(usable) == 0 {
		return Finding{Status: Warn, Facts: facts,
			Summary: fmt.Sprintf("The project signs with %s; tokens are accepted with %s.", strings.Join(signing.Algorithms, ", "), strings.Join(accepted[:], ", ")),
			Fix:     "Create an ES256 key in Supabase's dashboard under Project Settings, JWT Keys, and rotate to it. Then probe the project again."}
	}
	return Finding{Status: Pass, Summary: fmt.Sprintf("%s, %d published.", strings.Join(signing.Algorithms, ", "), signing.Keys), Facts: facts}
}

// keySetURL is the jwks_uri of the document under the issuer. It must be on the
// origin that gets the tokens. With a split issuer the same path is read there.
func (p *probe) keySetURL() (string, *Finding) {
	origin, err := supabase.APIOrigin(p.meta.JWKSURI)
	if err == nil && origin == p.origin {
		return p.meta.JWKSURI, nil
	}
	issuerOrigin, _ := supabase.APIOrigin(p.result.Facts.Issuer)
	if err == nil && p.result.SplitIssuer && origin == issuerOrigin {
		if u, err := url.Parse(p.meta.JWKSURI); err == nil {
			return p.origin + u.EscapedPath(), nil
		}
	}
	return "", &Finding{Status: Fail, Facts: map[string]string{"jwks_uri": p.meta.JWKSURI, "api_origin": p.origin},
		Summary: "The project's signing keys are on another origin than the project.",
		Detail:  fmt.Sprintf("The project is %s, its jwks_uri is %q.", p.origin, p.meta.JWKSURI),
		Fix:     "Set GOTRUE_JWT_ISSUER=" + p.origin + authPath + " on the Auth service: jwks_uri is made from it."}
}

// dataAPI asks the Data API for nothing, with the publishable key.
func (p *probe) dataAPI(ctx context.Context) Finding {
	if p.origin == "" {
		return skipped()
	}
	facts := map[string]string{"url": p.origin + "/rest/v1"}
	if p.in.PublishableKey == "" {
		return Finding{Status: Skip, Summary: "Asked next: it needs the publishable key.", Facts: facts}
	}
	err := p.sb.DataAPIReachable(ctx, supabase.Project{APIOrigin: p.origin, PublishableKey: p.in.PublishableKey})
	if err == nil {
		return Finding{Status: Pass, Summary: "It answers to the publishable key.", Facts: facts}
	}
	e := fault.From(err)
	f := Finding{Status: Fail, Summary: "The Data API does not answer as it should.", Detail: e.Message, Facts: facts,
		Fix: "Check that the project is running and that the Data API is on (Supabase's dashboard, Project Settings, Data API), then try again."}
	if e.Code == "publishable_key_refused" {
		f.Summary, f.Detail = "The project refuses this publishable key.", ""
		f.Fix = "Copy the key again: Supabase's dashboard, Project Settings, API Keys, the one that starts sb_publishable_. Legacy anon keys stop working once they are disabled there."
	}
	return f
}

// oauthServer says whether MCP clients can sign users in at the project itself.
func (p *probe) oauthServer() Finding {
	if p.origin == "" {
		return skipped()
	}
	p.result.Facts.OAuthEnabled = p.meta.OAuthServer
	if !p.meta.OAuthServer {
		return Finding{Status: Warn, Summary: "The OAuth server is off.",
			Detail: "Surfaces with authorization: direct cannot be published. Surfaces with authorization: bridge work, with sign-in pages of their own.",
			Fix: "In Supabase's dashboard open Authentication, OAuth Server, and enable it. Self-hosted: GOTRUE_OAUTH_SERVER_ENABLED=true. " +
				"Local: [auth.oauth_server] enabled = true in supabase/config.toml. Then probe the project again."}
	}
	if p.meta.RoutesGuarded {
		return Finding{Status: Warn, Summary: "The OAuth server is on, but the gateway in front of it demands an API key, which MCP clients do not have.",
			Fix: "In the gateway's configuration (kong.yml) leave these routes open, without key-auth: " + openRoutes() + ". Then probe the project again."}
	}
	return Finding{Status: Pass, Summary: "On.", Facts: map[string]string{
		"authorization_endpoint": p.meta.AuthorizationEndpoint, "metadata": p.meta.Source,
		"scopes": strings.Join(p.meta.ScopesSupported, " "),
	}}
}

// registration says whether MCP clients can make themselves known.
func (p *probe) registration() Finding {
	if p.origin == "" || !p.meta.OAuthServer {
		return Finding{Status: Skip, Summary: "Not looked at: the OAuth server comes first."}
	}
	p.result.Registration, p.result.Facts.Registration = p.meta.Registration, p.meta.Registration
	if !p.meta.Registration {
		return Finding{Status: Warn, Summary: "Dynamic client registration is off.",
			Detail: "With authorization: direct most MCP clients register themselves and cannot connect without it. With bridge, paste a client id and secret of the project into its Sign-in settings, or people sign in on pages of Chumbo.",
			Fix: "In Supabase's dashboard open Authentication, OAuth Server, and allow dynamic OAuth apps. Self-hosted: " +
				"GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION=true. Local: [auth.oauth_server] allow_dynamic_registration = true. Or give each client an id by hand."}
	}
	return Finding{Status: Pass, Summary: "On.", Facts: map[string]string{"registration_endpoint": p.meta.RegistrationEndpoint}}
}
