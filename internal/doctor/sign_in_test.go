package doctor_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

const acme = "https://mcp.example.test/acme/mcp"

// refusing is a project that refuses some ways to begin, by redirect, as Auth
// refuses parameters.
func refusing(t *testing.T, o standin.Options, why string, refused func(confidential bool, q url.Values) bool) *standin.Project {
	t.Helper()
	o.Postgres = localpg.Shared(t)
	p, err := standin.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	public := ""
	p.Intercept(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.URL.Path == "/auth/v1/oauth/authorize" && public == "" {
				public = q.Get("client_id") // the public one begins
			}
			if r.URL.Path == "/auth/v1/oauth/authorize" && refused != nil && refused(q.Get("client_id") != public, q) {
				http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"error": {"invalid_request"}, "error_description": {why}}.Encode(), http.StatusFound)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	return p
}

func signIn(t *testing.T, p *standin.Project, in doctor.SignInInput) (doctor.Finding, doctor.SignInClients) {
	t.Helper()
	in.Origin, in.Resource = p.URL(), acme
	f, clients, err := doctor.SignIn(t.Context(), supabaseHere(), in)
	if err != nil || f.Check != doctor.CheckSurfaceSignIn {
		t.Fatalf("%v: %+v", err, f)
	}
	if (f.Status == doctor.Fail || f.Status == doctor.Warn) && f.Fix == "" {
		t.Errorf("no fix: %+v", f)
	}
	return f, clients
}

func TestField23_MatrixNamesTheCellsThatFail(t *testing.T) {
	t.Parallel()
	offline := func(_ bool, q url.Values) bool { return strings.Contains(q.Get("scope"), "offline_access") }
	for name, c := range map[string]struct {
		options standin.Options
		why     string
		refused func(confidential bool, q url.Values) bool
		status  doctor.Status
		says    []string
	}{
		"healthy":      {status: doctor.Pass, says: []string{"All 8 ways", "takes a person"}},
		"before 2.195": {why: "unsupported scope: offline_access", refused: offline, status: doctor.Warn, says: []string{"4 of the 8", "all with offline_access", "2.195"}},
		"resource": {why: "resource must be an absolute URI", refused: func(_ bool, q url.Values) bool { return q.Get("resource") == acme },
			status: doctor.Fail, says: []string{"4 of the 8", "all with a resource", "authorization: bridge"}},
		"one cell": {why: "no", refused: func(confidential bool, q url.Values) bool {
			return !confidential && q.Get("resource") != "" && offline(false, q)
		}, status: doctor.Warn, says: []string{"1 of the 8", "public client, resource, offline_access."}},
		"secret": {why: "no", refused: func(confidential bool, _ url.Values) bool { return confidential }, status: doctor.Fail, says: []string{"all of confidential clients"}},
		"half configured": {options: standin.Options{NoConsentPath: true}, status: doctor.Fail,
			says: []string{"8 of the 8", ": all.", "authorization path not configured", "chumbo link --configure"}},
		"OAuth off":        {options: standin.Options{OAuthOff: true}, status: doctor.Fail, says: []string{"OAuth server is off"}},
		"registration off": {options: standin.Options{RegistrationOff: true}, status: doctor.Skip, says: []string{"registration is off"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := refusing(t, c.options, c.why, c.refused)
			f, _ := signIn(t, p, doctor.SignInInput{})
			text := f.Summary + f.Detail + f.Fix
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not said: %+v", part, f)
				}
			}
			if f.Status != c.status {
				t.Errorf("grade %s, want %s: %+v", f.Status, c.status, f)
			}
			if f.Status != doctor.Skip && len(f.Facts) != 8 && name != "OAuth off" {
				t.Errorf("%d facts", len(f.Facts))
			}
			for _, seen := range p.Requests() {
				if seen.Bearer != "" || strings.Contains(seen.Path, "/authorizations/") {
					t.Errorf("somebody was signed in: %s", seen.Path)
				}
			}
		})
	}
}

