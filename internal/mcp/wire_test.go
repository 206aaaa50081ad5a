package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

var update = flag.Bool("update", false, "write the golden files")

// TestWire pins what clients see, byte for byte but for request ids.
func TestWire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Tools[0].Scopes = []string{"crm.write"}
		c.Tools = append(c.Tools, testTool("notes_add"))
		c.Tools[2].Annotations = surfaces.Annotations{Destructive: true}
		c.Tools[2].Visible = "false"
	})
	b.caller(ep, "alice", "alice", "crm.read")
	initialize := func(version string) request {
		return request{body: `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`}
	}
	call := func(name, arguments string) request {
		return modern("tools/call", name, `"name":"`+name+`","arguments":`+arguments)
	}
	header := func(q request, name, value string) request {
		if value == "" {
			delete(q.header, name)
			return q
		}
		q.header[name] = value
		return q
	}
	for name, q := range map[string]request{
		"initialize-2025-11-25":          initialize("2025-11-25"),
		"initialize-2025-06-18":          initialize("2025-06-18"),
		"initialize-2025-03-26":          initialize("2025-03-26"),
		"initialize-2024-11-05":          initialize("2024-11-05"),
		"initialize-2099-01-01":          initialize("2099-01-01"),
		"initialize-2026-07-28":          initialize("2026-07-28"),
		"initialize-header-differs":      {header: map[string]string{"MCP-Protocol-Version": "2025-06-18"}, body: initialize("2025-11-25").body},
		"initialize-modern":              modern("initialize", "", `"protocolVersion":"2026-07-28"`),
		"initialized":                    {body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		"discover":                       modern("server/discover", "", ""),
		"discover-legacy":                legacy("2025-11-25", "server/discover", "{}"),
		"list":                           modern("tools/list", "", ""),
		"list-legacy":                    legacy("2025-06-18", "tools/list", "{}"),
		"list-no-params":                 {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		"list-null-params":               {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`},
		"call":                           call("customers_list", `{"name":"x"}`),
		"call-no-arguments":              modern("tools/call", "customers_list", `"name":"customers_list"`),
		"call-legacy":                    legacy("2025-11-25", "tools/call", `{"name":"customers_list","arguments":{}}`),
		"call-no-version":                {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"customers_list"}}`},
		"call-wrong-arguments":           call("customers_list", `{"name":7,"limit":1000,"when":"soon","extra":1}`),
		"call-arguments-array":           call("customers_list", `[1]`),
		"call-unknown":                   call("nothing", `{}`),
		"call-unknown-legacy":            legacy("2025-11-25", "tools/call", `{"name":"nothing"}`),
		"call-hidden":                    call("notes_add", `{}`),
		"call-hidden-legacy":             legacy("2025-11-25", "tools/call", `{"name":"notes_add"}`),
		"call-scope-missing":             call("zebra_list", `{}`),
		"call-no-name":                   modern("tools/call", "customers_list", `"arguments":{}`),
		"name-differs":                   header(call("customers_list", `{}`), "Mcp-Name", "other"),
		"name-missing":                   header(call("customers_list", `{}`), "Mcp-Name", ""),
		"name-base64":                    header(call("customers_list", `{}`), "Mcp-Name", "=?base64?Y3VzdG9tZXJzX2xpc3Q=?="),
		"name-broken-base64":             header(call("customers_list", `{}`), "Mcp-Name", "=?base64?***?="),
		"method-differs":                 header(call("customers_list", `{}`), "Mcp-Method", "tools/list"),
		"method-missing":                 header(modern("tools/list", "", ""), "Mcp-Method", ""),
		"method-header-ignored-when-old": {header: map[string]string{"MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "other"}, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		"version-unknown":                legacy("2025-01-01", "tools/list", "{}"),
		"version-old":                    legacy("2024-11-05", "tools/list", "{}"),
		"version-future":                 header(modern("tools/list", "", ""), "MCP-Protocol-Version", "2099-01-01"),
		"version-header-missing":         header(modern("tools/list", "", ""), "MCP-Protocol-Version", ""),
		"version-header-older":           header(modern("tools/list", "", ""), "MCP-Protocol-Version", "2025-11-25"),
		"meta-missing":                   {header: map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`},
		"capabilities-missing":           {header: map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`},
		"ping-legacy":                    legacy("2025-11-25", "ping", "{}"),
		"ping-modern":                    modern("ping", "", ""),
		"set-level-legacy":               legacy("2025-11-25", "logging/setLevel", `{"level":"debug"}`),
		"listen-legacy":                  legacy("2025-11-25", "subscriptions/listen", `{"notifications":{}}`),
		"listen-without-params":          modern("subscriptions/listen", "", ""),
		"unknown-method":                 modern("tasks/get", "", `"taskId":"x"`),
		"unknown-method-legacy":          legacy("2025-11-25", "tasks/get", `{"taskId":"x"}`),
		"unknown-notification":           {body: `{"jsonrpc":"2.0","method":"notifications/unknown"}`},
		"prompts-list":                   modern("prompts/list", "", ""),
		"prompts-get":                    modern("prompts/get", "x", `"name":"x"`),
		"resources-list":                 modern("resources/list", "", ""),
		"resources-templates-list":       modern("resources/templates/list", "", ""),
		"resources-read":                 modern("resources/read", "x://y", `"uri":"x://y"`),
		"complete":                       modern("completion/complete", "", `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}`),
		"client-response":                {body: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"not-json":                       {body: `{"jsonrpc":`},
		"two-values":                     {body: `{} {}`},
		"bad-utf8":                       {body: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}"},
		"not-object":                     {body: `7`},
		"no-jsonrpc":                     {body: `{"id":1,"method":"ping"}`},
		"id-null":                        {body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`},
		"id-object":                      {body: `{"jsonrpc":"2.0","id":{},"method":"ping"}`},
		"id-large":                       {body: `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`},
		"id-fraction":                    {body: `{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"customers_list"}}`},
		"id-text":                        {body: `{"jsonrpc":"2.0","id":"a<\u00e9>","method":"ping"}`},
		"params-array":                   {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`},
		"params-missing":                 {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`},
		"duplicate-envelope-key":         {body: `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`},
		"duplicate-params-key":           {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"customers_list","n\u0061me":"notes_add"}}`},
		"duplicate-argument":             {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"customers_list","arguments":{"name":"a","name":"b"}}}`},
		"other-case":                     {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes_add","Name":"customers_list"}}`},
		"too-deep":                       {body: `{"jsonrpc":"2.0","id":1,"method":"ping","x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`},
		"batch":                          {body: `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"customers_list"}}]`},
		"batch-of-notifications":         {body: `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`},
		"batch-later-version":            {header: map[string]string{"MCP-Protocol-Version": "2025-06-18"}, body: `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`},
		"batch-empty":                    {body: `[]`},
		"batch-too-long":                 {body: `[` + strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/initialized"},`, 20) + `{"jsonrpc":"2.0","id":1,"method":"ping"}]`},
		"batch-same-id":                  {body: `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`},
		"batch-initialize":               {body: `[` + initialize("2025-03-26").body + `]`},
		"list-cursor-invented":           modern("tools/list", "", `"cursor":"nonsense"`),
		"accept-json-only":               {header: map[string]string{"Accept": "application/json"}, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		"last-event-id":                  {header: map[string]string{"Last-Event-ID": "7"}, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		"session-id-ignored":             {header: map[string]string{"Mcp-Session-Id": "someone-elses"}, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, render(t, b.send(q.as("alice"))))
		})
	}
}

// render is an answer as the golden files hold it.
func render(t *testing.T, res *http.Response) []byte {
	t.Helper()
	body := bodyOf(t, res)
	body = strings.ReplaceAll(body, res.Header.Get("Chumbo-Request-Id"), "REQUEST-ID")
	var out bytes.Buffer
	out.WriteString(res.Status + "\n")
	for _, name := range []string{"Content-Type", "Allow", "WWW-Authenticate", "Mcp-Session-Id"} {
		if value := res.Header.Get(name); value != "" {
			out.WriteString(name + ": " + value + "\n")
		}
	}
	out.WriteString("\n")
	if err := json.Indent(&out, []byte(body), "", "  "); err != nil {
		out.WriteString(body)
	}
	return append(bytes.TrimSpace(out.Bytes()), '\n')
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "wire", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (see -update):\n%s", path, got)
	}
}
