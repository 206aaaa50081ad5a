package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const nodeFolder = "../../test/node"

// nodeProgram is the Node of test/node. Where its packages are not installed
// the test is skipped on a developer's machine, and fails in CI.
func nodeProgram(t testing.TB) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(nodeFolder, "node_modules/node/bin/node"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("test/node is not installed: %v", err)
		}
		t.Skip("npm install --no-save --prefix test/node installs what this test needs")
	}
	return program
}

func TestTypeScriptClientWalksFromChallengeToRows(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	for _, mode := range []string{"auto", "legacy"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			result := runTypeScriptClient(t, node, "client.mjs", running.MCPURL, mode)
			if !slices.Contains(result.Tools, "customers_list") || !slices.Contains(result.Tools, "customers_get") {
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
			if want := map[string]string{"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]; result.Protocol != want {
				t.Errorf("protocol %q, want %q", result.Protocol, want)
			}
		})
	}
}

type tsPage struct {
	Items []map[string]any `json:"items"`
}

type tsResult struct {
	Protocol      string   `json:"protocol"`
	Tools         []string `json:"tools"`
	Page          tsPage   `json:"page"`
	After         tsPage   `json:"after"`
	Refreshed     bool     `json:"refreshed"`
	Registrations int      `json:"registrations"`
}

// runTypeScriptClient runs a script of test/node against a surface, as Bob.
func runTypeScriptClient(t *testing.T, node, script, surface, mode string) (result tsResult) {
	t.Helper()
	config := map[string]any{"url": surface, "mode": mode, "tool": "customers_list", "arguments": map[string]any{"limit": 5}}
	driveNode(t, node, script, config, newPerson(t, "bob@example.test"), &result)
	return result
}

// driveNode runs a script of test/node, signs the person in where it asks for
// that, and reads its result.
func driveNode(t *testing.T, node, script string, config any, who *person, result any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, node, script, string(told))
	cmd.Dir = nodeFolder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
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
	defer func() { _ = cmd.Wait() }()
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var message struct {
			Authorize string          `json:"authorize"`
			Result    json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(lines.Bytes(), &message); err != nil {
			t.Fatalf("client said %q: %v", lines.Text(), err)
		}
		if message.Result != nil {
			if err := json.Unmarshal(message.Result, result); err != nil {
				t.Fatalf("client ended with %s: %v", message.Result, err)
			}
			return
		}
		back, err := who.authorize(ctx, message.Authorize)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := json.Marshal(map[string]string{"callback": back.Encode()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stdin.Write(append(answer, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("the client ended early: %s", stderr.String())
}
