package surfaces

import (
	"regexp"

	"go.yaml.in/yaml/v4"
)

// How long an Edge Function may take, in seconds.
const (
	DefaultTimeout = 30
	MaxTimeout     = 150
)

// schemaAuthored is the one value of a function tool's schema.
const schemaAuthored = "authored"

// edgeSlug is what Supabase accepts as the name of an Edge Function.
var edgeSlug = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// edgeTool reads a tool that calls an Edge Function.
func (r *reader) edgeTool(n *yaml.Node, at place) *ToolSpec {
	m, _ := r.mapping(n, at, "a tool", edgeKeys)
	t := &ToolSpec{at: at, public: at}
	r.common(m, t)
	s := &EdgeSpec{EdgeCallSpec: r.edgeCall(m)}
	s.Operation, s.at = opFunction, at
	t.Function = s
	r.single(m, &s.OperationSpec)
	s.Annotations = r.annotations(m)
	s.Privileged, _ = m.boolean("privileged")
	s.Stream, _ = m.boolean("stream")
	s.privileged, s.stream, s.timeout = m.entries["privileged"].at, m.entries["stream"].at, m.entries["timeout"].at
	r.edgeSchemas(m, s)
	return t
}

// edgeCall reads how an Edge Function is called: function, timeout and asks.
func (r *reader) edgeCall(m mapping) EdgeCallSpec {
	s := EdgeCallSpec{Timeout: DefaultTimeout}
	t, ok := m.text("function", textRule{max: 64, oneLine: true})
	if ok && !edgeSlug.MatchString(t.Value) {
		r.errorf(t.at, "%s is not the name of an Edge Function: write the slug it is deployed as (a letter, then letters, digits, - and _)", quoteName(t.Value))
	}
	s.Slug = t
	if v, ok := m.seconds("timeout", 1, MaxTimeout); ok {
		s.Timeout = v
	}
	s.Asks, _ = m.boolean("asks")
	return s
}

// edgeSchemas reads what goes in and what comes out.
func (r *reader) edgeSchemas(m mapping, s *EdgeSpec) {
	if t, ok := m.text("schema", ruleName); ok {
		s.Authored = t.Value == schemaAuthored
		if !s.Authored {
			r.errorf(t.at, "unknown schema %s: write schema: authored, for an input that is sent to clients as it stands, or leave it out", quoteName(t.Value))
		} else if !m.given("input") {
			r.errorf(t.at, "schema: authored says that input is sent as it stands, and there is none: write input")
		}
	}
	n, at, ok := m.get("input")
	s.Input = SchemaText{raw: inputObject().raw(), at: m.at}
	if ok {
		s.Input = SchemaText{node: n, at: at}
		if s.Authored {
			s.Input.raw = r.authoredSchema(n, at)
		} else {
			s.Input.raw = r.inputSchema(n, at)
		}
	}
	if n, at, ok := m.get("output"); ok {
		s.Output = SchemaText{raw: r.outputSchema(n, at), node: n, at: at}
	}
}
