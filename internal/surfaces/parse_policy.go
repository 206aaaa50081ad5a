package surfaces

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// MaxMeta bounds the meta of one tool, in bytes of JSON.
const MaxMeta = 4 << 10

func isMapping(n *yaml.Node) bool { return n.Kind == yaml.MappingNode }
func isScalar(n *yaml.Node) bool  { return n.Kind == yaml.ScalarNode }

// policy reads what decides over an rpc tool.
func (r *reader) policy(m mapping, o *OperationSpec) {
	o.Visible, _ = m.text("visible", ruleExpression)
	o.Allow = r.allow(m)
	if t, ok := m.text("permission", ruleName); ok {
		r.checkPermission(t)
		o.Permission = t
	}
	o.AAL = r.aal(m)
	if n, at, ok := m.get("meta"); ok {
		o.Meta = r.meta(n, at)
	}
}

// policyByOperation reads the same of a table: once for all operations, or by
// operation.
func (r *reader) policyByOperation(m mapping, s operated) {
	all := func(key string, rule textRule, set func(*OperationSpec, Text)) {
		if t, ok := r.byOperation(m, key, rule, s, set); ok {
			for _, o := range s.by() {
				set(o, t)
			}
		}
	}
	all("visible", ruleExpression, func(o *OperationSpec, t Text) { o.Visible = t })
	all("permission", ruleName, func(o *OperationSpec, t Text) { o.Permission = t })
	all("aal", ruleName, func(o *OperationSpec, t Text) { o.AAL = t })
	for _, o := range s.by() {
		r.checkPermission(o.Permission)
		o.AAL = r.checkAAL(o.AAL)
	}
	r.allowByOperation(m, s)
	r.metaByOperation(m, s)
}

func (r *reader) checkPermission(t Text) {
	if t.Value != "" && slices.ContainsFunc([]rune(t.Value), notOfAWord) {
		r.errorf(t.at, "%s is not a permission: one word of visible ASCII without quotes or backslashes, such as customers.archive", quoteName(t.Value))
	}
}

// aal reads the only assurance level that can be asked for.
func (r *reader) aal(m mapping) Text {
	t, _ := m.text("aal", ruleName)
	return r.checkAAL(t)
}

func (r *reader) checkAAL(t Text) Text {
	if t.Value == "" || t.Value == AAL2 {
		return t
	}
	r.errorf(t.at, "unknown aal %s: write aal: aal2, for a session with a second factor, or leave it out", quoteName(t.Value))
	return Text{}
}

// allow reads a rule, or a rule with the reason that is given when it refuses.
func (r *reader) allow(m mapping) *AllowSpec {
	n, at, ok := m.get("allow")
	if !ok {
		return nil
	}
	return r.allowRule(n, at)
}

func (r *reader) allowRule(n *yaml.Node, at place) *AllowSpec {
	if !isMapping(n) {
		t, ok := r.scalar(n, at, "allow", ruleExpression)
		if !ok {
			return nil
		}
		return &AllowSpec{Rule: t}
	}
	m, ok := r.mapping(n, at, "allow", allowKeys)
	if !ok {
		return nil
	}
	s := &AllowSpec{}
	if s.Rule, ok = m.text("rule", ruleExpression); !ok {
		if !m.given("rule") {
			r.errorf(at, "allow needs rule: what must hold for a call")
		}
		return nil
	}
	s.Reason, _ = m.text("reason", ruleReason)
	return s
}

func (r *reader) allowByOperation(m mapping, s operated) {
	n, at, ok := m.get("allow")
	if !ok {
		return
	}
	if !namesOperation(n, s) {
		spec := r.allowRule(n, at)
		for _, o := range s.by() {
			o.Allow = spec
		}
		return
	}
	sub, _ := r.mapping(n, at, "allow", s.operations())
	for _, name := range sub.names {
		if o := r.operationOf(sub, name, s); o != nil {
			if rule, ruleAt, ok := sub.get(name); ok {
				o.Allow = r.allowRule(rule, ruleAt)
			}
		}
	}
}

// namesOperation reports whether a mapping is one by operation: a rule has no
// key that is called like one.
func namesOperation(n *yaml.Node, s operated) bool {
	return isMapping(n) && slices.ContainsFunc(keysOf(n), func(key string) bool { return slices.Contains(s.operations().known, key) })
}

// metaByOperation reads meta, which may itself be a mapping: it is one by
// operation only when every key is an operation of this table.
func (r *reader) metaByOperation(m mapping, s operated) {
	n, at, ok := m.get("meta")
	if !ok {
		return
	}
	names := keysOf(n)
	other := func(key string) bool {
		return !slices.ContainsFunc(s.by(), func(o *OperationSpec) bool { return o.Operation == key })
	}
	if !isMapping(n) || len(names) == 0 || slices.ContainsFunc(names, other) {
		meta := r.meta(n, at)
		for _, o := range s.by() {
			o.Meta = meta
		}
		return
	}
	sub, _ := r.raw(n, at, "meta")
	for _, o := range s.by() {
		if value, valueAt, ok := sub.get(o.Operation); ok {
			o.Meta = r.meta(value, valueAt)
		}
	}
}

func keysOf(n *yaml.Node) []string {
	var names []string
	for i := 0; isMapping(n) && i+1 < len(n.Content); i += 2 {
		names = append(names, n.Content[i].Value)
	}
	return names
}

// meta reads any value as JSON.
func (r *reader) meta(n *yaml.Node, at place) json.RawMessage { return r.constant(n, at, "meta") }

// jsonValue is a node as JSON has it. Numbers are those that every reader of
// JSON takes for the same.
func (r *reader) jsonValue(n *yaml.Node, at place) any {
	switch n.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		m, _ := r.raw(n, at, "meta")
		for _, name := range m.names {
			e := m.entries[name]
			if c, bad := firstForbidden(name, true); bad {
				r.errorf(e.key, "the key holds the character U+%04X, which is not allowed there", c)
				continue
			}
			object[name] = r.jsonValue(e.value, e.at)
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = r.jsonValue(item, nodeAt(item, fmt.Sprintf("%s[%d]", at.path, i)))
		}
		return list
	case yaml.ScalarNode:
		return r.jsonScalar(n, at)
	}
	return nil // reported before
}

func (r *reader) jsonScalar(n *yaml.Node, at place) any {
	if n.Style == 0 {
		switch n.Tag {
		case "!!null":
			return nil
		case "!!bool":
			v, _ := r.boolean(n, at, "a switch")
			return v
		case "!!int", "!!float":
			return r.jsonNumber(n.Value, at)
		}
	}
	if c, bad := firstForbidden(n.Value, false); bad {
		r.errorf(at, "the text holds the character U+%04X, which is not allowed there", c)
	}
	return n.Value
}

// maxExact is the largest whole number that JSON readers do not round.
const maxExact = 1 << 53

func (r *reader) jsonNumber(text string, at place) any {
	whole, err := strconv.ParseInt(text, 10, 64)
	if err == nil && whole <= maxExact && whole >= -maxExact {
		return whole
	}
	v, errFloat := strconv.ParseFloat(text, 64)
	if err == nil || errFloat != nil || math.IsNaN(v) || math.Abs(v) >= maxExact {
		r.errorf(at, "%s is not a number that JSON keeps exactly: put quotes around it", quoteName(text))
		return nil
	}
	return v
}
