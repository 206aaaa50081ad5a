package demo

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// entrance asks without a credential in every way that clients and browsers do.
// What comes back is told by what the surface lists alone.
func (d doorway) entrance(t *testing.T, target string) {
	t.Helper()
	oauth, public := strings.Contains(d.access, "oauth"), strings.Contains(d.access, "public")
	ask := func(method, at string, h http.Header) reply {
		return sendRaw(t, method, at, "", h, "")
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, accept := range []string{"*/*", "application/json, text/event-stream"} {
			r := ask(method, target, headers("Accept", accept))
			if public && !oauth {
				if r.status != http.StatusMethodNotAllowed || r.header.Get("WWW-Authenticate") != "" || !strings.Contains(r.header.Get("Allow"), "POST") {
					t.Errorf("%s %s: %d %v", method, accept, r.status, r.header)
				}
				continue
			}
			values := r.header.Values("WWW-Authenticate")
			if r.status != http.StatusUnauthorized || len(values) != 1 || strings.Contains(values[0], "error=") || (values[0] == "Bearer") == oauth {
				t.Errorf("%s %s: %d %q", method, accept, r.status, values)
			}
			if oauth {
				r.challenged(t, target, "")
			}
		}
	}
	page := ask(http.MethodGet, target, headers("Accept", "text/html,*/*;q=0.8"))
	if vary := strings.Join(page.header.Values("Vary"), ", "); page.status != http.StatusOK || !strings.Contains(page.body, "<html") ||
		page.header.Get("Cache-Control") != "no-store" || !strings.Contains(vary, "Accept") || !strings.Contains(vary, "Authorization") {
		t.Errorf("a browser: %d %v", page.status, page.header)
	}
	if r := ask(http.MethodOptions, target, headers("Origin", "https://anybody.example.test")); r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != "*" || r.header.Get("WWW-Authenticate") != "" {
		t.Errorf("preflight: %d %v", r.status, r.header)
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	const name = "/oauth-protected-resource"
	for _, at := range []string{u.Scheme + "://" + u.Host + "/.well-known" + name + u.Path, target + "/.well-known" + name, target + name} {
		r := ask(http.MethodGet, at, headers("Authorization", "Bearer nobody's"))
		var document struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Detail   string   `json:"detail"`
		}
		if err := json.Unmarshal([]byte(r.body), &document); err != nil {
			t.Errorf("%s: %s", at, r.body)
			continue
		}
		if oauth && (r.status != http.StatusOK || document.Resource != target || len(document.Servers) != 1) {
			t.Errorf("%s: %d %s", at, r.status, r.body)
		}
		if !oauth && (r.status != http.StatusNotFound || document.Resource != "" || !strings.Contains(document.Detail, "no sign-in metadata")) {
			t.Errorf("%s, without sign-in: %d %s", at, r.status, r.body)
		}
	}
}

// originsCount tries a surface with every mode and one origin: pages of others
// get nothing, whatever they bring, and before anybody looks at it.
func (p *tenant) originsCount(t *testing.T, credentials map[string]credential) {
	t.Helper()
	const own = "https://app.example.test"
	target := p.publishAs("origins", doorsFile("mode: [oauth, bearer, api-key, public], "+directAccess+", "+publicRate+", origins: ["+own+"]"))
	credentials["key"] = credential{secret: p.makeKey("origins", nil, time.Time{})}
	for _, name := range []string{"nothing", "garbage", "delegated", "session", "key"} {
		p.ForgetRequests()
		for origin, admitted := range map[string]bool{own: true, "": true, "https://evil.example.test": false, own + ".evil.example.test": false, "null": false} {
			h := http.Header{}
			if origin != "" {
				h.Set("Origin", origin)
			}
			r := sendRaw(t, http.MethodPost, target, credentials[name].secret, h, greetYou)
			allowed := r.header.Get("Access-Control-Allow-Origin")
			if !admitted {
				if r.status != http.StatusForbidden || !strings.Contains(r.body, "origin_not_allowed") || r.header.Get("WWW-Authenticate") != "" || allowed != "" {
					t.Errorf("%s from %s: %d %v %s", name, origin, r.status, r.header, r.body)
				}
				continue
			}
			if want := map[bool]int{true: http.StatusUnauthorized, false: http.StatusOK}[name == "garbage"]; r.status != want || allowed != origin {
				t.Errorf("%s from %q: %d, allows %q: %s", name, origin, r.status, allowed, r.body)
			}
		}
		if want := map[bool]int{true: 0, false: 2}[name == "garbage"]; len(p.RequestsTo("/rest/v1/rpc/greet")) != want {
			t.Errorf("%s: the project was asked %d times, want %d", name, len(p.RequestsTo("/rest/v1/rpc/greet")), want)
		}
	}
}
