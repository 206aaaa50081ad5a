package bridge

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// code takes a person through an authorization request to its code.
func (w *world) code(t testing.TB, ep *tenants.Endpoint, query url.Values, email string) string {
	t.Helper()
	in, cookie, err := w.service.Authorize(t.Context(), ep, query, Visitor{Address: "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.service.Recognize(t.Context(), in, w.signedIn(t, ep, email)); err != nil {
		t.Fatal(err)
	}
	if in, err = w.service.Open(t.Context(), in.ID, cookie); err != nil {
		t.Fatal(err)
	}
	question, err := w.service.Question(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	to, err := w.service.Decide(t.Context(), in, Answer{Allow: true, Lifetime: question.Lifetimes[0]}, Visitor{Address: "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil || u.Query().Get("code") == "" || u.Query().Get("iss") != ep.Resource.URL() {
		t.Fatalf("sent to %s: %v", to, err)
	}
	return u.Query().Get("code")
}

// exchange is the form that exchanges a code.
func exchangeForm(client, code string, change url.Values) url.Values {
	form := url.Values{"grant_type": {"authorization_code"}, "client_id": {client}, "code": {code}, "redirect_uri": {appRedirect}, "code_verifier": {someVerifier}}
	for name, values := range change {
		if values == nil {
			form.Del(name)
			continue
		}
		form[name] = values
	}
	return form
}

func refreshForm(client, token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {token}}
}

func refusedAs(t testing.TB, rec *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	answer := decoded[map[string]string](t, rec, status)
	if answer["error"] != code || answer["error_description"] == "" || rec.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%v %v, want %s", rec.Header(), answer, code)
	}
}

func TestCodesAndRefreshTokensGiveTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.client(t, w.ep, "app", appRedirect)
	rec := w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, w.code(t, w.ep, request(app.ID, nil), "alice@example.test"), url.Values{"resource": {w.ep.Resource.URL()}}))
	first := decoded[tokenAnswer](t, rec, http.StatusOK)
	if first.TokenType != "Bearer" || first.ExpiresIn != 600 || !strings.HasPrefix(first.RefreshToken, "chr_") || first.Scope != "crm.read" || rec.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%v %s", rec.Header(), rec.Body)
	}
	claims, err := w.service.readAccessToken(t.Context(), first.AccessToken)
	if err != nil || claims.ClientID != app.ID || claims.Issuer != w.ep.Resource.URL() || claims.Audience[0] != w.ep.Resource.URL() || claims.Surface != w.ep.Surface {
		t.Errorf("%+v, %v", claims, err)
	}
	w.clock.Advance(9 * time.Minute)
	next := decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, first.RefreshToken)), http.StatusOK)
	if next.RefreshToken == first.RefreshToken || next.AccessToken == first.AccessToken || next.Scope != "crm.read" {
		t.Errorf("%+v", next)
	}
	again := decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, first.RefreshToken)), http.StatusOK)
	if again.RefreshToken != next.RefreshToken {
		t.Error("a repetition gets another refresh token")
	}
	steps := w.steps.of(w.ep.Surface, events.StepToken)
	if len(steps) != 1 || steps[0].Failed || steps[0].Grant != claims.Grant || steps[0].Client != app.ID || len(w.steps.of(w.ep.Surface, events.StepRefresh)) != 0 {
		t.Errorf("steps %+v", steps)
	}
	for _, secret := range []string{first.AccessToken, first.RefreshToken, next.RefreshToken, someVerifier} {
		if strings.Contains(w.logs.String(), secret) {
			t.Error("a token is in the log")
		}
	}
}

