package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// doorsSchema lets anon call what the surfaces below offer, see no row, and
// check the app's own keys.
const doorsSchema = `
grant select, update on public.customers to anon;
grant execute on function public.archive_customer(bigint) to anon;
create function public.check_key(key text) returns jsonb language sql stable security definer set search_path = '' as $$
  select case when key = 'app-key-of-alice' then '{"subject": "alice-app", "client_id": "app", "scopes": ["crm.write"]}'::jsonb end
$$;
revoke execute on function public.check_key(text) from public;
grant execute on function public.check_key(text) to anon;
notify pgrst, 'reload schema';
`

// doorsFile offers three tools: greet, public where that is possible; a list;
// and one that needs a scope. Where only the public comes there is only greet.
func doorsFile(access string) string {
	greet, others := "", `
  - { table: customers, operations: [list], columns: [id, name] }
  - { tool: archive_customer, rpc: archive_customer, scopes: [crm.write] }
`
	if strings.Contains(access, "public") {
		greet = ", public: true"
	}
	if strings.HasPrefix(access, "mode: public") {
		others = "\n" // which nobody could call
	}
	return "version: 1\ntitle: Doors\naccess: { " + access + " }\ntools:\n  - { tool: greet, rpc: greet, description: Says hello." + greet + " }" + others
}

const (
	publicRate   = "public: { confirm: true, calls: 100000, per: 1m }"
	directAccess = "authorization: direct, scopes_from: { claim: app_metadata.scopes }"
	bridgeAccess = "authorization: bridge, advertise: [crm.read, crm.write]"
	aliceClient  = "00000000-0000-4000-8000-0000000000c1"
)

// cells are what the three tools answer, in words:
//
//	ok       the tool ran
//	alice    rows, Alice's
//	none     no rows
//	nobody   the tool ran and found nothing of the caller's
//	403 …    insufficient_scope and the scopes named
//	401      a challenge without an error: sign in
//	401 CODE a challenge with invalid_token, for that reason
//
// A challenge leads to metadata exactly where the surface lists oauth.
type cells [3]string

func all(cell string) cells { return cells{cell, cell, cell} }

// doorway is one surface and what is admitted at it.
type doorway struct {
	slug   string
	access string
	none   cells            // without a credential
	admits map[string]cells // by name of the credential
	deny   map[string]string
}

// What each kind of caller is given once admitted.
var (
	asDirect   = cells{"ok", "alice", "forbidden"} // no scope_from claim says crm.write
	asBearer   = cells{"ok", "alice", "ok"}        // never limited by scopes
	asBridge   = cells{"ok", "alice", "403 crm.write crm.read"}
	asExternal = cells{"ok", "none", "403 crm.write"}
	asKey      = cells{"ok", "none", "forbidden"}
	asWriter   = cells{"ok", "none", "nobody"} // a key with the scope
	asPublic   = func(other string) cells { return cells{"ok", other, other} }
)

// wrongKind is why a credential of a kind that is not listed is refused, where
// the table does not say otherwise.
const wrongKind = "401 token_kind"

// always are refused everywhere they are not admitted, for the same reason,
// unless the table has another.
var always = map[string]string{
	"garbage": "", "own prefix": wrongKind, "api token": wrongKind, "no token": "401 authorization_malformed", "another scheme": "401 authorization_malformed",
	"two headers": "401 authorization_malformed", "unknown issuer": "401 token_issuer", "bridge token elsewhere": "401 token_issuer",
	"external": "401 token_issuer", "external, other audience": "401 token_issuer", "external, expired": "401 token_issuer",
}

