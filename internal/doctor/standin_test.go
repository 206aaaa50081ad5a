package doctor_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

// probeStandin probes a stand-in project through the real client.
func probeStandin(t *testing.T, o standin.Options, policy egress.Policy, change func(*standin.Project, *doctor.ProbeInput)) (*standin.Project, doctor.ProbeResult) {
	t.Helper()
	o.Postgres = localpg.Shared(t)
	p, err := standin.Start(context.Background(), o)
	if err != nil {
		t.Fatalf("start stand-in project: %v", err)
	}
	t.Cleanup(func() { _ = p.Close() })
	in := doctor.ProbeInput{TypedURL: p.URL(), PublishableKey: p.PublishableKey()}
	if change != nil {
		change(p, &in)
	}
	result, err := doctor.Probe(t.Context(), supabase.New(egress.New(policy)), in, nil)
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
	return p, result
}

var here = egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}

func grades(r doctor.ProbeResult) string {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(f.Check + "=" + string(f.Status) + " ")
	}
	return strings.TrimSpace(b.String())
}

const allPass = "reachable=pass issuer=pass api_origin=pass signing_keys=pass data_api=pass oauth_server=pass client_registration=pass consent_page=pass"

func TestRealProjectsAreGraded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options standin.Options
		policy  *egress.Policy // nil: loopback allowed
		change  func(*standin.Project, *doctor.ProbeInput)
		want    string
		check   string
		says    string
	}{
		"healthy":     {want: allPass},
		"legacy key":  {want: allPass, change: func(p *standin.Project, in *doctor.ProbeInput) { in.PublishableKey = p.AnonKey() }},
		"HS256":       {options: standin.Options{Signing: standin.SigningHS256}, want: strings.Replace(allPass, "signing_keys=pass", "signing_keys=warn", 1), check: doctor.CheckKeys, says: "JWT Keys"},
		"OAuth off":   {options: standin.Options{OAuthOff: true}, want: strings.Replace(allPass, "oauth_server=pass client_registration=pass consent_page=pass", "oauth_server=warn client_registration=skip consent_page=skip", 1), check: doctor.CheckOAuth, says: "enable it"},
		"no key yet":  {want: strings.Replace(allPass, "data_api=pass", "data_api=skip", 1), check: doctor.CheckDataAPI, says: "publishable key", change: func(_ *standin.Project, in *doctor.ProbeInput) { in.PublishableKey = "" }},
		"registering": {options: standin.Options{RegistrationOff: true}, want: strings.Replace(allPass, "client_registration=pass consent_page=pass", "client_registration=warn consent_page=skip", 1), check: doctor.CheckRegistration, says: "dynamic"},
		"gateway key": {options: standin.Options{SelfHosted: true}, want: "reachable=fail issuer=skip api_origin=skip signing_keys=skip data_api=skip oauth_server=skip client_registration=skip consent_page=skip", check: doctor.CheckReachable, says: "/auth/v1/oauth/token"},
		"wrong key":   {want: strings.Replace(allPass, "data_api=pass", "data_api=fail", 1), check: doctor.CheckDataAPI, says: "refuses this publishable key", change: func(_ *standin.Project, in *doctor.ProbeInput) { in.PublishableKey = "sb_publishable_wrongwrong" }},
		"other address": {want: "reachable=pass issuer=pass api_origin=fail signing_keys=skip data_api=skip oauth_server=skip client_registration=skip consent_page=skip", check: doctor.CheckOrigin, says: "GOTRUE_JWT_ISSUER", change: func(_ *standin.Project, in *doctor.ProbeInput) {
			in.TypedURL = strings.Replace(in.TypedURL, "127.0.0.1", "localhost", 1)
		}},
		"refused": {policy: &egress.Policy{AllowHTTP: true, AllowAnyPort: true}, want: "reachable=fail issuer=skip api_origin=skip signing_keys=skip data_api=skip oauth_server=skip client_registration=skip consent_page=skip", check: doctor.CheckReachable, says: "CHUMBO_ALLOW_PRIVATE_HOSTS"},
		"a web page": {want: "reachable=fail issuer=skip api_origin=skip signing_keys=skip data_api=skip oauth_server=skip client_registration=skip consent_page=skip", check: doctor.CheckReachable, says: "not Supabase", change: func(p *standin.Project, _ *doctor.ProbeInput) {
			p.Intercept(func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					_, _ = w.Write([]byte("<html>hello</html>"))
				})
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy := here
			if c.policy != nil {
				policy = *c.policy
			}
			p, r := probeStandin(t, c.options, policy, c.change)
			if got := grades(r); got != c.want {
				t.Fatalf("grades %s, want %s\n%+v", got, c.want, r.Findings)
			}
			if c.check != "" {
				f := finding(t, r, c.check)
				want(t, f, f.Status, c.says)
			}
			for _, seen := range p.Requests() {
				if seen.Bearer != "" {
					t.Errorf("the probe sent Authorization to %s", seen.Path)
				}
			}
		})
	}
}

func TestRealProjectYieldsItsFacts(t *testing.T) {
	t.Parallel()
	p, r := probeStandin(t, standin.Options{}, here, nil)
	f := r.Facts
	if f.APIOrigin != p.URL() || f.Issuer != p.Issuer() || f.JWKSURI != p.Issuer()+"/.well-known/jwks.json" ||
		f.Signing != tenants.SigningAsymmetric || !f.OAuthEnabled || len(f.ScopesSupported) == 0 || f.PublishableKey != p.PublishableKey() {
		t.Errorf("facts %+v", f)
	}
}

func TestSplitIssuerIsAcceptedWhereTheOperatorAllowsIt(t *testing.T) {
	t.Parallel()
	p, r := probeStandin(t, standin.Options{}, here, func(_ *standin.Project, in *doctor.ProbeInput) {
		in.TypedURL, in.AllowSplitIssuer = strings.Replace(in.TypedURL, "127.0.0.1", "localhost", 1), true
	})
	if !r.Accepted() || !r.SplitIssuer || r.Facts.Issuer != p.Issuer() || !strings.HasPrefix(r.Facts.JWKSURI, "http://localhost:") || !strings.HasPrefix(r.Facts.APIOrigin, "http://localhost:") {
		t.Errorf("%s %+v", grades(r), r.Facts)
	}
}

// supabaseHere reaches projects on this machine.
func supabaseHere() *supabase.Client { return supabase.New(egress.New(here)) }
