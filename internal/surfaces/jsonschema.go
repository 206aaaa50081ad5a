package surfaces

import (
	"bytes"
	"encoding/json"
)

// schema is the subset of JSON Schema that is emitted: the same under draft-07
// and 2020-12, without references, type arrays and $schema.
type schema struct {
	Type                 string      `json:"type,omitempty"`
	Description          string      `json:"description,omitempty"`
	AnyOf                []*schema   `json:"anyOf,omitempty"`
	Properties           *properties `json:"properties,omitempty"`
	Required             []string    `json:"required,omitempty"`
	AdditionalProperties *bool       `json:"additionalProperties,omitempty"`
	Items                *schema     `json:"items,omitempty"`
	MaxItems             *int        `json:"maxItems,omitempty"`
	Enum                 []string    `json:"enum,omitempty"`
	Pattern              string      `json:"pattern,omitempty"`
	MinLength            *int        `json:"minLength,omitempty"`
	MaxLength            *int        `json:"maxLength,omitempty"`
	Minimum              *int        `json:"minimum,omitempty"`
	Maximum              *int        `json:"maximum,omitempty"`
	Default              any         `json:"default,omitempty"`
}

// properties keeps the order in which they were added: models read from the
// top.
type properties struct {
	names   []string
	schemas map[string]*schema
}

func (p *properties) add(name string, s *schema) {
	if p.schemas == nil {
		p.schemas = map[string]*schema{}
	}
	if _, twice := p.schemas[name]; !twice {
		p.names = append(p.names, name)
	}
	p.schemas[name] = s
}

// MarshalJSON writes the properties in their order.
func (p *properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range p.names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(p.schemas[name])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// inputObject is the root of an input schema, which takes nothing undeclared.
func inputObject() *schema {
	no := false
	return &schema{Type: "object", Properties: &properties{}, AdditionalProperties: &no}
}

// outputObject is an object of an output schema, which may grow.
func outputObject() *schema { return &schema{Type: "object", Properties: &properties{}} }

// raw is the schema as compact JSON.
func (s *schema) raw() json.RawMessage {
	b, err := marshal(s)
	if err != nil {
		// The struct holds strings, numbers and itself: it always marshals.
		panic("surfaces: marshal schema: " + err.Error())
	}
	return b
}

// orNull admits null beside the schema, without a type array.
func (s *schema) orNull() *schema {
	if s.Type == "" && len(s.AnyOf) == 0 {
		return s // admits everything
	}
	null := &schema{Type: "null"}
	if len(s.AnyOf) > 0 {
		return &schema{AnyOf: append(append([]*schema{}, s.AnyOf...), null)}
	}
	return &schema{AnyOf: []*schema{s, null}}
}

func ptr[T any](v T) *T { return &v }
