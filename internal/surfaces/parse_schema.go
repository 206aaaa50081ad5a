package surfaces

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// mcpHeader is the keyword that makes clients send an argument as a header, too
// (SEP-2243): an extension of JSON Schema.
const mcpHeader = "x-mcp-header"

// authorInstead tells where the rest of JSON Schema may be written.
const authorInstead = "not every client reads it, so it is for schema: authored alone"

// schemaKeys are the keywords that every client reads. What is beside them has
// its reason.
var schemaKeys = keys{
	known: []string{
		"type", "title", "description", "properties", "required", "additionalProperties", "minProperties", "items", "minItems", "maxItems", "anyOf",
		"enum", "const", "pattern", "format", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"default", mcpHeader,
	},
	never: map[string]string{
		"$ref": "write the schema out where it is used; " + authorInstead, "$defs": authorInstead, "definitions": authorInstead, "$schema": authorInstead, "$id": authorInstead,
		"$anchor": authorInstead, "$comment": authorInstead, "oneOf": "write anyOf; " + authorInstead, "allOf": authorInstead, "not": authorInstead, "if": authorInstead,
		"then": authorInstead, "else": authorInstead, "dependentRequired": authorInstead, "dependentSchemas": authorInstead, "patternProperties": authorInstead,
		"propertyNames": authorInstead, "maxProperties": authorInstead, "prefixItems": authorInstead, "contains": authorInstead, "uniqueItems": authorInstead,
		"examples": "write them into the description; " + authorInstead, "nullable": "write anyOf: [ …, { type: \"null\" } ]",
	},
}

