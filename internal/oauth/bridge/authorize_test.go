package bridge

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	someVerifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // of RFC 7636 appendix B
	someChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	appRedirect   = "https://app.example.test/cb?tenant=7"
)

// request is a good authorization request of a client, changed.
func request(client string, change url.Values) url.Values {
	q := url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {appRedirect}, "state": {"st ate+/="}, "code_challenge": {someChallenge}, "code_challenge_method": {"S256"},
	}
	for name, values := range change {
		if values == nil {
			q.Del(name)
			continue
		}
		q[name] = values
	}
	return q
}

func (w *world) authorize(t testing.TB, ep *tenants.Endpoint, query url.Values) (*SignIn, error) {
	t.Helper()
	in, cookie, err := w.service.Authorize(t.Context(), ep, query, Visitor{Address: "192.0.2.7", Agent: "Firefox", RequestID: "r1"})
	if err == nil && cookie.IsZero() {
		t.Error("no cookie")
	}
	return in, err
}

func TestAuthorizeBeginsASignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client(t, w.ep, "app", appRedirect)
	in, err := w.authorize(t, w.ep, request(c.ID, url.Values{"scope": {" openid  crm.write unknown offline_access"}, "resource": {w.ep.Resource.URL() + "/"}}))
	if err != nil {
		t.Fatal(err)
	}
	if in.Client.ID != c.ID || in.RedirectURI != appRedirect || in.state != "st ate+/=" || !in.stateGiven || in.challenge != someChallenge ||
		!slices.Equal(in.Scopes, []string{"crm.write"}) || in.Ask || in.Purpose != PurposeAuthorize || in.Endpoint.Resource != w.ep.Resource {
		t.Errorf("%+v", in)
	}
	steps := w.steps.of(w.ep.Surface, events.StepAuthorize)
	if len(steps) != 1 || steps[0].Failed || steps[0].SignIn != in.ID || steps[0].Client != c.ID || steps[0].RequestID != "r1" || steps[0].Address == [32]byte{} {
		t.Errorf("steps %+v", steps)
	}
	if got := w.service.AuthorizationURL(w.ep); got != publicURL+"/connect/authorize/"+w.ep.Resource.Ref {
		t.Error(got)
	}
}

