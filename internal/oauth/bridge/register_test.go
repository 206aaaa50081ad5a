package bridge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func (w *world) register(t testing.TB, ep *tenants.Endpoint, body string) *httptest.ResponseRecorder {
	t.Helper()
	return w.ask(t, http.MethodPost, ep.Resource.URL()+"/oauth/register", body, "Content-Type", "application/json; charset=utf-8", "User-Agent", "Cursor/1.0")
}

const cursorRegistration = `{"client_name":"Cursor","redirect_uris":["http://localhost:8787/callback","http://127.0.0.1:8787/callback",
	"cursor://anysphere.cursor-mcp/oauth/callback","https://www.cursor.com/agents/mcp/oauth/callback"],"token_endpoint_auth_method":"none",
	"grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"],"response_types":["code"],
	"scope":"openid crm.read  crm.unknown offline_access email","application_type":"native","client_uri":"https://cursor.example.test",
	"logo_uri":null,"software_id":"2e6dc280-f3c3-4e01-99a7-8181dbd1d23d","contacts":["alice@example.test"],"made_up":{"a":1}}`

func TestField32_CursorRegistersAllItsRedirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.register(t, w.ep, cursorRegistration)
	r := decoded[registration](t, rec, http.StatusCreated)
	if len(r.RedirectURIs) != 4 || r.RedirectURIs[2] != "cursor://anysphere.cursor-mcp/oauth/callback" || r.AuthMethod != "none" || r.Secret != "" || r.SecretExpires != nil ||
		strings.Join(r.GrantTypes, " ") != "authorization_code refresh_token" || r.Scope != "crm.read offline_access" || r.ApplicationType != "native" ||
		r.Name != "Cursor" || r.URI != "https://cursor.example.test" || r.SoftwareID == "" || r.IssuedAt != w.clock.Now().Unix() {
		t.Errorf("%s", rec.Body)
	}
	for _, word := range []string{"null", "contacts", "made_up", "alice", "client_secret"} {
		if strings.Contains(rec.Body.String(), word) {
			t.Errorf("the answer has %s: %s", word, rec.Body)
		}
	}
	if rec.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%v", rec.Header())
	}
	c, err := w.service.client(t.Context(), w.ep, r.ClientID)
	if err != nil || !c.redirectsTo("http://localhost:1/callback") || !c.accepts(authNone) || c.Document || c.Name != "Cursor" {
		t.Errorf("%+v, %v", c, err)
	}
	steps := w.steps.of(w.ep.Surface, events.StepRegistration)
	if len(steps) != 1 || steps[0].Failed || steps[0].Client != r.ClientID || steps[0].ClientName != "Cursor" || steps[0].Agent != "Cursor/1.0" {
		t.Errorf("steps %+v", steps)
	}
}

func TestPublicClientsThatRegisterAgainAreTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	globex := w.surface(t, w.member(t, "bob@example.test", "Globex"), w.project, "globex", "main", nil)
	sales := w.surface(t, w.builder, w.project, "acme", "sales", nil)
	first := decoded[registration](t, w.register(t, w.ep, cursorRegistration), http.StatusCreated)
	w.clock.Advance(time.Hour)
	again := decoded[registration](t, w.register(t, w.ep, cursorRegistration), http.StatusCreated)
	if again.ClientID != first.ClientID || again.IssuedAt != first.IssuedAt {
		t.Errorf("%s at %d is %s at %d", first.ClientID, first.IssuedAt, again.ClientID, again.IssuedAt)
	}
	other := decoded[registration](t, w.register(t, w.ep, strings.Replace(cursorRegistration, `"Cursor"`, `"Cursor 2"`, 1)), http.StatusCreated)
	if other.ClientID == first.ClientID {
		t.Error("other metadata is the same client")
	}
	for _, ep := range []*tenants.Endpoint{globex, sales} {
		elsewhere := decoded[registration](t, w.register(t, ep, cursorRegistration), http.StatusCreated)
		if elsewhere.ClientID == first.ClientID {
			t.Error("two surfaces share a client")
		}
		if _, err := w.service.client(t.Context(), w.ep, elsewhere.ClientID); !fault.Is(err, fault.NotFound) {
			t.Errorf("a client of another surface is known here: %v", err)
		}
		if _, err := w.service.client(t.Context(), ep, first.ClientID); !fault.Is(err, fault.NotFound) {
			t.Errorf("a client of this surface is known there: %v", err)
		}
	}
}

func TestManyThatRegisterAtOnceAreOneClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	ids := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r := decoded[registration](t, w.register(t, w.ep, cursorRegistration), http.StatusCreated)
			mu.Lock()
			defer mu.Unlock()
			ids[r.ClientID] = true
		})
	}
	wg.Wait()
	if len(ids) != 1 {
		t.Errorf("%d clients", len(ids))
	}
}

