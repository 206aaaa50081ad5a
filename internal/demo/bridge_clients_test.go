package demo

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// dance is one client's way to a tool call at a bridge surface, step by step
// as the client is known to take it (docs/client-compatibility.md). Every step
// judges the answer as that client would.
type dance struct {
	t    *testing.T
	w    *world
	mcp  string
	who  *person
	hint string         // resource_metadata of the challenge
	prm  map[string]any // protected-resource metadata
	as   map[string]any // authorization server metadata

	client, secret string
	redirect       string
	verifier       string
	access         string
	refresh        string
}

func newDance(t *testing.T) *dance {
	t.Helper()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{})
	p.importSchema()
	return &dance{t: t, w: w, mcp: p.publish(bridgeFile(t)), who: personOf(t, standin.AliceEmail, standin.CRMPassword)}
}

// again is another connection to the same surface, by the same person in
// another browser.
func (d *dance) again() *dance {
	return &dance{t: d.t, w: d.w, mcp: d.mcp, who: personOf(d.t, standin.AliceEmail, standin.CRMPassword)}
}

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// challenge sends a first request and expects exactly one challenge with a
// hint.
func (d *dance) challenge(method string, h http.Header, body string) {
	d.t.Helper()
	r := sendRaw(d.t, method, d.mcp, "", h, body)
	values := r.header.Values("WWW-Authenticate")
	if r.status != http.StatusUnauthorized || len(values) != 1 {
		d.t.Fatalf("%s: %d %v", method, r.status, values)
	}
	_, after, found := strings.Cut(values[0], `resource_metadata="`)
	d.hint, _, _ = strings.Cut(after, `"`)
	if !found || !strings.HasPrefix(values[0], "Bearer ") {
		d.t.Fatalf("challenge %q", values[0])
	}
}

func (d *dance) document(target string, h http.Header) map[string]any {
	d.t.Helper()
	r := sendRaw(d.t, http.MethodGet, target, "", h, "")
	var document map[string]any
	if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), &document) != nil {
		d.t.Fatalf("GET %s: %d %s", target, r.status, r.body)
	}
	return document
}

// discover reads the two documents as nearly every client does: the hint, then
// the issuer with its path inserted.
func (d *dance) discover(h http.Header) {
	d.t.Helper()
	d.prm = d.document(d.hint, h)
	if d.prm["resource"] != d.mcp {
		d.t.Fatalf("resource %v, want %s byte for byte", d.prm["resource"], d.mcp)
	}
	issuer := d.prm["authorization_servers"].([]any)[0].(string)
	u, err := url.Parse(issuer)
	if err != nil {
		d.t.Fatal(err)
	}
	d.as = d.document(u.Scheme+"://"+u.Host+"/.well-known/oauth-authorization-server"+u.Path, h)
	if d.as["issuer"] != issuer {
		d.t.Fatalf("issuer %v, want %s byte for byte", d.as["issuer"], issuer)
	}
}

func (d *dance) endpoint(name string) string {
	d.t.Helper()
	value, _ := d.as[name].(string)
	if value == "" {
		d.t.Fatalf("no %s in the metadata", name)
	}
	return value
}

// offersDocuments is what clients look at before they send a URL as their id.
func (d *dance) offersDocuments() bool {
	methods, _ := d.as["token_endpoint_auth_methods_supported"].([]any)
	return d.as["client_id_metadata_document_supported"] == true && slices.Contains(methods, any("none"))
}

// register registers and reads the answer as strictly as the strictest client.
func (d *dance) register(metadata map[string]any) {
	d.t.Helper()
	body, err := json.Marshal(metadata)
	if err != nil {
		d.t.Fatal(err)
	}
	r := sendRaw(d.t, http.MethodPost, d.endpoint("registration_endpoint"), "", nil, string(body))
	var answer map[string]any
	if r.status != http.StatusCreated || json.Unmarshal([]byte(r.body), &answer) != nil {
		d.t.Fatalf("register: %d %s", r.status, r.body)
	}
	for name, value := range answer {
		if value == nil {
			d.t.Errorf("%s is null: some clients refuse the whole answer", name)
		}
	}
	if method, asked := metadata["token_endpoint_auth_method"]; asked && answer["token_endpoint_auth_method"] != method {
		d.t.Errorf("method %v, asked for %v", answer["token_endpoint_auth_method"], method)
	}
	d.client, _ = answer["client_id"].(string)
	d.secret, _ = answer["client_secret"].(string)
}

