package mcp

import (
	"net/http"
	"strings"
	"testing"
)

// TestField54_VersionsOfHeaderAndBodyMustAgree pins the four corners of two
// eras on one endpoint.
func TestField54_VersionsOfHeaderAndBodyMustAgree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	initialize := func(header, body string) request {
		q := request{header: map[string]string{}, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + body + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`}
		if header != "" {
			q.header["Mcp-Protocol-Version"] = header
		}
		return q
	}
	otherName := modern("tools/call", "other", `"name":"customers_list"`)
	future := modern("server/discover", "", "")
	future.header["MCP-Protocol-Version"] = "2099-01-01"
	for name, c := range map[string]struct {
		request request
		status  int
		says    []string
	}{
		"(a) header 2025-06-18, initialize 2025-11-25":    {initialize("2025-06-18", "2025-11-25"), 400, []string{"-32020", "differ"}},
		"(a) header and initialize agree":                 {initialize("2025-06-18", "2025-06-18"), 200, []string{`"protocolVersion":"2025-06-18"`}},
		"(b) the handshake claims the modern version":     {initialize("", "2026-07-28"), 200, []string{`"protocolVersion":"2025-11-25"`}},
		"(b) the modern era has no handshake":             {modern("initialize", "", `"protocolVersion":"2026-07-28"`), 404, []string{"-32601"}},
		"(c) discover lists what is served":               {modern("server/discover", "", ""), 200, []string{`"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"]`}},
		"(c) discover at a version that is not served":    {future, 400, []string{"-32022", `"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"]`, `"requested":"2099-01-01"`}},
		"(c) discover is no method of the older versions": {legacy("2025-11-25", "server/discover", "{}"), 200, []string{"-32601"}},
		"(d) Mcp-Name differs from params.name":           {otherName, 400, []string{"-32020", "Mcp-Name"}},
		"(d) older versions have no Mcp-Name": {request{
			header: map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/list", "Mcp-Name": "other"},
			body:   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"customers_list"}}`,
		}, 200, []string{"alice"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := b.send(c.request.as("alice"))
			body := bodyOf(t, res)
			if res.StatusCode != c.status {
				t.Fatalf("%d %s", res.StatusCode, body)
			}
			for _, want := range c.says {
				if !strings.Contains(body, want) {
					t.Errorf("%q is not in %s", want, body)
				}
			}
		})
	}
}

// TestField106_RefusalsOfTheEdgeAreJSON: whatever the SDK would answer as
// plain text, or not at all, is JSON-RPC once a caller is known, and a JSON
// problem before.
func TestField106_RefusalsOfTheEdgeAreJSON(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	header := func(name, value string) map[string]string { return map[string]string{name: value} }
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	wrongTask := modern("tasks/get", "other", `"taskId":"x"`)
	for name, c := range map[string]struct {
		request request
		status  int
		code    string
	}{
		"unparsable JSON":                  {request{body: `{"jsonrpc":`}, 400, "-32700"},
		"an empty body":                    {request{}, 400, "-32700"},
		"initialize under another version": {request{header: header("Mcp-Protocol-Version", "2025-06-18"), body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`}, 400, "-32020"},
		"a version that is none":           {request{header: header("Mcp-Protocol-Version", "latest"), body: list}, 400, "-32022"},
		"a method not served":              {wrongTask, 404, "-32601"},
		"another HTTP method":              {request{method: http.MethodPut, body: list}, 405, "-32600"},
		"another media type":               {request{header: header("Content-Type", "text/plain"), body: list}, 415, "-32600"},
		"a body too large":                 {request{body: strings.Repeat(" ", maxBody+1)}, 413, "-32600"},
		"a foreign host":                   {request{host: "evil.example.test", body: list}, 421, ""},
		"an unknown path":                  {request{path: "/nobody/mcp", body: list}, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := b.send(c.request.as("alice"))
			body := bodyOf(t, res)
			want := "application/json"
			if c.code == "" {
				want = "application/problem+json"
			}
			if res.StatusCode != c.status || res.Header.Get("Content-Type") != want || !strings.Contains(body, c.code) || !strings.HasPrefix(body, "{") {
				t.Fatalf("%d %s %s", res.StatusCode, res.Header.Get("Content-Type"), body)
			}
			if c.code != "" && !strings.Contains(body, `"jsonrpc":"2.0"`) {
				t.Errorf("no JSON-RPC: %s", body)
			}
		})
	}
}
