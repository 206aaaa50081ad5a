package demo

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/oauth2"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// consentWorld is a project whose consent page is the one that chumbo consent
// wrote: the page at the app's own address, the function at the project's.
type consentWorld struct {
	*tenant

	t       *testing.T
	browser context.Context
	site    string // the app's own origin
	client  *mcpClient
}

// switched answers with what is put into it later.
type switched struct{ handler atomic.Pointer[http.Handler] }

func (s *switched) set(h http.Handler) { s.handler.Store(&h) }

func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := s.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}

func newConsentWorld(t *testing.T) *consentWorld {
	t.Helper()
	node := nodeProgram(t)
	ctx := browsertest.Open(t, 6*time.Minute)
	page, function := &switched{}, &switched{}
	site := httptest.NewServer(page)
	t.Cleanup(site.Close)
	w := newWorld(t)
	p := w.project(t, standin.Options{
		SiteURL: site.URL, Functions: map[string]http.Handler{"chumbo-consent": function}, OpenFunctions: []string{"chumbo-consent"},
	})
	c := &checkout{dir: t.TempDir(), env: map[string]string{"SUPABASE_URL": p.URL(), "SUPABASE_PUBLISHABLE_KEY": p.PublishableKey()}}
	c.write(t, "supabase/config.toml", "project_id = \"crm\"\n")
	c.chumbo(t, 0, "consent --title Acme --site-url "+site.URL, "wrote consent/index.html", site.URL+"/oauth/consent")
	page.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/consent" {
			http.ServeFile(w, r, filepath.Join(c.dir, "consent/index.html"))
			return
		}
		if r.URL.Path == "/framing" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<iframe src="/oauth/consent?` + r.URL.RawQuery + `" width="600" height="600"></iframe>`))
			return
		}
		http.NotFound(w, r)
	}))
	function.set(runFunction(t, node, filepath.Join(c.dir, "supabase/functions/chumbo-consent/index.ts"), p.URL(), site.URL))

	p.slug = "crm"
	p.builder = w.organization(t, "crm@example.test", "Acme builders")
	p.must(http.MethodPost, "/projects", registration(p, p.URL(), "crm"))
	p.importSchema()
	p.publish(demoFile(t))
	return &consentWorld{tenant: p, t: t, browser: ctx, site: site.URL, client: newMCPClient(t, p, "Claude")}
}

// runFunction runs the written Edge Function, and is the way to it.
func runFunction(t *testing.T, node, file, project, origin string) http.Handler {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, "--no-warnings", "testdata/edge.mjs", file)
	cmd.Env = append(os.Environ(), "SUPABASE_URL="+project, "CONSENT_ORIGIN="+origin)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the function does not start: %v", err)
	}
	return httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + strings.TrimSpace(port)})
}

// mcpClient is an MCP client that registered itself and waits for the answer
// of the person on a port of this machine.
type mcpClient struct {
	config   oauth2.Config
	verifier string
	back     chan url.Values
}

func newMCPClient(t *testing.T, p *tenant, name string) *mcpClient {
	t.Helper()
	c := &mcpClient{back: make(chan url.Values, 4)}
	callback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			c.back <- r.URL.Query()
		}
		_, _ = w.Write([]byte("<!doctype html><title>Back</title><p>You can close this window."))
	}))
	t.Cleanup(callback.Close)
	var made struct {
		ClientID string `json:"client_id"`
	}
	postJSON(t, p.Issuer()+"/oauth/clients/register", map[string]any{
		"client_name": name, "redirect_uris": []string{callback.URL + "/callback"}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"},
	}, &made)
	c.config = oauth2.Config{
		ClientID: made.ClientID, RedirectURL: callback.URL + "/callback", Scopes: []string{"openid", "email"},
		Endpoint: oauth2.Endpoint{AuthURL: p.Issuer() + "/oauth/authorize", TokenURL: p.Issuer() + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams},
	}
	return c
}

// begin is where the client sends the person.
func (c *mcpClient) begin() string {
	c.verifier = oauth2.GenerateVerifier()
	return c.config.AuthCodeURL("s-1", oauth2.S256ChallengeOption(c.verifier))
}

// answer waits for the person's answer.
func (c *mcpClient) answer(t *testing.T) url.Values {
	t.Helper()
	select {
	case q := <-c.back:
		if q.Get("state") != "s-1" {
			t.Fatalf("another state: %v", q)
		}
		return q
	case <-time.After(30 * time.Second):
		t.Fatal("nobody came back to the client")
		return nil
	}
}

// exchange turns the answer into tokens.
func (c *mcpClient) exchange(t *testing.T, answer url.Values) *oauth2.Token {
	t.Helper()
	token, err := c.config.Exchange(t.Context(), answer.Get("code"), oauth2.VerifierOption(c.verifier))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// open opens an address and waits for the page's script.
func (w *consentWorld) open(t *testing.T, address string) {
	t.Helper()
	// The client has its answer while the browser still loads the page that
	// thanks for it: that load ends with ours, and may be taken for it.
	err := chromedp.Do(w.browser, chromedp.Navigate(address))
	for range 3 {
		if err == nil || !strings.Contains(err.Error(), "net::ERR_ABORTED") {
			break
		}
		err = chromedp.Do(w.browser, chromedp.Sleep(browserTick), chromedp.Navigate(address))
	}
	if err != nil {
		t.Fatal(err)
	}
	w.shows(t, "sign-in")
}

// shows waits until the page shows a section, and returns what it says.
func (w *consentWorld) shows(t *testing.T, section string) string {
	t.Helper()
	visible := `!!document.querySelector("#` + section + `:not([hidden])") && document.title !== "Answer an AI app"`
	for range 400 {
		if look(t, w.browser, chromedp.Evaluate[bool](visible)) {
			return look(t, w.browser, chromedp.Text("main"))
		}
		act(t, w.browser, chromedp.Sleep(browserTick))
	}
	t.Fatalf("the page does not show %s:\n%s", section, look(t, w.browser, chromedp.Text("body")))
	return ""
}

// signsIn fills in the form with the keyboard, from the field that has the
// focus.
func (w *consentWorld) signsIn(t *testing.T, email, password string) {
	t.Helper()
	act(t, w.browser, chromedp.KeyEvent(email+"\t"+password+"\r"))
}

// focused says where the keyboard is.
func (w *consentWorld) focused(t *testing.T) string {
	t.Helper()
	return look(t, w.browser, chromedp.Evaluate[string](`document.activeElement.id || document.activeElement.textContent.trim()`))
}

// tabTo presses Tab until an element has the focus.
func (w *consentWorld) tabTo(t *testing.T, id string) {
	t.Helper()
	for range 12 {
		if w.focused(t) == id {
			return
		}
		act(t, w.browser, chromedp.KeyEvent("\t"))
	}
	t.Fatalf("the keyboard does not reach %s", id)
}

// detailsAsked counts how often Auth was asked what an authorization asks for.
func (w *consentWorld) detailsAsked() int {
	n := 0
	for _, r := range w.RequestsTo("/auth/v1/oauth/authorizations/") {
		if r.Method == http.MethodGet {
			n++
		}
	}
	return n
}

// browserTick is between two looks at a page that is on its way.
const browserTick = 25 * time.Millisecond
