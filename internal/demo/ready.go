package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// ready is what -ready-file holds: all a program needs to connect.
type ready struct {
	ServerURL      string      `json:"server_url"`
	DashboardURL   string      `json:"dashboard_url"`
	MCPURL         string      `json:"mcp_url"`
	ProjectURL     string      `json:"project_url"`
	PublishableKey string      `json:"publishable_key"`
	ConformanceURL string      `json:"conformance_url"`
	BridgeURL      string      `json:"bridge_url"`
	DeskURL        string      `json:"desk_url"`
	AssistantURL   string      `json:"assistant_url"`
	Users          []readyUser `json:"users"`
	Owner          readyUser   `json:"owner"` // of the dashboard
	APIToken       string      `json:"api_token"`
	DatabaseURL    string      `json:"database_url"`
}

type readyUser struct {
	Email        string `json:"email"`
	Password     string `json:"password"`
	Organization string `json:"organization"`
}

// write puts the file in place whole: a reader never sees half of it.
func (r *ready) write(path string) error {
	if path == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode ready file: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	_, err = tmp.Write(append(b, '\n'))
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("write ready file: %w", err)
	}
	return nil
}

// clearReadyFile makes sure, before anything is started, that the file can be
// written, and that one of a demo long gone is not taken for ours.
func clearReadyFile(path string) error {
	if path == "" {
		return nil
	}
	if folder, err := os.Stat(filepath.Dir(path)); err != nil || !folder.IsDir() {
		return fmt.Errorf("the ready file cannot be written: there is no folder %s", filepath.Dir(path))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the ready file cannot be written: %w", err)
	}
	return nil
}

func removeReadyFile(path string) {
	if path != "" {
		_ = os.Remove(path)
	}
}

func (r *ready) print(w io.Writer, took time.Duration) {
	_, _ = fmt.Fprintf(w, `
Ready in %.1f s. Everything runs on this machine; Ctrl-C stops it and removes it.

  MCP URL      %s
  Open it in a browser for how to connect; sign in as
`, took.Seconds(), r.BridgeURL)
	for _, u := range r.Users {
		_, _ = fmt.Fprintf(w, "    %-18s  password: %s  (sees only %s)\n", u.Email, u.Password, u.Organization)
	}
	_, _ = fmt.Fprintf(w, `
  Direct         %[12]s
                 the same app, with its own Supabase Auth as the authorization server
  Writing        %[13]s
                 customers and notes that an AI app may also create and change
  Assistant      %[14]s
                 Edge Functions, files, resources and prompts; it asks before it archives
  Claude Code    claude mcp add --transport http crm %[1]s
                 then /mcp, Authenticate
  Inspector      MCP_AUTO_OPEN_ENABLED=true npx @modelcontextprotocol/inspector --cli --transport http \
                   --server-url %[1]s --method tools/list
  curl           curl -i -X POST %[1]s        (the challenge a client starts from)
  No sign-in     %[2]s
                 curl -s %[2]s -H 'Content-Type: application/json' \
                   -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

  Dashboard      %[3]s
                 sign in as %[10]s, password: %[11]s
                 or the chumbo command (docs/cli.md), in an empty folder:
                 export CHUMBO_URL=%[4]s CHUMBO_TOKEN=%[5]s
                 chumbo link --slug %[8]s --project-url %[6]s --publishable-key %[7]s
                 chumbo import --db-url '%[9]s'
                 chumbo status
`, r.BridgeURL, r.ConformanceURL, r.DashboardURL, r.ServerURL, r.APIToken, r.ProjectURL, r.PublishableKey, projectSlug, r.DatabaseURL, r.Owner.Email, r.Owner.Password, r.MCPURL, r.DeskURL, r.AssistantURL)
}
