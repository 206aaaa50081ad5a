package demo

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// TestGrantRevokedAtSupabaseEndsWithTheAccessToken: in direct mode a grant is
// the project's. Once it is revoked there, no refresh brings another access
// token, and the last one ends at its expiry.
func TestGrantRevokedAtSupabaseEndsWithTheAccessToken(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w, p := newTenant(t)
			token := p.signIn(standin.AliceEmail)
			status, fresh := p.refreshed(token)
			if status != http.StatusOK {
				t.Fatalf("refresh before: %d %v", status, fresh)
			}
			token.AccessToken, token.RefreshToken = fresh["access_token"].(string), fresh["refresh_token"].(string)

			app, err := p.AccessToken(standin.AliceEmail, standin.TokenOptions{}) // Alice in the app itself
			if err != nil {
				t.Fatal(err)
			}
			revoke := p.Issuer() + "/user/oauth/grants?client_id=" + claim(t, token.AccessToken, "client_id")
			if r := sendRaw(t, http.MethodDelete, revoke, app, http.Header{"Apikey": {p.PublishableKey()}}, ""); r.status != http.StatusNoContent {
				t.Fatalf("revoke: %d %s", r.status, r.body)
			}
			if status, answer := p.refreshed(token); status < 400 || status >= 500 || answer["access_token"] != nil {
				t.Fatalf("refresh after: %d %v", status, answer)
			}
			if items := call(t, p.mcp, token.AccessToken, era, "customers_list", nil).page(t).Items; len(items) == 0 {
				t.Fatal("the access token ended before its time")
			}
			for _, c := range []*clocktest.Clock{w.clock, p.clock} {
				c.Advance(time.Hour + 29*time.Second) // the Data API's skew
			}
			if items := call(t, p.mcp, token.AccessToken, era, "customers_list", nil).page(t).Items; len(items) == 0 {
				t.Fatal("the access token ended before its time")
			}
			for _, c := range []*clocktest.Clock{w.clock, p.clock} {
				c.Advance(2 * time.Second)
			}
			call(t, p.mcp, token.AccessToken, era, "customers_list", nil).challenged(t, p.mcp, invalidToken)
			speak(t, p.mcp, token.AccessToken, era, "tools/list", nil).challenged(t, p.mcp, invalidToken)
		})
	}
}

// A token that the project no longer takes is a 401 that a client can answer
// with a refresh, not a failure inside a 200.
func TestField52_TokenFoundExpiredByTheProjectIsChallenged(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w, p := newTenant(t)
			token := p.token(standin.AliceEmail, standin.TokenOptions{})
			call(t, p.mcp, token, era, "customers_list", nil).page(t)

			p.clock.Advance(time.Hour + time.Minute) // the project's clock is wrong: no new token would help
			text := call(t, p.mcp, token, era, "customers_list", nil).failed(t)
			if !strings.Contains(text, "upstream_error") {
				t.Fatalf("refused before its time: %s", text)
			}
			w.clock.Advance(time.Hour + 20*time.Second) // over, within the skew
			call(t, p.mcp, token, era, "customers_list", nil).challenged(t, p.mcp, invalidToken)
			speak(t, p.mcp, token, era, "tools/list", nil).challenged(t, p.mcp, invalidToken)
		})
	}
}

func TestField52_ExpiredTokenIsChallengedOnTheNextRequest(t *testing.T) {
	t.Parallel()
	_, p := newTenant(t)
	for _, era := range eras {
		for past, ok := range map[time.Duration]bool{time.Second: true, 29 * time.Second: true, 31 * time.Second: false} {
			token := p.token(standin.AliceEmail, standin.TokenOptions{Lifetime: -past})
			list, called := speak(t, p.mcp, token, era, "tools/list", nil), call(t, p.mcp, token, era, "customers_list", nil)
			if !ok {
				list.challenged(t, p.mcp, invalidToken)
				called.challenged(t, p.mcp, invalidToken)
				continue
			}
			if list.status != http.StatusOK || len(called.page(t).Items) == 0 {
				t.Errorf("%s past its expiry: %d %d", past, list.status, called.status)
			}
		}
	}
}

