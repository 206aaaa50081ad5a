package doctor_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/egress"
)

// site is a surface, an authorization server and what stands in front of them.
type site struct {
	url      string
	resource string // what the metadata names; empty for the right one
	issuer   string // what the authorization server calls itself; empty for the right one
	block    func(r *http.Request) bool
	limit    func(r *http.Request) bool // the surface's own rate
	redirect string

	scopes         []string // of the metadata
	challengeScope string
	serverScopes   []string // of the authorization server

	bare   bool   // no sign-in: keys or sessions
	open   bool   // POST is public
	closed bool   // and there is no sign-in beside it
	oidc   string // path of an issuer that has OpenID Connect Discovery only
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.block != nil && s.block(r) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if s.redirect != "" && r.URL.Path == "/acme/mcp" {
		http.Redirect(w, r, s.redirect, http.StatusMovedPermanently)
		return
	}
	w.Header().Set("Chumbo-Request-Id", "0123")
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/acme/mcp":
		if s.limit != nil && r.Method == http.MethodPost && s.limit(r) {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if s.open && (r.Method == http.MethodPost || s.closed) {
			if r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
			answer(map[string]any{})
			return
		}
		if s.bare {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.url+`/.well-known/oauth-protected-resource/acme/mcp"`+s.challengeParam())
		w.WriteHeader(http.StatusUnauthorized)
	case "/.well-known/oauth-protected-resource/acme/mcp":
		resource := s.url + "/acme/mcp"
		if s.resource != "" {
			resource = s.resource
		}
		answer(map[string]any{"resource": resource, "authorization_servers": []string{s.url + cmp.Or(s.oidc, "/auth/v1")}, "scopes_supported": s.scopes})
	case "/.well-known/oauth-authorization-server/auth/v1":
		issuer := s.url + "/auth/v1"
		if s.issuer != "" {
			issuer = s.issuer
		}
		answer(map[string]any{"issuer": issuer, "scopes_supported": s.serverScopes})
	case s.oidc + "/.well-known/openid-configuration":
		if s.oidc == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer(map[string]any{"issuer": s.url + s.oidc, "scopes_supported": s.serverScopes})
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(map[string]string{"detail": "There is no published surface at this URL."})
	}
}

func (s *site) challengeParam() string {
	if s.challengeScope == "" {
		return ""
	}
	return `, scope="` + s.challengeScope + `"`
}

func visitSite(t *testing.T, s *site, path string) map[string]doctor.Finding {
	t.Helper()
	return visitAt(t, s, &s.url, path)
}

// visitAt serves a site, tells it its URL and visits it.
func visitAt(t *testing.T, h http.Handler, at *string, path string) map[string]doctor.Finding {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	*at = server.URL
	if s, ok := h.(*site); ok && strings.HasPrefix(s.resource, "/") {
		s.resource = server.URL + s.resource
	}
	told := 0
	findings, err := doctor.Surface(t.Context(), egress.New(here), server.URL+path, func(doctor.Finding) { told++ })
	if err != nil || told != len(doctor.SurfaceChecks()) {
		t.Fatalf("visit: %v, %d findings told", err, told)
	}
	found := map[string]doctor.Finding{}
	for _, f := range findings {
		found[f.Check] = f
		if (f.Status == doctor.Fail || f.Status == doctor.Warn) && f.Fix == "" {
			t.Errorf("%s fails without a fix", f.Check)
		}
	}
	return found
}

func TestHealthySurfacePassesEveryCheck(t *testing.T) {
	t.Parallel()
	for check, f := range visitSite(t, &site{}, "/acme/mcp") {
		if f.Status != doctor.Pass {
			t.Errorf("%s: %+v", check, f)
		}
	}
}

// TestEveryWayInIsLookedAtForWhatItIs: a surface without sign-in lacks nothing,
// and one that is public in part is looked at as a client that signs in does.
func TestEveryWayInIsLookedAtForWhatItIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		site   *site
		signIn doctor.Status // of the checks that are about it
		says   string        // by the first of them
	}{
		"keys or sessions": {&site{bare: true}, doctor.Skip, "no client signs in here"},
		"public":           {&site{open: true, closed: true}, doctor.Skip, "the surface is public"},
		"public in part":   {&site{open: true}, doctor.Pass, "Clients are sent to"},
		"another issuer":   {&site{oidc: "/realms/acme", serverScopes: []string{"offline_access"}}, doctor.Pass, "Clients are sent to"},
	} {
		for check, f := range visitSite(t, c.site, "/acme/mcp") {
			want := c.signIn
			if check == doctor.CheckSurfaceAnswers || check == doctor.CheckSurfaceClients {
				want = doctor.Pass
			}
			if f.Status != want || check == doctor.CheckSurfaceChallenge && !strings.Contains(f.Summary, c.says) {
				t.Errorf("%s, %s: %+v", name, check, f)
			}
		}
	}
	// Supabase's metadata counts at the one place that a gateway may hide.
	f := visitSite(t, &site{oidc: "/other/auth/v1"}, "/acme/mcp")[doctor.CheckSurfaceIssuer]
	if f.Status != doctor.Fail || !strings.Contains(f.Fix, "chumbo link") {
		t.Errorf("Supabase: %+v", f)
	}
	gone := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "openid-configuration") }
	f = visitSite(t, &site{oidc: "/realms/acme", block: gone}, "/acme/mcp")[doctor.CheckSurfaceIssuer]
	if f.Status != doctor.Fail || !strings.Contains(f.Fix, "access.issuer") {
		t.Errorf("an issuer that is away: %+v", f)
	}
}