// schemaFormats are the formats that are checked.
var schemaFormats = []string{"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}

// keywordTypes are the types that a keyword is for.
var keywordTypes = map[string][]string{
	"properties": {"object"}, "required": {"object"}, "additionalProperties": {"object"}, "minProperties": {"object"},
	"items": {"array"}, "minItems": {"array"}, "maxItems": {"array"},
	"pattern": {"string"}, "format": {"string"}, "minLength": {"string"}, "maxLength": {"string"},
	"minimum": {"integer", "number"}, "maximum": {"integer", "number"}, "exclusiveMinimum": {"integer", "number"}, "exclusiveMaximum": {"integer", "number"},
	"multipleOf": {"integer", "number"}, mcpHeader: headerTypes,
}

// headerTypes are the types of values that can be a header.
var headerTypes = []string{"string", "integer", "boolean"}

// inputSchema reads what a tool's arguments may be, in the part of JSON Schema
// that every client reads.
func (r *reader) inputSchema(n *yaml.Node, at place) json.RawMessage {
	s := &schemaReader{reader: r, headers: map[string]bool{}}
	root := s.root(n, at, "input")
	if root.get("additionalProperties") == nil && !s.open {
		root = root.put("additionalProperties", json.RawMessage("false"))
	}
	return root.raw()
}

// outputSchema reads what a result's structure is. It may grow.
func (r *reader) outputSchema(n *yaml.Node, at place) json.RawMessage {
	s := &schemaReader{reader: r}
	return s.root(n, at, "output").raw()
}

// schemaReader reads one schema.
type schemaReader struct {
	*reader
	headers map[string]bool // given so far, in lower case; nil: none may be
	open    bool            // the root says that it takes more
}

// root reads a schema that must be one object.
func (s *schemaReader) root(n *yaml.Node, at place, what string) members {
	m, ok := s.raw(n, at, what)
	if !ok {
		return nil
	}
	for _, key := range rootCombinators {
		if e, given := m.entries[key]; given {
			s.errorf(e.key, "%s is not possible at the root of an %s, which is one object with properties: many clients drop every tool of a server that has it", key, what)
			delete(m.entries, key)
			m.names = slices.DeleteFunc(m.names, func(name string) bool { return name == key })
		}
	}
	if t, ok := m.entries["type"]; !ok || t.value.Value != "object" {
		s.errorf(at, "%s must have type: object at its root", what)
		return nil
	}
	list := s.schema(m, what, true)
	if e, given := m.entries["additionalProperties"]; given {
		s.open = e.value.Value == "true"
	}
	if list.get("properties") == nil {
		list = list.put("properties", json.RawMessage("{}"))
	}
	return list
}

// below reads a schema inside another. Arguments that lie along properties
// alone may be headers.
func (s *schemaReader) below(n *yaml.Node, at place, what string, along bool) json.RawMessage {
	m, ok := s.raw(n, at, what)
	if !ok {
		return nil
	}
	return s.schema(m, what, along).raw()
}

// schema reads the keywords of one schema, in their order.
func (s *schemaReader) schema(m mapping, what string, along bool) members {
	for _, name := range m.names {
		s.knownKey(m, name, schemaKeys)
	}
	kind := s.kind(m, what)
	var list members
	for _, key := range m.names {
		if !slices.Contains(schemaKeys.known, key) {
			continue // reported before
		}
		if _, _, ok := m.get(key); !ok {
			continue
		}
		if fits := keywordTypes[key]; fits != nil && !slices.Contains(fits, kind) && key != mcpHeader {
			s.errorf(m.entries[key].key, "%s is of %s: write type: %s beside it, or leave it out", key, strings.Join(fits, " and "), fits[0])
			continue
		}
		if value := s.keyword(m, key, kind, what, along); value != nil {
			list = append(list, member{key, value})
		}
	}
	if kind == "array" && !m.given("items") {
		s.errorf(m.at, "%s is a list, so it needs items: what each of it is; some clients drop a tool without", what)
	}
	return list
}

// kind is the type that is written; empty for none.
func (s *schemaReader) kind(m mapping, what string) string {
	n, at, ok := m.get("type")
	if !ok {
		return ""
	}
	if !isScalar(n) {
		s.errorf(at, "the type of %s must be one word: for a value that may be null write anyOf: [ …, { type: \"null\" } ]", what)
		return ""
	}
	if n.Value == "null" || slices.Contains(jsonTypes, n.Value) {
		return n.Value
	}
	s.errorf(at, "unknown type %s%s", quoteName(n.Value), s.suggest(n.Value, jsonTypes, "; there are "))
	return ""
}

// keyword reads the value of one keyword; nil for nothing to write.
func (s *schemaReader) keyword(m mapping, key, kind, what string, along bool) json.RawMessage {
	n, at, _ := m.get(key)
	switch key {
	case "type":
		if kind == "" {
			return nil
		}
		return jsonOf(kind)
	case "title", "description":
		rule := map[string]textRule{"title": ruleTitle, "description": ruleDescription}[key]
		if t, ok := m.text(key, rule); ok {
			return jsonOf(t.Value)
		}
	case "properties":
		return s.properties(n, at, along)
	case "required":
		return s.required(m)
	case "additionalProperties":
		if !isScalar(n) {
			s.errorf(at, "additionalProperties must be true or false: name the properties; "+authorInstead)
		} else if open, ok := m.boolean(key); ok && !open {
			return json.RawMessage("false")
		}
	case "items":
		return s.below(n, at, what+"[]", false)
	case "anyOf":
		return s.alternatives(n, at, what)
	case "enum":
		return s.enum(n, at, kind)
	case "const":
		return s.plainValue(n, at, kind, key)
	case "default":
		return s.defaultValue(n, at, kind)
	case "pattern":
		return s.pattern(m)
	case "format":
		t, ok := m.text(key, ruleName)
		if ok && !slices.Contains(schemaFormats, t.Value) {
			s.errorf(t.at, "unknown format %s%s", quoteName(t.Value), s.suggest(t.Value, schemaFormats, "; those that are checked are "))
		} else if ok {
			return jsonOf(t.Value)
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties":
		if v, ok := m.integer(key, 0, 999_999_999); ok {
			return jsonOf(v)
		}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return s.number(n, at, key)
	case mcpHeader:
		return s.header(m, kind, what, along)
	}
	return nil
}

func (s *schemaReader) properties(n *yaml.Node, at place, along bool) json.RawMessage {
	m, ok := s.raw(n, at, "properties")
	if !ok {
		return nil
	}
	var list members
	for _, name := range m.names {
		e := m.entries[name]
		if !argumentName.MatchString(name) {
			s.errorf(e.key, "%s cannot be the name of a property for clients (letters, digits, _ . - only, at most 64)", quoteName(name))
			continue
		}
		list = append(list, member{name, s.below(e.value, e.at, "the property "+quoteName(name), along)})
	}
	return list.raw()
}

func (s *schemaReader) required(m mapping) json.RawMessage {
	names, ok := m.list("required", ruleName)
	if !ok || len(names) == 0 {
		return nil
	}
	known := []string{}
	if e, given := m.entries["properties"]; given {
		known = keysOf(e.value)
	}
	for _, t := range names {
		if !slices.Contains(known, t.Value) {
			s.errorf(t.at, "%s is required but not among the properties%s", quoteName(t.Value), s.suggest(t.Value, known, "; they are "))
		}
	}
	return jsonOf(values(names))
}

func (s *schemaReader) alternatives(n *yaml.Node, at place, what string) json.RawMessage {
	if n.Kind != yaml.SequenceNode || len(n.Content) < 2 {
		s.errorf(at, "anyOf must be a list of at least two schemas")
		return nil
	}
	var list []json.RawMessage
	for i, item := range n.Content {
		one := s.below(item, nodeAt(item, fmt.Sprintf("%s[%d]", at.path, i)), what, false)
		if one == nil {
			return nil
		}
		list = append(list, one)
	}
	return jsonOf(list)
}

func (s *schemaReader) enum(n *yaml.Node, at place, kind string) json.RawMessage {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		s.errorf(at, "enum must be a list of the values that are allowed")
		return nil
	}
	var list []json.RawMessage
	seen := map[string]bool{}
	for i, item := range n.Content {
		itemAt := nodeAt(item, fmt.Sprintf("%s[%d]", at.path, i))
		value := s.plainValue(item, itemAt, kind, "an entry of enum")
		if seen[string(value)] && value != nil {
			s.errorf(itemAt, "%s is listed twice", quoteName(item.Value))
		}
		if seen[string(value)] || value == nil {
			continue
		}
		seen[string(value)] = true
		list = append(list, value)
	}
	return jsonOf(list)
}

// plainValue reads a text, a number or a switch of the type beside it. Where the
// type is text, a number is its source text, as everywhere in a file.
func (s *schemaReader) plainValue(n *yaml.Node, at place, kind, what string) json.RawMessage {
	if !isScalar(n) {
		s.errorf(at, "%s must be a single value, not %s", what, kindOf(n))
		return nil
	}
	return s.defaultValue(n, at, kind)
}

// defaultValue reads a value, which must be of the type beside it.
func (s *schemaReader) defaultValue(n *yaml.Node, at place, kind string) json.RawMessage {
	if kind == "string" && isScalar(n) {
		if c, bad := firstForbidden(n.Value, false); bad {
			s.errorf(at, "the text holds the character U+%04X, which is not allowed there", c)
		}
		return jsonOf(n.Value)
	}
	before := len(s.problems)
	raw := s.ordered(n, at)
	if len(s.problems) > before {
		return nil
	}
	if kind != "" && !isOfType(raw, kind) {
		s.errorf(at, "this is not of type %s", kind)
		return nil
	}
	return raw
}

// isOfType reports whether a JSON value is of a JSON Schema type.
func isOfType(raw json.RawMessage, kind string) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case float64:
		return kind == "number" || kind == "integer" && v == float64(int64(v))
	case []any:
		return kind == "array"
	}
	return kind == "object"
}

