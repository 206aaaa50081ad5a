package surfaces

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxForm bounds the form of one question, in bytes: clients show it as a whole.
const maxForm = 16 << 10

// formFormats are the formats that a form of MCP elicitation may have.
var formFormats = []string{"email", "uri", "date", "date-time"}

// asking fills in what a person is asked before a tool runs, and takes what they
// answer out of its input: no model can set it.
func (c *compiler) asking(t *Tool, o *OperationSpec, authored bool) {
	if o.Confirm.Value == "" && len(o.Questions) == 0 || t.Input == nil {
		return
	}
	root, _ := membersOf(t.Input)
	arguments, _ := membersOf(root.get("properties"))
	if len(o.Questions) > 0 {
		before := len(c.problems)
		c.mayAsk(o, root, authored)
		if HasErrors(c.problems[before:]) {
			return
		}
		c.questions(t, o, root, arguments)
	}
	if o.Confirm.Value != "" {
		c.askedText(o.Confirm, "confirm", arguments, nil)
		t.Confirm = o.Confirm.Value
	}
}

// mayAsk refuses an input that nothing can be taken out of.
func (c *compiler) mayAsk(o *OperationSpec, root members, authored bool) {
	at := o.Questions[0].at
	switch {
	case authored:
		c.errorf(at, "questions take arguments out of the input, and an authored schema is sent as it stands: leave schema out, let the function ask by itself (asks: true), or write confirm")
	case string(root.get("additionalProperties")) != "false":
		c.errorf(at, "questions fill in what no model may set, and this input takes properties that it does not name: leave additionalProperties out")
	}
}

// questions compiles the questions of a tool.
func (c *compiler) questions(t *Tool, o *OperationSpec, root, arguments members) {
	var required []string
	_ = json.Unmarshal(root.get("required"), &required)
	asked := map[string]string{} // by argument: the key of its question
	formats := t.argumentFormats()
	for _, q := range o.Questions {
		schema, form := answerSchema(), answerSchema()
		var names, needed []string
		for _, a := range q.Arguments {
			property := arguments.get(a.Value)
			field, check, why := formField(a.Value, property, formats[a.Value])
			switch {
			case property == nil:
				c.errorf(a.at, "there is no argument %s%s", quoteName(a.Value), c.suggest(a.Value, arguments.names(), "; there are "))
				continue
			case asked[a.Value] != "":
				c.errorf(a.at, "%s is filled in by the question %s: an argument is asked for once", quoteName(a.Value), quoteName(asked[a.Value]))
				continue
			case why != "":
				c.errorf(a.at, "%s cannot be asked of a person: %s", quoteName(a.Value), why)
				continue
			}
			asked[a.Value] = q.Key.Value
			names = append(names, a.Value)
			schema.properties, form.properties = schema.properties.put(a.Value, check), form.properties.put(a.Value, field)
			if slices.Contains(required, a.Value) {
				needed = append(needed, a.Value)
			}
		}
		question := Question{Key: q.Key.Value, Message: q.Message.Value, Arguments: names, Schema: schema.raw(needed, true), Form: form.raw(needed, false)}
		if len(question.Form) > maxForm {
			c.errorf(q.at, "the form of this question is %d bytes; at most %d: ask for less, or for values with fewer labels", len(question.Form), maxForm)
		}
		c.weigh(q.at, len(question.Schema)+len(question.Form))
		t.Questions = append(t.Questions, question)
	}
	for _, q := range o.Questions {
		c.askedText(q.Message, "message", arguments, asked)
	}
	t.Input = withoutArguments(root, arguments, required, asked)
}

// withoutArguments is an input without what people are asked for.
func withoutArguments(root, arguments members, required []string, asked map[string]string) json.RawMessage {
	gone := func(name string) bool { return asked[name] != "" }
	left := slices.DeleteFunc(slices.Clone(arguments), func(m member) bool { return gone(m.name) })
	root = slices.Clone(root).put("properties", left.raw())
	needed := slices.DeleteFunc(slices.Clone(required), gone)
	if len(needed) == 0 {
		return slices.DeleteFunc(root, func(m member) bool { return m.name == "required" }).raw()
	}
	return root.put("required", jsonOf(needed)).raw()
}

// answer is the schema of what a person answers.
type answer struct{ properties members }

func answerSchema() *answer { return &answer{} }

func (a *answer) raw(required []string, closed bool) json.RawMessage {
	root := members{{"type", jsonOf("object")}, {"properties", a.properties.raw()}}
	if len(required) > 0 {
		root = root.put("required", jsonOf(required))
	}
	if closed {
		root = root.put("additionalProperties", jsonOf(false))
	}
	return root.raw()
}

func (m members) names() []string {
	var list []string
	for _, one := range m {
		list = append(list, one.name)
	}
	return list
}

// argumentFormats are the formats that people write values of some database
// types in, by argument.
func (t *Tool) argumentFormats() map[string]string {
	formats := map[string]string{}
	add := func(name, sqlType string) {
		if f := map[string]string{"date": "date", "timestamptz": "date-time"}[sqlType]; f != "" {
			formats[name] = f
		}
	}
	if t.RPC != nil {
		for _, a := range t.RPC.Arguments {
			add(a.Name, a.SQLType)
		}
	}
	if t.Create != nil {
		for _, v := range t.Create.Values {
			add(v.Argument, v.Column.SQLType)
		}
	}
	return formats
}

