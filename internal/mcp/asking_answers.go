package mcp

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// reply is one result for something that was asked.
type reply struct {
	raw     []byte
	action  string // of an elicitation: accept, decline or cancel
	content []byte // of an accepted form, an object
}

// The answers of a person to an elicitation.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// replyTo is the result under a key, or nil for none.
func (b brought) replyTo(key string) *reply {
	raw := memberOf(b.answers, key)
	if raw == nil {
		return nil
	}
	r := &reply{raw: raw}
	for _, m := range members(raw, 0) {
		value := raw[m.start:m.end]
		switch m.key {
		case "action":
			r.action, _ = text(value)
		case "content":
			r.content = value
		}
	}
	return r
}

// refused reports whether the person said no.
func (r *reply) refused() bool {
	return r != nil && (r.action == actionDecline || r.action == actionCancel)
}

// form is the content of an accepted form, with those of its members that were
// asked for; else what is wrong with it.
func (r *reply) form(schema *jsonschema.Schema, names []string) (content []byte, why string) {
	if r == nil {
		return nil, "there was none"
	}
	if r.action != actionAccept || len(r.content) == 0 || r.content[0] != '{' {
		return nil, "it was not a filled form"
	}
	content = []byte{'{'}
	for _, name := range names {
		if value := memberOf(r.content, name); value != nil {
			content = appendMember(content, name, value)
		}
	}
	content = append(content, '}')
	return content, misfits(schema, content)
}

// misfits says what of a value does not fit its schema; empty for nothing.
func misfits(schema *jsonschema.Schema, value []byte) string {
	err := validateArguments(schema, value)
	if err == nil {
		return ""
	}
	why := "it is not of the form that was asked for"
	for i, issue := range fault.From(err).Issues {
		if i == 0 {
			why = ""
		}
		if i == 3 {
			break
		}
		if why != "" {
			why += "; "
		}
		if issue.Path != "" {
			why += issue.Path[1:] + ": "
		}
		why += issue.Message
	}
	return why
}

// elicit asks for a form.
func elicit(message string, form json.RawMessage) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: form}
}

// confirmKey is what a confirmation is asked and answered under.
const confirmKey = "confirm"

// confirmForm has no default: a person who does not choose has not agreed.
const confirmForm = `{"type":"object","properties":{"confirm":{"type":"boolean","title":"Yes, do it"}},"required":["confirm"]}`

// confirmed reads the answer to a confirmation.
func (r *reply) confirmed() (yes bool, why string) {
	if r == nil {
		return false, "there was none"
	}
	if r.action != actionAccept {
		return false, "it was neither yes nor no"
	}
	switch string(memberOf(r.content, confirmKey)) {
	case "true":
		return true, ""
	case "false":
		r.action = actionDecline
		return false, ""
	}
	return false, "confirm is true or false"
}
