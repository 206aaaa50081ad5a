package demo

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestReadmeCommandsWork runs the commands of the README's first part as a
// newcomer would type them, against this demo.
func TestReadmeCommandsWork(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	try, _, found := strings.Cut(string(page), "## Use it with your own project")
	if !found {
		t.Fatal("the README has no part about one's own project any more")
	}
	// What each command's output must hold, in the order of the page.
	want := []struct{ prefix, holds string }{
		{"curl -i -X POST", `resource_metadata="` + running.ServerURL + "/.well-known/oauth-protected-resource/crm/bridge/mcp"},
		{"curl -s " + running.ServerURL + "/.well-known/oauth-protected", `"authorization_servers":["` + running.BridgeURL},
		{"curl -s " + running.ServerURL + "/.well-known/oauth-authorization", `"issuer":"` + running.BridgeURL},
		{"curl -s " + running.ServerURL + "/crm/conformance", `"greet"`},
		{"examples/curl/sign-in.sh " + running.BridgeURL + " alice", "Acme Bakery"},
		{"examples/curl/sign-in.sh " + running.MCPURL + " bob", "Globex Bakery"},
		{"examples/curl/sign-in.sh " + running.DeskURL + " alice", "Created."},
		{"examples/curl/sign-in.sh " + running.AssistantURL + " alice", `"month":"2026-11","rows":6`},
		{"npx @modelcontextprotocol/inspector", `"greet"`},
	}
	commands := shellCommands(strings.ReplaceAll(try, "http://localhost:8080", running.ServerURL))
	for _, w := range want {
		t.Run(w.prefix, func(t *testing.T) {
			t.Parallel()
			for _, command := range commands {
				if strings.HasPrefix(command, w.prefix) {
					if out := runShell(t, command); !strings.Contains(out, w.holds) {
						t.Fatalf("%s\ndoes not print %s:\n%s", command, w.holds, out)
					}
					return
				}
			}
			t.Fatalf("the README has no such command; it has %q", commands)
		})
	}
}

// shellCommands are the commands of a page's sh blocks, continued lines
// joined.
func shellCommands(page string) []string {
	var commands []string
	for i, part := range strings.Split(page, "```") {
		block, isShell := strings.CutPrefix(part, "sh\n")
		if i%2 == 0 || !isShell {
			continue
		}
		for _, line := range strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n") {
			if line = strings.TrimSpace(line); line != "" {
				commands = append(commands, line)
			}
		}
	}
	return commands
}

func runShell(t *testing.T, command string) string {
	t.Helper()
	if rest, found := strings.CutPrefix(command, "npx @modelcontextprotocol/inspector"); found {
		command = nodeProgram(t) + " test/node/node_modules/@modelcontextprotocol/inspector/" + "clients/launcher/build/index.js" + rest
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}