func TestScopesAskedForAreKnownOnesAndWhatIsRequired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		access surfaces.Access
		scope  string
		want   string
	}{
		"none asked":                          {surfaces.Access{Advertise: []string{"a"}, Require: []string{"r"}, Scopes: []string{"a", "r", "x"}}, "", "a r"},
		"none asked, none advertised":         {surfaces.Access{Scopes: []string{"a", "x"}}, "", "a x"},
		"one asked":                           {surfaces.Access{Advertise: []string{"a"}, Require: []string{"r"}, Scopes: []string{"a", "r", "x"}}, "x", "x r"},
		"one asked twice":                     {surfaces.Access{Scopes: []string{"a", "x"}}, " x  x ", "x"},
		"identity scopes are as good as none": {surfaces.Access{Advertise: []string{"a"}, Scopes: []string{"a", "x"}}, "openid email profile offline_access", "a"},
		"a surface without scopes":            {surfaces.Access{}, "openid", ""},
	} {
		if got := strings.Join(askedScopes(&tenants.Endpoint{Access: c.access}, c.scope), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Until client and redirect URI are right, nobody is sent anywhere.
func TestField30_WhatIsWrongBeforeTheRedirectIsAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.client(t, w.ep, "app", appRedirect)
	native := w.client(t, w.ep, "native", "http://127.0.0.1:1/cb")
	two := w.client(t, w.ep, "two", appRedirect, "https://b.example.test/cb")
	globex := w.surface(t, w.member(t, "bob@example.test", "Globex"), w.project, "globex", "main", nil)
	for name, c := range map[string]struct {
		ep     *tenants.Endpoint
		client string
		change url.Values
		code   string
		says   string
	}{
		"deleted client":            {w.ep, "chc_gone", nil, "unknown_client", "remove the connector and add it again with " + w.ep.Resource.URL()},
		"another surface's client":  {globex, app.ID, nil, "unknown_client", "add it again"},
		"no client":                 {w.ep, app.ID, url.Values{"client_id": nil}, "invalid_request", "AI app"},
		"two clients":               {w.ep, app.ID, url.Values{"client_id": {app.ID, app.ID}}, "invalid_request", "client_id"},
		"two redirects":             {w.ep, app.ID, url.Values{"redirect_uri": {appRedirect, "https://evil.example.test/"}}, "invalid_request", "redirect_uri"},
		"another redirect":          {w.ep, app.ID, url.Values{"redirect_uri": {"https://evil.example.test/"}}, "redirect_mismatch", "redirect_uri"},
		"another error with it":     {w.ep, app.ID, url.Values{"redirect_uri": {"https://evil.example.test/"}, "response_type": {"token"}}, "redirect_mismatch", "redirect_uri"},
		"no redirect, two of them":  {w.ep, two.ID, url.Values{"redirect_uri": nil}, "redirect_missing", "redirect_uri"},
		"no redirect, loopback":     {w.ep, native.ID, url.Values{"redirect_uri": nil}, "redirect_missing", "redirect_uri"},
		"a client id with a NUL":    {w.ep, "a\x00", nil, "unknown_client", "add it again"},
		"a document that is no URL": {w.ep, "https://app.example.test/", nil, "unknown_client", "add it again"},
	} {
		_, err := w.authorize(t, c.ep, request(c.client, c.change))
		var back *BackToClient
		if f := fault.From(err); err == nil || errors.As(err, &back) || f.Code != c.code || !strings.Contains(f.Message, c.says) || strings.Contains(f.Message, "evil") {
			t.Errorf("%s: %v, want %s saying %q", name, err, c.code, c.says)
		}
	}
	if steps := w.steps.of(w.ep.Surface, events.StepAuthorize); len(steps) == 0 || !steps[0].Failed || steps[0].Code == "" {
		t.Errorf("steps %+v", steps)
	}
	if in, err := w.authorize(t, w.ep, request(app.ID, url.Values{"redirect_uri": nil})); err != nil || in.RedirectURI != appRedirect {
		t.Errorf("the only redirect: %v", err)
	}
}

func TestField38_39_ErrorsGoBackWithStateAndIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.client(t, w.ep, "app", appRedirect)
	byPath := w.endpoint(t, pathURL)
	for name, c := range map[string]struct {
		change url.Values
		code   string
	}{
		"no PKCE":                 {url.Values{"code_challenge": nil}, "invalid_request"},
		"plain PKCE":              {url.Values{"code_challenge_method": {"plain"}}, "invalid_request"},
		"PKCE without its method": {url.Values{"code_challenge_method": nil}, "invalid_request"},
		"short challenge":         {url.Values{"code_challenge": {"short"}}, "invalid_request"},
		"odd challenge":           {url.Values{"code_challenge": {strings.Repeat("=", 43)}}, "invalid_request"},
		"long challenge":          {url.Values{"code_challenge": {strings.Repeat("a", 129)}}, "invalid_request"},
		"no response type":        {url.Values{"response_type": nil}, "invalid_request"},
		"implicit":                {url.Values{"response_type": {"token"}}, "unsupported_response_type"},
		"hybrid":                  {url.Values{"response_type": {"code id_token"}}, "unsupported_response_type"},
		"form post":               {url.Values{"response_mode": {"form_post"}}, "invalid_request"},
		"fragment":                {url.Values{"response_mode": {"fragment"}}, "invalid_request"},
		"another resource":        {url.Values{"resource": {"https://evil.example.test/mcp"}}, "invalid_target"},
		"one of two resources":    {url.Values{"resource": {w.ep.Resource.URL(), "https://evil.example.test/mcp"}}, "invalid_target"},
		"silent":                  {url.Values{"prompt": {"none"}}, "interaction_required"},
		"silent and not":          {url.Values{"prompt": {"none login"}}, "invalid_request"},
		"request object":          {url.Values{"request": {"x.y.z"}}, "request_not_supported"},
		"request object by URL":   {url.Values{"request_uri": {"https://a.example.test/"}}, "request_uri_not_supported"},
		"scope twice":             {url.Values{"scope": {"a", "b"}}, "invalid_request"},
		"challenge twice":         {url.Values{"code_challenge": {someChallenge, someChallenge}}, "invalid_request"},
	} {
		for _, ep := range []*tenants.Endpoint{w.ep, byPath} {
			_, err := w.authorize(t, ep, request(app.ID, c.change))
			var back *BackToClient
			if !errors.As(err, &back) || back.Code != c.code {
				t.Errorf("%s: %v, want %s", name, err, c.code)
				continue
			}
			u, err := url.Parse(back.URL)
			if err != nil {
				t.Fatal(err)
			}
			q := u.Query()
			if !strings.HasPrefix(back.URL, appRedirect+"&") || q.Get("tenant") != "7" || q.Get("error") != c.code || q.Get("error_description") == "" ||
				q.Get("iss") != ep.Resource.URL() || q.Get("state") != "st ate+/=" || strings.Contains(back.URL, "+") {
				t.Errorf("%s: %s", name, back.URL)
			}
		}
	}
	for name, change := range map[string]url.Values{"no state": {"state": nil}, "long state": {"state": {strings.Repeat("x", maxState+1)}}, "state with a NUL": {"state": {"a\x00"}}} {
		change["response_type"] = []string{"code"}
		change["code_challenge_method"] = []string{"plain"}
		_, err := w.authorize(t, w.ep, request(app.ID, change))
		var back *BackToClient
		if !errors.As(err, &back) || strings.Contains(back.URL, "state=") || !strings.Contains(back.URL, "iss=") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if in, err := w.authorize(t, w.ep, request(app.ID, url.Values{"state": {strings.Repeat("x", maxState)}})); err != nil || len(in.state) != maxState {
		t.Errorf("the longest state: %v", err)
	}
}

func TestEmptyStateIsGivenBackToo(t *testing.T) {
	t.Parallel()
	s := &Service{}
	in := &SignIn{Endpoint: &tenants.Endpoint{Resource: tenants.Resource{Base: "https://a.example.test", Path: "/mcp"}}, RedirectURI: "cursor://x/cb", stateGiven: true}
	if got := s.backTo(in, url.Values{"code": {"c"}}); got != "cursor://x/cb?code=c&iss=https%3A%2F%2Fa.example.test%2Fmcp&state=" {
		t.Error(got)
	}
	in.stateGiven, in.RedirectURI = false, "https://b.example.test/cb?"
	if got := s.backTo(in, url.Values{"code": {"c"}}); got != "https://b.example.test/cb?code=c&iss=https%3A%2F%2Fa.example.test%2Fmcp" {
		t.Error(got)
	}
}

func TestPromptsThatAskForThePerson(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]bool{"": false, "consent": true, "login": true, "select_account consent": true, "made_up": false} {
		if asks(prompt) != want {
			t.Errorf("%q", prompt)
		}
	}
}

