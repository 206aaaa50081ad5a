package standin

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// transcript is one recorded exchange with a real Auth. Ids, tokens and codes
// in it are placeholders.
type transcript struct {
	Case    string `json:"case"`
	Via     string `json:"via"`
	Request struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    any               `json:"body"`
	} `json:"request"`
	Response *struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    any               `json:"body"`
	} `json:"response"`
	DecodedJWTs map[string]struct {
		Header  map[string]any `json:"header"`
		Payload map[string]any `json:"payload"`
	} `json:"decoded_jwts"`
	Subject   string `json:"subject"`
	Link      string `json:"link"`
	HookInput any    `json:"hook_input"`
}

// outOfScope are the recorded cases that are not replayed.
var outOfScope = map[string]string{
	"m64-enroll-phone-without-number":   phoneIsOff,
	"m65-enroll-phone":                  phoneIsOff,
	"m66-challenge-phone":               phoneIsOff,
	"m67-challenge-phone-too-soon":      phoneIsOff,
	"m68-enroll-webauthn":               webauthnIsOff,
	"m69-challenge-webauthn-unverified": webauthnIsOff,
	"m70-verify-phone-code":             phoneIsOff,
	"m71-phone-otp":                     phoneIsOff,
	"m72-phone-verify-wrong":            phoneIsOff,
	"m73-phone-verify":                  phoneIsOff,
	"m74-settings-phone-on":             phoneIsOff,
	"m89-captcha-provider-request":      "the stand-in's captcha provider is a function, not a server",
	"m160-sso-unknown-domain":           ssoIsOff,
	"m160b-sso-unknown-provider":        ssoIsOff,
	"m160c-sso-neither":                 ssoIsOff,
	"m161-sso-domain":                   ssoIsOff,
	"m161b-sso-domain-redirect":         ssoIsOff,
	"m162-settings-saml-on":             ssoIsOff,
}

const (
	phoneIsOff    = "phones are always off in the stand-in"
	webauthnIsOff = "WebAuthn is always off in the stand-in"
	ssoIsOff      = "SAML is always off in the stand-in"
)

// knownDifferences are cases that are replayed and may disagree, each with why.
var knownDifferences = map[string]string{}

// TestTranscriptsAgree replays what a real Auth answered, in the order in which
// it was recorded, and compares status, headers and body.
func TestTranscriptsAgree(t *testing.T) {
	t.Parallel()
	rp := newReplay(t)
	agree, all := 0, 0
	for _, c := range readTranscripts(t) {
		if why, left := outOfScope[c.Case]; left {
			t.Logf("left out: %s: %s", c.Case, why)
			continue
		}
		all++
		problems := rp.play(c)
		switch {
		case len(problems) == 0:
			agree++
		case knownDifferences[c.Case] != "":
			t.Logf("differs: %s: %s", c.Case, knownDifferences[c.Case])
		default:
			t.Errorf("%s:\n  %s", c.Case, strings.Join(problems, "\n  "))
		}
	}
	t.Logf("transcripts: %d of %d agree", agree, all)
}

func readTranscripts(t *testing.T) []transcript {
	t.Helper()
	files, err := filepath.Glob("testdata/transcripts/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	// Alice and Bob signed up before everything else.
	slices.SortFunc(files, func(x, y string) int {
		first := func(name string) int {
			if strings.Contains(name, "/g01") {
				return 0
			}
			return 1
		}
		if d := first(x) - first(y); d != 0 {
			return d
		}
		return compareCases(caseOf(x), caseOf(y))
	})
	var all []transcript
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c transcript
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, c)
	}
	return all
}

func caseOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".json") }

// compareCases puts a series in the order of its numbers: m20, m20b, m100.
func compareCases(x, y string) int {
	number := func(name string) (n int, rest string) {
		digits := 0
		for digits < len(name)-1 && name[1+digits] >= '0' && name[1+digits] <= '9' {
			n = 10*n + int(name[1+digits]-'0')
			digits++
		}
		return n, name[1+digits:]
	}
	if x[0] != y[0] {
		return strings.Compare(x[:1], y[:1])
	}
	nx, restX := number(x)
	ny, restY := number(y)
	return cmp.Or(nx-ny, strings.Compare(restX, restY))
}

// replay is the live world of the transcripts and what their placeholders
// stand for in it.
type replay struct {
	*authWorld
	vars    map[string]string // placeholder -> live value
	session map[string]tokens // kept between cases by name
	address string            // sent as the client's address
	hooked  map[string]any    // last input of the access token hook
	special map[string]func() []string
	before  map[string]func()
}

