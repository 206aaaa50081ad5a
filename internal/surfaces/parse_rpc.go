package surfaces

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"
)

// rpcTool reads a tool that calls a Postgres function.
func (r *reader) rpcTool(n *yaml.Node, at place) *ToolSpec {
	m, _ := r.mapping(n, at, "a tool", rpcKeys)
	t := &ToolSpec{at: at, public: at}
	r.common(m, t)
	s := &RPCSpec{}
	s.Operation, s.at = "rpc", at
	var ok bool
	if s.Function, ok = m.text("rpc", textRule{max: 200, oneLine: true}); !ok {
		return nil
	}
	t.RPC = s
	r.single(m, &s.OperationSpec)
	s.Privileged, _ = m.boolean("privileged")
	s.privileged = m.entries["privileged"].at
	s.Annotations = r.annotations(m)
	r.arguments(m, s)
	return t
}

// single reads what an entry says of its one tool.
func (r *reader) single(m mapping, o *OperationSpec) {
	o.Name, _ = m.text("tool", ruleName)
	r.checkToolName(o.Name)
	o.Title, _ = m.text("title", ruleTitle)
	o.Description, _ = m.text("description", ruleDescription)
	o.Scopes = r.scopes(m, "scopes")
	r.policy(m, o)
	o.Result = Text{Value: string(ResultHybrid), at: m.at}
	if result, ok := m.text("result", ruleName); ok {
		o.Result = result
	}
	o.Template, _ = m.text("template", ruleTemplate)
	r.checkResult(o)
	o.Confirm, _ = m.text("confirm", ruleAsked)
	o.Questions = r.questions(m)
}

func (r *reader) annotations(m mapping) AnnotationSpec {
	a := AnnotationSpec{at: m.at}
	n, at, ok := m.get("annotations")
	if !ok {
		return a
	}
	a.at = at
	sub, ok := r.mapping(n, at, "annotations", annotationKeys)
	if !ok {
		return a
	}
	read := func(key string) *bool {
		if v, ok := sub.boolean(key); ok {
			return &v
		}
		return nil
	}
	a.ReadOnly, a.Destructive = read("read_only"), read("destructive")
	a.Idempotent, a.OpenWorld = read("idempotent"), read("open_world")
	return a
}

// arguments reads which arguments are offered: arguments (names, or names with
// descriptions and limits), or input (the same as a JSON Schema).
func (r *reader) arguments(m mapping, s *RPCSpec) {
	arguments, argumentsAt, hasArguments := m.get("arguments")
	input, inputAt, hasInput := m.get("input")
	if hasArguments && hasInput {
		r.errorf(inputAt, "give arguments or input, not both")
	}
	s.Declared = m.given("arguments") || m.given("input")
	switch {
	case hasArguments && arguments.Kind == yaml.SequenceNode:
		names, _ := r.texts(arguments, argumentsAt, "arguments", ruleName)
		for _, name := range names {
			s.Arguments = append(s.Arguments, ArgumentSpec{Name: name, at: name.at})
		}
	case hasArguments:
		s.Arguments = r.argumentMapping(arguments, argumentsAt)
	case hasInput:
		s.Arguments = r.input(input, inputAt)
	}
}

func (r *reader) argumentMapping(n *yaml.Node, at place) argumentSpecs {
	m, ok := r.raw(n, at, "arguments")
	if !ok {
		return nil
	}
	var arguments argumentSpecs
	for _, name := range m.names {
		e := m.entries[name]
		a := ArgumentSpec{Name: Text{Value: name, at: e.key}, at: e.at}
		switch {
		case isNothing(e.value):
			a.at = e.key // offered as it is
		case e.value.Kind == yaml.ScalarNode:
			a.Description, _ = r.scalar(e.value, e.at, "a description", ruleDescription)
		default:
			if sub, ok := r.mapping(e.value, e.at, "an argument", argumentKeys); ok {
				a.Required, _ = sub.boolean("required")
				r.limits(sub, &a, "min_length", "max_length", "max_items")
			}
		}
		arguments = append(arguments, a)
	}
	return arguments
}

// limits reads what narrows an argument; the names of three keys differ
// between arguments and input.
func (r *reader) limits(m mapping, a *ArgumentSpec, minLength, maxLength, maxItems string) {
	a.Description, _ = m.text("description", ruleDescription)
	a.Enum, _ = m.list("enum", textRule{max: 200})
	if e, ok := m.entries["enum"]; ok && len(a.Enum) == 0 {
		r.errorf(e.key, "enum lists nothing, so no value would be allowed")
	}
	a.Pattern, _ = m.text("pattern", textRule{max: 500, oneLine: true})
	const most = 999_999_999
	read := func(key string, low int) *int {
		if v, ok := m.integer(key, low, most); ok {
			return &v
		}
		return nil
	}
	a.MinLength, a.MaxLength, a.MaxItems = read(minLength, 0), read(maxLength, 0), read(maxItems, 0)
	a.Minimum, a.Maximum = read("minimum", -most), read("maximum", -most)
}

// rootCombinators at the root of an input made clients drop every tool of a
// server, so they are refused by name.
var rootCombinators = []string{"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref"}

// input reads a JSON Schema that narrows the function's arguments: an object
// with properties, nothing else.
func (r *reader) input(n *yaml.Node, at place) argumentSpecs {
	m, ok := r.mapping(n, at, "input", keys{known: append(slices.Clone(inputKeys.known), rootCombinators...)})
	if !ok {
		return nil
	}
	for _, key := range rootCombinators {
		if e, given := m.entries[key]; given {
			r.errorf(e.key, "%s is not possible at the root of an input, which is one object with properties: many clients drop every tool of a server that has it", key)
		}
	}
	if t, _ := m.text("type", ruleName); t.Value != "object" {
		r.errorf(at, "input must have type: object at its root")
	}
	if v, ok := m.boolean("additionalProperties"); ok && v {
		r.errorf(m.entries["additionalProperties"].at, "additionalProperties must be false: the function takes no other arguments")
	}
	var arguments argumentSpecs
	if properties, propertiesAt, ok := m.get("properties"); ok {
		arguments = r.properties(properties, propertiesAt)
	}
	required, _ := m.list("required", ruleName)
	for _, name := range required {
		i := slices.IndexFunc(arguments, func(a ArgumentSpec) bool { return a.Name.Value == name.Value })
		if i < 0 {
			r.errorf(name.at, "%s is required but not among the properties", quoteName(name.Value))
			continue
		}
		arguments[i].Required = true
	}
	return arguments
}

func (r *reader) properties(n *yaml.Node, at place) argumentSpecs {
	m, ok := r.raw(n, at, "properties")
	if !ok {
		return nil
	}
	var arguments argumentSpecs
	for _, name := range m.names {
		e := m.entries[name]
		a := ArgumentSpec{Name: Text{Value: name, at: e.key}, at: e.at}
		if sub, ok := r.mapping(e.value, e.at, fmt.Sprintf("the property %s", quoteName(name)), propertyKeys); ok {
			a.Type, _ = sub.text("type", ruleName)
			r.limits(sub, &a, "minLength", "maxLength", "maxItems")
		}
		arguments = append(arguments, a)
	}
	return arguments
}
