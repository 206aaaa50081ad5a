package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// TestEqualSubjectsOfDifferentIssuersShareNothing: the same subject as the
// app's own session, as a token of another issuer, as an introspected token
// and as the subject of a key that the app checks, all at once at the surfaces
// of one project. Only the first is Alice.
func TestEqualSubjectsOfDifferentIssuersShareNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Schema: doorsSchema + `
create or replace function public.check_key(key text) returns jsonb language sql stable security definer set search_path = '' as $$
  select case when key = 'key-with-her-id' then '{"subject": "` + standin.AliceID + `"}'::jsonb end
$$;`})
	p.importSchema()
	other := w.project(t, standin.Options{})
	opaque := newOpaqueIssuer(t, "her-opaque-token", standin.AliceID, "")
	file := func(access string) string {
		return doorsFile("mode: [oauth, bearer, api-key], authorization: external, " + access)
	}
	jwt := p.publishAs("jwt", file(`issuer: "`+other.Issuer()+`", audience: [authenticated], keys: { rpc: check_key }`))
	introspected := p.publishAs("introspected", file(`issuer: "`+opaque.URL+`", audience: [crm-api], introspection: { client_id: chumbo }`))
	p.must(http.MethodPut, "/projects/crm/surfaces/introspected/introspection", map[string]string{"secret": "a-secret-of-the-test"})
	session, err := p.AccessToken(standin.AliceEmail, standin.TokenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	foreign := other.token(standin.AliceEmail, standin.TokenOptions{})
	if claim(t, session, "sub") != standin.AliceID || claim(t, foreign, "sub") != standin.AliceID {
		t.Fatal("the subjects are not equal")
	}
	callers := []struct {
		name, target, token string
		hers                bool
	}{
		{"her session", jwt, session, true}, {"another issuer's", jwt, foreign, false}, {"a key the app checks", jwt, "key-with-her-id", false},
		{"her session, second surface", introspected, session, true}, {"introspected", introspected, "her-opaque-token", false},
	}
	first := call(t, jwt, session, eras[0], "customers_list", map[string]any{"limit": 2}).page(t)
	if first.NextCursor == nil {
		t.Fatal("no cursor")
	}
	var group sync.WaitGroup
	for _, c := range callers {
		for lane := range 3 {
			group.Go(func() {
				for i := range 40 {
					arguments := map[string]any{"limit": 5}
					if (i+lane)%3 == 0 && c.target == jwt {
						arguments["cursor"] = *first.NextCursor
					}
					r := call(t, c.target, c.token, eras[(i+lane)%2], "customers_list", arguments)
					if r.status != http.StatusOK || strings.Contains(r.body, "Acme") != c.hers {
						t.Errorf("%s: %d %s", c.name, r.status, r.body)
						return
					}
				}
			})
		}
	}
	group.Wait()
	for _, r := range p.RequestsTo("/rest/v1/customers") {
		if r.Bearer != "" && r.Bearer != session {
			t.Fatal("the project was asked with a token it did not issue")
		}
	}
}

// TestOneIssuerAtTwoOrganizations: two organizations name the same issuer. What
// one is told of a token, and its secret, are not the other's.
func TestOneIssuerAtTwoOrganizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issuer := newOpaqueIssuer(t, "good-opaque-token", "somebody", "")
	access := `mode: oauth, authorization: external, issuer: "` + issuer.URL + `", audience: [crm-api], introspection: { client_id: chumbo }`
	var urls []string
	for _, slug := range []string{"red", "blue"} {
		p := w.tenant(t, slug+" builders", slug+"-crm", standin.Options{Schema: doorsSchema})
		p.importSchema()
		urls = append(urls, p.publish(doorsFile(access)))
		if slug == "red" {
			p.must(http.MethodPut, "/projects/red-crm/surfaces/main/introspection", map[string]string{"secret": "a-secret-of-the-test"})
		}
	}
	if r := call(t, urls[0], "good-opaque-token", eras[0], "greet", map[string]any{"name": "you"}); r.status != http.StatusOK {
		t.Fatalf("with the secret: %d %s %s", r.status, r.body, w.log)
	}
	for range 2 {
		if r := call(t, urls[1], "good-opaque-token", eras[0], "greet", map[string]any{"name": "you"}); r.status != http.StatusServiceUnavailable || r.header.Get("WWW-Authenticate") != "" {
			t.Fatalf("without a secret of its own: %d %v %s", r.status, r.header, r.body)
		}
	}
}