func (rp *replay) play(c transcript) []string {
	if strings.HasPrefix(c.Case, "m") { // these use one name for many values
		for _, name := range reusedNames {
			delete(rp.vars, name)
		}
	}
	if prepare := rp.before[c.Case]; prepare != nil {
		prepare()
	}
	if special := rp.special[c.Case]; special != nil {
		return special()
	}
	switch {
	case c.Link != "":
		mail := rp.lastMail()
		if c.Subject != "" && c.Subject != mail.Subject {
			return []string{fmt.Sprintf("subject %q, want %q", mail.Subject, c.Subject)}
		}
		return rp.match("link", c.Link, mail.Link)
	case c.HookInput != nil:
		return rp.match("hook_input", c.HookInput, rp.hooked)
	case c.Response == nil:
		return []string{"nothing to compare"}
	}
	res, raw := rp.request(c)
	problems := rp.compareHeaders(c, res)
	if res.StatusCode != c.Response.Status {
		problems = append(problems, fmt.Sprintf("status %d, want %d: %s", res.StatusCode, c.Response.Status, raw))
	}
	problems = append(problems, rp.compareBody(c.Response.Body, raw)...)
	for _, placeholder := range slices.Sorted(maps.Keys(c.DecodedJWTs)) {
		want := c.DecodedJWTs[placeholder]
		header, claims := decodeToken(rp.vars[placeholder])
		problems = append(problems, rp.match(placeholder+" header", want.Header, header)...)
		problems = append(problems, rp.match(placeholder+" claims", want.Payload, claims)...)
		problems = append(problems, sameLifetime(placeholder, want.Payload, claims)...)
	}
	return problems
}

func (rp *replay) request(c transcript) (*http.Response, string) {
	rp.t.Helper()
	path := rp.fill(c.Request.Path)
	if c.Via == "" {
		path = strings.TrimPrefix(path, "/auth/v1")
	}
	body := ""
	switch b := c.Request.Body.(type) {
	case string:
		body = rp.fill(b)
	case map[string]any, []any:
		filled := rp.fillJSON(b)
		raw, err := json.Marshal(filled)
		if err != nil {
			rp.t.Fatal(err)
		}
		body = string(raw)
		if c.Request.Headers["Content-Type"] == "application/x-www-form-urlencoded" {
			form := url.Values{}
			for key, value := range filled.(map[string]any) {
				form.Set(key, value.(string))
			}
			body = form.Encode()
		}
	}
	r := httptest.NewRequest(c.Request.Method, path, strings.NewReader(body))
	for name, value := range c.Request.Headers {
		r.Header[http.CanonicalHeaderKey(name)] = []string{rp.fill(value)}
	}
	if rp.address != "" {
		r.Header.Set("X-Forwarded-For", rp.address)
	}
	var server http.Handler = rp.auth
	if c.Case == "a06-path-inserted-oauth-as-gateway-rewrite" {
		server = newGateway(apiKeys{}, false, rp.auth, nil, nil, nil)
	}
	rec := httptest.NewRecorder()
	server.ServeHTTP(rec, r)
	return rec.Result(), rec.Body.String()
}

// comparedHeaders must be absent where the recording does not have them.
var comparedHeaders = []string{"content-type", "www-authenticate", "location", "cache-control", "allow", "vary", "retry-after",
	"access-control-allow-origin", "access-control-allow-credentials", "access-control-allow-headers",
	"access-control-allow-methods", "access-control-expose-headers", "x-sb-error-code", "x-supabase-api-version",
	"x-content-type-options", "sb-auth-user-id", "sb-auth-session-id", "sb-auth-refresh-token-prefix",
	"sb-auth-refresh-token-counter", "sb-auth-refresh-token-reuse", "sb-auth-refresh-token-reuse-cause",
	"sb-auth-refresh-token-rotated"}

func (rp *replay) compareHeaders(c transcript, res *http.Response) []string {
	var problems []string
	for name, want := range c.Response.Headers {
		problems = append(problems, rp.match("header "+name, want, res.Header.Get(name))...)
	}
	for _, name := range comparedHeaders {
		if _, recorded := c.Response.Headers[name]; !recorded && res.Header.Get(name) != "" {
			problems = append(problems, fmt.Sprintf("header %s: %q is not in the recording", name, res.Header.Get(name)))
		}
	}
	return problems
}

func (rp *replay) compareBody(want any, raw string) []string {
	if want == nil {
		return rp.match("body", "", raw)
	}
	if text, ok := want.(string); ok {
		return rp.match("body", text, raw)
	}
	var got any
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		return []string{fmt.Sprintf("body is no JSON: %s", raw)}
	}
	return rp.match("body", want, got)
}

func decodeToken(token string) (header, claims map[string]any) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, nil
	}
	for i, into := range []*map[string]any{&header, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			return nil, nil
		}
	}
	return header, claims
}

func sameLifetime(name string, want, got map[string]any) []string {
	span := func(claims map[string]any) float64 {
		exp, _ := claims["exp"].(float64)
		iat, _ := claims["iat"].(float64)
		return exp - iat
	}
	if span(want) != span(got) {
		return []string{fmt.Sprintf("%s lives %v s, want %v s", name, span(got), span(want))}
	}
	return nil
}