func (s *schemaReader) pattern(m mapping) json.RawMessage {
	t, ok := m.text("pattern", textRule{max: 500, oneLine: true})
	if !ok {
		return nil
	}
	if _, err := regexp.Compile(t.Value); err != nil {
		s.errorf(t.at, "the pattern is not a regular expression: %v", err)
		return nil
	}
	return jsonOf(t.Value)
}

func (s *schemaReader) number(n *yaml.Node, at place, key string) json.RawMessage {
	if !isScalar(n) || n.Style != 0 || n.Tag != "!!int" && n.Tag != "!!float" {
		s.errorf(at, "%s must be a number", key)
		return nil
	}
	v := s.jsonNumber(n.Value, at)
	if v == nil {
		return nil
	}
	raw := jsonOf(v)
	if key == "multipleOf" && (raw[0] == '-' || raw[0] == '0' && len(raw) == 1) {
		s.errorf(at, "multipleOf must be more than 0")
		return nil
	}
	return raw
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$")

// header reads the name of the header that an argument is sent as, too.
func (s *schemaReader) header(m mapping, kind, what string, along bool) json.RawMessage {
	t, ok := m.text(mcpHeader, ruleName)
	if !ok {
		return nil
	}
	at := m.entries[mcpHeader].key
	switch {
	case s.headers == nil:
		s.errorf(at, "%s is of arguments: leave it out of output", mcpHeader)
	case !along:
		s.errorf(at, "%s is possible along properties alone, not inside of a list or of alternatives", mcpHeader)
	case !slices.Contains(headerTypes, kind):
		s.errorf(at, "%s needs a single value: %s is not of type string, integer or boolean", mcpHeader, what)
	default:
		return s.headerValue(t)
	}
	return nil
}

func (s *schemaReader) headerValue(t Text) json.RawMessage {
	name := strings.ToLower(t.Value)
	switch {
	case !headerName.MatchString(t.Value):
		s.errorf(t.at, "%s cannot be the name of a header (letters, digits and - are safe, such as Region; clients send Mcp-Param-Region)", quoteName(t.Value))
		return nil
	case s.headers[name]:
		s.errorf(t.at, "%s is the header of another argument, in any case: give each its own", quoteName(t.Value))
		return nil
	}
	s.headers[name] = true
	return jsonOf(t.Value)
}