func TestField33_35_DocumentClientsAuthorizeWithAnyPort(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), newSite(t)
	s.serve(200, claudeDocument)
	in, err := w.authorize(t, w.ep, request(s.id(), url.Values{"redirect_uri": {"http://localhost:59656/callback"}, "prompt": {"consent"}}))
	if err != nil || !in.Client.Document || !in.Ask || in.RedirectURI != "http://localhost:59656/callback" {
		t.Fatalf("%+v, %v", in, err)
	}
	if _, err := w.authorize(t, w.ep, request(s.id(), url.Values{"redirect_uri": {"http://localhost:1/callback"}})); err != nil {
		t.Fatal(err)
	}
	if steps := w.steps.of(w.ep.Surface, events.StepRegistration); len(steps) != 1 || steps[0].Client != s.id() || steps[0].ClientName != "Claude Code" {
		t.Errorf("a document read for the first time is a registration, once: %+v", steps)
	}
}

func TestNobodySignsInWhereSignInIsPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.client(t, w.ep, "app", appRedirect)
	paused := *w.ep
	paused.Project.SignInPaused = true
	_, err := w.authorize(t, &paused, request(app.ID, nil))
	var back *BackToClient
	if !fault.Is(err, fault.Unavailable) || errors.As(err, &back) {
		t.Errorf("%v", err)
	}
	direct := *w.ep
	direct.Access.Authorization = surfaces.AuthorizationDirect
	if _, err := w.authorize(t, &direct, request(app.ID, nil)); !fault.Is(err, fault.NotFound) {
		t.Errorf("a direct surface: %v", err)
	}
	if _, _, err := w.service.Apps(t.Context(), &direct, Visitor{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("Connected apps of a direct surface: %v", err)
	}
}

