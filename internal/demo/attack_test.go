package demo

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// impostor is a server of an attacker's that stands in front of somebody
// else's project and answers with all that the project says.
type impostor struct {
	*httptest.Server
	of      *tenant
	rewrite bool // puts its own origin wherever the project names itself

	mu    sync.Mutex
	token string   // what it says chumbo_ownership() returns; empty: what the project says
	heard []string // every header and body it was sent
}

func newImpostor(t *testing.T, of *tenant, rewrite bool) *impostor {
	t.Helper()
	i := &impostor{of: of, rewrite: rewrite}
	target, err := url.Parse(of.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: i.disguise,
	}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := i.listen(r); answer != "" && strings.HasSuffix(r.URL.Path, "/rpc/chumbo_ownership") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(strconv.Quote(answer)))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

// listen keeps all of a request, and says what the impostor claims to own.
func (i *impostor) listen(r *http.Request) (token string) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var header strings.Builder
	_ = r.Header.Write(&header)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.heard = append(i.heard, r.URL.String()+"\n"+header.String()+string(body))
	return i.token
}

func (i *impostor) disguise(r *http.Response) error {
	if !i.rewrite {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	body = bytes.ReplaceAll(body, []byte(i.of.URL()), []byte(i.URL))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Length")
	return nil
}

func (i *impostor) claims(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.token = token
}

// heardOf reports whether a text was in anything it was sent.
func (i *impostor) heardOf(text string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.ContainsFunc(i.heard, func(request string) bool { return strings.Contains(request, text) })
}

func (i *impostor) requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.heard)
}

// ownership is what a builder is told of a proof.
func (p *tenant) ownership() (verified bool, token string) {
	p.t.Helper()
	answer := p.must(http.MethodGet, "/projects/"+p.slug+"/ownership", nil)
	return answer["verified"].(bool), answer["token"].(string)
}

// prove puts the function into the project's database and has it checked.
func (p *tenant) prove() {
	p.t.Helper()
	_, token := p.ownership()
	if err := p.Exec(p.t.Context(), tenants.OwnershipSQL(token)); err != nil {
		p.t.Fatal(err)
	}
	if err := p.ReloadSchema(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	p.must(http.MethodPost, "/projects/"+p.slug+"/ownership/check", nil)
}

// notices are what its organization was told.
func (p *tenant) notices() string {
	p.t.Helper()
	b, err := json.Marshal(p.must(http.MethodGet, "/notices", nil))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// refused makes a request that must not work, and returns what it was told.
func (p *tenant) refused(method, path string, body any) string {
	p.t.Helper()
	err := p.builder.send(p.t.Context(), method, path, body, nil)
	if err == nil {
		p.t.Fatalf("%s %s worked", method, path)
	}
	return err.Error()
}

// served is Alice's project: registered, proven and published.
func (w *world) served(t *testing.T) *tenant {
	t.Helper()
	alice := w.tenant(t, "Acme", "acme", standin.Options{})
	alice.prove()
	alice.importSchema()
	alice.publish(demoFile(t))
	wantStatuses(t, alice.mcp, 401, 200, 200)
	return alice
}

// mallory is another organization, whose builder reaches Alice's project by a
// URL of theirs.
func (w *world) mallory(t *testing.T, alice *tenant) *tenant {
	t.Helper()
	return &tenant{Project: alice.Project, t: t, clock: alice.clock, slug: "globex", builder: w.organization(t, "bob@example.test", "Globex")}
}

// stillHers fails unless Alice's project is served as it was, and its users'
// tokens are good there.
func (p *tenant) stillHers(token string) {
	p.t.Helper()
	if verified, _ := p.ownership(); !verified {
		p.t.Error("Alice's project is not proven any more")
	}
	if told := p.notices(); strings.Contains(told, "ownership.taken_over") {
		p.t.Errorf("Alice was told %s", told)
	}
	wantStatuses(p.t, p.mcp, 401, 200, 200)
	for _, era := range eras {
		if items := call(p.t, p.mcp, token, era, "customers_list", nil).page(p.t).Items; len(items) == 0 {
			p.t.Error("Alice's user sees nothing")
		}
	}
}

// TestAttack_ProxyThatNamesTheRealIssuer: what the attacker's server says of
// its issuer leads to Alice's origin, so it cannot be registered as one that
// gets tokens.
func TestAttack_ProxyThatNamesTheRealIssuer(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t)
	alice := w.served(t)
	token := alice.signIn(standin.AliceEmail).AccessToken
	bob, proxy := w.mallory(t, alice), newImpostor(t, alice, false)
	told := bob.refused(http.MethodPost, "/projects", registration(bob, proxy.URL, "globex"))
	if !strings.Contains(told, "422") || !strings.Contains(told, proxy.URL) || !strings.Contains(told, alice.Issuer()) || !strings.Contains(told, "GOTRUE_JWT_ISSUER") {
		t.Errorf("told %s", told)
	}
	if have := bob.must(http.MethodGet, "/projects", nil); len(have["projects"].([]any)) != 0 || proxy.requests() == 0 {
		t.Errorf("registered %v after %d requests", have, proxy.requests())
	}
	alice.stillHers(token)
	if proxy.heardOf(token) {
		t.Error("the attacker's server was sent the token of Alice's user")
	}
}

// TestAttack_ProxyThatNamesItselfAsIssuer: to us it is another project, with
// keys that are Alice's. Its proof is another than hers, and once the attacker
// answers with their own, what they own is their own origin: tokens of Alice's
// users are of another issuer, and go nowhere.
func TestAttack_ProxyThatNamesItselfAsIssuer(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t)
	alice := w.served(t)
	token := alice.signIn(standin.AliceEmail).AccessToken
	plain := alice.token(standin.AliceEmail, standin.TokenOptions{})
	bob, proxy := w.mallory(t, alice), newImpostor(t, alice, true)
	bob.must(http.MethodPost, "/projects", registration(bob, proxy.URL, "globex"))
	bob.importSchema()
	bob.publish(demoFile(t))
	if told := bob.refused(http.MethodPost, "/projects/globex/ownership/check", nil); !strings.Contains(told, "ownership_other_token") {
		t.Errorf("told %s", told)
	}
	wantStatuses(t, bob.mcp, 404, 404, 404)
	_, own := bob.ownership()
	proxy.claims(own)
	bob.must(http.MethodPost, "/projects/globex/ownership/check", nil)
	wantStatuses(t, bob.mcp, 401, 200, 200)
	metadata := sendRaw(t, http.MethodGet, strings.Replace(bob.mcp, "/globex", "/.well-known/oauth-protected-resource/globex", 1), "", nil, "").body
	if !strings.Contains(metadata, proxy.URL) || strings.Contains(metadata, alice.URL()) {
		t.Errorf("Bob's surface sends people to sign in at %s", metadata)
	}
	before := proxy.requests()
	for _, era := range eras {
		for _, stolen := range []string{token, plain} {
			call(t, bob.mcp, stolen, era, "customers_list", nil).challenged(t, bob.mcp, invalidToken)
			speak(t, bob.mcp, stolen, era, "tools/list", nil).challenged(t, bob.mcp, invalidToken)
		}
	}
	alice.stillHers(token)
	if proxy.heardOf(token) || proxy.heardOf(plain) {
		t.Errorf("the attacker's server was sent a token of Alice's user, in %d requests", proxy.requests()-before)
	}
	if !proxy.heardOf("/auth/v1/.well-known/") || !proxy.heardOf("/rpc/chumbo_ownership") {
		t.Error("the attacker's server was not asked at all")
	}
}

