package surfaces

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// dialect is the part of JSON Schema that every client reads: it means the same
// under draft-07 and 2020-12. A keyword is in it or the schema is refused.
var dialect = []string{
	"type", "description", "anyOf", "properties", "required", "additionalProperties", "minProperties", "items", "maxItems",
	"enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "default",
}

// edgeDialect is what a function tool's schemas may have beside it: their
// authors know what it is for, and clients that do not read it leave it out.
var edgeDialect = slices.Concat(dialect, []string{"title", "const", "format", "minItems", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", mcpHeader})

var jsonTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// What is too deep or too large for any client's comfort is a mistake of this
// package: see maxNesting and maxSchemaBytes.
const maxSchemaDepth = 24

// checkDialect walks a schema as it is sent: an object at its root, without
// alternatives there; below it no references, no lists of types, no keyword
// outside the dialect, arrays with items, and names that clients accept.
func checkDialect(raw json.RawMessage, keywords []string) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var root map[string]any
	if err := decoder.Decode(&root); err != nil {
		return fmt.Errorf("a schema must be an object: %w", err)
	}
	if root["type"] != "object" || root["anyOf"] != nil {
		return errors.New("its root must be one object")
	}
	return dialectOf(root, "", 0, keywords)
}

func dialectOf(v any, path string, depth int, keywords []string) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no schema", at(path))
	}
	if depth > maxSchemaDepth {
		return fmt.Errorf("%s is nested too deep", at(path))
	}
	for key := range s {
		if !slices.Contains(keywords, key) {
			return fmt.Errorf("%s uses %s, which not every client reads", at(path), quoteName(key))
		}
	}
	if t, given := s["type"]; given {
		if name, ok := t.(string); !ok || !slices.Contains(jsonTypes, name) {
			return fmt.Errorf("the type of %s is not one JSON type", at(path))
		}
	}
	if s["type"] == "array" && s["items"] == nil {
		return fmt.Errorf("%s is a list without items", at(path))
	}
	if items, given := s["items"]; given {
		if err := dialectOf(items, path+"[]", depth+1, keywords); err != nil {
			return err
		}
	}
	if anyOf, given := s["anyOf"]; given {
		alternatives, ok := anyOf.([]any)
		if !ok || len(alternatives) < 2 {
			return fmt.Errorf("%s has no alternatives", at(path))
		}
		for _, a := range alternatives {
			if err := dialectOf(a, path, depth+1, keywords); err != nil {
				return err
			}
		}
	}
	return dialectMembers(s, path, depth, keywords)
}

func dialectMembers(s map[string]any, path string, depth int, keywords []string) error {
	properties, _ := s["properties"].(map[string]any)
	if s["properties"] != nil && properties == nil {
		return fmt.Errorf("the properties of %s are no mapping", at(path))
	}
	for name, member := range properties {
		if !argumentName.MatchString(name) {
			return fmt.Errorf("%s has a property %s, a name that not every client accepts", at(path), quoteName(name))
		}
		if err := dialectOf(member, path+"."+name, depth+1, keywords); err != nil {
			return err
		}
	}
	required, _ := s["required"].([]any)
	for _, r := range required {
		if name, ok := r.(string); !ok || properties[name] == nil {
			return fmt.Errorf("%s requires %v, which is not among its properties", at(path), r)
		}
	}
	if closed, given := s["additionalProperties"]; given && closed != false {
		return fmt.Errorf("%s says of other properties more than that there are none", at(path))
	}
	return nil
}

func at(path string) string {
	if path == "" {
		return "the root"
	}
	return path[min(1, len(path)-1):]
}