// formField makes a field of a form of an argument's schema (MCP elicitation,
// primitive schemas), and the schema that its answer is checked by. why says
// what stands against it.
func formField(name string, property json.RawMessage, format string) (field, check json.RawMessage, why string) {
	check = withoutNull(property)
	s, ok := membersOf(singleOf(check))
	if !ok {
		return nil, nil, "only a text, a number or a switch can be"
	}
	var kind string
	if json.Unmarshal(s.get("type"), &kind) != nil || !slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) {
		return nil, nil, "only a text, a number or a switch can be"
	}
	if s.get("enum") != nil && kind != "string" {
		return nil, nil, "a choice can be of texts alone"
	}
	own, _ := membersOf(check)
	title := own.get("title")
	if title == nil {
		title = jsonOf(humanize(name))
	}
	f := members{{"type", jsonOf(kind)}, {"title", title}}
	for _, key := range []string{"description", "enum", "minLength", "maxLength", "minimum", "maximum", "default"} {
		value := s.get(key)
		if value == nil && (key == "description" || key == "default") {
			value = own.get(key)
		}
		if value != nil {
			f = append(f, member{key, value})
		}
	}
	_ = json.Unmarshal(s.get("format"), &format)
	if kind == "string" && slices.Contains(formFormats, format) && s.get("enum") == nil {
		f = append(f, member{"format", jsonOf(format)})
	}
	return f.raw(), check, ""
}

// withoutNull is a schema without its alternative null: who has nothing to
// answer leaves the field empty.
func withoutNull(property json.RawMessage) json.RawMessage {
	s, ok := membersOf(property)
	var alternatives []json.RawMessage
	if !ok || json.Unmarshal(s.get("anyOf"), &alternatives) != nil {
		return property
	}
	left := slices.DeleteFunc(slices.Clone(alternatives), func(a json.RawMessage) bool { return typeOfSchema(a) == "null" })
	switch {
	case len(left) == len(alternatives) || len(left) == 0:
		return property
	case len(left) > 1:
		return s.put("anyOf", jsonOf(left)).raw()
	}
	one, _ := membersOf(left[0])
	for _, key := range []string{"title", "description", "default"} {
		if value := s.get(key); value != nil && one.get(key) == nil {
			one = one.put(key, value)
		}
	}
	return one.raw()
}

// singleOf is the one alternative that a form shows: a long number is an integer
// there, a decimal one is text.
func singleOf(property json.RawMessage) json.RawMessage {
	s, ok := membersOf(property)
	var alternatives []json.RawMessage
	if !ok || json.Unmarshal(s.get("anyOf"), &alternatives) != nil || len(alternatives) != 2 || typeOfSchema(alternatives[0]) != "integer" {
		return property
	}
	text, _ := membersOf(alternatives[1])
	switch string(text.get("pattern")) {
	case string(jsonOf(integerText)):
		return alternatives[0]
	case string(jsonOf(numericText)):
		return jsonOf(map[string]string{"type": "string"})
	}
	return property
}

func typeOfSchema(raw json.RawMessage) string {
	s, _ := membersOf(raw)
	var kind string
	_ = json.Unmarshal(s.get("type"), &kind)
	return kind
}

// single reports whether a schema is that of one text, number or switch, or of
// null beside it.
func single(raw json.RawMessage) bool {
	s, ok := membersOf(raw)
	if !ok {
		return false
	}
	var alternatives []json.RawMessage
	if json.Unmarshal(s.get("anyOf"), &alternatives) == nil && len(alternatives) > 0 && s.get("type") == nil {
		return !slices.ContainsFunc(alternatives, func(a json.RawMessage) bool { return typeOfSchema(a) != "null" && !single(a) })
	}
	return slices.Contains([]string{"string", "integer", "number", "boolean"}, typeOfSchema(raw))
}

// askedText checks the text that a person reads: {{name}} of an argument, and
// nothing else. asked are the arguments that are not known yet.
func (c *compiler) askedText(t Text, what string, arguments members, asked map[string]string) {
	rest := t.Value
	for {
		_, after, found := strings.Cut(rest, "{{")
		if !found {
			return
		}
		tag, end, closed := strings.Cut(after, "}}")
		if !closed {
			c.errorf(t.at, "%s has {{ without }}", what)
			return
		}
		rest = end
		name := strings.TrimSpace(tag)
		property := arguments.get(name)
		switch {
		case name == "" || strings.ContainsAny(name, "{}#/"):
			c.errorf(t.at, "%s has the tag %s: only {{name}} of an argument is possible there", what, quoteName("{{"+tag+"}}"))
		case property == nil:
			c.errorf(t.at, "%s uses the unknown argument %s%s", what, quoteName(name), c.suggest(name, arguments.names(), "; it may use "))
		case asked[name] != "":
			c.errorf(t.at, "%s uses %s, which a person is asked for at the same time: it may use what the model gives", what, quoteName(name))
		case !single(property):
			c.errorf(t.at, "%s uses %s, which is not a single text, number or switch", what, quoteName(name))
		}
	}
}

// lintAsking warns of who cannot be asked.
func (c *compiler) lintAsking() {
	at, confirms := place{}, false
	for _, t := range c.file.Tools {
		for _, o := range t.operations() {
			if o.Confirm.Value != "" && !confirms {
				at, confirms = o.Confirm.at, true
			}
		}
	}
	switch a := c.out.Access; {
	case a.ApprovalPage && !confirms:
		c.warnf(c.file.Access.given["approval_page"], "no tool has confirm, so there is nothing to approve on a page")
	case confirms && a.Bridged() && !a.ApprovalPage:
		c.warnf(at, "a client that cannot ask a person is refused here; with approval_page: true in access it gets the link of a page on which its user says yes or no")
	}
}
