package web

import "strings"

// What each client wants to be told to send a key. None of it holds the key:
// what reads the environment names keyVariable.

// bearing is the header with a key, given as the client looks it up.
func bearing(key string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + key}
}

// keyVariable is the environment variable that the key is to stand in.
func keyVariable(p ConnectPage) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		case c == '-':
			return '_'
		}
		return -1
	}, p.ServerName)
	if name == "" || name[0] < 'A' {
		return "MCP_KEY"
	}
	return name + "_KEY"
}

// keyExport puts it there.
func keyExport(p ConnectPage) string { return "export " + keyVariable(p) + "=YOUR_KEY" }

// claudeCodeKeyCommand adds the surface to Claude Code. Its --header takes all
// words that follow, so it comes last.
func claudeCodeKeyCommand(p ConnectPage) string {
	return claudeCodeCommand(p) + ` --header "Authorization: Bearer $` + keyVariable(p) + `"`
}

// claudeCodeKeyConfig is what .mcp.json of a repository holds.
func claudeCodeKeyConfig(p ConnectPage) string {
	return inJSON(serversByName{"mcpServers": {p.ServerName: {Type: "http", URL: p.ResourceURL, Headers: bearing("${" + keyVariable(p) + "}")}}})
}

// cursorKeyConfig is what ~/.cursor/mcp.json holds.
func cursorKeyConfig(p ConnectPage) string {
	return inJSON(serversByName{"mcpServers": {p.ServerName: {URL: p.ResourceURL, Headers: bearing("${env:" + keyVariable(p) + "}")}}})
}

// asked is a value that VS Code asks for and keeps.
type asked struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	Description string `json:"description"`
	Password    bool   `json:"password"`
}

// vscodeKeyConfig is what .vscode/mcp.json of a repository holds.
func vscodeKeyConfig(p ConnectPage) string {
	const key = "mcp-key"
	return inJSON(struct {
		Servers map[string]server `json:"servers"`
		Inputs  []asked           `json:"inputs"`
	}{
		map[string]server{p.ServerName: {Type: "http", URL: p.ResourceURL, Headers: bearing("${input:" + key + "}")}},
		[]asked{{Type: "promptString", ID: key, Description: "Key of " + p.title(), Password: true}},
	})
}

// codexKeyCommand adds the surface to Codex.
func codexKeyCommand(p ConnectPage) string {
	return codexCommand(p) + " --bearer-token-env-var " + keyVariable(p)
}

// codexKeyConfig is what ~/.codex/config.toml holds. It must not hold the key.
func codexKeyConfig(p ConnectPage) string {
	return codexConfig(p) + "\nbearer_token_env_var = " + compactJSON(keyVariable(p))
}

// geminiKeyCommand adds the surface to Gemini CLI, which looks the variable up
// itself.
func geminiKeyCommand(p ConnectPage) string {
	return "gemini mcp add --transport http --header 'Authorization: Bearer ${" + keyVariable(p) + "}' " + shellWord(p.ServerName) + " " + shellWord(p.ResourceURL)
}

// geminiKeyConfig is what ~/.gemini/settings.json holds.
func geminiKeyConfig(p ConnectPage) string {
	return inJSON(serversByName{"mcpServers": {p.ServerName: {HTTPURL: p.ResourceURL, Headers: bearing("${" + keyVariable(p) + "}")}}})
}

// remoteKeyConfig is for apps that start a program. The header has no space in
// it, since some of them split arguments at spaces; mcp-remote puts the
// variable's value in.
func remoteKeyConfig(p ConnectPage) string {
	return inJSON(serversByName{"mcpServers": {p.ServerName: {
		Command: "npx", Args: []string{"-y", "mcp-remote", p.ResourceURL, "--header", "Authorization:${AUTH_HEADER}"},
		Env: map[string]string{"AUTH_HEADER": "Bearer YOUR_KEY"},
	}}})
}

// inspectorKeyCommand lists the tools with the Inspector.
func inspectorKeyCommand(p ConnectPage) string {
	return inspectorCommand(p) + ` --header "Authorization: Bearer $` + keyVariable(p) + `"`
}
