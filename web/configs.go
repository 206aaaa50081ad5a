package web

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/a-h/templ"
)

// What each client wants to be told, in its own format. All of it is made from
// the page's server name and URL only.

// server is one entry of a client's configuration.
type server struct {
	Name    string   `json:"name,omitempty"`
	Type    string   `json:"type,omitempty"`
	URL     string   `json:"url,omitempty"`
	HTTPURL string   `json:"httpUrl,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`

	Headers map[string]string `json:"headers,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

type serversByName map[string]map[string]server

// claudeCodeCommand adds the surface to Claude Code.
func claudeCodeCommand(p ConnectPage) string {
	return "claude mcp add --transport http " + shellWord(p.ServerName) + " " + shellWord(p.ResourceURL)
}

// claudeCodeConfig is what .mcp.json of a repository holds.
func claudeCodeConfig(p ConnectPage) string {
	return inJSON(serversByName{"mcpServers": {p.ServerName: {Type: "http", URL: p.ResourceURL}}})
}

// cursorLink installs the surface in Cursor.
func cursorLink(p ConnectPage) templ.SafeURL {
	entry := base64.StdEncoding.EncodeToString([]byte(compactJSON(server{URL: p.ResourceURL})))
	return templ.SafeURL("cursor://anysphere.cursor-deeplink/mcp/install?name=" + component(p.ServerName) + "&config=" + component(entry))
}

// cursorConfig is what ~/.cursor/mcp.json holds.
func cursorConfig(p ConnectPage) string {
	return inJSON(serversByName{"mcpServers": {p.ServerName: {URL: p.ResourceURL}}})
}

// The schemes of VS Code's installation links.
const (
	vscode         = "vscode"
	vscodeInsiders = "vscode-insiders"
)

// vscodeLink installs the surface in VS Code.
func vscodeLink(p ConnectPage, scheme string) templ.SafeURL {
	return templ.SafeURL(scheme + ":mcp/install?" + component(vscodeServer(p)))
}

// vscodeCommand does the same from a terminal.
func vscodeCommand(p ConnectPage) string { return "code --add-mcp " + shellWord(vscodeServer(p)) }

func vscodeServer(p ConnectPage) string {
	return compactJSON(server{Name: p.ServerName, Type: "http", URL: p.ResourceURL})
}

// vscodeConfig is what .vscode/mcp.json of a repository holds.
func vscodeConfig(p ConnectPage) string {
	return inJSON(serversByName{"servers": {p.ServerName: {Type: "http", URL: p.ResourceURL}}})
}

// codexCommand adds the surface to Codex.
func codexCommand(p ConnectPage) string {
	return "codex mcp add " + shellWord(p.ServerName) + " --url " + shellWord(p.ResourceURL)
}

// codexSignIn signs in there.
func codexSignIn(p ConnectPage) string { return "codex mcp login " + shellWord(p.ServerName) }

// codexConfig is what ~/.codex/config.toml holds. JSON's strings are TOML's
// basic strings.
func codexConfig(p ConnectPage) string {
	return "[mcp_servers." + tomlKey(p.ServerName) + "]\nurl = " + compactJSON(p.ResourceURL)
}

// geminiCommand adds the surface to Gemini CLI.
func geminiCommand(p ConnectPage) string {
	return "gemini mcp add --transport http " + shellWord(p.ServerName) + " " + shellWord(p.ResourceURL)
}

// geminiConfig is what ~/.gemini/settings.json holds.
func geminiConfig(p ConnectPage) string {
	return inJSON(serversByName{"mcpServers": {p.ServerName: {HTTPURL: p.ResourceURL}}})
}

// remoteConfig is for apps that start a program: mcp-remote speaks to the
// surface for them. Its own limit for a sign-in is 30 s, too short for
// somebody who has to make an account first.
func remoteConfig(p ConnectPage) string {
	return inJSON(serversByName{"mcpServers": {p.ServerName: {
		Command: "npx", Args: []string{"-y", "mcp-remote", p.ResourceURL, "--auth-timeout", "300"},
	}}})
}

// inspectorCommand lists the tools with the Inspector.
func inspectorCommand(p ConnectPage) string {
	return "npx @modelcontextprotocol/inspector --cli --transport http --server-url " + shellWord(p.ResourceURL) + " --method tools/list"
}

// inJSON is for people to read and paste.
func inJSON(v any) string { return marshalled(v, "  ") }

func compactJSON(v any) string { return marshalled(v, "") }

func marshalled(v any, indent string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the page escapes once
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		panic("web: " + err.Error()) // strings always marshal
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// component escapes like JavaScript's encodeURIComponent, and a little more.
func component(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// shellWord is one word for a POSIX shell, quoted where it must be.
func shellWord(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:@%+,", c)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// tomlKey is a bare key where it can be.
func tomlKey(s string) string {
	bare := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if s != "" && strings.TrimFunc(s, bare) == "" {
		return s
	}
	return compactJSON(s)
}