func TestField42_KeySetThatCannotBeReadKeepsClientsTokens(t *testing.T) {
	t.Parallel()
	w, p := newTenant(t)
	token := p.token(standin.AliceEmail, standin.TokenOptions{})
	p.FailNext("/auth/v1/.well-known/jwks.json", http.StatusInternalServerError, "text/plain", "no")
	for _, era := range eras {
		r := call(t, p.mcp, token, era, "customers_list", nil)
		if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" || r.header.Get("WWW-Authenticate") != "" {
			t.Fatalf("%d %v %s", r.status, r.header, r.body)
		}
		if strings.Contains(r.body, p.URL()) || strings.Contains(r.body, "jwks") || !strings.Contains(r.body, r.header.Get("Chumbo-Request-Id")) {
			t.Errorf("body %s", r.body)
		}
	}
	speak(t, p.mcp, "", eras[0], "tools/list", nil).challenged(t, p.mcp, "") // nothing to verify
	w.clock.Advance(10 * time.Second)
	call(t, p.mcp, token, eras[0], "customers_list", nil).page(t)
}

func TestField41_RotatedKeyCountsAtOnceAndARemovedOneNoLonger(t *testing.T) {
	t.Parallel()
	w, p := newTenant(t)
	pass := func(d time.Duration) { w.clock.Advance(d); p.clock.Advance(d) }
	old := p.token(standin.AliceEmail, standin.TokenOptions{})
	call(t, p.mcp, old, eras[0], "customers_list", nil).page(t)
	pass(time.Minute)
	p.RotateKey()
	call(t, p.mcp, p.token(standin.AliceEmail, standin.TokenOptions{}), eras[0], "customers_list", nil).page(t)
	call(t, p.mcp, old, eras[0], "customers_list", nil).page(t)
	p.DropOldKeys()
	pass(10 * time.Minute)
	speak(t, p.mcp, old, eras[0], "tools/list", nil).challenged(t, p.mcp, invalidToken)
}

// TestField40_HS256ProjectServesOnceItHasAKey: registering works, publishing
// direct says what to do, and doing it is enough.
func TestField40_HS256ProjectServesOnceItHasAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Signing: standin.SigningHS256})
	p.importSchema()
	path := "/projects/crm/surfaces/main/publish"
	err := p.builder.send(t.Context(), http.MethodPost, path, map[string]string{"file": demoFile(t)}, nil)
	if err == nil || !strings.Contains(err.Error(), "JWT Keys") || !strings.Contains(err.Error(), "bridge") {
		t.Fatalf("publish: %v", err)
	}
	shared := p.token(standin.AliceEmail, standin.TokenOptions{})
	p.RotateKey()
	p.must(http.MethodPost, "/projects/crm/probe", map[string]string{})
	p.publish(demoFile(t))
	speak(t, p.mcp, shared, eras[0], "tools/list", nil).challenged(t, p.mcp, invalidToken)
	if items := call(t, p.mcp, p.signIn(standin.AliceEmail).AccessToken, eras[0], "customers_list", nil).page(t).Items; len(items) == 0 {
		t.Fatal("no rows")
	}
}

