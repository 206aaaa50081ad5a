package surfaces

import "encoding/json"

// edge compiles a tool that calls an Edge Function.
func (c *compiler) edge(t *ToolSpec) {
	s, before := t.Function, len(c.problems)
	if s.Description.Value == "" {
		c.errorf(t.at, "description is missing: say what the tool does, so that a model knows when to call it")
	}
	switch {
	case s.Privileged && s.Allow == nil:
		c.errorf(s.privileged, "a privileged tool runs with more rights than its caller's, so it needs an allow rule of its own that says who may call it")
	case s.Privileged && t.Public:
		c.errorf(s.privileged, "a privileged tool is never public: nobody would stand between the internet and its rights")
	}
	annotations := c.edgeAnnotations(s.Annotations)
	if s.Authored && len(s.Input.raw) > 0 {
		c.checkAuthored(s.Input)
	}
	c.checkTemplate(s.Template, resultNames(s.Output.raw))
	c.edgeNotes(t)
	if HasErrors(c.problems[before:]) {
		return
	}
	tool := c.common(t, &s.OperationSpec)
	tool.Annotations, tool.Description, tool.Title = annotations, s.Description.Value, s.Title.Value
	if tool.Title == "" {
		tool.Title = humanize(s.Slug.Value)
	}
	tool.Function = s.plan()
	tool.Function.Stream, tool.Function.Authored = s.Stream, s.Authored
	tool.Privileged = s.Privileged
	tool.Input = c.written(t.at, s.Input.raw)
	if tool.Result != ResultText {
		tool.Output = c.written(t.at, s.Output.raw)
	}
	c.asking(&tool, &s.OperationSpec, s.Authored)
	m := made{tool: tool, at: t.at}
	m.tool.Name = derivedName(underscored(s.Slug.Value), "")
	if s.Name.Value != "" {
		m.explicit, m.at, m.tool.Name = true, s.Name.at, s.Name.Value
	}
	c.made = append(c.made, m)
}

// plan is how the function is called.
func (s EdgeCallSpec) plan() *FunctionPlan {
	return &FunctionPlan{Slug: s.Slug.Value, Timeout: s.Timeout, Asks: s.Asks}
}

// underscored is a slug as the name of a tool.
func underscored(slug string) string {
	name := []byte(slug)
	for i, c := range name {
		if c == '-' {
			name[i] = '_'
		}
	}
	return string(name)
}

// written counts a schema that the file itself holds.
func (c *compiler) written(at place, raw json.RawMessage) json.RawMessage {
	c.weigh(at, len(raw))
	return raw
}

// edgeAnnotations applies the declared ones over what nobody can know of a
// function: it may do anything.
func (c *compiler) edgeAnnotations(declared AnnotationSpec) Annotations {
	reads := declared.ReadOnly != nil && *declared.ReadOnly
	a := Annotations{ReadOnly: reads, Destructive: !reads, Idempotent: reads, OpenWorld: true}
	if declared.Destructive != nil {
		a.Destructive = *declared.Destructive
	}
	if declared.Idempotent != nil {
		a.Idempotent = *declared.Idempotent
	}
	if declared.OpenWorld != nil {
		a.OpenWorld = *declared.OpenWorld
	}
	if a.ReadOnly && a.Destructive {
		c.errorf(declared.at, "a tool cannot be both read_only and destructive")
	}
	return a
}

// edgeNotes warn of what works only where the function is made for it.
func (c *compiler) edgeNotes(t *ToolSpec) {
	s := t.Function
	c.anonymousEdge(s.Slug, t.Public)
	if s.Stream && s.timeout.line == 0 {
		c.warnf(s.stream, "the whole stream must end within timeout, which is %s: write timeout, at most %s, if it may take longer", shortTime(s.Timeout), shortTime(MaxTimeout))
	}
	if s.Stream && s.Timeout < 5 && s.timeout.line > 0 {
		c.warnf(s.timeout, "the whole stream must end within %s", shortTime(s.Timeout))
	}
	if s.Annotations.ReadOnly == nil {
		return
	}
	if s.Confirm.Value != "" && *s.Annotations.ReadOnly {
		c.warnf(s.Confirm.at, "the tool is read_only, and a person is asked before each call all the same")
	}
}

// anonymousEdge warns of a function that some callers reach without a token of
// the project, which Supabase refuses unless the function says otherwise.
func (c *compiler) anonymousEdge(slug Text, public bool) {
	a := c.file.Access
	var who string
	switch {
	case public && a.has(ModePublic):
		who = "callers without a token"
	case a.has(ModeAPIKey):
		who = "callers with a key of the app"
	case a.external():
		who = "callers with a token of another issuer"
	default:
		return
	}
	c.warnf(slug.at, "%s are sent to the function without a session, so it must be deployed with verify_jwt = false (supabase/config.toml: [functions.%s]), and look itself at who calls", who, slug.Value)
}

// resultNames are the names of a declared output that a template may use.
func resultNames(output json.RawMessage) templateNames {
	s, ok := shapeOf(output)
	if !ok {
		return templateNames{open: true}
	}
	names := templateNames{}
	for name, p := range s.Properties {
		if name != "items" || p.Type != "array" {
			names.values = append(names.values, name)
			continue
		}
		names.section = true
		if p.Items != nil {
			for item := range p.Items.Properties {
				names.items = append(names.items, item)
			}
		}
	}
	return names
}
