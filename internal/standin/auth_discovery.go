package standin

import "net/http"

// metadata is the authorization server document (RFC 8414), also served as the
// OpenID one. Every URL is the configured issuer plus a suffix.
func (a *authServer) metadata(w http.ResponseWriter, _ *http.Request) error {
	iss := a.issuer()
	doc := map[string]any{
		"issuer":                                iss,
		"authorization_endpoint":                iss + "/oauth/authorize",
		"token_endpoint":                        iss + "/oauth/token",
		"jwks_uri":                              iss + "/.well-known/jwks.json",
		"userinfo_endpoint":                     iss + "/oauth/userinfo",
		"scopes_supported":                      supportedScopes,
		"response_types_supported":              []string{"code"},
		"response_modes_supported":              []string{"query"},
		"grant_types_supported":                 []string{"authorization_code", "refresh_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "ES256"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic", "client_secret_post", "none"},
		"claims_supported": []string{"sub", "aud", "iss", "exp", "iat", "auth_time", "nonce", "email", "email_verified",
			"phone_number", "phone_number_verified", "name", "picture", "preferred_username", "updated_at"},
		"code_challenge_methods_supported": []string{"S256", "plain"},
	}
	if a.registrationOn() {
		doc["registration_endpoint"] = iss + "/oauth/clients/register"
	}
	w.Header().Set("Cache-Control", "public, max-age=600")
	writeAuthJSON(w, http.StatusOK, doc)
	return nil
}

func (a *authServer) jwks(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=600")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(a.cfg.keys.jwks()) // the client is gone; nothing to do
	return nil
}

// settings says which ways of signing in there are, and nothing about OAuth.
func (a *authServer) settings(w http.ResponseWriter, _ *http.Request) error {
	external := map[string]bool{"email": !a.cfg.emailOff}
	for _, name := range knownProviders {
		external[name] = a.cfg.providers[name].url != ""
	}
	external["anonymous_users"] = a.cfg.anonymousOn
	writeAuthJSON(w, http.StatusOK, map[string]any{
		"external":                         external,
		"disable_signup":                   a.cfg.signupOff,
		"mailer_autoconfirm":               !a.cfg.confirmationOn,
		"phone_autoconfirm":                false,
		"sms_provider":                     "",
		"saml_enabled":                     false,
		"saml_private_key_next_configured": true,
		"passkeys_enabled":                 false,
	})
	return nil
}

func (a *authServer) health(w http.ResponseWriter, _ *http.Request) error {
	writeAuthJSON(w, http.StatusOK, map[string]any{
		"version": "", "name": "GoTrue",
		"description": "GoTrue is a user registration and authentication API",
	})
	return nil
}

// knownProviders are the names Auth answers for in its settings; one that is
// not configured is known but off.
var knownProviders = []string{"anonymous_users", "apple", "azure", "bitbucket", "discord", "facebook", "snapchat", "figma",
	"fly", "github", "gitlab", "google", "keycloak", "kakao", "linkedin", "linkedin_oidc", "notion", "spotify", "slack",
	"slack_oidc", "workos", "twitch", "twitter", "phone", "zoom"}