// authorize sends the person with the client's parameters and returns the code.
func (d *dance) authorize(redirect string, more ...string) string {
	d.t.Helper()
	d.redirect, d.verifier = redirect, oauth2.GenerateVerifier()
	query := url.Values{
		"response_type": {"code"}, "client_id": {d.client}, "redirect_uri": {redirect}, "state": {"st/at+e=="},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(d.verifier)}, "code_challenge_method": {"S256"},
	}
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	back, err := d.who.authorize(d.t.Context(), d.endpoint("authorization_endpoint")+"?"+query.Encode())
	if err != nil {
		d.t.Fatal(err)
	}
	if back.Get("iss") != d.endpoint("issuer") || back.Get("state") != "st/at+e==" || back.Get("code") == "" {
		d.t.Fatalf("back with %v", back)
	}
	return back.Get("code")
}

// exchange posts a form to the token endpoint, with a Basic header unless it
// is empty.
func (d *dance) exchange(basic string, form url.Values) {
	d.t.Helper()
	h := headers("Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
	if basic != "" {
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(basic)))
	}
	r := sendRaw(d.t, http.MethodPost, d.endpoint("token_endpoint"), "", h, form.Encode())
	var answer struct {
		AccessToken  string `json:"access_token"`
		RefreshToken string `json:"refresh_token"`
		TokenType    string `json:"token_type"`
		ExpiresIn    int    `json:"expires_in"`
	}
	if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), &answer) != nil {
		d.t.Fatalf("token: %d %s", r.status, r.body)
	}
	if answer.TokenType != "Bearer" || answer.ExpiresIn < 600 || answer.RefreshToken == "" || r.header.Get("Cache-Control") != "no-store" {
		d.t.Errorf("token answer %s %v", r.body, r.header)
	}
	d.access, d.refresh = answer.AccessToken, answer.RefreshToken
}

func (d *dance) code(code string, more ...string) url.Values {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {d.verifier}, "redirect_uri": {d.redirect}, "client_id": {d.client}}
	for i := 0; i+1 < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return form
}

