package demo

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"
)

// requireOwner fails when a row does not belong to the organization. Every
// seeded customer's name starts with its organization's.
func requireOwner(t testing.TB, item map[string]any, organization string) {
	t.Helper()
	if name, _ := item["name"].(string); !strings.HasPrefix(name, organization) {
		t.Fatalf("a row of somebody else: %v", item)
	}
}

// refresh exchanges a refresh token at the project's token endpoint, with the
// client id that the access token names.
func refresh(t testing.TB, token *oauth2.Token) *oauth2.Token {
	t.Helper()
	status, body := refreshAnswer(t, token)
	if status != http.StatusOK {
		t.Fatalf("refresh: %d %s", status, body)
	}
	var fresh oauth2.Token
	if err := json.Unmarshal(body, &fresh); err != nil {
		t.Fatal(err)
	}
	return &fresh
}

func refreshAnswer(t testing.TB, token *oauth2.Token) (int, []byte) {
	t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.RefreshToken}, "client_id": {claim(t, token.AccessToken, "client_id")}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, running.ProjectURL+"/auth/v1/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return send(t, req)
}

// callWith sends one tools/list with a bearer token and returns the status.
func callWith(t testing.TB, token string) int {
	t.Helper()
	status, _ := post(t, running.MCPURL, token, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	return status
}

func post(t testing.TB, target, token, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return send(t, req)
}

func send(t testing.TB, req *http.Request) (int, []byte) {
	t.Helper()
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// claim reads one text claim of a JWT without verifying it.
func claim(t testing.TB, token, name string) string {
	t.Helper()
	claims := map[string]any{}
	if err := decodeClaims(token, &claims); err != nil {
		t.Fatal(err)
	}
	value, _ := claims[name].(string)
	return value
}

func postJSON(t testing.TB, target string, body, answer any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	status, text := send(t, req)
	if status >= http.StatusBadRequest {
		t.Fatalf("POST %s: %d %s", target, status, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		t.Fatalf("POST %s: %v: %s", target, err, text)
	}
}
