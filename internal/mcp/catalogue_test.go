package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// profile is how a client asks for tools, so far as it shapes the answer.
type profile struct {
	file    string // of its golden catalogue
	client  string // as docs/client-compatibility.md names it
	version string // of the protocol; 2025-11-25 where its vendor does not say
	bare    bool   // after initialize it leaves MCP-Protocol-Version out
}

var profiles = []profile{
	{file: "claude", client: "Claude (web, Desktop, mobile, Cowork)", version: "2025-11-25", bare: true},
	{file: "claude-code", client: "Claude Code", version: "2025-11-25"},
	{file: "chatgpt", client: "ChatGPT", version: "2025-11-25"},
	{file: "cursor", client: "Cursor", version: "2025-11-25"},
	{file: "vscode", client: "VS Code", version: "2025-11-25", bare: true},
	{file: "codex", client: "Codex", version: "2025-11-25"},
	{file: "gemini-cli", client: "Gemini CLI", version: "2025-06-18"},
	{file: "copilot-cli", client: "GitHub Copilot CLI", version: "2025-11-25"},
	{file: "copilot-studio", client: "Copilot Studio", version: "2025-11-25"},
	{file: "mcp-remote", client: "mcp-remote 0.15.1", version: "2025-06-18"},
	{file: "inspector", client: "MCP Inspector 2.12.0", version: "2025-11-25"},
	{file: "typescript-2", client: "TypeScript SDK 2.4.0", version: "2026-07-28"},
	{file: "typescript-1", client: "TypeScript SDK 1.32.2", version: "2025-11-25"},
	{file: "go", client: "Go SDK 1.8.0", version: "2026-07-28"},
	{file: "ai-sdk", client: "AI SDK, `@ai-sdk/mcp` 2.0.99", version: "2026-07-28"},
}

// serverName is what a person may well call the surface in a client.
const serverName = "acme-crm"

// catalogue is what a client is told of a surface: the results of its hello and
// of tools/list, the tools apart.
type catalogue struct {
	Hello json.RawMessage            `json:"hello"`
	List  map[string]json.RawMessage `json:"list"`
	Tools []json.RawMessage          `json:"tools,omitempty"` // left out where they are those of tools.json
}

// listed is a tool as clients read it.
type listed struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  map[string]any  `json:"annotations"`
}

// catalogueBundle serves testdata/catalogue/surface.yaml.
func catalogueBundle(t *testing.T, run runner) *bundle {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "surfaces", "testdata", "snapshot.json"))
	if err != nil {
		t.Fatal(err)
	}
	snap, err := surfaces.ParseSnapshot(raw)
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(filepath.Join("testdata", "catalogue", "surface.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compiled, problems := surfaces.Compile(src, snap, surfaces.ProjectFacts{Signing: surfaces.SigningAsymmetric})
	if compiled == nil {
		t.Fatal(problems)
	}
	b := setupOver(t, run)
	ep := b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Title, c.Instructions, c.Tools = compiled.Title, compiled.Instructions, compiled.Tools
	})
	b.caller(ep, "alice", "alice", "crm.read", "crm.write")
	b.auth.callers["Bearer alice"].Claims = json.RawMessage(`{"sub":"a11ce000-0000-4000-8000-000000000001","app_metadata":{"organization_id":"a11ce000-0000-4000-8000-00000000000a"}}`)
	return b
}

// ask is what the client sends: initialize or server/discover, then tools/list.
func (p profile) ask(t *testing.T, b *bundle) catalogue {
	t.Helper()
	hello, list := modern("server/discover", "", ""), modern("tools/list", "", "")
	if p.version < version20260728 {
		hello = request{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + p.version + `","capabilities":{},"clientInfo":{"name":"` + p.file + `","version":"1"}}}`}
		list = legacy(p.version, "tools/list", "{}")
		if p.bare {
			list.header = nil
		}
	}
	c := catalogue{List: map[string]json.RawMessage{}}
	result := func(q request, into any) {
		t.Helper()
		res := b.send(q.as("alice"))
		answer := struct {
			Result any `json:"result"`
		}{into}
		if err := json.Unmarshal([]byte(bodyOf(t, res)), &answer); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v", res.StatusCode, err)
		}
	}
	result(hello, &c.Hello)
	result(list, &c.List)
	if err := json.Unmarshal(c.List["tools"], &c.Tools); err != nil || c.List["nextCursor"] != nil {
		t.Fatalf("%v, or there is another page", err)
	}
	delete(c.List, "tools")
	return c
}

// greeting is what a client reads of the hello.
func (c catalogue) greeting(t *testing.T) (version, instructions string) {
	t.Helper()
	var said struct {
		ProtocolVersion string `json:"protocolVersion"`
		Instructions    string `json:"instructions"`
	}
	if err := json.Unmarshal(c.Hello, &said); err != nil {
		t.Fatal(err)
	}
	return said.ProtocolVersion, said.Instructions
}