// Whatever comes: an answer to the client goes to the client's own address,
// with the issuer, and everything else is a page.
func FuzzAuthorizeQuery(f *testing.F) {
	f.Add(request("client-app", nil).Encode())
	f.Add(request("client-app", url.Values{"response_type": {"token"}, "state": {"\x00"}}).Encode())
	f.Add("client_id=client-app&redirect_uri=" + url.QueryEscape("http://127.0.0.1:9/cb") + "&resource=x&resource=y&prompt=none")
	f.Add("%zz;&=&a")
	ep := &tenants.Endpoint{
		Resource: tenants.Resource{Base: "https://a.example.test", Path: "/mcp"},
		Access:   surfaces.Access{Scopes: []string{"crm.read"}},
	}
	f.Fuzz(func(t *testing.T, raw string) {
		query, _ := url.ParseQuery(raw)
		redirect := query.Get("redirect_uri")
		c := &Client{RedirectURIs: []string{appRedirect, "http://127.0.0.1/cb"}}
		for _, scope := range askedScopes(ep, query.Get("scope")) {
			if scope != "crm.read" {
				t.Errorf("scope %q", scope)
			}
		}
		refused := judge(ep, query)
		if refused == nil && (query.Get("code_challenge_method") != "S256" || len(query.Get("code_challenge")) < 43 || query.Get("response_type") != "code") {
			t.Errorf("%q begins a sign-in", raw)
		}
		if refused == nil || !c.redirectsTo(redirect) {
			return
		}
		to := (&Service{}).backTo(&SignIn{Endpoint: ep, RedirectURI: redirect, state: query.Get("state"), stateGiven: query.Has("state")}, url.Values{"error": {refused.code}})
		u, err := url.Parse(to)
		if err != nil || !strings.HasPrefix(to, redirect) || u.Query().Get("iss") != ep.Resource.URL() || u.Query().Get("state") != query.Get("state") || u.Fragment != "" {
			t.Errorf("%q: %s, %v", raw, to, err)
		}
	})
}

// A household has 2^64 addresses: they are one visitor.
func TestTriesOfOneIPv6NetworkAreCountedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	try := func(address string) error {
		return w.service.limited(t.Context(), "register", w.ep, Visitor{Address: address}, 2, authorizeIn)
	}
	for _, address := range []string{"2001:db8:1:2::1", "2001:db8:1:2:ffff::2"} {
		if err := try(address); err != nil {
			t.Fatal(err)
		}
	}
	if err := try("2001:db8:1:2:3:4:5:6"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a third address of the network: %v", err)
	}
	if err := try("2001:db8:1:3::1"); err != nil {
		t.Errorf("another network: %v", err)
	}
}
