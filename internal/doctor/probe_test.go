package doctor_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	hostedOrigin = "https://abcdefghijklmnopqrst.supabase.co"
	hostedIssuer = hostedOrigin + "/auth/v1"
	publishable  = "sb_publishable_test"
	oneKey       = `{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":"1","use":"sig","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]}`
)

// world answers for the projects of a test, by origin, and remembers what was
// asked of whom.
type world struct {
	meta    map[string]supabase.AuthMetadata
	authErr map[string]error
	keys    string
	keyErr  error
	dataErr error
	asked   []string
}

func (w *world) AuthMetadata(_ context.Context, origin string) (supabase.AuthMetadata, error) {
	w.asked = append(w.asked, "auth "+origin)
	if err := w.authErr[origin]; err != nil {
		return supabase.AuthMetadata{}, err
	}
	m, ok := w.meta[origin]
	if !ok {
		return m, &supabase.AuthError{Reason: supabase.AuthUnreachable, Message: "Nothing usable answers at " + origin + "."}
	}
	return m, nil
}

func (w *world) KeySet(_ context.Context, _, jwksURI string) ([]byte, error) {
	w.asked = append(w.asked, "keys "+jwksURI)
	return []byte(w.keys), w.keyErr
}

func (w *world) DataAPIReachable(_ context.Context, p supabase.Project) error {
	w.asked = append(w.asked, "data "+p.APIOrigin+" "+p.PublishableKey)
	return w.dataErr
}

func (w *world) Consent(_ context.Context, origin, client string) (supabase.Consent, error) {
	w.asked = append(w.asked, "consent "+origin+" "+client)
	return supabase.Consent{ClientID: "check-client", Page: "https://pages.example.test/oauth/consent"}, nil
}

func (w *world) PageStatus(_ context.Context, address string) (int, error) {
	w.asked = append(w.asked, "page "+address)
	return 200, nil
}

// healthy is Auth's metadata for an issuer, everything on.
func healthy(issuer string) supabase.AuthMetadata {
	return supabase.AuthMetadata{
		Issuer: issuer, AuthorizationEndpoint: issuer + "/oauth/authorize", TokenEndpoint: issuer + "/oauth/token",
		RegistrationEndpoint: issuer + "/oauth/clients/register", JWKSURI: issuer + "/.well-known/jwks.json",
		ScopesSupported: []string{"openid", "email"}, OAuthServer: true, Registration: true, Source: issuer + "/doc",
	}
}

func hosted() *world {
	return &world{meta: map[string]supabase.AuthMetadata{hostedOrigin: healthy(hostedIssuer)}, keys: oneKey}
}

func probe(t *testing.T, w *world, in doctor.ProbeInput) doctor.ProbeResult {
	t.Helper()
	if in.PublishableKey == "" {
		in.PublishableKey = publishable
	}
	var told []doctor.Finding
	result, err := doctor.Probe(t.Context(), w, in, func(f doctor.Finding) { told = append(told, f) })
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
	checks := doctor.Registration()
	if len(result.Findings) != len(checks) || len(told) != len(checks) {
		t.Fatalf("%d findings, %d told, want %d of both", len(result.Findings), len(told), len(checks))
	}
	for i, f := range result.Findings {
		if f.Check != checks[i].ID || f.Title != checks[i].Title || told[i].Summary != f.Summary {
			t.Errorf("finding %d is %+v, told %+v, want check %s", i, f, told[i], checks[i].ID)
		}
		if f.Summary == "" || (f.Status == doctor.Fail || f.Status == doctor.Warn) && f.Fix == "" {
			t.Errorf("check %s is %s without a summary or a fix: %+v", f.Check, f.Status, f)
		}
	}
	return result
}

func finding(t *testing.T, r doctor.ProbeResult, check string) doctor.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("no finding for %s", check)
	return doctor.Finding{}
}

// want asserts a grade and that the finding says every one of the texts.
func want(t *testing.T, f doctor.Finding, status doctor.Status, texts ...string) {
	t.Helper()
	if f.Status != status {
		t.Errorf("%s is %s, want %s: %+v", f.Check, f.Status, status, f)
	}
	all := f.Summary + " " + f.Detail + " " + f.Fix
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%s does not say %q: %s", f.Check, text, all)
		}
	}
}

