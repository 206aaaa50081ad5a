package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// TestTypeScriptClientsMeetTheBridge runs the official clients of both major
// versions, as they are on npm.
func TestTypeScriptClientsMeetTheBridge(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	for name, c := range map[string]struct{ script, mode string }{
		"v2 auto": {"client.mjs", "auto"}, "v2 legacy": {"client.mjs", "legacy"}, "v1": {"client-v1.mjs", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := runTypeScriptClient(t, node, c.script, running.BridgeURL, c.mode)
			if !slices.Contains(result.Tools, "customers_list") {
				t.Errorf("tools: %v", result.Tools)
			}
			for _, page := range []tsPage{result.Page, result.After} {
				if len(page.Items) == 0 {
					t.Fatal("Bob sees no customers")
				}
				for _, item := range page.Items {
					requireOwner(t, item, "Globex")
				}
			}
			if !result.Refreshed {
				t.Error("the client did not refresh after a 401")
			}
			if result.Registrations != 1 {
				t.Errorf("registrations: %d, want 1", result.Registrations)
			}
		})
	}
}

// TestGoClientMeetsTheBridge walks the official Go client through the bridge.
func TestGoClientMeetsTheBridge(t *testing.T) {
	t.Parallel()
	for _, protocol := range eras {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			session, w, _ := goClientAt(t, running.BridgeURL, newPerson(t, standin.AliceEmail), protocol)
			items := listAll(t, session)
			if len(items) == 0 {
				t.Fatal("Alice sees no customers")
			}
			for _, item := range items {
				requireOwner(t, item, "Acme")
			}
			requests := strings.Join(w.requests(), "\n")
			for _, want := range []string{"/.well-known/oauth-authorization-server/crm/bridge/mcp 200", "/crm/bridge/mcp/oauth/register 201", "/crm/bridge/mcp/oauth/token 200"} {
				if !strings.Contains(requests, want) {
					t.Errorf("not asked: %s\n%s", want, requests)
				}
			}
		})
	}
}

// freePort is a loopback port that nobody listens on just now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own port
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// watched is what a program says, and the first authorization URL in it.
type watched struct {
	mu    sync.Mutex
	text  strings.Builder
	found chan string
	once  sync.Once
}

func newWatched() *watched { return &watched{found: make(chan string, 1)} }

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if lines := w.text.String(); strings.Contains(lines, "/connect/authorize/") {
		if start := authorizeLine.FindString(lines[:strings.LastIndex(lines, "\n")+1]); start != "" {
			w.once.Do(func() { w.found <- start })
		}
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// deliver waits for the authorization URL and walks a person through it.
func (w *watched) deliver(ctx context.Context, who *person) error {
	select {
	case start := <-w.found:
		return who.deliver(ctx, start)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noBrowser is an environment in which programs open no browser of their own.
func noBrowser(t *testing.T) []string {
	t.Helper()
	return append(os.Environ(), "BROWSER=true", "HOME="+t.TempDir())
}

// TestMCPRemoteMeetsTheBridge runs mcp-remote as desktop apps do: JSON-RPC on
// its standard input, a browser for the person.
func TestMCPRemoteMeetsTheBridge(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "node_modules/mcp-remote/dist/proxy.js", running.BridgeURL, freePort(t), "--auth-timeout", "100")
	cmd.Dir, cmd.Env = nodeFolder, append(noBrowser(t), "MCP_REMOTE_CONFIG_DIR="+t.TempDir())
	said := newWatched()
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stdin.Close()
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	}()
	if err := said.deliver(ctx, newPerson(t, standin.AliceEmail)); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(stdout)
	answers.Buffer(nil, 1<<20)
	exchange := func(message, want string) {
		t.Helper()
		if _, err := io.WriteString(stdin, message+"\n"); err != nil {
			t.Fatal(err)
		}
		for want != "" && answers.Scan() {
			if strings.Contains(answers.Text(), `"id":`) {
				if !strings.Contains(answers.Text(), want) || strings.Contains(answers.Text(), "Globex") {
					t.Fatalf("answer to %s: %s", message, answers.Text())
				}
				return
			}
		}
		if want != "" {
			t.Fatal("mcp-remote ended")
		}
	}
	exchange(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}`, `"serverInfo"`)
	exchange(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
	exchange(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "customers_list")
	exchange(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"customers_list","arguments":{"limit":3}}}`, "Acme")
}

// TestInspectorMeetsTheBridge runs the Inspector's command line.
func TestInspectorMeetsTheBridge(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
		"--cli", "--transport", "http", "--server-url", running.BridgeURL, "--method", "tools/call", "--tool-name", "customers_list", "--tool-arg", "limit=3")
	cmd.Dir, cmd.Env = nodeFolder, append(noBrowser(t), "MCP_AUTO_OPEN_ENABLED=true")
	out := newWatched()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := out.deliver(ctx, newPerson(t, standin.AliceEmail)); err != nil {
		cancel()
		_ = cmd.Wait()
		t.Fatalf("%v\n%s", err, out.String())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "Acme") || strings.Contains(out.String(), "Globex") {
		t.Errorf("the call answered %s", out.String())
	}
}

var authorizeLine = regexp.MustCompile(`https?://\S*/connect/authorize/\S+`)

// TestConformanceOfTheAuthorizationServer runs the official suite's scenarios
// for authorization servers against the demo's bridge: metadata, and the
// authorization code grant with a person in the middle.
func TestConformanceOfTheAuthorizationServer(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	port := freePort(t)
	var client struct {
		ClientID string `json:"client_id"`
	}
	postJSON(t, running.BridgeURL+"/oauth/register", map[string]any{
		"client_name": "Conformance suite", "redirect_uris": []string{"http://127.0.0.1:" + port + "/callback"}, "token_endpoint_auth_method": "none",
	}, &client)
	folder := t.TempDir()
	cmd := exec.CommandContext(ctx, node, "node_modules/@modelcontextprotocol/conformance/dist/index.js", "authorization",
		"--url", running.BridgeURL, "--client-id", client.ClientID, "--resource", running.BridgeURL, "--port", port, "-o", folder)
	cmd.Dir = nodeFolder
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if start := authorizeLine.FindString(lines.Text()); start != "" {
			if err := newPerson(t, standin.AliceEmail).deliver(ctx, start); err != nil {
				cancel()
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	statuses := map[string]string{}
	err = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []struct{ ID, Status string }
		if err := json.Unmarshal(raw, &checks); err != nil {
			return err
		}
		for _, c := range checks {
			statuses[c.ID] = c.Status
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"authorization-server-metadata", "authorization-server-metadata-cimd", "authorization-code-grant"} {
		if statuses[want] != "SUCCESS" {
			t.Errorf("%s: %q in %v\n%s", want, statuses[want], statuses, text.String())
		}
	}
	for id, status := range statuses {
		if status != "SUCCESS" && status != "INFO" {
			t.Errorf("%s: %s\n%s", id, status, text.String())
		}
	}
}
