package standin

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// redirectAllowed reports whether Auth may send a browser to the URL: the
// site's own origin, any loopback address, or a match in the allow list.
func (a *authServer) redirectAllowed(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return false
	}
	site, err := url.Parse(a.cfg.siteURL)
	if err == nil && u.Scheme == site.Scheme && u.Host == site.Host {
		return true
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return ip.IsLoopback()
	}
	for _, pattern := range a.cfg.allowList {
		if globMatches(pattern, raw) {
			return true
		}
	}
	return false
}

// globMatches matches a redirect pattern: * and ? stop at "." and "/", ** does
// not.
func globMatches(pattern, value string) bool {
	expr := regexp.QuoteMeta(pattern)
	expr = strings.ReplaceAll(expr, `\*\*`, `.*`)
	expr = strings.ReplaceAll(expr, `\*`, `[^./]*`)
	expr = strings.ReplaceAll(expr, `\?`, `[^./]`)
	ok, err := regexp.MatchString("^"+expr+"$", value)
	return err == nil && ok
}

// redirectTo is where the browser goes after a sign-in: the redirect_to of the
// request when it is allowed, else, without a word, the site.
func (a *authServer) redirectTo(r *http.Request) string {
	to := r.URL.Query().Get("redirect_to")
	if to == "" {
		to = r.Header.Get("redirect_to")
	}
	if to != "" && a.redirectAllowed(to) {
		return to
	}
	return a.cfg.siteURL
}

// checkOrigin refuses a call that a page of another origin makes.
func (a *authServer) checkOrigin(r *http.Request) error {
	if origin := r.Header.Get("Origin"); origin != "" && !a.redirectAllowed(origin) {
		return invalidInput("unauthorized request origin")
	}
	return nil
}

// withQuery adds parameters to a URL. The query is rebuilt: keys sorted, form
// encoding.
func withQuery(raw string, params url.Values) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	q := u.Query()
	for key, values := range params {
		q[key] = values
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// withFragment adds parameters as the fragment, with the empty "sb" that marks
// them as Auth's.
func withFragment(raw string, params url.Values) string {
	params.Set("sb", "")
	base, _, _ := strings.Cut(raw, "#")
	return base + "#" + params.Encode()
}