// TestTokenCountsOnlyWhereItBelongs holds tokens of two projects, registered
// by two organizations, against both surfaces.
func TestTokenCountsOnlyWhereItBelongs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acme := w.tenant(t, "Acme builders", "acme-crm", standin.Options{})
	globex := w.tenant(t, "Globex builders", "globex-crm", standin.Options{Schema: "\nupdate public.customers set name = 'Other ' || name;"})
	for _, p := range []*tenant{acme, globex} {
		p.importSchema()
		p.publish(demoFile(t))
	}
	own := acme.signIn(standin.AliceEmail).AccessToken
	foreign := globex.signIn(standin.AliceEmail).AccessToken
	first := call(t, acme.mcp, own, eras[0], "customers_list", map[string]any{"limit": 2}).page(t)
	other := call(t, globex.mcp, foreign, eras[0], "customers_list", map[string]any{"limit": 2}).page(t)
	if !strings.HasPrefix(first.Items[0]["name"].(string), "Acme") || !strings.HasPrefix(other.Items[0]["name"].(string), "Other Acme") {
		t.Fatalf("not each its own project: %v %v", first.Items, other.Items)
	}

	session, err := acme.AccessToken(standin.AliceEmail, standin.TokenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	acme.ForgetRequests()
	for name, token := range map[string]string{
		"another project's": foreign,
		"another key, this issuer": globex.token(standin.AliceEmail, standin.TokenOptions{
			Claims: map[string]any{"iss": acme.Issuer()},
		}),
		"this key, another issuer": acme.token(standin.AliceEmail, standin.TokenOptions{
			Claims: map[string]any{"iss": globex.Issuer()},
		}),
		"this key, a longer issuer": acme.token(standin.AliceEmail, standin.TokenOptions{
			Claims: map[string]any{"iss": acme.Issuer() + "/"},
		}),
		"the app's own session":   session,
		"another resource's":      acme.token(standin.AliceEmail, standin.TokenOptions{Claims: map[string]any{"aud": []string{"authenticated", globex.mcp}}}),
		"a service's":             acme.token(standin.AliceEmail, standin.TokenOptions{Claims: map[string]any{"role": "service_role"}}),
		"the anon key":            acme.AnonKey(),
		"the publishable key":     acme.PublishableKey(),
		"the secret key":          acme.SecretKey(),
		"the builder's API token": acme.builder.token.Reveal(),
	} {
		for _, era := range eras {
			for _, method := range []string{"tools/list", "tools/call"} {
				r := speak(t, acme.mcp, token, era, method, map[string]any{"name": "customers_list"})
				if r.status != http.StatusUnauthorized || len(r.header.Values("WWW-Authenticate")) != 1 {
					t.Errorf("%s: %d %s", name, r.status, r.body)
				}
			}
		}
	}
	if reached := acme.RequestsTo("/rest/v1/"); len(reached) != 0 {
		t.Errorf("%d of the calls reached the project", len(reached))
	}

	// A cursor is of its surface, whoever holds it.
	stolen := map[string]any{"limit": 2, "cursor": *first.NextCursor}
	if text := call(t, globex.mcp, foreign, eras[0], "customers_list", stolen).failed(t); !strings.Contains(text, "invalid_cursor") {
		t.Errorf("a cursor of another surface: %s", text)
	}
	if rows := call(t, acme.mcp, own, eras[0], "customers_list", stolen).page(t).Items; len(rows) != 2 {
		t.Errorf("the cursor at its own surface: %v", rows)
	}
}

// TestField02_EverySurfaceDescribesItselfOnASharedHost follows the challenge
// of two surfaces on one host, and all three places clients look.
func TestField02_EverySurfaceDescribesItselfOnASharedHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, slug := range []string{"acme-crm", "globex-crm"} {
		p := w.tenant(t, slug+" builders", slug, standin.Options{})
		p.importSchema()
		p.publish(demoFile(t))
		path := "/" + slug + "/mcp"
		if p.mcp != w.url+path {
			t.Fatalf("URL %s", p.mcp)
		}
		speak(t, p.mcp, "", eras[0], "tools/list", nil).challenged(t, p.mcp, "")
		for _, place := range []string{"/.well-known/oauth-protected-resource" + path, path + "/.well-known/oauth-protected-resource", path + "/oauth-protected-resource"} {
			r := sendRaw(t, http.MethodGet, w.url+place, "rubbish", nil, "")
			if r.status != http.StatusOK || !strings.Contains(r.body, `"resource":"`+p.mcp+`"`) || !strings.Contains(r.body, `["`+p.Issuer()+`"]`) {
				t.Errorf("%s: %d %s", place, r.status, r.body)
			}
		}
	}
	// The shared host is nobody's: its bare root describes nothing.
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/mcp"} {
		r := sendRaw(t, http.MethodGet, w.url+path, "", nil, "")
		if r.status != http.StatusNotFound || !strings.Contains(r.header.Get("Content-Type"), "json") || r.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s: %d %v", path, r.status, r.header)
		}
	}
}

