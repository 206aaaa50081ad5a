package doctor

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

const offlineAccess = "offline_access"

var challengeScope = regexp.MustCompile(`[ ,]scope="([^"]*)"`)

// scopeOf is the scope that a challenge asks for (RFC 6750 section 3).
func scopeOf(h http.Header) string {
	if m := challengeScope.FindStringSubmatch(h.Get("WWW-Authenticate")); m != nil {
		return m[1]
	}
	return ""
}

// scopes looks at the lists of scopes that a client meets on its way. Many ask
// for exactly the first list they find, so that one without offline_access
// hides that the authorization server knows it.
func (v *visit) scopes() Finding {
	if f, ok := v.withoutSignIn(); ok {
		return f
	}
	if v.server == nil {
		return skipped()
	}
	asked, advertised := strings.Fields(v.scope), v.described.Scopes
	facts := map[string]string{"challenge": shown(v.scope), "metadata": shown(strings.Join(advertised, " ")), "authorization_server": shown(strings.Join(v.server.Scopes, " "))}
	pass := func(text string) Finding { return Finding{Status: Pass, Summary: text, Facts: facts} }
	var where, list string
	switch {
	case len(asked) == 0 && len(advertised) == 0:
		return pass("The surface names no scopes of its own: clients go by the authorization server's list.")
	case !slices.Contains(v.server.Scopes, offlineAccess):
		return pass("The surface names scopes, and the authorization server has no offline_access that they could hide.")
	case len(asked) > 0 && !slices.Contains(asked, offlineAccess):
		where, list = "The challenge asks for", v.scope
	case len(advertised) > 0 && !slices.Contains(advertised, offlineAccess):
		where, list = "The metadata lists", strings.Join(advertised, " ")
	default:
		return pass("offline_access is among the scopes that clients are told.")
	}
	if v.described.AuthorizationServers[0] == v.described.Resource {
		return pass("The surface's own authorization server lets clients stay signed in whatever they ask for.")
	}
	return Finding{Status: Warn, Facts: facts,
		Summary: where + " " + shown(list) + " without offline_access, which the authorization server supports.",
		Detail:  "A client that asks for exactly that list asks for no refresh token: where it goes by the rules, its people sign in again whenever a token expires. Supabase Auth itself gives a refresh token for any scopes; not every client uses it then.",
		Fix:     "Leave access.advertise out of the surface file, so that clients go by the authorization server's own list. If the scopes are not in the file, take what adds them out of the proxy in front of the server. With authorization: bridge nothing is lost."}
}
