package web

import "encoding/json"

// server is one entry of a client's configuration.
type server struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	URL  string `json:"url"`
}

// cursorConfig is what ~/.cursor/mcp.json holds for the surface.
func cursorConfig(p ConnectPage) string {
	return inJSON(map[string]map[string]server{"mcpServers": {p.ServerName: {URL: p.ResourceURL}}})
}

// vscodeConfig is the argument of code --add-mcp. Names and URLs of surfaces
// hold no quotes, so single quotes around it are safe in a shell.
func vscodeConfig(p ConnectPage) string {
	return inJSON(server{Name: p.ServerName, Type: "http", URL: p.ResourceURL})
}

func inJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("web: " + err.Error()) // strings always marshal
	}
	return string(b)
}