// TestField78_NoStateByASessionIdAlone: two people, one project with one
// publishable key, calls at once; then Bob sends what Alice's session was
// called.
func TestField78_NoStateByASessionIdAlone(t *testing.T) {
	t.Parallel()
	_, p := newTenant(t)
	alice, bob := p.signIn(standin.AliceEmail).AccessToken, p.signIn(standin.BobEmail).AccessToken
	var group sync.WaitGroup
	for token, want := range map[string]string{alice: "Acme", bob: "Globex"} {
		group.Go(func() {
			for i := range 60 {
				h := headers("Mcp-Session-Id", "one-session-of-both", "Mcp-Protocol-Version", eras[1])
				r := sendRaw(t, http.MethodPost, p.mcp, token, h, listCustomers)
				if r.status != http.StatusOK || !strings.Contains(r.body, want) || strings.Contains(r.body, "Acme") && want != "Acme" {
					t.Errorf("call %d of %s: %d %s", i, want, r.status, r.body)
					return
				}
			}
		})
	}
	group.Wait()
	r := sendRaw(t, http.MethodPost, p.mcp, alice, nil, initializeProbe)
	if id := r.header.Get("Mcp-Session-Id"); id != "" {
		t.Errorf("a session %q was begun, which somebody else could send", id)
	}
	for _, r := range p.RequestsTo("/rest/v1/customers") {
		if r.APIKey != p.PublishableKey() || r.Bearer != alice && r.Bearer != bob {
			t.Fatal("the project was asked as nobody known")
		}
	}
}

// TestField81_TheTenantIsTheURL: two organizations registered the same project
// URL; no header or query makes one surface answer for the other.
func TestField81_TheTenantIsTheURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{})
	p.importSchema()
	own := p.publish(bridgeFile(t))
	twin := *p
	twin.slug, twin.builder = "twin", w.organization(t, "twin@example.test", "Twin builders")
	twin.must(http.MethodPost, "/projects", registration(&twin, p.URL(), "twin"))
	twin.importSchema()
	theirs := twin.publish(bridgeFile(t))
	alice := signedIn(t, w, own, standin.AliceEmail)
	if r := alice.list(nil); !strings.Contains(r.body, "Acme") {
		t.Fatalf("at home: %d %s", r.status, r.body)
	}
	for name, h := range map[string]http.Header{
		"nothing":         nil,
		"a tenant header": headers("X-Tenant", "crm", "X-Organization", "Acme builders", "Chumbo-Surface", "main"),
		"a forwarded one": headers("X-Forwarded-Host", "crm", "X-Original-URL", own, "X-Forwarded-Prefix", "/crm"),
	} {
		for _, target := range []string{theirs, theirs + "?tenant=crm&surface=main"} {
			if r := sendRaw(t, http.MethodPost, target, alice.access, h, listCustomers); r.status != http.StatusUnauthorized || strings.Contains(r.body, "Acme") {
				t.Errorf("%s at %s: %d %s", name, target, r.status, r.body)
			}
			if r := sendRaw(t, http.MethodPost, own, alice.access, h, listCustomers); r.status != http.StatusOK {
				t.Errorf("%s at home: %d %s", name, r.status, r.body)
			}
		}
	}
}

