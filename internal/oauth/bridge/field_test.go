package bridge

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// ChatGPT has a callback of its own for every connector: what is registered or
// published is taken as it stands, and stands for nothing else.
func TestField34_ChatGPTsCallbackPerConnectorIsTakenAsItStands(t *testing.T) {
	t.Parallel()
	const own, others = "https://chatgpt.com/connector/oauth/aB3_-x", "https://chatgpt.com/connector/oauth/zZ9_-y"
	w, s := newWorld(t), newSite(t)
	registered := decoded[registration](t, w.register(t, w.ep, `{"client_name":"ChatGPT","redirect_uris":["`+own+`"],"token_endpoint_auth_method":"none"}`), http.StatusCreated)
	if !slices.Equal(registered.RedirectURIs, []string{own}) {
		t.Errorf("registered %v", registered.RedirectURIs)
	}
	second := decoded[registration](t, w.register(t, w.ep, `{"client_name":"ChatGPT","redirect_uris":["`+others+`"],"token_endpoint_auth_method":"none"}`), http.StatusCreated)
	if second.ClientID == registered.ClientID {
		t.Error("two connectors are one client")
	}
	s.serve(200, `{"client_id":"{site}/client.json","client_name":"ChatGPT","redirect_uris":["`+own+`"],"token_endpoint_auth_method":"none"}`)
	for _, id := range []string{registered.ClientID, s.id()} {
		if in, err := w.authorize(t, w.ep, request(id, url.Values{"redirect_uri": {own}})); err != nil || in.RedirectURI != own {
			t.Errorf("%s: %v", id, err)
		}
		for _, uri := range []string{others, "https://chatgpt.com/connector/oauth/", "https://chatgpt.com/connector/oauth/aB3_-x/more", own + "y"} {
			if _, err := w.authorize(t, w.ep, request(id, url.Values{"redirect_uri": {uri}})); codeOf(err) != "redirect_mismatch" {
				t.Errorf("%s with %s: %v", id, uri, err)
			}
		}
	}
	// An asterisk is a character like any other, and none of a host.
	star := &Client{RedirectURIs: []string{"https://chatgpt.com/connector/oauth/*"}}
	if star.redirectsTo(own) || !star.redirectsTo("https://chatgpt.com/connector/oauth/*") {
		t.Error("an asterisk stands for something")
	}
	if redirectProblem("https://*.chatgpt.com/connector/oauth/x") == "" {
		t.Error("a host with an asterisk is taken")
	}
}

// Two flows at once, by two URLs of a surface and at another surface: every
// answer, good or bad, says byte for byte who answers, as the metadata
// promises. A direct surface promises nothing of that.
func TestField39_EveryAnswerNamesItsIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sales := w.surface(t, w.builder, w.project, "acme", "sales", nil)
	app := w.client(t, w.ep, "app", appRedirect)
	w.client(t, sales, "app", appRedirect)
	endpoints := []*tenants.Endpoint{w.ep, w.endpoint(t, pathURL), sales}
	flows := make([]*SignIn, len(endpoints))
	for i, ep := range endpoints { // all under way before the first is answered
		m := decoded[serverMetadata](t, w.ask(t, http.MethodGet, ep.Resource.URL()+"/.well-known/oauth-authorization-server", ""), http.StatusOK)
		if !m.IssInResponse || m.Issuer != ep.Resource.URL() {
			t.Errorf("%s: %+v", ep.Resource.URL(), m)
		}
		in, cookie, err := w.service.Authorize(t.Context(), ep, request(app.ID, url.Values{"scope": {"crm.read"}}), visitor)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.service.Recognize(t.Context(), in, w.signedIn(t, ep, alice)); err != nil {
			t.Fatal(err)
		}
		flows[i] = w.reopened(t, in, cookie)
	}
	for i, a := range []Answer{allow, {}, allow} {
		to, err := w.service.Decide(t.Context(), flows[i], a, visitor)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(to)
		if err != nil || !strings.HasPrefix(to, appRedirect) {
			t.Fatalf("sent to %s", to)
		}
		q := u.Query()
		if !slices.Equal(q["iss"], []string{endpoints[i].Resource.URL()}) || q.Get("state") != "st ate+/=" || q.Has("code") != a.Allow || q.Has("error") == a.Allow {
			t.Errorf("answer %d: %s", i, to)
		}
	}
}

// Another URL becomes the one that is handed out: who is connected by the old
// one stays so, and both go on as issuers.
func TestAChangeOfPrimaryKeepsTokensAndRegistrations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	registered := decoded[registration](t, w.register(t, w.ep, `{"redirect_uris":["`+appRedirect+`"],"token_endpoint_auth_method":"none"}`), http.StatusCreated)
	given := decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", exchangeForm(registered.ClientID, w.code(t, w.ep, request(registered.ClientID, nil), alice), nil)), http.StatusOK)
	before := w.ep.Resource.URL()
	if before == pathURL || w.ep.URLs[0].URL() != before {
		t.Fatalf("the primary is %s", w.ep.URLs[0].URL())
	}
	// One at a time: a surface has one primary.
	w.Exec(t, "update surface_urls set is_primary = false where surface_id = $1", w.ep.Surface.UUID())
	w.Exec(t, "update surface_urls set is_primary = true where surface_id = $1 and host = ''", w.ep.Surface.UUID())
	eventually(t, "the directory hears of the new primary", func() bool { return w.endpoint(t, before).URLs[0].URL() == pathURL })
	old, primary := w.endpoint(t, before), w.endpoint(t, pathURL)
	for _, ep := range []*tenants.Endpoint{old, primary} {
		w.admitted(t, ep, given.AccessToken)
		given = decoded[tokenAnswer](t, w.post(t, ep, "/oauth/token", refreshForm(registered.ClientID, given.RefreshToken)), http.StatusOK)
		w.admitted(t, old, given.AccessToken)
		w.admitted(t, primary, given.AccessToken)
		if m := w.service.metadataOf(ep); m.Issuer != ep.Resource.URL() {
			t.Errorf("issuer %s at %s", m.Issuer, ep.Resource.URL())
		}
		if _, err := w.authorize(t, ep, request(registered.ClientID, nil)); err != nil {
			t.Errorf("the registration at %s: %v", ep.Resource.URL(), err)
		}
	}
}
