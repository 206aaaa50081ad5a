package oauth

import (
	"net/http"
	"strings"
)

// maxToken bounds a token in bytes: Supabase's carry user-written metadata and
// reach a few KiB.
const maxToken = 16 << 10

// bearer reads the one Bearer token of a request. It returns "" and no reason
// when there is no Authorization header at all. Only the header counts: tokens
// in queries and bodies end up in logs.
func bearer(h http.Header) (string, reason) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", ""
	}
	if len(values) > 1 {
		return "", reasonHeader
	}
	scheme, token, found := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") || !isToken68(token) {
		return "", reasonHeader
	}
	if len(token) > maxToken {
		return "", reasonTooLarge
	}
	return token, ""
}

// isToken68 checks the b64token syntax of RFC 6750 section 2.1.
func isToken68(s string) bool {
	body := strings.TrimRight(s, "=")
	if body == "" {
		return false
	}
	for i := range len(body) {
		if c := body[i]; !isAlnum(c) && !isTokenMark(c) {
			return false
		}
	}
	return true
}

func isTokenMark(c byte) bool {
	switch c {
	case '-', '.', '_', '~', '+', '/':
		return true
	}
	return false
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// opensProjects reports whether the token has the form of a project's secret key
// (sb_secret_…) or of an access token of its owner (sbp_…), which somebody sent
// by mistake.
func opensProjects(token string) bool {
	token = strings.ToLower(token)
	return strings.Contains(token, "sb_secret_") || strings.HasPrefix(token, "sbp_")
}

// isChumboKey reports whether the token has the form of one of our own
// credentials (chk_, chp_, cht_ and whatever follows). Such a string is never
// shown to anybody else, whether or not it is known.
func isChumboKey(token string) bool {
	return len(token) >= 4 && token[0] == 'c' && token[1] == 'h' && token[3] == '_'
}
