package supabase

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// authServer plays a project's Auth behind some gateway.
type authServer struct {
	issuer       string // empty: the server's own /auth/v1
	relative     bool   // issuer "" and relative endpoints (no GOTRUE_JWT_ISSUER)
	inserted     bool   // the gateway rewrites the path-inserted form
	off          bool   // OAuth server off
	old          bool   // an Auth without an OAuth server
	noRegister   bool
	guardDocs    bool // the gateway wants an API key everywhere
	guardOAuth   bool // … on /auth/v1/oauth/* only
	keys         string
	foreignKeys  bool // jwks_uri on another origin
	notSupabase  bool
	alwaysBroken bool
}

func (a authServer) start(t *testing.T) *fakeProject {
	t.Helper()
	var p *fakeProject
	p = newFakeProject(t, func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, p.URL) })
	return p
}

const insertedPath = "/.well-known/oauth-authorization-server/auth/v1"

func (a authServer) serve(w http.ResponseWriter, r *http.Request, origin string) {
	noKey := answer(401, nil, `{"message":"No API key found in request"}`)
	disabled := answer(404, map[string]string{"X-Sb-Error-Code": "feature_disabled"}, `{"code":404,"error_code":"feature_disabled","msg":"OAuth server is disabled"}`)
	text404 := answer(404, map[string]string{"Content-Type": "text/plain"}, "404 page not found\n")
	oauth := answer(200, nil, a.document(origin))
	switch {
	case a.alwaysBroken:
		oauth = answer(502, map[string]string{"Content-Type": "text/html"}, "<html>")
	case a.notSupabase:
		oauth = answer(200, map[string]string{"Content-Type": "text/html"}, "<html>a website</html>")
	case a.guardDocs:
		oauth = noKey
	case r.URL.Path == "/auth/v1/.well-known/jwks.json":
		oauth = answer(200, nil, a.keys)
	case r.URL.Path == "/auth/v1/oauth/authorize" && a.guardOAuth:
		oauth = noKey
	case r.URL.Path == "/auth/v1/oauth/authorize":
		oauth = answer(400, map[string]string{"X-Sb-Error-Code": "validation_failed"}, `{"code":400,"error_code":"validation_failed","msg":"m"}`)
	case r.URL.Path == "/auth/v1/.well-known/openid-configuration":
	case r.URL.Path == insertedPath && !a.inserted:
		oauth = text404
	case r.URL.Path == insertedPath, r.URL.Path == "/auth/v1/.well-known/oauth-authorization-server":
		if a.off {
			oauth = disabled
		}
		if a.old {
			oauth = text404
		}
	default:
		oauth = text404
	}
	oauth(w, r)
}

func (a authServer) document(origin string) string {
	issuer := a.issuer
	if issuer == "" {
		issuer = origin + "/auth/v1"
	}
	base := issuer
	if a.relative {
		issuer, base = "", ""
	}
	if a.issuer != "" {
		base = origin + "/auth/v1"
	}
	jwks := base + "/.well-known/jwks.json"
	if a.foreignKeys {
		jwks = "https://keys.example.test/jwks.json"
	}
	doc := map[string]any{
		"issuer": issuer, "authorization_endpoint": base + "/oauth/authorize", "token_endpoint": base + "/oauth/token",
		"jwks_uri": jwks, "userinfo_endpoint": base + "/oauth/userinfo", "scopes_supported": []string{"openid", "email"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "code_challenge_methods_supported": []string{"S256", "plain"},
	}
	if !a.noRegister {
		doc["registration_endpoint"] = base + "/oauth/clients/register"
	}
	b, _ := json.Marshal(doc)
	return string(b)
}

const es256 = `{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":"1","x":"x","y":"y"}]}`

func TestAuthMetadataTellsProjectsApart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		server       authServer
		on, register bool
		guarded      bool
		signing      SigningKind
		source       string
	}{
		{"hosted", authServer{inserted: true, keys: es256}, true, true, false, SigningAsymmetric, insertedPath},
		{"self-hosted", authServer{keys: es256}, true, true, false, SigningAsymmetric, "/auth/v1/.well-known/oauth-authorization-server"},
		{"oauth off, hosted", authServer{inserted: true, off: true, keys: es256}, false, false, false, SigningAsymmetric, "/auth/v1/.well-known/openid-configuration"},
		{"oauth off, self-hosted", authServer{off: true, keys: es256}, false, false, false, SigningAsymmetric, "/auth/v1/.well-known/openid-configuration"},
		{"too old for oauth", authServer{old: true, keys: es256}, false, false, false, SigningAsymmetric, "/auth/v1/.well-known/openid-configuration"},
		{"registration off", authServer{inserted: true, noRegister: true, keys: es256}, true, false, false, SigningAsymmetric, insertedPath},
		{"HS256 only", authServer{inserted: true, keys: `{"keys":[]}`}, true, true, false, SigningHS256, insertedPath},
		{"oauth routes guarded", authServer{inserted: true, guardOAuth: true, keys: es256}, true, true, true, SigningAsymmetric, insertedPath},
		{"keys elsewhere are not fetched", authServer{inserted: true, foreignKeys: true}, true, true, false, SigningUnknown, insertedPath},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := test.server.start(t)
			m, err := newTestClient().AuthMetadata(t.Context(), p.URL)
			if err != nil {
				t.Fatal(err)
			}
			if m.OAuthServer != test.on || m.Registration != test.register || m.RoutesGuarded != test.guarded || m.Signing.Kind != test.signing {
				t.Errorf("metadata %+v", m)
			}
			if m.Source != p.URL+test.source || m.Issuer != p.URL+"/auth/v1" || len(m.ScopesSupported) != 2 {
				t.Errorf("metadata %+v", m)
			}
			requests, _ := p.seen()
			for _, r := range requests {
				if r.Header.Get("Authorization") != "" || r.Header.Get("Apikey") != "" {
					t.Errorf("%s was asked with a credential", r.URL)
				}
			}
		})
	}
}

