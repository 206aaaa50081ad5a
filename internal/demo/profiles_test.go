package demo

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// profile is what one client was recorded to do in one situation, from the
// challenge to a tool call: its requests header by header, the answers' status,
// and places for what a server makes up.
type profile struct {
	Scenario string        `json:"scenario"`
	Outcome  string        `json:"outcome"`
	Steps    []profileStep `json:"steps"`
}

type profileStep struct {
	By      string            `json:"by"` // client or browser
	Request string            `json:"request"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"` // an object, or a form as a string
	Status  int               `json:"status"`
}

// TestRecordedClientsMeetTheBridge replays every recording whose server
// behaves as a bridge does, through registration, a person's sign-in and
// consent, token endpoint and calls, to the end that the client reached.
func TestRecordedClientsMeetTheBridge(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/profiles/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var profiles []profile
			if err := json.Unmarshal(raw, &profiles); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			p := w.tenant(t, "Acme builders", "crm", standin.Options{})
			p.importSchema()
			for i, recorded := range profiles {
				t.Run(recorded.Scenario, func(t *testing.T) {
					newPlayer(t, w, p, fmt.Sprintf("recording-%d", i), recorded).play()
				})
			}
		})
	}
}

// bridgeFile is the demo's bridge surface.
func bridgeFile(t testing.TB) string {
	t.Helper()
	b, err := surfaceFile("bridge")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fileFor is the surface a recording was made against.
func fileFor(t testing.TB, scenario string) string {
	file := bridgeFile(t)
	advertise := ", advertise: [crm.read, crm.write]"
	switch scenario {
	case "no-scopes-anywhere":
		file = strings.ReplaceAll(file, advertise, "")
		file = strings.NewReplacer("    scopes: { list: [crm.read], get: [crm.read] }\n", "", "    scopes: { list: [crm.read] }\n", "",
			"    scopes: [crm.read]\n", "", "    scopes: [crm.write]\n", "").Replace(file)
	case "prm-without-scopes":
		file = strings.ReplaceAll(file, advertise, "")
	case "step-up-403": // the tool that is called needs more than was asked for at first
		file = strings.Replace(file, "list: [crm.read], get", "list: [crm.read, crm.write], get", 1)
	}
	return file
}

// player plays one recording against a bridge surface of its own.
type player struct {
	t        *testing.T
	w        *world
	p        *tenant
	recorded profile
	surface  string // its slug
	mcp      string // its URL
	who      *person
	vars     map[string]string
	meta     map[string]any // authorization server metadata, as the client read it
	secret   string         // of a confidential client
	broken   bool           // the first token was made unusable
	calls    int            // tool calls that answered with rows
}

func newPlayer(t *testing.T, w *world, p *tenant, surface string, recorded profile) *player {
	t.Helper()
	pl := &player{
		t: t, w: w, p: p, recorded: recorded, surface: surface, who: personOf(t, standin.AliceEmail, standin.CRMPassword),
		mcp: p.publishAs(surface, fileFor(t, recorded.Scenario)), meta: map[string]any{},
	}
	port := "43117"
	pl.vars = map[string]string{
		"{MCP}": strings.TrimPrefix(pl.mcp, w.url), "{RESOURCE}": pl.mcp, "{RESOURCE_Q}": url.QueryEscape(pl.mcp),
		"{ISSUER}": pl.mcp, "{ISSUER_Q}": url.QueryEscape(pl.mcp), "{PORT}": port, "{STATE}": "state-" + rand.Text(),
	}
	documents := clientDocuments(t, port)
	pl.vars["https://client.example.test"] = documents
	pl.vars["https%3A%2F%2Fclient.example.test"] = url.QueryEscape(documents)
	return pl
}

// clientDocuments serves the metadata document of a client at any path.
func clientDocuments(t *testing.T, port string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"client_id": "http://" + r.Host + r.URL.Path, "client_name": "Example client", "token_endpoint_auth_method": "none",
			"redirect_uris": []string{"http://127.0.0.1:" + port + "/callback", "http://localhost:" + port + "/oauth/callback",
				"http://127.0.0.1:" + port + "/oauth/callback", "http://127.0.0.1:6276/oauth/callback"},
			"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (pl *player) play() {
	for i, s := range pl.recorded.Steps {
		pl.before(s)
		if s.By == "browser" {
			pl.authorize(i, s)
			continue
		}
		pl.step(i, s)
	}
	if !strings.HasPrefix(pl.recorded.Outcome, "connected") {
		return
	}
	if !pl.hasCall() { // it only listed: the same token also calls
		r := sendRaw(pl.t, http.MethodPost, pl.mcp, pl.vars["{ACCESS_TOKEN}"], nil, listCustomers)
		pl.called(len(pl.recorded.Steps), []byte(r.body))
	}
	if pl.calls == 0 {
		pl.t.Error("the recording ends without a tool call that worked")
	}
}

// hasCall tells whether the client was recorded calling a tool.
func (pl *player) hasCall() bool {
	return slices.ContainsFunc(pl.recorded.Steps, func(s profileStep) bool { return strings.Contains(string(s.Body), `"tools/call"`) })
}

// before brings about what the recorded server did by itself: the answer of
// the step is a failure that somebody caused.
func (pl *player) before(s profileStep) {
	signedIn := s.Headers["Authorization"] != ""
	switch {
	case s.Status == http.StatusServiceUnavailable:
		pl.setState("paused", http.StatusServiceUnavailable)
	case s.Status == http.StatusInternalServerError:
		pl.p.FailNext("/auth/v1/oauth/token", http.StatusServiceUnavailable, "text/plain", "away")
	case s.Status == http.StatusUnauthorized && signedIn && !pl.broken:
		pl.broken = true
		pl.breakToken()
	}
}

// setState turns the surface's switch and waits until it shows.
func (pl *player) setState(state string, status int) {
	pl.p.must(http.MethodPut, "/projects/"+pl.p.slug+"/surfaces/"+pl.surface+"/state", map[string]string{"state": state})
	pl.w.await(pl.t, func() bool { return sendRaw(pl.t, http.MethodPost, pl.mcp, "", nil, "{}").status == status })
}

// breakToken makes the access token bad, and more where the recording had more
// go wrong.
func (pl *player) breakToken() {
	switch pl.recorded.Scenario {
	case "refresh-invalid-grant":
		pl.revokeGrants()
	case "refresh-invalid-client":
		pl.revokeGrants()
		pl.w.exec(pl.t, "delete from chumbo.oauth_clients where client_id = $1", pl.vars["{CLIENT_ID}"])
	case "refresh-500":
		pl.w.advance(pl.p, 70*time.Minute) // the project's token is over too
	default:
		pl.w.advance(pl.p, 11*time.Minute)
	}
}

func (pl *player) revokeGrants() {
	pl.w.exec(pl.t, `update chumbo.grants set revoked_at = now(), revoked_why = 'by_user' where revoked_at is null
		and surface_id = (select id from chumbo.surfaces where slug = $1)`, pl.surface)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	pl.w.await(pl.t, func() bool {
		return sendRaw(pl.t, http.MethodPost, pl.mcp, pl.vars["{ACCESS_TOKEN}"], nil, list).status == http.StatusUnauthorized
	})
}

func (pl *player) fill(text string) string {
	for {
		before := text
		for name, value := range pl.vars {
			text = strings.ReplaceAll(text, name, value)
		}
		if text == before {
			return text
		}
	}
}

// endpoint is where the metadata says that something is.
func (pl *player) endpoint(name string) string {
	value, _ := pl.meta[name].(string)
	if value == "" {
		pl.t.Fatalf("the client read no %s", name)
	}
	return value
}

// authorize is the browser's step: Alice signs in and allows.
func (pl *player) authorize(i int, s profileStep) {
	pl.t.Helper()
	verifier := oauth2.GenerateVerifier()
	pl.vars["{S256}"], pl.vars["{VERIFIER}"] = oauth2.S256ChallengeFromVerifier(verifier), verifier
	_, target, _ := strings.Cut(s.Request, " ")
	target = pl.fill(strings.Replace(target, "{AUTHORIZE}", pl.endpoint("authorization_endpoint"), 1))
	if u, err := url.Parse(target); err == nil {
		pl.vars["{CLIENT_ID}"] = u.Query().Get("client_id") // of a document too
	}
	back, err := pl.who.authorize(pl.t.Context(), target)
	if err != nil {
		pl.t.Fatalf("step %d: authorize: %v", i, err)
	}
	if back.Get("code") == "" || back.Get("iss") != pl.endpoint("issuer") {
		pl.t.Fatalf("step %d: back with %v", i, back)
	}
	if strings.Contains(target, "&state=") && back.Get("state") != pl.vars["{STATE}"] {
		pl.t.Fatalf("step %d: state %q", i, back.Get("state"))
	}
	pl.vars["{CODE}"] = back.Get("code")
}

// step sends a client's request exactly as it was, and judges the answer.
func (pl *player) step(i int, s profileStep) {
	pl.t.Helper()
	method, target, _ := strings.Cut(s.Request, " ")
	switch {
	case strings.HasPrefix(target, "{TOKEN}"):
		target = pl.endpoint("token_endpoint")
	case strings.HasPrefix(target, "{REGISTER}"):
		target = pl.endpoint("registration_endpoint")
	default:
		target = pl.w.url + pl.fill(target)
	}
	status, header, body := pl.send(method, target, s)
	if !sameStatus(status, s.Status) {
		pl.t.Fatalf("step %d: %s: %d, recorded %d: %s", i, s.Request, status, s.Status, body)
	}
	if status == http.StatusServiceUnavailable && strings.Contains(s.Request, "{MCP}") {
		pl.setState("live", http.StatusUnauthorized)
	}
	if s.Status == http.StatusInternalServerError {
		pl.w.advance(pl.p, 3*time.Second) // the project is asked again only after a pause
	}
	var document map[string]any
	_ = json.Unmarshal(body, &document)
	switch {
	case strings.Contains(s.Request, "oauth-authorization-server") || strings.Contains(s.Request, "openid-configuration"):
		if status == http.StatusOK {
			pl.meta = document
		}
	case strings.Contains(s.Request, "{REGISTER}"):
		pl.vars["{CLIENT_ID}"], _ = document["client_id"].(string)
		pl.secret, _ = document["client_secret"].(string)
	case strings.Contains(s.Request, "{TOKEN}") && status == http.StatusOK:
		if document["token_type"] != "Bearer" || header.Get("Cache-Control") != "no-store" {
			pl.t.Errorf("step %d: token answer %v %v", i, document, header)
		}
		pl.vars["{ACCESS_TOKEN}"], _ = document["access_token"].(string)
		pl.vars["{REFRESH_TOKEN}"], _ = document["refresh_token"].(string)
	case status == http.StatusOK && strings.Contains(string(s.Body), `"tools/call"`):
		pl.called(i, body)
	}
}

// sameStatus allows what no client tells apart: an error of the authorization
// server that is temporary.
func sameStatus(got, recorded int) bool {
	return got == recorded || got == http.StatusServiceUnavailable && recorded == http.StatusInternalServerError
}

// called looks for Alice's rows, and nobody else's.
func (pl *player) called(i int, body []byte) {
	pl.t.Helper()
	text := string(body)
	if !strings.Contains(text, "Acme") || strings.Contains(text, "Globex") || strings.Contains(text, `"isError":true`) {
		pl.t.Fatalf("step %d: the call answered %s", i, text)
	}
	pl.calls++
}

func (pl *player) send(method, target string, s profileStep) (int, http.Header, []byte) {
	pl.t.Helper()
	body := ""
	if len(s.Body) > 0 {
		if err := json.Unmarshal(s.Body, &body); err != nil {
			body = string(s.Body)
		}
	}
	ctx, cancel := context.WithTimeout(pl.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(pl.fill(body)))
	if err != nil {
		pl.t.Fatal(err)
	}
	for name, value := range s.Headers {
		if strings.HasPrefix(value, "Basic ") {
			value = "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(pl.vars["{CLIENT_ID}"])+":"+url.QueryEscape(pl.secret)))
		}
		req.Header.Set(name, pl.fill(value))
	}
	res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		pl.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if strings.Contains(string(s.Body), "subscriptions/listen") { // a stream: its beginning is enough
		return res.StatusCode, res.Header, nil
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		pl.t.Fatal(err)
	}
	return res.StatusCode, res.Header, answer
}