func TestHealthyProjectIsAcceptedWithItsFacts(t *testing.T) {
	t.Parallel()
	r := probe(t, hosted(), doctor.ProbeInput{TypedURL: hostedOrigin + "/"})
	for _, f := range r.Findings {
		want(t, f, doctor.Pass)
	}
	facts := r.Facts
	if !r.Accepted() || !r.Registration || r.SplitIssuer {
		t.Errorf("accepted %v, registration %v, split %v", r.Accepted(), r.Registration, r.SplitIssuer)
	}
	if facts.TypedURL != hostedOrigin || facts.APIOrigin != hostedOrigin || facts.Issuer != hostedIssuer || facts.PublishableKey != publishable ||
		facts.JWKSURI != hostedIssuer+"/.well-known/jwks.json" || facts.Signing != tenants.SigningAsymmetric || !facts.OAuthEnabled || len(facts.ScopesSupported) != 2 {
		t.Errorf("facts %+v", facts)
	}
}

// The connector URL a builder gives out must be the project's own: what was
// typed and what the project says of itself are compared whole.
func TestField03_TypedURLDiffersFromWhatTheProjectSays(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string]string{
		"scheme": "http://project.example.test",
		"host":   "https://www.example.test",
		"port":   "https://project.example.test:8443",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hosted()
			w.meta[typed] = healthy("https://project.example.test/auth/v1")
			r := probe(t, w, doctor.ProbeInput{TypedURL: typed})
			want(t, finding(t, r, doctor.CheckOrigin), doctor.Fail, typed, "https://project.example.test/auth/v1", "GOTRUE_JWT_ISSUER="+typed+"/auth/v1")
			if r.Accepted() {
				t.Error("accepted")
			}
			for _, asked := range w.asked {
				if !strings.HasPrefix(asked, "auth ") {
					t.Errorf("asked %q of a project whose origin is in doubt", asked)
				}
			}
		})
	}
}

// The issuer's path /auth/v1 may not be tidied away: clients build every
// discovery URL from the issuer (RFC 8414 section 3.1).
func TestField04_IssuerKeepsItsPath(t *testing.T) {
	t.Parallel()
	r := probe(t, hosted(), doctor.ProbeInput{TypedURL: hostedOrigin})
	if r.Facts.Issuer != hostedIssuer {
		t.Errorf("issuer %q, want %q", r.Facts.Issuer, hostedIssuer)
	}

	const old = "https://project.example.test"
	w := &world{meta: map[string]supabase.AuthMetadata{old: healthy(old)}, keys: oneKey}
	r = probe(t, w, doctor.ProbeInput{TypedURL: old})
	want(t, finding(t, r, doctor.CheckIssuer), doctor.Warn, old, "/auth/v1")
	if r.Facts.Issuer != old {
		t.Errorf("issuer %q was changed", r.Facts.Issuer)
	}
}

func TestField05_VanityDomainKeepsTheClaimedIssuer(t *testing.T) {
	t.Parallel()
	const vanity = "https://auth.example.test"
	w := hosted()
	w.meta[vanity] = healthy(hostedIssuer)
	r := probe(t, w, doctor.ProbeInput{TypedURL: vanity})
	want(t, finding(t, r, doctor.CheckOrigin), doctor.Pass, vanity, hostedOrigin)
	if r.Facts.Issuer != hostedIssuer || r.Facts.APIOrigin != hostedOrigin || r.Facts.TypedURL != vanity {
		t.Errorf("facts %+v", r.Facts)
	}
	for _, asked := range w.asked {
		if strings.Contains(asked, vanity) && !strings.HasPrefix(asked, "auth ") {
			t.Errorf("the publishable key or keys went to the vanity domain: %q", asked)
		}
	}
}

func TestVanityDomainWithoutItsProjectIsRefused(t *testing.T) {
	t.Parallel()
	const vanity = "https://auth.example.test"
	away := &world{meta: map[string]supabase.AuthMetadata{vanity: healthy(hostedIssuer)}, keys: oneKey}
	r := probe(t, away, doctor.ProbeInput{TypedURL: vanity})
	want(t, finding(t, r, doctor.CheckOrigin), doctor.Fail, vanity, hostedIssuer)

	other := hosted()
	other.meta[vanity] = healthy(hostedIssuer)
	other.meta[hostedOrigin] = healthy("https://elsewhere.example.test/auth/v1")
	r = probe(t, other, doctor.ProbeInput{TypedURL: vanity})
	want(t, finding(t, r, doctor.CheckOrigin), doctor.Fail, hostedIssuer, "elsewhere.example.test")
}

func TestField07_EmptyIssuerNamesTheSetting(t *testing.T) {
	t.Parallel()
	const origin = "https://project.example.test"
	w := &world{authErr: map[string]error{origin: &supabase.AuthError{Reason: supabase.AuthNoIssuer, Message: "no issuer"}}}
	r := probe(t, w, doctor.ProbeInput{TypedURL: origin})
	want(t, finding(t, r, doctor.CheckIssuer), doctor.Fail, "GOTRUE_JWT_ISSUER="+origin+"/auth/v1")
	if r.Accepted() || r.Facts.Issuer != "" || r.Facts.JWKSURI != "" {
		t.Errorf("accepted %v with %+v", r.Accepted(), r.Facts)
	}
	for _, check := range []string{doctor.CheckOrigin, doctor.CheckKeys, doctor.CheckDataAPI, doctor.CheckOAuth, doctor.CheckRegistration} {
		want(t, finding(t, r, check), doctor.Skip)
	}
}