func TestAuthMetadataSaysWhyThereIsNone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		server authServer
		reason AuthReason
	}{
		{"another website", authServer{notSupabase: true}, AuthNotSupabase},
		{"broken", authServer{alwaysBroken: true}, AuthUnreachable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := newTestClient().AuthMetadata(t.Context(), test.server.start(t).URL)
			var e *AuthError
			if !errors.As(err, &e) || e.Reason != test.reason || e.Message == "" {
				t.Fatalf("error %v", err)
			}
		})
	}
}

// The issuer's path /auth/v1 belongs behind the well-known name: that is the
// one form a hosted project serves, so it may not be tidied away.
func TestField04_IssuerPathIsInsertedNotDropped(t *testing.T) {
	t.Parallel()
	p := authServer{inserted: true, keys: es256}.start(t)
	m, err := newTestClient().AuthMetadata(t.Context(), p.URL)
	if err != nil || m.Issuer != p.URL+"/auth/v1" {
		t.Fatalf("%+v, %v", m, err)
	}
	requests, _ := p.seen()
	if requests[0].URL.Path != insertedPath {
		t.Errorf("the first form asked was %s", requests[0].URL.Path)
	}
}

func TestField05_TheIssuerThatIsClaimedIsReturned(t *testing.T) {
	t.Parallel()
	claimed := "https://abcdefghijklmnopqrst.supabase.co/auth/v1"
	p := authServer{inserted: true, issuer: claimed, keys: es256}.start(t)
	m, err := newTestClient().AuthMetadata(t.Context(), p.URL)
	if err != nil || m.Issuer != claimed {
		t.Fatalf("%+v, %v", m, err)
	}
	if origin, err := APIOrigin(m.Issuer); err != nil || origin == p.URL {
		t.Errorf("the origin for tokens would be %q, %v", origin, err)
	}
}

func TestField07_AnEmptyIssuerNamesTheSetting(t *testing.T) {
	t.Parallel()
	p := authServer{relative: true, keys: es256}.start(t)
	_, err := newTestClient().AuthMetadata(t.Context(), p.URL)
	var e *AuthError
	if !errors.As(err, &e) || e.Reason != AuthNoIssuer || !strings.Contains(e.Message, "GOTRUE_JWT_ISSUER="+p.URL+"/auth/v1") {
		t.Fatalf("error %v", err)
	}
}

func TestField08_AGatewayThatWantsAKeyIsNotOAuthOff(t *testing.T) {
	t.Parallel()
	p := authServer{guardDocs: true}.start(t)
	_, err := newTestClient().AuthMetadata(t.Context(), p.URL)
	var e *AuthError
	if !errors.As(err, &e) || e.Reason != AuthGatewayKey {
		t.Fatalf("error %v", err)
	}
	for _, route := range OpenRoutes() {
		if !strings.Contains(e.Message, route) {
			t.Errorf("the text does not name %s", route)
		}
	}
}

// The transcripts are of a real Auth: what it says when the OAuth server is
// off must be read as off.
func TestRecordedDocumentsAreRead(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/openid-configuration.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc authDocument
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Issuer != "https://ref.example.test/auth/v1" || doc.RegistrationEndpoint == "" || len(doc.ScopesSupported) != 5 {
		t.Errorf("document %+v", doc)
	}
}

func TestField42_AKeySetThatCannotBeReadIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]http.HandlerFunc{
		"500":  answer(500, nil, `{}`),
		"html": answer(200, map[string]string{"Content-Type": "text/html"}, `<html>`),
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"keys":[`+strings.Repeat(" ", maxDocument)+`]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFakeProject(t, handle)
			_, err := newTestClient().KeySet(t.Context(), "lane", p.URL+"/jwks")
			if !fault.Is(err, fault.Unavailable) {
				t.Fatalf("error %v", err)
			}
		})
	}
}

func TestKeySetIsReturnedAsItIs(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, es256))
	got, err := newTestClient().KeySet(t.Context(), "lane", p.URL+"/auth/v1/.well-known/jwks.json")
	if err != nil || string(got) != es256 {
		t.Fatalf("%s, %v", got, err)
	}
}

func TestSettingsSendTheKeyAndNothingElse(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `{"external":{"email":true,"google":false},"disable_signup":true,"mailer_autoconfirm":true}`))
	s, err := newTestClient().Settings(t.Context(), p.project())
	if err != nil || !s.External["email"] || !s.DisableSignup || !s.Autoconfirm {
		t.Fatalf("%+v, %v", s, err)
	}
	requests, _ := p.seen()
	wantHeaders(t, requests[0], map[string]string{"Apikey": "sb_publishable_test", "Accept": "application/json"})
}

func TestSocialProvidersAreThoseSwitchedOn(t *testing.T) {
	t.Parallel()
	s := Settings{External: map[string]bool{"email": true, "phone": true, "anonymous_users": true, "google": true, "github": true, "apple": false, "<b>": true}}
	if got := s.SocialProviders(); !slices.Equal(got, []string{"github", "google"}) {
		t.Errorf("%v", got)
	}
}
