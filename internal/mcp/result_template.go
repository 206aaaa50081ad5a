package mcp

import (
	"errors"
	"strings"
)

// template is a parsed text template: {{name}} and {{#items}}…{{/items}},
// nothing else. There is no escaping (the reader is a model) and there are no
// partials. Values are put on one line without control, bidirectional and tag
// characters, so that data cannot forge the lines around it.
type template []templatePart

type templatePart struct {
	text string   // literal, when name is empty
	name string   // of a value, or of a section when body is not nil
	body template // of a section
}

const maxTemplateDepth = 4

var errTemplate = errors.New("template is not well formed")

// parseTemplate parses the text, or returns errTemplate for an unclosed tag or
// section, an empty name, or sections nested deeper than four.
func parseTemplate(text string) (template, error) {
	t, rest, err := parseSection(text, "", 0)
	if err != nil || rest != "" {
		return nil, errTemplate
	}
	return t, nil
}

func parseSection(text, section string, depth int) (template, string, error) {
	if depth > maxTemplateDepth {
		return nil, "", errTemplate
	}
	t := template{}
	for {
		literal, after, open := strings.Cut(text, "{{")
		if literal != "" {
			t = append(t, templatePart{text: literal})
		}
		if !open {
			if section != "" {
				return nil, "", errTemplate
			}
			return t, "", nil
		}
		tag, rest, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, "", errTemplate
		}
		text = rest
		kind, name := tagOf(tag)
		if name == "" {
			return nil, "", errTemplate
		}
		switch kind {
		case '/':
			if name != section {
				return nil, "", errTemplate
			}
			return t, text, nil
		case '#':
			body, rest, err := parseSection(text, name, depth+1)
			if err != nil {
				return nil, "", err
			}
			t, text = append(t, templatePart{name: name, body: body}), rest
		default:
			t = append(t, templatePart{name: name})
		}
	}
}

func tagOf(tag string) (kind byte, name string) {
	tag = strings.TrimSpace(tag)
	if tag != "" && (tag[0] == '#' || tag[0] == '/') {
		kind, tag = tag[0], strings.TrimSpace(tag[1:])
	}
	if strings.ContainsAny(tag, "{}") {
		return kind, ""
	}
	return kind, tag
}

// errOutput is returned when a rendering grows past its bound.
var errOutput = errors.New("rendered text is over its bound")

// render fills the template from a JSON object and appends it to dst, up to
// limit bytes of dst. A name that is not there renders as nothing.
func (t template) render(dst []byte, object token, limit int) ([]byte, error) {
	var err error
	for _, p := range t {
		switch {
		case p.name == "":
			dst = append(dst, p.text...)
		case p.body == nil:
			dst = appendTemplateValue(dst, memberOf(object, p.name))
		default:
			dst, err = p.section(dst, memberOf(object, p.name), limit)
		}
		if err != nil {
			return dst, err
		}
		if len(dst) > limit {
			return dst, errOutput
		}
	}
	return dst, nil
}

// section renders its body for each element of an array, once for an object,
// and not at all for anything else.
func (p templatePart) section(dst []byte, value token, limit int) ([]byte, error) {
	if len(value) == 0 {
		return dst, nil
	}
	if value[0] == '{' {
		return p.body.render(dst, value, limit)
	}
	var err error
	for _, element := range elements(value) {
		if dst, err = p.body.render(dst, element, limit); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// memberOf is the value of a member of an object token, or nil.
func memberOf(object token, name string) token {
	for _, m := range members(object, 0) {
		if m.key == name {
			return object[m.start:m.end]
		}
	}
	return nil
}

func appendTemplateValue(dst []byte, t token) []byte {
	switch {
	case len(t) == 0 || isNull(t):
		return dst
	case isString(t):
		return append(dst, oneLine(stringOf(t))...)
	case isContainer(t):
		return append(dst, oneLine(string(appendToken(nil, t)))...)
	}
	return append(dst, t...)
}
