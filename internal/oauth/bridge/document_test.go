package bridge

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// site serves a client's metadata document and its keys.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	body   string
	status int
	header http.Header
	keys   string
	reads  atomic.Int32
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{status: http.StatusOK, header: http.Header{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reads.Add(1)
		for name := range s.header {
			w.Header().Set(name, s.header.Get(name))
		}
		if r.URL.Path == "/jwks.json" {
			_, _ = w.Write([]byte(s.keys))
			return
		}
		w.WriteHeader(s.status)
		_, _ = w.Write([]byte(strings.ReplaceAll(s.body, "{site}", s.URL)))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) serve(status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body = status, body
}

func (s *site) publish(t testing.TB, keys ...jose.JSONWebKey) {
	t.Helper()
	document, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = string(document)
}

func (s *site) id() string { return s.URL + "/client.json" }

const claudeDocument = `{"client_id":"{site}/client.json","client_name":"Claude Code","redirect_uris":["http://localhost/callback","http://127.0.0.1/callback"],
	"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`

func TestField35_AClientIsTheURLOfItsDocument(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), newSite(t)
	s.serve(200, claudeDocument)
	c, err := w.service.client(t.Context(), w.ep, s.id())
	if err != nil || !c.Document || c.ID != s.id() || c.Name != "Claude Code" || !c.firstSeen || !c.accepts(authNone) || !c.redirectsTo("http://localhost:54321/callback") || c.redirectsTo("http://localhost:54321/other") {
		t.Fatalf("%+v, %v", c, err)
	}
	for range 5 {
		if c, err := w.replica(t).service.client(t.Context(), w.ep, s.id()); err != nil || c.firstSeen {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if n := s.reads.Load(); n != 1 {
		t.Errorf("%d readings within the hour", n)
	}
}

func TestDocumentsAreKeptAsTheirCacheControlSaysWithinBounds(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"": time.Hour, "max-age=7200": 2 * time.Hour, "public, MAX-AGE=600": 10 * time.Minute, "max-age=1": 5 * time.Minute, "no-store": 5 * time.Minute, "no-cache, max-age=9000": 5 * time.Minute,
		"max-age=99999999": 24 * time.Hour, "max-age=x": time.Hour, "max-age=-5": 5 * time.Minute, `max-age="1200"`: 20 * time.Minute, "max-age=9999999999999999999999": time.Hour,
	} {
		if got := freshness(http.Header{"Cache-Control": {value}}); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func TestDocumentsServeOnWhileTheyCannotBeRead(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), newSite(t)
	s.serve(200, claudeDocument)
	find := func() (*Client, error) { return w.service.client(t.Context(), w.ep, s.id()) }
	if _, err := find(); err != nil {
		t.Fatal(err)
	}
	for _, answer := range []struct {
		status int
		body   string
	}{{200, "<html>"}, {404, "{}"}, {500, "{}"}, {301, ""}, {200, `{"client_id":"https://other.example.test/client.json"}`}} {
		s.serve(answer.status, answer.body)
		w.clock.Advance(2 * time.Hour)
		before := s.reads.Load()
		for range 3 {
			if c, err := find(); err != nil || !c.redirectsTo("http://127.0.0.1:1/callback") {
				t.Errorf("%v: %v", answer, err)
			}
		}
		if n := s.reads.Load() - before; n != 1 {
			t.Errorf("%v: %d readings for three that ask", answer, n)
		}
	}
	s.serve(200, strings.Replace(claudeDocument, "http://127.0.0.1/callback", "https://new.example.test/cb", 1))
	w.clock.Advance(documentRetry)
	if c, err := find(); err != nil || !c.redirectsTo("https://new.example.test/cb") || c.redirectsTo("http://127.0.0.1/callback") {
		t.Errorf("the new document does not count: %+v %v", c, err)
	}
	s.serve(404, "")
	w.clock.Advance(31 * 24 * time.Hour)
	if _, err := find(); !fault.Is(err, fault.NotFound) {
		t.Errorf("gone for a month: %v", err)
	}
	s.serve(503, "")
	if _, err := find(); !fault.Is(err, fault.Unavailable) {
		t.Errorf("away for a month: %v", err)
	}
}

func TestManyThatAskShareOneReading(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), newSite(t)
	s.serve(200, claudeDocument)
	s.mu.Lock() // so that the first reading is still on its way when the others come
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, err := w.service.client(t.Context(), w.ep, s.id()); err != nil {
				t.Error(err)
			}
		})
	}
	s.mu.Unlock()
	wg.Wait()
	if n := s.reads.Load(); n > 2 { // one that came late may read what was just read
		t.Errorf("%d readings", n)
	}
}

