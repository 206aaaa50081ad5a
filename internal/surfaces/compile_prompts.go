package surfaces

import (
	"encoding/json"
	"slices"
	"strings"
)

// prompts compiles the prompts; resources are compiled before.
func (c *compiler) prompts() {
	names := map[string]place{}
	for _, s := range c.file.Prompts {
		c.publicRules(s.tool)
		if first, twice := names[s.Name.Value]; twice {
			c.errorf(s.Name.at, "the prompt name %s is taken on line %d", s.Name.Value, first.line)
		} else {
			names[s.Name.Value] = s.Name.at
		}
		c.out.Prompts = append(c.out.Prompts, c.prompt(s))
	}
}

func (c *compiler) prompt(s *PromptSpec) Prompt {
	for _, scope := range s.Scopes {
		c.capabilityScope(scope)
	}
	p := Prompt{Gate: s.gate(s.Public), Name: s.Name.Value, Title: s.Title.Value, Description: s.Description.Value, Budget: s.Budget}
	if p.Title == "" {
		p.Title = humanize(p.Name)
	}
	for i := range s.Arguments {
		p.Arguments = append(p.Arguments, c.promptArgument(&s.Arguments[i], s.tool))
	}
	if s.Function != nil {
		c.anonymousEdge(s.Function.Slug, s.Public)
		p.Function = s.Function.plan()
		return p
	}
	size := 0
	for _, m := range s.Messages {
		message := PromptMessage{Role: m.Role.Value, Text: m.Text.Value, Resource: m.Resource.Value, Image: m.Image}
		size += len(m.Text.Value)
		if m.Image != nil {
			size += (len(m.Image.Data) + 2) / 3 * 4
		}
		c.promptTags(m.Text, s)
		if tags := c.promptTags(m.Resource, s); m.Resource.Value != "" {
			c.embedded(m.Resource, tags, s)
		}
		p.Messages = append(p.Messages, message)
	}
	if size > s.Budget {
		c.errorf(s.at, "the messages are %d bytes before anything is filled in, and budget is %d: write a larger one, at most %d", size, s.Budget, MaxBudget)
	}
	return p
}

// promptArgument compiles what the text of an argument must read as.
func (c *compiler) promptArgument(s *PromptArgumentSpec, t *ToolSpec) PromptArgument {
	a := PromptArgument{Name: s.Name.Value, Title: s.Title.Value, Description: s.Description.Value, Required: s.Required, Type: s.Kind}
	v := value{sql: string(s.Kind), json: s.Kind}
	argument := &schema{Type: string(s.Kind)}
	spec := s.ArgumentSpec
	c.narrow("argument", argument, spec, v)
	if s.Format.Value != "" {
		if s.Kind == JSONString {
			argument.Format = s.Format.Value
		} else {
			c.errorf(s.Format.at, "format does not fit the argument %s, which is of type %s", quoteName(a.Name), s.Kind)
		}
	}
	for _, pair := range [][2]*int{{s.MinLength, s.MaxLength}, {s.Minimum, s.Maximum}} {
		if pair[0] != nil && pair[1] != nil && *pair[0] > *pair[1] {
			c.errorf(s.at, "nothing fits the argument %s: its least is %d and its most %d", quoteName(a.Name), *pair[0], *pair[1])
		}
	}
	a.Schema = c.raw(s.at, argument)
	switch {
	case s.Complete != nil:
		a.Complete = c.completion(s.Complete, nil, t)
		c.completesItself(s, a.Complete)
	case len(argument.Enum) > 0:
		a.Complete = &Completion{Values: argument.Enum}
	case s.Kind == JSONBoolean:
		a.Complete = &Completion{Values: []string{"true", "false"}}
	}
	return a
}

// completesItself refuses suggestions that the argument itself does not take.
func (c *compiler) completesItself(s *PromptArgumentSpec, complete *Completion) {
	if complete == nil || len(s.Complete.Values) == 0 {
		return
	}
	argument := &schema{Type: string(s.Kind), Enum: values(s.Enum), MinLength: s.MinLength, MaxLength: s.MaxLength, Minimum: s.Minimum, Maximum: s.Maximum}
	for _, t := range s.Complete.Values {
		var v any = t.Value
		if s.Kind != JSONString {
			decoder := json.NewDecoder(strings.NewReader(t.Value))
			decoder.UseNumber()
			if decoder.Decode(&v) != nil || decoder.More() {
				v = t.Value
			}
		}
		if !argument.accepts(v) {
			c.errorf(t.at, "%s is suggested, and the argument %s does not take it", quoteName(t.Value), quoteName(s.Name.Value))
			return
		}
	}
}

// promptTags are the names in {{…}} of a message. What is none of the prompt's
// arguments is reported.
func (c *compiler) promptTags(t Text, s *PromptSpec) []string {
	var known, tags []string
	for _, a := range s.Arguments {
		known = append(known, a.Name.Value)
	}
	rest := t.Value
	for {
		_, after, found := strings.Cut(rest, "{{")
		if !found {
			return tags
		}
		tag, end, closed := strings.Cut(after, "}}")
		if !closed {
			c.errorf(t.at, "the message has {{ without }}")
			return tags
		}
		name := strings.TrimSpace(tag)
		switch {
		case slices.Contains(known, name):
			tags = append(tags, name)
		case !toolName.MatchString(name):
			c.errorf(t.at, "the message has the tag {{%s}}, and only the names of arguments are filled in: write {{name}}", oneLine(name, 80))
		case len(known) == 0:
			c.errorf(t.at, "the message uses the unknown name %s, and the prompt has no arguments: write arguments: [{ name: %s, required: true }]", quoteName(name), name)
		default:
			c.errorf(t.at, "the message uses the unknown name %s%s", quoteName(name), c.suggest(name, known, "; its arguments are "))
		}
		rest = end
	}
}

// anything stands for an argument that is not filled in yet: no text of a uri
// has it, so only a variable can take it.
const anything = "\u2022"

// embedded checks that a message's resource is one of this surface, whatever its
// arguments are.
func (c *compiler) embedded(t Text, tags []string, s *PromptSpec) {
	uri := t.Value
	for _, name := range tags {
		i := slices.IndexFunc(s.Arguments, func(a PromptArgumentSpec) bool { return a.Name.Value == name })
		if !s.Arguments[i].Required {
			c.errorf(t.at, "the resource needs {{%s}}, which may be left out: write required: true at the argument", name)
		}
	}
	var b strings.Builder
	for {
		literal, after, found := strings.Cut(uri, "{{")
		b.WriteString(literal)
		if !found {
			break
		}
		_, uri, _ = strings.Cut(after, "}}")
		b.WriteString(anything)
	}
	for _, r := range c.file.Resources {
		candidate := Resource{URI: r.URI.Value}
		if r.File != nil {
			candidate.File = &ReadFilePlan{}
		}
		if _, ok := candidate.Match(b.String()); !ok {
			continue
		}
		if s.Public && !r.Public {
			c.errorf(t.at, "the prompt is public, and the resource %s is not: mark it public: true, too", r.URI.Value)
		}
		return
	}
	if strings.Contains(b.String(), "{") {
		c.errorf(t.at, "%s is the pattern of addresses, and a message embeds one of them: write an argument for each variable, with two braces, such as acme://customers/{{id}}", quoteName(t.Value))
		return
	}
	var uris []string
	for _, r := range c.file.Resources {
		uris = append(uris, r.URI.Value)
	}
	c.errorf(t.at, "%s is not a resource of this surface, whatever stands for its arguments%s", quoteName(t.Value), c.suggest(t.Value, uris, "; they are "))
}