func TestEveryModeTimesEveryCredentialTimesEveryCapability(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Schema: doorsSchema})
	p.importSchema()
	other := w.project(t, standin.Options{}) // its Auth is another issuer
	opaque := newOpaqueIssuer(t, "good-opaque-token", "alice-elsewhere", "crm.read")
	external := `authorization: external, issuer: "` + other.Issuer() + `", audience: [authenticated], advertise: [crm.write]`
	introspected := `authorization: external, issuer: "` + opaque.URL + `", audience: [crm-api], advertise: [crm.write], introspection: { client_id: chumbo }`

	// In every row, what is not named is refused with wrongKind.
	table := []doorway{
		{slug: "direct", access: "mode: oauth, " + directAccess, none: all("401"),
			admits: map[string]cells{"delegated": asDirect}, deny: projectDenials("401 token_kind")},
		{slug: "bridge", access: "mode: oauth, " + bridgeAccess, none: all("401"),
			admits: map[string]cells{"bridge token": asBridge, "personal token": asBearer}, deny: map[string]string{"unknown personal token": "401 token_unknown"}},
		{slug: "external", access: "mode: oauth, " + external, none: all("401"),
			admits: map[string]cells{"external": asExternal}, deny: map[string]string{"external, other audience": "401 token_audience", "external, expired": "401 token_expired"}},
		{slug: "introspected", access: "mode: oauth, " + introspected, none: all("401"),
			admits: map[string]cells{"opaque": asExternal}, deny: map[string]string{"garbage": "401 token_inactive", "dead opaque": "401 token_inactive", "app key": "401 token_inactive", "wrong app key": "401 token_inactive"}},
		{slug: "bearer", access: "mode: bearer", none: all("401"),
			admits: map[string]cells{"session": asBearer}, deny: sessionDenials()},
		{slug: "key", access: "mode: api-key", none: all("401"),
			admits: map[string]cells{"key": asKey, "writing key": asWriter}, deny: keyDenials()},
		{slug: "app-key", access: "mode: api-key, keys: { rpc: check_key }", none: all("401"),
			admits: map[string]cells{"key": asKey, "writing key": asWriter, "app key": asWriter}, deny: appKeyDenials()},
		{slug: "open", access: "mode: public, " + publicRate, none: cells{"ok", "hidden", "hidden"}},
		{slug: "open-key", access: "mode: [api-key, public], " + publicRate, none: asPublic("401"),
			admits: map[string]cells{"key": asKey, "writing key": asWriter}, deny: keyDenials()},
		{slug: "open-bearer", access: "mode: [public, bearer], " + publicRate, none: asPublic("401"),
			admits: map[string]cells{"session": asBearer}, deny: sessionDenials()},
		{slug: "direct-all", access: "mode: [oauth, bearer, api-key, public], " + directAccess + ", " + publicRate, none: asPublic("401"),
			admits: map[string]cells{"delegated": asDirect, "session": asBearer, "key": asKey, "writing key": asWriter}, deny: merged(keyDenials(), projectDenials(""), sessionDenials())},
		{slug: "bridge-all", access: "mode: [oauth, bearer, api-key, public], " + bridgeAccess + ", keys: { rpc: check_key }, " + publicRate, none: asPublic("401"),
			admits: map[string]cells{"bridge token": asBridge, "personal token": asBearer, "session": asBearer, "key": asKey, "writing key": asWriter, "app key": asWriter},
			deny:   merged(appKeyDenials(), sessionDenials(), map[string]string{"unknown personal token": "401 token_unknown"})},
		{slug: "external-all", access: "mode: [oauth, bearer, api-key, public], " + external + ", " + publicRate, none: asPublic("401"),
			admits: map[string]cells{"external": asExternal, "session": asBearer, "key": asKey, "writing key": asWriter},
			deny:   merged(keyDenials(), sessionDenials(), map[string]string{"external, other audience": "401 token_audience", "external, expired": "401 token_expired"})},
	}
	elsewhere := p.publishAs("elsewhere", doorsFile("mode: [oauth, api-key], "+bridgeAccess))
	strangers := p.strangers(t, w, other, elsewhere)
	for _, d := range table {
		target := p.publishAs(d.slug, doorsFile(d.access))
		if d.slug == "introspected" {
			p.must(http.MethodPut, "/projects/crm/surfaces/introspected/introspection", map[string]string{"secret": "a-secret-of-the-test"})
		}
		t.Run(d.slug+"/without a credential", func(t *testing.T) { d.entrance(t, target) })
		own := p.ownCredentials(t, w, d, target)
		for name, credential := range merged(strangers, own) {
			want, admitted := d.admits[name]
			if !admitted {
				want = all(firstOf(d.deny[name], always[name], wrongKind))
			}
			if name == "nothing" {
				want = d.none
			}
			t.Run(d.slug+"/"+name, func(t *testing.T) {
				p.ForgetRequests()
				for i, tool := range []string{"greet", "customers_list", "archive_customer"} {
					for _, era := range eras {
						r := present(t, target, credential, era, tool)
						if got := r.cell(t, target, strings.Contains(d.access, "oauth")); got != want[i] {
							t.Errorf("%s in %s: %q, want %q (%d %v %s)", tool, era, got, want[i], r.status, r.header.Values("WWW-Authenticate"), r.body)
						}
					}
				}
				p.forwardedOnly(t, name, credential)
			})
		}
	}
	t.Run("origins", func(t *testing.T) { p.originsCount(t, strangers) })
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func merged[V any](maps ...map[string]V) map[string]V {
	all := map[string]V{}
	for _, m := range maps {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

func keyDenials() map[string]string {
	return map[string]string{"revoked key": "401 key_revoked", "expired key": "401 key_expired", "key elsewhere": "401 key_unknown", "unknown key": "401 key_unknown"}
}

func appKeyDenials() map[string]string {
	return merged(keyDenials(), map[string]string{"wrong app key": "401 key_unknown", "garbage": "401 key_unknown", "opaque": "401 key_unknown", "dead opaque": "401 key_unknown"})
}

// sessionDenials are those of surfaces that know the project's own sessions.
func sessionDenials() map[string]string {
	return map[string]string{"expired session": "401 token_expired", "service role": "401 token_role", "broken act": "401 token_actor"}
}

// projectDenials are those of direct surfaces; session is what they say of the
// app's own.
func projectDenials(session string) map[string]string {
	return map[string]string{"session": session, "lost client_id": "401 token_without_client", "broken act": "401 token_actor"}
}

// credential is what a request carries.
type credential struct {
	secret string
	header []string // Authorization as it is; nil: Bearer and the secret
}

// strangers are the credentials that are the same at every surface.
func (p *tenant) strangers(t *testing.T, w *world, other *tenant, elsewhere string) map[string]credential {
	t.Helper()
	own := func(o standin.TokenOptions) credential {
		token, err := p.AccessToken(standin.AliceEmail, o)
		if err != nil {
			t.Fatal(err)
		}
		return credential{secret: token}
	}
	theirs := func(claims map[string]any, lifetime time.Duration) credential {
		return credential{secret: other.token(standin.AliceEmail, standin.TokenOptions{Claims: claims, Lifetime: lifetime})}
	}
	there := signedIn(t, w, elsewhere, standin.AliceEmail)
	return map[string]credential{
		"nothing":                  {},
		"no token":                 {header: []string{"Bearer "}},
		"another scheme":           {header: []string{"Basic YWxpY2U6Ym9i"}},
		"two headers":              {header: []string{"Bearer " + p.token(standin.AliceEmail, standin.TokenOptions{}), "Bearer app-key-of-alice"}},
		"garbage":                  {secret: "not-a-token-of-anybody"},
		"own prefix":               {secret: "chz_" + strings.Repeat("a", 43)},
		"api token":                {secret: p.builder.token.Reveal()},
		"unknown personal token":   {secret: "chp_" + strings.Repeat("a", 43)},
		"unknown key":              {secret: "chk_" + strings.Repeat("a", 43)},
		"key elsewhere":            {secret: p.makeKey("elsewhere", nil, time.Time{})},
		"delegated":                {secret: p.token(standin.AliceEmail, standin.TokenOptions{ClientID: aliceClient})},
		"lost client_id":           {secret: p.token(standin.AliceEmail, standin.TokenOptions{ClientID: aliceClient, Claims: map[string]any{"client_id": nil}})},
		"session":                  own(standin.TokenOptions{}),
		"expired session":          own(standin.TokenOptions{Lifetime: -time.Hour}),
		"service role":             own(standin.TokenOptions{Claims: map[string]any{"role": "service_role"}}),
		"broken act":               own(standin.TokenOptions{Claims: map[string]any{"act": map[string]any{"sub": "agent", "act": "not an object"}}}),
		"unknown issuer":           own(standin.TokenOptions{Claims: map[string]any{"iss": "https://elsewhere.example/auth/v1"}}),
		"bridge token elsewhere":   {secret: there.access},
		"external":                 theirs(nil, 0),
		"external, other audience": theirs(map[string]any{"aud": "another-api"}, 0),
		"external, expired":        theirs(nil, -time.Hour),
		"opaque":                   {secret: "good-opaque-token"},
		"dead opaque":              {secret: "dead-opaque-token"},
		"app key":                  {secret: "app-key-of-alice"},
		"wrong app key":            {secret: "app-key-of-mallory"},
	}
}

// ownCredentials are those that a surface itself gives out.
func (p *tenant) ownCredentials(t *testing.T, w *world, d doorway, target string) map[string]credential {
	t.Helper()
	own := map[string]credential{}
	if strings.Contains(d.access, "authorization: bridge") {
		client := signedInFor(t, w, target, standin.AliceEmail, "crm.read")
		own["bridge token"] = credential{secret: client.access}
		own["personal token"] = credential{secret: personalToken(t, client)}
	}
	if strings.Contains(d.access, "api-key") {
		own["key"] = credential{secret: p.makeKey(d.slug, nil, time.Time{})}
		own["writing key"] = credential{secret: p.makeKey(d.slug, []string{"crm.write"}, time.Time{})}
		own["revoked key"] = credential{secret: p.makeKey(d.slug, nil, time.Time{})}
		p.revokeNewestKey(d.slug)
		own["expired key"] = credential{secret: p.makeKey(d.slug, nil, w.clock.Now().Add(time.Second))}
		w.clock.Advance(2 * time.Second)
	}
	return own
}

// makeKey makes a key of a surface through the control API.
func (p *tenant) makeKey(surface string, scopes []string, expires time.Time) string {
	p.t.Helper()
	body := map[string]any{"name": "a key", "scopes": scopes}
	if !expires.IsZero() {
		body["expires_at"] = expires
	}
	return p.must(http.MethodPost, "/projects/"+p.slug+"/surfaces/"+surface+"/keys", body)["key"].(string)
}

func (p *tenant) revokeNewestKey(surface string) {
	p.t.Helper()
	path := "/projects/" + p.slug + "/surfaces/" + surface + "/keys"
	keys := p.must(http.MethodGet, path, nil)["keys"].([]any)
	p.must(http.MethodDelete, path+"/"+keys[0].(map[string]any)["id"].(string), nil)
}

// present calls a tool with a credential, whatever its form.
func present(t *testing.T, target string, c credential, era, tool string) reply {
	t.Helper()
	arguments := map[string]any{}
	switch tool {
	case "greet":
		arguments["name"] = "you"
	case "archive_customer":
		arguments["id"] = "1"
	}
	if c.header == nil {
		return call(t, target, c.secret, era, tool, arguments)
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	if err != nil {
		t.Fatal(err)
	}
	return sendRaw(t, http.MethodPost, target, "", http.Header{"Authorization": c.header}, string(body))
}

var (
	challengeForm = regexp.MustCompile(`^Bearer(?: resource_metadata="([^"]+)")?(?:,? error="([a-z_]+)"(?:, scope="([^"]+)")?, error_description="[^"]+")?$`)
	codeMember    = regexp.MustCompile(`"code":"([a-z0-9_]+)"`)
)

// cell says in a word or two what an answer means, and fails on one whose
// parts do not fit together.
func (r reply) cell(t *testing.T, target string, oauth bool) string {
	t.Helper()
	values := r.header.Values("WWW-Authenticate")
	if r.status == http.StatusUnauthorized || r.status == http.StatusForbidden {
		if len(values) != 1 {
			return fmt.Sprintf("%d with %d challenges", r.status, len(values))
		}
		m := challengeForm.FindStringSubmatch(values[0])
		if m == nil {
			return "a challenge of another form: " + values[0]
		}
		if (m[1] != "") != oauth || oauth && !strings.HasSuffix(target, strings.SplitAfter(m[1], "/.well-known/oauth-protected-resource")[1]) {
			return "metadata of another surface: " + values[0]
		}
		code := codeMember.FindStringSubmatch(r.body)
		switch {
		case m[2] == "" && r.status == http.StatusUnauthorized:
			return "401"
		case m[2] == "invalid_token" && r.status == http.StatusUnauthorized && code != nil:
			return "401 " + code[1]
		case m[2] == "insufficient_scope" && r.status == http.StatusForbidden:
			return "403 " + m[3]
		}
		return "a challenge that does not fit: " + values[0]
	}
	if len(values) != 0 || r.status != http.StatusOK && r.status != http.StatusNotFound && r.status != http.StatusBadRequest {
		return fmt.Sprintf("%d", r.status)
	}
	if strings.Contains(r.body, `"code":-32602`) && strings.Contains(r.body, "Unknown tool") {
		return "hidden"
	}
	result := r.result(t)
	text := result.Content[0].Text
	switch {
	case result.IsError && strings.Contains(text, `"kind":"forbidden"`):
		return "forbidden"
	case result.IsError && strings.Contains(text, "There is no customer 1."):
		return "nobody"
	case result.IsError:
		return "tool error " + text
	case strings.Contains(string(result.Structured), "Acme") && strings.Contains(string(result.Structured), `"items"`):
		return "alice"
	case strings.Contains(string(result.Structured), `"items":[]`):
		return "none"
	}
	return "ok"
}

// forwardedOnly fails when a credential reached the project that the project
// did not issue, or when a call of nobody carried one.
func (p *tenant) forwardedOnly(t *testing.T, name string, c credential) {
	t.Helper()
	users := map[string]bool{"delegated": true, "session": true}
	for _, r := range p.RequestsTo("/rest/v1/") {
		switch {
		case users[name]:
			if r.Bearer != c.secret {
				t.Errorf("the project was asked as somebody else than the caller: %s", r.Path)
			}
		case name == "bridge token" || name == "personal token":
			if r.Bearer == c.secret || claim(t, r.Bearer, "iss") != p.Issuer() {
				t.Errorf("the project was asked with another token than its own: %s", r.Path)
			}
		case r.Bearer != "":
			t.Errorf("a call of nobody carried a token: %s", r.Path)
		}
		if strings.HasPrefix(c.secret, "ch") && strings.Contains(fmt.Sprint(r), c.secret) {
			t.Errorf("a credential of ours reached the project: %s", r.Path)
		}
	}
}

// opaqueIssuer is an issuer whose tokens only it can read.
type opaqueIssuer struct {
	*httptest.Server
}

func newOpaqueIssuer(t *testing.T, good, subject, scope string) *opaqueIssuer {
	t.Helper()
	o := &opaqueIssuer{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": o.URL, "authorization_endpoint": o.URL + "/authorize", "token_endpoint": o.URL + "/token", "jwks_uri": o.URL + "/jwks",
			"introspection_endpoint": o.URL + "/introspect", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("POST /introspect", func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if id != "chumbo" || secret != "a-secret-of-the-test" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]any{"active": false}
		if r.FormValue("token") == good {
			answer = map[string]any{
				"active": true, "iss": o.URL, "sub": subject, "aud": "crm-api", "client_id": "their-client", "scope": scope,
				"exp": time.Now().Add(time.Hour).Unix(),
			}
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

// personalToken makes a token on the page of connected apps, as the person who
// is signed in there.
func personalToken(t *testing.T, d *dance) string {
	t.Helper()
	page := sendRaw(t, http.MethodGet, d.mcp, "", headers("Accept", "text/html"), "")
	at := regexp.MustCompile(`href="([^"]+/connect/apps/[^"]+)"`).FindStringSubmatch(page.body)
	if at == nil {
		t.Fatalf("no Connected apps on the connect page: %s", page.body)
	}
	apps := d.who.get(t, at[1])
	csrf := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(apps.body)
	if csrf == nil {
		t.Fatalf("no form at %s: %d %s", at[1], apps.status, apps.body)
	}
	form := url.Values{"csrf": {csrf[1]}, "name": {"a script"}, "reach": {"all"}, "days": {"7"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at[1]+"/tokens", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := d.who.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	token := regexp.MustCompile(`chp_[A-Za-z0-9_-]{43}`).FindString(string(body))
	if err != nil || token == "" {
		t.Fatalf("no token: %s %s %v", res.Status, body, err)
	}
	return token
}
