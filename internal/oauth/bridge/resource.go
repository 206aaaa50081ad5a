package bridge

import (
	"net/url"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// ownResources reports whether every resource that a client named (RFC 8707) is
// ep's surface. Clients write it as one of the surface's URLs, with one
// trailing slash, with capitals or the default port, as the origin of a host
// whose root surface this is, or not at all. Whatever they write, a token is
// bound to the URL whose issuer they asked, which is never written otherwise.
func ownResources(ep *tenants.Endpoint, named []string) bool {
	for _, resource := range named {
		if resource != "" && !ownResource(ep, resource) {
			return false
		}
	}
	return true
}

func ownResource(ep *tenants.Endpoint, named string) bool {
	base, path, ok := canonicalResource(named)
	if !ok {
		return false
	}
	is := func(r tenants.Resource) bool {
		return r.Base == base && (r.Path == path || r.Root && path == "")
	}
	return is(ep.Resource) || slices.ContainsFunc(ep.URLs, is)
}

// canonicalResource splits an http or https URL without query and fragment
// into its origin, in lower case and without the default port, and its path
// without one trailing slash.
func canonicalResource(named string) (base, path string, ok bool) {
	if len(named) > maxRedirect || !printable(named) || strings.ContainsAny(named, "?#\\") {
		return "", "", false
	}
	u, err := url.Parse(named)
	if err != nil || u.User != nil || u.Opaque != "" || u.Host == "" {
		return "", "", false
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme { // in lower case already
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	default:
		return "", "", false
	}
	return u.Scheme + "://" + host, strings.TrimSuffix(u.EscapedPath(), "/"), true
}
