package connect

import (
	"strings"
	"testing"
)

// FuzzRedirectSources: whatever a client registers, its source is one token of
// the policy and never a wildcard for everything.
func FuzzRedirectSources(f *testing.F) {
	for _, seed := range []string{"https://claude.ai/cb", "http://[::1]:1/", "cursor://x", "https://a;b", "https://a,b", "https://*/", "*:", "https://a b/", "x", "'unsafe-inline':", "https://vscode.dev/redirect", "javascript:alert(1)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		for i, source := range redirectSources(uri) {
			if i == 0 && (strings.Contains(source, "*") || !strings.Contains(source, ":")) || strings.ContainsAny(source, " ;,'\"\n\t\r") {
				t.Errorf("%q gives %q", uri, source)
			}
		}
	})
}
