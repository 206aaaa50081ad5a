package bridge

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/egress"
)

func strictDocuments() *egress.Client { return egress.New(egress.Policy{}) }

// assertion is a client's assertion, good but for what change says.
func assertion(t testing.TB, key jose.JSONWebKey, now time.Time, clientID, audience string, change map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": clientID, "sub": clientID, "aud": audience, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": newSecret().Reveal(),
	}
	maps.Copy(claims, change)
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func basic(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
}

func TestClientsAreReadAsTheyIntroduceThemselves(t *testing.T) {
	t.Parallel()
	document := "https://claude.ai/oauth/claude-code-client-metadata"
	for name, c := range map[string]struct {
		header string
		form   string
		id     string
		secret string
		code   string // of the refusal
	}{
		"id in the body":               {"", "client_id=chc_a", "chc_a", "", ""},
		"secret in the body":           {"", "client_id=chc_a&client_secret=s", "chc_a", "s", ""},
		"Basic":                        {basic("chc_a", "s"), "", "chc_a", "s", ""},
		"Basic in small letters":       {strings.Replace(basic("chc_a", "s"), "Basic", "basic", 1), "", "chc_a", "s", ""},
		"Basic with an empty secret":   {basic("chc_a", ""), "", "chc_a", "", ""},
		"Basic, encoded URL":           {basic(url.QueryEscape(document), ""), "", document, "", ""},
		"Basic, URL as it is":          {basic(document, ""), "", document, "", ""},
		"Basic without padding":        {strings.TrimRight(basic("chc_ab", "s"), "="), "", "chc_ab", "s", ""},
		"Basic, encoded secret":        {basic("chc_a", "a%2Bb%3A"), "", "chc_a", "a+b:", ""},
		"Basic, secret as it is":       {basic("chc_a", "a+b:c"), "", "chc_a", "a+b:c", ""},
		"the same id twice":            {basic("chc_a", "s"), "client_id=chc_a", "chc_a", "s", ""},
		"empty secret in the body":     {basic("chc_a", "s"), "client_id=chc_a&client_secret=", "chc_a", "s", ""},
		"two ids":                      {basic("chc_a", "s"), "client_id=chc_b", "", "", "invalid_request"},
		"two secrets":                  {basic("chc_a", "s"), "client_secret=s", "", "", "invalid_request"},
		"secret and assertion":         {"", "client_id=a&client_secret=s&client_assertion=x&client_assertion_type=" + url.QueryEscape(assertionType), "", "", "invalid_request"},
		"assertion of another type":    {"", "client_id=a&client_assertion=x&client_assertion_type=saml", "", "", "invalid_request"},
		"assertion without its type":   {"", "client_id=a&client_assertion=x", "", "", "invalid_request"},
		"nobody":                       {"", "", "", "", "invalid_request"},
		"no base64":                    {"Basic !!!", "", "", "", "invalid_request"},
		"no colon":                     {"Basic " + base64.StdEncoding.EncodeToString([]byte("abc")), "client_id=abc", "", "", "invalid_request"},
		"nothing before the colon":     {basic("", "s"), "", "", "", "invalid_request"},
		"another scheme is not for us": {"Bearer abc", "client_id=chc_a", "chc_a", "", ""},
	} {
		h := http.Header{}
		if c.header != "" {
			h.Set("Authorization", c.header)
		}
		form, err := url.ParseQuery(c.form)
		if err != nil {
			t.Fatal(err)
		}
		p, err := readClient(h, form)
		var refused *tokenError
		if errors.As(err, &refused) != (c.code != "") || refused != nil && refused.code != c.code {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
		if err == nil && (p.id != c.id || p.secret.Reveal() != c.secret) {
			t.Errorf("%s: id %q secret %q", name, p.id, p.secret.Reveal())
		}
	}
}

// authenticated tries a client's proof at the token endpoint; the code is ""
// when it was taken.
func (w *world) authenticated(t testing.TB, form url.Values, header ...string) (code string, status int, challenged bool) {
	t.Helper()
	form.Set("grant_type", "made_up") // what comes after the proof
	rec := w.post(t, w.ep, "/oauth/token", form, header...)
	answer := decoded[map[string]string](t, rec, rec.Code)
	if answer["error"] == "unsupported_grant_type" {
		return "", rec.Code, false
	}
	return answer["error"], rec.Code, rec.Header().Get("WWW-Authenticate") != ""
}

func TestField27_ClientsThatAreGoneOrWrongAre401(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	public := decoded[registration](t, w.register(t, w.ep, cursorRegistration), 201)
	secret := decoded[registration](t, w.register(t, w.ep, `{"redirect_uris":["https://a.example.test/cb"],"token_endpoint_auth_method":"client_secret_post"}`), 201)
	other := decoded[registration](t, w.register(t, w.ep, `{"redirect_uris":["https://a.example.test/cb"],"token_endpoint_auth_method":"client_secret_post"}`), 201)
	for name, c := range map[string]struct {
		form       url.Values
		header     string
		code       string
		challenged bool
	}{
		"public":                     {url.Values{"client_id": {public.ClientID}}, "", "", false},
		"public, Basic, no secret":   {url.Values{}, basic(public.ClientID, ""), "", false},
		"public with a stray secret": {url.Values{"client_id": {public.ClientID}, "client_secret": {"stray"}}, "", "", false},
		"secret in the body":         {url.Values{"client_id": {secret.ClientID}, "client_secret": {secret.Secret}}, "", "", false},
		"secret in the header":       {url.Values{}, basic(secret.ClientID, secret.Secret), "", false},
		"no secret":                  {url.Values{"client_id": {secret.ClientID}}, "", "invalid_client", false},
		"empty secret in the header": {url.Values{}, basic(secret.ClientID, ""), "invalid_client", true},
		"wrong secret":               {url.Values{"client_id": {secret.ClientID}, "client_secret": {"wrong"}}, "", "invalid_client", false},
		"somebody else's secret":     {url.Values{"client_id": {secret.ClientID}, "client_secret": {other.Secret}}, "", "invalid_client", false},
		"unknown":                    {url.Values{"client_id": {"chc_gone"}}, "", "invalid_client", false},
		"unknown in the header":      {url.Values{}, basic("chc_gone", "s"), "invalid_client", true},
		"a document never seen":      {url.Values{"client_id": {"https://app.example.test/client.json"}}, "", "invalid_client", false},
		"NUL":                        {url.Values{"client_id": {"a\x00b"}}, "", "invalid_client", false},
	} {
		var header []string
		if c.header != "" {
			header = []string{"Authorization", c.header}
		}
		code, status, challenged := w.authenticated(t, c.form, header...)
		if code != c.code || challenged != c.challenged || (code == "invalid_client") != (status == http.StatusUnauthorized) {
			t.Errorf("%s: %q %d %v", name, code, status, challenged)
		}
	}
	if logs := w.logs.String(); strings.Contains(logs, secret.Secret) || strings.Contains(logs, "stray") {
		t.Error("a secret is in the log")
	}
}

func TestAssertionsAreOfTheClientForUsAndGoodOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, public := keyPair(t, "k1")
	stranger, _ := keyPair(t, "k1")
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})
	if err != nil {
		t.Fatal(err)
	}
	r := decoded[registration](t, w.register(t, w.ep, `{"redirect_uris":["https://a.example.test/cb"],"token_endpoint_auth_method":"private_key_jwt","jwks":`+string(keys)+`}`), 201)
	issuer, now := w.ep.Resource.URL(), w.clock.Now()
	try := func(text string, withID bool) string {
		form := url.Values{"client_assertion_type": {assertionType}, "client_assertion": {text}}
		if withID {
			form.Set("client_id", r.ClientID)
		}
		code, _, _ := w.authenticated(t, form)
		return code
	}
	for name, c := range map[string]struct {
		key    jose.JSONWebKey
		change map[string]any
		want   string
	}{
		"good":                       {key, nil, ""},
		"for the token endpoint":     {key, map[string]any{"aud": issuer + "/oauth/token"}, ""},
		"for several":                {key, map[string]any{"aud": []string{"https://other.example.test", issuer}}, ""},
		"fraction in a time":         {key, map[string]any{"exp": float64(now.Add(time.Minute).Unix()) + 0.5}, ""},
		"for another server":         {key, map[string]any{"aud": "https://other.example.test"}, "invalid_client"},
		"for another of our issuers": {key, map[string]any{"aud": publicURL + "/globex/mcp"}, "invalid_client"},
		"for nobody":                 {key, map[string]any{"aud": nil}, "invalid_client"},
		"of another issuer":          {key, map[string]any{"iss": "other"}, "invalid_client"},
		"of another key":             {stranger, nil, "invalid_client"},
		"expired":                    {key, map[string]any{"exp": now.Add(-31 * time.Second).Unix()}, "invalid_client"},
		"within the skew":            {key, map[string]any{"exp": now.Add(-29 * time.Second).Unix()}, ""},
		"without an end":             {key, map[string]any{"exp": nil}, "invalid_client"},
		"good for an hour":           {key, map[string]any{"exp": now.Add(time.Hour).Unix()}, "invalid_client"},
		"of tomorrow":                {key, map[string]any{"nbf": now.Add(time.Minute).Unix()}, "invalid_client"},
		"without jti":                {key, map[string]any{"jti": nil}, "invalid_client"},
		"with a long jti":            {key, map[string]any{"jti": strings.Repeat("x", 300)}, "invalid_client"},
		"claims of another type":     {key, map[string]any{"exp": "soon"}, "invalid_client"},
	} {
		if got := try(assertion(t, c.key, now, r.ClientID, issuer, c.change), true); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := try(assertion(t, key, now, r.ClientID, issuer, nil), false); got != "" {
		t.Errorf("without client_id: %q", got)
	}
	if got := try("x.y.z", true); got != "invalid_client" {
		t.Errorf("garbage: %q", got)
	}
	if code, _, _ := w.authenticated(t, url.Values{"client_id": {r.ClientID}}); code != "invalid_client" {
		t.Errorf("nothing to prove it: %q", code)
	}
	once := assertion(t, key, now, r.ClientID, issuer, nil)
	var taken atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if try(once, true) == "" {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if n := taken.Load(); n != 1 {
		t.Errorf("one assertion was taken %d times", n)
	}
}

func TestOneAssertionIsNotSpentByAnotherClientsOfTheSameName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	globex := w.surface(t, w.member(t, "bob@example.test", "Globex"), w.project, "globex", "main", nil)
	for _, ep := range []string{"acme", "globex"} {
		at := w.ep
		if ep == "globex" {
			at = globex
		}
		if err := w.service.useAssertion(t.Context(), at, &Client{ID: "same"}, "jti", w.clock.Now().Add(time.Minute)); err != nil {
			t.Errorf("%s: %v", ep, err)
		}
	}
	if err := w.service.useAssertion(t.Context(), w.ep, &Client{ID: "other"}, "jti", w.clock.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	if err := w.service.useAssertion(t.Context(), w.ep, &Client{ID: "same"}, "jti", w.clock.Now().Add(time.Minute)); err == nil {
		t.Error("used twice")
	}
}

func FuzzBasicHeader(f *testing.F) {
	f.Add("Basic " + base64.StdEncoding.EncodeToString([]byte("chc_a:s")))
	f.Add(basic("https://claude.ai/x", ""))
	f.Add(basic("https%3A%2F%2Fclaude.ai%2Fx", "%zz"))
	f.Add("Basic")
	f.Add("basic  Og==")
	f.Fuzz(func(t *testing.T, header string) {
		id, secret, found, err := readBasic(http.Header{"Authorization": {header}})
		if err != nil && (!found || id != "" || !secret.IsZero()) {
			t.Errorf("%q: %v, %q", header, err, id)
		}
		if err == nil && found && id == "" {
			t.Errorf("%q: nobody", header)
		}
		_, _ = readClient(http.Header{"Authorization": {header}}, url.Values{"client_id": {"chc_a"}})
		_ = assertedClient(header)
	})
}
