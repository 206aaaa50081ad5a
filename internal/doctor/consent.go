package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// consentPlace says where Supabase keeps both halves of the consent page's
// address.
const consentPlace = "In Supabase's dashboard: Authentication, URL Configuration, Site URL, and Authentication, OAuth Server, Authorization Path. " +
	"Self-hosted: GOTRUE_SITE_URL and GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH."

// consentPage looks where the OAuth server sends people: Site URL plus
// authorization path. The OAuth server can be on and still fail there.
func (p *probe) consentPage(ctx context.Context) Finding {
	if p.origin == "" || !p.meta.OAuthServer || p.meta.RoutesGuarded {
		return Finding{Status: Skip, Summary: "Not looked at: the OAuth server comes first."}
	}
	if !p.meta.Registration && p.in.CheckClient == "" {
		return Finding{Status: Skip, Summary: "Not looked at: it takes a registered client."}
	}
	found, err := p.sb.Consent(ctx, p.origin, p.in.CheckClient)
	if err != nil {
		return Finding{Status: Warn, Summary: "Sign-in could not be begun as an MCP client would.", Detail: fault.From(err).Message,
			Fix: "Try again. If it stays, look at the project's Auth log for /oauth/authorize."}
	}
	facts := map[string]string{clientFact: found.ClientID}
	if found.Page == "" {
		return refusedConsent(found.Refused, facts)
	}
	facts["page"] = found.Page
	return p.lookAtConsentPage(ctx, found, facts)
}

func refusedConsent(why string, facts map[string]string) Finding {
	if strings.Contains(why, "authorization path not configured") {
		return Finding{Status: Warn, Facts: facts,
			Summary: "The OAuth server is on, but has no consent page: every sign-in ends with an error.",
			Detail:  "Supabase Auth says: " + why + ".",
			Fix: "Set the authorization path (such as /oauth/consent) together with the OAuth server: chumbo link --configure does both at once for projects at supabase.co. " +
				consentPlace}
	}
	return Finding{Status: Warn, Facts: facts, Summary: "The OAuth server refuses a plain sign-in request.", Detail: "Supabase Auth says: " + why + ".",
		Fix: "Look at the project's Auth log for /oauth/authorize."}
}

func (p *probe) lookAtConsentPage(ctx context.Context, found supabase.Consent, facts map[string]string) Finding {
	page, err := url.Parse(found.Page)
	if err != nil {
		return refusedConsent("its address cannot be read", facts)
	}
	origin := page.Scheme + "://" + page.Host
	// Supabase Auth compares the page's Origin with the Site URL's: another
	// origin is refused unless that origin itself is listed.
	detail := "The page must be served from " + origin + ". To serve it elsewhere, change the Site URL, or add the other origin itself (no path, no pattern) to the redirect URLs. Calls from a server send no Origin and are accepted."
	if local(page.Hostname()) && !local(hostname(p.origin)) {
		return Finding{Status: Warn, Facts: facts, Detail: detail,
			Summary: fmt.Sprintf("The consent page is %s: everybody else's browser would look for it on their own machine.", found.Page),
			Fix:     "Set the Site URL to the app's public address. " + consentPlace}
	}
	status, err := p.sb.PageStatus(ctx, found.Page)
	switch {
	case err != nil:
		return Finding{Status: Warn, Facts: facts, Summary: fmt.Sprintf("The consent page %s does not answer.", found.Page), Detail: fault.From(err).Message + " " + detail,
			Fix: "Deploy a consent page there, or correct its address. " + consentPlace}
	case status >= http.StatusBadRequest:
		return Finding{Status: Warn, Facts: facts, Summary: fmt.Sprintf("The consent page %s answers %d.", found.Page, status), Detail: detail,
			Fix: "Deploy a consent page there, or correct its address. " + consentPlace}
	}
	return Finding{Status: Pass, Summary: found.Page, Detail: detail, Facts: facts}
}

func hostname(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func local(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.") || strings.HasSuffix(host, ".localhost")
}