func TestAliasesOfASurfaceTakeEachOthersTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.client(t, w.ep, "app", appRedirect)
	byPath := w.endpoint(t, pathURL)
	first := decoded[tokenAnswer](t, w.post(t, byPath, "/oauth/token", exchangeForm(app.ID, w.code(t, w.ep, request(app.ID, nil), "alice@example.test"), nil)), http.StatusOK)
	claims, err := w.service.readAccessToken(t.Context(), first.AccessToken)
	if err != nil || claims.Issuer != pathURL || claims.Audience[0] != pathURL {
		t.Errorf("bound to %s for %v, %v", claims.Issuer, claims.Audience, err)
	}
	if rec := w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, first.RefreshToken)); rec.Code != http.StatusOK {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestCodesAreForWhoAskedForThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, other := w.client(t, w.ep, "app", appRedirect), w.client(t, w.ep, "other", appRedirect)
	globex := w.surface(t, w.member(t, "bob@example.test", "Globex"), w.project, "globex", "main", nil)
	sales := w.surface(t, w.builder, w.project, "acme", "sales", nil)
	w.client(t, globex, "app", appRedirect)
	w.client(t, sales, "app", appRedirect)
	code := w.code(t, w.ep, request(app.ID, nil), "alice@example.test")
	for name, c := range map[string]struct {
		ep     *tenants.Endpoint
		client string
		change url.Values
		status int
		code   string
	}{
		"another client":            {w.ep, other.ID, nil, 400, "invalid_grant"},
		"another organization":      {globex, app.ID, nil, 400, "invalid_grant"},
		"another surface":           {sales, app.ID, nil, 400, "invalid_grant"},
		"another verifier":          {w.ep, app.ID, url.Values{"code_verifier": {strings.Repeat("a", 43)}}, 400, "invalid_grant"},
		"the challenge as verifier": {w.ep, app.ID, url.Values{"code_verifier": {someChallenge}}, 400, "invalid_grant"},
		"short verifier":            {w.ep, app.ID, url.Values{"code_verifier": {"short"}}, 400, "invalid_grant"},
		"no verifier":               {w.ep, app.ID, url.Values{"code_verifier": nil}, 400, "invalid_request"},
		"another redirect":          {w.ep, app.ID, url.Values{"redirect_uri": {"https://app.example.test/cb"}}, 400, "invalid_grant"},
		"another resource":          {w.ep, app.ID, url.Values{"resource": {sales.Resource.URL()}}, 400, "invalid_target"},
		"no code":                   {w.ep, app.ID, url.Values{"code": nil}, 400, "invalid_request"},
		"unknown code":              {w.ep, app.ID, url.Values{"code": {"made-up"}}, 400, "invalid_grant"},
		"no grant type":             {w.ep, app.ID, url.Values{"grant_type": nil}, 400, "invalid_request"},
		"another grant type":        {w.ep, app.ID, url.Values{"grant_type": {"password"}}, 400, "unsupported_grant_type"},
		"a parameter twice":         {w.ep, app.ID, url.Values{"code": {code, code}}, 400, "invalid_request"},
		"a client that is gone":     {w.ep, "chc_gone", nil, 401, "invalid_client"},
	} {
		t.Run(name, func(t *testing.T) {
			refusedAs(t, w.post(t, c.ep, "/oauth/token", exchangeForm(c.client, code, c.change)), c.status, c.code)
		})
	}
	if steps := w.steps.of(w.ep.Surface, events.StepToken); len(steps) == 0 || !steps[0].Failed || steps[0].Code == "" {
		t.Errorf("steps %+v", steps)
	}
	// None of that spent it. Without a redirect_uri it is as good (OAuth 2.1).
	if rec := w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, code, url.Values{"redirect_uri": nil})); rec.Code != http.StatusOK {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestOneCodeInParallelGivesTokensOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.replica(t)
	app := w.client(t, w.ep, "app", appRedirect)
	code := w.code(t, w.ep, request(app.ID, nil), "alice@example.test")
	answers := make(chan *httptest.ResponseRecorder, 8)
	var wg sync.WaitGroup
	for n := range 8 {
		server := w
		if n%2 == 1 {
			server = other
		}
		wg.Go(func() { answers <- server.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, code, nil)) })
	}
	wg.Wait()
	close(answers)
	good := 0
	for rec := range answers {
		if rec.Code == http.StatusOK {
			good++
			continue
		}
		refusedAs(t, rec, 400, "invalid_grant")
	}
	if good != 1 {
		t.Errorf("%d got tokens", good)
	}
}

func TestField27_DeadRefreshTokensAreInvalidGrantAndOutagesAreNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, other := w.client(t, w.ep, "app", appRedirect), w.client(t, w.ep, "other", appRedirect)
	globex := w.surface(t, w.member(t, "bob@example.test", "Globex"), w.project, "globex", "main", nil)
	w.client(t, globex, "app", appRedirect)
	given := decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, w.code(t, w.ep, request(app.ID, nil), "alice@example.test"), nil)), http.StatusOK)
	refusedAs(t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, "chr_made_up")), 400, "invalid_grant")
	refusedAs(t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.AccessToken)), 400, "invalid_grant")
	refusedAs(t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, "")), 400, "invalid_request")
	refusedAs(t, w.post(t, w.ep, "/oauth/token", refreshForm(other.ID, given.RefreshToken)), 400, "invalid_grant")
	refusedAs(t, w.post(t, globex, "/oauth/token", refreshForm(app.ID, given.RefreshToken)), 400, "invalid_grant")
	refusedAs(t, w.post(t, w.ep, "/oauth/token", refreshForm("chc_gone", given.RefreshToken)), 401, "invalid_client")
	w.Exec(t, "alter table refresh_chains rename to refresh_chains_away")
	rec := w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.RefreshToken))
	refusedAs(t, rec, 503, "temporarily_unavailable")
	if rec.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.Exec(t, "alter table refresh_chains_away rename to refresh_chains")
	given = decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.RefreshToken)), http.StatusOK)
	w.Exec(t, "alter table oauth_clients rename to oauth_clients_away")
	refusedAs(t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.RefreshToken)), 503, "temporarily_unavailable")
	w.Exec(t, "alter table oauth_clients_away rename to oauth_clients")
	if rec := w.post(t, w.ep, "/oauth/revoke", url.Values{"client_id": {app.ID}, "token": {given.RefreshToken}}); rec.Code != http.StatusOK {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	refusedAs(t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.RefreshToken)), 400, "invalid_grant")
	if steps := w.steps.of(w.ep.Surface, events.StepRefresh); len(steps) == 0 || !steps[0].Failed {
		t.Errorf("steps %+v", steps)
	}
}

func TestScopesNarrowOneAccessTokenOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *worldOptions) {
		o.compiled = func(c *surfaces.Compiled) {
			c.Access.Advertise, c.Access.Require, c.Access.Scopes = []string{"crm.read", "crm.write"}, []string{"base"}, []string{"base", "crm.read", "crm.write"}
		}
	})
	app := w.client(t, w.ep, "app", appRedirect)
	given := decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, w.code(t, w.ep, request(app.ID, nil), "alice@example.test"), nil)), http.StatusOK)
	for _, c := range []struct{ scope, want string }{
		{"crm.read offline_access", "crm.read base"}, {"", "crm.read crm.write base"}, {"openid", "crm.read crm.write base"}, {"crm.write unknown", "crm.write base"}, {"crm.read crm.write", "crm.read crm.write base"},
	} {
		form := refreshForm(app.ID, given.RefreshToken)
		form.Set("scope", c.scope)
		given = decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", form), http.StatusOK)
		if !equalScopes(given.Scope, c.want) {
			t.Errorf("%q: %q, want %q", c.scope, given.Scope, c.want)
		}
	}
}

func equalScopes(a, b string) bool {
	for _, s := range strings.Fields(a) {
		if !strings.Contains(" "+b+" ", " "+s+" ") {
			return false
		}
	}
	return len(strings.Fields(a)) == len(strings.Fields(b))
}

func TestField33_TheLoopbackPortOfTheRequestIsWhatIsExchanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.client(t, w.ep, "app", "http://127.0.0.1:33418/")
	code := w.code(t, w.ep, request(app.ID, url.Values{"redirect_uri": {"http://127.0.0.1:59656/"}}), "alice@example.test")
	refusedAs(t, w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, code, url.Values{"redirect_uri": {"http://127.0.0.1:33418/"}})), 400, "invalid_grant")
	if rec := w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, code, url.Values{"redirect_uri": {"http://127.0.0.1:59656/"}})); rec.Code != http.StatusOK {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestPausedSurfacesAndSignInsStillRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.client(t, w.ep, "app", appRedirect)
	given := decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, w.code(t, w.ep, request(app.ID, nil), "alice@example.test"), nil)), http.StatusOK)
	w.Exec(t, "update surfaces set state = 'paused'")
	eventually(t, "the directory hears of the pause", func() bool { return w.endpoint(t, w.ep.Resource.URL()).State == tenants.StatePaused })
	if rec := w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.RefreshToken)); rec.Code != http.StatusOK {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestRevocationIsForTheClientAndNeverTellsWhatItFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, other := w.client(t, w.ep, "app", appRedirect), w.client(t, w.ep, "other", appRedirect)
	given := decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, w.code(t, w.ep, request(app.ID, nil), "alice@example.test"), nil)), http.StatusOK)
	revoke := func(client, token string) *httptest.ResponseRecorder {
		return w.post(t, w.ep, "/oauth/revoke", url.Values{"client_id": {client}, "token": {token}, "token_type_hint": {"made_up"}})
	}
	for name, rec := range map[string]*httptest.ResponseRecorder{
		"unknown": revoke(app.ID, "made-up"), "another client's refresh token": revoke(other.ID, given.RefreshToken), "another client's access token": revoke(other.ID, given.AccessToken),
	} {
		if rec.Code != http.StatusOK || strings.TrimSpace(rec.Body.String()) != "{}" {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
	given = decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.RefreshToken)), http.StatusOK)
	refusedAs(t, revoke("chc_gone", given.RefreshToken), 401, "invalid_client")
	refusedAs(t, revoke(app.ID, ""), 400, "invalid_request")
	if rec := revoke(app.ID, given.AccessToken); rec.Code != http.StatusOK {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	refusedAs(t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.RefreshToken)), 400, "invalid_grant")
}

// Alice and Bob, through one client, at once: nobody's token is the other's.
func TestAliceAndBobGetTokensOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.client(t, w.ep, "app", appRedirect)
	var mu sync.Mutex
	subjects := map[string]map[string]bool{}
	var wg sync.WaitGroup
	for range 3 {
		for _, email := range []string{"alice@example.test", "bob@example.test"} {
			wg.Go(func() {
				given := decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, w.code(t, w.ep, request(app.ID, nil), email), nil)), http.StatusOK)
				given = decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.RefreshToken)), http.StatusOK)
				claims, err := w.service.readAccessToken(t.Context(), given.AccessToken)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if subjects[email] == nil {
					subjects[email] = map[string]bool{}
				}
				subjects[email][claims.Subject] = true
			})
		}
	}
	wg.Wait()
	if len(subjects["alice@example.test"]) != 1 || len(subjects["bob@example.test"]) != 1 {
		t.Fatalf("%v", subjects)
	}
	for subject := range subjects["alice@example.test"] {
		if subjects["bob@example.test"][subject] {
			t.Error("Bob has Alice's token")
		}
	}
}
