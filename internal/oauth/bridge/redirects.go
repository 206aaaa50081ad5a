package bridge

import (
	"net/url"
	"slices"
	"strings"
)

// schemesNever are no place to send a browser to: they run what follows, show
// it as a page of ours, open another program's door, or carry secrets in the
// clear.
var schemesNever = []string{
	"about", "blob", "cid", "chrome", "chrome-extension", "content", "data", "dav", "facetime", "feed", "file", "filesystem", "ftp", "ftps",
	"geo", "gopher", "im", "imap", "intent", "irc", "ircs", "jar", "javascript", "jscript", "ldap", "ldaps", "livescript", "magnet", "mailto",
	"market", "mhtml", "mms", "moz-extension", "ms-appinstaller", "ms-help", "ms-its", "ms-msdt", "ms-officecmd", "ms-settings", "nfs", "news",
	"nntp", "pop", "res", "resource", "rtsp", "search", "search-ms", "sftp", "sip", "sips", "skype", "smb", "sms", "smsto", "ssh", "steam",
	"tel", "telnet", "urn", "vbscript", "view-source", "webcal", "wais", "ws", "wss", "wyciwyg", "xmpp",
}

// redirectProblem says what is wrong with a redirect URI, or "". Good are
// https anywhere, http at a loopback literal (RFC 8252 section 7.3), and the
// private schemes of apps (section 7.1), with or without a dot: desktop editors
// use cursor: and vscode:. PKCE is what protects the latter.
func redirectProblem(uri string) string {
	switch {
	case uri == "":
		return "is empty"
	case len(uri) > maxRedirect:
		return "is longer than 2048 characters"
	case !printable(uri) || strings.ContainsAny(uri, "\"<>\\^`{|}"):
		return "has a character that no URI has"
	case strings.Contains(uri, "#"):
		return "has a fragment"
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" {
		return "is not an absolute URI"
	}
	if u.User != nil || strings.Contains(u.Host, "@") {
		return "has a user name"
	}
	switch u.Scheme {
	case "https":
		if !strings.HasPrefix(uri, "https://") || !plainAuthority(u) {
			return "has no plain host"
		}
	case "http":
		if _, ok := withoutLoopbackPort(uri); !ok {
			return "is http: only http://127.0.0.1, http://[::1] and http://localhost are, everything else needs https"
		}
	default:
		if slices.Contains(schemesNever, u.Scheme) || strings.HasPrefix(u.Scheme, "x-javascript") {
			return "has a scheme that is not an app's"
		}
		if len(uri) == len(u.Scheme)+1 {
			return "is a scheme without anything"
		}
	}
	return ""
}

// plainAuthority reports whether the host is made of host characters, so that
// every reader of the URI goes to the same place.
func plainAuthority(u *url.URL) bool {
	name := u.Hostname()
	if name == "" || u.Port() != "" && !isPort(u.Port()) || strings.HasSuffix(u.Host, ":") {
		return false
	}
	for i := range len(name) {
		c := name[i] | 0x20
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && name[i] != '-' && name[i] != '.' && name[i] != ':' && name[i] != '_' {
			return false
		}
	}
	return true
}
