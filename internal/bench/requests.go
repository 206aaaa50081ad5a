package main

import (
	"fmt"
	"net/http"
)

// era is one of the two ways MCP is spoken today.
type era string

const (
	modern era = "2026-07-28" // stateless, headers name method and tool
	legacy era = "2025-11-25"
)

// operation is one JSON-RPC request.
type operation struct {
	label  string
	method string
	tool   string // for tools/call
	params string // inner members of params, without braces
}

var (
	listTools = operation{label: "tools/list", method: "tools/list"}
	callGet   = operation{label: "tools/call, one row", method: "tools/call", tool: "t0_get", params: `"name":"t0_get","arguments":{"id":"1"}`}
	callList  = operation{label: "tools/call, page of 20", method: "tools/call", tool: "t0_list", params: `"name":"t0_list","arguments":{}`}
)

// The ways to the Data API, of waysFile.
var dataCalls = []operation{
	{label: "list of 20", method: "tools/call", tool: "t0_list", params: `"name":"t0_list","arguments":{}`},
	{label: "get", method: "tools/call", tool: "t0_get", params: `"name":"t0_get","arguments":{"id":"1"}`},
	{label: "update", method: "tools/call", tool: "t0_update", params: `"name":"t0_update","arguments":{"id":"1","patch":{"status":"active"}}`},
	{label: "rpc", method: "tools/call", tool: "one_row", params: `"name":"one_row","arguments":{"id":"1"}`},
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func (o operation) body(e era) []byte {
	params := o.params
	if e == modern {
		if params != "" {
			params += ","
		}
		params += meta
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, o.method, params)
}

func (o operation) header(e era, token string) http.Header {
	h := http.Header{
		"Content-Type":         {"application/json"},
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {string(e)},
	}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	if e == modern {
		h.Set("Mcp-Method", o.method)
		if o.tool != "" {
			h.Set("Mcp-Name", o.tool)
		}
	}
	return h
}