func TestDocumentsThatCannotBeUsedAreRefusedAndSayWhy(t *testing.T) {
	t.Parallel()
	id := "https://app.example.test/client.json"
	with := func(rest string) string {
		return `{"client_id":"` + id + `","redirect_uris":["https://app.example.test/cb"]` + rest + `}`
	}
	for body, says := range map[string]string{
		"": "JSON", "[]": "JSON", "null": "JSON",
		`{"client_id":"https://app.example.test/client.json/","redirect_uris":["https://app.example.test/cb"]}`: "client_id",
		`{"client_id":"HTTPS://app.example.test/client.json","redirect_uris":["https://app.example.test/cb"]}`:  "client_id",
		`{"CLIENT_ID":"` + id + `","redirect_uris":["https://app.example.test/cb"]}`:                            "client_id",
		`{"redirect_uris":["https://app.example.test/cb"]}`:                                                     "client_id",
		`{"client_id":7}`:            "client_id",
		`{"client_id":"` + id + `"}`: "redirect_uris",
		`{"client_id":"` + id + `","redirect_uris":["javascript:alert(1)"]}`:                            "redirect_uris",
		with(`,"client_secret":"hunter2"`):                                                              "client_secret",
		with(`,"token_endpoint_auth_method":"client_secret_post"`):                                      "client authentication",
		with(`,"token_endpoint_auth_method":"client_secret_basic","jwks":{"keys":[]}`):                  "client authentication",
		with(`,"token_endpoint_auth_method":"private_key_jwt"`):                                         "client authentication",
		with(`,"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"http://evil.example.test/k"`): "client authentication",
	} {
		if _, _, err := parseDocument([]byte(body), id); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", body, err, says)
		}
	}
}

func TestDocumentsThatListNoneBesideAnotherMethodAreTaken(t *testing.T) {
	t.Parallel()
	id := "https://chatgpt.com/oauth/client.json"
	for rest, want := range map[string]string{
		``:                                     "none",
		`,"token_endpoint_auth_method":"none"`: "none",
		`,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["none","private_key_jwt"],"jwks_uri":"https://chatgpt.com/oauth/jwks.json"`: "private_key_jwt none",
		`,"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://chatgpt.com/oauth/jwks.json"`:                                                                    "private_key_jwt",
		`,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["none"]`:                                                                    "none",
		`,"token_endpoint_auth_method":"client_secret_post","token_endpoint_auth_methods_supported":["none","client_secret_post"]`:                                            "none",
		`,"token_endpoint_auth_method":null,"client_secret":null`:                                                                                                             "none",
	} {
		body := `{"client_id":"` + id + `","client_name":"ChatGPT","redirect_uris":["https://chatgpt.com/connector_platform_oauth_redirect","http://evil.example.test/"]` + rest + `}`
		c, _, err := parseDocument([]byte(body), id)
		if err != nil || strings.Join(c.AuthMethods, " ") != want || len(c.RedirectURIs) != 1 {
			t.Errorf("%s: %+v, %v", rest, c, err)
		}
	}
}

func TestField83_DocumentsAreNeverReadFromInside(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"http://app.example.test/client.json", "https://app.example.test", "https://app.example.test/", "https://u@app.example.test/c", "https://app.example.test/c#x",
		"https://app.example.test/a/../c", "https://app.example.test/./c", "https://app.example.test/%2e%2E/c", "https:///c", "https:app.example.test/c", "ftp://app.example.test/c",
		"https://app.example.test\\@evil.example.test/c", "https://app.example.test/c d", "https://app.example.test:x/c", "chc_abc", "", "javascript:alert(1)",
		"https://app.example.test/" + strings.Repeat("a", maxClientID),
	} {
		if looksLikeDocument(id) {
			t.Errorf("%q is a document's URL", id)
		}
	}
	if !looksLikeDocument("https://app.example.test/client.json?v=2") || !looksLikeDocument("http://127.0.0.1:8080/client.json") {
		t.Error("good URLs are not taken")
	}
	w := newWorld(t, func(o *worldOptions) {
		o.instance = func(c *Config) { c.Documents = strictDocuments() }
	})
	s := newSite(t)
	s.serve(200, claudeDocument)
	for _, id := range []string{s.id(), "https://169.254.169.254/latest/meta-data", "https://[::ffff:10.0.0.1]/client.json", "https://10.0.0.1/client.json"} {
		if _, err := w.service.client(t.Context(), w.ep, id); err == nil {
			t.Errorf("%s was read", id)
		}
	}
	if s.reads.Load() != 0 {
		t.Error("a loopback address was reached")
	}

	// An address outside that sends on, inside or to a document that would do.
	w = newWorld(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		away := newSite(t)
		away.header.Set("Location", s.id())
		away.serve(status, claudeDocument)
		if _, err := w.service.client(t.Context(), w.ep, away.id()); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%d: %v", status, err)
		}
		if away.reads.Load() == 0 || s.reads.Load() != 0 {
			t.Errorf("%d: read %d times, and %d where it leads", status, away.reads.Load(), s.reads.Load())
		}
	}
}

