package surfaces

import (
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v4"
)

// Bounds of one prompt.
const (
	maxPromptArguments = 32
	maxPromptMessages  = 32
)

// imageType is the media type of an image.
var imageType = regexp.MustCompile(`^image/[a-z0-9][a-z0-9.+-]{0,63}$`)

// promptFormats are the formats that an argument may have.
var promptFormats = []string{"date", "date-time", "email", "uri", "uuid"}

// prompts reads the list of prompts.
func (r *reader) prompts(items []*yaml.Node, at place) []*PromptSpec {
	return readEntries(r, items, at, "prompts", r.prompt)
}

func (r *reader) prompt(n *yaml.Node, at place) *PromptSpec {
	m, ok := r.raw(n, at, "a prompt")
	if !ok {
		return nil
	}
	k := promptKeys
	if m.given("function") && !m.given("messages") {
		k = promptFunctionKeys
	}
	m, _ = r.mapping(n, at, "a prompt", k)
	s := &PromptSpec{}
	s.Operation, s.at = opGet, at
	s.Result = Text{Value: string(ResultHybrid), at: at}
	if s.Name, ok = m.text("prompt", ruleName); !ok {
		if !m.given("prompt") {
			r.errorf(at, "prompt is missing: give it a name, such as weekly_review")
		}
		return nil
	}
	r.checkName(s.Name, "a prompt")
	s.Public, s.public, s.Budget = r.capability(m, &s.OperationSpec, DefaultPromptBudget)
	if items, itemsAt, ok := m.items("arguments"); ok {
		s.Arguments = r.promptArguments(items, itemsAt)
	}
	switch {
	case m.given("messages") && m.given("function"): // said of the key function
	case m.given("function"):
		call := r.edgeCall(m)
		s.Function = &call
	case m.given("messages"):
		if items, itemsAt, ok := m.items("messages"); ok {
			s.Messages = r.messages(items, itemsAt)
		}
	default:
		r.errorf(at, "a prompt needs messages, or function: an Edge Function that says them%s", firstSuggestion(m.names, k.known))
	}
	s.tool = &ToolSpec{as: "prompt", Public: s.Public, public: s.public, at: at, Table: &TableSpec{By: operationSpecs{&s.OperationSpec}}}
	return s
}

func (r *reader) promptArguments(items []*yaml.Node, at place) []PromptArgumentSpec {
	if len(items) > maxPromptArguments {
		r.errorf(at, "%d arguments; at most %d: people fill them in one by one", len(items), maxPromptArguments)
		return nil
	}
	var list []PromptArgumentSpec
	for i, n := range items {
		a, ok := r.promptArgument(n, nodeAt(n, fmt.Sprintf("%s[%d]", at.path, i)))
		if !ok {
			continue
		}
		if slices.ContainsFunc(list, func(o PromptArgumentSpec) bool { return o.Name.Value == a.Name.Value }) {
			r.errorf(a.Name.at, "the argument %s is there twice", quoteName(a.Name.Value))
			continue
		}
		list = append(list, a)
	}
	return list
}

func (r *reader) promptArgument(n *yaml.Node, at place) (PromptArgumentSpec, bool) {
	var a PromptArgumentSpec
	m, ok := r.mapping(n, at, "an argument", promptArgumentKeys)
	if !ok {
		return a, false
	}
	a.at = at
	if a.Name, ok = m.text("name", ruleName); !ok {
		if !m.given("name") {
			r.errorf(at, "name is missing: what {{…}} in the messages, or the function, calls the argument")
		}
		return a, false
	}
	a.Argument = a.Name
	r.checkName(a.Name, "an argument")
	a.Title, _ = m.text("title", ruleTitle)
	a.Required, _ = m.boolean("required")
	a.Kind = JSONType(r.choice(m, "type", string(JSONString), string(JSONInteger), string(JSONNumber), string(JSONBoolean)))
	r.limits(m, &a.ArgumentSpec, "min_length", "max_length", "max_items")
	if t, ok := m.text("format", ruleName); ok {
		if a.Format = t; !slices.Contains(promptFormats, t.Value) {
			r.errorf(t.at, "unknown format %s%s", quoteName(t.Value), r.suggest(t.Value, promptFormats, "; write one of "))
		}
	}
	if value, valueAt, ok := m.get("complete"); ok {
		a.Complete = r.completion(value, valueAt)
	}
	return a, true
}

func (r *reader) messages(items []*yaml.Node, at place) []MessageSpec {
	if len(items) == 0 || len(items) > maxPromptMessages {
		r.errorf(at, "messages lists from 1 to %d messages, not %d", maxPromptMessages, len(items))
		return nil
	}
	var list []MessageSpec
	for i, n := range items {
		if s, ok := r.message(n, nodeAt(n, fmt.Sprintf("%s[%d]", at.path, i))); ok {
			list = append(list, s)
		}
	}
	return list
}

func (r *reader) message(n *yaml.Node, at place) (MessageSpec, bool) {
	s := MessageSpec{at: at}
	m, ok := r.mapping(n, at, "a message", messageKeys)
	if !ok {
		return s, false
	}
	role := r.choice(m, "role", "user", "assistant")
	s.Role = Text{Value: role, at: at}
	if !m.given("role") {
		r.errorf(at, "role is missing: write role: user, or role: assistant")
	}
	var given []string
	for _, key := range []string{"text", "resource", "image"} {
		if m.given(key) {
			given = append(given, key)
		}
	}
	if len(given) != 1 {
		r.errorf(at, "a message is one of text, resource and image, and this has %s", map[bool]string{true: "none", false: sentenceList(given)}[len(given) == 0])
		return s, false
	}
	s.Text, _ = m.text("text", ruleTemplate)
	s.Resource, _ = m.text("resource", textRule{max: maxResourceURI, oneLine: true})
	if image, imageAt, ok := m.get("image"); ok {
		s.Image = r.image(image, imageAt)
	}
	return s, s.Text.Value != "" || s.Resource.Value != "" || s.Image != nil
}

func (r *reader) image(n *yaml.Node, at place) *PromptImage {
	m, ok := r.mapping(n, at, "image", imageKeys)
	if !ok {
		return nil
	}
	image := &PromptImage{}
	t, ok := m.text("mime_type", ruleName)
	switch {
	case !m.given("mime_type"):
		r.errorf(at, "an image needs mime_type, such as image/png")
	case ok && !imageType.MatchString(t.Value):
		r.errorf(t.at, "%s is not the media type of an image, such as image/png", quoteName(t.Value))
	}
	image.MIMEType = t.Value
	data, dataAt, ok := m.get("data")
	switch {
	case !m.given("data"):
		r.errorf(at, "an image needs data: its bytes in base64")
	case ok && !isScalar(data):
		r.errorf(dataAt, "data must be text, not %s", kindOf(data))
	case ok:
		image.Data = r.base64(data, dataAt, "data")
	}
	return image
}