// The one who registered first must gain nothing by the one after.
func TestConfidentialClientsShareNothingWithWhoeverSendsTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for method, body := range map[string]string{
		authPost:  `{"client_name":"Claude","redirect_uris":["https://claude.ai/api/mcp/auth_callback"],"token_endpoint_auth_method":"client_secret_post"}`,
		authBasic: `{"client_name":"Claude","redirect_uris":["https://claude.ai/api/mcp/auth_callback"]}`, // the default of the RFC
	} {
		rec := w.register(t, w.ep, body)
		a := decoded[registration](t, rec, http.StatusCreated)
		b := decoded[registration](t, w.register(t, w.ep, body), http.StatusCreated)
		if a.ClientID == b.ClientID || a.Secret == b.Secret || len(a.Secret) != 43 || a.AuthMethod != method || !strings.Contains(rec.Body.String(), `"client_secret_expires_at":0`) {
			t.Errorf("%+v and %+v", a, b)
		}
		var stored int
		w.query(t, &stored, "select count(*) from oauth_clients where metadata::text like '%' || $1 || '%' or secret_hash = $1::bytea", a.Secret)
		if stored != 0 {
			t.Error("the secret itself is stored")
		}
		c, err := w.service.client(t.Context(), w.ep, a.ClientID)
		if err != nil || !c.accepts(authPost) || !c.accepts(authBasic) || c.accepts(authNone) || c.AuthMethods[0] != method {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

func TestRegistrationsAreRefusedAsAWholeAndSayWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := `"redirect_uris":["https://a.example.test/cb"]`
	for body, want := range map[string]struct{ code, says string }{
		`{"redirect_uris":["https://a.example.test/cb","javascript:alert(1)","http://evil.example.test/cb"]}`: {"invalid_redirect_uri", "javascript:alert(1)"},
		`{"redirect_uris":["javascript:alert(1)","https://a.example.test/cb","http://evil.example.test/cb"]}`: {"invalid_redirect_uri", "http://evil.example.test/cb"},
		`{}`:                        {"invalid_redirect_uri", "missing"},
		`{"redirect_uris":[]}`:      {"invalid_redirect_uri", "missing"},
		`{"redirect_uris":[null]}`:  {"invalid_redirect_uri", "empty"},
		`{"redirect_uris":"https"}`: {"invalid_client_metadata", "redirect_uris"},
		`{"Redirect_URIs":["https://a.example.test/cb"]}`:                                                                          {"invalid_redirect_uri", "missing"},
		`{` + good + `,"grant_types":["client_credentials"]}`:                                                                      {"invalid_client_metadata", "grant_types"},
		`{` + good + `,"grant_types":["refresh_token"]}`:                                                                           {"invalid_client_metadata", "grant_types"},
		`{` + good + `,"response_types":["token"]}`:                                                                                {"invalid_client_metadata", "response_types"},
		`{` + good + `,"token_endpoint_auth_method":"tls_client_auth"}`:                                                            {"invalid_client_metadata", "token_endpoint_auth_method"},
		`{` + good + `,"token_endpoint_auth_method":7}`:                                                                            {"invalid_client_metadata", "token_endpoint_auth_method"},
		`{` + good + `,"token_endpoint_auth_method":"private_key_jwt"}`:                                                            {"invalid_client_metadata", "jwks"},
		`{` + good + `,"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[]}}`:                                         {"invalid_client_metadata", "jwks"},
		`{` + good + `,"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"http://evil.example.test/k"}`:                    {"invalid_client_metadata", "jwks_uri"},
		`{` + good + `,"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[{}]},"jwks_uri":"https://a.example.test/k"}`: {"invalid_client_metadata", "together"},
		`{"redirect_uris":[` + strings.Repeat(`"https://a.example.test/cb",`, 20) + `"https://a.example.test/cb"]}`:                {"invalid_redirect_uri", "21"},
		`[]`:               {"invalid_client_metadata", "JSON object"},
		`null`:             {"invalid_client_metadata", "JSON object"},
		`{} {}`:            {"invalid_client_metadata", "JSON object"},
		"{\"a\":\"\xff\"}": {"invalid_client_metadata", "JSON object"},
	} {
		answer := decoded[map[string]string](t, w.register(t, w.ep, body), http.StatusBadRequest)
		if answer["error"] != want.code || !strings.Contains(answer["error_description"], want.says) || strings.ContainsAny(answer["error_description"], "\"\\") {
			t.Errorf("%s: %v, want %v", body, answer, want)
		}
	}
	both := decoded[map[string]string](t, w.register(t, w.ep, `{"redirect_uris":["javascript:1","data:2"]}`), http.StatusBadRequest)
	if !strings.Contains(both["error_description"], "javascript:1") || !strings.Contains(both["error_description"], "data:2") {
		t.Errorf("not every wrong URI is named: %v", both)
	}
	var n int
	w.query(t, &n, "select count(*) from oauth_clients")
	if n != 0 {
		t.Errorf("%d clients were stored", n)
	}
	if steps := w.steps.of(w.ep.Surface, events.StepRegistration); len(steps) == 0 || !steps[0].Failed || steps[0].Code == "" {
		t.Errorf("steps %+v", steps)
	}
}

func TestNamesAreCleanedForPeople(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Claude": "Claude", " Cur\r\nsor\t ": "Cur sor", "evil\u202etxt.exe": "eviltxt.exe", "a\u200bb\x00c": "ab c", strings.Repeat("ü", 200): strings.Repeat("ü", 60), "": "", "\xff": "",
	} {
		if got := cleanName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestField30_FullSurfacesForgetUnusedClientsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.service.maxClients = 5
	body := func(n int) string {
		return fmt.Sprintf(`{"client_name":"app %d","redirect_uris":["https://a.example.test/cb"],"token_endpoint_auth_method":"none"}`, n)
	}
	var ids []string
	for n := range 5 {
		ids = append(ids, decoded[registration](t, w.register(t, w.ep, body(n)), http.StatusCreated).ClientID)
		w.clock.Advance(time.Minute)
	}
	who := w.signedIn(t, w.ep, "alice@example.test")
	w.Exec(t, `insert into grants (organization_id, id, surface_id, project_id, kind, issuer, subject, client_id, client_name, asked, scopes, read_only, writes,
			upstream_session_id, created_at, approved_at, expires_at)
		values ($1, gen_random_uuid(), $2, $3, 'client', $4, $5, $6, '', '{}', '{}', false, '{}', $7, $8, $8, $9)`,
		w.ep.Organization.UUID(), w.ep.Surface.UUID(), w.ep.Project.ID.UUID(), who.Issuer, who.Subject, ids[0], who.Upstream.UUID(), w.clock.Now(), w.clock.Now().Add(time.Hour))
	second, err := w.service.client(t.Context(), w.ep, ids[1])
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.service.begin(t.Context(), w.ep, newSignIn{purpose: PurposeAuthorize, client: second, redirectURI: "https://a.example.test/cb"}); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, decoded[registration](t, w.register(t, w.ep, body(5)), http.StatusCreated).ClientID)
	var known []int
	for n, id := range ids {
		if _, err := w.service.client(t.Context(), w.ep, id); err == nil {
			known = append(known, n)
		}
	}
	if !slices.Equal(known, []int{0, 1, 3, 4, 5}) {
		t.Errorf("known are %v", known)
	}
}

