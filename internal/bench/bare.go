package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// bareServer is the SDK alone: one cached server, JSON answers, no-op tools
// with the same names and schemas.
type bareServer struct {
	url     string
	handler http.Handler
	close   func()
}

func newBare(tools []surfaces.Tool) bareServer {
	quiet := slog.New(slog.DiscardHandler)
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ServerOptions{Logger: quiet, Capabilities: &mcp.ServerCapabilities{}})
	answer := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}
	for _, t := range tools {
		server.AddTool(&mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Input, OutputSchema: nil},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return answer, nil })
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: quiet})
	s := httptest.NewServer(handler)
	return bareServer{url: s.URL, handler: handler, close: s.Close}
}