// TestAClientIsBoundToTheFirstSurface: access.isolation: client.
func TestAClientIsBoundToTheFirstSurface(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{})
	p.importSchema()
	isolated := strings.Replace(doorsFile("mode: oauth, authorization: direct, isolation: client"), ", scopes: [crm.write]", "", 1)
	first, second := p.publishAs("first", isolated), p.publishAs("second", isolated)
	open := p.publishAs("open", strings.Replace(isolated, ", isolation: client", "", 1))
	alice, bob := p.signIn(standin.AliceEmail).AccessToken, p.signIn(standin.BobEmail).AccessToken // two registrations
	hosts := []string{strings.TrimPrefix(w.url, "http://"), w.another(t)}
	list := func(i int, target, token string) reply {
		return sendRaw(t, http.MethodPost, "http://"+hosts[i]+strings.TrimPrefix(target, w.url), token, headers("Host", hosts[0]), listCustomers)
	}
	if r := list(0, first, alice); r.status != http.StatusOK {
		t.Fatalf("at the first: %d %s", r.status, r.body)
	}
	for i := range hosts {
		list(i, second, alice).challenged(t, second, invalidToken)
		if r := list(i, second, alice); !strings.Contains(r.body, "client_isolated") {
			t.Errorf("server %d names no reason: %s", i, r.body)
		}
		if r := list(i, first, alice); r.status != http.StatusOK {
			t.Errorf("server %d, at the first: %d %s", i, r.status, r.body)
		}
		if r := list(i, second, bob); r.status != http.StatusOK || !strings.Contains(r.body, "Globex") {
			t.Errorf("server %d, Bob's client: %d %s", i, r.status, r.body)
		}
		if r := list(i, open, alice); r.status != http.StatusOK {
			t.Errorf("server %d, where clients are not bound: %d %s", i, r.status, r.body)
		}
	}
	// Two servers see a new client at once, each at another surface.
	carol := p.signIn(standin.AliceEmail).AccessToken
	var group sync.WaitGroup
	status := make([]int, 2)
	for i, target := range []string{first, second} {
		group.Go(func() { status[i] = list(i, target, carol).status })
	}
	group.Wait()
	if fmt.Sprint(status) != "[200 401]" && fmt.Sprint(status) != "[401 200]" {
		t.Errorf("two surfaces at once: %v, want exactly one to win", status)
	}
	var clients struct {
		Clients []struct {
			ID      string `json:"client_id"`
			Surface string `json:"surface"`
		} `json:"clients"`
	}
	w.await(t, func() bool {
		if err := p.builder.send(t.Context(), http.MethodGet, "/projects/crm/clients", nil, &clients); err != nil {
			t.Fatal(err)
		}
		return len(clients.Clients) == 3
	})
	for _, c := range clients.Clients {
		if want := map[string]string{claim(t, alice, "client_id"): "first", claim(t, bob, "client_id"): "second"}[c.ID]; want != "" && c.Surface != want {
			t.Errorf("client %s is of %s, want %s", c.ID, c.Surface, want)
		}
	}
}

// TestAnEndedSessionIsNoticed: access.session_check, for clients' tokens and
// for the app's own sessions; without it a token lives until it expires.
func TestAnEndedSessionIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Schema: doorsSchema})
	p.importSchema()
	checked := p.publishAs("checked", doorsFile("mode: [oauth, bearer], "+directAccess+", session_check: 5m"))
	plain := p.publishAs("plain", doorsFile("mode: [oauth, bearer], "+directAccess))
	session, err := p.AccessToken(standin.AliceEmail, standin.TokenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delegated, bob := p.signIn(standin.AliceEmail).AccessToken, p.signIn(standin.BobEmail).AccessToken
	list := func(target, token string) reply { return call(t, target, token, eras[0], "customers_list", nil) }
	tokens := []string{session, delegated, bob}
	for _, token := range tokens {
		if r := list(checked, token); r.status != http.StatusOK {
			t.Fatalf("before: %d %s", r.status, r.body)
		}
	}
	w.await(t, func() bool { return len(p.RequestsTo("/auth/v1/user")) >= len(tokens) })
	if err := p.EndSessions(t.Context(), standin.AliceEmail); err != nil {
		t.Fatal(err)
	}
	if r := list(checked, delegated); r.status != http.StatusOK {
		t.Errorf("within the five minutes the project is asked again: %d %s", r.status, r.body)
	}
	w.advance(p, 5*time.Minute+time.Second)
	for _, token := range tokens[:2] {
		w.await(t, func() bool { return list(checked, token).status == http.StatusUnauthorized })
		list(checked, token).challenged(t, checked, invalidToken)
		if r := list(plain, token); r.status != http.StatusOK {
			t.Errorf("a surface that does not ask: %d %s", r.status, r.body)
		}
	}
	if r := list(checked, bob); r.status != http.StatusOK {
		t.Errorf("Bob's session ended with Alice's: %d %s", r.status, r.body)
	}
}