// call speaks MCP as the client: initialize, list, call. version is the header
// after initialize; "" leaves it out.
func (d *dance) call(name, protocol, version string) {
	d.t.Helper()
	h := headers("Accept", "application/json, text/event-stream", "User-Agent", name)
	r := sendRaw(d.t, http.MethodPost, d.mcp, d.access, h, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+protocol+`","capabilities":{},"clientInfo":{"name":"`+name+`","version":"1.0.0"}}}`)
	if r.status != http.StatusOK {
		d.t.Fatalf("initialize: %d %s", r.status, r.body)
	}
	if version != "" {
		h.Set("Mcp-Protocol-Version", version)
	}
	if r = sendRaw(d.t, http.MethodPost, d.mcp, d.access, h, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.status != http.StatusAccepted {
		d.t.Fatalf("initialized: %d %s", r.status, r.body)
	}
	if r = sendRaw(d.t, http.MethodPost, d.mcp, d.access, h, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(r.body, "customers_list") {
		d.t.Fatalf("tools/list: %d %s", r.status, r.body)
	}
	r = sendRaw(d.t, http.MethodPost, d.mcp, d.access, h, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"customers_list","arguments":{"limit":5}}}`)
	if !strings.Contains(r.body, "Acme") || strings.Contains(r.body, "Globex") {
		d.t.Fatalf("tools/call: %d %s", r.status, r.body)
	}
}

// clientDocument serves one client's metadata document as it is known to read,
// under a path, and returns its URL: the client's id.
func clientDocument(t *testing.T, path string, document map[string]any, more map[string]any) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	document["client_id"] = server.URL + path
	for name, value := range document { // documents name their own server
		if text, ok := value.(string); ok {
			document[name] = strings.ReplaceAll(text, "{self}", server.URL)
		}
	}
	serve := func(path string, body any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "public, max-age=3600")
			_ = json.NewEncoder(w).Encode(body)
		})
	}
	serve(path, document)
	for path, body := range more {
		serve(path, body)
	}
	return server.URL + path
}

const initializeProbe = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"probe","version":"1"}}}`

func TestClaudeConnectorsMeetTheBridge(t *testing.T) {
	t.Parallel()
	d := newDance(t)
	begin := func(d *dance) {
		d.challenge(http.MethodPost, headers("User-Agent", "python-httpx/0.28.1", "Accept", "*/*", "Mcp-Protocol-Version", "2025-11-25"), initializeProbe)
		d.discover(headers("User-Agent", "python-httpx/0.28.1"))
		if r := sendRaw(t, http.MethodGet, d.w.url+"/.well-known/oauth-protected-resource", "", nil, ""); r.status != http.StatusNotFound || !strings.Contains(r.header.Get("Content-Type"), "json") {
			t.Errorf("the shared host's root describes something: %d %s", r.status, r.body)
		}
		d.challenge(http.MethodPost, headers("User-Agent", "Claude-User"), initializeProbe)
	}
	const callback = "https://claude.ai/api/mcp/auth_callback"
	begin(d)
	if !d.offersDocuments() {
		t.Fatal("Claude would register instead of sending its document")
	}
	d.client = clientDocument(t, "/oauth/mcp-oauth-client-metadata", map[string]any{
		"client_name": "Claude", "redirect_uris": []string{callback, "https://claude.com/api/mcp/auth_callback"},
		"token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}, nil)
	code := d.authorize(callback, "scope", " offline_access", "resource", d.mcp, "prompt", "consent")
	d.exchange("", d.code(code, "resource", d.mcp))
	d.call("Claude-User", "2025-11-25", "")

	t.Run("registration", func(t *testing.T) {
		d := d.again()
		d.t = t
		begin(d)
		d.register(map[string]any{
			"client_name": "Claude", "redirect_uris": []string{callback}, "token_endpoint_auth_method": "client_secret_post",
			"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "scope": "crm.read crm.write",
		})
		if d.secret == "" {
			t.Fatal("no secret")
		}
		code := d.authorize(callback, "scope", "crm.read crm.write offline_access", "resource", d.mcp, "prompt", "consent")
		d.exchange("", d.code(code, "client_secret", d.secret, "resource", d.mcp))
		d.call("Claude-User", "2025-11-25", "2025-11-25")
	})
}

func TestClaudeCodeMeetsTheBridge(t *testing.T) {
	t.Parallel()
	d := newDance(t)
	d.challenge(http.MethodPost, headers("User-Agent", "claude-code/2.1.280"), initializeProbe)
	d.discover(nil)
	if !d.offersDocuments() {
		t.Fatal("Claude Code would register instead of sending its document")
	}
	d.client = clientDocument(t, "/oauth/claude-code-client-metadata", map[string]any{
		"client_name": "Claude Code", "redirect_uris": []string{"http://localhost/callback", "http://127.0.0.1/callback"}, // no port
		"token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}, nil)
	code := d.authorize("http://localhost:52871/callback", "resource", d.mcp, "scope", "crm.read crm.write")
	d.exchange("", d.code(code, "resource", d.mcp))
	d.call("claude-code", "2025-11-25", "2025-11-25")

	t.Run("registration", func(t *testing.T) {
		d := d.again()
		d.t = t
		d.challenge(http.MethodPost, nil, initializeProbe)
		d.discover(nil)
		d.register(map[string]any{
			"client_name": "Claude Code (crm)", "redirect_uris": []string{"http://localhost:52999/callback"}, "token_endpoint_auth_method": "none",
			"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		})
		code := d.authorize("http://localhost:52999/callback")
		d.exchange("", d.code(code))
		d.call("claude-code", "2025-11-25", "2025-11-25")
	})
}

// TestChatGPTMeetsTheBridge in both identities: the stable one that a server
// with iss gets, and one per connector; as a public client and with an
// assertion.
func TestChatGPTMeetsTheBridge(t *testing.T) {
	t.Parallel()
	d := newDance(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "gpt-1"}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	keys := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "gpt-1", Algorithm: "RS256", Use: "sig"}}}
	for name, identity := range map[string]struct{ path, callback string }{
		"stable":        {"/oauth/client.json", "https://chatgpt.com/connector_platform_oauth_redirect"},
		"per connector": {"/oauth/c0ffee/client.json", "https://chatgpt.com/connector/oauth/c0ffee"},
	} {
		for _, method := range []string{"none", "private_key_jwt"} {
			t.Run(name+" "+method, func(t *testing.T) {
				d := d.again()
				d.t = t
				d.challenge(http.MethodPost, headers("User-Agent", "Python/3.12 aiohttp/3.13.5"), initializeProbe)
				d.discover(nil)
				if d.as["authorization_response_iss_parameter_supported"] != true {
					t.Fatal("ChatGPT would use a callback per connector")
				}
				d.client = clientDocument(t, identity.path, map[string]any{
					"client_name": "ChatGPT", "redirect_uris": []string{identity.callback}, "jwks_uri": "{self}/oauth/jwks.json",
					"token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_methods_supported": []string{"none", "private_key_jwt"},
					"token_endpoint_auth_signing_alg": "RS256", "grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
				}, map[string]any{"/oauth/jwks.json": keys})
				code := d.authorize(identity.callback, "resource", d.prm["resource"].(string), "scope", "crm.read crm.write")
				form := d.code(code, "resource", d.mcp)
				if method == "private_key_jwt" {
					form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
					form.Set("client_assertion", assertion(t, signer, d.client, d.endpoint("token_endpoint"), d.w.clock.Now()))
				}
				d.exchange("", form)
				d.call("openai-mcp", "2025-11-25", "2025-11-25")
			})
		}
	}
}

func assertion(t *testing.T, signer jose.Signer, client, audience string, now time.Time) string {
	t.Helper()
	claims, err := json.Marshal(map[string]any{
		"iss": client, "sub": client, "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": rand.Text(),
	})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCursorMeetsTheBridge(t *testing.T) {
	t.Parallel()
	d := newDance(t)
	d.challenge(http.MethodPost, headers("User-Agent", "Cursor/1.7"), initializeProbe)
	d.discover(nil)
	callbacks := []string{"cursor://anysphere.cursor-mcp/oauth/callback", "https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"}
	d.register(map[string]any{
		"client_name": "Cursor", "redirect_uris": callbacks, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	})
	for _, callback := range callbacks {
		code := d.authorize(callback, "scope", "crm.read crm.write", "resource", d.mcp)
		d.exchange("", d.code(code, "resource", d.mcp))
		d.call("cursor-vscode", "2025-06-18", "2025-06-18")
	}
}

func TestVSCodeMeetsTheBridge(t *testing.T) {
	t.Parallel()
	d := newDance(t)
	agent := headers("User-Agent", "Visual Studio Code/1.132.0", "Accept", "text/event-stream, application/json", "Mcp-Protocol-Version", "2025-11-25")
	begin := func(d *dance) {
		d.challenge(http.MethodPost, headers("User-Agent", "Visual Studio Code/1.132.0", "Accept", "text/event-stream, application/json"), initializeProbe)
		d.discover(agent)
	}
	callbacks := []string{"https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect", "http://127.0.0.1/", "http://127.0.0.1:33418/"}
	begin(d)
	d.register(map[string]any{
		"client_name": "Visual Studio Code", "client_uri": "https://code.visualstudio.com", "response_types": []string{"code"}, "redirect_uris": callbacks,
		"grant_types": []string{"authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"},
		"scope":       "crm.read crm.write", "token_endpoint_auth_method": "none", "application_type": "native",
	})
	for _, callback := range []string{"http://127.0.0.1:33418/", "http://127.0.0.1:59656/"} { // the second: the first port was taken
		code := d.authorize(callback, "scope", "crm.read", "resource", d.mcp)
		d.exchange("", d.code(code, "resource", d.mcp))
		d.call("Visual Studio Code", "2025-11-25", "2025-11-25")
		if r := sendRaw(t, http.MethodGet, d.mcp, d.access, headers("Accept", "text/event-stream"), ""); r.status != http.StatusMethodNotAllowed {
			t.Errorf("GET with a token: %d", r.status)
		}
	}

	t.Run("step-up", func(t *testing.T) {
		// VS Code replaces its scopes by the challenge's: the whole set is named.
		r := sendRaw(t, http.MethodPost, d.mcp, d.access, agent, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"archive_customer","arguments":{"id":"1"}}}`)
		challenge := r.header.Get("WWW-Authenticate")
		if r.status != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, "crm.read") || !strings.Contains(challenge, "crm.write") {
			t.Fatalf("%d %s", r.status, challenge)
		}
		_, after, _ := strings.Cut(challenge, `scope="`)
		scope, _, _ := strings.Cut(after, `"`)
		code := d.authorize("http://127.0.0.1:33418/", "scope", scope, "resource", d.mcp)
		d.exchange("", d.code(code, "resource", d.mcp))
		if r := sendRaw(t, http.MethodPost, d.mcp, d.access, agent, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`); !strings.Contains(r.body, "archive_customer") {
			t.Errorf("after the step-up: %d %s", r.status, r.body)
		}
	})
	t.Run("document", func(t *testing.T) {
		d := d.again()
		d.t = t
		begin(d)
		d.client = clientDocument(t, "/oauth/client-metadata.json", map[string]any{
			"client_name": "Visual Studio Code", "client_uri": "https://code.visualstudio.com", "redirect_uris": callbacks,
			"token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		}, nil)
		code := d.authorize("http://127.0.0.1:61001/", "scope", "crm.read crm.write", "resource", d.mcp)
		d.exchange("", d.code(code, "resource", d.mcp))
		d.call("Visual Studio Code", "2025-11-25", "2025-11-25")
	})
}

func TestCodexMeetsTheBridge(t *testing.T) {
	t.Parallel()
	d := newDance(t)
	d.challenge(http.MethodPost, nil, initializeProbe)
	d.discover(nil)
	const callback = "http://127.0.0.1:41833/callback/q2hfZm9vYmFy"
	d.register(map[string]any{
		"client_name": "Codex", "redirect_uris": []string{callback}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	})
	for name, resource := range map[string]string{"no resource": "", "a trailing slash": d.mcp + "/"} {
		t.Run(name, func(t *testing.T) {
			d.t = t
			var more []string
			if resource != "" {
				more = []string{"resource", resource}
			}
			code := d.authorize(callback, more...)
			d.exchange("", d.code(code, more...))
			d.call("codex-mcp-client", "2025-06-18", "2025-06-18")
		})
	}
}

func TestGeminiCLIMeetsTheBridge(t *testing.T) {
	t.Parallel()
	d := newDance(t)
	d.challenge(http.MethodHead, nil, "")
	d.discover(nil)
	scopes, _ := d.as["scopes_supported"].([]any)
	var asked []string
	for _, s := range scopes {
		asked = append(asked, s.(string))
	}
	if !slices.Contains(asked, "crm.read") || !slices.Contains(asked, "offline_access") {
		t.Errorf("scopes of the authorization server: %v", asked)
	}
	const callback = "http://localhost:7777/oauth/callback"
	d.register(map[string]any{
		"client_name": "Gemini CLI MCP Client", "redirect_uris": []string{callback}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "scope": strings.Join(asked, " "),
	})
	code := d.authorize(callback, "scope", strings.Join(asked, " "), "resource", d.mcp)
	d.exchange("", d.code(code, "resource", d.mcp))
	d.call("gemini-cli-mcp-client", "2025-06-18", "2025-06-18")
}

func TestCopilotMeetsTheBridge(t *testing.T) {
	t.Parallel()
	d := newDance(t)
	t.Run("cli", func(t *testing.T) {
		d := d.again()
		d.t = t
		d.challenge(http.MethodPost, nil, initializeProbe)
		d.discover(nil)
		d.client = clientDocument(t, "/copilot/cli/client-metadata.json", map[string]any{
			"client_name": "GitHub Copilot CLI", "redirect_uris": []string{"http://127.0.0.1:33418/"}, "token_endpoint_auth_method": "none",
			"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		}, nil)
		code := d.authorize("http://127.0.0.1:50123/", "resource", d.mcp) // another port than the document's
		d.exchange("", d.code(code, "resource", d.mcp))
		d.call("copilot-cli", "2025-11-25", "2025-11-25")
	})
	t.Run("studio", func(t *testing.T) {
		d := d.again()
		d.t = t
		d.challenge(http.MethodPost, nil, initializeProbe)
		d.discover(nil)
		const callback = "https://global.consent.azure-apim.net/redirect/cr5f2-20crm-5f3c"
		d.register(map[string]any{
			"client_name": "Microsoft Copilot Studio", "redirect_uris": []string{callback}, "token_endpoint_auth_method": "client_secret_basic",
			"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		})
		code := d.authorize(callback)
		form := d.code(code)
		form.Del("client_id")
		d.exchange(url.QueryEscape(d.client)+":"+url.QueryEscape(d.secret), form)
		d.call("copilot-studio", "2025-06-18", "2025-06-18")
	})
}

// TestGoClientsEmptySecretIsNone: the Go SDK sends Basic with an empty secret
// where it was told no method, also for a document's URL.
func TestGoClientsEmptySecretIsNone(t *testing.T) {
	t.Parallel()
	d := newDance(t)
	d.challenge(http.MethodPost, nil, initializeProbe)
	d.discover(nil)
	d.client = clientDocument(t, "/client.json", map[string]any{
		"client_name": "Go client", "redirect_uris": []string{callbackURL}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}, nil)
	form := d.code(d.authorize(callbackURL, "resource", d.mcp), "resource", d.mcp)
	form.Del("client_id")
	d.exchange(url.QueryEscape(d.client)+":", form)
	d.call("go-sdk", "2025-11-25", "2025-11-25")
	d.exchange(url.QueryEscape(d.client)+":", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {d.refresh}})
	d.call("go-sdk", "2025-11-25", "2025-11-25")
}