func TestField23_BridgeIsAskedForItsOneCell(t *testing.T) {
	t.Parallel()
	// Nothing of what public clients, resource or offline_access meet matters.
	p := refusing(t, standin.Options{}, "no", func(_ bool, q url.Values) bool {
		return q.Get("resource") != "" || strings.Contains(q.Get("scope"), "offline_access")
	})
	f, clients := signIn(t, p, doctor.SignInInput{Bridge: true})
	if f.Status != doctor.Pass || len(f.Facts) != 1 || clients.Public != "" || clients.Confidential == "" {
		t.Errorf("%+v %+v", f, clients)
	}
	begun := slices.DeleteFunc(p.RequestsTo("/auth/v1/oauth/authorize"), func(r standin.Request) bool { return !strings.Contains(r.RawQuery, "code_challenge") })
	if len(begun) != 1 {
		t.Errorf("%d authorizations were begun", len(begun))
	}
	for name, o := range map[string]standin.Options{"no page": {NoConsentPath: true}, "off": {OAuthOff: true}} {
		if f, _ := signIn(t, refusing(t, o, "", nil), doctor.SignInInput{Bridge: true}); f.Status == doctor.Fail {
			t.Errorf("%s: a bridge has pages of its own: %+v", name, f)
		}
	}
}

// TestField23_OneClientOfEachKindServesEveryRun: a project's list of clients is
// the builder's.
func TestField23_OneClientOfEachKindServesEveryRun(t *testing.T) {
	t.Parallel()
	p := refusing(t, standin.Options{}, "", nil)
	_, clients := signIn(t, p, doctor.SignInInput{})
	if clients.Public == "" || clients.Confidential == "" || clients.Public == clients.Confidential {
		t.Fatalf("clients %+v", clients)
	}
	if n := len(p.RequestsTo("/auth/v1/oauth/clients/register")); n != 2 {
		t.Errorf("%d clients were registered", n)
	}
	p.ForgetRequests()
	p.SetRegistration(false) // what is known needs none
	f, again := signIn(t, p, doctor.SignInInput{Clients: clients})
	if again != clients || f.Status != doctor.Pass || len(p.RequestsTo("/auth/v1/oauth/clients/register")) != 0 {
		t.Errorf("a second run: %+v %+v", again, f)
	}
}

// TestField19_ScopeListWithoutOfflineAccessIsWarnedOf: what a surface names
// must not hide that its people could stay signed in.
func TestField19_ScopeListWithoutOfflineAccessIsWarnedOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		site   *site
		status doctor.Status
		says   string
	}{
		"no list":                {&site{serverScopes: []string{"email", "offline_access"}}, doctor.Pass, "no scopes of its own"},
		"metadata":               {&site{scopes: []string{"crm.read"}, serverScopes: []string{"email", "offline_access"}}, doctor.Warn, "The metadata lists crm.read"},
		"challenge":              {&site{challengeScope: "crm.read crm.write", serverScopes: []string{"offline_access"}}, doctor.Warn, "The challenge asks for crm.read crm.write"},
		"challenge has it":       {&site{challengeScope: "crm.read offline_access", serverScopes: []string{"offline_access"}}, doctor.Pass, "among"},
		"challenge, then a list": {&site{challengeScope: "a offline_access", scopes: []string{"a"}, serverScopes: []string{"offline_access"}}, doctor.Warn, "metadata"},
		"server has none":        {&site{scopes: []string{"email"}, serverScopes: []string{"email"}}, doctor.Pass, "no offline_access"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := visitSite(t, c.site, "/acme/mcp")[doctor.CheckSurfaceScopes]
			if f.Status != c.status || !strings.Contains(f.Summary, c.says) {
				t.Errorf("%+v", f)
			}
			if f.Status == doctor.Warn && !strings.Contains(f.Fix, "access.advertise") {
				t.Errorf("fix %q", f.Fix)
			}
		})
	}
	if !slices.ContainsFunc(doctor.SurfaceChecks(), func(c doctor.Check) bool { return c.ID == doctor.CheckSurfaceScopes }) {
		t.Error("the check is not listed")
	}
}
