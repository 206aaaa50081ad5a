package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestRevisionIsBuiltOnceForManyRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	waiting := make(chan struct{})
	b.directory.load = func(*tenants.Endpoint) error { <-waiting; return nil }
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if res := b.send(modern("tools/list", "", "").as("alice")); res.StatusCode != http.StatusOK {
				t.Errorf("status %d", res.StatusCode)
			}
		})
	}
	close(waiting)
	wg.Wait()
	if b.directory.loads > 2 { // one flight, and at most one request that came between it and the cache
		t.Fatalf("loaded %d times", b.directory.loads)
	}
	b.send(modern("tools/list", "", "").as("alice"))
	if b.directory.loads > 2 {
		t.Fatal("loaded again")
	}
}

func TestPublishShowsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", nil)
	b.caller(ep, "alice", "alice")
	b.send(modern("tools/list", "", "").as("alice"))
	next := *ep
	next.Revision, next.Digest = 2, strings.Repeat("b", 64)
	b.directory.put(&next, &surfaces.Compiled{Title: "Acme", Access: ep.Access, Tools: []surfaces.Tool{testTool("notes_list")}})
	res := b.send(modern("tools/list", "", "").as("alice"))
	if body := bodyOf(t, res); !strings.Contains(body, "notes_list") || strings.Contains(body, "zebra") || res.Header.Get("Chumbo-Revision") != "2" {
		t.Fatalf("body %s", body)
	}
}

func TestFailedLoadIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	b.directory.load = func(*tenants.Endpoint) error { return errors.New("connection reset") }
	if res := b.send(modern("tools/list", "", "").as("alice")); res.StatusCode != http.StatusInternalServerError {
		t.Fatalf("status %d", res.StatusCode)
	}
	b.directory.load = nil
	if res := b.send(modern("tools/list", "", "").as("alice")); res.StatusCode != http.StatusOK {
		t.Fatalf("status %d", res.StatusCode)
	}
}