// TestCatalogueOfEveryClient keeps what each client is told of one surface that
// has every kind of tool, and holds it against what that client copes with.
func TestCatalogueOfEveryClient(t *testing.T) {
	t.Parallel()
	b := catalogueBundle(t, nil)
	common := profiles[0].ask(t, b).Tools
	catalogueGolden(t, "tools", common)
	for _, p := range profiles {
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			got := p.ask(t, b)
			version, instructions := got.greeting(t)
			if p.version < version20260728 && version != p.version {
				t.Errorf("negotiated %s", version)
			}
			var names []string
			for _, raw := range got.Tools {
				var tool listed
				if err := json.Unmarshal(raw, &tool); err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
				fitsEveryClient(t, tool)
			}
			if len(names) != 16 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
				t.Errorf("tools %q", names)
			}
			for _, l := range surfaces.ClientLimits() {
				if l.Client == p.client && l.Exceeded(serverName, instructions, names) {
					t.Errorf("more than %d %s", l.Most, l.Of)
				}
			}
			if slices.EqualFunc(got.Tools, common, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
				got.Tools = nil
			}
			catalogueGolden(t, p.file, got)
		})
	}
}

// catalogueGolden compares, and writes with -update.
func catalogueGolden(t *testing.T, file string, v any) {
	t.Helper()
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "catalogue", file+".json")
	if *update {
		if err := os.WriteFile(path, raw.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw.Bytes(), want) {
		t.Errorf("%s differs (see -update)", path)
	}
}

// fitsEveryClient holds a tool against the strictest reader there is of each
// part of it.
func fitsEveryClient(t *testing.T, tool listed) {
	t.Helper()
	if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(tool.Name) || tool.Title == "" || tool.Description == "" {
		t.Errorf("%q: title %q, description %q", tool.Name, tool.Title, tool.Description)
	}
	for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		if _, stated := tool.Annotations[hint].(bool); !stated {
			t.Errorf("%s does not state %s", tool.Name, hint)
		}
	}
	for what, raw := range map[string]json.RawMessage{"input": tool.InputSchema, "output": tool.OutputSchema} {
		if len(raw) == 0 && what == "output" {
			continue
		}
		if err := surfaces.CheckSchema(raw); err != nil {
			t.Errorf("%s %s: %v", tool.Name, what, err)
		}
		var root map[string]any
		if err := json.Unmarshal(raw, &root); err != nil {
			t.Fatalf("%s %s: %v", tool.Name, what, err)
		}
		if root["type"] != "object" || what == "input" && root["additionalProperties"] != false {
			t.Errorf("%s: the root of its %s is %s", tool.Name, what, raw)
		}
		for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "if"} {
			if root[key] != nil {
				t.Errorf("%s: its %s has %s at the root", tool.Name, what, key)
			}
		}
		readableSchema(t, tool.Name+" "+what, root)
	}
}

// readableSchema walks what some client does not read.
func readableSchema(t *testing.T, where string, v any) {
	t.Helper()
	s, ok := v.(map[string]any)
	if !ok {
		t.Errorf("%s is %T, no schema", where, v)
		return
	}
	for _, key := range []string{"$schema", "$ref", "$defs", "$id", "definitions", "prefixItems", "nullable", "oneOf", "allOf", "not", "if", "const", "format"} {
		if s[key] != nil {
			t.Errorf("%s uses %s", where, key)
		}
	}
	if _, list := s["type"].([]any); list {
		t.Errorf("%s has a list of types", where)
	}
	if s["type"] == "array" && s["items"] == nil {
		t.Errorf("%s is a list without items", where)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		if !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name) {
			t.Errorf("%s has a property %q", where, name)
		}
		readableSchema(t, where+"."+name, p)
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if properties[name.(string)] == nil {
			t.Errorf("%s requires %v", where, name)
		}
	}
	if s["items"] != nil {
		readableSchema(t, where+"[]", s["items"])
	}
	alternatives, _ := s["anyOf"].([]any)
	for _, a := range alternatives {
		readableSchema(t, where, a)
	}
}

func TestEveryClientWithALimitHasACatalogue(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "client-compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range profiles {
		known[p.client] = true
		if !strings.Contains(string(page), "\n| "+p.client+" | ") {
			t.Errorf("%s is not on the page of clients", p.client)
		}
	}
	for _, l := range surfaces.ClientLimits() {
		if !known[l.Client] {
			t.Errorf("%s has a limit and no catalogue", l.Client)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "catalogue", "*.json"))
	if err != nil || len(files) != len(profiles)+1 { // tools.json is everybody's
		t.Errorf("%d catalogues of %d clients, %v", len(files), len(profiles), err)
	}
}

// TestField62_SchemasAreTheSameInEveryVersion: the tools differ by version in
// nothing that a validator reads.
func TestField62_SchemasAreTheSameInEveryVersion(t *testing.T) {
	t.Parallel()
	b := catalogueBundle(t, nil)
	var first catalogue
	for _, version := range []string{version20250326, version20250618, version20251125, version20260728} {
		got := profile{file: "any", version: version}.ask(t, b)
		if first.Tools == nil {
			first = got
		}
		for i, raw := range got.Tools {
			var a, b listed
			if json.Unmarshal(first.Tools[i], &a) != nil || json.Unmarshal(raw, &b) != nil {
				t.Fatal("a tool is no object")
			}
			if !bytes.Equal(a.InputSchema, b.InputSchema) || !bytes.Equal(a.OutputSchema, b.OutputSchema) {
				t.Errorf("%s: %s has other schemas", version, b.Name)
			}
		}
	}
}
