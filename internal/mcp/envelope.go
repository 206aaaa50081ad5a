package mcp

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// maxBatch bounds the messages of one batch (2025-03-26 only).
const maxBatch = 20

// maxProgressToken bounds the token that every notice of progress repeats, in
// bytes; with a longer one nothing is told.
const maxProgressToken = 256

// keys of a request's _meta (MCP 2026-07-28, basic/index).
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaProgress     = "progressToken" // of every version
	metaTraceParent  = "traceparent"
	metaTraceState   = "tracestate"
)

// message is one JSON-RPC 2.0 message as the edge reads it: exact,
// case-sensitive keys, each at most once. The SDK reads the same bytes the
// same way.
type message struct {
	raw      []byte
	id       json.RawMessage // as sent; nil for a notification
	method   string          // empty for a response of the client
	params   []byte          // an object, or nil
	response bool

	name         string // params.name or params.uri, of the methods that have one; of params.ref for completion/complete
	named        bool   // it is there and a string
	ref          string // params.ref.type
	version      string // _meta protocolVersion
	capabilities bool   // _meta clientCapabilities is there
	asked        string // params.protocolVersion of initialize
	client       clientInfo

	progressToken json.RawMessage // _meta progressToken, a short string or a number; nil without
	logLevel      string          // _meta logLevel
	trace         traceContext

	can      clientCapabilities // what _meta clientCapabilities says
	round    brought            // answers to questions, as they came
	answers  bool               // params had members for them
	badRound bool               // which cannot be read
}

// isCall reports whether the message wants an answer.
func (m *message) isCall() bool { return m.id != nil && !m.response }

