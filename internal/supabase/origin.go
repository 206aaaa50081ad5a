package supabase

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// errNoOrigin is returned for text that is no absolute http or https URL.
var errNoOrigin = errors.New("not an absolute http or https URL")

// APIOrigin derives the only origin that may get a caller's token from the
// issuer a project claims: https://<20 lower-case letters>.supabase.co/auth/v1
// gives that host, any other issuer its own origin. The answer has a
// lower-case host and no default port. An issuer that is empty, relative, not
// http or https, or has user information, a query or a fragment is an error.
func APIOrigin(issuer string) (string, error) {
	if ref, ok := hostedRef(issuer); ok {
		return "https://" + ref + ".supabase.co", nil
	}
	u, err := url.Parse(issuer)
	if err != nil {
		return "", errNoOrigin // the parser's text repeats the input
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(issuer, "#") {
		return "", errNoOrigin
	}
	return originOfURL(u)
}

// Hosted reports whether the issuer is one of Supabase's hosted projects, and
// its reference.
func Hosted(issuer string) (ref string, ok bool) { return hostedRef(issuer) }

func hostedRef(issuer string) (string, bool) {
	rest, ok := strings.CutPrefix(issuer, "https://")
	if !ok {
		return "", false
	}
	ref, ok := strings.CutSuffix(rest, ".supabase.co/auth/v1")
	if !ok || len(ref) != 20 {
		return "", false
	}
	for i := 0; i < len(ref); i++ {
		if ref[i] < 'a' || ref[i] > 'z' {
			return "", false
		}
	}
	return ref, true
}

func originOfURL(u *url.URL) (string, error) {
	if (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return "", errNoOrigin
	}
	host := strings.ToLower(u.Hostname())
	port := u.Port()
	if (u.Scheme == "https" && port == "443") || (u.Scheme == "http" && port == "80") {
		port = ""
	}
	if port != "" {
		return u.Scheme + "://" + net.JoinHostPort(host, port), nil
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return u.Scheme + "://" + host, nil
}