// TestADelegatedTokenThatLostItsClient: a client verifies its user's second
// factor, and its token loses client_id. That is neither the client's token nor
// the app's own session, until a refresh restores it.
func TestADelegatedTokenThatLostItsClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Schema: doorsSchema})
	p.importSchema()
	target := p.publish(doorsFile("mode: [oauth, bearer], " + directAccess + ", aal: aal2"))
	secret, err := p.EnrollTOTP(t.Context(), standin.AliceEmail)
	if err != nil {
		t.Fatal(err)
	}
	token := p.signIn(standin.AliceEmail)
	if r := call(t, target, token.AccessToken, eras[0], "customers_list", nil); r.status != http.StatusForbidden || !strings.Contains(r.body, "aal2_required") || r.header.Get("WWW-Authenticate") != "" {
		t.Fatalf("one factor: %d %v %s", r.status, r.header, r.body)
	}
	lost := p.verifyFactor(token.AccessToken, secret)
	if claim(t, lost, "client_id") != "" || claim(t, lost, "aal") != "aal2" {
		t.Fatal("the token did not lose its client_id")
	}
	r := call(t, target, lost, eras[0], "customers_list", nil)
	r.challenged(t, target, invalidToken)
	if !strings.Contains(r.body, "token_without_client") {
		t.Errorf("the reason: %s", r.body)
	}
	status, answer := p.refreshed(token)
	again, _ := answer["access_token"].(string)
	if status != http.StatusOK || claim(t, again, "client_id") == "" {
		t.Fatalf("refresh: %d %v", status, answer)
	}
	if r := call(t, target, again, eras[0], "customers_list", nil); r.status != http.StatusOK || !strings.Contains(r.body, "Acme") {
		t.Errorf("after the refresh: %d %s", r.status, r.body)
	}
}

// verifyFactor verifies the person's only factor with a token, and returns the
// token that comes of it.
func (p *tenant) verifyFactor(token, secret string) string {
	p.t.Helper()
	ask := func(method, path string, body any, answer any) {
		p.t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		r := sendRaw(p.t, method, p.Issuer()+path, token, headers("Apikey", p.PublishableKey()), string(text))
		if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), answer) != nil {
			p.t.Fatalf("%s: %d %s", path, r.status, r.body)
		}
	}
	var user struct {
		Factors []struct{ ID string } `json:"factors"`
	}
	ask(http.MethodGet, "/user", nil, &user)
	if len(user.Factors) != 1 {
		p.t.Fatalf("%d factors", len(user.Factors))
	}
	factor := "/factors/" + user.Factors[0].ID
	var challenge struct{ ID string }
	ask(http.MethodPost, factor+"/challenge", map[string]string{}, &challenge)
	var verified struct {
		AccessToken string `json:"access_token"`
	}
	ask(http.MethodPost, factor+"/verify", map[string]string{"challenge_id": challenge.ID, "code": standin.TOTPCode(secret, p.clock.Now())}, &verified)
	return verified.AccessToken
}

// TestWhoActsIsRecorded: the outermost actor of an act chain stands in the
// record of the call, and nothing of the rest.
func TestWhoActsIsRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Schema: doorsSchema})
	p.importSchema()
	target := p.publish(doorsFile("mode: bearer"))
	token, err := p.AccessToken(standin.AliceEmail, standin.TokenOptions{Claims: map[string]any{
		"act": map[string]any{"sub": "support-agent", "act": map[string]any{"sub": "planner-agent"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r := call(t, target, token, eras[0], "customers_list", nil); r.status != http.StatusOK || !strings.Contains(r.body, "Acme") {
		t.Fatalf("%d %s", r.status, r.body)
	}
	w.await(t, func() bool {
		return w.exec(t, "update chumbo.invocations set actor = actor where actor = 'support-agent' and mode = 'bearer' and capability = 'customers_list'") == 1
	})
	if strings.Contains(w.log.String(), "planner-agent") {
		t.Error("the log holds the chain")
	}
}