func TestDocumentsOverTheSizeLimitAreRefused(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), newSite(t)
	s.serve(200, strings.Replace(claudeDocument, `"Claude Code"`, `"`+strings.Repeat("x", documentBytes)+`"`, 1))
	if _, err := w.service.client(t.Context(), w.ep, s.id()); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
}

func TestDocumentsAreKeptPerSurface(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), newSite(t)
	globex := w.surface(t, w.member(t, "bob@example.test", "Globex"), w.project, "globex", "main", nil)
	s.serve(200, claudeDocument)
	if _, err := w.service.client(t.Context(), w.ep, s.id()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.knownClient(t.Context(), globex, s.id()); !fault.Is(err, fault.NotFound) {
		t.Errorf("known at a surface where it never was: %v", err)
	}
	s.serve(200, strings.Replace(claudeDocument, "Claude Code", "Other", 1))
	if c, err := w.service.client(t.Context(), globex, s.id()); err != nil || c.Name != "Other" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := w.service.client(t.Context(), w.ep, s.id()); err != nil || c.Name != "Claude Code" {
		t.Errorf("%+v, %v", c, err)
	}
}

// keyPair is a client's key and its public part.
func keyPair(t testing.TB, kid string) (jose.JSONWebKey, jose.JSONWebKey) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := jose.JSONWebKey{Key: private, KeyID: kid, Algorithm: "ES256"}
	return key, key.Public()
}

func TestRotatedClientKeysAreFoundWithoutReadingForEveryMadeUpOne(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), newSite(t)
	s.serve(200, strings.Replace(claudeDocument, `"token_endpoint_auth_method":"none"`, `"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"{site}/jwks.json"`, 1))
	first, firstPublic := keyPair(t, "one")
	second, secondPublic := keyPair(t, "two")
	s.publish(t, firstPublic)
	if _, err := w.service.client(t.Context(), w.ep, s.id()); err != nil {
		t.Fatal(err)
	}
	try := func(key jose.JSONWebKey) error {
		c, err := w.service.knownClient(t.Context(), w.ep, s.id())
		if err != nil {
			t.Fatal(err)
		}
		return w.service.checkAssertion(t.Context(), w.ep, c, seal.NewSecret(assertion(t, key, w.clock.Now(), s.id(), w.ep.Resource.URL(), nil)), tokenURL(w.ep))
	}
	if err := try(first); err != nil {
		t.Fatalf("the first key: %v", err)
	}
	s.publish(t, secondPublic)
	before := s.reads.Load()
	if err := try(second); err == nil {
		t.Error("a key that was not read yet, within the floor")
	}
	w.clock.Advance(clientKeysFloor)
	if err := try(second); err != nil {
		t.Errorf("the second key: %v", err)
	}
	if err := try(first); err == nil {
		t.Error("the withdrawn key is still taken")
	}
	made, _ := keyPair(t, "made-up")
	for range 5 {
		if try(made) == nil {
			t.Fatal("a made-up key is taken")
		}
	}
	if n := s.reads.Load() - before; n != 1 {
		t.Errorf("%d readings", n)
	}
}

func TestKeySetsThatCannotBeReadAreNotAskedForWithoutEnd(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), newSite(t)
	s.serve(200, strings.Replace(claudeDocument, `"token_endpoint_auth_method":"none"`, `"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"{site}/jwks.json"`, 1))
	if _, err := w.service.client(t.Context(), w.ep, s.id()); err != nil {
		t.Fatal(err)
	}
	key, _ := keyPair(t, "one")
	before := s.reads.Load()
	for range 12 {
		form := url.Values{"client_id": {s.id()}, "client_assertion_type": {assertionType}, "client_assertion": {assertion(t, key, w.clock.Now(), s.id(), w.ep.Resource.URL(), nil)}}
		if code, status, _ := w.authenticated(t, form); code != "temporarily_unavailable" || status != http.StatusServiceUnavailable {
			t.Errorf("%s %d", code, status)
		}
	}
	if n := s.reads.Load() - before; n != clientKeysTries {
		t.Errorf("%d readings", n)
	}
}

func FuzzDocument(f *testing.F) {
	id := "https://app.example.test/client.json"
	f.Add([]byte(strings.ReplaceAll(claudeDocument, "{site}", "https://app.example.test")))
	f.Add([]byte(`{"client_id":"` + id + `","redirect_uris":["https://a.example.test/cb","javascript:1"],"jwks":{"keys":[{"kty":"RSA","kid":"a"}]},"token_endpoint_auth_methods_supported":["none",7]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, metadata, err := parseDocument(body, id)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%v", err)
			}
			return
		}
		if c.ID != id || len(c.RedirectURIs) == 0 || len(c.AuthMethods) == 0 || !json.Valid(metadata) || strings.Contains(string(metadata), `\u0000`) {
			t.Errorf("%+v %s", c, metadata)
		}
		for _, uri := range c.RedirectURIs {
			if redirectProblem(uri) != "" {
				t.Errorf("%q is kept", uri)
			}
		}
	})
}
