package standin

import (
	"fmt"
	"net/http"
)

// What the stand-in does not have is answered as a project that has it
// switched off.

func (a *authServer) ssoOff(http.ResponseWriter, *http.Request) error {
	return newAuthError(http.StatusNotFound, "saml_provider_disabled", "SAML 2.0 is disabled")
}

func (a *authServer) passkeysOff(http.ResponseWriter, *http.Request) error {
	return newAuthError(http.StatusNotFound, "passkey_disabled", "Passkeys are disabled")
}

// web3Off asks for the captcha first, unlike the others.
func (a *authServer) web3Off(r *http.Request) error {
	var in credentials
	if err := readAuthJSON(r, &in); err != nil {
		return err
	}
	if err := a.checkCaptcha(r, in.Security.CaptchaToken); err != nil {
		return err
	}
	return newAuthError(http.StatusUnprocessableEntity, "web3_provider_disabled", "Web3 provider is disabled")
}

// tokenIssuers are the providers whose ID tokens Auth knows.
var tokenIssuers = map[string]string{"google": "https://accounts.google.com", "apple": "https://appleid.apple.com"}

func idTokenOff(r *http.Request) error {
	var in struct {
		Provider string `json:"provider"`
	}
	if err := readAuthJSON(r, &in); err != nil {
		return err
	}
	issuer, ok := tokenIssuers[in.Provider]
	if !ok {
		return newAuthError(http.StatusNotImplemented, "unexpected_failure", "The stand-in takes no ID tokens")
	}
	return newAuthError(http.StatusBadRequest, "provider_disabled", fmt.Sprintf("Provider (issuer %q) is not enabled", issuer))
}
