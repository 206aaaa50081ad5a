package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// recordedClient is what one MCP client was seen to send, up to its first tool
// call, with the surface's path as {MCP} and our own tool in place of theirs.
type recordedClient struct {
	Client string         `json:"client"`
	Steps  []recordedStep `json:"steps"`
}

type recordedStep struct {
	To      string            `json:"to"` // "project", else the surface's host
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Token   bool              `json:"token"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Status  int               `json:"status"`
}

// TestRecordedClientsConnect replays the requests of real clients, header by
// header, through discovery and, signed in, to rows.
func TestRecordedClientsConnect(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/clients.json")
	if err != nil {
		t.Fatal(err)
	}
	var clients []recordedClient
	if err := json.Unmarshal(b, &clients); err != nil || len(clients) == 0 {
		t.Fatalf("%d clients, %v", len(clients), err)
	}
	w, p := newTenant(t)
	token := p.signIn(standin.AliceEmail).AccessToken
	for _, c := range clients {
		t.Run(c.Client, func(t *testing.T) {
			called := false
			for _, s := range c.Steps {
				method := s.replay(t, w, p, token)
				called = called || method == "tools/call"
			}
			if !called {
				t.Error("the recording ends before a tool call")
			}
		})
	}
}

// replay sends the step and judges the answer. It returns the MCP method.
func (s recordedStep) replay(t *testing.T, w *world, p *tenant, token string) string {
	t.Helper()
	h := http.Header{}
	for name, value := range s.Headers {
		h.Set(name, value)
	}
	if !s.Token {
		token = ""
	}
	base := w.url
	if s.To == "project" {
		base = p.URL()
	}
	target := base + strings.ReplaceAll(s.Path, "{MCP}", strings.TrimPrefix(p.mcp, w.url))
	var sent struct {
		Method string `json:"method"`
		Params struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"params"`
	}
	if s.Body != nil {
		if err := json.Unmarshal(s.Body, &sent); err != nil {
			t.Fatal(err)
		}
	}
	if sent.Method == "subscriptions/listen" && s.Status == http.StatusOK {
		s.listens(t, target, token, h)
		return sent.Method
	}
	r := sendRaw(t, s.Method, target, token, h, string(s.Body))
	if r.status != s.Status {
		t.Fatalf("%s %s %s: %d, want %d: %s", s.Method, s.Path, sent.Method, r.status, s.Status, r.body)
	}
	switch {
	case s.Status == http.StatusUnauthorized:
		r.challenged(t, p.mcp, "")
	case s.Status == http.StatusMethodNotAllowed:
		if !strings.Contains(r.header.Get("Allow"), "POST") {
			t.Errorf("405 without Allow: %v", r.header)
		}
	case s.Status == http.StatusNotFound:
		if !strings.Contains(r.header.Get("Content-Type"), "json") {
			t.Errorf("404 is not JSON: %v", r.header)
		}
	case s.Status == http.StatusAccepted:
		if r.body != "" {
			t.Errorf("202 with a body: %s", r.body)
		}
	case s.To == "project":
		r.requireMember(t, "issuer", p.Issuer())
	case s.Method == http.MethodGet:
		r.requireMember(t, "resource", p.mcp)
	default:
		r.judge(t, sent.Method, sent.Params.ProtocolVersion)
	}
	return sent.Method
}

func (r reply) requireMember(t *testing.T, name, want string) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(r.body), &doc); err != nil || doc[name] != want {
		t.Errorf("%s is %v, want %s: %v", name, doc[name], want, err)
	}
}

// judge looks at the result of an MCP method.
func (r reply) judge(t *testing.T, method, asked string) {
	t.Helper()
	var answer struct {
		Result *struct {
			ProtocolVersion   string   `json:"protocolVersion"`
			SupportedVersions []string `json:"supportedVersions"`
			Tools             []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil || answer.Result == nil {
		t.Fatalf("%s: %s", method, r.body)
	}
	switch method {
	case "initialize":
		if answer.Result.ProtocolVersion != asked {
			t.Errorf("asked for %s, negotiated %s", asked, answer.Result.ProtocolVersion)
		}
	case "server/discover":
		if !slices.Contains(answer.Result.SupportedVersions, "2026-07-28") {
			t.Errorf("discover: %s", r.body)
		}
	case "tools/list":
		if len(answer.Result.Tools) == 0 || answer.Result.Tools[0].Name != "customers_list" {
			t.Errorf("tools: %s", r.body)
		}
	case "tools/call":
		if items := r.page(t).Items; len(items) != 1 || !strings.HasPrefix(items[0]["name"].(string), "Acme") {
			t.Errorf("rows: %s", r.body)
		}
	case "logging/setLevel":
	default:
		t.Errorf("nothing is known of %s", method)
	}
}

// listens opens the stream and waits for its first message.
func (s recordedStep) listens(t *testing.T, target, token string, h http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, s.Method, target, strings.NewReader(string(s.Body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" ||
		res.Header.Get("X-Accel-Buffering") != "no" || !strings.Contains(res.Header.Get("Cache-Control"), "no-transform") {
		t.Fatalf("listen: %s %v", res.Status, res.Header)
	}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if !strings.Contains(data, "notifications/subscriptions/acknowledged") {
				t.Errorf("first message %s", data)
			}
			return
		}
	}
	t.Error("the stream ended without a message")
}
