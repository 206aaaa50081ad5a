package surfaces

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members are those of an object, in their order.
type members []member

// membersOf reads a JSON object.
func membersOf(raw json.RawMessage) (members, bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var list members
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, false
		}
		m := member{}
		if m.name, _ = name.(string); decoder.Decode(&m.value) != nil {
			return nil, false
		}
		list = append(list, m)
	}
	return list, true
}

// get returns the value of a member; nil for none.
func (m members) get(name string) json.RawMessage {
	for _, one := range m {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// put sets a member, where it stands or at the end.
func (m members) put(name string, value json.RawMessage) members {
	for i := range m {
		if m[i].name == name {
			m[i].value = value
			return m
		}
	}
	return append(m, member{name, value})
}

// raw is the object as compact JSON.
func (m members) raw() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonOf(one.name))
		b.WriteByte(':')
		b.Write(one.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// jsonOf writes what always can be written: strings, numbers, switches and
// lists of them.
func jsonOf(v any) json.RawMessage {
	raw, err := marshal(v)
	if err != nil {
		panic("surfaces: marshal " + fmt.Sprintf("%T", v) + ": " + err.Error())
	}
	return raw
}

// ordered writes a node as JSON, with its members as the file orders them. It is
// jsonValue for what models read from the top.
func (r *reader) ordered(n *yaml.Node, at place) json.RawMessage {
	switch n.Kind {
	case yaml.MappingNode:
		var list members
		m, _ := r.raw(n, at, "a value")
		for _, name := range m.names {
			e := m.entries[name]
			if c, bad := firstForbidden(name, true); bad {
				r.errorf(e.key, "the key holds the character U+%04X, which is not allowed there", c)
				continue
			}
			list = append(list, member{name, r.ordered(e.value, e.at)})
		}
		return list.raw()
	case yaml.SequenceNode:
		var b bytes.Buffer
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(r.ordered(item, nodeAt(item, fmt.Sprintf("%s[%d]", at.path, i))))
		}
		b.WriteByte(']')
		return b.Bytes()
	case yaml.ScalarNode:
		return jsonOf(r.jsonScalar(n, at))
	}
	return json.RawMessage("null") // an alias, reported before
}
