package surfaces

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxAuthoredSchema bounds one authored schema, in bytes of compact JSON.
const MaxAuthoredSchema = 64 << 10

// dialect2020 is the one $schema that an authored schema may name.
const dialect2020 = "https://json-schema.org/draft/2020-12/schema"

// Where JSON Schema 2020-12 has schemas inside of schemas.
var (
	schemaKeywords     = []string{"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	schemaListKeywords = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemaMapKeywords  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)

// authoredSchema reads a schema that is sent to clients as it is written.
func (r *reader) authoredSchema(n *yaml.Node, at place) json.RawMessage {
	m, ok := r.raw(n, at, "input")
	if !ok {
		return nil
	}
	if t, ok := m.entries["type"]; !ok || !isScalar(t.value) || t.value.Value != "object" {
		r.errorf(at, "input must have type: object at its root, also where it is authored")
		return nil
	}
	if e, given := m.entries["$schema"]; given && e.value.Value != dialect2020 {
		r.errorf(e.at, "an authored schema is of draft 2020-12: write $schema: %s, or leave it out", dialect2020)
	}
	if e, given := m.entries["$ref"]; given {
		r.errorf(e.key, "$ref is not possible at the root of an input: many clients drop every tool of a server that has it")
	}
	before := len(r.problems)
	raw := r.ordered(n, at)
	if len(raw) > MaxAuthoredSchema {
		r.errorf(at, "the schema is %d bytes of JSON; at most %d", len(raw), MaxAuthoredSchema)
	}
	a := &authoredReader{reader: r, headers: &schemaReader{reader: r, headers: map[string]bool{}}}
	a.schema(n, at, true, true)
	if len(r.problems) > before {
		return nil
	}
	return raw
}

// authoredReader looks for what no schema of a tenant may have.
type authoredReader struct {
	*reader
	headers *schemaReader
}

func (a *authoredReader) schema(n *yaml.Node, at place, root, along bool) {
	if !isMapping(n) {
		return // true and false are schemas; all else is the compiler's to refuse
	}
	m, _ := a.raw(n, at, "a schema")
	for _, key := range m.names {
		e := m.entries[key]
		switch {
		case key == "$ref" && !strings.HasPrefix(e.value.Value, "#"):
			a.errorf(e.at, "a $ref refers within its schema alone, such as #/$defs/address: nothing else is ever loaded")
		case slices.Contains([]string{"$dynamicRef", "$recursiveRef"}, key):
			a.errorf(e.key, "%s cannot be checked when the file is published: write $ref", key)
		case key == "$id" && !root, key == "$schema" && !root:
			a.errorf(e.key, "%s is possible at the root alone", key)
		case key == mcpHeader:
			kind := ""
			if t, given := m.entries["type"]; given {
				kind = t.value.Value
			}
			a.headers.header(m, kind, "this", along && !root)
		case slices.Contains(schemaKeywords, key):
			a.schema(e.value, e.at, false, false)
		case slices.Contains(schemaListKeywords, key):
			for i, item := range e.value.Content {
				a.schema(item, nodeAt(item, fmt.Sprintf("%s[%d]", e.at.path, i)), false, false)
			}
		case slices.Contains(schemaMapKeywords, key) && isMapping(e.value):
			sub, _ := a.raw(e.value, e.at, key)
			for _, name := range sub.names {
				a.schema(sub.entries[name].value, sub.entries[name].at, false, along && key == "properties")
			}
		}
	}
}