func TestField03_TypedURLThatTheMetadataDoesNotNameFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ resource, says string }{
		"trailing slash": {"/acme/mcp/", "ends in a slash"},
		"another path":   {"/acme/other/mcp", "path differs"},
		"another host":   {"https://www.example.test/acme/mcp", "scheme differs"},
		"another port":   {"http://127.0.0.1/acme/mcp", "port differs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := visitSite(t, &site{resource: c.resource}, "/acme/mcp")[doctor.CheckSurfaceResource]
			if f.Status != doctor.Fail || !strings.Contains(f.Summary, c.says) || !strings.Contains(f.Fix, "Give people") {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestField04_IssuerIsLookedUpWithItsPathInserted(t *testing.T) {
	t.Parallel()
	found := visitSite(t, &site{}, "/acme/mcp")
	// The tail /auth/v1 is the issuer's path: an address without it answers 404.
	if f := found[doctor.CheckSurfaceIssuer]; f.Status != doctor.Pass || !strings.HasSuffix(f.Facts["metadata"], "/.well-known/oauth-authorization-server/auth/v1") {
		t.Errorf("%+v", f)
	}
	if f := visitSite(t, &site{issuer: "https://elsewhere.example.test/auth/v1"}, "/acme/mcp")[doctor.CheckSurfaceIssuer]; f.Status != doctor.Fail {
		t.Errorf("another issuer: %+v", f)
	}
}

func TestField47_FirewallThatTurnsClientsAwayIsNamed(t *testing.T) {
	t.Parallel()
	block := func(r *http.Request) bool { return strings.Contains(r.UserAgent(), "httpx") }
	f := visitSite(t, &site{block: block}, "/acme/mcp")[doctor.CheckSurfaceClients]
	if f.Status != doctor.Fail || !strings.Contains(f.Summary, "Edge blocked, origin never saw it") || f.Facts["blocked"] != "python-httpx/0.28.1" {
		t.Errorf("%+v", f)
	}
}

// TestRateOfAPublicSurfaceIsNoFirewall: a small rate is used up by the visit
// itself, and what Chumbo answers then comes from no one in front of it.
func TestRateOfAPublicSurfaceIsNoFirewall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit  func(r *http.Request) bool
		check  string
		status doctor.Status
	}{
		"used up on the way": {func(r *http.Request) bool { return strings.Contains(r.UserAgent(), "httpx") }, doctor.CheckSurfaceClients, doctor.Pass},
		"used up before":     {func(*http.Request) bool { return true }, doctor.CheckSurfaceAnswers, doctor.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := visitSite(t, &site{open: true, closed: true, limit: c.limit}, "/acme/mcp")[c.check]
			if f.Status != c.status || f.Status == doctor.Fail && !strings.Contains(f.Summary, "too many requests") {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestSurfaceThatIsNotThereLeavesNothingElseToLookAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		site *site
		path string
		says string
	}{
		"unknown":  {&site{}, "/other/mcp", "serves nothing at this URL"},
		"redirect": {&site{redirect: "https://elsewhere.example.test/"}, "/acme/mcp", "redirects to https://elsewhere.example.test/"},
		"blocked":  {&site{block: func(*http.Request) bool { return true }}, "/acme/mcp", "never reached Chumbo"},
		"get only": {&site{block: func(r *http.Request) bool { return r.Method == http.MethodPost }}, "/acme/mcp", "never reached Chumbo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := visitSite(t, c.site, c.path)
			if f := found[doctor.CheckSurfaceAnswers]; f.Status != doctor.Fail || !strings.Contains(f.Summary, c.says) {
				t.Errorf("%+v", f)
			}
			if f := found[doctor.CheckSurfaceResource]; f.Status != doctor.Skip {
				t.Errorf("the metadata was looked at: %+v", f)
			}
		})
	}
}