// parseEnvelope reads a request body: one message, or a batch where that is
// allowed. Errors are *rpcFault with the JSON-RPC code of the refusal.
func parseEnvelope(body []byte, batches bool) (list []message, batch bool, err error) {
	switch err := checkJSON(body); {
	case errors.Is(err, errSyntax):
		return nil, false, refuse(fault.CodeParse, "The body is not valid JSON in UTF-8. Send one JSON-RPC 2.0 message.")
	case errors.Is(err, errDuplicate):
		return nil, false, refuse(fault.CodeInvalidRequest, "A key is given twice in one object. Send each key once.")
	case err != nil:
		return nil, false, refuse(fault.CodeInvalidRequest, "The body is nested too deeply. Send flatter JSON.")
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if trimmed[0] != '[' {
		m, err := parseMessage(bytes.TrimRight(trimmed, " \t\r\n"))
		return []message{m}, false, err
	}
	if !batches {
		return nil, true, refuse(fault.CodeInvalidRequest, "Batches are part of protocol version 2025-03-26 only. Send one message per request.")
	}
	list, err = parseBatch(trimmed)
	return list, true, err
}

func parseBatch(body []byte) ([]message, error) {
	parts := elements(body)
	if len(parts) == 0 || len(parts) > maxBatch {
		return nil, refuse(fault.CodeInvalidRequest, "A batch holds 1 to %d messages.", maxBatch)
	}
	list := make([]message, 0, len(parts))
	ids := make(map[string]bool, len(parts))
	for _, part := range parts {
		m, err := parseMessage(part)
		if err != nil {
			return nil, err
		}
		if m.method == methodInitialize || m.method == methodListen {
			return nil, refuse(fault.CodeInvalidRequest, "%s cannot be part of a batch.", m.method)
		}
		if m.isCall() && ids[string(m.id)] {
			return nil, refuse(fault.CodeInvalidRequest, "Two messages of the batch have the same id.")
		}
		ids[string(m.id)] = true
		list = append(list, m)
	}
	return list, nil
}

func parseMessage(raw []byte) (message, error) {
	m := message{raw: raw}
	if raw[0] != '{' {
		return m, refuse(fault.CodeInvalidRequest, "A JSON-RPC message is an object.")
	}
	versioned, reply := false, false
	for _, field := range members(raw, 0) {
		value := raw[field.start:field.end]
		switch field.key {
		case "jsonrpc":
			versioned = string(value) == `"2.0"`
		case "id":
			if !validID(value) {
				return m, refuse(fault.CodeInvalidRequest, "The id of a request is a string or a number.")
			}
			m.id = value
		case "method":
			method, ok := text(value)
			if !ok || method == "" {
				return m, refuse(fault.CodeInvalidRequest, "The method of a request is a string.")
			}
			m.method = method
		case "params":
			m.params = value
		case "result", "error":
			reply = true
		}
	}
	if !versioned {
		return m, refuse(fault.CodeInvalidRequest, `A JSON-RPC message has "jsonrpc": "2.0".`)
	}
	if m.method == "" {
		m.response = reply
		if !reply || m.id == nil {
			return m, refuse(fault.CodeInvalidRequest, "A request names its method.")
		}
		return m, nil
	}
	return m, m.readParams()
}

// readParams reads what the edge has to know of params.
func (m *message) readParams() error {
	if m.params == nil || string(m.params) == "null" {
		m.params = nil
		return nil
	}
	if m.params[0] != '{' {
		return refuse(fault.CodeInvalidParams, "params is an object.").of(m.id)
	}
	for _, field := range members(m.params, 0) {
		value := m.params[field.start:field.end]
		switch {
		case field.key == targetKeyOf(m.method):
			m.name, m.named = text(value)
		case field.key == "ref" && m.method == methodComplete:
			m.readRef(value)
		case field.key == "_meta":
			m.readMeta(value)
		case field.key == "protocolVersion" && m.method == methodInitialize:
			m.asked, _ = text(value)
		case field.key == "clientInfo" && m.method == methodInitialize:
			m.client = readClient(value)
		case mayAsk(m.method):
			m.readRound(field.key, value)
		}
	}
	if m.answers {
		m.params = without(m.params, memberState, memberResponses)
	}
	return nil
}

func (m *message) readMeta(meta []byte) {
	for _, field := range members(meta, 0) {
		value := meta[field.start:field.end]
		switch field.key {
		case metaVersion:
			m.version, _ = text(value)
		case metaCapabilities:
			m.capabilities = value[0] == '{'
			m.can = readCapabilities(value)
		case metaClient:
			m.client = readClient(value)
		case metaProgress:
			if validID(value) && len(value) <= maxProgressToken {
				m.progressToken = value
			}
		case metaLogLevel:
			m.logLevel, _ = text(value)
		case metaTraceParent:
			m.trace.parent, _ = text(value)
		case metaTraceState:
			m.trace.state, _ = text(value)
		}
	}
}

// readClient reads what a client says of itself, leniently: nothing depends on
// it.
func readClient(value []byte) clientInfo {
	var info clientInfo
	if value[0] != '{' {
		return info
	}
	for _, field := range members(value, 0) {
		s, _ := text(value[field.start:field.end])
		switch field.key {
		case "name":
			info.name = cutBytes(oneLine(s), maxClientText)
		case "version":
			info.version = cutBytes(oneLine(s), maxClientText)
		}
	}
	return info
}

// nameKey is the params key that the Mcp-Name header repeats.
func nameKey(method string) string {
	switch method {
	case methodCallTool, methodGetPrompt:
		return "name"
	case methodReadResource:
		return "uri"
	}
	return ""
}

// targetKeyOf is the params key that names what a method is about, if it has
// one.
func targetKeyOf(method string) string {
	switch method {
	case methodSubscribe, methodUnsubscribe:
		return "uri"
	}
	return nameKey(method)
}

// readRef reads what completion/complete is about.
func (m *message) readRef(ref []byte) {
	var name, uri []byte
	for _, field := range members(ref, 0) {
		value := ref[field.start:field.end]
		switch field.key {
		case "type":
			m.ref, _ = text(value)
		case "name":
			name = value
		case "uri":
			uri = value
		}
	}
	switch m.ref {
	case refPrompt:
		m.name, m.named = text(name)
	case refResource:
		m.name, m.named = text(uri)
	}
}

// text reads a JSON string.
func text(value []byte) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	s := scanner{data: value}
	return s.str(), true
}

func validID(value []byte) bool {
	switch c := value[0]; {
	case c == '"', c == '-', c >= '0' && c <= '9':
		return true
	}
	return false
}
