package mcp

import "encoding/json"

// clientCapabilities is what a client said it can be asked (MCP 2026-07-28,
// _meta clientCapabilities).
type clientCapabilities struct {
	form     bool // elicitation of a form
	url      bool // elicitation by a URL
	sampling bool
	roots    bool

	raw json.RawMessage // as sent, for functions that ask; nil where none were
}

// round is what a client brings back from the questions of the round before, as
// it stood in the sealed state and passed every check. The zero round is the
// first.
type round struct {
	answers json.RawMessage // to what an Edge Function asked: an object by key; nil where it asked nothing
	kept    string          // the function's own requestState
}
