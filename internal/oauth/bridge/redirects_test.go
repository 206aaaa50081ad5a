package bridge

import (
	"net/url"
	"strings"
	"testing"
)

func TestField32_RedirectURIsOfRealClientsAreTaken(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{
		"http://localhost:8787/callback", "http://127.0.0.1:8787/callback", "cursor://anysphere.cursor-mcp/oauth/callback",
		"https://www.cursor.com/agents/mcp/oauth/callback", "https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback",
		"https://chatgpt.com/connector_platform_oauth_redirect", "https://chatgpt.com/connector/oauth/aB3_-x", // case 34
		"https://vscode.dev/redirect", "https://insiders.vscode.dev/redirect", "http://127.0.0.1/", "http://127.0.0.1:33418/", "http://127.0.0.1",
		"https://grok.com/connectors-oauth-exchange-code/", "https://global.consent.azure-apim.net/redirect/acme-5f1",
		"http://localhost/callback", "http://[::1]:4000/cb", "vscode://vscode.mcp/callback", "vscode-insiders://x/y", "windsurf://oauth",
		"zed://oauth/callback", "com.example.app:/callback", "com.example.app:/callback?x=1", "https://app.example.test:8443/cb?tenant=7",
		"https://[2001:db8::1]/cb", "http://127.0.0.1:9/callback/k3Jd_x",
	} {
		if problem := redirectProblem(uri); problem != "" {
			t.Errorf("%s %s", uri, problem)
		}
	}
}

func TestRedirectURIsThatLeadAstrayAreRefused(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{
		"", "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "about:blank", "blob:https://a/b",
		"ws://a.example.test/", "wss://a.example.test/", "ftp://a.example.test/", "mailto:alice@example.test", "tel:123", "view-source:https://a.example.test",
		"filesystem:https://a/b", "intent://a#Intent;end", "urn:ietf:wg:oauth:2.0:oob", "chrome-extension://abc/cb",
		"http://a.example.test/cb", "http://127.0.0.2/cb", "http://localhost.evil.example.test/cb", "http://localhost@evil.example.test/", "http://127.0.0.1.evil.example.test/",
		"http://2130706433/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/", "http://localhost:99999/", "http://localhost:/", "http://localhost:80a/", "http://LOCALHOST/",
		"https://a.example.test/cb#frag", "https://a.example.test/cb#", "https://user@a.example.test/", "https://user:pw@a.example.test/", "https://", "https:///cb", "https:a.example.test",
		"https://a.example.test:0/", "https://a.example.test:/", "https://a.example.test\\@evil.example.test/", "https://a.example.test/ b", "https://a.example.test/\tb",
		"https://a.example.test/\r\nSet-Cookie: x", "https://*.example.test/", "https://a.example.test/<x>", "//a.example.test/cb", "/cb", "cb", ":", "cursor:",
		"https://ä.example.test/", "https://a.example.test/" + strings.Repeat("a", maxRedirect),
	} {
		if redirectProblem(uri) == "" {
			t.Errorf("%q is accepted", uri)
		}
	}
}

func TestField33_LoopbackPort(t *testing.T) {
	t.Parallel()
	c := &Client{RedirectURIs: []string{
		"http://127.0.0.1:33418/", "http://localhost/callback", "http://[::1]:1/cb?a=1", "https://app.example.test/cb", "cursor://anysphere.cursor-mcp/oauth/callback",
	}}
	for _, uri := range []string{
		"http://127.0.0.1:59656/", "http://127.0.0.1/", "http://localhost:1/callback", "http://localhost/callback", "http://[::1]:65535/cb?a=1",
		"https://app.example.test/cb", "cursor://anysphere.cursor-mcp/oauth/callback",
	} {
		if !c.redirectsTo(uri) {
			t.Errorf("%s is not the client's", uri)
		}
	}
	for _, uri := range []string{
		"http://localhost:59656/", "http://127.0.0.1:59656/callback", "http://127.0.0.1:59656", "http://127.0.0.1:59656/?a=1", "https://127.0.0.1:33418/",
		"http://127.0.0.1:/", "http://127.0.0.1:x/", "http://127.0.0.1:1:2/", "http://127.0.0.1:33418/#x", "http://127.0.0.1@evil.example.test/",
		"http://[::1]:1/cb?a=2", "http://[::1]:1/cb", "http://localhost:1/callback/", "http://localhost:1/Callback", "http://localhost:1/%63allback",
		"https://app.example.test:443/cb", "https://app.example.test:8443/cb", "https://app.example.test/cb/", "https://app.example.test/cb?x=1", "https://APP.example.test/cb",
		"cursor://anysphere.cursor-mcp:1/oauth/callback", "cursor://evil/oauth/callback", "",
	} {
		if c.redirectsTo(uri) {
			t.Errorf("%s is taken for the client's", uri)
		}
	}
}

func TestAClientWithoutRedirectURIGoesToItsOnlyOne(t *testing.T) {
	t.Parallel()
	for want, uris := range map[string][]string{
		"https://a.example.test/cb": {"https://a.example.test/cb"},
		"":                          {"http://127.0.0.1:1/"},
		"-":                         {"https://a.example.test/cb", "https://b.example.test/cb"},
	} {
		uri, ok := (&Client{RedirectURIs: uris}).onlyRedirect()
		if ok != strings.HasPrefix(want, "https") || ok && uri != want {
			t.Errorf("%v: %s %v", uris, uri, ok)
		}
	}
}

// Whatever is presented: what matches is registered, but for a loopback port,
// and Go's own reader of URLs sees the same place.
func FuzzRedirectMatching(f *testing.F) {
	for _, pair := range [][2]string{
		{"http://127.0.0.1:33418/", "http://127.0.0.1:59656/"}, {"http://localhost/callback", "http://localhost:1/callback?x"},
		{"https://a.example.test/cb", "https://a.example.test/cb#"}, {"cursor://x/y", "cursor://x/y"}, {"http://[::1]/", "http://[::1]:80/"},
		{"http://localhost@evil/", "http://localhost:1@evil/"}, {"http://127.0.0.1?x", "http://127.0.0.1:7?x"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, registered, presented string) {
		c := &Client{RedirectURIs: []string{registered}}
		if !c.redirectsTo(presented) {
			return
		}
		if redirectProblem(presented) != "" {
			t.Errorf("%q is refused at registration and taken at authorization", presented)
		}
		if registered == presented {
			return
		}
		a, err := url.Parse(registered)
		if err != nil {
			t.Fatalf("%q matches and cannot be parsed", registered)
		}
		b, err := url.Parse(presented)
		if err != nil {
			t.Fatalf("%q matches and cannot be parsed", presented)
		}
		if a.Scheme != "http" || b.Scheme != "http" || a.Hostname() != b.Hostname() || a.EscapedPath() != b.EscapedPath() || a.RawQuery != b.RawQuery ||
			b.User != nil || b.Fragment != "" || b.Hostname() != "127.0.0.1" && b.Hostname() != "::1" && b.Hostname() != "localhost" {
			t.Errorf("%q is taken for %q", presented, registered)
		}
	})
}