// TestAttack_ProxyWhereTheOperatorAllowsSplitIssuers: the operator trusts
// their builders to name another origin than the issuer's, but not the origin
// that another organization has proven.
func TestAttack_ProxyWhereTheOperatorAllowsSplitIssuers(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, "CHUMBO_ALLOW_SPLIT_ISSUER=true")
	alice := w.served(t)
	token := alice.signIn(standin.AliceEmail).AccessToken
	bob, proxy := w.mallory(t, alice), newImpostor(t, alice, false)
	bob.must(http.MethodPost, "/projects", registration(bob, proxy.URL, "globex"))
	bob.importSchema()
	bob.publish(demoFile(t))
	_, own := bob.ownership()
	proxy.claims(own)
	bob.refused(http.MethodPost, "/projects/globex/ownership/check", nil)
	for _, era := range eras {
		if answer := call(t, bob.mcp, token, era, "customers_list", nil); answer.status != http.StatusNotFound {
			t.Errorf("Bob's surface answers Alice's user %d %s", answer.status, answer.body)
		}
	}
	alice.stillHers(token)
	if proxy.heardOf(token) {
		t.Error("the attacker's server was sent the token of Alice's user")
	}
}

// TestAttack_SquattingAProject: Bob registers Alice's project before she does.
func TestAttack_SquattingAProject(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{"proof required": "CHUMBO_REQUIRE_OWNERSHIP=true", "no proof required": "CHUMBO_REQUIRE_OWNERSHIP=false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, setting)
			alice := w.project(t, standin.Options{})
			bob := w.mallory(t, alice)
			bob.must(http.MethodPost, "/projects", registration(bob, alice.URL(), "globex"))
			bob.importSchema()
			bob.publish(demoFile(t))
			if setting == "CHUMBO_REQUIRE_OWNERSHIP=true" {
				wantStatuses(t, bob.mcp, 404, 404, 404)
			} else {
				wantStatuses(t, bob.mcp, 401, 200, 200)
			}

			alice.slug, alice.builder = "acme", w.organization(t, "alice@example.test", "Acme")
			alice.must(http.MethodPost, "/projects", registration(alice, alice.URL(), "acme"))
			alice.prove()
			alice.importSchema()
			alice.publish(demoFile(t))
			token := alice.signIn(standin.AliceEmail).AccessToken
			alice.stillHers(token)

			wantStatuses(t, bob.mcp, 404, 404, 404)
			if told := bob.notices(); !strings.Contains(told, "ownership.taken_over") || strings.Contains(told, "Acme") || strings.Contains(told, "alice") {
				t.Errorf("Bob was told %s", told)
			}
			if state := bob.must(http.MethodGet, "/projects/globex/surfaces/main", nil); !strings.Contains(string(encoded(t, state)), `"paused"`) {
				t.Errorf("Bob's surface is %v", state)
			}
			// Switched on and published again, it stays dark; and the function
			// in Alice's database is no proof of his.
			bob.must(http.MethodPut, "/projects/globex/surfaces/main/state", map[string]string{"state": "live"})
			bob.must(http.MethodPost, "/projects/globex/probe", nil)
			bob.publish(demoFile(t))
			if told := bob.refused(http.MethodPost, "/projects/globex/ownership/check", nil); !strings.Contains(told, "ownership_other_token") {
				t.Errorf("told %s", told)
			}
			wantStatuses(t, bob.mcp, 404, 404, 404)
			if answer := call(t, bob.mcp, token, eras[0], "customers_list", nil); answer.status != http.StatusNotFound {
				t.Errorf("Bob's surface answers Alice's user %d", answer.status)
			}
			alice.stillHers(token)
		})
	}
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAttack_NameOfADeletedProject: clients of Alice's surface still call its
// URL. Nobody else gets to answer there.
func TestAttack_NameOfADeletedProject(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t)
	alice := w.served(t)
	first := alice.mcp
	bob := w.tenant(t, "Globex", "globex", standin.Options{})
	bob.prove()

	alice.must(http.MethodPost, "/projects/acme/rename", map[string]string{"slug": "acme-crm"})
	alice.slug = "acme-crm"
	again := alice.publish(demoFile(t))
	wantStatuses(t, first, 401, 200, 200) // an alias by now
	takes := func(slug string) {
		t.Helper()
		if told := bob.refused(http.MethodPost, "/projects", registration(bob, bob.URL(), slug)); !strings.Contains(told, "409") {
			t.Errorf("registering %s: %s", slug, told)
		}
		if told := bob.refused(http.MethodPost, "/projects/globex/rename", map[string]string{"slug": slug}); !strings.Contains(told, "409") {
			t.Errorf("renaming to %s: %s", slug, told)
		}
	}
	takes("acme")
	takes("acme-crm")
	alice.must(http.MethodDelete, "/projects/acme-crm", map[string]string{"confirm": "acme-crm"})
	for _, url := range []string{first, again} {
		wantStatuses(t, url, 404, 404, 404)
	}
	takes("acme")
	takes("acme-crm")
	for _, url := range []string{first, again} {
		wantStatuses(t, url, 404, 404, 404)
	}

	alice.slug = "acme"
	alice.must(http.MethodPost, "/projects", registration(alice, alice.URL(), "acme"))
	alice.prove()
	alice.importSchema()
	alice.publish(demoFile(t))
	alice.stillHers(alice.signIn(standin.AliceEmail).AccessToken)
}

