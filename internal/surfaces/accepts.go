package surfaces

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
)

// accepts reports whether a schema of an argument takes a value, which is
// decoded with its numbers as they are written (json.Number).
func (s *schema) accepts(v any) bool {
	if len(s.AnyOf) > 0 {
		return slices.ContainsFunc(s.AnyOf, func(alternative *schema) bool { return alternative.accepts(v) })
	}
	switch s.Type {
	case "string":
		text, ok := v.(string)
		return ok && s.acceptsText(text)
	case "integer":
		number, ok := v.(json.Number)
		whole, err := strconv.Atoi(string(number))
		return ok && err == nil && (s.Minimum == nil || whole >= *s.Minimum) && (s.Maximum == nil || whole <= *s.Maximum)
	case "number":
		_, ok := v.(json.Number)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "null":
		return v == nil
	case "array":
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(item any) bool { return s.Items != nil && !s.Items.accepts(item) })
	case "object":
		object, ok := v.(map[string]any)
		return ok && s.acceptsObject(object)
	}
	return true
}

func (s *schema) acceptsText(text string) bool {
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
		return false
	}
	if s.Pattern == "" {
		return true
	}
	pattern, err := regexp.Compile(s.Pattern)
	return err == nil && pattern.MatchString(text)
}

func (s *schema) acceptsObject(object map[string]any) bool {
	for name, value := range object {
		var property *schema
		if s.Properties != nil {
			property = s.Properties.schemas[name]
		}
		if property == nil && s.AdditionalProperties != nil && !*s.AdditionalProperties || property != nil && !property.accepts(value) {
			return false
		}
	}
	return !slices.ContainsFunc(s.Required, func(name string) bool { _, ok := object[name]; return !ok })
}

// notNull takes null out of a schema that admits everything.
func (s *schema) notNull() *schema {
	if s.Type != "" || len(s.AnyOf) > 0 {
		return s
	}
	return &schema{Description: s.Description, AnyOf: []*schema{
		{Type: "object"}, {Type: "array", Items: &schema{}}, {Type: "string"}, {Type: "number"}, {Type: "boolean"},
	}}
}
