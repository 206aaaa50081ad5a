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
	MinProperties        *int        `json:"minProperties,omitempty"`
	AdditionalProperties *bool       `json:"additionalProperties,omitempty"`
	Items                *schema     `json:"items,omitempty"`
	MaxItems             *int        `json:"maxItems,omitempty"`
	Enum                 []string    `json:"enum,omitempty"`
	Pattern              string      `json:"pattern,omitempty"`
	Format               string      `json:"format,omitempty"`
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

// returns adds a value that the database names to an object of a result. A name
// that some clients refuse is left out: the value is there all the same, and
// nothing is promised of it.
func (s *schema) returns(name string, value *schema) {
	if argumentName.MatchString(name) {
		s.Properties.add(name, value)
	}
}

// raw is the schema as compact JSON.
func (s *schema) raw() json.RawMessage {
	b, err := marshal(s)
	if err != nil {
		// The struct holds strings, numbers and itself: it always marshals.
		panic("surfaces: marshal schema: " + err.Error())
	}
	return b
}

// size is about how many bytes raw takes, without writing them.
func (s *schema) size() int {
	if s == nil {
		return 0
	}
	const keywords = 64
	n := keywords + len(s.Description) + len(s.Pattern) + s.Items.size()
	for _, list := range [][]string{s.Required, s.Enum} {
		for _, text := range list {
			n += len(text) + 3
		}
	}
	for _, alternative := range s.AnyOf {
		n += alternative.size()
	}
	if s.Properties != nil {
		for _, name := range s.Properties.names {
			n += len(name) + s.Properties.schemas[name].size()
		}
	}
	return n
}

// maxSchemaBytes bounds the schemas of a surface, in bytes. What any client copes
// with is a hundredth of it.
const maxSchemaBytes = 4 << 20

// raw writes a schema of a tool, or refuses the surface that has become too
// large: each argument over an enum holds all its labels.
func (c *compiler) raw(at place, s *schema) json.RawMessage {
	if c.weigh(at, s.size()) {
		return s.raw()
	}
	return nil
}

// weigh counts a schema, and refuses the surface that has become too large.
func (c *compiler) weigh(at place, size int) bool {
	if c.weight > maxSchemaBytes {
		return false // said already
	}
	if c.weight += size; c.weight <= maxSchemaBytes {
		return true
	}
	c.errorf(at, "the surface is too large: the schemas of its tools up to here take more than %d MiB; offer fewer tools, columns or filters, above all on enums with many labels", maxSchemaBytes>>20)
	return false
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
