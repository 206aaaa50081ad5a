package mcp

import (
	"bytes"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// maxHealed bounds the text, in bytes, that is read as JSON.
const maxHealed = 64 << 10

// fitting returns the arguments to call the tool with: as given where they fit
// its input schema, otherwise healed, if they fit then. Everything behind it,
// rules and authorizers first, sees what it returns. The error is that of the
// arguments as given.
func (t *tool) fitting(arguments []byte) ([]byte, error) {
	err := validateArguments(t.input, arguments)
	if err == nil {
		return arguments, nil
	}
	healed := heal(t.input, patchOf(t.spec), arguments)
	if healed == nil || validateArguments(t.input, healed) != nil {
		return nil, err
	}
	return healed, nil
}

// patchOf is the argument that holds the values of an update; empty for other
// tools.
func patchOf(spec *surfaces.Tool) string {
	if spec.Update == nil {
		return ""
	}
	return spec.Update.Patch
}

// heal mends what clients do that send a number, a list or an object as text of
// its JSON: "5" for 5, "[1]" for [1]. A property, of the arguments or of the
// object in patch, that is text although its schema takes none, becomes the
// JSON that it holds, if its schema takes that type. It is one pass: what comes
// out of text is not looked into. The rest stays byte for byte; nil means that
// nothing was mended. The arguments are one JSON value that passed checkJSON.
func heal(schema *jsonschema.Schema, patch string, arguments []byte) []byte {
	h := healer{data: arguments}
	for _, m := range members(arguments, 0) {
		property := schema.Properties[m.key]
		if property == nil {
			continue
		}
		if m.key == patch && arguments[m.start] == '{' {
			for _, inner := range members(arguments, m.start) {
				if below := property.Properties[inner.key]; below != nil {
					h.property(below, inner)
				}
			}
			continue
		}
		h.property(property, m)
	}
	if h.done == 0 {
		return nil
	}
	return append(h.out, arguments[h.done:]...)
}

// healer writes data again, with some values replaced.
type healer struct {
	data, out []byte
	done      int // of data, in out
}

func (h *healer) property(schema *jsonschema.Schema, m member) {
	value := h.data[m.start:m.end]
	if value[0] != '"' || len(value) > 6*maxHealed || takes(schema, '"') {
		return
	}
	said := []byte(stringOf(value))
	if len(said) > maxHealed {
		return
	}
	said = bytes.Trim(said, " \t\r\n")
	if len(said) == 0 || said[0] == '"' || !takes(schema, said[0]) || checkJSON(said) != nil {
		return
	}
	h.out = append(append(h.out, h.data[h.done:m.start]...), said...)
	h.done = m.end
}

// takes reports whether the schema may accept values of a JSON type, which the
// first byte of their JSON tells. In doubt it says yes to text, so that text
// stays what it is, and no to all else.
func takes(schema *jsonschema.Schema, first byte) bool {
	text := first == '"'
	if schema.Bool != nil || schema.Ref != nil || schema.DynamicRef != nil || schema.RecursiveRef != nil {
		return text
	}
	any := schema.AnyOf
	if len(any) == 0 {
		any = schema.OneOf
	}
	switch {
	case schema.Types != nil:
		return takesType(schema.Types.ToStrings(), first)
	case len(any) > 0:
		for _, branch := range any {
			if takes(branch, first) {
				return true
			}
		}
		return false
	}
	return text
}

func takesType(types []string, first byte) bool {
	for _, t := range types {
		switch {
		case t == "string" && first == '"',
			t == "object" && first == '{',
			t == "array" && first == '[',
			t == "boolean" && (first == 't' || first == 'f'),
			t == "null" && first == 'n',
			(t == "number" || t == "integer") && (first == '-' || first >= '0' && first <= '9'):
			return true
		}
	}
	return false
}
