package mcp

import (
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// mayAsk reports whether the protocol lets an answer to the method ask.
func mayAsk(method string) bool {
	return method == methodCallTool || method == methodGetPrompt || method == methodReadResource
}

// readRound reads one of the members of params that answers come in. They are
// left out of what the SDK gets: it takes what it cannot read for a mistake of
// headers, and answers differently by version. What is malformed is refused by
// checkRound, for it counts in 2026-07-28 only.
func (m *message) readRound(key string, value []byte) {
	switch key {
	case memberState:
		m.round.state, m.round.stated = text(value)
		m.badRound = m.badRound || !m.round.stated || len(m.round.state) > maxState
	case memberResponses:
		m.round.answers = value
		m.badRound = m.badRound || !responsesFit(value)
	default:
		return
	}
	m.answers = true
}

// The members of params that answers come in.
const (
	memberState     = "requestState"
	memberResponses = "inputResponses"
)

// responsesFit reports whether the value is an object of objects, within
// bounds.
func responsesFit(value []byte) bool {
	if len(value) > maxResponse || value[0] != '{' {
		return false
	}
	list := members(value, 0)
	for _, m := range list {
		if value[m.start] != '{' || len(m.key) > maxResponseKey {
			return false
		}
	}
	return len(list) <= maxResponses
}

// checkRound refuses what cannot be read of answers (MCP 2026-07-28). Before,
// there are none, and members of that name mean nothing.
func checkRound(m *message, version string) error {
	switch {
	case version < version20260728 || !m.isCall():
		m.round, m.can = brought{}, clientCapabilities{}
		return nil
	case m.badRound:
		return refuse(fault.CodeInvalidParams, "inputResponses is an object of at most %d results by key, each an object, and requestState the text that came with the questions. Nothing was called.", maxResponses)
	}
	return nil
}

// without is an object of JSON without some of its members; the rest stays as
// it is written.
func without(object []byte, names ...string) []byte {
	out := []byte{'{'}
next:
	for _, m := range members(object, 0) {
		for _, name := range names {
			if m.key == name {
				continue next
			}
		}
		out = appendMember(out, m.key, object[m.start:m.end])
	}
	return append(out, '}')
}

// readCapabilities reads what a client says it can be asked. Elicitation
// without a mode is a form's.
func readCapabilities(value []byte) clientCapabilities {
	var can clientCapabilities
	if len(value) == 0 || value[0] != '{' {
		return can
	}
	if len(value) <= maxRawClient {
		can.raw = value
	}
	for _, field := range members(value, 0) {
		if value[field.start] != '{' {
			continue
		}
		switch field.key {
		case "elicitation":
			modes := members(value, field.start)
			can.form = len(modes) == 0
			for _, mode := range modes {
				object := value[mode.start] == '{'
				can.form = can.form || mode.key == "form" && object
				can.url = can.url || mode.key == "url" && object
			}
		case "sampling":
			can.sampling = true
		case "roots":
			can.roots = true
		}
	}
	return can
}