func TestField57_ABrokenToolIsLeftOutAndTheOthersStay(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{
		"no schema":        ``,
		"not an object":    `{}`,
		"type array":       `{"type":["object"]}`,
		"unknown type":     `{"type":"object","properties":{"a":{"type":"integr"}}}`,
		"bad header":       `{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}`,
		"file reference":   `{"type":"object","properties":{"a":{"$ref":"file:///etc/hostname"}}}`,
		"remote reference": `{"type":"object","properties":{"a":{"$ref":"https://evil.example.test/s.json"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) { c.Tools[0].Input = json.RawMessage(input) }), "alice", "alice")
			body := bodyOf(t, b.send(modern("tools/list", "", "").as("alice")))
			if strings.Contains(body, "zebra_list") || !strings.Contains(body, "customers_list") {
				t.Fatalf("list %s", body)
			}
			if body := bodyOf(t, b.send(modern("tools/call", "zebra_list", `"name":"zebra_list"`).as("alice"))); !strings.Contains(body, unknownTool) {
				t.Fatalf("call %s", body)
			}
			if !strings.Contains(b.logs.String(), "tool left out") {
				t.Fatal("nothing logged")
			}
		})
	}
}

func TestSchemaDialectIsDroppedForOldVersions(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`: `{"type":"object"}`,
		`{"type":"object", "$schema": "x"}`:                                          `{"type":"object"}`,
		`{"type":"object","$schema":"x","properties":{"$schema":{"type":"string"}}}`: `{"type":"object","properties":{"$schema":{"type":"string"}}}`,
		`{"$schema":"x"}`:                     `{}`,
		`{"type":"object","title":"$schema"}`: `{"type":"object","title":"$schema"}`,
	} {
		got, ok := dropDialect(json.RawMessage(in)).(json.RawMessage)
		if !ok || string(got) != want {
			t.Errorf("%s became %s", in, got)
		}
	}
	b := setup(t)
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Tools[0].Input = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`)
	}), "alice", "alice")
	for version, want := range map[string]bool{version20250618: false, version20251125: true} {
		if body := bodyOf(t, b.send(legacy(version, "tools/list", "{}").as("alice"))); strings.Contains(body, "$schema") != want {
			t.Errorf("%s: %s", version, body)
		}
	}
}

func TestCacheStaysWithinItsBound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.handler.cfg
	cfg.CacheBytes = 1 << 20
	s, err := newRevisions(cfg, b.runner)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		ep := b.surface(fmt.Sprintf("surface-%d", i), nil)
		if _, err := s.of(t.Context(), ep); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.cache.bytes; got > 1<<20 || got == 0 {
		t.Fatalf("%d bytes", got)
	}
}

// TestCacheWeighsHonestly compares the estimate with what entries really take.
func TestCacheWeighsHonestly(t *testing.T) {
	b := setup(t)
	s, err := newRevisions(b.handler.cfg, b.runner)
	if err != nil {
		t.Fatal(err)
	}
	surface := b.surface("acme", nil).Surface
	for _, tools := range []int{1, 20} {
		before := heap()
		compiled := make([]*surfaces.Compiled, 100)
		for i := range compiled {
			compiled[i] = &surfaces.Compiled{Title: "Acme"}
			for j := range tools {
				compiled[i].Tools = append(compiled[i].Tools, testTool(fmt.Sprintf("tool_%d", j)))
			}
		}
		built := make([]*revision, len(compiled))
		estimate := 0
		for i := range built {
			built[i] = s.build(compiled[i], surface)
			estimate += built[i].bytes
		}
		measured := int(heap() - before)
		runtime.KeepAlive(built)
		t.Logf("%d tools: %d bytes measured, %d estimated", tools, measured/len(built), estimate/len(built))
		if measured > estimate || measured < estimate/4 {
			t.Errorf("%d tools: %d bytes measured, %d estimated", tools, measured/len(built), estimate/len(built))
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestField103_EveryCacheableResultIsPrivate finds the cacheable results in
// the SDK's own source, so that a new one cannot slip through.
func TestField103_EveryCacheableResultIsPrivate(t *testing.T) {
	t.Parallel()
	known := map[string]mcp.CacheableResult{
		"DiscoverResult": &mcp.DiscoverResult{}, "ListToolsResult": &mcp.ListToolsResult{}, "ListPromptsResult": &mcp.ListPromptsResult{},
		"ListResourcesResult": &mcp.ListResourcesResult{}, "ListResourceTemplatesResult": &mcp.ListResourceTemplatesResult{}, "ReadResourceResult": &mcp.ReadResourceResult{},
	}
	found := cacheableTypes(t)
	if len(found) != len(known) {
		t.Errorf("the SDK has %v", found)
	}
	for _, name := range found {
		if known[name] == nil {
			t.Errorf("%s is new", name)
			continue
		}
		if keptPrivate(known[name]) == nil {
			t.Errorf("%s without private scope passes", name)
		}
	}
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	for _, method := range []string{"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		body := bodyOf(t, b.send(modern(method, "", "").as("alice")))
		if !strings.Contains(body, `"cacheScope":"private"`) || !strings.Contains(body, `"ttlMs":300000`) {
			t.Errorf("%s: %s", method, body)
		}
	}
}

// cacheableTypes lists the structs of the SDK that embed Cacheable.
func cacheableTypes(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/go-sdk/mcp").Output()
	if err != nil {
		t.Fatalf("find the SDK's source: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok && embedsCacheable(body) {
				names = append(names, spec.Name.Name)
			}
			return true
		})
	}
	slices.Sort(names)
	return names
}

func embedsCacheable(body *ast.StructType) bool {
	for _, field := range body.Fields.List {
		if name, ok := field.Type.(*ast.Ident); ok && len(field.Names) == 0 && name.Name == "Cacheable" {
			return true
		}
	}
	return false
}

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	good := setup(t).handler.cfg
	for name, spoil := range map[string]func(*Config){
		"directory": func(c *Config) { c.Directory = nil }, "hosts": func(c *Config) { c.Hosts = nil },
		"authenticator": func(c *Config) { c.Authenticator = nil }, "recorder": func(c *Config) { c.Recorder = nil },
		"connect": func(c *Config) { c.Connect = nil }, "logger": func(c *Config) { c.Logger = nil },
		"clock": func(c *Config) { c.Now = nil }, "version": func(c *Config) { c.Version = "" }, "cache": func(c *Config) { c.CacheBytes = -1 },
		"limiter": func(c *Config) { c.Limiter = nil }, "keys of steps": func(c *Config) { c.Keys = nil },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := newHandler(cfg, &scriptedRunner{}); err == nil {
			t.Errorf("%s may be missing", name)
		}
	}
	good.Bridge, good.Steps, good.Clients = nil, nil, nil
	if _, err := newHandler(good, &scriptedRunner{}); err != nil {
		t.Errorf("without a bridge: %v", err)
	}
	if _, err := NewHandler(good); err == nil {
		t.Error("the real runner may be missing its client")
	}
}
