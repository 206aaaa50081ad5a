package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// platform stands for Supabase's Management API.
type platform struct {
	mu       sync.Mutex
	status   int
	requests []request
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, request{r.Method + " " + r.URL.Path, r.Header.Get("Authorization"), r.URL.RawQuery, string(body)})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_, _ = io.WriteString(w, `{}`)
}

const accessToken = "sbp_0123456789abcdef0123456789abcdef01234567"

func newPlatform(t *testing.T, d *desk, status int) *platform {
	t.Helper()
	p := &platform{status: status}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	out := egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true})
	d.env.Management = supabase.NewManagementAt(out, server.URL)
	d.vars["SUPABASE_ACCESS_TOKEN"] = accessToken
	return p
}

var hosted = []string{"link", "--project-url", "https://abcdefghijklmnopqrst.supabase.co", "--publishable-key", "sb_publishable_x", "--slug", "acme", "--configure"}

// TestField26_LinkConfiguresTheWholeOAuthServer: server, client registration
// and consent page are switched on together, from this machine.
func TestField26_LinkConfiguresTheWholeOAuthServer(t *testing.T) {
	t.Parallel()
	f := registers(t)
	d := newDesk(t, f.URL)
	p := newPlatform(t, d, http.StatusOK)
	code, out, errs := d.chumbo(t, append(hosted, "--yes")...)
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	wants(t, out, "switched on the OAuth server, client registration and the consent page /oauth/consent")
	if len(p.requests) != 1 {
		t.Fatalf("%d requests: half of it is a server that fails at the consent page", len(p.requests))
	}
	r := p.requests[0]
	if r.what != "PATCH /v1/projects/abcdefghijklmnopqrst/config/auth" || r.token != "Bearer "+accessToken {
		t.Errorf("got %+v", r)
	}
	wants(t, r.body, `"oauth_server_enabled":true`, `"oauth_server_allow_dynamic_registration":true`, `"oauth_server_authorization_path":"/oauth/consent"`)
	for _, r := range f.saw() {
		if strings.Contains(r.body+r.query+r.token, accessToken) {
			t.Errorf("our server gets the access token: %+v", r)
		}
	}
	if strings.Contains(out+errs, accessToken) {
		t.Error("the access token is shown")
	}
}

func TestConfiguringNeedsConsentAndAHostedProject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  []string
		token string
		typed string
		code  int
		says  string
	}{
		"nobody to ask":   {hosted, accessToken, "", 1, "nothing was changed"},
		"declined":        {hosted, accessToken, "n\n", 1, "nothing was changed"},
		"no token":        {append(hosted, "--yes"), "", "", 2, "SUPABASE_ACCESS_TOKEN"},
		"another host":    {append(link, "--configure", "--yes"), accessToken, "", 2, "GOTRUE_OAUTH_SERVER_ENABLED"},
		"a longer host":   {append(append([]string{}, hosted...), "--yes", "--project-url", "https://abcdefghijklmnopqrst.supabase.co.evil.example.test"), accessToken, "", 2, "<ref>.supabase.co"},
		"plain http":      {append(append([]string{}, hosted...), "--yes", "--project-url", "http://abcdefghijklmnopqrst.supabase.co"), accessToken, "", 2, "<ref>.supabase.co"},
		"a page far away": {append(append([]string{}, hosted...), "--yes", "--authorization-path", "//evil.example.test"), accessToken, "", 2, "--authorization-path"},
		"no path":         {append(append([]string{}, hosted...), "--yes", "--authorization-path", "https://evil.example.test"), accessToken, "", 2, "--authorization-path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := registers(t)
			d := newDesk(t, f.URL)
			p := newPlatform(t, d, http.StatusOK)
			d.typed, d.vars["SUPABASE_ACCESS_TOKEN"] = c.typed, c.token
			code, out, errs := d.chumbo(t, c.args...)
			if code != c.code || len(p.requests) != 0 || f.count("POST /projects") != 0 {
				t.Errorf("exit %d, %d requests: %s%s", code, len(p.requests), out, errs)
			}
			wants(t, out+errs, c.says)
		})
	}
}

func TestRefusedAccessTokenIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusInternalServerError} {
		f := registers(t)
		d := newDesk(t, f.URL)
		newPlatform(t, d, status)
		code, out, errs := d.chumbo(t, append(hosted, "--yes")...)
		if code != 1 || strings.Contains(out+errs, accessToken) || f.count("POST /projects") != 0 {
			t.Errorf("%d: exit %d, %s%s", status, code, out, errs)
		}
	}
}