// TestAttack_StolenSetupCode: it was in the output, in a shell's history, in a
// compose file. After the first owner it opens nothing, at no replica and
// after no restart.
func TestAttack_StolenSetupCode(t *testing.T) {
	t.Parallel()
	w, _ := newOwnedWorld(t)
	again, err := w.replica(t.Context()) // with the same CHUMBO_SETUP_CODE
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close(t.Context()) })
	if _, code, err := again.Setup(t.Context()); err != nil || !code.IsZero() {
		t.Errorf("started again, the server has a code: %v", err)
	}
	second := httptest.NewServer(again.Handler())
	t.Cleanup(second.Close)
	form := url.Values{"code": {setupCode}, "email": {"bob@example.test"}, "password": {"four other words here"}, "organization": {"Globex"}}
	for _, base := range []string{w.url, second.URL} {
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
		if base == second.URL {
			header.Set("Host", strings.TrimPrefix(w.url, "http://"))
		}
		answer := sendRaw(t, http.MethodPost, base+"/app/setup", "", header, form.Encode())
		if answer.status < 300 || strings.Contains(answer.header.Get("Location"), "/app/register") || answer.header.Get("Set-Cookie") != "" {
			t.Errorf("the code answered %d to %s, cookie %q: %s", answer.status, answer.header.Get("Location"), answer.header.Get("Set-Cookie"), answer.body)
		}
		page := sendRaw(t, http.MethodGet, base+"/app/setup", "", header, "")
		if page.status != http.StatusSeeOther || strings.Contains(page.body, "code") {
			t.Errorf("the setup page answers %d %s", page.status, page.body)
		}
	}
	_, err = w.server.Tenants.SignIn(t.Context(), tenants.SignIn{Email: "bob@example.test", Password: seal.NewSecret("four other words here"), Address: "192.0.2.2"})
	if err == nil {
		t.Error("Bob can sign in")
	}
	if found := w.find(t, "bob@example.test"); len(found) != 0 {
		t.Errorf("Bob stands in %v", found)
	}
}