func TestField08_GatewayThatWantsAKeyIsToldApart(t *testing.T) {
	t.Parallel()
	const origin = "https://project.example.test"
	w := &world{authErr: map[string]error{origin: &supabase.AuthError{Reason: supabase.AuthGatewayKey, Message: "401"}}}
	r := probe(t, w, doctor.ProbeInput{TypedURL: origin})
	want(t, finding(t, r, doctor.CheckReachable), doctor.Fail, append(supabase.OpenRoutes(), "gateway")...)

	guarded := healthy(hostedIssuer)
	guarded.RoutesGuarded = true
	w = hosted()
	w.meta[hostedOrigin] = guarded
	r = probe(t, w, doctor.ProbeInput{TypedURL: hostedOrigin})
	want(t, finding(t, r, doctor.CheckOAuth), doctor.Warn, append(supabase.OpenRoutes(), "gateway")...)

	off := healthy(hostedIssuer)
	off.OAuthServer, off.Registration = false, false
	w.meta[hostedOrigin] = off
	r = probe(t, w, doctor.ProbeInput{TypedURL: hostedOrigin})
	want(t, finding(t, r, doctor.CheckOAuth), doctor.Warn, "Authentication, OAuth Server")
	if text := finding(t, r, doctor.CheckOAuth).Fix; strings.Contains(text, "kong") {
		t.Errorf("a switched-off OAuth server is blamed on the gateway: %s", text)
	}
	if !r.Accepted() || r.Facts.OAuthEnabled {
		t.Errorf("accepted %v, OAuth enabled %v", r.Accepted(), r.Facts.OAuthEnabled)
	}
}

func TestField40_HS256ProjectRegistersWithAFinding(t *testing.T) {
	t.Parallel()
	w := hosted()
	w.keys = `{"keys":[]}`
	r := probe(t, w, doctor.ProbeInput{TypedURL: hostedOrigin})
	want(t, finding(t, r, doctor.CheckKeys), doctor.Warn, "HS256", "JWT Keys", "direct", "bridge")
	if !r.Accepted() || r.Facts.Signing != tenants.SigningHS256 {
		t.Errorf("accepted %v, signing %q", r.Accepted(), r.Facts.Signing)
	}
}

func TestSigningKeysThatNobodyAcceptsAreAFinding(t *testing.T) {
	t.Parallel()
	w := hosted()
	w.keys = `{"keys":[{"kty":"EC","crv":"P-521","alg":"ES512","kid":"1"}]}`
	r := probe(t, w, doctor.ProbeInput{TypedURL: hostedOrigin})
	want(t, finding(t, r, doctor.CheckKeys), doctor.Warn, "ES512", "ES256")
}

func TestSigningKeysOfAnotherOriginAreRefused(t *testing.T) {
	t.Parallel()
	w := hosted()
	meta := healthy(hostedIssuer)
	meta.JWKSURI = "https://keys.example.test/jwks.json"
	w.meta[hostedOrigin] = meta
	r := probe(t, w, doctor.ProbeInput{TypedURL: hostedOrigin})
	want(t, finding(t, r, doctor.CheckKeys), doctor.Fail, "keys.example.test", hostedOrigin)
	for _, asked := range w.asked {
		if strings.HasPrefix(asked, "keys ") {
			t.Errorf("asked %q", asked)
		}
	}
}

func TestUnreadableKeySetFails(t *testing.T) {
	t.Parallel()
	w := hosted()
	w.keyErr = fault.New(fault.Unavailable, "key_set_unavailable", "Not now.")
	r := probe(t, w, doctor.ProbeInput{TypedURL: hostedOrigin})
	want(t, finding(t, r, doctor.CheckKeys), doctor.Fail, "Not now.", "/.well-known/jwks.json")

	w = hosted()
	w.keys = `{"not":"keys"}`
	r = probe(t, w, doctor.ProbeInput{TypedURL: hostedOrigin})
	want(t, finding(t, r, doctor.CheckKeys), doctor.Fail)
}

func TestRefusedPublishableKeyFails(t *testing.T) {
	t.Parallel()
	w := hosted()
	w.dataErr = fault.New(fault.Unprocessable, "publishable_key_refused", "Refused.")
	r := probe(t, w, doctor.ProbeInput{TypedURL: hostedOrigin})
	want(t, finding(t, r, doctor.CheckDataAPI), doctor.Fail, "API Keys")
	if r.Accepted() {
		t.Error("accepted")
	}
}

