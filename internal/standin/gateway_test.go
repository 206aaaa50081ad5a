package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// raw sends a request with exactly these headers to the project's origin.
func raw(t testing.TB, p *Project, method, path string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.URL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return send(t, req)
}

// TestGatewayKeys pins who gets past the gateway, and as whom.
func TestGatewayKeys(t *testing.T) {
	t.Parallel()
	p := startOdd(t, nil)
	alice, err := p.AccessToken(AliceEmail, TokenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const who = "/rest/v1/rpc/whoami"
	cases := []struct {
		name, path, key, authorization string
		status                         int
		errorCode, message             string // of the gateway
		role                           string // that SQL ran as
	}{
		{"no key", who, "", "Bearer " + alice, 401, "UNAUTHORIZED_MISSING_API_KEY", "No API key found in request", ""},
		{"wrong key", who, "sb_publishable_wrong", "", 401, "UNAUTHORIZED_INVALID_API_KEY", "Invalid API key", ""},
		{"a user's token as key", who, alice, "", 401, "UNAUTHORIZED_INVALID_API_KEY", "Invalid API key", ""},
		{"publishable key", who, p.PublishableKey(), "", 200, "", "", "anon"},
		{"anon key", who, p.AnonKey(), "", 200, "", "", "anon"},
		{"anon key twice", who, p.AnonKey(), "Bearer " + p.AnonKey(), 200, "", "", "anon"},
		{"secret key", who, p.SecretKey(), "", 200, "", "", "service_role"},
		{"service_role key twice", who, p.ServiceRoleKey(), "Bearer " + p.ServiceRoleKey(), 200, "", "", "service_role"},
		{"publishable key twice is anon", who, p.PublishableKey(), "Bearer " + p.PublishableKey(), 200, "", "", "anon"},
		{"a secret key as bearer does not lift the role", who, p.PublishableKey(), "Bearer " + p.SecretKey(), 200, "", "", "anon"},
		{"key and user", who, p.PublishableKey(), "Bearer " + alice, 200, "", "", "authenticated"},
		{"root, publishable", "/rest/v1/", p.PublishableKey(), "", 401, "UNAUTHORIZED_INVALID_API_KEY_TYPE", "Secret API key required", ""},
		{"root, publishable and user", "/rest/v1/", p.PublishableKey(), "Bearer " + alice, 401, "UNAUTHORIZED_INVALID_API_KEY_TYPE", "Secret API key required", ""},
		{"root, anon", "/rest/v1/", p.AnonKey(), "", 403, "", "Access to schema is forbidden", ""},
		{"root without the slash", "/rest/v1", p.PublishableKey(), "", 404, "", "no Route matched with those values", ""},
	}
	for _, tc := range cases {
		headers := []string{"X-Standin-Role", "service_role"} // a client cannot choose
		if tc.key != "" {
			headers = append(headers, "apikey", tc.key)
		}
		if tc.authorization != "" {
			headers = append(headers, "Authorization", tc.authorization)
		}
		got := raw(t, p, "GET", tc.path, headers...)
		var body struct{ Message, Role string }
		if err := json.Unmarshal([]byte(got.body), &body); err != nil {
			t.Errorf("%s: body %q", tc.name, got.body)
		}
		if got.status != tc.status || got.header.Get("Sb-Error-Code") != tc.errorCode || body.Message != tc.message || body.Role != tc.role {
			t.Errorf("%s: %d %q %s, want %d %q %q role %q", tc.name, got.status, got.header.Get("Sb-Error-Code"), got.body, tc.status, tc.errorCode, tc.message, tc.role)
		}
		if got.header.Get("Sb-Request-Id") == "" {
			t.Errorf("%s: no sb-request-id", tc.name)
		}
		if strings.Contains(got.body, `"code"`) {
			t.Errorf("%s: a gateway error has no code member: %s", tc.name, got.body)
		}
	}
	if got := raw(t, p, "GET", "/rest/v1/", "apikey", p.SecretKey()); got.code() != "PGRST127" {
		t.Errorf("root, secret: %d %s, want PGRST127", got.status, got.body)
	}
}

// TestGatewayRewritesMetadata pins where the OAuth metadata is found in front
// of a hosted and of a self-hosted project.
func TestGatewayRewritesMetadata(t *testing.T) {
	t.Parallel()
	hosted := startCRM(t, nil)
	selfHosted := startCRM(t, func(o *Options) { o.SelfHosted = true })
	cases := []struct {
		path               string
		hosted, selfHosted int
	}{
		{"/.well-known/oauth-authorization-server/auth/v1", 200, 404},
		{"/.well-known/oauth-authorization-server", 404, 200},
		{"/.well-known/openid-configuration/auth/v1", 404, 404},
		{"/auth/v1/.well-known/openid-configuration", 200, 401},
		{"/auth/v1/.well-known/jwks.json", 200, 200},
		{"/auth/v1/settings", 401, 401},
	}
	for _, tc := range cases {
		for p, want := range map[*Project]int{hosted: tc.hosted, selfHosted: tc.selfHosted} {
			if got := raw(t, p, "GET", tc.path); got.status != want {
				t.Errorf("%s (self-hosted %v): %d, want %d", tc.path, p == selfHosted, got.status, want)
			}
		}
	}
}

func TestFunctionsRunBehindTheTokenCheck(t *testing.T) {
	t.Parallel()
	p := startCRM(t, func(o *Options) {
		o.Functions = map[string]http.Handler{
			"echo":  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Method, " ", r.URL.Path) }),
			"open":  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Method, " ", r.URL.Path) }),
			"sick":  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
			"picky": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) }),
		}
		o.OpenFunctions = []string{"open"}
	})
	token := func(o TokenOptions) string {
		made, err := p.AccessToken(AliceEmail, o)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + made
	}
	alice := token(TokenOptions{})
	cases := []struct {
		name, method, path, authorization string
		status                            int
		code, body                        string
	}{
		{"as a user", "POST", "echo/sub", alice, 200, "", "POST /echo/sub"},
		{"legacy anon key", "GET", "echo", "Bearer " + p.AnonKey(), 200, "", "GET /echo"},
		{"nobody", "POST", "echo", "", 401, "UNAUTHORIZED_NO_AUTH_HEADER", ""},
		{"verify_jwt is off", "POST", "open", "", 200, "", "POST /open"},
		{"preflight needs nothing", "OPTIONS", "echo", "", 200, "", "OPTIONS /echo"},
		{"publishable key as bearer", "POST", "echo", "Bearer " + p.PublishableKey(), 401, "UNAUTHORIZED_INVALID_JWT_FORMAT", ""},
		{"expired", "POST", "echo", token(TokenOptions{Lifetime: -time.Hour}), 401, "UNAUTHORIZED_ASYMMETRIC_JWT", ""},
		{"unknown slug", "POST", "nope", alice, 404, "NOT_FOUND", ""},
		{"method", "TRACE", "echo", alice, 405, "METHOD_NOT_ALLOWED", ""},
		{"its own 5xx is marked", "POST", "sick", alice, 503, "EDGE_FUNCTION_ERROR", ""},
		{"its own 4xx is not", "POST", "picky", alice, 422, "", ""},
	}
	for _, tc := range cases {
		var headers []string
		if tc.authorization != "" {
			headers = []string{"Authorization", tc.authorization}
		}
		got := raw(t, p, tc.method, "/functions/v1/"+tc.path, headers...)
		if got.status != tc.status || got.header.Get("Sb-Error-Code") != tc.code || (tc.body != "" && got.body != tc.body) {
			t.Errorf("%s: %d %q %q, want %d %q %q", tc.name, got.status, got.header.Get("Sb-Error-Code"), got.body, tc.status, tc.code, tc.body)
		}
	}
}

