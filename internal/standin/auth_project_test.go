package standin

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestClientConnectsThroughTheProject takes an OAuth client through the real
// front door: metadata, registration, pages, token, and a call as the person.
func TestClientConnectsThroughTheProject(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	got := tokensOf(connectClient(t, p, url.Values{"scope": {exampleFlow("", "v").scope}}))

	mine := as(t, p, alice)
	mine.bearer = got.access
	rows := mine.get("customers?select=id,organization_id&limit=5")
	if rows.status != http.StatusOK || rows.body == "[]" {
		t.Fatalf("the client's token reads %d %s", rows.status, rows.body)
	}
	if theirs := as(t, p, bob).get("customers?select=id,organization_id&limit=5"); theirs.body == rows.body {
		t.Fatal("alice's client and bob read the same rows")
	}
}

// connectClient registers a client, takes Alice through the pages, and returns
// what the token endpoint answers. More is added to the authorization request.
func connectClient(t *testing.T, p *Project, more url.Values) map[string]any {
	t.Helper()
	metadata := fetchJSON(t, p.URL()+"/.well-known/oauth-authorization-server/auth/v1", "", nil)
	if metadata["issuer"] != p.Issuer() {
		t.Fatalf("issuer %v, want %s", metadata["issuer"], p.Issuer())
	}
	endpoint := func(name string) string { s, _ := metadata[name].(string); return s }
	client := fetchJSON(t, endpoint("registration_endpoint"), "application/json",
		strings.NewReader(`{"redirect_uris":["`+loopbackCallback+`"],"token_endpoint_auth_method":"none"}`))
	id, _ := client["client_id"].(string)

	b := newBrowser(t, p.URL())
	f := exampleFlow(id, "v")
	q := url.Values{"response_type": {"code"}, "client_id": {id}, "redirect_uri": {f.redirect}, "state": {"s"},
		"code_challenge": {challengeOf(f.verifier)}, "code_challenge_method": {"S256"}}
	maps.Copy(q, more)
	consent := strings.TrimPrefix(b.open("/auth/v1/oauth/authorize?"+q.Encode()).to, p.URL())
	b.signIn(alice, CRMUsers()[0].Password, consent)
	b.open(consent)
	_, authorizationID, _ := strings.Cut(consent, "authorization_id=")
	back, err := url.Parse(b.submit("/oauth/consent", url.Values{"authorization_id": {authorizationID}, "action": {"approve"}}).to)
	if err != nil {
		t.Fatal(err)
	}
	return fetchJSON(t, endpoint("token_endpoint"), "application/x-www-form-urlencoded", strings.NewReader(url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "client_id": {id},
		"redirect_uri": {f.redirect}, "code_verifier": {f.verifier}}.Encode()))
}

// fetchJSON gets, or posts a body, and reads a JSON object.
func fetchJSON(t *testing.T, to, contentType string, body io.Reader) map[string]any {
	t.Helper()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, to, body)
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res := send(t, req)
	var out map[string]any
	if err := json.Unmarshal([]byte(res.body), &out); err != nil || res.status >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, to, res.status, res.body)
	}
	return out
}