func TestClientRegistrationOffIsAFinding(t *testing.T) {
	t.Parallel()
	w := hosted()
	meta := healthy(hostedIssuer)
	meta.RegistrationEndpoint, meta.Registration = "", false
	w.meta[hostedOrigin] = meta
	r := probe(t, w, doctor.ProbeInput{TypedURL: hostedOrigin})
	want(t, finding(t, r, doctor.CheckRegistration), doctor.Warn, "GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION")
	if !r.Accepted() || r.Registration || !r.Facts.OAuthEnabled {
		t.Errorf("accepted %v, registration %v, facts %+v", r.Accepted(), r.Registration, r.Facts)
	}
}

func TestSplitIssuerIsReadAtTheTypedOriginOnly(t *testing.T) {
	t.Parallel()
	const typed, issuer = "http://supabase.internal.example.test:8000", "https://app.example.test/auth/v1"
	w := &world{meta: map[string]supabase.AuthMetadata{typed: healthy(issuer)}, keys: oneKey}
	r := probe(t, w, doctor.ProbeInput{TypedURL: typed, AllowSplitIssuer: true})
	want(t, finding(t, r, doctor.CheckOrigin), doctor.Warn, typed, "https://app.example.test", "proof")
	if !r.Accepted() || !r.SplitIssuer || r.Facts.APIOrigin != typed || r.Facts.Issuer != issuer || r.Facts.JWKSURI != typed+"/auth/v1/.well-known/jwks.json" {
		t.Errorf("accepted %v, split %v, facts %+v", r.Accepted(), r.SplitIssuer, r.Facts)
	}
	for _, asked := range w.asked {
		if strings.Contains(asked, "app.example.test") {
			t.Errorf("asked the issuer's origin: %q", asked)
		}
	}
}

func TestTypedURLs(t *testing.T) {
	t.Parallel()
	for typed, fix := range map[string]string{
		"abcdefghijklmnopqrst.supabase.co":                                 "https://abcdefghijklmnopqrst.supabase.co",
		"https://supabase.com/dashboard/project/abcdefghijklmnopqrst/auth": hostedOrigin,
		hostedOrigin + "/rest/v1/":                                         hostedOrigin,
		hostedOrigin + "?apikey=x":                                         hostedOrigin,
		"https://user:word@project.example.test":                           "https://<ref>.supabase.co",
		"ftp://project.example.test":                                       "https://<ref>.supabase.co",
		"":                                                                 "https://<ref>.supabase.co",
	} {
		w := hosted()
		r := probe(t, w, doctor.ProbeInput{TypedURL: typed})
		f := finding(t, r, doctor.CheckReachable)
		want(t, f, doctor.Fail, fix)
		if strings.Contains(f.Summary+f.Detail+f.Fix, "word") || len(w.asked) != 0 {
			t.Errorf("%q: said %+v, asked %v", typed, f, w.asked)
		}
	}
}

func TestRefusedAddressSaysSo(t *testing.T) {
	t.Parallel()
	const origin = "http://10.0.0.7"
	w := &world{authErr: map[string]error{origin: &supabase.AuthError{
		Reason: supabase.AuthUnreachable, Message: "Nothing usable answers.",
		Cause: fault.New(fault.Invalid, "address", "This address is not allowed."),
	}}}
	r := probe(t, w, doctor.ProbeInput{TypedURL: origin})
	want(t, finding(t, r, doctor.CheckReachable), doctor.Fail, "not allowed", "CHUMBO_ALLOW_PRIVATE_HOSTS")
}

func TestSecretKeysAreRefusedBeforeAnythingIsAsked(t *testing.T) {
	t.Parallel()
	const secret = "sb_secret_abcdefghijklmnopqrstuv_12345678"
	for _, in := range []doctor.ProbeInput{
		{TypedURL: hostedOrigin, PublishableKey: secret},
		{TypedURL: secret, PublishableKey: publishable},
	} {
		w := hosted()
		_, err := doctor.Probe(t.Context(), w, in, nil)
		if err == nil || strings.Contains(err.Error(), "abcdefghijklmnopqrstuv") || !strings.Contains(strings.ToLower(err.Error()), "revoke") {
			t.Errorf("error %v, want a refusal that says revoke and does not repeat the key", err)
		}
		if len(w.asked) != 0 {
			t.Errorf("asked %v", w.asked)
		}
	}
}

func TestProbeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := doctor.Probe(ctx, hosted(), doctor.ProbeInput{TypedURL: hostedOrigin, PublishableKey: publishable}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
