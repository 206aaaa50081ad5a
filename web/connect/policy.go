package connect

import (
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/web"
)

// formsOf admits what forms of the sign-in lead to: our pages, and the
// client's redirect URI. Browsers follow form-action through redirects, and a
// code typed by somebody who is known to the client leads there at once.
func (s *site) formsOf(in *bridge.SignIn) web.Policy {
	p := web.Policy{FormActions: []string{s.PagesURL}}
	if in.Purpose == bridge.PurposeAuthorize {
		p.FormActions = append(p.FormActions, redirectSources(in.RedirectURI)...)
	}
	return p
}

// onwards are hosts whose callback redirects on to a program on the computer.
var onwards = map[string][]string{
	"vscode.dev":          {"http://127.0.0.1:*", "http://localhost:*", "vscode:", "vscode-insiders:"},
	"insiders.vscode.dev": {"http://127.0.0.1:*", "http://localhost:*", "vscode:", "vscode-insiders:"},
}

// redirectSources are the CSP sources of a redirect URI: its origin, or its
// scheme where it has no origin that CSP can name.
func redirectSources(uri string) []string {
	u, err := url.Parse(uri)
	if err != nil || !isScheme(u.Scheme) {
		return nil
	}
	if (u.Scheme == "https" || u.Scheme == "http") && isHost(u.Host) {
		return append([]string{u.Scheme + "://" + u.Host}, onwards[u.Host]...)
	}
	return []string{u.Scheme + ":"} // also a loopback address of IPv6
}

func isScheme(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// isHost reports whether a host, with its port, is a CSP host source.
func isHost(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789.-:") == ""
}

// captchaOf is the check that a page shows, with the policy and the script it
// needs. It is nothing until the project has asked for one.
func captchaOf(c bridge.Captcha) (check web.EndUserCaptcha, policy web.Policy, script string) {
	if !c.Needed {
		return
	}
	switch c.Provider {
	case "turnstile":
		const origin = "https://challenges.cloudflare.com"
		policy = web.Policy{Scripts: []string{origin}, Frames: []string{origin}, Connects: []string{origin}}
		script = origin + "/turnstile/v0/api.js"
	case "hcaptcha":
		origins := []string{"https://js.hcaptcha.com", "https://hcaptcha.com", "https://*.hcaptcha.com"}
		policy = web.Policy{Scripts: origins, Frames: origins, Styles: origins, Connects: origins}
		script = "https://js.hcaptcha.com/1/api.js"
	default:
		return
	}
	return web.EndUserCaptcha{Provider: c.Provider, SiteKey: c.SiteKey}, policy, script
}

// captchaFields are what the providers' scripts add to a form.
var captchaFields = []string{"cf-turnstile-response", "h-captcha-response"}