func TestRecorderShowsWhatReachedTheProject(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	c := as(t, p, AliceEmail)
	p.ForgetRequests()
	c.get("organizations?select=id", "X-Client-Info", "test")
	seen := p.RequestsTo("/rest/v1/")
	if len(seen) != 1 {
		t.Fatalf("recorded %d requests, want 1", len(seen))
	}
	r := seen[0]
	if r.Method != http.MethodGet || r.Path != "/rest/v1/organizations" || r.RawQuery != "select=id" || r.APIKey != p.PublishableKey() || r.Bearer != c.bearer {
		t.Errorf("recorded %+v", r)
	}
	if r.Header.Get("X-Client-Info") != "test" || r.Header.Get("Authorization") != "" || r.Header.Get("Apikey") != "" {
		t.Errorf("recorded headers %v", r.Header)
	}
	p.ForgetRequests()
	if n := len(p.Requests()); n != 0 {
		t.Errorf("%d requests after ForgetRequests", n)
	}
}

func TestHooksStepIn(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	c := as(t, p, AliceEmail)
	p.FailNext("/rest/v1/", 502, "text/html", "<h1>Bad gateway</h1>")
	p.ExpireNext()
	for i, want := range []struct {
		status int
		code   string
	}{{502, ""}, {401, "PGRST303"}, {200, ""}} {
		if got := c.get("organizations?select=id"); got.status != want.status || got.code() != want.code {
			t.Errorf("answer %d: %d %s, want %d %s", i+1, got.status, got.body, want.status, want.code)
		}
	}
	p.Intercept(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Between", "yes")
			next.ServeHTTP(w, r)
		})
	})
	if got := c.get("organizations?select=id"); got.status != 200 || got.header.Get("X-Between") != "yes" {
		t.Errorf("intercepted: %d %v", got.status, got.header)
	}
}