// TestTableDroppedAfterPublishing: the tool says so, and the others go on.
func TestTableDroppedAfterPublishing(t *testing.T) {
	t.Parallel()
	_, p := newTenant(t)
	token := p.signIn(standin.AliceEmail).AccessToken
	call(t, p.mcp, token, eras[0], "notes_list", nil).page(t)
	if err := p.Exec(t.Context(), "drop table public.notes"); err != nil {
		t.Fatal(err)
	}
	if err := p.ReloadSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, era := range eras {
		text := call(t, p.mcp, token, era, "notes_list", nil).failed(t)
		if !strings.Contains(text, "out_of_date") || !strings.Contains(text, "publish its surface again") || strings.Contains(text, "public.") || strings.Contains(text, "PGRST") {
			t.Errorf("%s: %s", era, text)
		}
		if items := call(t, p.mcp, token, era, "customers_list", nil).page(t).Items; len(items) == 0 {
			t.Errorf("%s: customers are gone, too", era)
		}
		if list := speak(t, p.mcp, token, era, "tools/list", nil).body; !strings.Contains(list, `"notes_list"`) || !strings.Contains(list, `"customers_get"`) {
			t.Errorf("%s: the last good revision does not serve: %s", era, list)
		}
	}
	if slices.ContainsFunc(p.RequestsTo("/rest/v1/notes"), func(r standin.Request) bool { return r.Bearer != token }) {
		t.Error("a call went out as somebody else")
	}
}

// TestField97_BrowsersReachTheSurfaceOfARunningService: preflight, challenge
// and metadata, by way of every route in front of them.
func TestField97_BrowsersReachTheSurfaceOfARunningService(t *testing.T) {
	t.Parallel()
	path := strings.TrimPrefix(running.MCPURL, running.ServerURL)
	asked := "authorization,content-type,mcp-protocol-version,mcp-method,mcp-name,mcp-session-id,last-event-id"
	origin := http.Header{"Origin": {"https://inspector.example.test"}}
	preflight := origin.Clone()
	preflight.Set("Access-Control-Request-Method", http.MethodPost)
	preflight.Set("Access-Control-Request-Headers", asked)
	for _, target := range []string{path, "/.well-known/oauth-protected-resource" + path, path + "/.well-known/oauth-protected-resource", path + "/oauth-protected-resource"} {
		r := sendRaw(t, http.MethodOptions, running.ServerURL+target, "", preflight, "")
		if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != "*" || r.header.Get("Access-Control-Max-Age") == "" {
			t.Errorf("%s: %d %v", target, r.status, r.header)
		}
		for name := range strings.SplitSeq(asked, ",") {
			if !strings.Contains(strings.ToLower(r.header.Get("Access-Control-Allow-Headers")), name) {
				t.Errorf("%s: %s is not allowed", target, name)
			}
		}
		if target == path {
			continue
		}
		if r := sendRaw(t, http.MethodGet, running.ServerURL+target, "", origin, ""); r.status != http.StatusOK || r.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v", target, r.status, r.header)
		}
	}
	r := sendRaw(t, http.MethodPost, running.MCPURL, "", origin, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	r.challenged(t, running.MCPURL, "")
	if exposed := r.header.Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "WWW-Authenticate") || r.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the challenge cannot be read: %v", r.header)
	}
}