func TestRegistrationIsLimitedPerAddressAndGenerously(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range registerTries {
		if err := w.service.limited(t.Context(), "register", w.ep, Visitor{Address: "192.0.2.1"}, registerTries, registerIn); err != nil {
			t.Fatalf("try %d: %v", n, err)
		}
	}
	rec := w.register(t, w.ep, cursorRegistration) // httptest comes from 192.0.2.1
	if answer := decoded[map[string]string](t, rec, http.StatusTooManyRequests); answer["error"] != "temporarily_unavailable" || rec.Header().Get("Retry-After") == "" {
		t.Errorf("%v %v", rec.Header(), answer)
	}
	other := w.surface(t, w.builder, w.project, "acme", "sales", nil)
	if rec := w.register(t, other, cursorRegistration); rec.Code != http.StatusCreated {
		t.Errorf("another surface: %d %s", rec.Code, rec.Body)
	}
}

func FuzzRegistration(f *testing.F) {
	f.Add([]byte(cursorRegistration))
	f.Add([]byte(`{"redirect_uris":["https://a.example.test/cb"],"client_name":"\u202e","scope":7,"jwks":{"keys":[{"kty":"EC"}]},"token_endpoint_auth_method":"private_key_jwt"}`))
	f.Add([]byte(`{"redirect_uris":[1]}`))
	ep := &tenants.Endpoint{Access: surfaces.Access{Scopes: []string{"crm.read"}}}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseRegistration(ep, body)
		if err != nil {
			return
		}
		out, err := json.Marshal(r)
		if err != nil || strings.Contains(string(out), ":null") || strings.Contains(string(out), `\u0000`) {
			t.Errorf("%s, %v", out, err)
		}
		for _, uri := range r.RedirectURIs {
			if redirectProblem(uri) != "" {
				t.Errorf("%q is stored", uri)
			}
		}
		if again, err := parseRegistration(ep, out); err != nil {
			t.Errorf("what was stored is refused: %s: %v", out, err)
		} else if twice, _ := json.Marshal(again); string(twice) != string(out) {
			t.Errorf("%s becomes %s", out, twice)
		}
	})
}