// TestStaleSchemaCache pins what a table or column answers before and after
// the Data API hears of it.
func TestStaleSchemaCache(t *testing.T) {
	t.Parallel()
	p := startCRM(t, func(o *Options) { o.NoReload = true })
	c := as(t, p, AliceEmail)
	if err := p.Exec(t.Context(), "create table public.fresh (id int primary key); notify pgrst, 'reload schema'"); err != nil {
		t.Fatal(err)
	}
	if got := c.get("fresh"); got.status != 404 || got.code() != "PGRST205" {
		t.Errorf("unknown to the cache: %d %s, want 404 PGRST205", got.status, got.body)
	}
	if err := p.ReloadSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.get("fresh"); got.status != 403 || got.code() != "42501" {
		t.Errorf("known, without a grant: %d %s, want 403 42501", got.status, got.body)
	}
	if err := p.Exec(t.Context(), "drop table public.fresh"); err != nil {
		t.Fatal(err)
	}
	if got := c.get("fresh"); got.status != 404 || got.code() != "42P01" {
		t.Errorf("dropped behind the cache's back: %d %s, want 404 42P01", got.status, got.body)
	}
}

func TestDataAPIHearsOfSchemaChanges(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	c := as(t, p, AliceEmail)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// The listener may not listen yet: every round is a change it may hear.
	for c.get("fresh").status != 200 {
		if err := p.Exec(ctx, "create table if not exists public.fresh (id int primary key); grant select on public.fresh to authenticated"); err != nil {
			t.Fatalf("the new table was never found: %v", err)
		}
	}
}

func TestHS256OnlyProjectServesItsOwnTokens(t *testing.T) {
	t.Parallel()
	p := startCRM(t, func(o *Options) { o.Signing = SigningHS256 })
	if got := as(t, p, AliceEmail).get("organizations?select=name"); got.status != 200 || compact(t, got.body) != `[{"name":"Acme"}]` {
		t.Errorf("with a token of the legacy secret: %d %s", got.status, got.body)
	}
	if got := raw(t, p, "GET", "/auth/v1/.well-known/jwks.json"); got.status != 200 || compact(t, got.body) != `{"keys":[]}` {
		t.Errorf("key set: %d %s", got.status, got.body)
	}
}

func TestStartIsQuickOnceItsTemplateExists(t *testing.T) {
	t.Parallel()
	startCRM(t, nil)
	quickest := time.Hour
	for range 3 {
		began := time.Now()
		p := startCRM(t, nil)
		quickest = min(quickest, time.Since(began))
		if p.URL() == "" {
			t.Fatal("no URL")
		}
	}
	t.Logf("quickest of three starts: %s", quickest)
	// Generous: the machine may be busy with other packages' tests.
	if quickest > 2*time.Second {
		t.Errorf("a start takes %s", quickest)
	}
}

// TestAliceAndBobAtOnce runs both people against one pool and looks for a row
// of the other in every answer.
func TestAliceAndBobAtOnce(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	var group sync.WaitGroup
	for email, own := range map[string]string{AliceEmail: "Acme", BobEmail: "Globex"} {
		c := as(t, p, email)
		for range 4 {
			group.Go(func() {
				for range 25 {
					got := c.get("customers?select=name")
					if got.status != 200 || strings.Count(got.body, `"name"`) != 60 || strings.Count(got.body, own+" ") != 60 {
						t.Errorf("%s: %d, %d rows of 60 own", email, got.status, strings.Count(got.body, own+" "))
						return
					}
				}
			})
		}
	}
	group.Wait()
}

func TestCloseDropsTheDatabase(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	name := p.database
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	other := startCRM(t, nil)
	var there bool
	if err := other.owner.QueryRow(t.Context(), "select exists (select from pg_database where datname = $1)", name).Scan(&there); err != nil {
		t.Fatal(err)
	}
	if there {
		t.Errorf("database %s is still there", name)
	}
}

func TestGatewayAnswersPagesOfOtherOriginsBeforeAuth(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"hosted": "apikey, content-type", "self-hosted": ""} {
		p := startCRM(t, func(o *Options) { o.SelfHosted = name == "self-hosted" })
		got := raw(t, p, http.MethodOptions, "/auth/v1/token", "Origin", "https://app.example.test",
			"Access-Control-Request-Method", http.MethodPost, "Access-Control-Request-Headers", "apikey, content-type")
		if got.status != http.StatusNoContent || got.header.Get("Access-Control-Allow-Headers") != want {
			t.Errorf("%s: %d, allowed %q, want %q", name, got.status, got.header.Get("Access-Control-Allow-Headers"), want)
		}
	}
}
